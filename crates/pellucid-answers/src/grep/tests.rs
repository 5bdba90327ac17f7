use proptest::prelude::*;
use serde_json::json;

use super::*;

fn pattern(text: &str) -> GrepPattern {
    GrepPattern::new(text, false, false).unwrap()
}

#[track_caller]
fn check_literal(text: &str, expected: Option<&str>) {
    let hir = regex_syntax::parse(text).unwrap();
    assert_eq!(required(&hir).as_deref(), expected, "{text}");
}

#[test]
fn what_every_match_has_is_searched_first() {
    check_literal("needle", Some("needle"));
    check_literal("a.*needle(x)?", Some("needle"));
    check_literal("(?:ab)+\\d", Some("ab"));
    check_literal("cannot find -l\\w+", Some("cannot find -l"));
    check_literal("say \"hi\" now", Some(" now"));
    check_literal("é", None);
    check_literal("one|two", None);
    check_literal("(?i)abc", None);
    check_literal("x*", None);
}

#[test]
fn lines_are_numbered_and_each_is_one_hit() {
    let found = |text: &str, of: &str| -> Vec<(usize, String)> {
        pattern(text).lines(of).into_iter().map(|(n, line, _)| (n, line.to_owned())).collect()
    };
    let text = "one two one\r\n\nthree one\nlast";
    assert_eq!(found("one", text), [(1, "one two one".to_owned()), (3, "three one".to_owned())]);
    assert_eq!(found("^t", text), [(3, "three one".to_owned())]);
    assert_eq!(found("t$", text), [(4, "last".to_owned())]);
    assert_eq!(found("one$", text).len(), 2, "a line may end with CR LF");
    assert!(found("four", text).is_empty());
}

#[test]
fn a_mistake_in_a_pattern_is_refused_and_a_text_has_none() {
    assert!(GrepPattern::new("(", false, false).is_err());
    assert_eq!(GrepPattern::new("(", true, false).unwrap().lines("a (b").len(), 1);
    assert_eq!(GrepPattern::new("ÄB", true, true).unwrap().lines("xäb").len(), 1);
}

#[test]
fn an_answer_that_a_request_contains_is_no_second_hit() {
    let (pattern, filter) = (pattern("need"), GrepFilter::default());
    let mut grep = Grep::new(&pattern, &filter);
    let said = |text: &str| json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] });
    grep.item(Some(2), &said("a need\nno\nneed not"));
    grep.item(Some(3), &said("a need"));
    let hits = grep.finish();
    let shown: Vec<String> = hits
        .iter()
        .map(|hit| format!("#{} {} {}: {}", hit.numbers(), hit.place.part, hit.line_number, hit.line))
        .collect();
    assert_eq!(shown, ["#2 answer 1: a need", "#2 answer 3: need not"]);
    let filter = GrepFilter { role: Some("user".to_owned()), ..GrepFilter::default() };
    let mut grep = Grep::new(&pattern, &filter);
    grep.item(Some(2), &said("a need"));
    assert!(grep.finish().is_empty());
}

#[track_caller]
fn check_texts(item: &Value, expected: &[(&str, Option<&str>)]) {
    let found: Vec<_> = collect(item).into_iter().map(|it| (it.text, it.tool)).collect();
    assert_eq!(found, expected, "{item}");
}

#[test]
fn the_texts_of_calls_belong_to_their_tools_in_every_api_format() {
    let call = json!({ "type": "function_call", "name": "run", "arguments": "{\"cmd\":\"x\"}", "call_id": "c" });
    check_texts(&call, &[("{\"cmd\":\"x\"}", Some("run"))]);
    let call = json!({ "type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", "call_id": "c" });
    check_texts(&call, &[("*** Begin", Some("apply_patch"))]);
    let call = json!({ "role": "assistant", "content": "ok",
        "tool_calls": [{ "id": "c", "type": "function", "function": { "name": "run", "arguments": "{}" } }] });
    check_texts(&call, &[("ok", None), ("{}", Some("run"))]);
    let call = json!({ "role": "assistant", "content": [{ "type": "text", "text": "ok" },
        { "type": "tool_use", "id": "c", "name": "run", "input": { "path": "a", "more": ["b", { "c": "d" }] } }] });
    check_texts(&call, &[("ok", None), ("a", Some("run")), ("b", Some("run")), ("d", Some("run"))]);
}

#[test]
fn an_output_in_a_session_file_belongs_to_the_tool_of_its_call() {
    let pattern = pattern("need");
    let filter = GrepFilter { tool: Some("run".to_owned()), ..GrepFilter::default() };
    let mut grep = Grep::new(&pattern, &filter);
    for (id, tool) in [("1", "run"), ("2", "other")] {
        grep.note_call(&json!({ "type": "function_call", "name": tool, "arguments": "{}", "call_id": id }));
        grep.item(None, &json!({ "type": "function_call_output", "call_id": id, "output": format!("need {id}") }));
    }
    let lines: Vec<String> = grep.finish().into_iter().map(|hit| hit.line).collect();
    assert_eq!(lines, ["need 1"]);
}

#[test]
fn runs_of_requests_are_ranges() {
    let place = GrepPlace { part: String::new(), role: None, source: String::new(), origin: String::new(), tool: None };
    let mut hit = GrepHit { requests: vec![(1, 1)], place, line_number: 1, line: String::new(), column: 0 };
    [2, 2, 3, 5].into_iter().for_each(|number| hit.add(number));
    assert_eq!(hit.numbers(), "1-3,5");
}

proptest! {
    /// Files are passed over only if no text in them matches, however their writer escapes.
    #[test]
    fn raw_json_is_never_passed_over_when_a_text_matches(
        before in any::<String>(),
        middle in "[a-c\"\\\\\n\té名 ]{1,6}",
        after in any::<String>(),
        is_fixed in any::<bool>(),
        ignores_case in any::<bool>(),
    ) {
        let text = format!("{before}{middle}{after}");
        let wanted = if is_fixed { middle } else { regex::escape(&middle) };
        let pattern = GrepPattern::new(&wanted, is_fixed, ignores_case).unwrap();
        let json = json!({ "payload": { "text": text } }).to_string();
        prop_assert!(pattern.may_match(json.as_bytes()));
        let ascii: String = json.chars().flat_map(|c| {
            let mut units = [0; 2];
            let units = c.encode_utf16(&mut units).to_vec();
            if c.is_ascii() { c.to_string() } else { units.iter().map(|it| format!("\\u{it:04x}")).collect() }.chars().collect::<Vec<_>>()
        }).collect();
        prop_assert!(pattern.may_match(ascii.as_bytes()), "{ascii}");
    }
}
