//! Events about the context: `exec --json` prints what the app-server sends.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::process::Child;
use std::process::ChildStdin;
use std::process::ChildStdout;
use std::process::Command;
use std::process::Stdio;

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::RecordedRequest;
use serde_json::Value;
use serde_json::json;

use crate::Ran;
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
#[derive(Debug)]
pub struct Client {
    server: Child,
    said: Option<ChildStdin>,
    heard: BufReader<ChildStdout>,
    /// Notifications, in their order.
    pub notified: Vec<Value>,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _gone = self.server.kill();
        let _gone = self.server.wait();
    }
}

impl Client {
    pub fn start(world: &World, script: &str) -> Self {
        Self::of(world, &["--script", script, "--enable", "multi_agent"])
    }

    /// Starts the program with these arguments.
    pub fn of(world: &World, args: &[&str]) -> Self {
        Self::by(world.command(&[&["app-server"], args].concat()))
    }

    /// Starts the program by this command.
    pub fn by(mut command: Command) -> Self {
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (said, heard) = (server.stdin.take(), BufReader::new(server.stdout.take().unwrap()));
        Self { server, said, heard, notified: Vec::new() }
    }

    /// Closes the program's standard input and waits for its end.
    pub fn leave(mut self) {
        drop(self.said.take());
        let mut rest = String::new();
        while self.heard.read_line(&mut rest).unwrap() > 0 {}
        assert!(self.server.wait().unwrap().success());
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.heard.read_line(&mut line).unwrap() > 0, "the program ended after {:?}", self.notified);
        serde_json::from_str(&line).unwrap()
    }

    /// Waits for one notification more.
    pub fn hear_one(&mut self) {
        let message = self.hear();
        self.notified.push(message);
    }

    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        writeln!(self.said.as_mut().unwrap(), "{}", json!({ "id": method, "method": method, "params": params }))
            .unwrap();
        loop {
            let message = self.hear();
            if message["id"] == method {
                return message;
            }
            self.notified.push(message);
        }
    }

    pub fn introduce(&mut self, capabilities: &Value) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        self.ask("initialize", &json!({ "clientInfo": client, "capabilities": capabilities }))
    }

    /// Waits for a notification.
    pub fn until(&mut self, is_meant: impl Fn(&Value) -> bool) {
        while !self.notified.iter().any(&is_meant) {
            let message = self.hear();
            self.notified.push(message);
        }
    }

    /// Runs a turn in a thread to its end, and gives the thread and the turn.
    pub fn turn(&mut self, method: &str, params: &Value, text: &str) -> (String, String) {
        let opened = self.ask(method, params);
        let thread = opened["result"]["thread"]["id"].as_str().unwrap().to_owned();
        let input = json!([{ "type": "text", "text": text }]);
        let began = self.ask("turn/start", &json!({ "threadId": thread, "input": input }));
        let turn = began["result"]["turn"]["id"].as_str().unwrap().to_owned();
        self.until(|it| it["method"] == "turn/completed" && it["params"]["turn"]["id"] == turn.as_str());
        (thread, turn)
    }
}

/// What two sessions cannot have in common.
fn stable(event: &Value, id: &str) -> Value {
    let mut event: Value = serde_json::from_str(&event.to_string().replace(id, "ID")).unwrap();
    if let Some(cache) = event["cache"].as_object_mut() {
        cache.remove("idle_ms");
    }
    if let Some(turn) = event.get_mut("turn_id") {
        assert!(turn.is_string(), "{turn}");
        *turn = "TURN".into();
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
fn a_turn_of_the_app_server_fails_at_a_limit() {
    let prices = "[[price]]\nmodel = \"*\"\nfrom = 2020-01-01\ncurrency = \"USD\"\ninput = 2\noutput = 10\n";
    let rows = [
        ("max_requests = 0", "the limit of 0 requests is reached, so no other was sent"),
        ("max_requests = 1", "the limit of 1 request is reached, so no other was sent"),
        ("max_tokens = 10", "the limit of 10 tokens is reached: 0 are spent, and this request costs at least "),
        ("max_tokens = 1250", "the limit of 1250 tokens is reached"),
        ("max_cost = 0", "the limit of $0.0000 is reached: $0.0000 is spent"),
    ];
    for (limit, expected) in rows {
        let world = World::new(SCRIPTS);
        world.files.write("home/config.toml", format!("[limits]\n{limit}\n"));
        world.files.write("home/prices.toml", prices);
        let mut client = Client::start(&world, "first.toml");
        client.introduce(&json!({ "experimentalApi": true, "contextEvents": true }));
        client.turn("thread/start", &json!({ "approvalPolicy": "never", "sandbox": "read-only" }), "go");
        let ended = client.notified.iter().find(|it| it["method"] == "turn/completed").unwrap();
        let turn = &ended["params"]["turn"];
        assert_eq!(turn["status"], "failed", "{limit}: {ended}");
        assert!(turn["error"]["message"].as_str().unwrap().contains(expected), "{limit}: {ended}");
    }
}

#[test]
fn the_app_server_sends_what_exec_prints() {
    let world = World::new(SCRIPTS);
    world.files.write("work/AGENTS.md", "x".repeat(40_000));
    let (session, of_exec) = printed(&world, "first.toml", &[], "go");
    let (thread, of_server) = sent(&world, "first.toml", "thread/start", None, "go");
    assert_eq!(of_server, of_exec);
    let mut all = of_exec;
    // The processes have ended, and a file that they sent changes before they are resumed.
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

const SESSION: &str = "019a0000-0000-7000-8000-000000000001";

/// The lines of `exec`'s output.
fn lines(ran: &Ran) -> Vec<Value> {
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// How many reports and answers are about each session.
fn told(lines: &[Value]) -> BTreeMap<(String, String), usize> {
    let mut told = BTreeMap::new();
    for line in lines.iter().filter(|it| it["type"] == "context.report" || it["type"] == "context.usage") {
        let of = line["thread_id"].as_str().unwrap_or("SESSION").to_owned();
        *told.entry((of, line["type"].as_str().unwrap().to_owned())).or_default() += 1;
    }
    told
}

fn twice(session: &str, n: usize) -> [((String, String), usize); 2] {
    ["context.report", "context.usage"].map(|kind| ((session.to_owned(), kind.to_owned()), n))
}

#[test]
fn exec_reports_the_requests_of_an_agent_with_its_session() {
    /// The model waits for the agent that it started.
    fn wait(request: &RecordedRequest) -> MockReply {
        let text = String::from_utf8_lossy(&request.body).replace('\\', "");
        let (_, id) = text.split_once("\"agent_id\":\"").unwrap();
        let arguments = json!({ "ids": [&id[..36]] }).to_string();
        let call = json!({ "type": "function_call", "name": "wait", "arguments": arguments, "call_id": "c2" });
        MockReply::items([call])
    }
    let spawn = json!({
        "type": "function_call", "name": "spawn_agent", "arguments": "{\"message\":\"Count.\"}", "call_id": "c1",
    });
    let of_session = |reply: MockReply| reply.to_body_with("the words of the person");
    let server = MockServer::start([
        of_session(MockReply::items([spawn])),
        of_session(MockReply::made_from(wait)),
        of_session(MockReply::say("Done.")),
        MockReply::say("Counted.").to_body_without("the words of the person"),
    ]);
    let world = crate::shown::world(&server, "responses", "");
    let args = ["exec", "--json", "--enable", "multi_agent", "--session-id", SESSION, "the words of the person"];
    let lines = lines(&world.run(&[&args[..1], &["--context-events"], &args[1..]].concat()));
    let agent = lines.iter().find_map(|it| it["item"]["receiver_thread_ids"][0].as_str()).unwrap();
    assert_eq!(told(&lines), twice("SESSION", 3).into_iter().chain(twice(agent, 1)).collect());
    let all: Vec<usize> = server.requests().iter().map(|it| it.body.len()).collect();
    let mut reported: Vec<usize> = Vec::new();
    for line in lines.iter().filter(|it| it["type"] == "context.report") {
        reported.push(usize::try_from(line["bytes"].as_u64().unwrap()).unwrap());
    }
    reported.sort_unstable();
    let mut all = all;
    all.sort_unstable();
    assert_eq!(reported, all, "every request is reported");
}

#[test]
fn requests_of_a_reviewer_are_reported_with_its_session() {
    let world = World::new("//- work/script.toml\n[[reply]]\nsay = \"Fine.\"\nusage = { input = 9, output = 1 }\n");
    let args = ["--json", "--context-events", "--script", "script.toml"];
    let lines = lines(&world.run(&[&["exec"], &args[..], &["review", "look at it"]].concat()));
    let id = lines.iter().find(|it| it["type"] == "thread.started").unwrap()["thread_id"].as_str().unwrap();
    let proved = world.run(&["replay", id, "--json"]);
    let proved: Value = serde_json::from_slice(&proved.stdout).unwrap();
    let reviewer = proved["children"][0]["session"].as_str().unwrap();
    assert_eq!(told(&lines), twice(reviewer, 1).into_iter().collect());

    let mut client = Client::start(&world, "script.toml");
    client.introduce(&json!({ "experimentalApi": true, "contextEvents": true }));
    let opened = client.ask("thread/start", &json!({}));
    let thread = opened["result"]["thread"]["id"].as_str().unwrap().to_owned();
    let target = json!({ "type": "custom", "instructions": "look at it" });
    client.ask("review/start", &json!({ "threadId": thread, "target": target }));
    client.until(|it| it["method"] == "turn/completed");
    let ours = client.notified.iter().filter(|it| it["method"] == "context/event");
    let events: Vec<Value> = ours
        .map(|it| {
            assert_eq!(it["params"]["threadId"], json!(thread));
            it["params"]["event"].clone()
        })
        .collect();
    let reviewer = events[0]["thread_id"].as_str().unwrap();
    assert_ne!(reviewer, thread);
    assert_eq!(told(&events), twice(reviewer, 1).into_iter().collect());
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
