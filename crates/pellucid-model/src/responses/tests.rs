use expect_test::Expect;
use expect_test::expect;
use serde_json::json;

use super::*;

/// Decodes one payload per line and prints the events; without a completed response also the error at the end of the
/// stream.
#[track_caller]
fn check_stream(payloads: &str, expected: Expect) {
    let mut decoder = ResponsesDecoder::default();
    let mut lines = String::new();
    let mut completed = false;
    for payload in payloads.trim().lines() {
        let mut events = Vec::new();
        decoder.decode(payload.as_bytes(), &mut events);
        for event in events {
            completed |= matches!(event, ReplyEvent::Completed { .. });
            lines.push_str(&format!("{event:?}\n"));
        }
    }
    if !completed {
        let error = decoder.finish();
        let retry = error.retry_after.map(|delay| format!(" after {delay:?}")).unwrap_or_default();
        lines.push_str(&format!("{:?}{retry}: {error}\n", error.kind));
    }
    expected.assert_eq(&lines);
}

#[test]
fn every_kind_of_event_is_read() {
    check_stream(
        r#"
{"type":"response.created","response":{"id":"r"}}
{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}
{"type":"response.output_text.delta","delta":"Hé\n"}
{"type":"response.output_item.done","item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"Hé","annotations":[]}],"phase":"final_answer"}}
{"type":"response.reasoning_summary_part.added","summary_index":1}
{"type":"response.reasoning_summary_text.delta","delta":"s","summary_index":1}
{"type":"response.reasoning_text.delta","delta":"t","content_index":2}
{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":13}}}
"#,
        expect![[r#"
            Created
            ItemAdded(Message { id: Some("m"), role: "assistant", content: [], end_turn: None, phase: None })
            TextDelta("Hé\n")
            ItemDone(Message { id: Some("m"), role: "assistant", content: [OutputText { text: "Hé" }], end_turn: None, phase: Some(FinalAnswer) })
            SummaryPartAdded { summary_index: 1 }
            SummaryDelta { delta: "s", summary_index: 1 }
            RawReasoningDelta { delta: "t", content_index: 2 }
            Completed { response_id: "r", usage: Some(TokenUsage { input_tokens: 10, cached_input_tokens: 4, output_tokens: 3, reasoning_output_tokens: 2, total_tokens: 13 }) }
        "#]],
    );
}

#[test]
fn events_that_lack_what_they_need_are_skipped() {
    check_stream(
        r#"
{"type":"response.created"}
{"type":"response.created","response":null}
{"type":"response.output_item.added"}
{"type":"response.output_text.delta"}
{"type":"response.output_text.delta","delta":7}
{"type":"response.reasoning_summary_part.added"}
{"type":"response.reasoning_summary_text.delta","delta":"s"}
{"type":"response.reasoning_text.delta","content_index":0}
{"type":"response.completed"}
{"type":"response.in_progress","response":{"id":"r"}}
{"type":"codex.something"}
"#,
        expect![[r#"
            Stream: stream disconnected before completion: stream closed before response.completed
        "#]],
    );
}

#[test]
fn data_that_cannot_be_parsed_is_skipped() {
    check_stream(
        r#"
[DONE]
{"type":
{"no":"type"}
[1]
"text"
{"type":"response.output_text.delta","delta":"still here"}
{"type":"response.done"}
"#,
        expect![[r#"
            TextDelta("still here")
            Completed { response_id: "", usage: None }
        "#]],
    );
    let mut events = Vec::new();
    ResponsesDecoder::default().decode(b"{\"type\":\"response.output_text.delta\",\"delta\":\"\xff\"}", &mut events);
    assert_eq!(events, []);
}

#[test]
fn unknown_items_are_not_announced_and_bad_ones_never_come() {
    check_stream(
        r#"
{"type":"response.output_item.added","item":{"type":"hologram","depth":3}}
{"type":"response.output_item.done","item":{"type":"hologram","depth":3}}
{"type":"response.output_item.added","item":{"type":"function_call","name":"x"}}
{"type":"response.output_item.done","item":{"type":"function_call","name":"x"}}
{"type":"response.output_item.done","item":{"no":"type"}}
{"type":"response.output_item.done","item":{"type":"function_call","id":"fc","name":"x","arguments":"{ \"a\": 1 }","call_id":"c"}}
{"type":"response.done","response":{}}
"#,
        expect![[r#"
            ItemDone(Other)
            ItemDone(FunctionCall { id: Some("fc"), name: "x", arguments: "{ \"a\": 1 }", call_id: "c" })
            Completed { response_id: "", usage: None }
        "#]],
    );
}

#[test]
fn completed_needs_an_id_and_whole_figures() {
    check_stream(
        r#"{"type":"response.completed","response":{}}"#,
        expect![[r#"
        Stream: stream disconnected before completion: failed to parse ResponseCompleted: missing field `id`
    "#]],
    );
    check_stream(
        r#"{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":1}}}"#,
        expect![[r#"
        Stream: stream disconnected before completion: failed to parse ResponseCompleted: missing field `output_tokens`
    "#]],
    );
    check_stream(
        r#"{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":"1","output_tokens":1,"total_tokens":2}}}"#,
        expect![[r#"
            Stream: stream disconnected before completion: failed to parse ResponseCompleted: invalid type: string "1", expected i64
        "#]],
    );
    check_stream(
        r#"{"type":"response.completed","response":{"id":"r","usage":null}}"#,
        expect![[r#"
        Completed { response_id: "r", usage: None }
    "#]],
    );
    check_stream(
        r#"{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":1,"input_tokens_details":null,"output_tokens":1,"output_tokens_details":{},"total_tokens":2}}}"#,
        expect![[r#"
            CacheReadUnknown
            Completed { response_id: "r", usage: Some(TokenUsage { input_tokens: 1, cached_input_tokens: 0, output_tokens: 1, reasoning_output_tokens: 0, total_tokens: 2 }) }
        "#]],
    );
    check_stream(
        r#"{"type":"response.done","response":{"id":"r","usage":null}}"#,
        expect![[r#"
        Completed { response_id: "r", usage: None }
    "#]],
    );
    check_stream(
        r#"{"type":"response.done","response":{"usage":{}}}"#,
        expect![[r#"
        Stream: stream disconnected before completion: failed to parse ResponseCompleted: missing field `input_tokens`
    "#]],
    );
}

#[track_caller]
fn check_failed(code: Value, message: Value, expected: Expect) {
    let error = json!({ "code": code, "message": message });
    check_stream(&json!({ "type": "response.failed", "response": { "error": error } }).to_string(), expected);
}

#[test]
fn each_code_has_its_kind() {
    check_failed(
        json!("context_length_exceeded"),
        json!("m"),
        expect![[r#"
        ContextWindowExceeded: The conversation has outgrown the model's context window. Start a new session or clear earlier history.
    "#]],
    );
    check_failed(
        json!("insufficient_quota"),
        json!("m"),
        expect![[r#"
        QuotaExceeded: The quota is used up. Check the account's plan and billing details.
    "#]],
    );
    check_failed(
        json!("usage_not_included"),
        json!("m"),
        expect![[r#"
        UsageNotIncluded: This plan does not include the model's use. Upgrade the plan to continue.
    "#]],
    );
    check_failed(
        json!("invalid_prompt"),
        json!("bad words"),
        expect![[r#"
        InvalidRequest: bad words
    "#]],
    );
    check_failed(
        json!("invalid_prompt"),
        json!(null),
        expect![[r#"
        InvalidRequest: Invalid request.
    "#]],
    );
    check_failed(
        json!("server_is_overloaded"),
        json!("m"),
        expect![[r#"
        ServerOverloaded: The selected model has no capacity left at the moment. Choose another model or try again later.
    "#]],
    );
    check_failed(
        json!("slow_down"),
        json!("m"),
        expect![[r#"
        ServerOverloaded: The selected model has no capacity left at the moment. Choose another model or try again later.
    "#]],
    );
    check_failed(
        json!("rate_limit_exceeded"),
        json!("Please try again in 1.5s."),
        expect![[r#"
        Stream after 1.5s: stream disconnected before completion: Please try again in 1.5s.
    "#]],
    );
    check_failed(
        json!("something_else"),
        json!("try again in 1s"),
        expect![[r#"
        Stream: stream disconnected before completion: try again in 1s
    "#]],
    );
    check_failed(
        json!(null),
        json!("m"),
        expect![[r#"
        Stream: stream disconnected before completion: m
    "#]],
    );
    check_failed(
        json!("x"),
        json!(null),
        expect![[r#"
        Stream: stream disconnected before completion: 
    "#]],
    );
    check_failed(
        json!(5),
        json!("m"),
        expect![[r#"
        Stream: stream disconnected before completion: response.failed event received
    "#]],
    );
}

#[test]
fn a_failure_without_an_error_is_told_as_such() {
    for response in ["", r#","response":{}"#, r#","response":{"error":null}"#] {
        check_stream(
            &format!(r#"{{"type":"response.failed"{response}}}"#),
            expect![[r#"
                Stream: stream disconnected before completion: response.failed event received
            "#]],
        );
    }
}

#[test]
fn incomplete_tells_the_reason() {
    check_stream(
        r#"{"type":"response.incomplete"}"#,
        expect![[r#"
        Stream: stream disconnected before completion: Incomplete response returned, reason: unknown
    "#]],
    );
    check_stream(
        r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#,
        expect![[r#"
            Stream: stream disconnected before completion: Incomplete response returned, reason: max_output_tokens
        "#]],
    );
}

#[test]
fn a_failure_counts_only_if_nothing_completes() {
    check_stream(
        r#"
{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"one"}}}
{"type":"response.output_text.delta","delta":"more"}
{"type":"response.completed","response":{"id":"r"}}
"#,
        expect![[r#"
            TextDelta("more")
            Completed { response_id: "r", usage: None }
        "#]],
    );
    check_stream(
        r#"
{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"one"}}}
{"type":"response.failed","response":{"error":{"message":"two"}}}
"#,
        expect![[r#"
            Stream: stream disconnected before completion: two
        "#]],
    );
}

#[test]
fn the_model_that_answers_may_come_in_an_event() {
    check_stream(
        r#"
{"type":"response.created","response":{"id":"r","headers":{"OpenAI-Model":"gpt-a"}}}
{"type":"codex.note","headers":{"x-openai-model":["gpt-a","gpt-z"]}}
{"type":"codex.note","headers":{"x-openai-model":["gpt-b"]}}
{"type":"codex.note","headers":{"openai-model":7}}
{"type":"codex.note","headers":"none","response":{"headers":[]}}
{"type":"response.done"}
"#,
        expect![[r#"
            ServerModel("gpt-a")
            Created
            ServerModel("gpt-b")
            Completed { response_id: "", usage: None }
        "#]],
    );
    let mut events = Vec::new();
    let mut decoder = ResponsesDecoder::new(Some("gpt-a".to_owned()));
    decoder.decode(br#"{"type":"codex.note","headers":{"openai-model":"gpt-a"}}"#, &mut events);
    assert_eq!(events, []);
}

#[track_caller]
fn check_delay(message: &str, expected_ms: Option<u64>) {
    assert_eq!(wished_delay(message), expected_ms.map(Duration::from_millis), "{message}");
}

#[test]
fn delays_are_read_from_the_text() {
    check_delay("Rate limit reached. Please try again in 0.4s. Visit the site.", Some(400));
    check_delay("Try Again In 28ms", Some(28));
    check_delay("try again in11.054s", Some(11_054));
    check_delay("try again in 35 seconds", Some(35_000));
    check_delay("try again in 1 second", Some(1000));
    check_delay("try again in a while, or try again in 2s", Some(2000));
    check_delay("try again in 5 minutes", None);
    check_delay("try again in .5s", None);
    check_delay("try again in 1.s", None);
    check_delay("try again in", None);
    check_delay("é try again in é", None);
    check_delay(&format!("try again in {}s", "9".repeat(400)), None);
    check_delay("", None);
}
