//! The approved command is the one that runs outside of the sandbox, whatever a confined command does meanwhile.
//!
//! The program serves a client, which plays the person: it looks at the script when it is asked, looks again, and
//! answers.

use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::path::PathBuf;
use std::process::Child;
use std::process::ChildStdin;
use std::process::ChildStdout;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;

use crate::World;

const PATIENCE: Duration = Duration::from_secs(60);

/// How often is looked whether the script changes while a person decides.
const LOOKS: usize = 2_000;

/// Rewrites the script for ever.
const SWAPPING: &str = "i=0; while :; do i=$((i+1)); echo \"echo $i >> sub/ran\" > sub/t; mv sub/t sub/build.sh; done";

/// A script that a rule allows, which looks at the other again and again.
const LOOKING: &str = "//- home/rules/default.rules
prefix_rule(pattern=[\"sh\", \"sub/look.sh\"], decision=\"allow\")
//- work/sub/look.sh
i=0; while [ $i -lt 200 ]; do i=$((i+1)); cat sub/build.sh >> sub/seen; done
";

/// Backends on which commands can be confined here.
#[expect(clippy::print_stdout, reason = "a test that is skipped must say so")]
fn backends() -> Vec<String> {
    let found = World::new("").run(&["doctor", "--json"]);
    let found: Value = serde_json::from_str(found.out()).unwrap();
    let backends = found["sandbox"]["backends"].as_array().unwrap();
    let working = backends.iter().filter(|it| it["state"] == "works");
    let working: Vec<String> = working.map(|it| it["name"].as_str().unwrap().to_owned()).collect();
    if working.is_empty() {
        println!("skipped: no sandbox works on this machine");
    }
    working
}

/// A client of the program.
struct Client {
    world: World,
    server: Child,
    said: ChildStdin,
    heard: BufReader<ChildStdout>,
    /// All messages that were received.
    log: Vec<Value>,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _gone = self.server.kill();
        let _gone = self.server.wait();
    }
}

impl Client {
    /// Starts the program with these calls of the model, and a turn.
    fn start(backend: &str, calls: &[String]) -> Self {
        let reply = |what: &str| format!("[[reply]]\n{what}\nusage = {{ input = 1, output = 1 }}\n");
        let replies: String = calls.iter().map(|call| reply(&format!("call = [{call}]"))).collect();
        let world = World::new(&format!("{LOOKING}//- work/script.toml\n{replies}{}", reply("say = \"done\"")));
        let backend = format!("sandbox_backend={backend}");
        let args = ["app-server", "--script", "script.toml", "-c", &backend, "-c", "features.unified_exec=true"];
        let mut server = world.command(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (said, heard) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
        let mut client = Self { world, server, said, heard, log: Vec::new() };
        client.ask("initialize", &json!({ "clientInfo": { "name": "test", "version": "1" } }));
        client.say(&json!({ "method": "initialized" }));
        let started =
            client.ask("thread/start", &json!({ "approvalPolicy": "on-request", "sandbox": "workspace-write" }));
        let thread = started["result"]["thread"]["id"].clone();
        client.ask("turn/start", &json!({ "threadId": thread, "input": [{ "type": "text", "text": "go" }] }));
        client
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.said, "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.say(&json!({ "id": method, "method": method, "params": params }));
        self.hear(|message| message["id"] == method)
    }

    /// The next message that is meant.
    #[track_caller]
    fn hear(&mut self, is_meant: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.log.iter().position(&is_meant) {
            return self.log.remove(at);
        }
        loop {
            let mut line = String::new();
            let n_bytes = self.heard.read_line(&mut line).unwrap();
            assert!(n_bytes > 0, "the program ended after {:?}", self.log);
            let message: Value = serde_json::from_str(&line).unwrap();
            if is_meant(&message) {
                return message;
            }
            self.log.push(message);
        }
    }

    /// Waits for the question whether a command may run.
    fn question(&mut self) -> Value {
        self.hear(|message| message["method"] == "item/commandExecution/requestApproval")["id"].clone()
    }

    fn answer(&mut self, question: &Value, decision: &str) {
        self.say(&json!({ "id": question, "result": { "decision": decision } }));
    }

    fn turn_ends(&mut self) {
        self.hear(|message| message["method"] == "turn/completed");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.files.path("work/sub").join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Whether the script is rewritten.
    fn goes_on(&self) -> bool {
        let (began, before) = (Instant::now(), self.read("build.sh"));
        while began.elapsed() < PATIENCE {
            if self.read("build.sh") != before {
                return true;
            }
        }
        false
    }
}

fn in_terminal(script: &str) -> String {
    let script = script.replace('"', "\\\"");
    format!("{{ name = \"exec_command\", args = {{ cmd = \"{script}\", login = false, yield_time_ms = 1000 }} }}")
}

fn outside(script: &str) -> String {
    let rights = "sandbox_permissions = \"require_escalated\", justification = \"May I?\"";
    format!("{{ name = \"exec_command\", args = {{ cmd = \"{script}\", login = false, {rights} }} }}")
}

#[test]
fn what_was_shown_is_what_runs() {
    for backend in backends() {
        for script in ["sh sub/build.sh", ". ./sub/build.sh", "true && bash sub/build.sh"] {
            let mut client = Client::start(&backend, &[in_terminal(SWAPPING), outside(script)]);
            let question = client.question();
            let shown = client.read("build.sh");
            for _ in 0..LOOKS {
                assert_eq!(client.read("build.sh"), shown, "{backend}: {script}");
            }
            client.answer(&question, "accept");
            client.turn_ends();
            assert_eq!(format!("echo {} >> sub/ran\n", client.read("ran").trim()), shown, "{backend}: {script}");
            assert!(client.goes_on(), "{backend}: {script}");
        }
    }
}

#[test]
fn a_refusal_lets_commands_go_on() {
    for backend in backends() {
        let mut client = Client::start(&backend, &[in_terminal(SWAPPING), outside("sh sub/build.sh")]);
        let question = client.question();
        client.answer(&question, "decline");
        assert!(client.goes_on(), "{backend}");
        client.turn_ends();
        assert_eq!(client.read("ran"), "");
    }
}

/// What is in a terminal ends with the interruption, so it has to be something that a command left running.
#[test]
fn an_interruption_lets_commands_go_on() {
    for backend in backends().into_iter().filter(|it| it == "namespaces") {
        let script = format!("({SWAPPING}) > /dev/null 2>&1 &").replace('"', "\\\"");
        let left = format!("{{ name = \"shell\", args = {{ command = [\"bash\", \"-c\", \"{script}\"] }} }}");
        let mut client = Client::start(&backend, &[left, outside("sh sub/build.sh")]);
        let question = client.question();
        // The decision that ends the turn.
        client.answer(&question, "cancel");
        client.turn_ends();
        assert!(client.goes_on(), "{backend}");
        assert_eq!(client.read("ran"), "");
    }
}

#[test]
fn a_script_that_a_person_changed_is_not_run() {
    for backend in backends() {
        let mut client = Client::start(
            &backend,
            &[in_terminal("echo 'echo 1 >> sub/ran' > sub/build.sh"), outside("sh sub/build.sh")],
        );
        let question = client.question();
        fs::write(client.path("build.sh"), "echo 2 >> sub/ran\n").unwrap();
        client.answer(&question, "accept");
        client.turn_ends();
        assert_eq!(client.read("ran"), "", "{backend}");
    }
}

#[test]
fn what_runs_outside_by_a_rule_is_left_alone_too() {
    for backend in backends() {
        let look = "{ name = \"exec_command\", args = { cmd = \"sh sub/look.sh\", login = false } }";
        let mut client = Client::start(&backend, &[in_terminal(SWAPPING), look.to_owned()]);
        client.turn_ends();
        let seen = client.read("seen");
        let lines: Vec<&str> = seen.lines().collect();
        assert_eq!(lines.len(), 200, "{backend}: {:?}", client.log);
        assert!(lines.iter().all(|line| line == &lines[0]), "{backend}");
        assert!(client.goes_on(), "{backend}");
    }
}
