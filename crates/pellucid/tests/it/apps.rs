//! Connected apps: which tools requests offer, where the token goes, who is asked before a call, which apps are listed.
//!
//! `conformance/scenarios/apps_*.json` and `rpc_apps_approvals.json` compare requests, events and answers with the Codex CLI.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use expect_test::expect;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::RecordedRequest;
use serde_json::Value;
use serde_json::json;

use crate::Ran;
use crate::World;
use crate::context_events::Client;

const TOKEN: (&str, &str) = ("CODEX_CONNECTORS_TOKEN", "planted-token-of-apps");

/// How many requests the server of apps answers.
const ANSWERS: usize = 200;

/// The service: the MCP server of apps, and the directory in two pages.
fn service(request: &RecordedRequest) -> MockReply {
    let page =
        |apps: Value, next: &str| MockReply::status(200, &json!({ "apps": apps, "nextToken": next }).to_string());
    match request.path.as_str() {
        "/backend-api/connectors/directory/list?tier=categorized" => page(
            json!([
                {"id": "zed", "name": "Zed", "description": " Last. ", "logoUrl": "l"},
                {"id": "cal", "name": "Calendar"},
                {"id": "hid", "name": "Hidden", "visibility": "HIDDEN"},
            ]),
            "p 2",
        ),
        "/backend-api/connectors/directory/list?tier=categorized&token=p%202" => {
            page(json!([{"id": "connector_openai_x", "name": "X"}, {"id": "notes", "name": "notes"}]), "")
        }
        "/backend-api/wham/apps" if request.method == "POST" => answered(&request.body),
        "/backend-api/wham/apps" if request.method == "GET" => MockReply::status(405, ""),
        "/backend-api/wham/apps" => MockReply::status(200, ""),
        _ => MockReply::status(404, ""),
    }
}

/// The answer of the MCP server.
fn answered(body: &[u8]) -> MockReply {
    let request: Value = serde_json::from_slice(body).unwrap();
    if request.get("id").is_none() {
        return MockReply::status(202, "");
    }
    let tool = |name: &str, app: (&str, &str), annotations: Value| {
        json!({
            "name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object", "properties": {}},
            "annotations": annotations, "_meta": {"connector_id": app.0, "connector_name": app.1},
        })
    };
    let (calendar, notes) = (("cal", "Google Calendar"), ("notes", " "));
    let result = match request["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "apps", "version": "1"},
        }),
        "tools/list" => json!({"tools": [
            tool("list_events", calendar, json!({"readOnlyHint": true})),
            tool("create_event", calendar, json!({"readOnlyHint": false, "openWorldHint": true})),
            tool("add_note", notes, Value::Null),
        ]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "called"}]}),
        _ => json!({}),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
    MockReply::status(200, &answer.to_string()).content_type("application/json")
}

fn apps() -> MockServer {
    MockServer::start(vec![MockReply::made_from(service); ANSWERS])
}

/// A world with a model and a service of apps.
fn world(model: &MockServer, apps: &MockServer, keys: &str) -> World {
    let world = World::new("");
    let service = apps.base_url().replace("/v1", "/backend-api/");
    let config = format!(
        "model_provider = \"mock\"\nchatgpt_base_url = \"{service}\"\n{keys}\n\
         [model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\n",
        model.base_url()
    );
    world.files.write("home/config.toml", config);
    world
}

fn run(world: &World, args: &[&str]) -> Ran {
    let ran = world.run_in(&[&["exec", "--enable", "apps"], args].concat(), &[TOKEN]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ran
}

fn call(name: &str, arguments: &Value) -> MockReply {
    let arguments = arguments.to_string();
    MockReply::items([json!({"type": "function_call", "name": name, "arguments": arguments, "call_id": "c"})])
}

/// The tools of apps that each request offers.
fn offered(model: &MockServer) -> Vec<String> {
    let names = |request: &RecordedRequest| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let names = body["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str());
        let names = names.filter_map(|name| name.strip_prefix("mcp__codex_apps__")).map(str::to_owned);
        names.collect::<Vec<_>>().join(" ")
    };
    model.requests().iter().map(names).collect()
}

/// The last output of a tool that the model received.
fn output(model: &MockServer) -> String {
    let body: Value = serde_json::from_slice(&model.requests().last().unwrap().body).unwrap();
    let mut outputs = body["input"].as_array().unwrap().iter().filter_map(|item| item["output"].as_str());
    outputs.next_back().unwrap().to_owned()
}

#[test]
fn what_is_found_stays_offered_and_what_is_shown_is_what_is_sent() {
    let search = call("search_tool_bm25", &json!({"query": "add_note"}));
    let replies = [search, MockReply::say("a"), MockReply::say("b"), MockReply::say("c"), MockReply::say("d")];
    let (model, apps) = (MockServer::start(replies), apps());
    let world = world(&model, &apps, "");
    run(&world, &["Find."]);
    run(&world, &["resume", "--last", "Use $google-calendar."]);
    run(&world, &["resume", "--last", "-c", "apps.notes.enabled=false", "Again."]);
    let all = "add_note create_event list_events";
    assert_eq!(offered(&model), ["", "add_note", all, "create_event list_events"]);
    let names = |text: &str| text.matches("mcp__codex_apps__").count();
    let shown = world.run_in(&["prompt", "--enable", "apps", "--format", "json", "Use $google-calendar."], &[TOKEN]);
    assert_eq!((shown.status, names(shown.out())), (0, 2), "{}", shown.stderr);
    let replayed = world.run(&["replay", "--last"]);
    assert_eq!(replayed.status, 0, "{}{}", replayed.out(), replayed.stderr);
}

#[test]
fn nothing_is_asked_without_the_feature() {
    let (model, apps) = (MockServer::start([MockReply::say("Done.")]), apps());
    let own = format!("[mcp_servers.codex_apps]\nurl = \"{}\"\n", apps.base_url());
    let ran = world(&model, &apps, &own).run_in(&["exec", "Use [$x](app://cal)."], &[TOKEN]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!((apps.requests().len(), offered(&model)), (0, vec![String::new()]));
}

#[test]
fn the_token_goes_to_the_service_alone() {
    let replies = [call("shell", &json!({"command": ["env"]})), MockReply::say("Done.")];
    let (model, apps) = (MockServer::start(replies), apps());
    let world = world(&model, &apps, "");
    let ran = run(&world, &["Hello."]);
    let asked = apps.requests();
    assert!(asked.len() >= 3);
    for request in &asked {
        assert_eq!(request.header("authorization"), Some("Bearer planted-token-of-apps"));
        assert_eq!(request.header("chatgpt-account-id"), None);
    }
    for request in model.requests() {
        assert!(!String::from_utf8_lossy(&request.body).contains(TOKEN.1));
        assert!(request.headers.iter().all(|(_, value)| !value.contains(TOKEN.1)));
    }
    assert!(!ran.out().contains(TOKEN.1) && !ran.stderr.contains(TOKEN.1));
}

#[test]
fn a_service_that_is_not_asked_says_why() {
    let why = |base_url: &str, variables: &[(&str, &str)]| {
        let model = MockServer::start([MockReply::say("Done.")]);
        let world = world(&model, &apps(), "");
        let base_url = format!("chatgpt_base_url=\"{base_url}\"");
        let ran = world.run_in(&["exec", "--enable", "apps", "-c", &base_url, "Hello."], variables);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let line = ran.stderr.lines().find(|line| line.starts_with("mcp: codex_apps failed"));
        line.unwrap_or(&ran.stderr).to_owned()
    };
    expect!["mcp: codex_apps failed: MCP client for `codex_apps` failed to start: MCP startup failed: connected apps need a token: `CODEX_CONNECTORS_TOKEN` is empty or not set, and no login is stored (`codex login`)"]
        .assert_eq(&why("https://192.0.2.1/backend-api", &[("CODEX_CONNECTORS_TOKEN", " ")]));
    expect!["mcp: codex_apps failed: MCP client for `codex_apps` failed to start: MCP startup failed: `chatgpt_base_url` leads to http://192.0.2.1/backend-api/wham/apps, which is not https; the token is not sent there"]
        .assert_eq(&why("http://192.0.2.1/backend-api", &[TOKEN]));
}

#[test]
fn a_project_switches_apps_on_only_with_consent() {
    let (model, apps) = (MockServer::start([MockReply::say("Done.")]), apps());
    let world = world(&model, &apps, "");
    let config = world.files.read("home/config.toml");
    let trusted = format!("[projects.\"{}\"]\ntrust_level = \"trusted\"\n", world.files.path("work").display());
    world.files.write("home/config.toml", config + &trusted);
    let evil = apps.base_url();
    let keys = format!("chatgpt_base_url = \"{evil}\"\n[features]\napps = true\nconnectors = true\n");
    world.files.write("work/.codex/config.toml", keys);
    let ran = world.run_in(&["exec", "Hello."], &[TOKEN]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("not accepted yet"), "{}", ran.stderr);
    assert_eq!(apps.requests().len(), 0);
}

#[test]
fn without_a_person_a_call_that_has_to_be_asked_about_is_cancelled() {
    let replies = ["create_event", "list_events", "add_note"]
        .map(|tool| [call(&format!("mcp__codex_apps__{tool}"), &json!({})), MockReply::say("Done.")]);
    let (model, apps) = (MockServer::start(replies.into_iter().flatten()), apps());
    let world = world(&model, &apps, "");
    let prompt = "Use [$x](app://cal) and [$y](app://notes).";
    let answers = ["", "", ""].map(|_| {
        run(&world, &[prompt]);
        output(&model)
    });
    let called = r#"[{"type":"text","text":"called"}]"#;
    assert_eq!(answers, [r#"err: "user cancelled MCP tool call""#, called, called]);
    let model = MockServer::start([call("mcp__codex_apps__create_event", &json!({})), MockReply::say("Done.")]);
    let free = self::world(&model, &apps, "");
    run(&free, &["--dangerously-bypass-approvals-and-sandbox", prompt]);
    assert_eq!(output(&model), called);
}

/// A login with a ChatGPT account, whose tokens are made up.
fn login() -> String {
    let account = json!({"chatgpt_plan_type": "plus", "chatgpt_account_id": "made-up-account"});
    let claims = json!({"email": "a@example.com", "https://api.openai.com/auth": account});
    let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let token =
        format!("{}.{}.{}", encoded(&json!({"alg": "none"})), encoded(&claims), URL_SAFE_NO_PAD.encode("made up"));
    let tokens = json!({"id_token": token, "access_token": "made-up-access", "refresh_token": "made-up-refresh", "account_id": "made-up-account"});
    json!({"auth_mode": "chatgpt", "OPENAI_API_KEY": null, "tokens": tokens}).to_string()
}

/// What `app/list` answers to these parameters, and the lists that clients were notified of before.
fn listed(client: &mut Client, params: &Value) -> String {
    let shown = |data: &Value| {
        let app = |app: &Value| {
            format!("{} {} {} {}", app["id"], app["name"], app["isAccessible"], app["isEnabled"]).replace('"', "")
        };
        data.as_array().unwrap().iter().map(app).collect::<Vec<_>>().join(", ")
    };
    client.notified.clear();
    let answer = client.ask("app/list", params);
    let mut lines: Vec<String> = client
        .notified
        .iter()
        .filter(|it| it["method"] == "app/list/updated")
        .map(|it| format!("updated: {}", shown(&it["params"]["data"])))
        .collect();
    lines.push(match answer.get("error") {
        Some(error) => format!("{}: {}", error["code"], error["message"]),
        None => format!("{}; next {}", shown(&answer["result"]["data"]), answer["result"]["nextCursor"]),
    });
    lines.join("\n")
}

#[test]
fn clients_list_the_apps_of_the_account_and_of_the_directory() {
    let (model, apps) = (MockServer::start([]), apps());
    let world = world(&model, &apps, "[apps.zed]\nenabled = false\n[features]\napps = true\n");
    world.files.write("home/auth.json", login());
    let mut client = Client::of(&world, &[]);
    client.introduce(&json!({}));
    let first = listed(&mut client, &json!({}));
    let last = first.lines().collect::<Vec<_>>().split_off(first.lines().count() - 2).join("\n");
    expect![[r#"
        updated: cal Calendar true true, notes notes true true, zed Zed false false
        cal Calendar true true, notes notes true true, zed Zed false false; next null"#]]
    .assert_eq(&last);
    let n_asked = apps.requests().len();
    expect![[r#"
        updated: cal Calendar true true, notes notes true true, zed Zed false false
        updated: cal Calendar true true, notes notes true true, zed Zed false false
        notes notes true true, zed Zed false false; next null"#]]
    .assert_eq(&listed(&mut client, &json!({"cursor": "1", "limit": 5})));
    assert_eq!(apps.requests().len(), n_asked, "the lists are kept");
    expect!["-32600: \"invalid cursor: x\""].assert_eq(&listed(&mut client, &json!({"cursor": "x"})));
    for request in apps.requests() {
        assert_eq!(request.header("authorization"), Some("Bearer made-up-access"), "{}", request.path);
        assert_eq!(request.header("chatgpt-account-id"), Some("made-up-account"), "{}", request.path);
    }
    client.leave();
}

#[test]
fn without_a_login_clients_are_notified_of_the_apps_of_the_token() {
    let (model, apps) = (MockServer::start([]), apps());
    let world = world(&model, &apps, "[features]\napps = true\n");
    let mut command = world.command(&["app-server"]);
    command.env(TOKEN.0, TOKEN.1);
    let mut client = Client::by(command);
    client.introduce(&json!({}));
    expect![[r#"
        updated: cal Google Calendar true true, notes notes true true
        -32603: "failed to list apps: the directory of apps needs a ChatGPT login, and none is stored; `codex login` of the Codex CLI stores one""#]]
    .assert_eq(&listed(&mut client, &json!({})));
    client.leave();
}
