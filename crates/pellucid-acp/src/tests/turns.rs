//! Turns: what a client sees of them, asks in them, and how they end.

use std::sync::Arc;

use pellucid_agent::replay;
use pellucid_store::find;
use pellucid_store::read;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;
use sha2::Digest as _;
use sha2::Sha256;

use super::Client;
use super::able;
use super::says;

/// A command outside of the sandbox.
fn escalated(id: &str, command: &str) -> String {
    format!(
        "[[reply]]\ncall = [{{ name = \"shell\", id = \"{id}\", args = {{ command = [\"bash\", \"-c\", \"{command}\"], \
         sandbox_permissions = \"require_escalated\", justification = \"May I?\" }} }}]\n"
    )
}

#[tokio::test]
async fn a_turn_comes_in_pieces_and_ends() {
    let script = r#"
[[reply]]
think = "Think first."
say = "Hello there."
usage = { input = 100, cached = 60, output = 10 }
"#;
    let mut client = Client::ready(script).await;
    let session = client.session().await;
    let end = client.prompt(&session, "Hi.").await.unwrap();
    assert_eq!(end["stopReason"], "end_turn");
    assert_eq!(end["usage"]["totalTokens"], 110);
    assert_eq!(client.text("agent_message_chunk"), "Hello there.");
    assert_eq!(client.text("agent_thought_chunk").trim(), "Think first.");
    let usage = client.of_kind("usage_update");
    assert_eq!(usage.last().unwrap()["used"], 110);
    assert!(usage.last().unwrap()["size"].as_u64() > Some(0));
    let ids = |kind: &str| client.of_kind(kind).iter().map(|it| it["messageId"].clone()).collect::<Vec<_>>();
    let messages = ids("agent_message_chunk");
    assert!(!messages.is_empty() && messages.iter().all(|id| *id == messages[0] && id.is_string()), "{messages:?}");
    assert_eq!(client.of_kind("session_info_update")[0]["title"], "Hi.");
    let commands = client.of_kind("available_commands_update");
    assert_eq!(commands[0]["availableCommands"][0]["name"], "compact");
    assert!(client.of_kind("user_message_chunk").is_empty(), "the client has what its user wrote");
}

/// The provider of the mock server.
fn home_of(server: &MockServer) -> Arc<Workspace> {
    let home = Arc::new(Workspace::empty());
    let config = format!(
        "model = \"gpt-5.2-codex\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\n\
         env_key = \"KEY\"\nwire_api = \"responses\"\nstream_max_retries = 0\nrequest_max_retries = 0\n",
        server.base_url()
    );
    home.write("config.toml", config);
    home
}

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments.to_string() })
}

#[tokio::test]
async fn calls_and_answers_name_the_requests_that_replay_proves() {
    let plan = json!({ "command": ["true"] });
    let server = MockServer::start([
        MockReply::items([call("c1", "shell", &plan)]),
        MockReply::items([call("c2", "shell", &plan)]),
        MockReply::say("Done."),
        MockReply::items([call("c3", "shell", &plan)]),
        MockReply::say("Done again."),
    ]);
    let home = home_of(&server);
    let mut client = Client::greeted(&home, None).await;
    let session = client.free_session().await;
    let first = client.prompt(&session, "Work.").await.unwrap();
    // Another process continues to count.
    let client_calls = client.leave().await.calls();
    let mut client = Client::greeted(&home, None).await;
    let place = json!({ "sessionId": session, "cwd": client.work(), "mcpServers": [] });
    client.ask("session/resume", place).await.unwrap();
    client.set_free(&session).await;
    let second = client.prompt(&session, "Again.").await.unwrap();

    let bodies: Vec<String> =
        server.requests().iter().map(|it| format!("{:x}", HexOf(Sha256::digest(&it.body).to_vec()))).collect();
    assert_eq!(bodies.len(), 5);
    let named = |end: &Value| end["_meta"]["pellucid"]["requests"].as_array().unwrap().clone();
    let all: Vec<Value> = [named(&first), named(&second)].concat();
    for (n, (request, body)) in all.iter().zip(&bodies).enumerate() {
        assert_eq!((request["n"].as_u64(), request["sha256"].as_str()), (Some(n as u64 + 1), Some(body.as_str())));
    }
    assert_eq!(all.len(), 5);
    let calls = [client_calls, client.calls()].concat();
    let asked_by: Vec<Value> = calls.iter().map(|call| call["_meta"]["pellucid"]["request"].clone()).collect();
    let by = |n: usize| json!({ "n": n, "sha256": bodies[n - 1] });
    assert_eq!(asked_by, [by(1), by(2), by(4)]);

    client.leave().await;
    let file = read::open(&find::by_id(home.root(), &session).unwrap()).unwrap();
    let replayed = replay::replay(home.root(), &file, None).unwrap();
    assert_eq!(replayed.counts(), (5, 0, 0), "{replayed:?}");
    assert_eq!(replay::n_requests(home.root(), &file, None).unwrap(), 5);
}

/// Bytes in hexadecimal digits.
struct HexOf(Vec<u8>);

impl std::fmt::LowerHex for HexOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[tokio::test]
async fn a_command_is_asked_about_and_shown() {
    let script = [
        escalated("c1", "echo one > one.txt; echo said"),
        escalated("c2", "echo two > two.txt"),
        escalated("c3", "echo three > three.txt"),
        says(&["Done."]),
    ];
    let mut client = Client::ready(&script.concat()).await;
    let session = client.session().await;
    let prompt = client.begin_prompt(&session, "Run.").await;
    let asked = client.permit("allow").await;
    let kinds: Vec<&str> = asked["options"].as_array().unwrap().iter().filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds.first(), Some(&"allow_once"), "{asked}");
    assert_eq!(kinds.last(), Some(&"reject_once"), "{asked}");
    assert!(kinds.contains(&"allow_always") && !kinds.contains(&"reject_always"), "{asked}");
    assert_eq!(asked["toolCall"]["toolCallId"], "c1");
    assert_eq!(asked["toolCall"]["title"], "echo one > one.txt; echo said");
    client.permit("reject").await;
    client.permit("allow-session").await;
    assert_eq!(client.answer(prompt).await.unwrap()["stopReason"], "end_turn");
    assert_eq!(client.home.read("work/one.txt"), "one\n");
    assert!(!client.home.path("work/two.txt").exists(), "the refused command ran");
    let calls = client.calls();
    let states: Vec<(&str, &str)> =
        calls.iter().map(|it| (it["kind"].as_str().unwrap(), it["status"].as_str().unwrap())).collect();
    assert_eq!(states, [("execute", "completed"), ("execute", "failed"), ("execute", "completed")]);
    assert_eq!(calls[0]["content"][0]["content"]["text"], "said\n");
    assert_eq!(calls[0]["rawOutput"]["exit_code"], 0);
    assert!(calls.iter().all(|call| call["_meta"]["pellucid"]["request"]["sha256"].is_string()));
}

#[tokio::test]
async fn a_patch_is_shown_with_both_texts() {
    let script = r#"
[[reply]]
items = [{ call = { name = "apply_patch", input = "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** Add File: b.txt\n+b\n*** Delete File: c.txt\n*** End Patch", id = "p" } }]
[[reply]]
say = "Done."
"#;
    for (mode, asks) in [("workspace", false), ("ask", true)] {
        let mut client = Client::ready(script).await;
        client.home.write("work/a.txt", "first\nold\nlast\n");
        client.home.write("work/c.txt", "c\n");
        let session = client.session().await;
        client.ask("session/set_mode", json!({ "sessionId": session, "modeId": mode })).await.unwrap();
        let prompt = client.begin_prompt(&session, "Change.").await;
        if asks {
            client.permit("allow").await;
        }
        assert_eq!(client.answer(prompt).await.unwrap()["stopReason"], "end_turn");
        assert_eq!(client.home.read("work/a.txt"), "first\nnew\nlast\n");
        let calls = client.calls();
        assert_eq!((&calls[0]["kind"], &calls[0]["status"]), (&json!("edit"), &json!("completed")));
        let diff = |n: usize| calls[0]["content"][n].clone();
        let path = |name: &str| client.home.path("work").join(name);
        assert_eq!(
            diff(0),
            json!({ "type": "diff", "path": path("a.txt"), "oldText": "first\nold\nlast\n", "newText": "first\nnew\nlast\n" })
        );
        assert_eq!(diff(1), json!({ "type": "diff", "path": path("b.txt"), "newText": "b\n" }));
        assert_eq!(diff(2), json!({ "type": "diff", "path": path("c.txt"), "oldText": "c\n", "newText": "" }));
        assert_eq!(calls[0]["locations"][0], json!({ "path": path("a.txt"), "line": 2 }));
    }
}

#[tokio::test]
async fn a_cancelled_prompt_ends_as_such_after_its_updates() {
    let script = r#"
[[reply]]
call = [{ name = "shell", id = "s", args = { command = ["sleep", "100"] } }]
[[reply]]
say = "Back."
"#;
    let mut client = Client::ready(script).await;
    let session = client.free_session().await;
    let prompt = client.begin_prompt(&session, "Wait.").await;
    client.until(|update| update["status"] == "in_progress").await;
    let second = client.prompt(&session, "Meanwhile.").await.unwrap_err();
    assert_eq!(second["code"], -32600, "{second}");
    client.notify("session/cancel", json!({ "sessionId": session })).await;
    assert_eq!(client.answer(prompt).await.unwrap()["stopReason"], "cancelled");
    assert_eq!(client.calls()[0]["status"], "failed");
    assert_eq!(client.prompt(&session, "Next.").await.unwrap()["stopReason"], "end_turn");
    assert_eq!(client.text("agent_message_chunk"), "Back.");
}

#[tokio::test]
async fn a_question_that_is_cancelled_ends_the_turn() {
    let mut client = Client::ready(&format!("{}{}", escalated("c1", "touch x"), says(&["Back."]))).await;
    let session = client.session().await;
    let prompt = client.begin_prompt(&session, "Run.").await;
    let question = client.question().await;
    client.notify("$/cancel_request", json!({ "requestId": prompt })).await;
    client.reply(&question, json!({ "outcome": { "outcome": "cancelled" } })).await;
    assert_eq!(client.answer(prompt).await.unwrap()["stopReason"], "cancelled");
    assert!(!client.home.path("work/x").exists());
    assert_eq!(client.prompt(&session, "Next.").await.unwrap()["stopReason"], "end_turn");
}

#[tokio::test]
async fn ends_have_their_reasons() {
    for (reply, outcome) in [
        (
            MockReply::events([
                json!({ "type": "response.incomplete", "response": { "incomplete_details": { "reason": "max_output_tokens" } } }),
            ]),
            Ok("max_tokens"),
        ),
        (
            MockReply::events([
                json!({ "type": "response.incomplete", "response": { "incomplete_details": { "reason": "content_filter" } } }),
            ]),
            Ok("refusal"),
        ),
        (MockReply::status(401, "{}"), Err((-32000, "auth"))),
        (MockReply::status(400, r#"{"error":{"message":"no such model"}}"#), Err((-32603, "other"))),
    ] {
        let server = MockServer::start([reply, MockReply::say("Back.")]);
        let mut client = Client::greeted(&home_of(&server), None).await;
        let session = client.session().await;
        match (client.prompt(&session, "Hi.").await, outcome) {
            (Ok(end), Ok(reason)) => assert_eq!(end["stopReason"], reason, "{end}"),
            (Err(error), Err((code, word))) => {
                assert_eq!(error["code"], code, "{error}");
                assert_eq!(error["data"]["code"], word, "{error}");
                assert_eq!(error["data"]["pellucid"]["requests"][0]["n"], 1, "{error}");
            }
            (end, wanted) => panic!("{end:?} instead of {wanted:?}"),
        }
        assert_eq!(client.prompt(&session, "Next.").await.unwrap()["stopReason"], "end_turn");
    }
}

#[tokio::test]
async fn a_plan_is_whole_each_time() {
    let script = r#"
[[reply]]
call = [{ name = "update_plan", args = { plan = [{ step = "Look", status = "completed" }, { step = "Act", status = "in_progress" }] } }]
[[reply]]
say = "Done."
"#;
    let mut client = Client::ready(script).await;
    let session = client.session().await;
    client.prompt(&session, "Plan.").await.unwrap();
    let entry = |content: &str, status: &str| json!({ "content": content, "priority": "medium", "status": status });
    let plans = client.of_kind("plan");
    assert_eq!(plans[0]["entries"], json!([entry("Look", "completed"), entry("Act", "in_progress")]));
}

#[tokio::test]
async fn a_summary_is_announced_with_what_it_loses() {
    let script = says(&["One.", "A summary.", "Two."]);
    let mut client = Client::ready(&script).await;
    let session = client.session().await;
    client.prompt(&session, "First.").await.unwrap();
    let end = client.prompt(&session, "/compact").await.unwrap();
    assert_eq!(end["stopReason"], "end_turn");
    assert_eq!(end["_meta"]["pellucid"]["requests"][0]["purpose"], "summary");
    let states: Vec<Value> = client.of_kind("compaction_update").iter().map(|it| it["status"].clone()).collect();
    assert_eq!(states.first(), Some(&json!("in_progress")), "{states:?}");
    assert_eq!(states.last(), Some(&json!("completed")), "{states:?}");
    let losses = client.of_kind("compaction_update").iter().any(|it| it["_meta"]["pellucid"]["loss"].is_object());
    assert!(losses, "{:?}", client.of_kind("compaction_update"));
}

#[tokio::test]
async fn clients_without_extras_get_none() {
    let mut client = Client::connect(&Arc::new(Workspace::empty()), Some(&says(&["One.", "A summary."])));
    client.greet(json!({})).await;
    let opened = client.ask("session/new", json!({ "cwd": client.work(), "mcpServers": [] })).await.unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    let kinds: Vec<&str> =
        opened["configOptions"].as_array().unwrap().iter().filter_map(|it| it["type"].as_str()).collect();
    assert!(!kinds.contains(&"boolean"), "{opened}");
    client.prompt(&session, "First.").await.unwrap();
    client.prompt(&session, "/compact").await.unwrap();
    for kind in ["notice", "compaction_update", "compaction_summary_chunk"] {
        assert!(client.of_kind(kind).is_empty(), "{kind}");
    }
}

#[tokio::test]
async fn commands_of_the_client_need_no_model() {
    let mut client = Client::ready(&says(&[])).await;
    let session = client.session().await;
    for (command, text) in [("/status", "- mode: "), ("/mcp", "No MCP server"), ("/skills", "skills")] {
        client.updates.clear();
        let end = client.prompt(&session, command).await.unwrap();
        assert_eq!(end["stopReason"], "end_turn");
        assert!(client.text("agent_message_chunk").contains(text), "{command}: {}", client.text("agent_message_chunk"));
    }
}

#[tokio::test]
async fn two_sessions_work_at_once() {
    let held = r#"
[[reply]]
contains = ["Wait."]
call = [{ name = "shell", id = "s", args = { command = ["sleep", "100"] } }]
[[reply]]
say = "Hello."
"#;
    let mut client = Client::ready(held).await;
    let (one, two) = (client.free_session().await, client.session().await);
    assert_ne!(one, two);
    let waiting = client.begin_prompt(&one, "Wait.").await;
    client.until(|update| update["status"] == "in_progress").await;
    assert_eq!(client.prompt(&two, "Hi.").await.unwrap()["stopReason"], "end_turn");
    let of_two = client.updates.iter().filter(|(session, _)| *session == two);
    assert!(of_two.clone().any(|(_, update)| update["content"]["text"] == "Hello."), "{of_two:?}");
    client.notify("session/cancel", json!({ "sessionId": one })).await;
    assert_eq!(client.answer(waiting).await.unwrap()["stopReason"], "cancelled");
}

#[tokio::test]
async fn a_client_that_reads_late_misses_nothing() {
    let long = "word ".repeat(2_000);
    let script = format!("[[reply]]\nsay = {long:?}\n[[reply]]\nsay = \"Next.\"\n");
    let mut client = Client::within(&Arc::new(Workspace::empty()), Some(&script), 4096);
    client.greet(able()).await;
    let session = client.session().await;
    let prompt = client.begin_prompt(&session, "Talk.").await;
    // The session waits for the client, which asks something else before it reads on.
    let listed = client.send("session/list", json!({})).await;
    assert_eq!(client.answer(prompt).await.unwrap()["stopReason"], "end_turn");
    assert_eq!(client.text("agent_message_chunk"), long.trim_end().to_owned() + &long[long.trim_end().len()..]);
    assert!(client.answer(listed).await.is_ok());
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_turns() {
    let script = "[[reply]]\ncall = [{ name = \"shell\", args = { command = [\"sleep\", \"100\"] } }]\n";
    let mut client = Client::ready(script).await;
    let session = client.free_session().await;
    client.begin_prompt(&session, "Wait.").await;
    client.until(|update| update["status"] == "in_progress").await;
    let client = client.leave().await;
    let file = find::by_id(client.home.root(), &session).unwrap();
    assert!(
        std::fs::read_to_string(file).unwrap().contains("turn_aborted"),
        "the file says that the turn was interrupted"
    );
}
