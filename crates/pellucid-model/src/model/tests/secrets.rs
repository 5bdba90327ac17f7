//! A server that repeats what it was sent: no text shows the key.

use super::*;

const KEY: &str = "sk-planted-0123456789";
const HEADER: &str = "planted-header-value";
const PARAMETER: &str = "planted parameter/value";

/// A text that repeats every secret, and the login of a proxy.
fn echo() -> String {
    format!("no: {KEY} {HEADER} {PARAMETER} planted%20parameter/value http://ada:planted-login@proxy:1/")
}

fn secretive(base_url: String, wire_api: WireApi) -> Provider {
    Provider {
        wire_api,
        env_key: Some("KEY".to_owned()),
        query_params: Some([("api-key".to_owned(), PARAMETER.to_owned())].into()),
        http_headers: Some([("x-auth".to_owned(), format!("Bearer {HEADER}"))].into()),
        request_max_retries: Some(0),
        ..provider(base_url)
    }
}

fn known(provider: &Provider) -> Model {
    let env = |name: &str| (name == "KEY").then(|| KEY.to_owned());
    Model::http(Transport::with_backoff_base(Duration::ZERO), provider, None, &env)
}

#[track_caller]
fn check(wire: WireApi, reply: MockReply) {
    let server = MockServer::start([reply]);
    let (_, error) = run(collect(&known(&secretive(server.base_url(), wire))));
    let error = error.unwrap();
    assert!(!format!("{error:?}").contains("planted"), "{error:?}");
}

#[test]
fn a_refusal_is_told_without_what_is_secret() {
    for status in [301, 400, 401, 402, 403, 404, 409, 418, 422, 429, 500, 502, 503] {
        for wire in [WireApi::Responses, WireApi::Chat, WireApi::Messages] {
            check(wire, MockReply::status(status, &echo()));
            check(wire, MockReply::status(status, &json!({ "error": { "message": echo() } }).to_string()));
            check(wire, MockReply::status(status, "{}").header("x-request-id", KEY));
        }
    }
}

#[test]
fn an_error_in_a_stream_is_told_without_what_is_secret() {
    let stream = |event: serde_json::Value| {
        MockReply::status(200, &format!("event: error\ndata: {event}\n\n")).header("content-type", "text/event-stream")
    };
    let error = json!({ "type": "overloaded_error", "code": "invalid_prompt", "message": echo() });
    check(WireApi::Responses, stream(json!({ "type": "response.failed", "response": { "id": "r", "error": error } })));
    check(WireApi::Responses, stream(json!({ "type": "error", "error": error })));
    check(WireApi::Chat, stream(json!({ "error": error })));
    check(WireApi::Messages, stream(json!({ "type": "error", "error": error })));
}

#[test]
fn summaries_and_vectors_fail_without_telling_what_is_secret() {
    let replies = [401, 200].map(|status| MockReply::status(status, &echo()));
    let server = MockServer::start(replies.clone().into_iter().chain(replies));
    let model = known(&secretive(server.base_url(), WireApi::Responses));
    run(async {
        for _ in 0..2 {
            let error = model.compact(ask()).await.unwrap_err();
            assert!(!error.message.contains("planted"), "{error}");
        }
        for _ in 0..2 {
            let error = model.embed("m", &["x".to_owned()], &[], &Attempts::default()).await.unwrap_err();
            assert!(!error.message.contains("planted"), "{error}");
        }
    });
}

#[test]
fn an_address_that_cannot_be_used_is_told_without_what_is_secret() {
    for base_url in
        ["ftp://ada:planted-login@host", "http://ada:planted-login@:0x", "http://ada:planted-login@127.0.0.1:1"]
    {
        let provider = secretive(base_url.to_owned(), WireApi::Responses);
        let (_, error) = run(collect(&known(&provider)));
        let error = error.unwrap();
        assert!(!error.message.contains("planted"), "{error}");
    }
}
