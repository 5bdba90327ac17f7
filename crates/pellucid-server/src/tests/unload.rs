//! Threads that are unloaded while they idle, and what clients and models see of it: nothing.

use std::path::PathBuf;

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;

use super::*;
use crate::loaded::LoadedSession;

/// A client of a server whose model is a mock, in a project with an instruction file.
pub(super) struct Play {
    client: Client,
    model: MockServer,
    wire: &'static str,
    /// Every message that the client received, without ids and times.
    pub(super) seen: Vec<String>,
    unloads: bool,
}

const UNLOADS: &str = "[app_server]\nloaded_threads_max = 0\n";

fn home_of(model: &MockServer, pack: &str, wire: &str, more: &str) -> Arc<Workspace> {
    let home = Arc::new(Workspace::empty());
    let url = model.base_url();
    let provider = format!("[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{url}\"\nwire_api = \"{wire}\"\n");
    let project = format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", home.root().to_string_lossy());
    home.write("config.toml", format!("pack = {pack:?}\nmodel_provider = \"mock\"\n{provider}\n{project}\n{more}"));
    home.write("AGENTS.md", "Use tabs.\n");
    home
}

fn server_of(home: &Workspace) -> Arc<Server> {
    Server::new(Ground { script: None, ..ground(home, "[[reply]]\nsay = \"x\"\n") })
}

impl Play {
    pub(super) async fn begin(pack: &str, wire: &'static str, unloads: bool) -> Self {
        let model = MockServer::start([]);
        let home = home_of(&model, pack, wire, if unloads { UNLOADS } else { "" });
        let mut client = Client::of(server_of(&home), home);
        let params = json!({"clientInfo": {"name": "test", "version": "1"}, "capabilities": {"experimentalApi": true}});
        client.ask("initialize", params).await.unwrap();
        Self { client, model, wire, seen: Vec::new(), unloads }
    }

    pub(super) async fn thread(&mut self) -> String {
        self.client.thread(json!({"approvalPolicy": "never", "sandbox": "read-only"})).await
    }

    fn reply(&self, items: impl IntoIterator<Item = Value>) -> MockReply {
        match self.wire {
            "chat" => MockReply::chat(items),
            "messages" => MockReply::messages(items),
            _ => MockReply::items(items),
        }
    }

    pub(super) fn say(&self, words: &str) -> MockReply {
        let content = json!([{"type": "output_text", "text": words}]);
        self.reply([json!({"type": "message", "id": "msg", "role": "assistant", "content": content})])
    }

    fn call(&self, name: &str, arguments: &Value) -> MockReply {
        let arguments = arguments.to_string();
        self.reply([json!({"type": "function_call", "call_id": "c1", "name": name, "arguments": arguments})])
    }

    /// Runs a turn, and waits until the thread is unloaded if it will be.
    pub(super) async fn turn(&mut self, thread: &str, words: &str, settings: Value, replies: Vec<MockReply>) {
        self.model.add(replies);
        let mut params = json!({"threadId": thread, "input": text(words)});
        params.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        self.client.ask("turn/start", params).await.unwrap();
        loop {
            let message = self.client.next().await.unwrap();
            self.seen.push(method_and_state(&message));
            if message["method"] == "turn/completed" {
                assert_eq!(message["params"]["turn"]["status"], "completed", "{message}");
                break;
            }
        }
        if self.unloads {
            self.unloaded(thread).await;
        }
    }

    /// Adds to the configuration of threads to come.
    fn configure(&self, more: &str) {
        let config = self.client.home.read("config.toml");
        self.client.home.write("config.toml", config + more);
    }

    pub(super) fn loaded(&self, thread: &str) -> Arc<LoadedSession> {
        self.client.server.find_loaded(thread).unwrap()
    }

    /// Waits until the thread is unloaded.
    pub(super) async fn unloaded(&self, thread: &str) {
        for _ in 0..1_000_000 {
            if self.loaded(thread).is_unloaded() {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("the thread stays loaded");
    }

    /// The bodies that the model received, without what differs between two plays.
    fn bodies(&self, thread: &str) -> Vec<String> {
        let root = self.client.home.root().to_str().unwrap().to_owned();
        let bodies = self.model.requests().into_iter().map(|request| String::from_utf8(request.body).unwrap());
        bodies.map(|body| body.replace(thread, "$T").replace(&root, "$R")).collect()
    }

    fn file(&self, thread: &str) -> PathBuf {
        self.loaded(thread).path.clone().unwrap()
    }
}

fn method_and_state(message: &Value) -> String {
    let params = &message["params"];
    let state = [&params["turn"]["status"], &params["item"]["type"], &params["msg"]["type"]];
    let state = state.into_iter().find_map(Value::as_str).unwrap_or_default();
    format!("{} {state}", message["method"].as_str().unwrap_or("answer"))
}

/// Four turns: one with a call, one after the instruction file and settings changed, one after a roll-back. Gives the
/// requests and what the client received.
async fn four_turns(pack: &str, wire: &'static str, unloads: bool) -> (Vec<String>, Vec<String>) {
    let mut play = Play::begin(pack, wire, unloads).await;
    let params = json!({"approvalPolicy": "never", "sandbox": "read-only", "developerInstructions": "Be quick."});
    let thread = play.client.thread(params).await;
    let plan = json!({"plan": [{"step": "look", "status": "completed"}]});
    let replies = vec![play.call("update_plan", &plan), play.say("First.")];
    play.turn(&thread, "One.", json!({}), replies).await;
    let reply = vec![play.say("Second.")];
    play.turn(&thread, "Two.", json!({"effort": "high"}), reply).await;
    play.client.home.write("AGENTS.md", "Use spaces.\n");
    let reply = vec![play.say("Third.")];
    play.turn(&thread, "Three.", json!({"sandboxPolicy": {"type": "dangerFullAccess"}}), reply).await;
    play.client.ask("thread/rollback", json!({"threadId": thread, "numTurns": 1})).await.unwrap();
    let reply = vec![play.say("Fourth.")];
    play.turn(&thread, "Four.", json!({}), reply).await;
    let turns = play.client.ask("thread/read", json!({"threadId": thread, "includeTurns": true})).await.unwrap();
    play.seen.push(format!("{} turns", turns["thread"]["turns"].as_array().unwrap().len()));
    (play.bodies(&thread), std::mem::take(&mut play.seen))
}

/// Whether a notification is about tokens. A reply's tokens are counted while its call runs, so these notifications have an
/// order of their own.
fn is_usage(seen: &str) -> bool {
    ["token_count", "thread/tokenUsage", "account/rateLimits"].iter().any(|it| seen.contains(it))
}

fn about(seen: &[String], is_wanted: impl Fn(&str) -> bool) -> Vec<&String> {
    seen.iter().filter(|it| is_wanted(it)).collect()
}

#[tokio::test]
async fn requests_and_notifications_are_those_of_a_thread_that_stays_loaded() {
    for pack in ["codex", "pellucid", "openclaw", "ads", "agentcore"] {
        for wire in ["responses", "chat", "messages"] {
            let (loaded, unloaded) = (four_turns(pack, wire, false).await, four_turns(pack, wire, true).await);
            assert_eq!(unloaded.0.len(), 5, "{pack} {wire}");
            assert_eq!(about(&unloaded.1, is_usage), about(&loaded.1, is_usage), "{pack} {wire}");
            let is_other = |seen: &str| !is_usage(seen);
            assert_eq!(about(&unloaded.1, is_other), about(&loaded.1, is_other), "{pack} {wire}");
            for (n, (unloaded, loaded)) in unloaded.0.iter().zip(&loaded.0).enumerate() {
                assert_eq!(unloaded, loaded, "{pack} {wire}: request {n}");
            }
        }
    }
}

#[tokio::test]
async fn what_was_allowed_for_the_session_is_still_allowed() {
    let mut play = Play::begin("codex", "responses", true).await;
    let params = json!({"approvalPolicy": "untrusted", "sandbox": "danger-full-access"});
    let thread = play.client.thread(params).await;
    let touch = json!({"command": ["touch", "made"]});
    let replies = [play.call("shell", &touch), play.say("Done.")];
    play.model.add(replies);
    let go = json!({"threadId": thread, "input": text("Go."), "model": "gpt-5"});
    play.client.ask("turn/start", go).await.unwrap();
    let question = play.client.until("item/commandExecution/requestApproval").await;
    play.client.write(&json!({"id": question["id"], "result": {"decision": "acceptForSession"}})).await;
    play.client.until("turn/completed").await;
    play.unloaded(&thread).await;
    let replies = vec![play.call("shell", &touch), play.say("Done.")];
    play.turn(&thread, "Again.", json!({}), replies).await;
    assert!(!play.seen.iter().any(|it| it.contains("requestApproval")), "{:?}", play.seen);
}

#[tokio::test]
async fn an_unloaded_thread_is_whole_on_disk_and_free_for_others() {
    let mut play = Play::begin("codex", "responses", true).await;
    let thread = play.client.thread(json!({"approvalPolicy": "never"})).await;
    let reply = vec![play.say("First.")];
    play.turn(&thread, "One.", json!({}), reply).await;
    // As after a crash: nothing of the first server is asked any more, or shut down.
    let mut other = Client::of(server_of(&play.client.home), play.client.home.clone());
    let params = json!({"clientInfo": {"name": "other", "version": "1"}});
    other.ask("initialize", params).await.unwrap();
    let resumed = other.ask("thread/resume", json!({"threadId": thread})).await.unwrap();
    assert_eq!(resumed["thread"]["turns"][0]["items"][1]["text"], "First.");
    // The other program adds a turn, which the thread then continues with.
    play.model.add([play.say("Second.")]);
    other.ask("turn/start", json!({"threadId": thread, "input": text("Two.")})).await.unwrap();
    other.until("turn/completed").await;
    other.leave().await;
    let reply = vec![play.say("Third.")];
    play.turn(&thread, "Three.", json!({}), reply).await;
    let last = play.bodies(&thread).pop().unwrap();
    assert!(["One.", "First.", "Two.", "Second.", "Three."].iter().all(|it| last.contains(it)), "{last}");
    assert!(play.seen.contains(&"codex/event/warning warning".to_owned()), "{:?}", play.seen);
}

#[tokio::test]
async fn a_thread_whose_file_is_gone_fails_its_turn_and_says_why() {
    let mut play = Play::begin("codex", "responses", true).await;
    let thread = play.client.thread(json!({"approvalPolicy": "never"})).await;
    let reply = vec![play.say("First.")];
    play.turn(&thread, "One.", json!({}), reply).await;
    std::fs::remove_file(play.file(&thread)).unwrap();
    play.client.ask("turn/start", json!({"threadId": thread, "input": text("Two.")})).await.unwrap();
    let error = play.client.until("error").await;
    let message = error["params"]["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("the session could not be loaded again: "), "{message}");
    let over = play.client.until("turn/completed").await;
    assert_eq!(over["params"]["turn"]["status"], "failed");
}

#[tokio::test]
async fn the_threads_that_were_used_last_stay_loaded() {
    let mut play = Play::begin("codex", "responses", false).await;
    play.configure("[app_server]\nloaded_threads_max = 1\n");
    let mut threads = Vec::new();
    for _ in 0..3 {
        let thread = play.client.thread(json!({"approvalPolicy": "never"})).await;
        let reply = vec![play.say("Done.")];
        play.turn(&thread, "One.", json!({}), reply).await;
        threads.push(thread);
    }
    play.unloaded(&threads[0]).await;
    play.unloaded(&threads[1]).await;
    assert!(!play.loaded(&threads[2]).is_unloaded());
    let reply = vec![play.say("Done.")];
    play.turn(&threads[0], "Two.", json!({}), reply).await;
    play.unloaded(&threads[2]).await;
    assert!(!play.loaded(&threads[0]).is_unloaded());
    assert_eq!(play.client.server.unloading.n_loaded(), 1);
    let listed = play.client.ask("thread/loaded/list", json!({})).await.unwrap();
    threads.sort();
    assert_eq!(listed["data"], json!(threads));
    // An archived thread ends, unloaded or not.
    play.client.ask("thread/archive", json!({"threadId": threads[1]})).await.unwrap();
    assert!(play.client.server.find_loaded(&threads[1]).is_none());
}

#[tokio::test]
async fn a_thread_whose_memory_decides_what_requests_show_stays_loaded() {
    let mut play = Play::begin("risuai", "responses", false).await;
    play.configure(UNLOADS);
    let thread = play.client.thread(json!({"approvalPolicy": "never"})).await;
    for words in ["One.", "Two."] {
        let reply = vec![play.say("Done.")];
        play.turn(&thread, words, json!({}), reply).await;
    }
    assert!(!play.loaded(&thread).is_unloaded());
}

#[tokio::test]
async fn a_thread_in_which_nothing_was_said_is_unloaded_and_begins_as_it_would_have() {
    let mut bodies = Vec::new();
    for unloads in [false, true] {
        let mut play = Play::begin("codex", "responses", unloads).await;
        let thread = play.client.thread(json!({"approvalPolicy": "never", "developerInstructions": "Be quick."})).await;
        if unloads {
            play.unloaded(&thread).await;
        }
        // The facts are those of the thread's start.
        play.client.home.write("AGENTS.md", "Use spaces.\n");
        let change = json!({"effort": "high", "sandboxPolicy": {"type": "dangerFullAccess"}});
        let reply = vec![play.say("First.")];
        play.turn(&thread, "One.", change, reply).await;
        let first = std::fs::read_to_string(play.file(&thread)).unwrap().lines().next().unwrap().to_owned();
        let mut first: Value = serde_json::from_str(&first.replace(&thread, "$T")).unwrap();
        let root = play.client.home.root().to_str().unwrap();
        assert_eq!(first["payload"]["cwd"].take(), root);
        first["payload"]["timestamp"].take();
        first["timestamp"].take();
        bodies.push((play.bodies(&thread), first));
    }
    assert!(bodies[0].0[0].contains("Use tabs."), "{bodies:?}");
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn a_thread_without_a_file_stays_loaded() {
    let mut play = Play::begin("codex", "responses", false).await;
    play.configure(UNLOADS);
    let ephemeral = play.client.thread(json!({"approvalPolicy": "never", "ephemeral": true})).await;
    let reply = vec![play.say("Done.")];
    play.turn(&ephemeral, "One.", json!({}), reply).await;
    // The thread answered after it was asked to be unloaded.
    let reply = vec![play.say("Done.")];
    play.turn(&ephemeral, "Two.", json!({}), reply).await;
    assert!(!play.loaded(&ephemeral).is_unloaded());
}
