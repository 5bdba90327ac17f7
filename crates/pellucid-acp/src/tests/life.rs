//! Sessions from their beginning to the archive, and what is chosen for them.

use serde_json::Value;
use serde_json::json;

use super::Client;
use super::says;

fn ids(listed: &Value) -> Vec<&str> {
    listed["sessions"].as_array().unwrap().iter().filter_map(|it| it["sessionId"].as_str()).collect()
}

#[tokio::test]
async fn a_session_is_loaded_listed_named_copied_and_put_away() {
    let script = r#"
[[reply]]
call = [{ name = "shell", id = "c1", args = { command = ["echo", "said"] } }]
[[reply]]
say = "One."
[[reply]]
say = "Two."
[[reply]]
say = "Three."
"#;
    let mut client = Client::ready(script).await;
    let session = client.session().await;
    client.prompt(&session, "First prompt.").await.unwrap();
    let home = client.home.clone();
    client.leave().await;

    let mut client = Client::greeted(&home, Some(&says(&["Two.", "Three."]))).await;
    let place = |session: &str| json!({ "sessionId": session, "cwd": home.path("work"), "mcpServers": [] });
    let listed = client.ask("session/list", json!({ "cwd": home.path("work") })).await.unwrap();
    assert_eq!(ids(&listed), [session.as_str()]);
    assert_eq!(listed["sessions"][0]["title"], "First prompt.");
    assert!(listed["sessions"][0]["updatedAt"].is_string());
    let elsewhere = client.ask("session/list", json!({ "cwd": "/" })).await.unwrap();
    assert!(ids(&elsewhere).is_empty());

    let loaded = client.ask("session/load", place(&session)).await.unwrap();
    assert!(loaded["configOptions"].is_array() && loaded["modes"].is_object());
    assert_eq!(client.text("user_message_chunk"), "First prompt.");
    assert_eq!(client.text("agent_message_chunk"), "One.");
    let call = &client.calls()[0];
    assert_eq!((&call["title"], &call["status"]), (&json!("echo said"), &json!("completed")));
    let order: Vec<Value> = client.updates.iter().map(|(_, it)| it["sessionUpdate"].clone()).collect();
    assert_eq!(order[..4], ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"], "{order:?}");
    assert_eq!(client.prompt(&session, "Second prompt.").await.unwrap()["stopReason"], "end_turn");

    let named = client.ask("session/set_title", json!({ "sessionId": session, "title": " A name " })).await.unwrap();
    assert_eq!(named["title"], "A name");
    let copy = client.ask("session/fork", place(&session)).await.unwrap();
    let copy = copy["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(copy, session);
    let end = client.prompt(&copy, "Third prompt.").await.unwrap();
    assert_eq!(end["_meta"]["pellucid"]["requests"][0]["n"], 4, "a copy counts the requests before it");
    let listed = client.ask("session/list", json!({})).await.unwrap();
    assert!(ids(&listed).contains(&session.as_str()) && ids(&listed).contains(&copy.as_str()));

    client.ask("session/close", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(client.prompt(&session, "Closed.").await.unwrap_err()["code"], -32002);
    client.ask("session/delete", json!({ "sessionId": session })).await.unwrap();
    let listed = client.ask("session/list", json!({})).await.unwrap();
    assert_eq!(ids(&listed), [copy.as_str()]);
    let archived = client.ask("session/list", json!({ "archived": "only" })).await.unwrap();
    assert_eq!(ids(&archived), [session.as_str()]);
    let all = client.ask("session/list", json!({ "archived": "include" })).await.unwrap();
    assert_eq!(ids(&all).len(), 2);
    client.ask("session/unarchive", json!({ "sessionId": session })).await.unwrap();
    let listed = client.ask("session/list", json!({})).await.unwrap();
    assert_eq!(ids(&listed).len(), 2);
    assert_eq!(listed["sessions"].as_array().unwrap().iter().filter(|it| it["title"] == "A name").count(), 1);
}

#[tokio::test]
async fn a_resumed_session_is_not_shown() {
    let mut client = Client::ready(&says(&["One.", "Two."])).await;
    let session = client.session().await;
    client.prompt(&session, "First prompt.").await.unwrap();
    client.updates.clear();
    let place = json!({ "sessionId": session, "cwd": client.work(), "mcpServers": [] });
    client.ask("session/resume", place).await.unwrap();
    assert!(client.of_kind("user_message_chunk").is_empty() && client.of_kind("agent_message_chunk").is_empty());
    // The script begins again with the session.
    let end = client.prompt(&session, "Second prompt.").await.unwrap();
    assert_eq!(end["_meta"]["pellucid"]["requests"][0]["n"], 2);
    assert_eq!(client.text("agent_message_chunk"), "One.");
}

fn current<'v>(options: &'v Value, id: &str) -> &'v Value {
    &options.as_array().unwrap().iter().find(|it| it["id"] == id).unwrap()["currentValue"]
}

#[tokio::test]
async fn choices_count_from_the_next_turn_on() {
    let mut client = Client::ready(&says(&["One.", "Two.", "Three."])).await;
    let opened = client.ask("session/new", json!({ "cwd": client.work(), "mcpServers": [] })).await.unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    let options: Vec<&str> =
        opened["configOptions"].as_array().unwrap().iter().filter_map(|it| it["id"].as_str()).collect();
    assert_eq!(options, ["mode", "model", "effort", "pack", "network"]);
    client.prompt(&session, "One.").await.unwrap();
    let choose = |id: &str, value: Value| json!({ "sessionId": session, "configId": id, "value": value });
    client.ask("session/set_mode", json!({ "sessionId": session, "modeId": "full-access" })).await.unwrap();
    assert_eq!(current(&client.of_kind("config_option_update")[0]["configOptions"], "mode"), "full-access");
    let chosen = client.ask("session/set_config_option", choose("model", json!("gpt-5.1-codex-max"))).await.unwrap();
    assert_eq!(current(&chosen["configOptions"], "model"), "gpt-5.1-codex-max");
    let chosen = client.ask("session/set_config_option", choose("effort", json!("high"))).await.unwrap();
    assert_eq!(current(&chosen["configOptions"], "effort"), "high");
    let network = json!({ "sessionId": session, "configId": "network", "type": "boolean", "value": true });
    let chosen = client.ask("session/set_config_option", network).await.unwrap();
    assert_eq!(current(&chosen["configOptions"], "network"), true);
    client.prompt(&session, "Two.").await.unwrap();
    let chosen = client.ask("session/set_config_option", choose("pack", json!("ads"))).await.unwrap();
    assert_eq!(current(&chosen["configOptions"], "pack"), "ads");
    assert_eq!(current(&chosen["configOptions"], "model"), "gpt-5.1-codex-max", "other choices stay");
    assert_eq!(client.prompt(&session, "Three.").await.unwrap()["stopReason"], "end_turn");

    let file = pellucid_store::find::by_id(client.home.root(), &session).unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    let turns: Vec<Value> = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    let turns: Vec<&Value> = turns.iter().filter(|it| it["type"] == "turn_context").map(|it| &it["payload"]).collect();
    assert_eq!(turns.len(), 3);
    assert_ne!(turns[0]["sandbox_policy"]["type"], "danger-full-access");
    for turn in &turns[1..] {
        assert_eq!(turn["sandbox_policy"]["type"], "danger-full-access", "{turn}");
        assert_eq!((&turn["model"], &turn["effort"]), (&json!("gpt-5.1-codex-max"), &json!("high")));
    }
}

#[tokio::test]
async fn further_folders_and_servers_come_along() {
    let script = pellucid_testkit::McpScript::new(&["greet"]);
    let mut client = Client::ready(&format!(
        "[[reply]]\ncall = [{{ name = \"mcp__my_tools__greet\", id = \"m\", args = {{}} }}]\n{}",
        says(&["Done."])
    ))
    .await;
    let argv = script.argv();
    let server = json!({ "name": "my tools", "command": argv[0], "args": argv[1..], "env": [] });
    let place =
        json!({ "cwd": client.work(), "mcpServers": [server], "additionalDirectories": [client.home.folder("more")] });
    let opened = client.ask("session/new", place).await.unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    client.prompt(&session, "/mcp").await.unwrap();
    assert!(client.text("agent_message_chunk").contains("- my_tools: greet"), "{}", client.text("agent_message_chunk"));
    let notices: Vec<Value> = client.of_kind("notice").iter().map(|it| it["title"].clone()).collect();
    assert!(notices.contains(&json!("the MCP server my tools is called my_tools here")), "{notices:?}");
    let mode = json!({ "sessionId": session, "modeId": "workspace" });
    client.ask("session/set_mode", mode).await.unwrap();
    client.prompt(&session, "Greet.").await.unwrap();
    assert_eq!(client.calls()[0]["name"], "mcp__my_tools__greet");
    let file = pellucid_store::find::by_id(client.home.root(), &session).unwrap();
    let more = client.home.path("more").to_string_lossy().into_owned();
    assert!(std::fs::read_to_string(file).unwrap().contains(&more), "the folder is writable");
}

#[tokio::test]
async fn prompts_of_servers_are_commands_and_resources_are_attached() {
    let script = pellucid_testkit::McpScript::new(&[]);
    script.gives(&json!({ "name": "fix", "arguments": [{ "name": "file", "required": true }] }), "Fix it.", "a note");
    let mut client = Client::ready(&says(&["One.", "Two."])).await;
    let argv = script.argv();
    let server = json!({ "name": "depot", "command": argv[0], "args": argv[1..], "env": [] });
    let opened = client.ask("session/new", json!({ "cwd": client.work(), "mcpServers": [server] })).await.unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    while client.of_kind("available_commands_update").len() < 2 {
        assert!(client.read().await, "the server ended");
    }
    let commands = client.of_kind("available_commands_update")[1]["availableCommands"].clone();
    let listed = commands.as_array().unwrap().last().unwrap();
    assert_eq!((&listed["name"], &listed["input"]["hint"]), (&json!("mcp:depot:fix"), &json!("file=…")));
    client.prompt(&session, "/mcp:depot:fix a.rs").await.unwrap();
    client.prompt(&session, "See @depot:note://a").await.unwrap();
    let refused = client.prompt(&session, "/mcp:depot:gone").await.unwrap_err();
    let why = "the prompt `gone` of the MCP server `depot` does not exist: the server has `fix`";
    assert!(refused["message"].as_str().unwrap().contains(why), "{refused}");
    let file = pellucid_store::find::by_id(client.home.root(), &session).unwrap();
    let stored = std::fs::read_to_string(file).unwrap();
    for said in ["\"Fix it.\"", "\"See @depot:note://a\"", r#""note://a\n```\na note\n```""#] {
        assert!(stored.contains(said), "{said}: {stored}");
    }
    assert!(!stored.contains("/mcp:depot:fix"), "{stored}");
}
