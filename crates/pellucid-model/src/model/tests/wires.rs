//! The other wires: the same replies, complete, cut, silent and refused.

use serde_json::Value;

use super::*;

const WIRES: [WireApi; 2] = [WireApi::Chat, WireApi::Messages];

fn on(wire: WireApi, base_url: String) -> Provider {
    Provider { wire_api: wire, ..provider(base_url) }
}

fn reply(wire: WireApi, items: impl IntoIterator<Item = Value>) -> MockReply {
    match wire {
        WireApi::Responses => MockReply::items(items),
        WireApi::Chat => MockReply::chat(items),
        WireApi::Messages => MockReply::messages(items),
    }
}

/// Reasoning, an answer and two calls.
fn items() -> Vec<Value> {
    let call =
        |id: &str| json!({ "type": "function_call", "name": "shell", "arguments": "{\"a\": \"é\"}", "call_id": id });
    vec![
        json!({
            "type": "reasoning", "summary": [{ "type": "summary_text", "text": "I think." }],
            "content": [{ "type": "reasoning_text", "text": "I think." }], "encrypted_content": "SIG",
        }),
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Grüße 🙂" }] }),
        call("c1"),
        call("c2"),
    ]
}

/// The items of a reply, one on each line, and the outcome.
fn shown(events: &[ReplyEvent], error: Option<&ReplyError>) -> String {
    let mut lines = String::new();
    for event in events {
        match event {
            ReplyEvent::ItemDone(item) => lines.push_str(&format!("{}\n", serde_json::to_string(item).unwrap())),
            ReplyEvent::Completed { usage, .. } => lines.push_str(&format!("{usage:?}\n")),
            _ => {}
        }
    }
    if let Some(error) = error {
        lines.push_str(&format!("{:?}: {error}\n", error.kind));
    }
    lines
}

#[track_caller]
fn check_reply(wire: WireApi, reply: MockReply, expected: Expect) {
    let server = MockServer::start([reply]);
    let (events, error) = run(collect(&model(&on(wire, server.base_url()))));
    expected.assert_eq(&shown(&events, error.as_ref()));
}

#[test]
fn replies_of_the_mock_server_are_read_on_every_wire() {
    check_reply(
        WireApi::Chat,
        MockReply::chat(items()),
        expect![[r#"
        {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"I think."}],"encrypted_content":null}
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Grüße 🙂"}]}
        {"type":"function_call","name":"shell","arguments":"{\"a\": \"é\"}","call_id":"c1"}
        {"type":"function_call","name":"shell","arguments":"{\"a\": \"é\"}","call_id":"c2"}
        Some(TokenUsage { input_tokens: 100, cached_input_tokens: 60, output_tokens: 10, reasoning_output_tokens: 0, total_tokens: 110 })
    "#]],
    );
    check_reply(
        WireApi::Messages,
        MockReply::messages(items()),
        expect![[r#"
        {"type":"reasoning","summary":[{"type":"summary_text","text":"I think."}],"content":null,"encrypted_content":"messages-signature:SIG"}
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Grüße 🙂"}]}
        {"type":"function_call","name":"shell","arguments":"{\"a\": \"é\"}","call_id":"c1"}
        {"type":"function_call","name":"shell","arguments":"{\"a\": \"é\"}","call_id":"c2"}
        Some(TokenUsage { input_tokens: 100, cached_input_tokens: 60, output_tokens: 10, reasoning_output_tokens: 0, total_tokens: 110 })
    "#]],
    );
}

#[test]
fn every_wire_has_its_path() {
    for (wire, path) in [(WireApi::Chat, "/v1/chat/completions"), (WireApi::Messages, "/v1/messages")] {
        let server = MockServer::start([reply(wire, items())]);
        let (_, error) = run(collect(&model(&on(wire, server.base_url()))));
        assert_eq!(error, None);
        let request = &server.requests()[0];
        assert_eq!(request.path, path);
        assert_eq!(request.header("anthropic-version").is_some(), wire == WireApi::Messages);
    }
}

#[test]
fn a_prompt_that_is_too_long_is_recognised() {
    let refused = |status, body: &str| MockReply::status(status, body);
    let too_long = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#;
    check_reply(
        WireApi::Messages,
        refused(400, too_long),
        expect![[r#"
        ContextWindowExceeded: The conversation has outgrown the model's context window. Start a new session or clear earlier history.
    "#]],
    );
    check_reply(
        WireApi::Chat,
        refused(400, r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#),
        expect![[r#"
            ContextWindowExceeded: The conversation has outgrown the model's context window. Start a new session or clear earlier history.
        "#]],
    );
    check_reply(
        WireApi::Chat,
        refused(400, r#"{"error":{"message":"bad"}}"#),
        expect![[r#"
        InvalidRequest: {"error":{"message":"bad"}}
    "#]],
    );
    check_reply(
        WireApi::Responses,
        refused(400, too_long),
        expect![[r#"
        InvalidRequest: {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}
    "#]],
    );
}

#[test]
fn silence_ends_a_stream_on_every_wire() {
    for wire in WIRES {
        let server = MockServer::start([reply(wire, items()).hang_after(200)]);
        let provider = Provider { stream_idle_timeout_ms: Some(30), ..on(wire, server.base_url()) };
        let (_, error) = run(collect(&model(&provider)));
        assert_eq!(error.unwrap().message, "stream disconnected before completion: idle timeout waiting for SSE");
    }
}

/// Reads a stream in these pieces, without a socket.
fn read(wire: WireApi, pieces: &[&[u8]]) -> (Vec<ReplyEvent>, Option<ReplyError>) {
    let mut lines = sse::SseDecoder::default();
    let mut decoder = Decoder::new(wire, None);
    let mut events = VecDeque::new();
    let is_over = |events: &VecDeque<ReplyEvent>| matches!(events.back(), Some(ReplyEvent::Completed { .. }));
    for piece in pieces {
        lines.push(piece);
        while let Some(payload) = lines.next() {
            if is_over(&events) {
                break;
            }
            if let Err(error) = decoder.decode(&payload.unwrap(), &mut events) {
                return (events.into(), Some(error));
            }
        }
    }
    let error = if is_over(&events) { None } else { decoder.finish(&mut events).err() };
    (events.into(), error)
}

fn items_of(events: &[ReplyEvent]) -> Vec<&ReplyEvent> {
    events.iter().filter(|event| matches!(event, ReplyEvent::ItemDone(_))).collect()
}

#[test]
fn a_stream_in_any_two_pieces_is_the_same_and_cut_anywhere_ends() {
    let message = json!({ "type": "message", "content": [{ "type": "output_text", "text": "é🙂" }] });
    let call = json!({ "type": "function_call", "name": "f", "arguments": "{}", "call_id": "c" });
    for wire in WIRES {
        let whole = reply(wire, [message.clone(), call.clone()]).body();
        let (all, error) = read(wire, &[&whole]);
        assert_eq!(error, None);
        for at in 0..whole.len() {
            let (left, right) = whole.split_at(at);
            assert_eq!(read(wire, &[left, right]), (all.clone(), None), "{wire} in two at {at}");
            let (events, error) = read(wire, &[left]);
            match error {
                Some(error) => {
                    assert!(all.starts_with(&events), "{wire} cut at {at}: {events:?}");
                    assert_eq!(error.kind, ReplyErrorKind::Stream, "{wire} cut at {at}");
                }
                // Only usage figures and end marks are missing.
                None => assert_eq!(items_of(&events), items_of(&all), "{wire} cut at {at}"),
            }
        }
        let single: Vec<&[u8]> = whole.chunks(1).collect();
        assert_eq!(read(wire, &single), (all, None), "{wire} byte by byte");
    }
}

#[test]
fn a_reply_that_does_not_end_is_given_up() {
    let piece = "x".repeat(1 << 20);
    let chunk = |wire| match wire {
        WireApi::Chat => json!({ "choices": [{ "delta": { "content": piece } }] }),
        _ => json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": piece } }),
    };
    for wire in WIRES {
        let mut decoder = Decoder::new(wire, None);
        let mut events = VecDeque::new();
        let start = json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text" } });
        decoder.decode(start.to_string().as_bytes(), &mut events).unwrap();
        let chunk = chunk(wire).to_string();
        let mut results = (0..65).map(|_| {
            events.clear();
            decoder.decode(chunk.as_bytes(), &mut events)
        });
        let error = results.find_map(Result::err).unwrap();
        assert_eq!(error.message, "stream disconnected before completion: the reply is longer than 67108864 bytes");
    }
}
