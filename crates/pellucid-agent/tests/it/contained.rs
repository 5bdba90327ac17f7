//! Tools that panic or never answer, answers that come twice, and a session that fails: what continues all the same.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;

use pellucid_agent::child::StartedBy;
use pellucid_agent::crew::NewChild;
use pellucid_agent::crew::Nursery;
use pellucid_agent::door;
use pellucid_agent::identity;
use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_files::Disk;
use pellucid_files::Existing;
use pellucid_files::RealDisk;
use pellucid_model::Model;
use pellucid_model::Transport;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::dynamic_tool::DynamicToolResponse;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::operation::Submission;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_store::recorder::Recorder;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use pellucid_testkit::logged;
use serde_json::Value;
use serde_json::json;

use crate::answers::say;
use crate::configure;
use crate::setup;

/// A session, its files and its server.
pub struct World {
    pub files: Workspace,
    server: MockServer,
}

impl World {
    pub fn new(config: &str, replies: Vec<MockReply>) -> Self {
        let (files, server) = (Workspace::empty(), MockServer::start(replies));
        configure(&files, config, &server);
        Self { files, server }
    }

    fn session(&self, recorder: Recorder, tools: Vec<DynamicTool>) -> Session {
        self.session_of(StartedBy::Client("vscode"), recorder, tools)
    }

    /// A session with this origin, which decides who can be asked.
    pub fn session_of(&self, origin: StartedBy, recorder: Recorder, tools: Vec<DynamicTool>) -> Session {
        let mut setup = setup(&self.files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
        setup.origin = origin;
        setup.gathered.facts.tools.dynamic_tools = tools;
        Session::open(setup, recorder, Beginning::Nothing).unwrap()
    }

    /// What the last request says of the calls.
    pub fn outputs(&self) -> Vec<Value> {
        let last = self.last_request();
        last["input"].as_array().unwrap().iter().filter_map(|item| item.get("output").cloned()).collect()
    }

    /// The last request that the model received.
    pub fn last_request(&self) -> Value {
        serde_json::from_slice(&self.server.requests().last().unwrap().body).unwrap()
    }
}

/// Begins turns one after the other, and submits what `respond` says to an event. Gives the events until the session ends.
pub fn play(
    session: Session,
    operations: Vec<Operation>,
    mut respond: impl FnMut(&EventMessage) -> Vec<Operation>,
) -> Vec<EventMessage> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut door, inside) = door::open(&session);
        let talking = async {
            let mut events = Vec::new();
            for operation in operations.into_iter().chain([Operation::Shutdown]) {
                let is_quiet = matches!(operation, Operation::OverrideTurnContext(_));
                // A session that has ended takes nothing more; its last events are still read.
                let _ = door.submissions.send(Submission { id: identity::new_turn_id(), operation }).await;
                while !is_quiet && let Some(event) = door.events.recv().await {
                    for operation in respond(&event.msg) {
                        let submission = Submission { id: identity::new_turn_id(), operation };
                        door.submissions.send(submission).await.unwrap();
                    }
                    let is_over =
                        matches!(event.msg, EventMessage::TaskComplete { .. } | EventMessage::TurnAborted { .. });
                    events.push(event.msg);
                    if is_over {
                        break;
                    }
                }
            }
            events
        };
        tokio::join!(door::run(session, inside), talking).1
    })
}

pub fn names(events: &[EventMessage]) -> Vec<String> {
    let name = |event: &EventMessage| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned();
    events.iter().map(name).collect()
}

pub fn count(events: &[EventMessage], name: &str) -> usize {
    names(events).iter().filter(|it| *it == name).count()
}

/// The lines of a log that have one of these words; other lines depend on the machine.
pub fn about(words: &str, log: Vec<String>) -> Vec<String> {
    log.into_iter().filter(|line| words.split('|').any(|word| line.contains(word))).collect()
}

pub fn call(name: &str, arguments: &Value) -> MockReply {
    let arguments = arguments.to_string();
    MockReply::items([json!({"type": "function_call", "name": name, "arguments": arguments, "call_id": "c1"})])
}

pub fn tool() -> DynamicTool {
    DynamicTool { name: "ask_client".to_owned(), description: String::new(), input_schema: json!({"type": "object"}) }
}

/// A client that panics when it is given an agent, which happens inside the call that starts it.
#[derive(Debug)]
struct PanickingNursery;

impl Nursery for PanickingNursery {
    fn adopt(&self, _: NewChild) {
        panic!("classified words");
    }
}

#[test]
fn a_tool_that_panics_ends_its_call_and_the_turn_continues() {
    let replies = vec![
        call("spawn_agent", &json!({"message": "Count."})),
        MockReply::say("It failed."),
        MockReply::say("Still here."),
    ];
    let world = World::new("features.multi_agent = true", replies);
    let session = world.session(Recorder::none(), Vec::new());
    session.crew().set_nursery(Arc::new(PanickingNursery));
    let (events, log) = logged(|| play(session, vec![say("one"), say("two")], |_| Vec::new()));
    let log = about("panicked|inside Pellucid", log);
    assert_eq!(world.server.requests().len(), 3);
    assert_eq!(world.outputs(), ["the tool failed: an error inside Pellucid ended this call before it was done"]);
    assert_eq!(count(&events, "tool_call_failed"), 1);
    assert_eq!(count(&events, "task_complete"), 2);
    assert_eq!(count(&events, "error"), 0);
    assert_eq!(names(&events).last().unwrap(), "shutdown_complete");
    assert_eq!(
        log,
        [
            "ERROR a task panicked task=\"tool call\"",
            "ERROR the tool failed inside Pellucid call_id=\"c1\" tool=\"spawn_agent\""
        ]
    );
}

#[test]
fn a_tool_that_never_answers_ends_with_the_interrupted_turn() {
    let world = World::new("", vec![call("ask_client", &json!({})), MockReply::say("Next.")]);
    let session = world.session(Recorder::none(), vec![tool()]);
    let events = play(session, vec![say("one"), say("two")], |event| match event {
        EventMessage::DynamicToolCallRequest(_) => vec![Operation::Interrupt],
        _ => Vec::new(),
    });
    assert_eq!(count(&events, "turn_aborted"), 1);
    assert_eq!(count(&events, "task_complete"), 1);
    let outputs = world.outputs();
    let [Value::String(output)] = outputs.as_slice() else { panic!("{outputs:?}") };
    assert!(output.starts_with("aborted by user after "), "{output}");
}

#[test]
fn the_second_answer_of_a_tool_changes_nothing() {
    let world = World::new("", vec![call("ask_client", &json!({})), MockReply::say("Next.")]);
    let session = world.session(Recorder::none(), vec![tool()]);
    let answer = |id: &str, text: &str| Operation::DynamicToolResponse {
        id: id.to_owned(),
        response: serde_json::from_value::<DynamicToolResponse>(
            json!({"contentItems": [{"type": "inputText", "text": text}], "success": true}),
        )
        .unwrap(),
    };
    let (events, log) = logged(|| {
        play(session, vec![say("one")], |event| match event {
            EventMessage::DynamicToolCallRequest(_) => vec![answer("c1", "first"), answer("c1", "second")],
            EventMessage::TaskComplete { .. } => vec![answer("c1", "third")],
            _ => Vec::new(),
        })
    });
    let log = about("question", log);
    assert_eq!(world.outputs(), [json!([{"type": "input_text", "text": "first"}])]);
    assert_eq!(count(&events, "task_complete"), 1);
    assert_eq!(
        log,
        [
            "WARN an answer to no open question is ignored key=DynamicTool(\"c1\")",
            "WARN an answer to no open question is ignored: no turn is running"
        ]
    );
}

#[test]
fn the_first_approval_counts_and_one_for_an_unknown_call_is_ignored() {
    let script = json!({"command": ["/bin/sh", "-c", "echo once >> made"]});
    let world = World::new("", vec![call("shell", &script), MockReply::say("Done.")]);
    let session = world.session(Recorder::none(), Vec::new());
    let asking = Operation::OverrideTurnContext(SettingsChange {
        approval_policy: Some(ApprovalPolicy::Untrusted),
        sandbox_policy: Some(SandboxPolicy::DangerFullAccess),
        ..SettingsChange::default()
    });
    let decide =
        |id: &str, decision: ReviewDecision| Operation::ExecApproval { id: id.to_owned(), turn_id: None, decision };
    let (events, log) = logged(|| {
        play(session, vec![asking, say("one")], |event| match event {
            EventMessage::ExecApprovalRequest(_) => vec![
                decide("nobody", ReviewDecision::Denied),
                decide("c1", ReviewDecision::Approved),
                decide("c1", ReviewDecision::Abort),
            ],
            _ => Vec::new(),
        })
    });
    let log = about("question", log);
    assert_eq!(world.files.read("work/made"), "once\n");
    assert_eq!((count(&events, "turn_aborted"), count(&events, "task_complete")), (0, 1));
    assert_eq!(
        log,
        ["nobody", "c1"].map(|id| format!("WARN an answer to no open question is ignored key=Approval({id:?})"))
    );
}

/// A disk that panics once, when the first line with this text comes.
#[derive(Debug)]
struct PanickingDisk {
    at: Mutex<Option<&'static str>>,
}

impl Disk for PanickingDisk {
    fn open_to_append(&self, path: &Path, existing: Existing) -> io::Result<File> {
        RealDisk.open_to_append(path, existing)
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let is_due = self.at.lock().unwrap().take_if(|at| text.contains(*at)).is_some();
        assert!(!is_due, "classified words");
        RealDisk.append(file, bytes)
    }

    fn shorten(&self, file: &File, len: u64) -> io::Result<()> {
        RealDisk.shorten(file, len)
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        RealDisk.replace(path, bytes)
    }
}

#[test]
fn a_turn_that_panics_closes_its_session_and_says_so() {
    let world = World::new("", vec![MockReply::say("Classified.")]);
    let disk = PanickingDisk { at: Mutex::new(Some("Classified.")) };
    let path = world.files.path("home/sessions/rollout-2026-01-02T03-04-05-s.jsonl");
    let session = world.session(Recorder::new(Arc::new(disk), path), Vec::new());
    let id = session.id().to_string();
    let (events, log) = logged(|| play(session, vec![say("one"), say("two")], |_| Vec::new()));
    let log = about("panicked|inside Pellucid", log);
    let last: Vec<_> = events.iter().skip_while(|event| !matches!(event, EventMessage::Error { .. })).collect();
    let [
        EventMessage::Error { message, .. },
        EventMessage::TaskComplete { last_agent_message: None, .. },
        EventMessage::ShutdownComplete,
    ] = last.as_slice()
    else {
        panic!("{last:?}");
    };
    assert_eq!(message, "an error inside Pellucid closed this session; resume it to continue from what its file holds");
    assert_eq!(
        log,
        [
            "ERROR a task panicked task=\"session\"".to_owned(),
            format!("ERROR a session failed inside Pellucid and was closed session={id}")
        ]
    );
}
