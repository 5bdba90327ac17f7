//! A person in front of an editor: the app-server over standard input and output, with questions answered.
//!
//! When a question comes, the person looks for a while (a file `looking` appears in the project, for what waits
//! for that), and then accepts.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::process::Child;
use std::process::ChildStdin;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

use crate::trial;
use crate::trial::Trial;
use crate::trial::Way;
use crate::turn;
use crate::turn::Call;

/// How long a person looks at a question.
const LOOK: Duration = Duration::from_millis(600);

/// How long is waited for a message. Reached only when the test fails.
const LIMIT: Duration = Duration::from_secs(30);

/// A running server and the session that the person has in it.
#[derive(Debug)]
pub struct Person<'a> {
    trial: &'a Trial,
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    /// Nothing is ever sent here: waiting for it is looking at something for a while.
    nothing: (mpsc::Sender<()>, Receiver<()>),
    thread: String,
    id: u64,
    /// Every message that the server wrote.
    pub heard: Vec<Value>,
}

impl<'a> Person<'a> {
    /// Starts a server in the project, whose model makes these calls in each turn.
    pub fn start(trial: &'a Trial, turns: &[Vec<Call>], args: &[&str]) -> Self {
        let is_terminal = |call: &Call| matches!(call, Call::Terminal(_));
        let is_unified = turns.iter().flatten().any(is_terminal);
        let mut script = String::new();
        for (at, calls) in turns.iter().enumerate() {
            let number = |n: usize| at * 100 + n;
            let items = calls.iter().enumerate().map(|(n, call)| turn::item(trial, call, number(n), is_unified));
            script += &turn::script(&items.collect::<Vec<_>>());
        }
        let script = trial.write(&trial.fresh("person.jsonl"), &script);
        let mut command = trial.product();
        command.arg("app-server").arg("--script").arg(&script).args(args);
        command.args([if is_unified { "--enable" } else { "--disable" }, "unified_exec"]);
        if let Way::Confined(backend) = trial.way() {
            command.args(["-c", &format!("sandbox_backend={}", backend.as_str())]);
        }
        Self::serve(trial, command)
    }

    /// The same with a server that is described elsewhere.
    pub fn serve(trial: &'a Trial, command: Command) -> Self {
        Self::serve_with(trial, command, |_| {})
    }

    /// The same with further variables.
    pub fn serve_with(trial: &'a Trial, mut command: Command, variables: fn(&mut Command)) -> Self {
        trial.give_away();
        trial.around(&mut command, "work").env("MOCK_KEY", "key");
        variables(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (sender, messages) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _gone = sender.send(serde_json::from_str(&line).unwrap_or(Value::Null));
            }
        });
        let input = child.stdin.take().unwrap();
        let nothing = mpsc::channel();
        let mut this = Self { trial, child, input, messages, nothing, thread: String::new(), id: 0, heard: Vec::new() };
        this.ask("initialize", &json!({ "clientInfo": { "name": "person", "version": "1" } }));
        this.tell(&json!({ "method": "initialized" }));
        let sandbox = if trial.way() == Way::Free { "danger-full-access" } else { "workspace-write" };
        let cwd = trial.path("work");
        let settings = json!({ "cwd": cwd.to_str().unwrap(), "approvalPolicy": "on-request", "sandbox": sandbox });
        let started = this.ask("thread/start", &settings);
        started["thread"]["id"].as_str().unwrap_or_default().clone_into(&mut this.thread);
        this
    }

    /// A turn to its end. Returns whether it came to one.
    pub fn turn(&mut self) -> bool {
        let input = json!([{ "type": "text", "text": "go" }]);
        let begun = self.ask("turn/start", &json!({ "threadId": self.thread, "input": input }));
        // A server that refuses to begin has answered.
        !begun.is_null() && self.until(|message| message["method"] == "turn/completed").is_some()
    }

    fn tell(&mut self, message: &Value) {
        // A server that is gone is seen by what it does not answer.
        let _gone = writeln!(self.input, "{message}");
    }

    /// Asks and waits for the answer.
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let id = self.id;
        self.tell(&json!({ "id": id, "method": method, "params": params }));
        let answer = self.until(|message| message["id"] == id && message.get("method").is_none());
        answer.map(|mut answer| answer["result"].take()).unwrap_or_default()
    }

    /// Waits for a message, and answers questions meanwhile.
    fn until(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        loop {
            let Ok(message) = self.messages.recv_timeout(LIMIT) else {
                if self.child.try_wait().ok().flatten().is_none() {
                    self.trial.say_hung("the app-server");
                }
                return None;
            };
            self.heard.push(message.clone());
            if is_wanted(&message) {
                return Some(message);
            }
            if message.get("method").is_some() && message.get("id").is_some() {
                self.trial.write("work/looking", "");
                let _nothing = self.nothing.1.recv_timeout(LOOK);
                self.tell(&json!({ "id": message["id"], "result": { "decision": "accept" } }));
            }
        }
    }
}

impl Drop for Person<'_> {
    fn drop(&mut self) {
        trial::end(self.child.id());
        let _over = self.child.wait();
    }
}
