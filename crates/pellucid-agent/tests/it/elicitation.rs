//! MCP servers that ask a person while their tool runs.

use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::review::ReviewRequest;
use pellucid_protocol::review::ReviewTarget;
use pellucid_testkit::McpScript;
use pellucid_testkit::MockReply;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;

use crate::answers::Talked;
use crate::answers::say;
use crate::answers::talk_in;

/// A server whose tool asks for a count before it answers.
fn asker() -> McpScript {
    let script = McpScript::new(&["store"]);
    script.answers("tools/call_store", &json!({"content": [{"type": "text", "text": "stored"}]}));
    let schema = json!({"type": "object", "properties": {"count": {"type": "integer", "default": 3}}});
    script.asks_before("store", &json!({"message": "How many?", "requestedSchema": schema}));
    script
}

/// The model calls the tool once; the client answers the question of the server as `respond` says.
fn talk(script: &McpScript, operation: Operation, respond: impl Fn(&EventMessage) -> Option<Operation>) -> Talked {
    let call = json!({"type": "function_call", "name": "mcp__depot__store", "arguments": "{}", "call_id": "c1"});
    let replies = vec![MockReply::items([call]), MockReply::say("Done.")];
    let config = format!("[mcp_servers.depot]\n{}startup_timeout_sec = 600\n", script.config());
    talk_in(&Workspace::empty(), &config, Vec::new(), replies, vec![operation], |_, event| respond(event))
}

fn resolved(event: &EventMessage, decision: ElicitationAction, content: Option<Value>) -> Option<Operation> {
    let EventMessage::ElicitationRequest(request) = event else { return None };
    assert_eq!((request.server_name.as_str(), request.message.as_str()), ("depot", "How many?"));
    let (server_name, request_id) = (request.server_name.clone(), request.id.clone());
    Some(Operation::ResolveElicitation { server_name, request_id, decision, content })
}

/// Checks what the server gets for an answer, and that the turn continues with the answer of its tool.
#[track_caller]
fn check_answer(decision: ElicitationAction, content: Option<&Value>, expected: Value) {
    let script = asker();
    let talked = talk(&script, say("Store."), |event| resolved(event, decision, content.cloned()));
    assert_eq!(script.answers_to_questions(), [expected]);
    assert_eq!(talked.count("elicitation_request"), 1);
    let outputs: Vec<_> =
        talked.requests[1]["input"].as_array().unwrap().iter().filter_map(|it| it.get("output")).collect();
    assert_eq!(outputs, [r#"[{"type":"text","text":"stored"}]"#]);
}

#[test]
fn a_server_gets_what_the_person_answers() {
    check_answer(
        ElicitationAction::Accept,
        Some(&json!({"count": 8})),
        json!({"action": "accept", "content": {"count": 8}}),
    );
    check_answer(ElicitationAction::Accept, None, json!({"action": "accept", "content": {"count": 3}}));
    check_answer(ElicitationAction::Decline, None, json!({"action": "decline"}));
    check_answer(ElicitationAction::Cancel, Some(&json!({"count": 8})), json!({"action": "cancel"}));
}

#[test]
fn an_interruption_ends_a_turn_whose_server_waits_for_an_answer() {
    let talked = talk(&asker(), say("Store."), |event| {
        matches!(event, EventMessage::ElicitationRequest(_)).then_some(Operation::Interrupt)
    });
    assert_eq!((talked.count("turn_aborted"), talked.requests.len()), (1, 1));
}

#[test]
fn a_server_that_leaves_fails_its_call_and_the_turn_continues() {
    let script = asker();
    script.leaves_after_asking();
    let talked = talk(&script, say("Store."), |_| None);
    let output = talked.requests[1]["input"].as_array().unwrap().last().unwrap()["output"].clone();
    assert!(output.as_str().unwrap().starts_with("err: "), "{output}");
}

/// The reviewer uses the servers of its session, whose turns are not running then.
#[test]
fn a_server_of_a_reviewer_is_not_left_waiting() {
    let script = asker();
    let target = ReviewTarget::Custom { instructions: "Look.".to_owned() };
    let review = Operation::Review { review_request: ReviewRequest { target, user_facing_hint: None } };
    let talked = talk(&script, review, |_| None);
    assert_eq!(script.answers_to_questions(), [json!({"action": "cancel"})]);
    assert_eq!((talked.count("elicitation_request"), talked.requests.len()), (0, 2));
}

/// A server with a prompt and the tool that asks.
fn prompter() -> McpScript {
    let script = asker();
    script.gives(&json!({"name": "fix"}), "Fix what is broken.", "a note");
    script
}

#[test]
fn an_interruption_ends_a_turn_whose_server_does_not_give_its_prompt() {
    let script = prompter();
    script.ignores("prompts/list");
    let talked = talk(&script, say("/mcp:depot:fix"), |event| {
        matches!(event, EventMessage::TaskStarted { .. }).then_some(Operation::Interrupt)
    });
    assert_eq!((talked.count("turn_aborted"), talked.requests.len()), (1, 0));
}

#[test]
fn a_prompt_that_is_wanted_during_a_turn_begins_the_next_one() {
    let script = prompter();
    let call = json!({"type": "function_call", "name": "mcp__depot__store", "arguments": "{}", "call_id": "c1"});
    let mut replies = vec![MockReply::items([call])];
    replies.extend(["Stored.", "Fixed.", "Bye."].map(MockReply::say));
    let config = format!("[mcp_servers.depot]\n{}startup_timeout_sec = 600\n", script.config());
    let operations = vec![say("Store."), say("Bye.")];
    let talked = talk_in(&Workspace::empty(), &config, Vec::new(), replies, operations, |_, event| match event {
        EventMessage::McpToolCallBegin(_) => Some(say("/mcp:depot:fix")),
        event => resolved(event, ElicitationAction::Accept, None),
    });
    let said = |request: &Value| request.to_string().contains("Fix what is broken.");
    assert_eq!(talked.requests[..3].iter().map(said).collect::<Vec<_>>(), [false, false, true]);
}
