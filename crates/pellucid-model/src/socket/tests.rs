use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::secret::Secret;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::MockSocket;
use pellucid_testkit::Say;
use serde_json::Value;
use serde_json::json;

use super::*;
use crate::model::Ask;
use crate::model::Model;

const HEAD: &str = r#"{"model":"m","instructions":"i","input":["#;
const TAIL: &str = r#"],"tools":[]}"#;

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn provider(server: &MockServer) -> Provider {
    Provider {
        name: "Mock".to_owned(),
        base_url: Some(server.base_url()),
        experimental_bearer_token: Some(Secret::new("token")),
        request_max_retries: Some(0),
        stream_idle_timeout_ms: Some(5_000),
        ..Provider::default()
    }
}

fn model(server: &MockServer) -> Model {
    Model::http(Transport::with_backoff_base(Duration::ZERO), &provider(server), None, &|_| None)
}

/// Request `number` of a turn, whose beginning the server may know.
fn ask(turn: &str, number: u64, items: &str, known: Option<KnownPrefix>) -> Ask {
    let segments = [HEAD, items, TAIL];
    Ask {
        body: segments.into_iter().map(|segment| Bytes::from(segment.to_owned())).collect(),
        headers: vec![("session_id".to_owned(), "s-1".to_owned()), ("user-agent".to_owned(), "me".to_owned())],
        ticket: None,
        socket: Some(SocketAsk {
            version: SocketVersion::V2,
            turn: turn.into(),
            number: Some(number),
            known,
            wants_timings: false,
        }),
        ..Ask::default()
    }
}

fn say(text: &str) -> Value {
    json!({ "type": "response.output_item.done", "item": {
        "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }],
    } })
}

fn completed(id: &str) -> Value {
    json!({ "type": "response.completed", "response": { "id": id } })
}

/// A round that sends a text and completes the response.
fn round(text: &str, id: &str) -> Vec<Say> {
    vec![Say::Json(say(text)), Say::Json(completed(id))]
}

async fn outline(model: &Model, ask: Ask) -> String {
    let mut reply = match model.ask(ask).await {
        Ok(reply) => reply,
        Err(error) => return format!("{:?} {:?}: {error}\n", error.via, error.kind),
    };
    let mut lines = String::new();
    while let Some(next) = reply.next().await {
        match next {
            Ok(ReplyEvent::ItemDone(item)) => {
                let item = serde_json::to_value(item).unwrap();
                lines.push_str(&format!("item {}\n", item["content"][0]["text"]));
            }
            Ok(ReplyEvent::RateLimits(limits)) => lines.push_str(&format!("{}\n", json!(limits))),
            Ok(event) => lines.push_str(&format!("{event:?}\n")),
            Err(error) => lines.push_str(&format!("{:?} {:?}: {error}\n", error.via, error.kind)),
        }
    }
    lines
}

/// Asks once over a socket that answers like this, and shows the events.
#[track_caller]
fn check_round(round: Vec<Say>, expected: Expect) {
    let server = MockServer::with_sockets([], [MockSocket::open([round])]);
    expected.assert_eq(&run(outline(&model(&server), ask("t", 1, "1", None))));
}

#[test]
fn frames_are_events() {
    check_round(
        vec![Say::Text("{nonsense".to_owned()), Say::Ping, Say::Json(say("Hi.")), Say::Json(completed("r"))],
        expect![[r#"
            item "Hi."
            Completed { response_id: "r", usage: None }
        "#]],
    );
    check_round(
        vec![
            Say::Json(json!({ "type": "codex.rate_limits", "plan_type": "plus", "metered_limit_name": "Codex-Other",
                "rate_limits": { "primary": { "used_percent": 42, "window_minutes": 60, "reset_at": 1_700_000_000 }, "secondary": null },
                "credits": { "has_credits": true, "unlimited": false, "balance": "5" } })),
            Say::Json(json!({ "type": "codex.rate_limits" })),
            Say::Json(json!({ "type": "response.done" })),
        ],
        expect![[r#"
            {"limit_id":"codex_other","limit_name":null,"primary":{"used_percent":42.0,"window_minutes":60,"resets_at":1700000000},"secondary":null,"credits":{"has_credits":true,"unlimited":false,"balance":"5"},"plan_type":"plus"}
            {"limit_id":"codex","limit_name":null,"primary":null,"secondary":null,"credits":null,"plan_type":null}
            Completed { response_id: "", usage: None }
        "#]],
    );
}

#[test]
fn trouble_is_told_as_it_would_be_over_http() {
    let error =
        |status: u16, error: Value| vec![Say::Json(json!({ "type": "error", "status": status, "error": error }))];
    check_round(
        error(400, json!({ "code": "x", "message": "bad" })),
        expect![[r#"
        WebSocket InvalidRequest: {
          "error": {
            "code": "x",
            "message": "bad"
          }
        }
    "#]],
    );
    check_round(
        error(500, json!({ "message": "bad" })),
        expect![[r#"
            WebSocket InternalServer: The provider's server failed; trying again may help.
        "#]],
    );
    check_round(
        error(429, json!({ "type": "usage_limit_reached" })),
        expect![[r#"
        WebSocket UsageLimitReached: You've hit your usage limit. Please try again later.
    "#]],
    );
    check_round(
        vec![Say::Json(
            json!({ "type": "error", "status_code": 404, "headers": { "x-request-id": "q", "n": 5, "o": [] } }),
        )],
        expect![[r#"
            WebSocket UnexpectedStatus: unexpected status 404 Not Found: Unknown error, request id: q
        "#]],
    );
    check_round(
        vec![
            Say::Json(json!({ "type": "error", "error": { "message": "no status" } })),
            Say::Json(json!({ "type": "error", "status": 200 })),
            Say::Json(completed("r")),
        ],
        expect![[r#"
            Completed { response_id: "r", usage: None }
        "#]],
    );
    check_round(
        vec![Say::Json(json!({ "type": "response.failed", "response": { "error": { "message": "oops" } } }))],
        expect![[r#"
            WebSocket Stream: stream disconnected before completion: oops
        "#]],
    );
}

#[test]
fn a_connection_may_end_in_many_ways() {
    check_round(
        vec![Say::Json(say("Hi.")), Say::Close],
        expect![[r#"
        item "Hi."
        WebSocket Stream: stream disconnected before completion: websocket closed by server before response.completed
    "#]],
    );
    check_round(
        vec![Say::Json(say("Hi.")), Say::Drop],
        expect![[r#"
        item "Hi."
        WebSocket Stream: stream disconnected before completion: WebSocket protocol error: Connection reset without closing handshake
    "#]],
    );
    check_round(
        vec![Say::Json(say("Hi.")), Say::Binary(vec![1])],
        expect![[r#"
        item "Hi."
        WebSocket Stream: stream disconnected before completion: unexpected binary websocket event
    "#]],
    );
}

#[test]
fn a_silence_that_lasts_too_long_ends_the_reply() {
    let server = MockServer::with_sockets([], [MockSocket::open([vec![Say::Json(say("Hi."))]])]);
    let model = model(&server);
    run(async {
        let mut reply = model.ask(ask("t", 1, "1", None)).await.unwrap();
        assert!(matches!(reply.next().await, Some(Ok(ReplyEvent::ItemDone(_)))));
        // From here on the clock jumps to the end of every wait.
        tokio::time::pause();
        let error = reply.next().await.unwrap().unwrap_err();
        expect!["stream disconnected before completion: idle timeout waiting for websocket"]
            .assert_eq(&error.to_string());
    });
}

#[test]
fn the_handshake_says_who_we_are_and_what_it_said_holds_for_every_reply() {
    let socket = MockSocket::open([round("One.", "r1"), round("Two.", "r2")])
        .header("x-codex-turn-state", "ts")
        .header("x-reasoning-included", "")
        .header("openai-model", "gpt-z");
    let server = MockServer::with_sockets([], [socket]);
    let model = model(&server);
    let replies = run(async {
        let mut timed = ask("t", 1, "1", None);
        timed.socket.as_mut().unwrap().wants_timings = true;
        let first = outline(&model, timed).await;
        first + &outline(&model, ask("t", 2, "1,2", None)).await
    });
    expect![[r#"
        ServerModel("gpt-z")
        ReasoningIncluded
        TurnState("ts")
        item "One."
        Completed { response_id: "r1", usage: None }
        ServerModel("gpt-z")
        ReasoningIncluded
        TurnState("ts")
        item "Two."
        Completed { response_id: "r2", usage: None }
    "#]]
    .assert_eq(&replies);
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "one handshake");
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("GET", "/v1/responses"));
    for (name, value) in [
        ("upgrade", Some("websocket")),
        ("sec-websocket-version", Some("13")),
        ("openai-beta", Some("responses_websockets=2026-02-06")),
        ("x-responsesapi-include-timing-metrics", Some("true")),
        ("authorization", Some("Bearer token")),
        ("session_id", Some("s-1")),
        ("user-agent", None),
        ("content-type", None),
    ] {
        assert_eq!(requests[0].header(name), value, "{name}");
    }
}

#[test]
fn a_request_that_adds_to_the_last_one_is_sent_as_what_it_adds() {
    let server = MockServer::with_sockets(
        [],
        [
            MockSocket::open([round("a", "r1"), round("b", "r2"), round("c", "r3")]),
            MockSocket::open([round("d", "r4")]),
        ],
    );
    let model = model(&server);
    run(async {
        outline(&model, ask("t", 1, "10", None)).await;
        let known = KnownPrefix { number: 1, bytes: 5, n_returned: 1 };
        outline(&model, ask("t", 2, "10,20,30", Some(known))).await;
        // The server returned one item, not two.
        let known = KnownPrefix { number: 2, bytes: 11, n_returned: 2 };
        outline(&model, ask("t", 3, "10,20,30,40,50", Some(known))).await;
        // Another turn has a separate connection, which remembers nothing.
        let known = KnownPrefix { number: 3, bytes: 2, n_returned: 1 };
        outline(&model, ask("u", 4, "10,20", Some(known))).await;
    });
    let messages: Vec<String> =
        server.messages().iter().map(|text| text.replace("\"model\":\"m\",\"instructions\":\"i\",", "..")).collect();
    assert_eq!(
        messages,
        [
            r#"{"type":"response.create",.."input":[10],"tools":[]}"#,
            r#"{"type":"response.create",.."previous_response_id":"r1","input":[30],"tools":[]}"#,
            r#"{"type":"response.create",.."input":[10,20,30,40,50],"tools":[]}"#,
            r#"{"type":"response.create",.."input":[10,20],"tools":[]}"#,
        ]
    );
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_server_without_websockets_is_asked_over_http_for_good() {
    let server = MockServer::with_sockets(["One.", "Two."].map(MockReply::say), [MockSocket::refused(426)]);
    let model = model(&server);
    run(async {
        for number in 1..=2 {
            let reply = outline(&model, ask("t", number, "1", None)).await;
            assert!(reply.contains("Completed"), "{reply}");
        }
    });
    let methods: Vec<String> = server.requests().into_iter().map(|request| request.method).collect();
    assert_eq!(methods, ["GET", "POST", "POST"]);
}

#[test]
fn another_refusal_is_an_error_that_the_turn_decides_about() {
    let server = MockServer::with_sockets([MockReply::say("Hi.")], [500, 401].map(MockSocket::refused));
    let model = model(&server);
    let replies = run(async {
        let mut replies = String::new();
        for number in 1..=2 {
            replies += &outline(&model, ask("t", number, "1", None)).await;
        }
        model.leave_socket();
        replies + &outline(&model, ask("t", 3, "1", None)).await
    });
    let address = server.base_url().replace("http", "ws");
    expect![[r#"
        WebSocket InternalServer: The provider's server failed; trying again may help.
        WebSocket UnexpectedStatus: unexpected status 401 Unauthorized: no socket, url: BASE/responses
        {"limit_id":"codex","limit_name":null,"primary":null,"secondary":null,"credits":null,"plan_type":null}
        Created
        ItemAdded(Message { id: Some("msg_mock"), role: "assistant", content: [], end_turn: None, phase: None })
        item "Hi."
        CacheReadUnknown
        Completed { response_id: "resp_mock", usage: Some(TokenUsage { input_tokens: 100, cached_input_tokens: 0, output_tokens: 10, reasoning_output_tokens: 0, total_tokens: 110 }) }
    "#]].assert_eq(&replies.replace(&address, "BASE"));
}

#[test]
fn a_reply_that_is_dropped_takes_its_connection_along() {
    let rounds = || MockSocket::open([round("a", "r"), round("b", "r")]);
    let server = MockServer::with_sockets([], [rounds(), rounds(), rounds()]);
    let model = model(&server);
    run(async {
        let mut reply = model.ask(ask("t", 1, "1", None)).await.unwrap();
        reply.next().await.unwrap().unwrap();
        drop(reply);
        outline(&model, ask("t", 2, "1", None)).await;
        model.end_turn();
        outline(&model, ask("t", 3, "1", None)).await;
    });
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_message_that_is_too_long_is_an_error() {
    let server = MockServer::with_sockets([], [MockSocket::open([vec![Say::Text("x".repeat(20_000))]])]);
    let limits = crate::sse::SseLimits { line_bytes_max: 10_000, event_bytes_max: 10_000 };
    let model = Model::http(Transport::with_limits(Duration::ZERO, limits), &provider(&server), None, &|_| None);
    expect![[r#"
        WebSocket Stream: stream disconnected before completion: Space limit exceeded: Message too long: 20000 > 10000
    "#]]
    .assert_eq(&run(outline(&model, ask("t", 1, "1", None))));
}
