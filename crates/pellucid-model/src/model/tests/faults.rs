//! Servers that fail in every known way: the client never panics, never waits for ever, holds a bounded number of
//! bytes, and passes on every complete item.

use super::*;
use crate::sse::SseLimits;

fn message(text: &str) -> serde_json::Value {
    json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] })
}

fn done(text: &str) -> serde_json::Value {
    json!({ "type": "response.output_item.done", "item": message(text) })
}

fn delta(text: &str) -> serde_json::Value {
    json!({ "type": "response.output_text.delta", "delta": text })
}

fn completed() -> serde_json::Value {
    json!({ "type": "response.completed", "response": { "id": "r" } })
}

fn frame(payload: &serde_json::Value) -> Vec<u8> {
    format!("data: {payload}\n\n").into_bytes()
}

/// The texts of complete items and pieces, in order; then the outcome.
fn outline((events, error): (Vec<ReplyEvent>, Option<ReplyError>)) -> String {
    let mut lines = String::new();
    for event in events {
        match event {
            ReplyEvent::ItemDone(item) => {
                let item = serde_json::to_value(item).unwrap();
                lines.push_str(&format!("item {}\n", item["content"][0]["text"]));
            }
            ReplyEvent::TextDelta(text) => lines.push_str(&format!("text {text:?}\n")),
            ReplyEvent::Completed { .. } => lines.push_str("completed\n"),
            _ => {}
        }
    }
    if let Some(error) = error {
        lines.push_str(&format!("{error}\n"));
    }
    lines
}

/// Reads one reply and shows its events.
#[track_caller]
fn check_reply(reply: MockReply, expected: Expect) {
    let server = MockServer::start([reply]);
    let provider = Provider { stream_idle_timeout_ms: Some(2_000), ..provider(server.base_url()) };
    expected.assert_eq(&outline(run(collect(&model(&provider)))));
}

#[test]
fn a_connection_that_breaks_at_any_byte_loses_no_whole_event() {
    let whole = MockReply::events([done("Grüße"), done("🙂"), completed()]);
    let n_bytes = whole.body_len();
    let ends: Vec<usize> = [done("Grüße"), done("🙂")]
        .iter()
        .scan(0, |end, payload| {
            *end += "event: response.output_item.done\n".len() + frame(payload).len();
            Some(*end)
        })
        .collect();
    let server = MockServer::start((0..n_bytes).map(|at| whole.clone().break_after(at)));
    let model = model(&provider(server.base_url()));
    run(async {
        for at in 0..n_bytes {
            let (events, error) = collect(&model).await;
            let n_items = events.iter().filter(|event| matches!(event, ReplyEvent::ItemDone(_))).count();
            assert_eq!(n_items, ends.iter().filter(|end| **end <= at).count(), "broken at {at}");
            assert_eq!(error.unwrap_or_else(|| panic!("broken at {at}")).kind, ReplyErrorKind::Stream);
        }
    });
    assert_eq!(server.requests().len(), n_bytes, "a stream that began is the turn's to ask for again");
}

#[test]
fn a_stall_anywhere_ends_after_the_limit() {
    let whole = MockReply::events([done("Grüße"), completed()]);
    let stalls = (0..whole.body_len() - 1).step_by(29);
    let n_stalls = stalls.len();
    let server = MockServer::start(stalls.map(|at| whole.clone().hang_after(at)));
    let provider = Provider { stream_idle_timeout_ms: Some(15), ..provider(server.base_url()) };
    let model = model(&provider);
    run(async {
        for n in 0..n_stalls {
            let (_, error) = collect(&model).await;
            let message = error.unwrap_or_else(|| panic!("stall {n}")).message;
            assert_eq!(message, "stream disconnected before completion: idle timeout waiting for SSE", "stall {n}");
        }
    });
}

#[test]
fn a_page_instead_of_a_stream_is_no_reply() {
    for content_type in
        ["text/html", "application/json", "application/octet-stream", "", "text/event-stream; charset=x"]
    {
        for body in ["<!doctype html><h1>Hello</h1>", "{\"id\":\"resp\",\"output\":[]}", "", "\n\n\n", "data\n\n"] {
            check_reply(
                MockReply::frames([body]).content_type(content_type),
                expect![[r#"
                    stream disconnected before completion: stream closed before response.completed
                "#]],
            );
        }
    }
}

#[test]
fn the_type_that_a_server_names_does_not_matter_to_a_stream() {
    check_reply(
        MockReply::events([done("Hi."), completed()]).content_type("text/plain"),
        expect![[r#"
            item "Hi."
            completed
        "#]],
    );
}

#[test]
fn characters_may_be_cut_anywhere_between_frames() {
    let bytes: Vec<u8> = [delta("Grüße 🙂"), done("Grüße 🙂"), completed()].iter().flat_map(frame).collect();
    check_reply(
        MockReply::frames(bytes.chunks(1)),
        expect![[r#"
            text "Grüße 🙂"
            item "Grüße 🙂"
            completed
        "#]],
    );
}

#[test]
fn half_a_character_costs_its_event_and_no_other() {
    let mut broken = frame(&delta("Grüße"));
    let at = broken.iter().position(|byte| *byte == "ü".as_bytes()[0]).unwrap();
    broken.remove(at + 1);
    check_reply(
        MockReply::frames([
            frame(&delta("a")),
            broken,
            b"data: \xff\xfe\n\n".to_vec(),
            frame(&done("b")),
            frame(&completed()),
        ]),
        expect![[r#"
            text "a"
            item "b"
            completed
        "#]],
    );
}

#[test]
fn events_that_are_no_events_are_passed_over() {
    let odd = [
        "null",
        "[]",
        "5",
        "\"text\"",
        "{}",
        "{\"type\":5}",
        "{\"type\":\"response.completed\"}",
        "{",
        "[DONE]",
        "{\"type\":\"response.output_item.done\",\"item\":7}",
        "{\"type\":\"response.output_text.delta\",\"delta\":{}}",
        "{\"type\":\"response.reasoning_summary_text.delta\",\"delta\":\"x\",\"summary_index\":-1e400}",
    ];
    let odd = odd.iter().map(|data| format!("data: {data}\n\n").into_bytes());
    check_reply(
        MockReply::frames(odd.chain([frame(&done("Hi.")), frame(&completed())])),
        expect![[r#"
            item "Hi."
            completed
        "#]],
    );
}

#[test]
fn events_that_come_twice_are_told_twice_until_the_reply_is_complete() {
    let events = [delta("a"), delta("a"), done("b"), done("b"), completed(), completed(), done("late")];
    check_reply(
        MockReply::events(events),
        expect![[r#"
            text "a"
            text "a"
            item "b"
            item "b"
            completed
        "#]],
    );
}

/// Reads a stream with small limits and shows its events.
#[track_caller]
fn check_bounded(frames: Vec<Vec<u8>>, expected: Expect) {
    let server = MockServer::start([MockReply::frames(frames)]);
    let limits = SseLimits { line_bytes_max: 10_000, event_bytes_max: 20_000 };
    let transport = Transport::with_limits(Duration::ZERO, limits);
    let model = Model::http(transport, &provider(server.base_url()), None, &|_| None);
    expected.assert_eq(&outline(run(collect(&model))));
}

#[test]
fn what_does_not_end_is_given_up() {
    let line = vec![b'x'; 4 << 20];
    check_bounded(
        vec![frame(&done("Hi.")), b"data: ".to_vec(), line.clone()],
        expect![[r#"
            item "Hi."
            stream disconnected before completion: a line of the stream is longer than 10000 bytes
        "#]],
    );
    check_bounded(
        vec![frame(&done("Hi.")), b": ".to_vec(), line],
        expect![[r#"
            item "Hi."
            stream disconnected before completion: a line of the stream is longer than 10000 bytes
        "#]],
    );
    check_bounded(
        vec![frame(&done("Hi.")), b"data: more\n".repeat(100_000)],
        expect![[r#"
            item "Hi."
            stream disconnected before completion: an event of the stream is longer than 20000 bytes
        "#]],
    );
    check_bounded(
        vec![b"event: x\nid: 5\n: ping\n".repeat(50_000), b"\n".to_vec(), frame(&done("Hi.")), frame(&completed())],
        expect![[r#"
            item "Hi."
            completed
        "#]],
    );
}

#[test]
fn a_hundred_thousand_pieces_all_come() {
    const N: usize = 100_000;
    let mut bytes = Vec::new();
    for n in 0..N {
        bytes.extend(format!("data: {{\"type\":\"response.output_text.delta\",\"delta\":\"{n} \"}}\n\n").into_bytes());
    }
    bytes.extend(frame(&completed()));
    let server = MockServer::start([MockReply::frames([bytes])]);
    let (events, error) = run(collect(&model(&provider(server.base_url()))));
    assert_eq!(error, None);
    let mut expected = 0;
    for event in &events {
        if let ReplyEvent::TextDelta(text) = event {
            assert_eq!(text.trim_end().parse(), Ok(expected));
            expected += 1;
        }
    }
    assert_eq!(expected, N);
}

#[test]
fn an_endless_refusal_is_read_in_part() {
    let server = MockServer::start([MockReply::status(400, &"no ".repeat(1 << 20))]);
    let (_, error) = run(collect(&model(&provider(server.base_url()))));
    assert_eq!(error.unwrap().message.len(), 1 << 20);
}
