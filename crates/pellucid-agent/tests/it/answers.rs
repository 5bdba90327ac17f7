//! Turns in which somebody else has to answer: a person, a program, or a command of the person.

use expect_test::expect;
use pellucid_agent::child::StartedBy;
use pellucid_agent::door;
use pellucid_agent::identity;
use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_model::Model;
use pellucid_model::Transport;
use pellucid_protocol::dynamic_tool::DynamicContent;
use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::dynamic_tool::DynamicToolResponse;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::operation::Submission;
use pellucid_protocol::question::UserAnswer;
use pellucid_protocol::question::UserAnswers;
use pellucid_protocol::settings::CollaborationMode;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::CollaborationSettings;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_store::recorder::Recorder;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;

use crate::configure;
use crate::setup;

/// What came of a conversation.
pub struct Talked {
    pub requests: Vec<Value>,
    events: Vec<String>,
}

impl Talked {
    /// The outputs of calls in the last request, a line each.
    fn outputs(&self) -> String {
        let input = self.requests.last().unwrap()["input"].as_array().unwrap();
        let outputs = input.iter().filter_map(|item| item.get("output"));
        outputs.map(|output| format!("{output}\n")).collect()
    }

    pub fn count(&self, name: &str) -> usize {
        self.events.iter().filter(|event| *event == name).count()
    }
}

/// Begins turns one after the other, and answers events as `respond` says.
fn talk(
    tools: Vec<DynamicTool>,
    replies: Vec<MockReply>,
    operations: Vec<Operation>,
    respond: impl Fn(&str, &EventMessage) -> Option<Operation>,
) -> Talked {
    talk_in(&Workspace::empty(), "", tools, replies, operations, respond)
}

/// The same with files and configuration.
pub fn talk_in(
    files: &Workspace,
    config: &str,
    tools: Vec<DynamicTool>,
    replies: Vec<MockReply>,
    operations: Vec<Operation>,
    respond: impl Fn(&str, &EventMessage) -> Option<Operation>,
) -> Talked {
    let server = MockServer::start(replies);
    configure(files, config, &server);
    let mut setup = setup(files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
    setup.origin = StartedBy::Client("vscode");
    setup.gathered.facts.tools.dynamic_tools = tools;
    let session = Session::open(setup, Recorder::none(), Beginning::Nothing).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let events = runtime.block_on(async {
        let (door, inside) = door::open(&session);
        let talking = async move {
            let (mut door, mut names) = (door, Vec::new());
            for operation in operations.into_iter().chain([Operation::Shutdown]) {
                let is_quiet = matches!(operation, Operation::OverrideTurnContext(_));
                let submission = Submission { id: identity::new_turn_id(), operation };
                door.submissions.send(submission).await.unwrap();
                while !is_quiet && let Some(event) = door.events.recv().await {
                    let value = serde_json::to_value(&event.msg).unwrap();
                    names.push(value["type"].as_str().unwrap().to_owned());
                    if let Some(operation) = respond(&event.id, &event.msg) {
                        let submission = Submission { id: identity::new_turn_id(), operation };
                        door.submissions.send(submission).await.unwrap();
                    }
                    if matches!(
                        event.msg,
                        EventMessage::TaskComplete { .. }
                            | EventMessage::TurnAborted { .. }
                            | EventMessage::ShutdownComplete
                    ) {
                        break;
                    }
                }
            }
            names
        };
        tokio::join!(door::run(session, inside), talking).1
    });
    let requests = server.requests().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    Talked { requests, events }
}

pub fn say(text: &str) -> Operation {
    Operation::UserInput { items: vec![UserInput::text(text)], final_output_json_schema: None }
}

fn call(name: &str, arguments: &Value) -> MockReply {
    let arguments = arguments.to_string();
    MockReply::items([json!({"type": "function_call", "name": name, "arguments": arguments, "call_id": "c1"})])
}

fn plan_mode() -> Operation {
    let settings = CollaborationSettings {
        model: "gpt-5.2-codex".to_owned(),
        reasoning_effort: None,
        developer_instructions: None,
    };
    let mode = CollaborationMode { mode: CollaborationModeKind::Plan, settings };
    Operation::OverrideTurnContext(SettingsChange { collaboration_mode: Some(mode), ..SettingsChange::default() })
}

#[test]
fn a_person_answers_the_model() {
    let question = json!({"questions": [{"id": "q", "header": "H", "question": "Which?", "options": [{"label": "A", "description": "a"}]}]});
    let replies = vec![call("request_user_input", &question), MockReply::say("Thanks.")];
    let talked = talk(Vec::new(), replies, vec![plan_mode(), say("plan")], |id, event| match event {
        EventMessage::RequestUserInput(asked) => {
            assert_eq!(asked.turn_id.as_str(), id);
            let answers = [("q".to_owned(), UserAnswer { answers: vec!["A".to_owned()] })];
            let response = UserAnswers { answers: answers.into() };
            Some(Operation::UserInputAnswer { id: asked.turn_id.clone(), response })
        }
        _ => None,
    });
    expect![[r#"
        "{\"answers\":{\"q\":{\"answers\":[\"A\"]}}}"
    "#]]
    .assert_eq(&talked.outputs());
}

#[test]
fn a_program_runs_its_own_tools() {
    let tool = |name: &str, input_schema| DynamicTool {
        name: name.to_owned(),
        description: "Look a word up.".to_owned(),
        input_schema,
    };
    let tools = vec![
        tool("lookup", json!({"type": "object", "properties": {"word": {"type": "string", "minLength": 1}}})),
        tool("odd", json!({"type": "null"})),
    ];
    let replies = vec![call("lookup", &json!({"word": "pear"})), MockReply::say("Done.")];
    let talked = talk(tools, replies, vec![say("look")], |_, event| match event {
        EventMessage::DynamicToolCallRequest(asked) => {
            let text = format!("{} of {}", asked.tool, asked.arguments["word"]);
            let content_items = vec![DynamicContent::InputText { text }];
            let response = DynamicToolResponse { content_items, success: true };
            Some(Operation::DynamicToolResponse { id: asked.call_id.clone(), response })
        }
        _ => None,
    });
    expect![[r#"
        [{"type":"input_text","text":"lookup of \"pear\""}]
    "#]]
    .assert_eq(&talked.outputs());
    let last = talked.requests[0]["tools"].as_array().unwrap().last().unwrap();
    expect![[r#"{"type":"function","name":"lookup","description":"Look a word up.","strict":false,"parameters":{"type":"object","properties":{"word":{"type":"string"}}}}"#]]
        .assert_eq(&last.to_string());
}

/// The records of the person's commands in a request, without their durations.
fn records(request: &Value) -> String {
    let input = request["input"].as_array().unwrap();
    let texts = input.iter().filter_map(|item| item["content"][0]["text"].as_str());
    let records = texts.filter(|text| text.starts_with("<user_shell_command>"));
    let lines = records.flat_map(str::lines).filter(|line| !line.starts_with("Duration: "));
    lines.map(|line| format!("{line}\n")).collect()
}

fn run_command(command: &str) -> Operation {
    Operation::RunUserShellCommand { command: command.to_owned() }
}

#[test]
fn a_command_of_the_person_is_a_turn_of_its_own_and_seen_with_the_next_request() {
    let operations = vec![run_command("echo hi; exit 3"), say("what was that?")];
    let talked = talk(Vec::new(), vec![MockReply::say("A command.")], operations, |_, _| None);
    expect![[r#"
        <user_shell_command>
        <command>
        echo hi; exit 3
        </command>
        <result>
        Exit code: 3
        Output:
        hi

        </result>
        </user_shell_command>
    "#]]
    .assert_eq(&records(&talked.requests[0]));
    assert_eq!(talked.events[1..4], ["mcp_startup_complete", "task_started", "exec_command_begin"]);
    assert_eq!(talked.requests.len(), 1);
}

#[test]
fn a_command_beside_a_turn_makes_the_turn_go_on() {
    // The model's own call waits for a second command of the person, which comes when the first has ended: then the next
    // request has the first.
    let wait = "mkfifo pipe 2> /dev/null; cat pipe";
    let replies = vec![
        call("shell", &json!({"command": ["/bin/sh", "-c", wait], "timeout_ms": 600_000})),
        MockReply::say("Done."),
    ];
    let talked = talk(Vec::new(), replies, vec![full_access(), say("go")], |_, event| match event {
        EventMessage::ExecCommandBegin(begin) if begin.call_id == "c1" => Some(run_command("echo beside")),
        EventMessage::ExecCommandEnd(end) if end.stdout == "beside\n" => {
            Some(run_command("mkfifo pipe 2> /dev/null; echo now > pipe"))
        }
        _ => None,
    });
    assert_eq!(talked.count("task_complete"), 1);
    let seen = talked.requests.iter().map(records).find(|records| !records.is_empty()).unwrap();
    assert!(seen.contains("\nbeside\n"), "{seen}");
}

#[test]
fn breaking_off_ends_the_command_of_the_person() {
    let operations = vec![run_command("echo begun; exec sleep 600"), say("go on")];
    let talked = talk(Vec::new(), vec![MockReply::say("Yes.")], operations, |_, event| match event {
        EventMessage::ExecCommandOutputDelta { .. } => Some(Operation::Interrupt),
        _ => None,
    });
    assert_eq!(talked.count("turn_aborted"), 1);
    expect![[r#"
        <user_shell_command>
        <command>
        echo begun; exec sleep 600
        </command>
        <result>
        Exit code: -1
        Output:
        command aborted by user
        </result>
        </user_shell_command>
    "#]]
    .assert_eq(&records(&talked.requests[0]));
}

fn full_access() -> Operation {
    let sandbox_policy = Some(SandboxPolicy::DangerFullAccess);
    Operation::OverrideTurnContext(SettingsChange { sandbox_policy, ..SettingsChange::default() })
}
