//! Against a real socket: retries, headers, silence, and streams cut anywhere.

mod faults;
mod secrets;
mod vectors;
mod wires;

use std::net::TcpListener;

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::json;

use super::*;

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn provider(base_url: String) -> Provider {
    Provider {
        name: "Mock".to_owned(),
        base_url: Some(base_url),
        request_max_retries: Some(2),
        stream_idle_timeout_ms: Some(10_000),
        ..Provider::default()
    }
}

fn model(provider: &Provider) -> Model {
    Model::http(Transport::with_backoff_base(Duration::ZERO), provider, None, &|_| None)
}

fn ask() -> Ask {
    Ask { body: vec![Bytes::from_static(b"{\"a\":"), Bytes::from_static(b"1}")], ..Ask::default() }
}

async fn collect(model: &Model) -> (Vec<ReplyEvent>, Option<ReplyError>) {
    let mut reply = match model.ask(ask()).await {
        Ok(reply) => reply,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut events = Vec::new();
    while let Some(event) = reply.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(reply.next().await.is_none(), "nothing follows an error");
                return (events, Some(error));
            }
        }
    }
    assert!(matches!(events.last(), Some(ReplyEvent::Completed { .. })), "{events:?}");
    (events, None)
}

/// Asks once and prints how many requests that took and how it ended.
#[track_caller]
fn check_ask(replies: impl IntoIterator<Item = MockReply>, expected: Expect) {
    let server = MockServer::start(replies);
    let (_, error) = run(collect(&model(&provider(server.base_url()))));
    let end = error.map_or_else(|| "completed".to_owned(), |error| format!("{:?}: {error}", error.kind));
    let text = format!("{} requests, {end}", server.requests().len());
    expected.assert_eq(&text.replace(&server.base_url(), "BASE"));
}

#[test]
fn server_errors_are_tried_again() {
    check_ask(
        [MockReply::status(500, "x"), MockReply::status(503, "y"), MockReply::say("Done.")],
        expect!["3 requests, completed"],
    );
    check_ask([MockReply::hang_up(), MockReply::say("Done.")], expect!["2 requests, completed"]);
}

#[test]
fn the_last_error_counts() {
    check_ask(
        [MockReply::status(500, "x"), MockReply::status(500, "y"), MockReply::status(502, "z"), MockReply::say("no")],
        expect!["3 requests, UnexpectedStatus: unexpected status 502 Bad Gateway: z, url: BASE/responses"],
    );
    check_ask(
        [MockReply::hang_up(), MockReply::hang_up(), MockReply::status(500, "")],
        expect!["3 requests, InternalServer: The provider's server failed; trying again may help."],
    );
}

#[test]
fn a_request_that_is_to_blame_is_not_sent_again() {
    for status in [301, 400, 401, 403, 404, 408, 429] {
        let server = MockServer::start([MockReply::status(status, "no"), MockReply::say("unseen")]);
        let (_, error) = run(collect(&model(&provider(server.base_url()))));
        assert!(error.is_some(), "{status}");
        assert_eq!(server.requests().len(), 1, "{status}");
    }
}

#[test]
fn broken_streams_are_left_to_the_turn() {
    let whole = MockReply::say("Hello.");
    check_ask(
        [whole.clone().cut_after(100), whole.clone()],
        expect!["1 requests, Stream: stream disconnected before completion: stream closed before response.completed"],
    );
    let server = MockServer::start([whole.clone().break_after(100), whole]);
    let (_, error) = run(collect(&model(&provider(server.base_url()))));
    let error = error.unwrap();
    let beginning =
        "stream disconnected before completion: Transport error: network error: error decoding response body";
    assert!(error.message.starts_with(beginning), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn the_request_has_its_exact_length_and_headers() {
    let server = MockServer::start([MockReply::say("Hello.")]);
    let provider = Provider {
        experimental_bearer_token: Some(Secret::new("token")),
        query_params: Some([("api-version".to_owned(), "1".to_owned())].into()),
        ..provider(server.base_url())
    };
    let headers = vec![("session_id".to_owned(), "s-1".to_owned())];
    run(async {
        let mut reply = model(&provider).ask(Ask { headers, ..ask() }).await.unwrap();
        while reply.next().await.is_some() {}
    });
    let request = &server.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/responses?api-version=1"));
    assert_eq!(request.body, b"{\"a\":1}");
    for (name, value) in [
        ("content-length", "7"),
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("authorization", "Bearer token"),
        ("session_id", "s-1"),
    ] {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    assert_eq!(request.header("transfer-encoding"), None);
}

#[test]
fn a_compressed_request_says_so_and_is_compressed_once_for_all_tries() {
    let server =
        MockServer::start([MockReply::status(500, "x"), MockReply::say("Hello."), MockReply::status(200, "{}")]);
    let model = model(&provider(server.base_url())).compressing(Compression::Zstd);
    run(async {
        let (_, error) = collect(&model).await;
        assert_eq!(error, None);
        model.compact(ask()).await.unwrap_err();
    });
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests[..2] {
        assert_eq!(request.header("content-encoding"), Some("zstd"));
        assert_eq!(request.header("content-length"), Some(&*request.body.len().to_string()));
        assert_eq!(zstd::stream::decode_all(&request.body[..]).unwrap(), b"{\"a\":1}");
    }
    assert_eq!((requests[2].header("content-encoding"), &requests[2].body[..]), (None, &b"{\"a\":1}"[..]));
}

#[test]
fn headers_come_before_the_body() {
    let reply = MockReply::say("Hello.")
        .header("openai-model", "gpt-z")
        .header("x-reasoning-included", "true")
        .header("x-codex-turn-state", "ts-1");
    let server = MockServer::start([reply]);
    let (events, _) = run(collect(&model(&provider(server.base_url()))));
    let lines: String = events.iter().map(|event| format!("{event:?}\n")).collect();
    expect![[r#"
        ServerModel("gpt-z")
        RateLimits(RateLimitSnapshot { limit_id: Some("codex"), limit_name: None, primary: None, secondary: None, credits: None, plan_type: None })
        ReasoningIncluded
        TurnState("ts-1")
        Created
        ItemAdded(Message { id: Some("msg_mock"), role: "assistant", content: [], end_turn: None, phase: None })
        ItemDone(Message { id: Some("msg_mock"), role: "assistant", content: [OutputText { text: "Hello." }], end_turn: None, phase: None })
        CacheReadUnknown
        Completed { response_id: "resp_mock", usage: Some(TokenUsage { input_tokens: 100, cached_input_tokens: 0, output_tokens: 10, reasoning_output_tokens: 0, total_tokens: 110 }) }
    "#]].assert_eq(&lines);
}

#[test]
fn a_connection_is_used_again() {
    let server = MockServer::start([MockReply::say("One."), MockReply::status(500, "x"), MockReply::say("Two.")]);
    let model = model(&provider(server.base_url()));
    run(async {
        for _ in 0..2 {
            let (_, error) = collect(&model).await;
            assert_eq!(error, None);
        }
    });
    let connections: Vec<usize> = server.requests().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 0, 0]);
}

#[test]
fn silence_ends_a_stream() {
    let keep_alive = MockReply::frames([": ping\n\n"]).hang_after(100);
    for reply in [MockReply::say("Hello.").hang_after(80), MockReply::silence(), keep_alive] {
        let server = MockServer::start([reply]);
        let provider = Provider { stream_idle_timeout_ms: Some(30), ..provider(server.base_url()) };
        let (_, error) = run(collect(&model(&provider)));
        let error = error.unwrap();
        assert_eq!(error.message, "stream disconnected before completion: idle timeout waiting for SSE");
        assert!(error.is_retryable());
        assert!(server.requests().len() <= 1, "it is the turn that asks again");
    }
}

#[test]
fn what_follows_a_completed_response_is_not_read() {
    let completed = json!({ "type": "response.completed", "response": { "id": "r" } });
    let late = json!({ "type": "response.output_text.delta", "delta": "late" });
    let server = MockServer::start([MockReply::events([completed, late])]);
    let (events, error) = run(collect(&model(&provider(server.base_url()))));
    assert_eq!((events.len(), error), (2, None));
}

#[test]
fn a_stream_cut_at_any_byte_ends_with_an_error_and_a_beginning_of_the_events() {
    let whole = MockReply::items([json!({
        "type": "message",
        "role": "assistant",
        "content": [{ "type": "output_text", "text": "Grüße 🙂" }],
    })]);
    let n_bytes = whole.body_len();
    let script = (0..n_bytes).map(|at| whole.clone().cut_after(at)).chain([whole.clone()]);
    let server = MockServer::start(script);
    let model = model(&provider(server.base_url()));
    run(async {
        let mut cut = Vec::new();
        for _ in 0..n_bytes {
            cut.push(collect(&model).await);
        }
        let (all, error) = collect(&model).await;
        assert_eq!(error, None);
        for (at, (events, error)) in cut.into_iter().enumerate() {
            assert!(all.starts_with(&events), "cut at {at}: {events:?}");
            let error = error.unwrap_or_else(|| panic!("cut at {at}"));
            assert_eq!(error.kind, ReplyErrorKind::Stream, "cut at {at}");
        }
    });
}

#[test]
fn a_local_server_that_is_not_there_is_named() {
    // A port that was free a moment ago and at which no server listens.
    let address = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let (_, error) = run(collect(&model(&provider(format!("http://{address}/v1")))));
    let error = error.unwrap();
    assert_eq!(
        error.message,
        format!(
            "stream disconnected before completion: nothing listens at {address}; start the model server there, \
             or change the provider's base_url"
        )
    );
    assert_eq!((error.kind, error.is_retryable()), (ReplyErrorKind::Unreachable, false));
}

#[test]
fn a_server_that_answered_before_may_be_starting_again() {
    let server = MockServer::start([MockReply::say("Hello.")]);
    let model = model(&Provider { request_max_retries: Some(0), ..provider(server.base_url()) });
    run(async {
        let (_, error) = collect(&model).await;
        assert_eq!(error, None);
        drop(server);
        let (_, error) = collect(&model).await;
        let error = error.unwrap();
        assert_eq!((error.kind, error.is_retryable()), (ReplyErrorKind::Stream, true), "{error}");
        assert!(error.plain().starts_with("nothing listens at 127.0.0.1:"), "{error}");
    });
}

#[test]
fn settings_that_do_not_work_are_told_when_asked() {
    let provider = Provider { env_key: Some("KEY".to_owned()), ..provider("http://127.0.0.1:1".to_owned()) };
    let (_, error) = run(collect(&model(&provider)));
    assert_eq!(error.unwrap().message, "Missing environment variable: `KEY`.");
}

#[test]
fn a_dropped_reply_closes_its_connection() {
    let server = MockServer::start([MockReply::say("Hello.").hang_after(60), MockReply::say("Two.")]);
    let model = model(&provider(server.base_url()));
    run(async {
        let mut reply = model.ask(ask()).await.unwrap();
        reply.next().await.unwrap().unwrap();
        drop(reply);
        let (_, error) = collect(&model).await;
        assert_eq!(error, None);
    });
    let connections: Vec<usize> = server.requests().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 1]);
}

#[test]
fn https_sets_tls_up_and_fails_like_any_connection() {
    let server = MockServer::start([]);
    let base_url = server.base_url().replace("http://", "https://");
    let provider = Provider { request_max_retries: Some(0), ..provider(base_url) };
    let (_, error) = run(collect(&model(&provider)));
    let error = error.unwrap();
    assert_eq!(error.kind, ReplyErrorKind::Stream);
    assert!(error.message.starts_with("stream disconnected before completion: error sending request"), "{error}");
}
