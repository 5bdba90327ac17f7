//! Servers that are shell scripts, and one over HTTP.

mod hostile;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::mcp::ToolFilter;
use pellucid_exec::process::Command;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationAnswer;
use pellucid_protocol::elicitation::ElicitationRequest;
use pellucid_protocol::mcp::McpAuthStatus;
use pellucid_protocol::secret::Secret;
use pellucid_protocol::settings::McpProtocol;
use pellucid_testkit::McpScript;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::json;

use super::*;
use crate::auth::tests::http_clients;
use crate::elicitation::Answering;
use crate::elicitation::Nobody;
use crate::spec::HttpReach;
use crate::spec::Reach;

fn spec(name: &str, reach: Reach) -> ServerSpec {
    ServerSpec {
        name: name.to_owned(),
        reach: Ok(reach),
        is_required: false,
        startup_timeout: Duration::from_secs(60),
        tool_timeout: Duration::from_secs(60),
        tool_timeout_max: Duration::from_secs(600),
        max_message_bytes: 1 << 24,
        protocol: McpProtocol::Initialize,
        known_revision: None,
        last_listed: None,
        follow: None,
        tools: ToolFilter::default(),
    }
}

fn program(script: &McpScript) -> Reach {
    let env = [("PATH".into(), "/usr/bin:/bin".into())].into();
    Reach::Program(Command { argv: script.argv(), arg0: None, cwd: ".".into(), env })
}

fn start(specs: Vec<ServerSpec>) -> (Servers, mpsc::UnboundedReceiver<EventMessage>) {
    let nobody: Arc<dyn Person> = Arc::new(Nobody);
    start_with(specs, &nobody)
}

fn start_with(specs: Vec<ServerSpec>, person: &Arc<dyn Person>) -> (Servers, mpsc::UnboundedReceiver<EventMessage>) {
    let us = ClientName { name: "tester".to_owned(), title: "Tester".to_owned(), version: "1".to_owned() };
    Servers::start(specs, http_clients(), &us, person)
}

/// A person who opens every page.
#[derive(Debug)]
struct Opens;

impl Person for Opens {
    fn ask(&self, request: ElicitationRequest) -> Answering {
        assert_eq!(request.url.as_deref(), Some("https://a.test/x"));
        let answer = ElicitationAnswer { action: ElicitationAction::Accept, content: Some(json!({"x": 1})) };
        Box::pin(std::future::ready(answer))
    }

    fn sees_pages(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_page_is_offered_to_those_who_can_see_it() {
    let page = |url: &str| json!({"mode": "url", "message": "Log in.", "url": url, "elicitationId": "e"});
    let (seer, nobody): (Arc<dyn Person>, Arc<dyn Person>) = (Arc::new(Opens), Arc::new(Nobody));
    let both = json!({"form": {}, "url": {}});
    for (person, url, offered, answer) in [
        (&seer, "https://a.test/x", &both, "accept"),
        (&seer, "file:///etc/passwd", &both, "decline"),
        (&nobody, "https://a.test/x", &json!({"form": {}}), "decline"),
    ] {
        let script = McpScript::new(&["echo"]);
        script.answers("tools/call_echo", &json!({"content": [{"type": "text", "text": "t"}]}));
        script.asks_before("echo", &page(url));
        let (servers, _events) = start_with(vec![spec("depot", program(&script))], person);
        servers.call("depot", "echo", None, None).await.unwrap();
        assert_eq!(&script.asked()[0]["params"]["capabilities"]["elicitation"], offered, "{url}");
        assert_eq!(script.answers_to_questions(), [json!({"action": answer})], "{url}");
        servers.shut_down().await;
    }
}

/// All events of a start, a line each, in the order of their texts.
async fn lines_of(mut events: mpsc::UnboundedReceiver<EventMessage>) -> String {
    let mut lines = Vec::new();
    while let Some(event) = events.recv().await {
        // How long a start took differs.
        if matches!(event, EventMessage::ContextMcpServer { .. }) {
            continue;
        }
        lines.push(format!("{}\n", serde_json::to_string(&event).unwrap()));
        if matches!(event, EventMessage::McpStartupComplete { .. }) {
            break;
        }
    }
    lines.sort();
    lines.concat()
}

#[tokio::test]
async fn servers_are_greeted_and_asked_for_their_tools() {
    let script = McpScript::new(&["store", "count"]);
    let mut depot = spec("depot", program(&script));
    depot.tools.disabled.insert("count".to_owned());
    let (servers, events) = start(vec![depot]);
    servers.settled().await;
    let tools: Vec<_> = servers.tools().into_iter().map(|(server, tools)| (server, tools[0].name.clone())).collect();
    assert_eq!(tools, [("depot".to_owned(), "store".to_owned())]);
    let asked: String = script.asked().iter().map(|asked| format!("{asked}\n")).collect();
    expect![[r#"
        {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"tester","title":"Tester","version":"1"}}}
        {"jsonrpc":"2.0","method":"notifications/initialized"}
        {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":0}}}
    "#]]
    .assert_eq(&asked);
    expect![[r#"
        {"type":"mcp_startup_complete","ready":["depot"],"failed":[],"cancelled":[]}
        {"type":"mcp_startup_update","server":"depot","status":{"state":"ready"}}
        {"type":"mcp_startup_update","server":"depot","status":{"state":"starting"}}
    "#]]
    .assert_eq(&lines_of(events).await);
    servers.shut_down().await;
}

#[tokio::test]
async fn calls_and_reads_name_their_span() {
    let script = McpScript::new(&["echo"]);
    script.answers("tools/call_echo", &json!({"content": [{"type": "text", "text": "t"}]}));
    script.answers("resources/read", &json!({"contents": []}));
    let (servers, _events) = start(vec![spec("depot", program(&script))]);
    let span = || Some("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01".to_owned());
    for traceparent in [span(), None] {
        servers.call("depot", "echo", None, traceparent.clone()).await.unwrap();
        servers.read("depot", "note://a", traceparent).await.unwrap();
    }
    let asked =
        script.asked().into_iter().filter(|it| ["tools/call", "resources/read"].iter().any(|of| it["method"] == *of));
    let named: Vec<_> = asked.map(|it| it["params"]["_meta"]["traceparent"].as_str().map(str::to_owned)).collect();
    assert_eq!(named, [span(), span(), None, None]);
    servers.shut_down().await;
}

/// Calls a tool of a server that is set up first.
async fn check_call(set_up: impl FnOnce(&McpScript, &mut ServerSpec), expected: &Expect) {
    let script = McpScript::new(&["echo"]);
    let mut depot = spec("depot", program(&script));
    set_up(&script, &mut depot);
    let (servers, _events) = start(vec![depot]);
    let arguments = json!({"z": 1, "a": "x"}).as_object().cloned();
    let called = servers.call("depot", "echo", arguments, None).await;
    expected.assert_eq(
        &called
            .map_or_else(|failure| format!("{:?}", failure.causes), |result| serde_json::to_string(&result).unwrap()),
    );
    // A request that was cancelled may not have reached the server.
    if let Some(asked) = script.asked().into_iter().find(|asked| asked["method"] == "tools/call") {
        assert_eq!(asked["params"]["arguments"].to_string(), r#"{"z":1,"a":"x"}"#);
    }
    servers.shut_down().await;
}

#[tokio::test]
async fn tools_answer() {
    let answer = json!({"content":[{"text":"t","type":"text"},{"type":"image","data":"QQ==","mimeType":"image/png"}],"structuredContent":{"b":2,"a":1},"isError":true});
    check_call(
        |script, _| script.answers("tools/call_echo", &answer),
        &expect![[r#"{"content":[{"type":"text","text":"t"},{"type":"image","data":"QQ==","mimeType":"image/png"}],"structuredContent":{"b":2,"a":1},"isError":true}"#]],
    )
    .await;
}

#[tokio::test]
async fn questions_are_declined_where_there_is_nobody() {
    let (script, answer) = (McpScript::new(&["echo"]), json!({"content":[{"type":"text","text":"t"}]}));
    script.answers("tools/call_echo", &answer);
    script.asks_before("echo", &json!({"message":"May I?","requestedSchema":{"type":"object","properties":{}}}));
    let (servers, _events) = start(vec![spec("depot", program(&script))]);
    servers.call("depot", "echo", None, None).await.unwrap();
    assert_eq!(script.answers_to_questions(), [json!({"action":"decline"})]);
    servers.shut_down().await;
}

#[tokio::test]
async fn tools_fail() {
    check_call(
        |script, _| script.refuses("tools/call_echo", -32000, "boom"),
        &expect![[r#"["tools/call failed: Mcp error: -32000: boom"]"#]],
    )
    .await;
    check_call(
        |script, spec| {
            script.ignores("tools/call_echo");
            spec.tool_timeout = Duration::from_millis(50);
        },
        &expect![[r#"["timed out awaiting tools/call after 50ms", "deadline has elapsed"]"#]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_says_nothing_is_a_failure() {
    for answer in [json!({"content": []}), json!({"content": [], "structuredContent": null, "isError": true})] {
        check_call(
            |script, _| script.answers("tools/call_echo", &answer),
            &expect![[r#"["tools/call failed: Unexpected response type"]"#]],
        )
        .await;
    }
    let answer = json!({"content": [], "structuredContent": {"a": 1}});
    check_call(
        |script, _| script.answers("tools/call_echo", &answer),
        &expect![[r#"{"content":[],"structuredContent":{"a":1}}"#]],
    )
    .await;
}

#[tokio::test]
async fn resources_are_listed_page_by_page_and_read() {
    let script = McpScript::new(&[]);
    script.answers("resources/list", &json!({"resources":[{"mimeType":"text/plain","name":"One","uri":"book://1"}]}));
    script.answers(
        "resources/templates/list",
        &json!({"resourceTemplates":[{"uriTemplate":"book://{id}","name":"Any"}],"nextCursor":"again"}),
    );
    script.answers("resources/read", &json!({"contents":[{"uri":"book://1","mimeType":"text/plain","text":"Once."}]}));
    let (servers, _events) = start(vec![spec("library", program(&script))]);
    expect![[r#"[("library", [Object {"uri": String("book://1"), "name": String("One"), "mimeType": String("text/plain")}])]"#]]
        .assert_eq(&format!("{:?}", servers.all_resources().await));
    // The cursor never ends, so the server is left out.
    assert_eq!(servers.all_templates().await, []);
    let page = servers.templates("library", None).await.unwrap();
    assert_eq!((page.entries.len(), page.next_cursor.as_deref()), (1, Some("again")));
    expect![[r#"{"contents":[{"uri":"book://1","mimeType":"text/plain","text":"Once."}]}"#]]
        .assert_eq(&Value::Object(servers.read("library", "book://1", None).await.unwrap()).to_string());
    let unknown = servers.read("nowhere", "x", None).await.unwrap_err();
    assert_eq!(unknown.to_string(), "unknown MCP server 'nowhere'");
    servers.shut_down().await;
}

#[tokio::test]
async fn what_does_not_start_says_why() {
    let script = McpScript::new(&[]);
    script.is_dead();
    let missing = Command { argv: vec!["/no/such/program".to_owned()], arg0: None, cwd: ".".into(), env: [].into() };
    let unusable = ServerSpec { reach: Err("no token".to_owned()), ..spec("unusable", program(&script)) };
    let required = ServerSpec { is_required: true, ..unusable.clone() };
    let silent = McpScript::new(&[]);
    silent.ignores("initialize");
    let slow = ServerSpec { startup_timeout: Duration::from_millis(1), ..spec("slow", program(&silent)) };
    let (servers, events) = start(vec![
        spec("dead", program(&script)),
        spec("missing", Reach::Program(missing)),
        spec("bad name", program(&script)),
        slow,
        required,
    ]);
    let failed = servers.required().await.unwrap_err();
    expect!["required MCP servers failed to initialize: unusable: MCP client for `unusable` failed to start: MCP startup failed: no token"]
        .assert_eq(&failed);
    servers.settled().await;
    let lines = lines_of(events).await;
    let complete: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    // The end of a server is noticed by writing to it or by reading from it, and the message differs.
    let failed = complete["failed"].as_array().unwrap().iter().map(|failure| {
        let error = failure["error"].as_str().unwrap();
        format!("{}\n", error.split_once(": the handshake failed: ").map_or(error, |(known, _)| known))
    });
    expect![[r#"
        MCP client for `bad name` failed to start: its name may only have letters, digits, `-` and `_`
        MCP client for `dead` failed to start: MCP startup failed
        MCP client for `missing` failed to start: MCP startup failed: the program `/no/such/program` cannot be started: No such file or directory (os error 2)
        MCP client for `slow` timed out after 0.001 seconds; set `startup_timeout_sec` in [mcp_servers.slow] of config.toml to wait longer
        MCP client for `unusable` failed to start: MCP startup failed: no token
    "#]].assert_eq(&failed.collect::<String>());
    let failure = servers.call("unusable", "x", None, None).await.unwrap_err();
    assert_eq!(failure.causes[0], "failed to get client");
}

#[tokio::test]
async fn starts_can_be_broken_off() {
    let script = McpScript::new(&[]);
    script.ignores("initialize");
    let (servers, events) = start(vec![spec("slow", program(&script))]);
    servers.cancel_starts();
    servers.settled().await;
    let lines = lines_of(events).await;
    assert!(
        lines.starts_with(r#"{"type":"mcp_startup_complete","ready":[],"failed":[],"cancelled":["slow"]}"#),
        "{lines}"
    );
}

#[tokio::test]
async fn servers_are_asked_over_http() {
    let json = |body: Value| MockReply::status(200, &body.to_string()).content_type("application/json");
    let greeting = json!({"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"1"}}});
    let tools = json!({"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}});
    let server = MockServer::start(vec![json(greeting), MockReply::status(202, ""), json(tools)]);
    let headers = [("x-team".to_owned(), Secret::new("blue"))].into();
    let reach = HttpReach { url: server.base_url(), bearer: Some(Secret::new("t0ken")), headers, login: None };
    let (servers, _events) = start(vec![spec("web", Reach::Http(reach))]);
    servers.settled().await;
    assert_eq!(servers.tools()[0].1[0].name, "look");
    let first = &server.requests()[0];
    let header = |name| first.header(name).unwrap_or_default().to_owned();
    assert_eq!(
        ["authorization", "x-team", "accept"].map(header),
        ["Bearer t0ken", "blue", "text/event-stream, application/json"]
    );
    assert_eq!(servers.status().await[0].auth_status, McpAuthStatus::BearerToken);
}

#[tokio::test]
async fn a_server_that_wants_a_login_says_what_to_do() {
    let refused = MockReply::status(401, "").header("WWW-Authenticate", "Bearer");
    let server = MockServer::start(vec![refused]);
    let reach = HttpReach { url: server.base_url(), bearer: None, headers: [].into(), login: None };
    let (servers, _events) = start(vec![spec("web", Reach::Http(reach))]);
    let failure = servers.call("web", "x", None, None).await.unwrap_err();
    expect!["MCP client for `web` is not logged in: run `pellucid mcp login web`, or set `bearer_token_env_var` in [mcp_servers.web]"].assert_eq(&failure.causes[1]);
}

#[tokio::test]
async fn a_server_that_repeats_its_token_is_quoted_without_it() {
    for status in [400, 403, 500] {
        let server = MockServer::start(vec![MockReply::status(status, "no: planted-token planted-header")]);
        let headers = [("x-key".to_owned(), Secret::new("planted-header"))].into();
        let reach =
            HttpReach { url: server.base_url(), bearer: Some(Secret::new("planted-token")), headers, login: None };
        let (servers, _events) = start(vec![spec("web", Reach::Http(reach))]);
        let failure = servers.call("web", "x", None, None).await.unwrap_err().to_string();
        assert!(failure.contains("failed to start") && !failure.contains("planted-"), "{failure}");
    }
}
