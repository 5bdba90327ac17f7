use expect_test::Expect;
use expect_test::expect;
use proptest::prelude::*;

use super::*;

/// The events of a stream of payloads, one on each line.
fn stream(payloads: &str) -> String {
    let mut decoder = ChatDecoder::default();
    let mut lines = String::new();
    let mut events = Vec::new();
    let mut failed = None;
    for payload in payloads.trim().lines() {
        failed = decoder.decode(payload.trim().as_bytes(), &mut events).err();
        if failed.is_some() {
            break;
        }
    }
    let is_complete = |events: &[ReplyEvent]| matches!(events.last(), Some(ReplyEvent::Completed { .. }));
    if failed.is_none() && !is_complete(&events) {
        failed = decoder.finish(&mut events).err();
    }
    for event in &events {
        lines.push_str(&format!("{event:?}\n"));
    }
    match failed {
        Some(error) => lines.push_str(&format!("{:?}: {error}\n", error.kind)),
        None => assert!(is_complete(&events), "a reply ends complete or failed"),
    }
    lines
}

#[track_caller]
fn check(payloads: &str, expected: Expect) {
    expected.assert_eq(&stream(payloads));
}

#[test]
fn thoughts_answer_calls_and_figures() {
    check(
        r#"
{"id":"r","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}
{"id":"r","choices":[{"index":0,"delta":{"reasoning_content":"Let me"}}]}
{"id":"r","choices":[{"index":0,"delta":{"reasoning":" see"}}]}
{"id":"r","choices":[{"index":0,"delta":{"content":"Hé"}}]}
{"id":"r","choices":[{"index":0,"delta":{"content":"llo"}}]}
{"id":"r","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"shell","arguments":""}}]}}]}
{"id":"r","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}}]}
{"id":"r","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"plan","arguments":"{}"}},{"index":0,"function":{"arguments":"1}"}}]}}]}
{"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
{"id":"r","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}
[DONE]
"#,
        expect![[r#"
            Created
            ItemAdded(Reasoning { id: None, summary: [], content: Some([]), encrypted_content: None })
            RawReasoningDelta { delta: "Let me", content_index: 0 }
            RawReasoningDelta { delta: " see", content_index: 0 }
            ItemDone(Reasoning { id: None, summary: [], content: Some([ReasoningText { text: "Let me see" }]), encrypted_content: None })
            ItemAdded(Message { id: None, role: "assistant", content: [], end_turn: None, phase: None })
            TextDelta("Hé")
            TextDelta("llo")
            ItemDone(Message { id: None, role: "assistant", content: [OutputText { text: "Héllo" }], end_turn: None, phase: None })
            ItemDone(FunctionCall { id: None, name: "shell", arguments: "{\"a\":1}", call_id: "c1" })
            ItemDone(FunctionCall { id: None, name: "plan", arguments: "{}", call_id: "c2" })
            Completed { response_id: "r", usage: Some(TokenUsage { input_tokens: 10, cached_input_tokens: 4, output_tokens: 3, reasoning_output_tokens: 2, total_tokens: 13 }) }
        "#]],
    );
}

#[test]
fn pieces_of_calls_find_their_call() {
    check(
        r#"
{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"1"}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"2"}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":"3"}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"4"}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"index":7,"function":{"name":"h","arguments":"5"}}]}}]}
{"choices":[{"delta":{},"finish_reason":"stop"}]}
"#,
        expect![[r#"
            Created
            ItemDone(FunctionCall { id: None, name: "f", arguments: "124", call_id: "a" })
            ItemDone(FunctionCall { id: None, name: "g", arguments: "3", call_id: "b" })
            ItemDone(FunctionCall { id: None, name: "h", arguments: "5", call_id: "tool-call-7" })
            Completed { response_id: "", usage: None }
        "#]],
    );
}

#[test]
fn a_reply_is_complete_when_the_server_says_why_it_stopped() {
    let said = r#"{"choices":[{"delta":{"content":"x"}}]}"#;
    let stopped = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    check(
        &format!("{said}\n{stopped}"),
        expect![[r#"
        Created
        ItemAdded(Message { id: None, role: "assistant", content: [], end_turn: None, phase: None })
        TextDelta("x")
        ItemDone(Message { id: None, role: "assistant", content: [OutputText { text: "x" }], end_turn: None, phase: None })
        Completed { response_id: "", usage: None }
    "#]],
    );
    check(
        &format!("{said}\nDONE\n{said}"),
        expect![[r#"
        Created
        ItemAdded(Message { id: None, role: "assistant", content: [], end_turn: None, phase: None })
        TextDelta("x")
        ItemDone(Message { id: None, role: "assistant", content: [OutputText { text: "x" }], end_turn: None, phase: None })
        Completed { response_id: "", usage: None }
    "#]],
    );
    check(
        said,
        expect![[r#"
        Created
        ItemAdded(Message { id: None, role: "assistant", content: [], end_turn: None, phase: None })
        TextDelta("x")
        Stream: stream disconnected before completion: stream closed before finish_reason
    "#]],
    );
    check(
        "",
        expect![[r#"
        Stream: stream disconnected before completion: stream closed before finish_reason
    "#]],
    );
    check(
        &format!("{said}\n{stopped}\n{stopped}\n{said}\n[DONE]\n[DONE]"),
        expect![[r#"
            Created
            ItemAdded(Message { id: None, role: "assistant", content: [], end_turn: None, phase: None })
            TextDelta("x")
            ItemDone(Message { id: None, role: "assistant", content: [OutputText { text: "x" }], end_turn: None, phase: None })
            Completed { response_id: "", usage: None }
        "#]],
    );
    check(
        r#"{"id":"z","choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#,
        expect![[r#"
            Created
            ItemAdded(Message { id: None, role: "assistant", content: [], end_turn: None, phase: None })
            TextDelta("x")
            ItemDone(Message { id: None, role: "assistant", content: [OutputText { text: "x" }], end_turn: None, phase: None })
            CacheReadUnknown
            Completed { response_id: "z", usage: Some(TokenUsage { input_tokens: 1, cached_input_tokens: 0, output_tokens: 2, reasoning_output_tokens: 0, total_tokens: 3 }) }
        "#]],
    );
}

#[test]
fn blanks_before_a_call_are_nobodys_answer() {
    check(
        r#"
{"choices":[{"delta":{"content":"\n\n"}}]}
{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}
[DONE]
"#,
        expect![[r#"
            Created
            ItemDone(FunctionCall { id: None, name: "f", arguments: "{}", call_id: "a" })
            Completed { response_id: "", usage: None }
        "#]],
    );
}

#[test]
fn some_ends_are_errors() {
    for (end, expected) in [
        (
            r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]}"#,
            expect![[r#"
            Created
            ItemAdded(Message { id: None, role: "assistant", content: [], end_turn: None, phase: None })
            TextDelta("x")
            ContextWindowExceeded: The conversation has outgrown the model's context window. Start a new session or clear earlier history.
        "#]],
        ),
        (
            r#"{"choices":[{"finish_reason":"content_filter"}]}"#,
            expect![[r#"
            Created
            InvalidRequest: The provider's content filter ended the answer.
        "#]],
        ),
        (
            r#"{"error":{"message":"slow","type":"server_error","code":null}}"#,
            expect![[r#"
            Stream: stream disconnected before completion: slow
        "#]],
        ),
        (
            r#"{"error":{"message":"Rate limit. Please try again in 2s.","code":"rate_limit_exceeded"}}"#,
            expect![[r#"
            Stream: stream disconnected before completion: Rate limit. Please try again in 2s.
        "#]],
        ),
        (
            r#"{"error":{"message":"no","code":"insufficient_quota"}}"#,
            expect![[r#"
            QuotaExceeded: The quota is used up. Check the account's plan and billing details.
        "#]],
        ),
        (
            r#"{"error":{"message":"too long","type":"exceed_context_size_error","code":400}}"#,
            expect![[r#"
            ContextWindowExceeded: The conversation has outgrown the model's context window. Start a new session or clear earlier history.
        "#]],
        ),
        (
            r#"{"object":"error","message":"This model's maximum context length is 10 tokens","code":400}"#,
            expect![[r#"
            ContextWindowExceeded: The conversation has outgrown the model's context window. Start a new session or clear earlier history.
        "#]],
        ),
        (
            r#"{"error":"plain words"}"#,
            expect![[r#"
            Stream: stream disconnected before completion: plain words
        "#]],
        ),
    ] {
        check(end, expected);
    }
}

#[test]
fn what_is_odd_is_skipped() {
    check(
        r#"
[1]
{"choices":
{"choices":{"no":"list"}}
{"choices":[{"index":1,"delta":{"content":"the other answer"}}]}
{"choices":[{"delta":{"content":["a","list"]}}]}
{"choices":[{"delta":{"content":7,"reasoning":null,"tool_calls":"none"}}],"usage":"free"}
{"choices":[{"delta":null}]}
{"choices":[{"delta":{"content":"still here"}}]}
[DONE]
"#,
        expect![[r#"
            Created
            ItemAdded(Message { id: None, role: "assistant", content: [], end_turn: None, phase: None })
            TextDelta("still here")
            ItemDone(Message { id: None, role: "assistant", content: [OutputText { text: "still here" }], end_turn: None, phase: None })
            Completed { response_id: "", usage: None }
        "#]],
    );
    let mut events = Vec::new();
    ChatDecoder::default().decode(b"{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}", &mut events).unwrap();
    assert_eq!(events, []);
}

fn any_payload() -> impl Strategy<Value = String> {
    let index = prop_oneof![Just(String::new()), (0..3_u64).prop_map(|n| format!("\"index\":{n},"))];
    let id = prop_oneof![Just(String::new()), "[ab]".prop_map(|id| format!("\"id\":\"{id}\","))];
    prop_oneof![
        "[a-z ]{0,4}".prop_map(|text| format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#)),
        "[a-z ]{0,4}".prop_map(|text| format!(r#"{{"choices":[{{"delta":{{"reasoning":"{text}"}}}}]}}"#)),
        (index, id).prop_map(|(index, id)| format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{{index}{id}"function":{{"name":"f","arguments":"1"}}}}]}}}}]}}"#
        )),
        Just(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.to_owned()),
        Just(r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#.to_owned()),
        Just("[DONE]".to_owned()),
        ".{0,20}",
    ]
}

proptest! {
    /// For any payloads, a reply ends once, and an announced item is complete before the next one.
    #[test]
    fn items_come_one_after_the_other(payloads in prop::collection::vec(any_payload(), 0..20)) {
        let mut decoder = ChatDecoder::default();
        let mut events = Vec::new();
        for payload in &payloads {
            prop_assert!(decoder.decode(payload.as_bytes(), &mut events).is_ok());
        }
        let is_over = decoder.finish(&mut events).is_ok();
        let n_completed = events.iter().filter(|event| matches!(event, ReplyEvent::Completed { .. })).count();
        prop_assert_eq!(n_completed, usize::from(is_over));
        let mut is_open = false;
        for event in &events {
            match event {
                ReplyEvent::ItemAdded(_) => {
                    prop_assert!(!is_open);
                    is_open = true;
                }
                ReplyEvent::TextDelta(_) | ReplyEvent::RawReasoningDelta { .. } => prop_assert!(is_open),
                ReplyEvent::ItemDone(Item::FunctionCall { .. }) | ReplyEvent::Completed { .. } => {
                    prop_assert!(!is_open);
                }
                ReplyEvent::ItemDone(_) => is_open = false,
                _ => {}
            }
        }
    }
}
