//! Servers that misbehave. The limit of a call is a minute, so a call that waited for it would say so.

use std::fmt::Write;

use expect_test::Expect;
use expect_test::expect;
use pellucid_exec::process::Command;
use pellucid_testkit::HostileMcp;
use pellucid_testkit::HostileMcpServer;

use super::*;
use crate::spec::Follow;

/// The limit of messages in these tests.
const MESSAGE_MAX: usize = 100_000;

fn hostile(server: &HostileMcpServer) -> Reach {
    let env = [("PATH".into(), "/usr/bin:/bin".into())].into();
    Reach::Program(Command { argv: server.argv(), arg0: None, cwd: ".".into(), env })
}

/// What people and the model learn of a server: the outcome of its start, of so many calls, and all warnings.
async fn learned(server: &HostileMcpServer, n_calls: usize, set_up: impl FnOnce(&mut ServerSpec)) -> String {
    let mut spec = spec("hostile", hostile(server));
    spec.max_message_bytes = MESSAGE_MAX;
    set_up(&mut spec);
    let (servers, mut events) = start(vec![spec]);
    servers.settled().await;
    let mut told = String::new();
    for (_, error) in servers.failures() {
        writeln!(told, "failed: {error}").unwrap();
    }
    for (what, why) in servers.left_out() {
        writeln!(told, "left out: {what}: {why}").unwrap();
    }
    for n in 1..=n_calls {
        match servers.call("hostile", "ping", None, None).await {
            Ok(result) => writeln!(told, "{n}: {}", serde_json::to_string(&result.content).unwrap()).unwrap(),
            Err(failure) => writeln!(told, "{n}: {}", failure.causes.join(" / ")).unwrap(),
        }
    }
    servers.shut_down().await;
    drop(servers);
    while let Some(event) = events.recv().await {
        if let EventMessage::Warning { message } = event {
            writeln!(told, "warning: {message}").unwrap();
        }
    }
    told
}

/// Checks what is learned of a kind of server in its start and two calls.
async fn check(kind: HostileMcp, expected: &Expect) {
    expected.assert_eq(&learned(&HostileMcpServer::new(kind), 2, |_| {}).await);
}

#[tokio::test]
async fn what_is_no_answer_fails_the_call_at_once() {
    check(HostileMcp::GARBAGE, &expect![[r#"
        1: tools/call failed: the server sent a line that is no MCP message (34 bytes): "Traceback (most recent call last):"
        2: [{"type":"text","text":"pong"}]
    "#]]).await;
    check(
        HostileMcp::GARBAGE_BYTES,
        &expect![[r#"
        1: tools/call failed: the server sent a line that is no MCP message (4 bytes): "��\0\u{1}"
        2: [{"type":"text","text":"pong"}]
    "#]],
    )
    .await;
    check(HostileMcp::GARBAGE_WITH_ID, &expect![[r#"
        1: tools/call failed: the server sent a line that is no MCP message (45 bytes): "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":["
        2: [{"type":"text","text":"pong"}]
    "#]]).await;
    check(HostileMcp::ARRAY, &expect![[r#"
        1: tools/call failed: the server sent a line that is no MCP message (38 bytes): "[{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]"
        2: [{"type":"text","text":"pong"}]
    "#]]).await;
    check(
        HostileMcp::WRONG_ANSWER,
        &expect![[r#"
        1: tools/call failed: Unexpected response type
        2: [{"type":"text","text":"pong"}]
    "#]],
    )
    .await;
    check(
        HostileMcp::ERROR_WITHOUT_ID,
        &expect![[r#"
        1: tools/call failed: Mcp error: -32700: cannot read that
        2: [{"type":"text","text":"pong"}]
    "#]],
    )
    .await;
    check(
        HostileMcp::FAULT_CODE,
        &expect![[r#"
        1: tools/call failed: Mcp error: -32603: as if it were yours
        2: [{"type":"text","text":"pong"}]
    "#]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_is_too_large_fails_with_its_size_and_the_limit() {
    check(HostileMcp::TOO_LARGE, &expect![[r#"
        1: tools/call failed: the answer of the server has 200073 bytes, and the limit is 100000 bytes (`max_message_bytes`)
        2: [{"type":"text","text":"pong"}]
    "#]]).await;
    check(HostileMcp::TOO_LARGE_ID_LAST, &expect![[r#"
        1: tools/call failed: the answer of the server has 200073 bytes, and the limit is 100000 bytes (`max_message_bytes`)
        2: [{"type":"text","text":"pong"}]
    "#]]).await;
    let told = learned(&HostileMcpServer::new(HostileMcp::ENDLESS), 2, |_| {}).await;
    // How much was read by then differs.
    let more = told.split_once("more than ").unwrap();
    let (_, rest) = more.1.split_once(' ').unwrap();
    expect![[r#"
        1: tools/call failed: the answer of the server has more than … bytes, and the limit is 100000 bytes (`max_message_bytes`)
        2: [{"type":"text","text":"pong"}]
    "#]].assert_eq(&format!("{}more than … {rest}", more.0));
}

/// What two calls of a server over HTTP give, of which the first is answered like this.
async fn over_http(answer: MockReply) -> String {
    let json = |body: Value| MockReply::status(200, &body.to_string()).content_type("application/json");
    let greeting = json!({"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"1"}}});
    let tools = json!({"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}});
    let pong = json!({"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"pong"}]}});
    let server = MockServer::start(vec![json(greeting), MockReply::status(202, ""), json(tools), answer, json(pong)]);
    let reach = HttpReach { url: server.base_url(), bearer: None, headers: [].into(), login: None };
    let mut web = spec("web", Reach::Http(reach));
    web.max_message_bytes = MESSAGE_MAX;
    let (servers, _events) = start(vec![web]);
    servers.settled().await;
    let mut told = String::new();
    for _ in 0..2 {
        match servers.call("web", "look", None, None).await {
            Ok(result) => writeln!(told, "{}", serde_json::to_string(&result.content).unwrap()).unwrap(),
            Err(failure) => writeln!(told, "{}", failure.causes.join(" / ")).unwrap(),
        }
    }
    told
}

#[tokio::test]
async fn an_answer_over_http_has_the_same_limit() {
    let answer = json!({"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"x".repeat(200_000)}]}});
    let body = MockReply::status(200, &answer.to_string()).content_type("application/json");
    expect![[r#"
        tools/call failed: the answer of the server has more than 100000 bytes, and the limit is 100000 bytes (`max_message_bytes`)
        [{"type":"text","text":"pong"}]
    "#]]
    .assert_eq(&over_http(body).await);
    let event = MockReply::status(200, &format!("data: {answer}\n\n")).content_type("text/event-stream");
    expect![[r#"
        tools/call failed: the answer of the server has more than 100000 bytes, and the limit is 100000 bytes (`max_message_bytes`)
        [{"type":"text","text":"pong"}]
    "#]]
    .assert_eq(&over_http(event).await);
    let endless = MockReply::status(200, &"x".repeat(200_000)).content_type("text/event-stream");
    expect![[r#"
        tools/call failed: the answer of the server has more than 100000 bytes, and the limit is 100000 bytes (`max_message_bytes`)
        [{"type":"text","text":"pong"}]
    "#]]
    .assert_eq(&over_http(endless).await);
    let refused = MockReply::status(500, &"x".repeat(200_000)).content_type("application/json");
    expect![[r#"
        tools/call failed: the server answered with HTTP 500
        [{"type":"text","text":"pong"}]
    "#]]
    .assert_eq(&over_http(refused).await);
}

#[tokio::test]
async fn what_is_odd_but_can_be_understood_works() {
    for kind in [
        HostileMcp::BANNER,
        HostileMcp::ANSWERS_TWICE,
        HostileMcp::ASKS_NONSENSE,
        HostileMcp::NOTIFICATIONS,
        HostileMcp::FUTURE_REVISION,
        HostileMcp::STDERR_FLOOD,
        HostileMcp::IGNORES_THE_END,
    ] {
        let server = HostileMcpServer::new(kind);
        let told = learned(&server, 2, |_| {}).await;
        let pong = r#"[{"type":"text","text":"pong"}]"#;
        assert_eq!(told, format!("1: {pong}\n2: {pong}\n"), "{kind:?}");
        if kind == HostileMcp::ASKS_NONSENSE {
            assert!(server.refused().contains(r#""id":"q","error":{"code":-32600"#), "{}", server.refused());
        }
    }
}

#[tokio::test]
async fn a_server_that_ends_is_started_again_three_times() {
    let server = HostileMcpServer::new(HostileMcp::DIES_IN_CALL);
    expect![[r#"
        1: tools/call failed: the server ended, or closed the connection, before it answered
        2: tools/call failed: the server ended, or closed the connection, before it answered
        3: tools/call failed: the server ended, or closed the connection, before it answered
        4: tools/call failed: the server ended, or closed the connection, before it answered
        5: failed to get client / the MCP server `hostile` has ended, and was started again 3 times in 10 minutes already; that is the limit
        6: failed to get client / the MCP server `hostile` has ended, and was started again 3 times in 10 minutes already; that is the limit
        warning: the MCP server `hostile` has ended; it is started again (1 of 3 times in 10 minutes)
        warning: the MCP server `hostile` has ended; it is started again (2 of 3 times in 10 minutes)
        warning: the MCP server `hostile` has ended; it is started again (3 of 3 times in 10 minutes)
    "#]].assert_eq(&learned(&server, 6, |_| {}).await);
    assert_eq!(server.n_starts(), 4);
    let server = HostileMcpServer::new(HostileMcp::CLOSES_OUTPUT);
    expect![[r#"
        1: tools/call failed: the server ended, or closed the connection, before it answered
        2: tools/call failed: the server ended, or closed the connection, before it answered
        warning: the MCP server `hostile` has ended; it is started again (1 of 3 times in 10 minutes)
    "#]]
    .assert_eq(&learned(&server, 2, |_| {}).await);
}

#[tokio::test]
async fn a_server_with_other_tools_stays_out() {
    let server = HostileMcpServer::new(HostileMcp::OTHER_TOOLS_AGAIN);
    expect![[r#"
        1: tools/call failed: the server ended, or closed the connection, before it answered
        2: failed to get client / the MCP server `hostile` has ended, and has other tools since it was started again (new: `pong`; with another schema: `ping`), so it stays out of this session
        3: failed to get client / the MCP server `hostile` has ended, and has other tools since it was started again (new: `pong`; with another schema: `ping`), so it stays out of this session
        warning: the MCP server `hostile` has ended; it is started again (1 of 3 times in 10 minutes)
        warning: the MCP server `hostile` has ended, and has other tools since it was started again (new: `pong`; with another schema: `ping`), so it stays out of this session
    "#]].assert_eq(&learned(&server, 3, |_| {}).await);
    assert_eq!(server.n_starts(), 2);
}

#[tokio::test]
async fn a_tool_that_cannot_be_described_costs_itself() {
    check(HostileMcp::BAD_SCHEMA, &expect![[r#"
        left out: the tool broken of the MCP server hostile: its description cannot be read: invalid type: number, expected a map
        left out: the tool number 3 of the list of the MCP server hostile: its description cannot be read: missing field `name`
        1: [{"type":"text","text":"pong"}]
        2: [{"type":"text","text":"pong"}]
    "#]]).await;
}

#[tokio::test]
async fn a_server_that_does_not_start_says_why() {
    check(HostileMcp::DIES_AT_START, &expect![[r#"
        failed: MCP client for `hostile` failed to start: MCP startup failed: the handshake failed: the server ended, or closed the connection, before it answered
        1: failed to get client / MCP client for `hostile` failed to start: MCP startup failed: the handshake failed: the server ended, or closed the connection, before it answered
        2: failed to get client / MCP client for `hostile` failed to start: MCP startup failed: the handshake failed: the server ended, or closed the connection, before it answered
    "#]]).await;
    check(HostileMcp::GREETS_WITH_GARBAGE, &expect![[r#"
        failed: MCP client for `hostile` failed to start: MCP startup failed: the handshake failed: the server sent a line that is no MCP message (33 bytes): "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":"
        1: failed to get client / MCP client for `hostile` failed to start: MCP startup failed: the handshake failed: the server sent a line that is no MCP message (33 bytes): "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":"
        2: failed to get client / MCP client for `hostile` failed to start: MCP startup failed: the handshake failed: the server sent a line that is no MCP message (33 bytes): "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":"
    "#]]).await;
    check(HostileMcp::NO_LIST, &expect![[r#"
        failed: MCP client for `hostile` failed to start: MCP startup failed: tools/list failed: the server's answer has no list of tools
        1: failed to get client / MCP client for `hostile` failed to start: MCP startup failed: tools/list failed: the server's answer has no list of tools
        2: failed to get client / MCP client for `hostile` failed to start: MCP startup failed: tools/list failed: the server's answer has no list of tools
    "#]]).await;
    let server = HostileMcpServer::new(HostileMcp::NEVER_GREETS);
    let moment = Duration::from_millis(1);
    expect![[r#"
        failed: MCP client for `hostile` timed out after 0.001 seconds; set `startup_timeout_sec` in [mcp_servers.hostile] of config.toml to wait longer
    "#]].assert_eq(&learned(&server, 0, |spec| spec.startup_timeout = moment).await);
}

/// A server that the session follows.
fn followed(server: &HostileMcpServer) -> ServerSpec {
    let follow = Follow { roots: vec!["/home/ada/a b".into()] };
    ServerSpec { follow: Some(follow), ..spec("hostile", hostile(server)) }
}

fn names(servers: &Servers) -> Vec<String> {
    servers.tools().into_iter().flat_map(|(_, tools)| tools).map(|tool| tool.name).collect()
}

#[tokio::test]
async fn a_changed_list_is_read_again_where_servers_are_followed() {
    let server = HostileMcpServer::new(HostileMcp::LIST_CHANGES);
    let (servers, _events) = start(vec![followed(&server)]);
    servers.settled().await;
    let (before, client) = (servers.n_changes(), servers.client("hostile").await.unwrap());
    assert_eq!(names(&servers), ["ping"]);
    servers.call("hostile", "ping", None, None).await.unwrap();
    client.news().changes().wait_for(|n| *n > 0).await.unwrap();
    assert_eq!((names(&servers), servers.n_changes()), (vec!["pong".to_owned()], before + 1));
    let failure = servers.call("hostile", "ping", None, None).await.unwrap_err();
    assert_eq!(failure.to_string(), "the server no longer has this tool");
    servers.call("hostile", "pong", None, None).await.unwrap();
    servers.shut_down().await;
    // As in the reference, others do not hear of it.
    let server = HostileMcpServer::new(HostileMcp::LIST_CHANGES);
    let (servers, _events) = start(vec![spec("hostile", hostile(&server))]);
    servers.call("hostile", "ping", None, None).await.unwrap();
    servers.call("hostile", "ping", None, None).await.unwrap();
    assert_eq!(names(&servers), ["ping"]);
    assert_eq!(server.asked().iter().filter(|method| *method == "tools/list").count(), 1);
    servers.shut_down().await;
}

#[tokio::test]
async fn a_change_of_a_resource_that_was_read_is_known_once() {
    let server = HostileMcpServer::new(HostileMcp::RESOURCE_CHANGES);
    let (servers, _events) = start(vec![followed(&server)]);
    servers.read("hostile", "note://a", None).await.unwrap();
    let mut changed = servers.take_changed_resources();
    // The server is asked to report changes beside other requests.
    for _ in 0..1000 {
        if !changed.is_empty() {
            break;
        }
        servers.call("hostile", "ping", None, None).await.unwrap();
        changed = servers.take_changed_resources();
    }
    assert_eq!(changed, [("hostile".to_owned(), "note://a".to_owned())]);
    servers.read("hostile", "note://a", None).await.unwrap();
    servers.call("hostile", "ping", None, None).await.unwrap();
    assert_eq!(servers.take_changed_resources(), []);
    assert_eq!(server.asked().iter().filter(|method| *method == "resources/subscribe").count(), 1);
    servers.shut_down().await;
    // A server that is not followed is not asked.
    let server = HostileMcpServer::new(HostileMcp::RESOURCE_CHANGES);
    let (servers, _events) = start(vec![spec("hostile", hostile(&server))]);
    servers.read("hostile", "note://a", None).await.unwrap();
    servers.call("hostile", "ping", None, None).await.unwrap();
    assert!(!server.asked().iter().any(|method| method == "resources/subscribe"));
    servers.shut_down().await;
}

#[tokio::test]
async fn all_pages_of_a_list_are_read_up_to_a_limit_where_servers_are_followed() {
    let server = HostileMcpServer::new(HostileMcp::ENDLESS_PAGES);
    let (servers, _events) = start(vec![followed(&server)]);
    servers.settled().await;
    assert_eq!(names(&servers).len(), 1000);
    let (what, why) = &servers.left_out()[0];
    expect!["tools of the MCP server hostile: its list has more than 1000 tools or 4194304 bytes; the first 1000 tools are read"]
        .assert_eq(&format!("{what}: {why}"));
    servers.shut_down().await;
    let server = HostileMcpServer::new(HostileMcp::ENDLESS_PAGES);
    let (servers, _events) = start(vec![spec("hostile", hostile(&server))]);
    servers.settled().await;
    assert_eq!((names(&servers).len(), servers.left_out()), (300, Vec::new()));
    servers.shut_down().await;
}

#[tokio::test]
async fn a_server_that_is_followed_may_know_the_folders() {
    let server = HostileMcpServer::new(HostileMcp::ASKS_ROOTS);
    let (servers, _events) = start(vec![followed(&server)]);
    servers.call("hostile", "ping", None, None).await.unwrap();
    expect![[r#"{"jsonrpc":"2.0","id":"q","result":{"roots":[{"uri":"file:///home/ada/a%20b","name":"a b"}]}}"#]]
        .assert_eq(server.refused().trim_end());
    servers.shut_down().await;
    let server = HostileMcpServer::new(HostileMcp::ASKS_ROOTS);
    let (servers, _events) = start(vec![spec("hostile", hostile(&server))]);
    servers.call("hostile", "ping", None, None).await.unwrap();
    assert_eq!(server.refused().trim_end(), r#"{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}"#);
    servers.shut_down().await;
}

#[tokio::test]
async fn a_server_that_does_not_bear_a_discovery_is_greeted() {
    for kind in [HostileMcp::EMPTY_ANSWERS, HostileMcp::DIES_OF_DISCOVERY] {
        let server = HostileMcpServer::new(kind);
        let auto = ServerSpec { protocol: McpProtocol::Auto, ..spec("hostile", hostile(&server)) };
        let (servers, _events) = start(vec![auto]);
        servers.call("hostile", "ping", None, None).await.unwrap();
        let methods = ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"];
        assert_eq!(server.asked(), methods, "{kind:?}");
        assert_eq!(servers.revisions(), [("hostile".to_owned(), "2025-06-18".to_owned())]);
        servers.shut_down().await;
    }
}

#[tokio::test]
async fn no_kind_waits_for_its_limit_but_a_silent_one() {
    for kind in HostileMcp::ALL {
        let is_silent = matches!(kind, HostileMcp::NEVER_ANSWERS | HostileMcp::WRONG_ID | HostileMcp::NEVER_GREETS);
        let moment = Duration::from_millis(300);
        let server = HostileMcpServer::new(kind);
        let limit = |spec: &mut ServerSpec| {
            if is_silent {
                (spec.tool_timeout, spec.startup_timeout) = (moment, moment);
            }
        };
        let told = learned(&server, 2, limit).await;
        assert_eq!(told.contains("timed out"), is_silent, "{kind:?}: {told}");
        // Nothing of the SDK's own words.
        assert!(!["Error", "Some(", "ErrorData", "Transport ["].iter().any(|word| told.contains(word)), "{told}");
    }
}

#[tokio::test]
async fn no_request_waits_for_a_server_whose_tools_are_known() {
    let server = HostileMcpServer::new(HostileMcp::NEVER_GREETS);
    let known = serde_json::from_value(serde_json::json!({"name": "known", "inputSchema": {}})).unwrap();
    let slow = ServerSpec { last_listed: Some(vec![known]), ..spec("hostile", hostile(&server)) };
    let (servers, _events) = start(vec![slow]);
    servers.settled().await;
    assert!(servers.is_settled());
    assert_eq!(names(&servers), ["known"]);
    servers.shut_down().await;
}

#[tokio::test]
async fn silence_ends_at_the_limit() {
    for kind in [HostileMcp::NEVER_ANSWERS, HostileMcp::WRONG_ID] {
        let server = HostileMcpServer::new(kind);
        let told = learned(&server, 1, |spec| spec.tool_timeout = Duration::from_millis(300)).await;
        assert_eq!(told, "1: timed out awaiting tools/call after 300ms / deadline has elapsed\n", "{kind:?}");
    }
}
