//! Frames and requests: shared bytes, their origins, and what is the same.

use pellucid_protocol::item::Item;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;

use super::*;
use crate::encode::Encoder;

fn encoded(pieces: &[(&str, Origin)]) -> Encoded {
    let mut encoder = Encoder::new(&"part".into());
    for (text, origin) in pieces {
        encoder.raw(text.as_bytes(), origin);
    }
    encoder.finish()
}

fn frame(wire: WireApi) -> Frame {
    let head = encoded(&[("{\"a\":\"", Origin::Wire), ("text", Origin::User), ("\",\"input\":[", Origin::Wire)]);
    let tail = encoded(&[("],\"b\":", Origin::Wire), ("true", Origin::fact("f")), ("}", Origin::Wire)]);
    Frame::recorded(View { wire, ..View::default() }, head, tail)
}

fn transcript() -> Transcript {
    let policy = TruncationPolicy { mode: TruncationMode::Bytes, limit: i64::MAX };
    let mut transcript = Transcript::new(ItemIds::Hidden, policy);
    transcript.record(&Item::text("user", "hi"), &Origin::User);
    transcript
}

#[test]
fn a_request_is_the_frame_around_the_items() {
    let frame = frame(WireApi::Responses);
    let request = frame.request(&mut transcript());
    let body = String::from_utf8(request.body()).unwrap();
    assert_eq!(
        body,
        r#"{"a":"text","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}],"b":true}"#
    );
    assert_eq!((request.len(), request.is_empty()), (body.len(), false));
    assert_eq!(frame.n_bytes(), frame.head_bytes().len() + frame.tail_bytes().len());
    assert!(Request { segments: Vec::new() }.is_empty());
}

#[test]
fn a_second_request_shares_the_bytes_of_the_first() {
    let frame = frame(WireApi::Responses);
    let mut transcript = transcript();
    let first = frame.request(&mut transcript);
    let second = frame.request(&mut transcript);
    assert_eq!(first, second);
    let shares = |n: usize| std::ptr::eq(first.segments[n].as_ptr(), second.segments[n].as_ptr());
    assert!(shares(0) && shares(first.segments.len() - 1));
}

#[test]
fn items_stand_in_the_list_of_their_wire() {
    let lists: Vec<&str> = WireApi::ALL.iter().map(|wire| frame(*wire).list()).collect();
    assert_eq!(lists, ["input", "messages", "messages"]);
}

#[test]
fn frames_are_the_same_by_their_bytes_and_their_view() {
    let one = frame(WireApi::Responses);
    assert!(one.is_same(&frame(WireApi::Responses)) && one.is_same(&one.clone()));
    assert!(!one.is_same(&frame(WireApi::Chat)));
    let other =
        Frame::recorded(one.view(), encoded(&[("{\"input\":[", Origin::Wire)]), encoded(&[("]}", Origin::Wire)]));
    assert!(!one.is_same(&other));
    assert_eq!(other.omissions(), []);
}

#[test]
fn a_frame_holds_the_memory_of_an_equal_one() {
    let is_held = |one: &Bytes, other: &Bytes| std::ptr::eq(one.as_ptr(), other.as_ptr());
    let known = frame(WireApi::Responses);
    let shared = frame(WireApi::Responses).sharing(&known);
    assert!(is_held(shared.head_bytes(), known.head_bytes()) && is_held(&shared.tail_bytes(), &known.tail_bytes()));
    assert!(Arc::ptr_eq(&shared.reading, &known.reading));
    assert!(!Arc::ptr_eq(&frame(WireApi::Chat).sharing(&known).reading, &known.reading), "another API format");
    let tail = encoded(&[("],\"b\":", Origin::Wire), ("null", Origin::fact("f")), ("}", Origin::Wire)]);
    let other = Frame { tail: tail.into(), ..frame(WireApi::Responses) }.sharing(&known);
    assert!(is_held(other.head_bytes(), known.head_bytes()) && !Arc::ptr_eq(&other.reading, &known.reading));
    assert_eq!(&other.tail_bytes()[..], b"],\"b\":null}");
    let head = encoded(&[("{\"a\":\"", Origin::Wire), ("text", Origin::Model), ("\",\"input\":[", Origin::Wire)]);
    let other = Frame { head: head.into(), ..frame(WireApi::Responses) }.sharing(&known);
    assert!(other.is_same(&known) && other.origin_at(Place::Head(6)) == Some(&Origin::Model), "origins count too");
}

#[test]
fn frames_of_two_sessions_hold_the_same_tools_once() {
    let tail = |session: &str| {
        let tools = "x".repeat(2 * SHARED_BYTES_MIN);
        encoded(&[
            ("],\"tools\":\"", Origin::Wire),
            (&tools, Origin::Layout),
            (session, Origin::Wire),
            ("}", Origin::Wire),
        ])
    };
    let of = |session: &str| Frame { tail: tail(session).into(), ..frame(WireApi::Responses) };
    let (one, alone) = (of("one"), of("two"));
    let two = alone.clone().sharing(&one);
    assert!(std::ptr::eq(two.tail.first.as_ptr(), one.tail.first.as_ptr()) && two.tail.rest.len() < 8);
    assert!(Arc::ptr_eq(&two.tail.spans, &one.tail.spans));
    assert!(two.is_same(&alone) && alone.is_same_with_origins(&two) && !two.is_same(&one));
    assert_eq!(
        (two.tail_bytes(), two.tail_len(), two.n_bytes()),
        (alone.tail_bytes(), alone.tail_len(), alone.n_bytes())
    );
    for range in [0..5, 5..two.tail_len(), two.tail_len() - 2..two.tail_len()] {
        assert_eq!(two.tail_slice(range.clone()), alone.tail_slice(range));
    }
    assert_eq!(two.request(&mut transcript()).body(), alone.request(&mut transcript()).body());
    // A third session holds the same memory, not a copy of the second one's.
    assert!(std::ptr::eq(of("six").sharing(&two).tail.first.as_ptr(), one.tail.first.as_ptr()));
}

#[test]
fn every_byte_of_a_frame_has_its_origin() {
    let frame = frame(WireApi::Responses);
    let kinds = |place, n| frame.origins(place, n).map(|(origin, n)| (origin.kind(), n)).collect::<Vec<_>>();
    assert_eq!(kinds(Place::Head(0), 6), [("wire", 6)]);
    assert_eq!(kinds(Place::Head(4), 8), [("wire", 2), ("user", 4), ("wire", 2)]);
    assert_eq!(kinds(Place::Tail(6), 4), [("fact", 4)]);
    assert_eq!(kinds(Place::Tail(100), 4), []);
    assert_eq!(kinds(Place::Head(0), 0), []);
    assert_eq!(frame.origin_at(Place::Head(6)).map(Origin::kind), Some("user"));
    assert_eq!(frame.origin_at(Place::Tail(99)), None);
    let len = |spans: &[crate::encode::Span]| spans.iter().map(|span| span.len).sum::<usize>();
    assert_eq!(
        (len(frame.head_spans()), len(frame.tail_spans())),
        (frame.head_bytes().len(), frame.tail_bytes().len())
    );
}

#[test]
fn settings_of_a_session_are_plain_until_something_else_is_said() {
    let plain = WireSettings::new(SessionId::new("019a0000-0000-7000-8000-000000000001"));
    assert_eq!((plain.wire, plain.ids, plain.output_tokens_max), (WireApi::Responses, ItemIds::Hidden, None));
    assert_eq!(plain.output_schema, None);
}
