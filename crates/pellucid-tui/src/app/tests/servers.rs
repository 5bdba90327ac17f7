//! Questions of MCP servers.

use pellucid_protocol::elicitation::ElicitationId;
use pellucid_protocol::elicitation::ElicitationRequest;
use pellucid_protocol::mcp::McpInvocation;
use pellucid_protocol::mcp::McpToolCallEnd;
use serde_json::Value;
use serde_json::json;

use super::*;
use crate::host::HostCall;

fn asked_by_server(schema: Value) -> EventMessage {
    EventMessage::ElicitationRequest(ElicitationRequest {
        server_name: "depot".to_owned(),
        id: ElicitationId::Number(7),
        message: "How many?".to_owned(),
        schema,
        url: None,
    })
}

fn call_ended(server: &str) -> EventMessage {
    let invocation = McpInvocation { server: server.to_owned(), tool: "store".to_owned(), arguments: None };
    EventMessage::McpToolCallEnd(Box::new(McpToolCallEnd {
        call_id: "c".to_owned(),
        invocation,
        duration: Duration::ZERO,
        result: Err("gone".to_owned()),
    }))
}

/// Asks for a server, presses keys, and checks what is submitted.
#[track_caller]
fn check_answer(schema: Value, keys: &[&str], expected: &str) {
    let mut desk = Desk::new();
    desk.event(started());
    desk.event(asked_by_server(schema));
    for key in keys {
        desk.press(key);
    }
    assert_eq!(desk.submitted().join("; "), expected);
}

#[test]
fn a_server_is_answered_by_one_key() {
    let answer = |action: &str| {
        format!(
            "ResolveElicitation {{ server_name: \"depot\", request_id: Number(7), decision: {action}, content: None }}"
        )
    };
    for (key, action) in [("y", "Accept"), ("n", "Decline"), ("c", "Cancel"), ("esc", "Cancel"), ("ctrl-c", "Cancel")] {
        check_answer(json!({"type": "object", "properties": {}}), &[key], &answer(action));
    }
}

#[test]
fn a_page_is_opened_only_after_a_yes() {
    for (key, is_opened) in [("y", true), ("n", false), ("c", false), ("esc", false)] {
        let mut desk = Desk::new();
        desk.event(started());
        let EventMessage::ElicitationRequest(asked) = asked_by_server(Value::Null) else { panic!("a question") };
        let url = "https://good.test@bad.test/x?y";
        desk.event(EventMessage::ElicitationRequest(ElicitationRequest { url: Some(url.to_owned()), ..asked }));
        let screen = desk.screen();
        assert!(screen.contains("an address of bad.test opened") && screen.contains(url), "{screen}");
        desk.press(key);
        let opens = |effect: &Effect| matches!(effect, Effect::Ask(HostCall::OpenPage(opened)) if opened == url);
        assert_eq!(desk.effects.iter().any(opens), is_opened, "{key}");
        assert_eq!(desk.submitted().len(), 1, "{key}");
    }
}

#[test]
fn the_form_of_a_server_is_filled_in_and_sent_as_values() {
    let form = json!({
        "type": "object",
        "required": ["count"],
        "properties": {"count": {"type": "integer"}, "force": {"type": "boolean"}},
    });
    check_answer(
        form.clone(),
        &["y", "1", "2", "enter", "1"],
        "ResolveElicitation { server_name: \"depot\", request_id: Number(7), decision: Accept, content: Some(Object {\"count\": Number(12), \"force\": Bool(true)}) }",
    );
    // An answer that the server cannot use leaves the form open.
    check_answer(form.clone(), &["y", "x", "enter", "1"], "");
    check_answer(
        form,
        &["y", "esc"],
        "ResolveElicitation { server_name: \"depot\", request_id: Number(7), decision: Cancel, content: None }",
    );
}

#[test]
fn letters_of_a_sentence_do_not_answer_a_server() {
    let mut desk = Desk::new();
    desk.event(started());
    let now = Duration::from_secs(desk.seconds);
    desk.app.event(&Event { id: String::new(), msg: asked_by_server(Value::Null) }, now);
    for (at, char) in "yn".chars().enumerate() {
        let later = now + Duration::from_millis(50 * u64::try_from(at).unwrap());
        desk.effects.extend(desk.app.key(Key::char(char), later));
    }
    assert_eq!((desk.submitted(), desk.draft()), (Vec::new(), "yn"));
}

#[test]
fn a_question_goes_away_with_the_call_of_its_server() {
    let mut desk = Desk::new();
    desk.event(started());
    desk.event(asked_by_server(Value::Null));
    desk.event(call_ended("other"));
    assert!(desk.app.asking.is_open());
    desk.event(call_ended("depot"));
    assert!(!desk.app.asking.is_open());
    assert_eq!(desk.submitted(), [""; 0]);
}
