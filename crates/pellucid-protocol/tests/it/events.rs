//! Events: their JSON, and their echoes for older clients.

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawReasoning;
use serde_json::Value;
use serde_json::json;

#[track_caller]
fn check_echoes(event: Value, raw: RawReasoning, expected: &Expect) {
    let event: EventMessage = serde_json::from_value(event).unwrap();
    let echoes = event.echoes(raw);
    let lines: Vec<String> = echoes.iter().map(|echo| serde_json::to_string(echo).unwrap()).collect();
    expected.assert_eq(&lines.join("\n"));
}

fn completed(item: &Value) -> Value {
    json!({ "type": "item_completed", "thread_id": "s", "turn_id": "t", "item": item })
}

#[test]
fn a_user_message_puts_texts_together_and_moves_elements() {
    check_echoes(
        completed(&json!({ "type": "UserMessage", "id": "1", "content": [
            { "type": "local_image", "path": "/p.png" },
            { "type": "text", "text": "ab" },
            { "type": "image", "image_url": "http://x" },
            { "type": "text", "text": "[cd]", "text_elements": [{ "byte_range": { "start": 0, "end": 4 } }] },
            { "type": "skill", "name": "s", "path": "/s" },
        ]})),
        RawReasoning::Hidden,
        &expect![[
            r#"{"type":"user_message","message":"ab[cd]","images":["http://x"],"local_images":["/p.png"],"text_elements":[{"byte_range":{"start":2,"end":6},"placeholder":null}]}"#
        ]],
    );
}

#[test]
fn thoughts_are_echoed_one_by_one_and_raw_ones_only_when_shown() {
    let thought =
        completed(&json!({ "type": "Reasoning", "id": "1", "summary_text": ["a", "b"], "raw_content": ["r"] }));
    check_echoes(
        thought.clone(),
        RawReasoning::Hidden,
        &expect![[r#"
            {"type":"agent_reasoning","text":"a"}
            {"type":"agent_reasoning","text":"b"}"#]],
    );
    check_echoes(
        thought,
        RawReasoning::Shown,
        &expect![[r#"
            {"type":"agent_reasoning","text":"a"}
            {"type":"agent_reasoning","text":"b"}
            {"type":"agent_reasoning_raw_content","text":"r"}"#]],
    );
}

#[test]
fn searches_and_answers_have_echoes() {
    check_echoes(
        completed(&json!({ "type": "AgentMessage", "id": "1", "content": [{ "type": "Text", "text": "hi" }] })),
        RawReasoning::Hidden,
        &expect![[r#"{"type":"agent_message","message":"hi"}"#]],
    );
    check_echoes(
        json!({ "type": "item_started", "thread_id": "s", "turn_id": "t",
                "item": { "type": "WebSearch", "id": "w", "query": "", "action": { "type": "other" } } }),
        RawReasoning::Hidden,
        &expect![[r#"{"type":"web_search_begin","call_id":"w"}"#]],
    );
}

#[test]
fn error_kinds_are_words_or_carry_a_status() {
    let text = |info: ErrorInfo| serde_json::to_string(&info).unwrap();
    assert_eq!(text(ErrorInfo::ContextWindowExceeded), r#""context_window_exceeded""#);
    assert_eq!(
        text(ErrorInfo::ResponseTooManyFailedAttempts { http_status_code: Some(429) }),
        r#"{"response_too_many_failed_attempts":{"http_status_code":429}}"#
    );
}

#[test]
fn newer_names_of_turn_events_are_read() {
    let event: EventMessage =
        serde_json::from_value(json!({ "type": "turn_complete", "turn_id": "t", "last_agent_message": null })).unwrap();
    expect![[r#"{"type":"task_complete","turn_id":"t","last_agent_message":null}"#]]
        .assert_eq(&serde_json::to_string(&event).unwrap());
}
