//! Agents that a session starts: what they are told, what comes back, and who ends them.

use std::sync::Arc;
use std::sync::Mutex;

use expect_test::Expect;
use expect_test::expect;
use pellucid_agent::crew::NewChild;
use pellucid_agent::crew::Nursery;
use pellucid_agent::door;
use pellucid_agent::door::Door;
use pellucid_agent::identity;
use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_files::RealDisk;
use pellucid_model::Model;
use pellucid_model::Transport;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::operation::Submission;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_store::recorder::Recorder;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::configure;
use crate::setup;

/// What the person says; requests of agents do not have it.
const PERSON: &str = "The person's words.";

/// A session that runs, and its server.
struct Stage {
    files: Workspace,
    server: MockServer,
    door: Door,
    running: JoinHandle<Session>,
    /// The agents that were started, in order.
    ids: Vec<String>,
}

/// Plays on a stage.
fn on_stage<F: Future<Output = ()>>(
    config: &str,
    files: Workspace,
    prepare: impl FnOnce(&Session),
    play: impl FnOnce(Stage) -> F,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = MockServer::start([]);
        configure(&files, &format!("features.multi_agent = true\n{config}"), &server);
        let setup = setup(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
        let path = files.path("home/sessions/2026/01/02/rollout-2026-01-02T03-04-05-parent.jsonl");
        let session = Session::open(setup, Recorder::new(RealDisk::shared(), path), Beginning::Nothing).unwrap();
        prepare(&session);
        let (door, inside) = door::open(&session);
        let running = tokio::spawn(door::run(session, inside));
        play(Stage { files, server, door, running, ids: Vec::new() }).await;
    });
}

impl Stage {
    async fn submit(&self, operation: Operation) {
        self.door.submissions.send(Submission { id: identity::new_turn_id(), operation }).await.unwrap();
    }

    async fn say(&self) {
        let items = vec![UserInput::text(PERSON)];
        self.submit(Operation::UserInput { items, final_output_json_schema: None }).await;
    }

    /// Waits for an event of the session.
    async fn until(&mut self, is_it: impl Fn(&EventMessage) -> bool) {
        while let Some(event) = self.door.events.recv().await {
            if is_it(&event.msg) {
                return;
            }
        }
        panic!("the session ended");
    }

    /// A turn in which the model makes one call. Gives the answer to the call, with ids as letters.
    async fn call(&mut self, name: &str, arguments: &str) -> String {
        self.begin_call(name, arguments).await;
        self.until(|event| matches!(event, EventMessage::TaskComplete { .. })).await;
        let requests = self.server.requests();
        let last = requests.iter().rfind(|request| is_persons(&request.body)).unwrap();
        let body: Value = serde_json::from_slice(&last.body).unwrap();
        let mut outputs = body["input"].as_array().unwrap().iter().filter_map(|item| item["output"].as_str());
        let output = outputs.next_back().unwrap().to_owned();
        if let Some(id) =
            serde_json::from_str::<Value>(&output).ok().and_then(|it| Some(it["agent_id"].as_str()?.to_owned()))
        {
            self.ids.push(id);
        }
        self.lettered(&output)
    }

    async fn begin_call(&mut self, name: &str, arguments: &str) {
        let arguments = ["A", "B", "C"]
            .iter()
            .zip(&self.ids)
            .fold(arguments.to_owned(), |text, (letter, id)| text.replace(&format!("<{letter}>"), id));
        let call = json!({ "type": "function_call", "call_id": "c", "name": name, "arguments": arguments });
        let replies = [MockReply::items([call]), MockReply::say("So be it.")];
        self.server.add(replies.map(|reply| reply.to_body_with(PERSON)));
        self.say().await;
    }

    /// What agents are answered.
    fn answer_agents(&self, replies: impl IntoIterator<Item = MockReply>) {
        self.server.add(replies.into_iter().map(|reply| reply.to_body_without(PERSON)));
    }

    fn lettered(&self, text: &str) -> String {
        let known = ["A", "B", "C"].iter().zip(&self.ids);
        let text = known.fold(text.to_owned(), |text, (letter, id)| text.replace(id, letter));
        match text.split_once("submission_id\":\"") {
            Some((before, _)) => format!("{before}submission_id\":…"),
            None => text,
        }
    }

    async fn end(mut self) -> Session {
        self.submit(Operation::Shutdown).await;
        self.until(|event| *event == EventMessage::ShutdownComplete).await;
        self.running.await.unwrap()
    }
}

fn is_persons(body: &[u8]) -> bool {
    String::from_utf8_lossy(body).contains(PERSON)
}

/// Calls, a turn each, and what the model is told.
#[track_caller]
fn check_calls(config: &str, agents: Vec<MockReply>, calls: &[(&str, &str)], expected: &Expect) {
    on_stage(
        config,
        Workspace::empty(),
        |_| {},
        async |mut stage| {
            stage.answer_agents(agents);
            let mut shown = String::new();
            for (name, arguments) in calls {
                let answer = stage.call(name, arguments).await;
                shown += &format!("{name} {arguments}\n    {answer}\n");
            }
            stage.end().await;
            expected.assert_eq(&shown);
        },
    );
}

#[test]
fn an_agent_works_is_told_more_and_is_closed() {
    check_calls(
        "",
        ["Twelve.", "Thirteen.", "Fourteen."].map(MockReply::say).to_vec(),
        &[
            ("spawn_agent", r#"{"message":"Count."}"#),
            ("wait", r#"{"ids":["<A>"]}"#),
            ("send_input", r#"{"id":"<A>","message":"Again."}"#),
            ("wait", r#"{"ids":["<A>"]}"#),
            ("close_agent", r#"{"id":"<A>"}"#),
            ("wait", r#"{"ids":["<A>"]}"#),
            ("send_input", r#"{"id":"<A>","message":"Closed?"}"#),
            ("close_agent", r#"{"id":"<A>"}"#),
            ("resume_agent", r#"{"id":"<A>"}"#),
            ("resume_agent", r#"{"id":"<A>"}"#),
            ("send_input", r#"{"id":"<A>","message":"And now?"}"#),
            ("wait", r#"{"ids":["<A>"]}"#),
        ],
        &expect![[r#"
            spawn_agent {"message":"Count."}
                {"agent_id":"A"}
            wait {"ids":["<A>"]}
                {"status":{"A":{"completed":"Twelve."}},"timed_out":false}
            send_input {"id":"<A>","message":"Again."}
                {"submission_id":…
            wait {"ids":["<A>"]}
                {"status":{"A":{"completed":"Thirteen."}},"timed_out":false}
            close_agent {"id":"<A>"}
                {"status":{"completed":"Thirteen."}}
            wait {"ids":["<A>"]}
                {"status":{"A":"not_found"},"timed_out":false}
            send_input {"id":"<A>","message":"Closed?"}
                agent with id A not found
            close_agent {"id":"<A>"}
                agent with id A not found
            resume_agent {"id":"<A>"}
                {"status":"pending_init"}
            resume_agent {"id":"<A>"}
                {"status":"pending_init"}
            send_input {"id":"<A>","message":"And now?"}
                {"submission_id":…
            wait {"ids":["<A>"]}
                {"status":{"A":{"completed":"Fourteen."}},"timed_out":false}
        "#]],
    );
}

#[test]
fn only_so_many_are_open_at_once() {
    check_calls(
        "agents.max_threads = 1",
        ["One.", "Two."].map(MockReply::say).to_vec(),
        &[
            ("spawn_agent", r#"{"message":"First."}"#),
            ("spawn_agent", r#"{"message":"Second."}"#),
            ("spawn_agent", r#"{"message":"Second.","agent_type":"no_such_role"}"#),
            ("wait", r#"{"ids":["<A>"]}"#),
            ("close_agent", r#"{"id":"<A>"}"#),
            ("spawn_agent", r#"{"message":"Second."}"#),
            ("resume_agent", r#"{"id":"<A>"}"#),
        ],
        &expect![[r#"
            spawn_agent {"message":"First."}
                {"agent_id":"A"}
            spawn_agent {"message":"Second."}
                collab spawn failed: agent thread limit reached (max 1)
            spawn_agent {"message":"Second.","agent_type":"no_such_role"}
                unknown agent_type 'no_such_role'
            wait {"ids":["<A>"]}
                {"status":{"A":{"completed":"One."}},"timed_out":false}
            close_agent {"id":"<A>"}
                {"status":{"completed":"One."}}
            spawn_agent {"message":"Second."}
                {"agent_id":"B"}
            resume_agent {"id":"<A>"}
                collab tool failed: agent thread limit reached (max 1)
        "#]],
    );
}

#[test]
fn what_goes_wrong_in_an_agent_is_told() {
    check_calls(
        "",
        vec![
            MockReply::status(400, "{\"error\":{\"message\":\"no\"}}"),
            MockReply::silence().to_body_without("Do not."),
            MockReply::say("Yes.").to_body_with("Do not."),
        ],
        &[
            ("spawn_agent", r#"{"message":"Fail."}"#),
            ("wait", r#"{"ids":["<A>"]}"#),
            ("send_input", r#"{"id":"<A>","message":"Wait for me."}"#),
            ("send_input", r#"{"id":"<A>","message":"Do not.","interrupt":true}"#),
            ("wait", r#"{"ids":["<A>"]}"#),
            ("resume_agent", r#"{"id":"00000000-0000-7000-8000-000000000001"}"#),
        ],
        &expect![[r#"
            spawn_agent {"message":"Fail."}
                {"agent_id":"A"}
            wait {"ids":["<A>"]}
                {"status":{"A":{"completed":null}},"timed_out":false}
            send_input {"id":"<A>","message":"Wait for me."}
                {"submission_id":…
            send_input {"id":"<A>","message":"Do not.","interrupt":true}
                {"submission_id":…
            wait {"ids":["<A>"]}
                {"status":{"A":{"completed":"Yes."}},"timed_out":false}
            resume_agent {"id":"00000000-0000-7000-8000-000000000001"}
                agent with id 00000000-0000-7000-8000-000000000001 not found
        "#]],
    );
}

/// A client that keeps the agents it is given.
#[derive(Debug, Default)]
struct Keeper {
    children: Mutex<Vec<NewChild>>,
}

impl Nursery for Keeper {
    fn adopt(&self, child: NewChild) {
        self.children.lock().unwrap().push(child);
    }
}

#[test]
fn a_face_is_given_every_agent_and_hears_all_of_it() {
    let keeper = Arc::new(Keeper::default());
    let given = keeper.clone();
    on_stage(
        "",
        Workspace::empty(),
        |session| session.crew().set_nursery(given),
        async |mut stage| {
            stage.answer_agents([MockReply::say("Twelve.")]);
            stage.call("spawn_agent", r#"{"message":"Count."}"#).await;
            // The crew knows how far the agent is, though the client has not looked yet.
            let waited = stage.call("wait", r#"{"ids":["<A>"]}"#).await;
            assert_eq!(waited, r#"{"status":{"A":{"completed":"Twelve."}},"timed_out":false}"#);
            let mut child = keeper.children.lock().unwrap().pop().unwrap();
            assert_eq!(child.id.as_str(), stage.ids[0]);
            assert_eq!((child.model.as_str(), child.provider_id.as_str()), ("gpt-5.2-codex", "mock"));
            assert_eq!(child.cwd, stage.files.folder("work"));
            assert_eq!(child.source["subagent"]["thread_spawn"]["depth"], json!(1));
            let file = std::fs::read_to_string(child.path.unwrap()).unwrap();
            let meta: Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
            assert_eq!((&meta["payload"]["id"], &meta["payload"]["source"]), (&json!(stage.ids[0]), &child.source));
            // A client may speak to an agent itself.
            let submission = Submission { id: identity::new_turn_id(), operation: Operation::Shutdown };
            child.submissions.send(submission).await.unwrap();
            let mut names = Vec::new();
            while let Some(event) = child.events.recv().await {
                names.push(serde_json::to_value(&event.msg).unwrap()["type"].as_str().unwrap().to_owned());
            }
            expect![[r#"
                session_configured
                mcp_startup_complete
                task_started
                item_started
                item_completed
                user_message
                token_count
                item_started
                item_completed
                agent_message
                token_count
                task_complete
                shutdown_complete"#]]
            .assert_eq(&names.join("\n"));
            // The model hears that it has ended.
            expect!["agent with id A is closed"]
                .assert_eq(&stage.call("send_input", r#"{"id":"<A>","message":"Still there?"}"#).await);
            expect![[r#"{"status":{"A":"not_found"},"timed_out":false}"#]]
                .assert_eq(&stage.call("wait", r#"{"ids":["<A>"]}"#).await);
            stage.end().await;
        },
    );
}

#[test]
fn agents_go_on_when_the_turn_is_broken_off_and_end_with_the_session() {
    let keeper = Arc::new(Keeper::default());
    let given = keeper.clone();
    on_stage(
        "",
        Workspace::empty(),
        |session| session.crew().set_nursery(given),
        async |mut stage| {
            stage.answer_agents([MockReply::silence()]);
            stage.call("spawn_agent", r#"{"message":"Take your time."}"#).await;
            stage.begin_call("wait", r#"{"ids":["<A>"]}"#).await;
            stage.until(|event| matches!(event, EventMessage::CollabWaitingBegin { .. })).await;
            stage.submit(Operation::Interrupt).await;
            stage.until(|event| matches!(event, EventMessage::TurnAborted { .. })).await;
            // The reply after the call was not asked for yet.
            stage.say().await;
            stage.until(|event| matches!(event, EventMessage::TaskComplete { .. })).await;
            let told = stage.call("send_input", r#"{"id":"<A>","message":"Hurry."}"#).await;
            assert_eq!(told, "{\"submission_id\":…");
            let mut child = keeper.children.lock().unwrap().pop().unwrap();
            let session = stage.end().await;
            let mut last = None;
            while let Some(event) = child.events.recv().await {
                last = Some(event.msg);
            }
            assert!(child.submissions.is_closed(), "it ended with its session, not when a client let go of it");
            assert!(
                !matches!(last, Some(EventMessage::TurnAborted { .. } | EventMessage::ShutdownComplete)),
                "{last:?}"
            );
            drop(session);
        },
    );
}

#[test]
fn agents_end_when_their_session_is_dropped() {
    let keeper = Arc::new(Keeper::default());
    let given = keeper.clone();
    on_stage(
        "",
        Workspace::empty(),
        |session| session.crew().set_nursery(given),
        async |mut stage| {
            stage.answer_agents([MockReply::silence()]);
            stage.call("spawn_agent", r#"{"message":"Take your time."}"#).await;
            let mut child = keeper.children.lock().unwrap().pop().unwrap();
            stage.running.abort();
            while child.events.recv().await.is_some() {}
        },
    );
}

/// Starts an agent in a role, and shows what its request says.
#[track_caller]
fn check_role(config: &str, role: &str, change: Option<SettingsChange>, expected: &Expect) {
    let files = Workspace::new(
        "//- home/thin.toml\ndeveloper_instructions = \"Be thin.\"\n//- home/bad.toml\nmodel = 3\n//- home/free.toml\nsandbox_mode = \"danger-full-access\"\napproval_policy = \"untrusted\"\n",
    );
    on_stage(
        config,
        files,
        |_| {},
        async |mut stage| {
            stage.answer_agents([MockReply::say("Done.")]);
            if let Some(change) = change {
                stage.submit(Operation::OverrideTurnContext(change)).await;
            }
            let answer = stage.call("spawn_agent", &json!({ "message": "Go.", "agent_type": role }).to_string()).await;
            let mut shown = format!("{answer}\n");
            if !stage.ids.is_empty() {
                stage.call("wait", r#"{"ids":["<A>"]}"#).await;
                let requests = stage.server.requests();
                let request = requests.iter().find(|request| !is_persons(&request.body)).unwrap();
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                let metadata: Value = serde_json::from_str(request.header("x-codex-turn-metadata").unwrap()).unwrap();
                let tools = body["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str());
                let n_agent_tools = tools.filter(|name| ["spawn_agent", "wait"].contains(name)).count();
                let parents: Value = serde_json::from_slice(&requests[0].body).unwrap();
                shown += &format!(
                    "{} {} sandbox {} as {:?}, {n_agent_tools} tools for agents, beta {:?}, instructions {}\n{}\n",
                    body["model"].as_str().unwrap(),
                    body["reasoning"]["effort"].as_str().unwrap_or("-"),
                    if metadata["sandbox"] == "none" { "off" } else { "on" },
                    request.header("x-openai-subagent"),
                    request.header("x-codex-beta-features"),
                    if body["instructions"] == parents["instructions"] { "of the parent" } else { "of its own" },
                    crate::outline(&body),
                );
            }
            stage.end().await;
            expected.assert_eq(&shown);
        },
    );
}

#[test]
fn a_role_without_configuration_changes_nothing() {
    let config =
        "model_reasoning_effort = \"high\"\ndeveloper_instructions = \"Be kind.\"\nagents.mine.description = \"Mine.\"";
    check_role(
        config,
        "worker",
        None,
        &expect![[r#"
            {"agent_id":"A"}
            gpt-5.2-codex high sandbox on as Some("collab_spawn"), 0 tools for agents, beta None, instructions of the parent
            developer <permissions instructions>
            developer Be kind.
            user <environment_context>
            user Go.
        "#]],
    );
    check_role(
        config,
        "mine",
        None,
        &expect![[r#"
            {"agent_id":"A"}
            gpt-5.2-codex high sandbox on as Some("collab_spawn"), 0 tools for agents, beta None, instructions of the parent
            developer <permissions instructions>
            developer Be kind.
            user <environment_context>
            user Go.
        "#]],
    );
    let model = SettingsChange {
        model: Some("gpt-5.1".to_owned()),
        sandbox_policy: Some(SandboxPolicy::DangerFullAccess),
        ..SettingsChange::default()
    };
    check_role(
        "",
        "",
        Some(model),
        &expect![[r#"
            {"agent_id":"A"}
            gpt-5.1 medium sandbox off as Some("collab_spawn"), 0 tools for agents, beta None, instructions of the parent
            developer <permissions instructions>
            user <environment_context>
            user Go.
        "#]],
    );
}

#[test]
fn a_role_with_configuration_reads_it_again() {
    let config = "model_reasoning_effort = \"high\"\ndeveloper_instructions = \"Be kind.\"\nagents.thin.config_file = \"thin.toml\"";
    check_role(
        config,
        "explorer",
        None,
        &expect![[r#"
            {"agent_id":"A"}
            gpt-5.1-codex-mini medium sandbox on as Some("collab_spawn"), 0 tools for agents, beta None, instructions of its own
            developer <permissions instructions>
            developer Be kind.
            user <environment_context>
            user Go.
        "#]],
    );
    check_role(
        config,
        "thin",
        None,
        &expect![[r#"
            {"agent_id":"A"}
            gpt-5.2-codex high sandbox on as Some("collab_spawn"), 0 tools for agents, beta None, instructions of the parent
            developer <permissions instructions>
            developer Be thin.
            user <environment_context>
            user Go.
        "#]],
    );
    let model = SettingsChange { model: Some("gpt-5.1".to_owned()), ..SettingsChange::default() };
    check_role(
        config,
        "thin",
        Some(model),
        &expect![[r#"
            {"agent_id":"A"}
            gpt-5.2-codex high sandbox on as Some("collab_spawn"), 0 tools for agents, beta None, instructions of the parent
            developer <permissions instructions>
            developer Be thin.
            user <environment_context>
            user Go.
        "#]],
    );
}

/// Starts an agent whose role names another provider, and checks the key of its request.
#[track_caller]
fn check_key_of_role(store: &str, expected: Option<&str>) {
    let auth = r#"{"OPENAI_API_KEY":"sk-stored"}"#;
    let files = Workspace::new(&format!("//- home/auth.json\n{auth}\n//- home/other.toml\nmodel = \"gpt-5.1\"\n"));
    let config = format!("cli_auth_credentials_store = \"{store}\"\nagents.other.config_file = \"other.toml\"");
    on_stage(
        &config,
        files,
        |session| {
            let (config, url) = (session.config(), session.config().model.provider.base_url.clone().unwrap());
            let role = format!(
                "model_provider = \"other\"\n[model_providers.other]\nname = \"Other\"\nbase_url = \"{url}\"\nrequires_openai_auth = true\n"
            );
            std::fs::write(config.folders.home.join("other.toml"), role).unwrap();
        },
        async |mut stage| {
            stage.answer_agents([MockReply::say("Done.")]);
            stage.call("spawn_agent", r#"{"message":"Go.","agent_type":"other"}"#).await;
            stage.call("wait", r#"{"ids":["<A>"]}"#).await;
            let requests = stage.server.requests();
            let request = requests.iter().find(|request| !is_persons(&request.body)).unwrap();
            assert_eq!(request.header("authorization"), expected, "{store}");
            stage.end().await;
        },
    );
}

#[test]
fn an_agent_with_another_provider_takes_its_key_from_the_configured_store() {
    check_key_of_role("file", Some("Bearer sk-stored"));
    check_key_of_role("ephemeral", None);
}

#[test]
fn a_role_does_not_free_an_agent() {
    check_role(
        "agents.free.config_file = \"free.toml\"",
        "free",
        None,
        &expect![[r#"
            {"agent_id":"A"}
            gpt-5.2-codex medium sandbox on as Some("collab_spawn"), 0 tools for agents, beta None, instructions of the parent
            developer <permissions instructions>
            user <environment_context>
            user Go.
        "#]],
    );
    let config = "sandbox_mode = \"danger-full-access\"\nagents.free.config_file = \"free.toml\"";
    check_role(
        config,
        "free",
        None,
        &expect![[r#"
            {"agent_id":"A"}
            gpt-5.2-codex medium sandbox off as Some("collab_spawn"), 0 tools for agents, beta None, instructions of the parent
            developer <permissions instructions>
            user <environment_context>
            user Go.
        "#]],
    );
}

#[test]
fn a_role_that_cannot_be_had_is_told() {
    let config = "agents.bad.config_file = \"bad.toml\"\nagents.gone.config_file = \"gone.toml\"";
    check_role(
        config,
        "bad",
        None,
        &expect![[r#"
        agent type is currently not available
    "#]],
    );
    check_role(
        config,
        "gone",
        None,
        &expect![[r#"
        agent type is currently not available
    "#]],
    );
    check_role(
        config,
        "nobody",
        None,
        &expect![[r#"
        unknown agent_type 'nobody'
    "#]],
    );
}
