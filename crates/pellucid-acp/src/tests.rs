//! The server as a client sees it: lines in, lines out. Every line is checked against the protocol's schema.

mod life;
mod turns;
mod wrong;

use std::collections::VecDeque;
use std::sync::Arc;

use pellucid_agent::ground::Ground;
use pellucid_config::Env;
use pellucid_model::Script;
use pellucid_testkit::AcpLines;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;
use tokio::io::AsyncBufReadExt;
use tokio::io::AsyncWriteExt;
use tokio::io::BufReader;
use tokio::io::DuplexStream;
use tokio::io::Lines;
use tokio::io::ReadHalf;
use tokio::io::WriteHalf;
use tokio::task::JoinHandle;

use crate::connection::LANE_BYTES_MAX;
use crate::server::AcpServer;
use crate::server::serve;

/// A client on one end of a pipe, the server on the other.
struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
    served: JoinHandle<std::io::Result<()>>,
    checks: AcpLines,
    n_sent: i64,
    home: Arc<Workspace>,
    /// Updates that came and were not looked at, with their sessions.
    updates: VecDeque<(String, Value)>,
    /// Answers that came before they were waited for.
    answers: VecDeque<Value>,
    /// Questions that came and were not answered.
    questions: VecDeque<Value>,
}

/// What a client says about itself if it can do everything.
fn able() -> Value {
    json!({
        "session": { "notices": {}, "compaction": {}, "configOptions": { "boolean": {} } },
        "elicitation": { "form": {} },
    })
}

impl Client {
    fn connect(home: &Arc<Workspace>, script: Option<&str>) -> Self {
        Self::within(home, script, LANE_BYTES_MAX)
    }

    fn within(home: &Arc<Workspace>, script: Option<&str>, bytes_max: u32) -> Self {
        let home = home.clone();
        home.folder("work");
        let ground = Ground {
            home: home.root().to_owned(),
            env: Env::from_pairs([("PATH", "/usr/bin:/bin"), ("HOME", &home.root().to_string_lossy()), ("KEY", "k")]),
            cwd: home.root().to_owned(),
            overrides: Vec::new(),
            script: script.map(|script| Script::parse("script.toml", script).unwrap()),
        };
        let (ours, theirs) = tokio::io::duplex(1 << 12);
        let (input, output) = tokio::io::split(theirs);
        let end = std::future::pending();
        let served = tokio::spawn(serve(AcpServer::within(ground, bytes_max), input, output, end));
        let (output, input) = tokio::io::split(ours);
        Self {
            lines: BufReader::new(output).lines(),
            input,
            served,
            checks: AcpLines::default(),
            n_sent: 0,
            home,
            updates: VecDeque::new(),
            answers: VecDeque::new(),
            questions: VecDeque::new(),
        }
    }

    /// A client that was greeted.
    async fn ready(script: &str) -> Self {
        Self::greeted(&Arc::new(Workspace::empty()), Some(script)).await
    }

    async fn greeted(home: &Arc<Workspace>, script: Option<&str>) -> Self {
        let mut client = Self::connect(home, script);
        client.greet(able()).await;
        client
    }

    async fn greet(&mut self, capabilities: Value) -> Value {
        self.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": capabilities })).await.unwrap()
    }

    fn work(&self) -> String {
        self.home.path("work").to_string_lossy().into_owned()
    }

    async fn write(&mut self, message: &Value) {
        self.checks.sent(message);
        self.raw(format!("{message}\n").as_bytes()).await;
    }

    async fn raw(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).await.unwrap();
    }

    /// Reads a line, and keeps what it is.
    async fn read(&mut self) -> bool {
        let Some(line) = self.lines.next_line().await.unwrap() else { return false };
        let message: Value = serde_json::from_str(&line).unwrap();
        self.checks.check(&message);
        match message["method"].as_str() {
            Some("session/update") => {
                let session = message["params"]["sessionId"].as_str().unwrap().to_owned();
                self.updates.push_back((session, message["params"]["update"].clone()));
            }
            Some(_) => self.questions.push_back(message),
            None => self.answers.push_back(message),
        }
        true
    }

    /// Sends a request without waiting for its answer.
    async fn send(&mut self, method: &str, params: Value) -> i64 {
        self.n_sent += 1;
        let id = self.n_sent;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    async fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Waits for an answer.
    async fn answer(&mut self, id: impl Into<Value>) -> Result<Value, Value> {
        let id = id.into();
        loop {
            if let Some(at) = self.answers.iter().position(|it| it["id"] == id) {
                let mut message = self.answers.remove(at).unwrap();
                return match message.get_mut("result") {
                    Some(result) => Ok(result.take()),
                    None => Err(message["error"].take()),
                };
            }
            assert!(self.read().await, "the server ended before it answered {id}");
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    /// Opens a session and gives its id.
    async fn session(&mut self) -> String {
        let opened = self.ask("session/new", json!({ "cwd": self.work(), "mcpServers": [] })).await.unwrap();
        opened["sessionId"].as_str().unwrap().to_owned()
    }

    /// Opens a session whose commands run without a sandbox: that needs the program itself.
    async fn free_session(&mut self) -> String {
        let session = self.session().await;
        self.set_free(&session).await;
        session
    }

    async fn set_free(&mut self, session: &str) {
        self.ask("session/set_mode", json!({ "sessionId": session, "modeId": "full-access" })).await.unwrap();
    }

    async fn begin_prompt(&mut self, session: &str, text: &str) -> i64 {
        self.send("session/prompt", json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })).await
    }

    async fn prompt(&mut self, session: &str, text: &str) -> Result<Value, Value> {
        let id = self.begin_prompt(session, text).await;
        self.answer(id).await
    }

    /// Waits for a question of the server.
    async fn question(&mut self) -> Value {
        while self.questions.is_empty() {
            assert!(self.read().await, "the server ended before it asked");
        }
        self.questions.pop_front().unwrap()
    }

    async fn reply(&mut self, question: &Value, result: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).await;
    }

    /// Answers a permission request with the option of this id.
    async fn permit(&mut self, option: &str) -> Value {
        let question = self.question().await;
        let outcome = json!({ "outcome": "selected", "optionId": option });
        self.reply(&question, json!({ "outcome": outcome })).await;
        question["params"].clone()
    }

    /// The updates of this kind that came, of any session.
    fn of_kind(&self, kind: &str) -> Vec<Value> {
        let updates = self.updates.iter().filter(|(_, update)| update["sessionUpdate"] == kind);
        updates.map(|(_, update)| update.clone()).collect()
    }

    /// The text that came in pieces of this kind.
    fn text(&self, kind: &str) -> String {
        self.of_kind(kind).iter().filter_map(|it| it["content"]["text"].as_str()).collect()
    }

    /// Reads until an update holds.
    async fn until(&mut self, holds: impl Fn(&Value) -> bool) {
        while !self.updates.iter().any(|(_, update)| holds(update)) {
            assert!(self.read().await, "the server ended");
        }
    }

    /// The calls that came, each with the last of its members.
    fn calls(&self) -> Vec<Value> {
        let mut calls: Vec<Value> = Vec::new();
        for (_, update) in &self.updates {
            if !["tool_call", "tool_call_update"].iter().any(|kind| update["sessionUpdate"] == *kind) {
                continue;
            }
            let known = calls.iter_mut().find(|call| call["toolCallId"] == update["toolCallId"]);
            match known {
                Some(call) => {
                    assert_eq!(update["sessionUpdate"], "tool_call_update", "a call is announced twice: {update}");
                    for (key, value) in update.as_object().unwrap() {
                        call[key] = value.clone();
                    }
                }
                None => {
                    assert_eq!(update["sessionUpdate"], "tool_call", "a call is not announced: {update}");
                    calls.push(update.clone());
                }
            }
        }
        calls
    }

    /// Closes this end, and reads what still comes.
    async fn leave(mut self) -> Self {
        self.input.shutdown().await.unwrap();
        while self.read().await {}
        (&mut self.served).await.unwrap().unwrap();
        self
    }
}

/// A script that says texts, one a turn.
fn says(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("[[reply]]\nsay = {text:?}\n")).collect()
}
