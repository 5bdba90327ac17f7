//! Questions of calls as clients see them: what an abort leaves behind, a session that no client can answer, a reviewer's
//! question. The table of all situations is the engine's (`tests/it/questions.rs`).

use pellucid_agent::calls::Calls;
use pellucid_agent::child::StartedBy;
use pellucid_files::RealDisk;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::call_record::Answerer;
use pellucid_protocol::call_record::ApprovalSubject;
use pellucid_protocol::call_record::ApprovalWord;
use pellucid_protocol::call_record::CallOutcome;
use pellucid_protocol::dynamic_tool::DynamicToolResponse;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::review::ReviewRequest;
use pellucid_protocol::review::ReviewTarget;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_store::name;
use pellucid_store::recorder::Recorder;
use pellucid_testkit::MockReply;
use serde_json::json;

use crate::answers::say;
use crate::contained::World;
use crate::contained::call;
use crate::contained::count;
use crate::contained::play;
use crate::contained::tool;

/// From now on every command needs an approval, and none runs in a sandbox.
fn asking() -> Operation {
    Operation::OverrideTurnContext(SettingsChange {
        approval_policy: Some(ApprovalPolicy::Untrusted),
        sandbox_policy: Some(SandboxPolicy::DangerFullAccess),
        ..SettingsChange::default()
    })
}

fn command(call_id: &str) -> serde_json::Value {
    let arguments = json!({"command": ["/bin/sh", "-c", "echo > made"]}).to_string();
    json!({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": call_id})
}

#[test]
fn an_abort_stops_both_calls_and_is_in_the_record() {
    let world = World::new("", vec![MockReply::items([command("c1"), command("c2")]), MockReply::say("Next.")]);
    let began = "2026-01-02T03:04:05".parse().unwrap();
    let path = name::path(&world.files.folder("home"), began, "0199a3c4-1d7e-7000-8000-000000000001");
    let session =
        world.session_of(StartedBy::Client("vscode"), Recorder::new(RealDisk::shared(), path.clone()), Vec::new());
    let mut open = Vec::new();
    let events = play(session, vec![asking(), say("one"), say("two")], |event| {
        if let EventMessage::ExecApprovalRequest(request) = event {
            open.push(request.call_id.clone());
        }
        // The other call waits for its answer, or for its turn.
        match (event, open.first()) {
            (EventMessage::ExecApprovalRequest(_), Some(id)) if open.len() == 1 => {
                vec![Operation::ExecApproval { id: id.clone(), turn_id: None, decision: ReviewDecision::Abort }]
            }
            _ => Vec::new(),
        }
    });
    assert_eq!((count(&events, "turn_aborted"), count(&events, "task_complete")), (1, 1));
    assert!(!world.files.root().join("work/made").exists());
    let outputs = world.outputs();
    assert_eq!(outputs.len(), 2);
    assert!(outputs.iter().all(|it| it.as_str().is_some_and(|it| it.contains("aborted by user"))), "{outputs:?}");

    let calls = Calls::read(&world.files.folder("home"), &path).unwrap().calls;
    let ended: Vec<_> = calls.iter().map(|call| (call.call.as_str(), call.outcome)).collect();
    assert_eq!(ended, [("c1", CallOutcome::Interrupted), ("c2", CallOutcome::Interrupted)]);
    let aborted = calls.iter().find(|call| call.call == open[0]).unwrap();
    let answers: Vec<_> = aborted.answers.iter().map(|it| (it.to, it.by, it.answer)).collect();
    assert_eq!(answers, [(ApprovalSubject::Command, Answerer::Client, ApprovalWord::Abort)]);
}

#[test]
fn a_session_without_a_client_refuses_at_once_what_needs_an_approval() {
    let world = World::new("", vec![MockReply::items([command("c1")]), MockReply::say("Done.")]);
    let session = world.session_of(StartedBy::Client("exec"), Recorder::none(), Vec::new());
    let events = play(session, vec![asking(), say("one")], |_| Vec::new());
    assert_eq!((count(&events, "exec_approval_request"), count(&events, "task_complete")), (0, 1));
    assert_eq!(world.outputs(), ["exec command rejected by user"]);
}

#[test]
fn the_answer_to_a_question_of_a_reviewer_reaches_the_reviewer() {
    let world = World::new("", vec![call("ask_client", &json!({})), MockReply::say("Fine.")]);
    let session = world.session_of(StartedBy::Client("vscode"), Recorder::none(), vec![tool()]);
    let target = ReviewTarget::Custom { instructions: "Look.".to_owned() };
    let review = Operation::Review { review_request: ReviewRequest { target, user_facing_hint: None } };
    let events = play(session, vec![review], |event| match event {
        EventMessage::DynamicToolCallRequest(asked) => vec![Operation::DynamicToolResponse {
            id: asked.call_id.clone(),
            response: serde_json::from_value::<DynamicToolResponse>(
                json!({"contentItems": [{"type": "inputText", "text": "seen"}], "success": true}),
            )
            .unwrap(),
        }],
        _ => Vec::new(),
    });
    assert_eq!((count(&events, "exited_review_mode"), count(&events, "task_complete")), (1, 1));
    assert_eq!(world.outputs(), [json!([{"type": "input_text", "text": "seen"}])]);
}

/// A person refuses a command and says what to do instead: the model's next request has both, the output first.
#[test]
fn a_message_before_a_refusal_is_read_with_the_refusal() {
    let world = World::new("", vec![MockReply::items([command("c1")]), MockReply::say("Done.")]);
    let session = world.session_of(StartedBy::Client("vscode"), Recorder::none(), Vec::new());
    let events = play(session, vec![asking(), say("one")], |event| match event {
        EventMessage::ExecApprovalRequest(request) => vec![
            say("Run `ls` instead."),
            Operation::ExecApproval { id: request.call_id.clone(), turn_id: None, decision: ReviewDecision::Denied },
        ],
        _ => Vec::new(),
    });
    assert_eq!((count(&events, "turn_aborted"), count(&events, "task_complete")), (0, 1));
    assert_eq!(world.outputs(), ["exec command rejected by user"]);
    let last = world.last_request();
    let input = last["input"].as_array().unwrap();
    let kinds: Vec<_> = input.iter().rev().take(2).map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "function_call_output"]);
    assert_eq!(input.last().unwrap()["content"][0]["text"], "Run `ls` instead.");
}
