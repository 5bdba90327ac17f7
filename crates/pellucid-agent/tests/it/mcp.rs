//! Sessions with MCP servers: their first request waits, and those they start have the same tools.

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::review::ReviewRequest;
use pellucid_protocol::review::ReviewTarget;
use pellucid_testkit::McpScript;
use pellucid_testkit::MockReply;
use pellucid_testkit::Workspace;
use serde_json::Value;

use crate::answers::Talked;
use crate::answers::say;
use crate::answers::talk_in;

fn talk(
    script: &McpScript,
    replies: Vec<MockReply>,
    operations: Vec<Operation>,
    respond: impl Fn(&str, &EventMessage) -> Option<Operation>,
) -> Talked {
    let config = format!("[mcp_servers.depot]\n{}startup_timeout_sec = 600\n", script.config());
    talk_in(&Workspace::empty(), &config, Vec::new(), replies, operations, respond)
}

/// Whether a request offers a tool.
fn offers(request: &Value, name: &str) -> bool {
    request["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == name)
}

#[test]
fn the_first_request_waits_for_servers() {
    let script = McpScript::new(&["echo"]);
    let replies = vec![MockReply::say("Hello."), MockReply::say("Again.")];
    let talked = talk(&script, replies, vec![say("Hi."), say("Again?")], |_, _| None);
    assert_eq!(talked.requests.len(), 2);
    assert!(talked.requests.iter().all(|request| offers(request, "mcp__depot__echo")));
    assert_eq!((talked.count("mcp_startup_update"), talked.count("mcp_startup_complete")), (2, 1));
}

#[test]
fn a_turn_that_waits_for_servers_can_be_broken_off() {
    let script = McpScript::new(&["echo"]);
    script.ignores("initialize");
    let talked = talk(&script, Vec::new(), vec![say("Hi.")], |_, event| {
        matches!(event, EventMessage::TaskStarted { .. }).then_some(Operation::Interrupt)
    });
    assert_eq!((talked.requests.len(), talked.count("turn_aborted")), (0, 1));
}

#[test]
fn a_reviewer_has_the_tools_of_the_session() {
    let script = McpScript::new(&["echo"]);
    let target = ReviewTarget::Custom { instructions: "Look.".to_owned() };
    let review = Operation::Review { review_request: ReviewRequest { target, user_facing_hint: None } };
    let talked = talk(&script, vec![MockReply::say("{}")], vec![review], |_, _| None);
    assert!(offers(&talked.requests[0], "mcp__depot__echo"));
    let n_greetings = script.asked().iter().filter(|asked| asked["method"] == "initialize").count();
    assert_eq!(n_greetings, 1);
}
