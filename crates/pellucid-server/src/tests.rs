//! The server as a client sees it: frames in, frames out.

use std::sync::Arc;

use pellucid_config::Env;
use pellucid_model::Script;
use pellucid_testkit::Workspace;
use proptest::prelude::*;
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

use crate::server::Server;
use crate::transport::stdio;
use pellucid_agent::ground::Ground;

/// A client on one end of a pipe, the server on the other.
struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
    served: JoinHandle<std::io::Result<()>>,
    n_sent: i64,
    server: Arc<Server>,
    home: Arc<Workspace>,
}

pub(crate) fn ground(home: &Workspace, script: &str) -> Ground {
    Ground {
        home: home.root().to_owned(),
        env: Env::from_pairs([("PATH", "/usr/bin:/bin"), ("HOME", &home.root().to_string_lossy())]),
        cwd: home.root().to_owned(),
        overrides: Vec::new(),
        script: Some(Script::parse("script.toml", script).unwrap()),
    }
}

impl Client {
    fn connect(script: &str) -> Self {
        let home = Arc::new(Workspace::empty());
        Self::of(Server::new(ground(&home, script)), home)
    }

    /// Another client of the same server.
    fn beside(&self) -> Self {
        Self::of(self.server.clone(), self.home.clone())
    }

    fn of(server: Arc<Server>, home: Arc<Workspace>) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(theirs);
        let served = tokio::spawn(stdio::serve(server.clone(), input, output));
        let (output, input) = tokio::io::split(ours);
        Self { lines: BufReader::new(output).lines(), input, served, n_sent: 0, server, home }
    }

    async fn ready(script: &str) -> Self {
        let mut client = Self::connect(script);
        let params = json!({"clientInfo": {"name": "test", "version": "1"}, "capabilities": {"experimentalApi": true}});
        client.ask("initialize", params).await.unwrap();
        client
    }

    async fn write(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn next(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// The next message of this method; others are skipped.
    async fn until(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().await.unwrap();
            if message["method"] == method {
                return message;
            }
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.n_sent += 1;
        let id = self.n_sent;
        self.write(&json!({"id": id, "method": method, "params": params})).await;
        loop {
            let message = self.next().await.unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("result") {
                    Some(result) => Ok(result.clone()),
                    None => Err(message["error"].clone()),
                };
            }
        }
    }

    async fn thread(&mut self, params: Value) -> String {
        let started = self.ask("thread/start", params).await.unwrap();
        started["thread"]["id"].as_str().unwrap().to_owned()
    }

    /// Closes this end, and waits for the server's.
    async fn leave(mut self) -> Vec<Value> {
        self.input.shutdown().await.unwrap();
        let mut rest = Vec::new();
        while let Some(message) = self.next().await {
            rest.push(message);
        }
        self.served.await.unwrap().unwrap();
        rest
    }
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

const TOUCH: &str = r#"
[[reply]]
call = [{ name = "shell", args = { command = ["touch", "made"] }, id = "c1" }]

[[reply]]
say = "Done."
"#;

#[tokio::test]
async fn a_turn_is_told_from_its_start_to_its_end() {
    let mut client = Client::ready("[[reply]]\nsay = \"Hello.\"\n").await;
    let thread = client.thread(json!({})).await;
    let started = client.ask("turn/start", json!({"threadId": thread, "input": text("Hi.")})).await.unwrap();
    assert_eq!(started["turn"]["status"], "inProgress");
    let completed = client.until("turn/completed").await;
    assert_eq!(completed["params"]["turn"]["id"], started["turn"]["id"]);
    assert_eq!(completed["params"]["turn"]["status"], "completed");
    let read = client.ask("thread/read", json!({"threadId": thread, "includeTurns": true})).await.unwrap();
    let items = &read["thread"]["turns"][0]["items"];
    assert_eq!(items[1]["text"], "Hello.");
    client.leave().await;
}

#[tokio::test]
async fn a_command_runs_when_it_is_accepted_and_not_when_it_is_declined() {
    for (decision, status) in [("accept", "completed"), ("decline", "declined")] {
        let mut client = Client::ready(TOUCH).await;
        let params = json!({"approvalPolicy": "untrusted", "sandbox": "danger-full-access"});
        let thread = client.thread(params).await;
        client.ask("turn/start", json!({"threadId": thread, "input": text("Go.")})).await.unwrap();
        let question = client.until("item/commandExecution/requestApproval").await;
        assert_eq!(question["params"]["itemId"], "c1");
        client.write(&json!({"id": question["id"], "result": {"decision": decision}})).await;
        let ended = client.until("item/completed").await;
        assert_eq!(ended["params"]["item"]["status"], status, "{ended}");
        let completed = client.until("turn/completed").await;
        assert_eq!(completed["params"]["turn"]["status"], "completed");
        client.leave().await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_while_it_is_asked_leaves_nothing_hanging() {
    let mut client = Client::ready(TOUCH).await;
    let thread = client.thread(json!({"approvalPolicy": "untrusted"})).await;
    client.ask("turn/start", json!({"threadId": thread, "input": text("Go.")})).await.unwrap();
    client.until("item/commandExecution/requestApproval").await;
    let rest = client.leave().await;
    assert!(!rest.iter().any(|message| message["method"] == "item/commandExecution/outputDelta"));
}

#[tokio::test]
async fn five_hundred_requests_in_one_write_are_all_answered() {
    let client = Client::ready("[[reply]]\nsay = \"x\"\n").await;
    let mut written = String::new();
    for id in 1_000..1_500 {
        let request = json!({"id": id, "method": "thread/start", "params": {"ephemeral": true}});
        written += &format!("{request}\n");
    }
    let Client { mut lines, mut input, served, home, .. } = client;
    let writing = tokio::spawn(async move {
        input.write_all(written.as_bytes()).await.unwrap();
        input
    });
    let mut n_answered = 0;
    while n_answered < 500 {
        let message: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        if message.get("method").is_none() {
            assert!(message.get("result").is_some(), "{message}");
            n_answered += 1;
        }
    }
    writing.await.unwrap().shutdown().await.unwrap();
    while lines.next_line().await.unwrap().is_some() {}
    served.await.unwrap().unwrap();
    drop(home);
}

#[tokio::test]
async fn what_is_no_request_is_refused_or_passed_over() {
    let mut client = Client::ready("[[reply]]\nsay = \"x\"\n").await;
    for line in
        ["", "nonsense", "{}", "[]", "{\"id\":7}", "{\"id\":{},\"method\":\"x\"}", "\u{0}", "{\"method\":\"x\"}"]
    {
        client.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
    client.input.write_all(b"\xff\xfe{\n").await.unwrap();
    client.write(&json!({"id": 99, "result": {"decision": "accept"}})).await;
    let error = client.ask("no/such", json!({})).await.unwrap_err();
    assert_eq!(error["code"], -32600);
    let error = client.ask("thread/start", json!({"cwd": 5})).await.unwrap_err();
    assert_eq!(error["code"], -32600);
    let error = client.ask("thread/start", json!([1])).await.unwrap_err();
    assert_eq!(error["code"], -32600);
    client.leave().await;
}

#[tokio::test]
async fn interrupts_that_find_no_turn_wait_but_not_without_bound() {
    let mut client = Client::ready("[[reply]]\nsay = \"x\"\n").await;
    let thread = client.thread(json!({"ephemeral": true})).await;
    let params = json!({"threadId": thread, "turnId": "any"});
    for id in 2_000..2_064 {
        client.write(&json!({"id": id, "method": "turn/interrupt", "params": params})).await;
    }
    let error = client.ask("turn/interrupt", params).await.unwrap_err();
    assert_eq!(error["code"], -32600);
    let rest = client.leave().await;
    assert_eq!(
        rest.iter().filter(|message| message.get("result").is_some()).count(),
        64,
        "all are answered at the end"
    );
}

/// A client that joins a thread to receive its context events.
async fn reader_of(thread: &str, client: &Client) -> Client {
    let mut reader = client.beside();
    let capabilities = json!({"experimentalApi": true, "contextEvents": true});
    let params = json!({"clientInfo": {"name": "reader", "version": "1"}, "capabilities": capabilities});
    reader.ask("initialize", params).await.unwrap();
    reader.ask("thread/resume", json!({"threadId": thread})).await.unwrap();
    reader
}

/// How many rows of the next report were sent before, and whether there are others.
async fn report(reader: &mut Client) -> (u64, bool) {
    loop {
        let event = reader.until("context/event").await["params"]["event"].take();
        if event["type"] == "context.report" {
            return (event["rows_kept"].as_u64().unwrap(), !event["rows"].as_array().unwrap().is_empty());
        }
    }
}

#[tokio::test]
async fn a_client_that_joins_is_sent_all_rows_of_the_next_report() {
    let mut client = Client::ready(&"[[reply]]\nsay = \"Hello.\"\n".repeat(4)).await;
    let thread = client.thread(json!({})).await;
    let turn = json!({"threadId": thread, "input": text("Hi.")});
    client.ask("turn/start", turn.clone()).await.unwrap();
    client.until("turn/completed").await;
    let mut first = reader_of(&thread, &client).await;
    client.ask("turn/start", turn.clone()).await.unwrap();
    client.until("turn/completed").await;
    assert_eq!(report(&mut first).await, (0, true));
    client.ask("turn/start", turn.clone()).await.unwrap();
    client.until("turn/completed").await;
    let (n_kept, has_more) = report(&mut first).await;
    assert!(n_kept > 0 && has_more);
    let mut second = reader_of(&thread, &client).await;
    client.ask("turn/start", turn).await.unwrap();
    client.until("turn/completed").await;
    assert_eq!(report(&mut second).await, (0, true));
    assert_eq!(report(&mut first).await, (0, true));
    client.leave().await;
}

#[tokio::test]
async fn half_a_message_at_the_end_is_no_message() {
    let mut client = Client::ready("[[reply]]\nsay = \"x\"\n").await;
    client.input.write_all(b"{\"id\":5,\"method\":\"thread/lo").await.unwrap();
    assert!(client.leave().await.iter().all(|message| message["id"] != 5));
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-zA-Z/._-]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map(key(), inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("threadId".to_owned()),
        Just("input".to_owned()),
        Just("cwd".to_owned()),
        Just("config".to_owned()),
        Just("path".to_owned()),
        Just("type".to_owned()),
        "[a-z]{1,8}",
    ]
}

fn method() -> impl Strategy<Value = String> {
    // Methods that start programs or write the user's files have separate tests.
    let quiet = crate::methods::METHODS.iter().filter(|name| !name.contains("rite") && !name.contains("exec"));
    let known: Vec<String> = quiet.map(|name| (*name).to_owned()).collect();
    prop_oneof![4 => prop::sample::select(known), 1 => "[a-z/]{0,16}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_client_says_it_gets_an_answer_and_the_server_lives(
        frames in prop::collection::vec((method(), json_value()), 1..8),
        noise in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = Client::ready("[[reply]]\nsay = \"x\"\n").await;
            client.input.write_all(&noise).await.unwrap();
            client.input.write_all(b"\n").await.unwrap();
            for (method, params) in frames {
                // Its response comes only when there is a turn to interrupt.
                if method != "turn/interrupt" {
                    let _ = client.ask(&method, params).await;
                }
            }
            client.ask("thread/loaded/list", json!({})).await.unwrap();
            client.leave().await;
        });
    }
}

#[test]
fn the_server_can_be_shared() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Arc<Server>>();
}

mod bytes;
mod newest;
mod unload;
