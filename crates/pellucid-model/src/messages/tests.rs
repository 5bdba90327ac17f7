use expect_test::Expect;
use expect_test::expect;
use proptest::prelude::*;

use super::*;

/// The events of a stream of payloads, one on each line.
fn stream(payloads: &str) -> String {
    let mut decoder = MessagesDecoder::default();
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
    let mut lines: String = events.iter().map(|event| format!("{event:?}\n")).collect();
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
{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude","usage":{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":1}}}
{"type":"ping"}
{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me"}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" see"}}
{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Eq"}}
{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"QB"}}
{"type":"content_block_stop","index":0}
{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Zz"}}
{"type":"content_block_stop","index":1}
{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Hé"}}
{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"llo"}}
{"type":"content_block_stop","index":2}
{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"shell","input":{}}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a\": "}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"1}"}}
{"type":"content_block_stop","index":3}
{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"plan","input":{}}}
{"type":"content_block_stop","index":4}
{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":12,"output_tokens_details":{"thinking_tokens":5}}}
{"type":"message_stop"}
"#,
        expect![[r#"
            Created
            ItemAdded(Reasoning { id: None, summary: [], content: None, encrypted_content: None })
            SummaryDelta { delta: "Let me", summary_index: 0 }
            SummaryDelta { delta: " see", summary_index: 0 }
            ItemDone(Reasoning { id: None, summary: [SummaryText { text: "Let me see" }], content: None, encrypted_content: Some("messages-signature:EqQB") })
            ItemDone(Reasoning { id: None, summary: [], content: None, encrypted_content: Some("messages-redacted:Zz") })
            ItemAdded(Message { id: None, role: "assistant", content: [], end_turn: None, phase: None })
            TextDelta("Hé")
            TextDelta("llo")
            ItemDone(Message { id: None, role: "assistant", content: [OutputText { text: "Héllo" }], end_turn: None, phase: None })
            ItemDone(FunctionCall { id: None, name: "shell", arguments: "{\"a\": 1}", call_id: "toolu_1" })
            ItemDone(FunctionCall { id: None, name: "plan", arguments: "{}", call_id: "toolu_2" })
            CacheWritten(20)
            Completed { response_id: "msg_1", usage: Some(TokenUsage { input_tokens: 123, cached_input_tokens: 100, output_tokens: 12, reasoning_output_tokens: 5, total_tokens: 135 }) }
        "#]],
    );
}

#[test]
fn events_that_come_twice_or_not_at_all_do_no_harm() {
    check(
        r#"
{"type":"message_start","message":{"id":"m"}}
{"type":"message_start","message":{"id":"n"}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"again"}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}
{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"nowhere"}}
{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"wrong kind"}}
{"type":"content_block_stop","index":0}
{"type":"content_block_stop","index":0}
{"type":"content_block_start","index":1,"content_block":{"type":"text","text":" \n"}}
{"type":"content_block_start","index":2,"content_block":{"type":"hologram"}}
{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t","name":"f","input":{"b":1,"a":2}}}
{"type":"message_delta","delta":{"stop_reason":"tool_use"}}
{"type":"message_delta","delta":{"stop_reason":"tool_use"}}
{"type":"content_block_start","index":4,"content_block":{"type":"text","text":"too late"}}
"#,
        expect![[r#"
            Created
            ItemAdded(Message { id: None, role: "assistant", content: [], end_turn: None, phase: None })
            TextDelta("a")
            TextDelta("b")
            ItemDone(Message { id: None, role: "assistant", content: [OutputText { text: "ab" }], end_turn: None, phase: None })
            ItemDone(FunctionCall { id: None, name: "f", arguments: "{\"b\":1,\"a\":2}", call_id: "t" })
            Completed { response_id: "m", usage: None }
        "#]],
    );
}

#[test]
fn a_reply_is_complete_when_the_server_says_why_it_stopped() {
    let start = r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1,"output_tokens":1}}}"#;
    check(
        start,
        expect![[r#"
        Created
        Stream: stream disconnected before completion: stream closed before message_stop
    "#]],
    );
    check(
        "",
        expect![[r#"
        Stream: stream disconnected before completion: stream closed before message_stop
    "#]],
    );
    check(
        &format!("{start}\n{}", r#"{"type":"message_stop"}"#),
        expect![[r#"
            Created
            CacheReadUnknown
            Completed { response_id: "m", usage: Some(TokenUsage { input_tokens: 1, cached_input_tokens: 0, output_tokens: 1, reasoning_output_tokens: 0, total_tokens: 2 }) }
        "#]],
    );
    check(
        &format!(
            "{start}\n{}",
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}"#
        ),
        expect![[r#"
            Created
            CacheReadUnknown
            Completed { response_id: "m", usage: Some(TokenUsage { input_tokens: 1, cached_input_tokens: 0, output_tokens: 5, reasoning_output_tokens: 0, total_tokens: 6 }) }
        "#]],
    );
}

#[test]
fn some_ends_are_errors() {
    let stop = |reason: &str| format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#);
    let error =
        |kind: &str, message: &str| format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#);
    for (end, expected) in [
        (
            stop("max_tokens"),
            expect![[r#"
            Local: The answer reached the maximum output tokens. Raise max_output_tokens of the provider.
        "#]],
        ),
        (
            stop("model_context_window_exceeded"),
            expect![[r#"
            ContextWindowExceeded: The conversation has outgrown the model's context window. Start a new session or clear earlier history.
        "#]],
        ),
        (
            stop("refusal"),
            expect![[r#"
            InvalidRequest: The provider's safety rules ended the answer.
        "#]],
        ),
        (
            error("overloaded_error", "Overloaded"),
            expect![[r#"
            Stream: stream disconnected before completion: Overloaded
        "#]],
        ),
        (
            error("invalid_request_error", "prompt is too long: 3 tokens > 2 maximum"),
            expect![[r#"
            ContextWindowExceeded: The conversation has outgrown the model's context window. Start a new session or clear earlier history.
        "#]],
        ),
        (
            error("invalid_request_error", "bad"),
            expect![[r#"
            InvalidRequest: bad
        "#]],
        ),
        (
            error("billing_error", "pay"),
            expect![[r#"
            QuotaExceeded: The quota is used up. Check the account's plan and billing details.
        "#]],
        ),
        (
            r#"{"type":"error","error":{}}"#.to_owned(),
            expect![[r#"
            Stream: stream disconnected before completion: 
        "#]],
        ),
    ] {
        check(&end, expected);
    }
}

#[test]
fn a_cut_call_never_comes() {
    check(
        r#"
{"type":"message_start","message":{"id":"m"}}
{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}
{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"/ho"}}
{"type":"content_block_stop","index":0}
{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}
"#,
        expect![[r#"
            Created
            Local: The answer reached the maximum output tokens. Raise max_output_tokens of the provider.
        "#]],
    );
}

#[test]
fn what_is_odd_is_skipped() {
    check(
        r#"
[DONE]
{"type":
{"no":"type"}
{"type":"content_block_start","index":-1,"content_block":{"type":"text"}}
{"type":"content_block_delta","index":0}
{"type":"vertex_event"}
{"type":"message_stop"}
"#,
        expect![[r#"
            Completed { response_id: "", usage: None }
        "#]],
    );
    let mut events = Vec::new();
    let payload =
        b"{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\xff\"}}";
    MessagesDecoder::default().decode(payload, &mut events).unwrap();
    assert_eq!(events, []);
}

fn any_payload() -> impl Strategy<Value = String> {
    let start = prop_oneof![
        Just(r#"{"type":"text","text":"a"}"#),
        Just(r#"{"type":"text","text":""}"#),
        Just(r#"{"type":"thinking","thinking":""}"#),
        Just(r#"{"type":"redacted_thinking","data":"x"}"#),
        Just(r#"{"type":"tool_use","id":"t","name":"f","input":{}}"#),
    ];
    let delta = prop_oneof![
        Just(r#"{"type":"text_delta","text":"b"}"#),
        Just(r#"{"type":"thinking_delta","thinking":"c"}"#),
        Just(r#"{"type":"signature_delta","signature":"s"}"#),
        Just(r#"{"type":"input_json_delta","partial_json":"{"}"#),
    ];
    prop_oneof![
        Just(r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}}"#.to_owned()),
        (0..3_u64, start)
            .prop_map(|(n, block)| format!(r#"{{"type":"content_block_start","index":{n},"content_block":{block}}}"#)),
        (0..3_u64, delta)
            .prop_map(|(n, delta)| format!(r#"{{"type":"content_block_delta","index":{n},"delta":{delta}}}"#)),
        (0..3_u64).prop_map(|n| format!(r#"{{"type":"content_block_stop","index":{n}}}"#)),
        Just(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#.to_owned()),
        Just(r#"{"type":"message_stop"}"#.to_owned()),
        ".{0,20}",
    ]
}

proptest! {
    /// For any payloads, a reply ends once, after everything that was announced.
    #[test]
    fn a_reply_ends_once(payloads in prop::collection::vec(any_payload(), 0..24)) {
        let mut decoder = MessagesDecoder::default();
        let mut events = Vec::new();
        for payload in &payloads {
            prop_assert!(decoder.decode(payload.as_bytes(), &mut events).is_ok());
        }
        let is_over = decoder.finish(&mut events).is_ok();
        let count = |is: fn(&ReplyEvent) -> bool| events.iter().filter(|event| is(event)).count();
        prop_assert_eq!(count(|event| matches!(event, ReplyEvent::Completed { .. })), usize::from(is_over));
        let n_added = count(|event| matches!(event, ReplyEvent::ItemAdded(_)));
        let n_done = count(|event| matches!(event, ReplyEvent::ItemDone(_)));
        prop_assert!(!is_over || n_done >= n_added);
        let ends_complete = matches!(events.last(), Some(ReplyEvent::Completed { .. }));
        prop_assert!(!is_over || ends_complete);
    }
}
