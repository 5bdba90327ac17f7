//! Clients that do not read, answers that come twice, requests that panic: other clients are not affected.

use std::sync::Arc;

use expect_test::expect;
use pellucid_testkit::Workspace;
use pellucid_testkit::logged;
use serde_json::Value;
use serde_json::json;

use crate::call::Answered;
use crate::connection::Connection;
use crate::connection::Queue;
use crate::connection::WAITING_BYTES_MAX;
use crate::rpc::RequestId;
use crate::server::Server;
use crate::tests::ground;

/// A client whose messages wait until the test reads them.
struct Client {
    server: Arc<Server>,
    connection: Arc<Connection>,
    queue: Queue,
    n_sent: u64,
}

impl Client {
    /// A client that has introduced itself.
    async fn connect(server: &Arc<Server>) -> Self {
        Self::connect_within(server, WAITING_BYTES_MAX).await
    }

    /// A client that has introduced itself, with a queue of `bytes_max` bytes.
    async fn connect_within(server: &Arc<Server>, bytes_max: u32) -> Self {
        let (connection, queue) = server.connect_within(bytes_max);
        let mut client = Self { server: server.clone(), connection, queue, n_sent: 0 };
        let params = json!({"clientInfo": {"name": "test", "version": "1"}, "capabilities": {"experimentalApi": true}});
        client.ask("initialize", params).await;
        client
    }

    async fn say(&mut self, message: Value) {
        self.server.receive(&self.connection, message.to_string().as_bytes()).await;
    }

    async fn begin(&mut self, method: &str, params: Value) {
        self.n_sent += 1;
        self.say(json!({"id": self.n_sent, "method": method, "params": params})).await;
    }

    async fn next(&mut self) -> Option<Value> {
        self.queue.recv().await.map(|message| serde_json::from_slice(&message).unwrap())
    }

    async fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await.expect("the client is connected");
            if is_it(&message) {
                return message;
            }
        }
    }

    /// Makes a request and returns its result.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.begin(method, params).await;
        let id = self.n_sent;
        self.until(|message| message["id"] == id && message.get("method").is_none()).await["result"].take()
    }

    async fn thread(&mut self, params: Value) -> String {
        self.ask("thread/start", params).await["thread"]["id"].as_str().unwrap().to_owned()
    }

    async fn turn(&mut self, thread: &str) {
        let input = json!([{"type": "text", "text": "Go."}]);
        self.ask("turn/start", json!({"threadId": thread, "input": input})).await;
    }
}

fn is_completed(message: &Value) -> bool {
    message["method"] == "turn/completed"
}

/// A queue that one long reply fills: its text comes in several notifications.
const SMALL: u32 = 128 << 10;

fn long_reply() -> String {
    format!("[[reply]]\nsay = \"{}\"\n\n[[reply]]\nsay = \"Short.\"\n", "long ".repeat(40_000))
}

#[tokio::test]
async fn a_client_that_does_not_read_beside_others_is_disconnected_alone() {
    let home = Workspace::empty();
    let server = Server::new(ground(&home, &long_reply()));
    let mut reader = Client::connect(&server).await;
    let thread = reader.thread(json!({})).await;
    let mut sleeper = Client::connect_within(&server, SMALL).await;
    sleeper.ask("thread/resume", json!({"threadId": thread})).await;
    for _ in 0..2 {
        reader.turn(&thread).await;
        let completed = reader.until(is_completed).await;
        assert_eq!(completed["params"]["turn"]["status"], "completed");
    }
    assert!(sleeper.connection.is_given_up());
    assert_eq!(sleeper.next().await, None, "what waited for it is dropped");
    // A separate session sends it nothing any more, and its disconnecting ends no other session.
    server.disconnect(&sleeper.connection).await;
    assert!(!reader.connection.is_given_up());
    assert_eq!(reader.ask("thread/loaded/list", json!({})).await["data"], json!([thread]));
}

#[tokio::test]
async fn a_client_that_is_alone_holds_its_session_until_it_reads_or_another_joins() {
    let home = Workspace::empty();
    let server = Server::new(ground(&home, &long_reply()));
    let mut alone = Client::connect_within(&server, SMALL).await;
    let thread = alone.thread(json!({})).await;
    let input = json!([{"type": "text", "text": "Go."}]);
    alone.begin("turn/start", json!({"threadId": thread, "input": input})).await;
    let mut other = Client::connect(&server).await;
    other.ask("thread/resume", json!({"threadId": thread})).await;
    let completed = other.until(is_completed).await;
    assert_eq!(completed["params"]["turn"]["status"], "completed");
    assert!(alone.connection.is_given_up());

    let home = Workspace::empty();
    let server = Server::new(ground(&home, &long_reply()));
    let mut alone = Client::connect_within(&server, SMALL).await;
    let thread = alone.thread(json!({})).await;
    alone.turn(&thread).await;
    let completed = alone.until(is_completed).await;
    assert_eq!(completed["params"]["turn"]["status"], "completed");
    assert!(!alone.connection.is_given_up());
}

#[test]
fn the_second_answer_to_a_question_is_ignored_and_logged() {
    let touch = "[[reply]]\ncall = [{ name = \"shell\", args = { command = [\"sh\", \"-c\", \"echo once >> made\"] }, \
                 id = \"c1\" }]\n\n[[reply]]\nsay = \"Done.\"\n";
    let home = Workspace::empty();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ((), log) = logged(|| {
        runtime.block_on(async {
            let server = Server::new(ground(&home, touch));
            let mut client = Client::connect(&server).await;
            let params = json!({"approvalPolicy": "untrusted", "sandbox": "danger-full-access"});
            let thread = client.thread(params).await;
            client.turn(&thread).await;
            let asked =
                client.until(|message| message["method"] == "item/commandExecution/requestApproval").await["id"].take();
            for (id, decision) in [(&json!(77), "decline"), (&asked, "accept"), (&asked, "cancel")] {
                client.say(json!({"id": id, "result": {"decision": decision}})).await;
            }
            let completed = client.until(is_completed).await;
            assert_eq!(completed["params"]["turn"]["status"], "completed");
            assert_eq!(home.read("made"), "once\n");
            server.shut_down().await;
        });
    });
    let log: Vec<_> = log.into_iter().filter(|line| line.contains("question")).collect();
    assert_eq!(log, [77, 0].map(|id| format!("WARN an answer to no open question is ignored id=Integer({id})")));
}

#[test]
fn a_request_that_panics_gets_one_answer() {
    let home = Workspace::empty();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (messages, log) = logged(|| {
        runtime.block_on(async {
            let server = Server::new(ground(&home, "[[reply]]\nsay = \"x\"\n"));
            let (connection, mut queue) = server.connect();
            let (id, answered) = (RequestId::Integer(5), Answered::default());
            let work = async { panic!("classified words") };
            server.answer_even_after_a_panic(&connection, &id, &answered, work).await;
            let call = crate::call::MethodCall::<Value>::new(
                (server.clone(), connection.clone()),
                id.clone(),
                "test",
                answered.clone(),
            );
            let work = async {
                call.answer(&json!({})).await;
                panic!("classified words")
            };
            server.answer_even_after_a_panic(&connection, &id, &answered, work).await;
            std::iter::from_fn(|| queue.try_recv())
                .map(|it| String::from_utf8_lossy(&it).into_owned())
                .collect::<Vec<_>>()
        })
    });
    expect![[r#"
        {"id":5,"error":{"code":-32603,"message":"request failed inside Pellucid; the log names the place"}}
        {"id":5,"result":{}}"#]]
    .assert_eq(&messages.join("\n"));
    let expected =
        ["ERROR a task panicked task=\"request\"", "ERROR a request failed inside Pellucid id=Integer(5) client=0"];
    assert_eq!(log, [expected, expected].concat());
}
