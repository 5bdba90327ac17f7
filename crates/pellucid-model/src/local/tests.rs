use std::net::TcpListener;

use expect_test::Expect;
use expect_test::expect;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;

use super::*;

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Makes a server ready that answers like this, and shows the requests, the progress and the outcome.
#[track_caller]
fn check_ready(server: LocalServer, answers: &[(u16, &str)], expected: Expect) {
    let mock = MockServer::start(answers.iter().map(|(status, body)| MockReply::status(*status, body)));
    let provider = Provider { base_url: Some(mock.base_url()), ..Provider::default() };
    let mut lines = String::new();
    let mut report = |fetching: &Fetching| lines.push_str(&format!("reported {fetching:?}\n"));
    let end = run(make_ready(server, &provider, server.default_model(), &mut report));
    for request in mock.requests() {
        let body = String::from_utf8(request.body).unwrap();
        lines.push_str(format!("{} {} {body}", request.method, request.path).trim_end());
        lines.push('\n');
    }
    lines.push_str(&end.map_or_else(|error| error.to_string(), |()| "ready".to_owned()));
    expected.assert_eq(&format!("{}\n", lines.replace(&mock.base_url(), "BASE")));
}

#[test]
fn a_server_that_has_the_model_is_ready() {
    let models = r#"{"data":[{"id":"openai/gpt-oss-20b"}]}"#;
    check_ready(
        LocalServer::LmStudio,
        &[(200, models)],
        expect![[r#"
        GET /v1/models
        ready
    "#]],
    );
    let tags = r#"{"models":[{"name":"gpt-oss:20b"}]}"#;
    check_ready(
        LocalServer::Ollama,
        &[(200, "{}"), (200, r#"{"version":"0.13.4"}"#), (200, tags)],
        expect![[r#"
        GET /v1/models
        GET /api/version
        GET /api/tags
        ready
    "#]],
    );
}

#[test]
fn what_is_missing_is_named_with_what_to_do() {
    check_ready(
        LocalServer::LmStudio,
        &[(200, r#"{"data":[{"id":"other"}]}"#)],
        expect![[r#"
        GET /v1/models
        LM Studio does not have the model openai/gpt-oss-20b
        hint: fetch it with `lms get openai/gpt-oss-20b`
    "#]],
    );
    check_ready(
        LocalServer::LmStudio,
        &[(500, "")],
        expect![[r#"
        GET /v1/models
        no LM Studio server answers at BASE (status 500 Internal Server Error)
        hint: start it with `lms server start` (to be had at https://lmstudio.ai/download), or set CODEX_OSS_BASE_URL to where it is
    "#]],
    );
    check_ready(
        LocalServer::Ollama,
        &[(200, "<html>")],
        expect![[r#"
        GET /v1/models
        no Ollama server answers at BASE (the answer cannot be read: expected value at line 1 column 1)
        hint: start it with `ollama serve` (to be had at https://ollama.com/download), or set CODEX_OSS_BASE_URL to where it is
    "#]],
    );
    check_ready(
        LocalServer::Ollama,
        &[(200, "{}"), (200, r#"{"version":"0.13.3"}"#)],
        expect![[r#"
        GET /v1/models
        GET /api/version
        Ollama 0.13.3 is too old: 0.13.4 or newer is needed
        hint: update it from https://ollama.com/download
    "#]],
    );
}

#[test]
fn ollama_fetches_a_model_that_it_lacks() {
    let tags = r#"{"models":[{"name":"other"}]}"#;
    let pull = "{\"status\":\"pulling manifest\"}\nnonsense\n\n{\"status\":\"pulling abc\",\"total\":100,\"completed\":50}\n{\"status\":\"success\"}";
    let answers = [(200, "{}"), (404, ""), (200, tags), (200, pull)];
    check_ready(
        LocalServer::Ollama,
        &answers,
        expect![[r#"
        reported Fetching { status: "pulling manifest", bytes: None }
        reported Fetching { status: "pulling abc", bytes: Some((50, 100)) }
        GET /v1/models
        GET /api/version
        GET /api/tags
        POST /api/pull {"model":"gpt-oss:20b","stream":true}
        ready
    "#]],
    );
    let answers = [(200, "{}"), (404, ""), (200, tags), (200, "{\"error\":\"no such model\"}\n")];
    check_ready(
        LocalServer::Ollama,
        &answers,
        expect![[r#"
        GET /v1/models
        GET /api/version
        GET /api/tags
        POST /api/pull {"model":"gpt-oss:20b","stream":true}
        Ollama could not fetch the model gpt-oss:20b: no such model
        hint: try `ollama pull gpt-oss:20b`
    "#]],
    );
    let answers = [(200, "{}"), (404, ""), (200, tags), (200, "{\"status\":\"x\"}\n")];
    check_ready(
        LocalServer::Ollama,
        &answers,
        expect![[r#"
        reported Fetching { status: "x", bytes: None }
        GET /v1/models
        GET /api/version
        GET /api/tags
        POST /api/pull {"model":"gpt-oss:20b","stream":true}
        Ollama could not fetch the model gpt-oss:20b: the server stopped before it was done
        hint: try `ollama pull gpt-oss:20b`
    "#]],
    );
}

#[test]
fn a_list_that_cannot_be_had_is_no_obstacle() {
    check_ready(
        LocalServer::Ollama,
        &[(200, "{}"), (404, ""), (500, "")],
        expect![[r#"
        GET /v1/models
        GET /api/version
        GET /api/tags
        ready
    "#]],
    );
}

#[test]
fn a_server_that_is_not_there_is_named_with_its_address() {
    // A port that was free a moment ago and at which no server listens.
    let address = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let provider = Provider { base_url: Some(format!("http://{address}/v1")), ..Provider::default() };
    let error = run(make_ready(LocalServer::Ollama, &provider, "m", &mut |_| {})).unwrap_err();
    let text = error.to_string().replace(&address.to_string(), "HOST");
    assert!(text.starts_with("no Ollama server answers at http://HOST/v1 (error sending request"), "{text}");
    assert!(text.contains("hint: start it with `ollama serve`"), "{text}");
}

#[test]
fn versions_are_compared_by_their_numbers() {
    let is_old = |text: &str| Version::parse(text).map(|version| version < OLLAMA_VERSION_MIN);
    for (text, expected) in [
        ("0.13.3", Some(true)),
        ("0.13.4", Some(false)),
        ("0.13.4-rc1", Some(true)),
        ("v0.13.10", Some(false)),
        ("0.9.99", Some(true)),
        ("1.0.0+build", Some(false)),
        ("0.13", None),
        ("nightly", None),
        ("", None),
    ] {
        assert_eq!(is_old(text), expected, "{text}");
    }
}

#[test]
fn a_name_without_a_tag_means_the_latest() {
    assert!(is_same("a:latest", "a") && is_same("a:1", "a:1"));
    assert!(!is_same("a:1", "a") && !is_same("a:latest", "a:1"));
}
