//! A frame taken apart as the model reads it, on every wire, and frames that are no requests.

use expect_test::Expect;
use expect_test::expect;

use super::*;
use crate::encode::Encoder;
use crate::transcript::View;

fn frame(wire: WireApi, head: &str, tail: &str) -> Frame {
    let encoded = |text: &str| {
        let mut encoder = Encoder::new(&"wire".into());
        encoder.wire(text);
        encoder.finish()
    };
    Frame::recorded(View { wire, ..View::default() }, encoded(head), encoded(tail))
}

fn section(section: ReadSection) -> &'static str {
    match section {
        ReadSection::Schema => "schema",
        ReadSection::Tools => "tools",
        ReadSection::Instructions => "instructions",
        ReadSection::Items => "items",
        ReadSection::Settings => "settings",
    }
}

/// The parts of a frame: section, name, text, and where the text stands.
#[track_caller]
fn check_reading(wire: WireApi, head: &str, tail: &str, expected: &Expect) {
    let frame = frame(wire, head, tail);
    let Some(reading) = frame.reading() else {
        return expected.assert_eq("no request");
    };
    let line = |part: &ReadPart| {
        let (text, bytes) = (
            String::from_utf8_lossy(&part.text),
            match part.place {
                Place::Head(at) => &head.as_bytes()[at..at + part.text.len()],
                Place::Tail(at) => &tail.as_bytes()[at..at + part.text.len()],
            },
        );
        assert_eq!(bytes, &part.text[..], "a part stands where it says");
        format!("{} {} {text} {:?}\n", section(part.section), part.name, part.place)
    };
    let mut lines: String = reading.model.iter().map(line).collect();
    for each in ReadSection::ALL {
        lines.extend(reading.parts(*each).map(line));
    }
    expected.assert_eq(&lines);
}

#[test]
fn the_responses_wire_is_read_by_its_keys() {
    check_reading(
        WireApi::Responses,
        r#"{"model":"m","instructions":"Be brief.","input":["#,
        r#"],"tools":[{"type":"function","name":"shell"},{"type":"web_search"}],"tool_choice":"auto","reasoning":{"effort":"low","summary":"auto"},"text":{"verbosity":"low","format":{"type":"json_schema"}},"store":false}"#,
        &expect![[r#"
            settings model "m" Head(9)
            schema schema {"type":"json_schema"} Tail(171)
            tools tools/shell {"type":"function","name":"shell" Tail(11)
            tools tools/web_search {"type":"web_search" Tail(46)
            instructions base "Be brief." Head(28)
            settings settings/reasoning.effort "low" Tail(112)
            settings settings/reasoning.summary "auto" Tail(128)
            settings settings/store false Tail(203)
            settings settings/text.verbosity "low" Tail(156)
            settings settings/tool_choice "auto" Tail(83)
        "#]],
    );
}

#[test]
fn the_chat_wire_has_its_instructions_among_the_messages() {
    check_reading(
        WireApi::Chat,
        r#"{"model":"m","messages":[{"role":"system","content":"Be brief."}"#,
        r#"],"tools":[{"type":"function","function":{"name":"shell"}}],"response_format":{"type":"json_schema"},"stream":true}"#,
        &expect![[r#"
            settings model "m" Head(9)
            schema schema {"type":"json_schema"} Tail(78)
            tools tools/shell {"type":"function","function":{"name":"shell"} Tail(11)
            instructions base {"role":"system","content":"Be brief."} Head(25)
            settings settings/stream true Tail(110)
        "#]],
    );
}

#[test]
fn the_messages_wire_marks_the_end_of_what_may_be_cached() {
    let tool = format!(r#"{{"name":"shell","input_schema":{{}}{BREAKPOINT}}}"#);
    check_reading(
        WireApi::Messages,
        &format!(
            r#"{{"model":"m","system":[{{"text":"Be brief."}}],"tools":[{{"name":"a"}},{tool}],"output_config":{{"format":{{}},"effort":"low"}},"thinking":"off","messages":["#
        ),
        "]}",
        &expect![[r#"
            settings model "m" Head(9)
            schema schema {} Head(166)
            tools tools/a {"name":"a" Head(54)
            tools tools/shell {"name":"shell","input_schema":{} Head(67)
            instructions base [{"text":"Be brief."}] Head(22)
            settings settings/output_config.effort "low" Head(178)
            settings settings/thinking "off" Head(196)
        "#]],
    );
}

#[test]
fn bytes_that_are_no_request_have_no_reading() {
    for (head, tail) in
        [("", ""), ("{\"input\":[", ""), ("[", "]"), ("{\"tools\":7,\"input\":[", "]}"), ("{\"input\":[\u{0}", "]}")]
    {
        check_reading(WireApi::Responses, head, tail, &expect!["no request"]);
    }
    check_reading(WireApi::Responses, "{\"input\":[", "]}", &expect![""]);
    check_reading(WireApi::Chat, "{\"messages\":{", "}}", &expect!["no request"]);
}

#[test]
fn a_place_is_counted_from_the_start_of_the_body() {
    assert_eq!((Place::Head(3).in_body(100, 10), Place::Tail(3).in_body(100, 10)), (3, 93));
    assert_eq!((Place::Head(3).after(4), Place::Tail(3).after(0)), (Place::Head(7), Place::Tail(3)));
}

#[test]
fn parts_are_the_same_only_with_name_and_text() {
    let part = |name: &str, text: &str, at| ReadPart {
        section: ReadSection::Tools,
        name: name.into(),
        text: Bytes::copy_from_slice(text.as_bytes()),
        place: Place::Head(at),
    };
    let one = part("a", "x", 1);
    assert_eq!([part("a", "x", 9), part("b", "x", 1), part("a", "y", 1)].map(|it| one.is(&it)), [true, false, false]);
}
