//! The server as a client of today sees it, and that clients of 0.104.0 see nothing of that.

use super::*;

/// A capability that only clients of today name.
fn of_today() -> Value {
    json!({"clientInfo": {"name": "test", "version": "1"}, "capabilities": {"experimentalApi": true, "requestAttestation": false}})
}

impl Client {
    async fn ready_today(script: &str) -> Self {
        let mut client = Self::connect(script);
        client.ask("initialize", of_today()).await.unwrap();
        client
    }

    /// Runs a turn. Returns everything that came until it was over.
    async fn turn(&mut self, thread: &str, words: &str) -> Vec<Value> {
        self.ask("turn/start", json!({"threadId": thread, "input": text(words)})).await.unwrap();
        let mut messages = Vec::new();
        loop {
            let message = self.next().await.unwrap();
            let is_over = message["method"] == "turn/completed";
            messages.push(message);
            if is_over {
                return messages;
            }
        }
    }
}

const HELLO: &str = "[[reply]]\nsay = \"Hello.\"\n[[reply]]\nsay = \"Again.\"\n[[reply]]\nsay = \"Bye.\"\n";

#[tokio::test]
async fn a_client_of_today_receives_the_members_that_it_demands() {
    let mut client = Client::connect(HELLO);
    let hello = client.ask("initialize", of_today()).await.unwrap();
    assert!(hello["userAgent"].as_str().unwrap().starts_with("test/0.166.0 "), "{hello}");
    assert_eq!(hello["codexHome"], json!(client.home.root()));
    let opened = client.ask("thread/start", json!({"approvalPolicy": "never"})).await.unwrap();
    assert_eq!(opened["approvalsReviewer"], "user");
    let thread = &opened["thread"];
    assert_eq!((&thread["sessionId"], &thread["ephemeral"]), (&thread["id"], &json!(false)));
    assert_eq!(thread["status"], json!({"type": "idle"}));
    let id = thread["id"].as_str().unwrap().to_owned();
    let messages = client.turn(&id, "Hi.").await;
    assert!(messages.iter().all(|it| it["emittedAtMs"].is_i64()), "{messages:?}");
    assert!(!messages.iter().any(|it| it["method"].as_str().unwrap().starts_with("codex/event")));
    let over = &messages.last().unwrap()["params"]["turn"];
    assert_eq!((&over["itemsView"], &over["items"][0]["text"]), (&json!("summary"), &json!("Hello.")));
    let idle = client.until("thread/status/changed").await;
    assert_eq!(idle["params"]["status"], json!({"type": "idle"}));
}

#[tokio::test]
async fn a_client_of_that_time_receives_none_of_them() {
    let mut client = Client::connect(HELLO);
    let params = json!({"clientInfo": {"name": "test", "version": "1"}, "capabilities": {"experimentalApi": true}});
    let hello = client.ask("initialize", params).await.unwrap();
    assert!(hello["userAgent"].as_str().unwrap().starts_with("test/0.104.0 "), "{hello}");
    let opened = client.ask("thread/start", json!({})).await.unwrap();
    assert_eq!((opened.get("approvalsReviewer"), opened["thread"].get("status")), (None, None));
    let messages = client.turn(opened["thread"]["id"].as_str().unwrap(), "Hi.").await;
    assert!(messages.iter().all(|it| it.get("emittedAtMs").is_none() && it["method"] != "thread/status/changed"));
    // A method that 0.104.0 lacks is called by clients of today alone, so this is one from here on.
    let profiles = client.ask("permissionProfile/list", json!({})).await.unwrap();
    assert_eq!(profiles["data"][0], json!({"id": ":read-only", "description": null, "allowed": true}));
    let opened = client.ask("thread/start", json!({})).await.unwrap();
    assert_eq!(opened["approvalsReviewer"], "user");
}

#[tokio::test]
async fn turns_and_items_come_in_pages() {
    let mut client = Client::ready_today(HELLO).await;
    let thread = client.thread(json!({})).await;
    for words in ["One.", "Two.", "Three."] {
        client.turn(&thread, words).await;
    }
    let newest = client.ask("thread/turns/list", json!({"threadId": thread, "limit": 2})).await.unwrap();
    let texts = |page: &Value| {
        page["data"].as_array().unwrap().iter().map(|it| it["items"][1]["text"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(texts(&newest), ["Bye.", "Again."]);
    assert!(newest["data"][0]["startedAt"].is_i64() && newest["data"][0]["items"][0]["completedAtMs"].is_i64());
    let oldest = json!({"threadId": thread, "limit": 2, "cursor": newest["nextCursor"]});
    let oldest = client.ask("thread/turns/list", oldest).await.unwrap();
    assert_eq!((texts(&oldest), &oldest["nextCursor"]), (vec![json!("Hello.")], &Value::Null));
    let items = client.ask("thread/items/list", json!({"threadId": thread, "limit": 3})).await.unwrap();
    let kinds: Vec<_> = items["data"].as_array().unwrap().iter().map(|it| it["item"]["type"].clone()).collect();
    assert_eq!(kinds, ["userMessage", "agentMessage", "userMessage"]);
    assert!(items["nextCursor"].is_string());
}

#[tokio::test]
async fn settings_are_changed_between_turns_and_told() {
    let mut client = Client::ready_today(HELLO).await;
    let thread = client.thread(json!({})).await;
    let change = json!({"threadId": thread, "effort": "high", "permissions": ":workspace"});
    client.ask("thread/settings/update", change).await.unwrap();
    let told = client.until("thread/settings/updated").await;
    let settings = &told["params"]["threadSettings"];
    assert_eq!(
        (&settings["effort"], &settings["activePermissionProfile"]["id"]),
        (&json!("high"), &json!(":workspace"))
    );
    // No model reviews approvals, so they stay with the client whatever it wants.
    let reviewed = json!({"threadId": thread, "effort": "low", "approvalsReviewer": "auto_review"});
    client.ask("thread/settings/update", reviewed).await.unwrap();
    let told = client.until("thread/settings/updated").await;
    assert_eq!(told["params"]["threadSettings"]["approvalsReviewer"], "user");
}

#[tokio::test]
async fn items_that_a_client_adds_are_sent_to_the_model() {
    let mut client = Client::ready_today(HELLO).await;
    let thread = client.thread(json!({})).await;
    let said = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Said before."}]});
    let params = json!({"threadId": thread, "items": [said]});
    client.ask("thread/inject_items", params).await.unwrap();
    client.turn(&thread, "Now.").await;
    let read = client.ask("thread/read", json!({"threadId": thread})).await.unwrap();
    let file = std::fs::read_to_string(read["thread"]["path"].as_str().unwrap()).unwrap();
    let (before, now) = (file.find("Said before.").unwrap(), file.find("Now.").unwrap());
    assert!(before < now);
}

#[tokio::test]
async fn a_thread_is_let_go_and_deleted() {
    let mut client = Client::ready_today(HELLO).await;
    let thread = client.thread(json!({})).await;
    client.turn(&thread, "Hi.").await;
    let path = client.ask("thread/read", json!({"threadId": thread})).await.unwrap()["thread"]["path"].clone();
    let of = json!({"threadId": thread});
    let mut let_go = Vec::new();
    for _ in 0..2 {
        let_go.push(client.ask("thread/unsubscribe", of.clone()).await.unwrap()["status"].clone());
    }
    assert_eq!(let_go, ["unsubscribed", "notSubscribed"]);
    client.ask("thread/delete", of.clone()).await.unwrap();
    assert_eq!(client.until("thread/deleted").await["params"], of);
    assert!(!std::path::Path::new(path.as_str().unwrap()).exists());
    assert_eq!(client.ask("thread/unsubscribe", of.clone()).await.unwrap()["status"], "notLoaded");
    let gone = client.ask("thread/delete", of).await.unwrap_err();
    assert!(gone["message"].as_str().unwrap().starts_with("no rollout found"), "{gone}");
}

#[tokio::test]
async fn an_approval_is_part_of_the_status_and_is_resolved() {
    let mut client = Client::ready_today(TOUCH).await;
    let thread = client.thread(json!({"approvalPolicy": "untrusted", "sandbox": "read-only"})).await;
    client.ask("turn/start", json!({"threadId": thread, "input": text("Touch.")})).await.unwrap();
    let waiting = loop {
        let message = client.until("thread/status/changed").await;
        if message["params"]["status"]["activeFlags"] == json!(["waitingOnApproval"]) {
            break client.until("item/commandExecution/requestApproval").await;
        }
    };
    assert_eq!((&waiting["params"]["kind"], waiting["params"]["startedAtMs"].is_i64()), (&json!("command"), true));
    client.write(&json!({"id": waiting["id"], "result": {"decision": "decline"}})).await;
    let resolved = client.until("serverRequest/resolved").await;
    assert_eq!(resolved["params"], json!({"threadId": thread, "requestId": waiting["id"]}));
    client.until("turn/completed").await;
}

#[tokio::test]
async fn a_skill_is_switched_by_its_name_for_one_thread() {
    let mut client = Client::ready_today(HELLO).await;
    client.home.write("skills/greet/SKILL.md", "---\nname: greet\ndescription: Greets.\n---\nGreet.\n");
    let by_name = json!({"skills": {"config": [{"name": "greet", "enabled": false}]}});
    for (config, has) in [(json!({}), true), (by_name, false)] {
        let thread = client.thread(json!({"config": config})).await;
        client.turn(&thread, "Hi.").await;
        let path = client.ask("thread/read", json!({"threadId": thread})).await.unwrap()["thread"]["path"].clone();
        let file = std::fs::read_to_string(path.as_str().unwrap()).unwrap();
        assert_eq!(file.contains("Greets."), has, "{config}");
    }
}

#[tokio::test]
async fn a_command_of_the_user_is_a_turn_of_its_own() {
    let mut client = Client::ready_today(HELLO).await;
    let thread = client.thread(json!({})).await;
    client.ask("thread/shellCommand", json!({"threadId": thread, "command": "echo out"})).await.unwrap();
    client.until("turn/started").await;
    let item = loop {
        let message = client.until("item/completed").await;
        if message["params"]["item"]["type"] == "commandExecution" {
            break message["params"]["item"].clone();
        }
    };
    assert_eq!((&item["source"], &item["aggregatedOutput"]), (&json!("userShell"), &json!("out\n")));
    client.until("turn/completed").await;
    let blank = client.ask("thread/shellCommand", json!({"threadId": thread, "command": " "})).await.unwrap_err();
    assert_eq!(blank["message"], "command must not be empty");
}

#[tokio::test]
async fn hooks_and_goals_are_said_not_to_be_there() {
    let mut client = Client::ready_today(HELLO).await;
    let thread = client.thread(json!({})).await;
    let hooks = client.ask("hooks/list", json!({"cwds": ["/w"]})).await.unwrap();
    assert_eq!(hooks["data"], json!([{"cwd": "/w", "hooks": [], "warnings": [], "errors": []}]));
    let of = json!({"threadId": thread, "objective": "Write."});
    assert_eq!(client.ask("thread/goal/get", of.clone()).await.unwrap(), json!({"goal": null}));
    assert_eq!(client.ask("thread/goal/clear", of.clone()).await.unwrap(), json!({"cleared": false}));
    assert!(client.ask("thread/goal/set", of.clone()).await.is_err());
    let terminals = client.ask("thread/backgroundTerminals/list", of).await.unwrap();
    assert_eq!(terminals, json!({"data": [], "nextCursor": null}));
    let ended = json!({"threadId": thread, "processId": "1234"});
    assert_eq!(client.ask("thread/backgroundTerminals/terminate", ended).await.unwrap(), json!({"terminated": false}));
}
