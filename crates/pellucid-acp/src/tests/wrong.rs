//! What a client does wrong, and what it is answered.

use std::sync::Arc;

use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;

use super::Client;
use super::says;

/// Asks something wrong in a fresh session, whose id replaces `SESSION`.
async fn check(method: &str, params: Value, code: i64, text: &str) {
    let mut client = Client::ready(&says(&["Hello."])).await;
    let session = client.session().await;
    let params: Value = serde_json::from_str(&params.to_string().replace("SESSION", &session)).unwrap();
    let error = client.ask(method, params).await.unwrap_err();
    assert_eq!(error["code"], code, "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(text), "{method}: {message}");
    assert_eq!(client.prompt(&session, "Hi.").await.unwrap()["stopReason"], "end_turn", "the session works on");
}

#[tokio::test]
async fn parameters_are_checked_and_named() {
    let none = "01999999-0000-7000-8000-000000000000";
    let text = json!([{ "type": "text", "text": "x" }]);
    check("nothing/there", json!({}), -32601, "there is no method nothing/there").await;
    check("session/new", json!({ "mcpServers": [] }), -32602, "cwd").await;
    check("session/new", json!({ "cwd": "here", "mcpServers": [] }), -32602, "cwd must be an absolute path").await;
    check("session/new", json!({ "cwd": "/no/such", "mcpServers": [] }), -32602, "cwd is no folder").await;
    let more = json!({ "cwd": "/", "mcpServers": [], "additionalDirectories": ["x"] });
    check("session/new", more, -32602, "additionalDirectories must be an absolute path").await;
    let sse = json!({ "cwd": "/", "mcpServers": [{ "type": "sse", "name": "s", "url": "http://x", "headers": [] }] });
    check("session/new", sse, -32602, "SSE").await;
    check("session/prompt", json!({ "sessionId": none, "prompt": text }), -32002, none).await;
    check("session/prompt", json!({ "sessionId": "SESSION", "prompt": [] }), -32602, "empty").await;
    check("session/prompt", json!({ "sessionId": "SESSION" }), -32602, "prompt").await;
    let load = json!({ "sessionId": none, "cwd": "/", "mcpServers": [] });
    check("session/load", load.clone(), -32002, none).await;
    check("session/resume", load.clone(), -32002, none).await;
    check("session/fork", load, -32002, none).await;
    check("session/load", json!({ "sessionId": "x", "cwd": "/", "mcpServers": [] }), -32602, "not a UUID").await;
    check("session/close", json!({ "sessionId": none }), -32002, none).await;
    check("session/delete", json!({ "sessionId": none }), -32002, none).await;
    check("session/unarchive", json!({ "sessionId": none }), -32002, none).await;
    check("session/set_title", json!({ "sessionId": none, "title": "x" }), -32002, none).await;
    check("session/set_title", json!({ "sessionId": "SESSION", "title": " " }), -32602, "title").await;
    check("session/list", json!({ "cursor": "x" }), -32602, "cursor").await;
    check("session/set_mode", json!({ "sessionId": "SESSION", "modeId": "x" }), -32602, "read-only, ask").await;
    let option = |id: &str, value: Value| json!({ "sessionId": "SESSION", "configId": id, "value": value });
    check("session/set_config_option", option("x", json!("y")), -32602, "there is no option x").await;
    check("session/set_config_option", option("model", json!("y")), -32602, "no value y").await;
    check("session/set_config_option", option("effort", json!("y")), -32602, "no value y").await;
    check("session/set_config_option", option("pack", json!("y")), -32602, "no value y").await;
    check("session/set_config_option", option("network", json!("y")), -32602, "true or false").await;
    check("authenticate", json!({ "methodId": "x" }), -32602, "no login x").await;
    check("initialize", json!({ "protocolVersion": 1 }), -32600, "already").await;
}

#[tokio::test]
async fn lines_that_are_no_messages_are_refused_and_the_next_is_read() {
    let mut client = Client::ready(&says(&[])).await;
    for (line, code) in [("{\n", -32700), ("[]\n", -32600), ("{\"jsonrpc\":\"2.0\",\"id\":null}\n", -32600)] {
        client.raw(line.as_bytes()).await;
        assert_eq!(client.answer(Value::Null).await.unwrap_err()["code"], code, "{line}");
    }
    client.raw(b"\n\r\n").await;
    assert_eq!(client.ask("nothing", json!({})).await.unwrap_err()["code"], -32601);
}

#[tokio::test]
async fn the_client_greets_first_and_gets_version_1() {
    for version in [0, 1, 2, 65535] {
        let mut client = Client::connect(&Arc::new(Workspace::empty()), Some("[[reply]]\nsay = \"x\"\n"));
        let early = client.ask("session/new", json!({ "cwd": "/", "mcpServers": [] })).await.unwrap_err();
        assert_eq!(early["code"], -32600, "{early}");
        let hello = client.ask("initialize", json!({ "protocolVersion": version })).await.unwrap();
        assert_eq!(hello["protocolVersion"], 1);
        assert_eq!(hello["agentInfo"]["name"], "pellucid");
        assert_eq!(hello["agentCapabilities"]["loadSession"], true);
        assert_eq!(hello.get("authMethods"), Some(&json!([])), "a script needs no key");
    }
}
