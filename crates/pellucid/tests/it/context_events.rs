//! Events about the context: `exec --json` prints what the app-server sends.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::process::Child;
use std::process::ChildStdin;
use std::process::ChildStdout;
use std::process::Stdio;

use serde_json::Value;
use serde_json::json;

use crate::World;
use crate::exec::AGENTS;

/// The first turn has a call that no person can approve; the second one is large, and is summarised in a third one.
const SCRIPTS: &str = r#"
//- home/config.toml
model_auto_compact_token_limit = 5000
//- work/first.toml
[[reply]]
call = [{ name = "shell_command", args = { command = "rm -rf build" }, id = "c1" }]
usage = { input = 1200, cached = 200, output = 40 }

[[reply]]
say = "I could not."
usage = { input = 1500, cached = 1200, output = 10 }
//- work/second.toml
[[reply]]
say = "Read."
usage = { input = 9000, output = 10 }
//- work/third.toml
[[reply]]
say = "A summary."
usage = { input = 9000, output = 10 }

[[reply]]
say = "Done."
usage = { input = 1500, output = 10 }
"#;

/// The program as a server of one client.
struct Client {
    server: Child,
    said: ChildStdin,
    heard: BufReader<ChildStdout>,
    /// Notifications, in their order.
    notified: Vec<Value>,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _gone = self.server.kill();
        let _gone = self.server.wait();
    }
}

impl Client {
    fn start(world: &World, script: &str) -> Self {
        let mut command = world.command(&["app-server", "--script", script, "--enable", "multi_agent"]);
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (said, heard) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
        Self { server, said, heard, notified: Vec::new() }
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.heard.read_line(&mut line).unwrap() > 0, "the program ended after {:?}", self.notified);
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        writeln!(self.said, "{}", json!({ "id": method, "method": method, "params": params })).unwrap();
        loop {
            let message = self.hear();
            if message["id"] == method {
                return message;
            }
            self.notified.push(message);
        }
    }

    fn introduce(&mut self, capabilities: &Value) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        self.ask("initialize", &json!({ "clientInfo": client, "capabilities": capabilities }))
    }

    /// Waits for a notification.
    fn until(&mut self, is_meant: impl Fn(&Value) -> bool) {
        while !self.notified.iter().any(&is_meant) {
            let message = self.hear();
            self.notified.push(message);
        }
    }

    /// Runs a turn in a thread to its end, and gives the thread and the turn.
    fn turn(&mut self, method: &str, params: &Value, text: &str) -> (String, String) {
        let opened = self.ask(method, params);
        let thread = opened["result"]["thread"]["id"].as_str().unwrap().to_owned();
        let input = json!([{ "type": "text", "text": text }]);
        let began = self.ask("turn/start", &json!({ "threadId": thread, "input": input }));
        let turn = began["result"]["turn"]["id"].as_str().unwrap().to_owned();
        self.until(|it| it["method"] == "turn/completed");
        (thread, turn)
    }
}

/// What two sessions cannot have in common.
fn stable(event: &Value, id: &str) -> Value {
    let mut event: Value = serde_json::from_str(&event.to_string().replace(id, "ID")).unwrap();
    if let Some(cache) = event["cache"].as_object_mut() {
        cache.remove("idle_ms");
    }
    event
}

/// What `exec` prints of a turn, and the session's id.
fn printed(world: &World, script: &str, words: &[&str], text: &str) -> (String, Vec<Value>) {
    let mut args = vec!["exec", "--json", "--context-events", "--script", script, "--enable", "multi_agent"];
    args.extend(words);
    args.push(text);
    let ran = world.run(&args);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let lines: Vec<Value> = ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let id = lines.iter().find_map(|line| line["thread_id"].as_str()).unwrap().to_owned();
    let is_ours = |line: &&Value| {
        let kind = line["type"].as_str().unwrap();
        kind.starts_with("context.") && kind != "context.schema"
    };
    (id.clone(), lines.iter().filter(is_ours).map(|line| stable(line, &id)).collect())
}

/// What the app-server sends of a turn to a client that asks for it, and the thread's id.
fn sent(world: &World, script: &str, method: &str, thread: Option<&str>, text: &str) -> (String, Vec<Value>) {
    let mut client = Client::start(world, script);
    let hello = client.introduce(&json!({ "experimentalApi": true, "contextEvents": true }));
    assert_eq!(hello["result"]["contextEventsVersion"], 1);
    let mut params = json!({ "approvalPolicy": "never", "sandbox": "read-only" });
    if let Some(thread) = thread {
        params["threadId"] = thread.into();
    }
    let (thread, turn) = client.turn(method, &params, text);
    let ours = client.notified.iter().filter(|it| it["method"] == "context/event");
    let events = ours.map(|it| {
        assert_eq!((&it["params"]["threadId"], &it["params"]["turnId"]), (&json!(thread), &json!(turn)));
        stable(&it["params"]["event"], &thread)
    });
    (thread.clone(), events.collect())
}

#[test]
fn the_app_server_sends_what_exec_prints() {
    let world = World::new(SCRIPTS);
    world.files.write("work/AGENTS.md", "x".repeat(40_000));
    let (session, of_exec) = printed(&world, "first.toml", &[], "go");
    let (thread, of_server) = sent(&world, "first.toml", "thread/start", None, "go");
    assert_eq!(of_server, of_exec);
    let mut all = of_exec;
    // The processes have ended, and what they sent is not as it was.
    world.files.write("work/AGENTS.md", "y\n");
    for (script, text) in [("second.toml", "read on"), ("third.toml", "and on")] {
        let (_, of_exec) = printed(&world, script, &["resume", &session], text);
        let (_, of_server) = sent(&world, script, "thread/resume", Some(&thread), text);
        assert_eq!(of_server, of_exec, "{script}");
        all.extend(of_exec);
    }
    for kind in ["report", "omission", "cache_break", "usage", "refusal", "compaction"] {
        assert!(all.iter().any(|event| event["type"] == format!("context.{kind}")), "no {kind} in {all:#?}");
    }
}

#[test]
fn requests_of_agents_are_reported_too() {
    let world = World::new(AGENTS);
    let mut client = Client::start(&world, "script.toml");
    client.introduce(&json!({ "experimentalApi": true, "contextEvents": true }));
    let (thread, _) = client.turn("thread/start", &json!({}), "go");
    client.until(|it| {
        let params = &it["params"];
        params["event"]["type"] == "context.report" && params["threadId"] != json!(thread)
    });
}

#[test]
fn clients_that_do_not_ask_get_no_events_about_the_context() {
    let world = World::new(SCRIPTS);
    let opted_out =
        json!({ "experimentalApi": true, "contextEvents": true, "optOutNotificationMethods": ["context/event"] });
    for capabilities in [Value::Null, json!({ "experimentalApi": true }), opted_out] {
        let mut client = Client::start(&world, "first.toml");
        client.introduce(&capabilities);
        client.turn("thread/start", &json!({ "approvalPolicy": "never", "sandbox": "read-only" }), "go");
        let is_ours = |it: &Value| it["method"].as_str().is_some_and(|it| it.contains("context"));
        assert!(!client.notified.iter().any(is_ours), "{capabilities}");
    }
    let mut client = Client::start(&world, "first.toml");
    let refused = client.introduce(&json!({ "contextEvents": true }));
    assert_eq!(refused["error"]["message"], "capabilities.contextEvents requires experimentalApi capability");
    assert_eq!(client.introduce(&json!({}))["result"].as_object().unwrap().len(), 1);
}
