use expect_test::Expect;
use expect_test::expect;

use super::*;

/// A fixture is the provider as JSON, then `NAME=value` lines of the environment, where `session` is the session's key
/// and `> name: value` is a header that the caller gives.
#[track_caller]
fn check_endpoint(fixture: &str, expected: Expect) {
    let mut lines = fixture.trim().lines();
    let provider: Provider = serde_json::from_str(lines.next().unwrap()).unwrap();
    let mut variables = Vec::new();
    let mut given = Vec::new();
    for line in lines {
        if let Some(header) = line.strip_prefix("> ") {
            let (name, value) = header.split_once(": ").unwrap();
            given.push((name.to_owned(), value.to_owned()));
        } else {
            variables.push(line.split_once('=').unwrap());
        }
    }
    let env = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let actual = match Endpoint::resolve(&provider, env("session").map(Secret::new), &env) {
        Ok(endpoint) => {
            let mut lines = vec![endpoint.address().to_owned()];
            let headers = endpoint.request_headers(&given);
            lines.extend(headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())));
            lines[1..].sort();
            lines.join("\n") + "\n"
        }
        Err(error) => format!("{:?}: {error}\n", error.kind),
    };
    expected.assert_eq(&actual);
}

#[test]
fn the_wire_is_appended_and_nothing_is_encoded() {
    check_endpoint(
        r#"{"name":"Mock","base_url":"http://box/v1//","query_params":{"b":"x%20y","a":"1&2"}}"#,
        expect![[r#"
            http://box/v1/responses?a=1&2&b=x%20y
            accept: text/event-stream
            content-type: application/json
        "#]],
    );
}

#[test]
fn every_wire_has_its_path_and_its_way_to_carry_a_key() {
    check_endpoint(
        r#"{"name":"M","base_url":"http://b/v1/","wire_api":"chat","env_key":"KEY"}
KEY=k"#,
        expect![[r#"
            http://b/v1/chat/completions
            accept: text/event-stream
            authorization: Bearer k
            content-type: application/json
        "#]],
    );
    check_endpoint(
        r#"{"name":"M","wire_api":"messages","env_key":"KEY","query_params":{"beta":"true"}}
KEY=k"#,
        expect![[r#"
            https://api.anthropic.com/v1/messages?beta=true
            accept: text/event-stream
            anthropic-version: 2023-06-01
            content-type: application/json
            x-api-key: k
        "#]],
    );
    check_endpoint(
        r#"{"name":"M","base_url":"http://b","wire_api":"messages","experimental_bearer_token":"t","http_headers":{"anthropic-version":"2030-01-01"}}"#,
        expect![[r#"
            http://b/messages
            accept: text/event-stream
            anthropic-version: 2030-01-01
            authorization: Bearer t
            content-type: application/json
        "#]],
    );
    check_endpoint(
        r#"{"name":"M","base_url":"http://b","wire_api":"messages"}
session=sk-openai"#,
        expect![[r#"
            http://b/messages
            accept: text/event-stream
            anthropic-version: 2023-06-01
            content-type: application/json
        "#]],
    );
}

#[test]
fn no_address_means_the_public_service() {
    check_endpoint(
        r#"{"name":"OpenAI"}
session=sk-session"#,
        expect![[r#"
            https://api.openai.com/v1/responses
            accept: text/event-stream
            authorization: Bearer sk-session
            content-type: application/json
        "#]],
    );
}

#[test]
fn provider_headers_skip_what_is_unset_blank_or_invalid() {
    check_endpoint(
        r#"{"name":"M","base_url":"http://b","http_headers":{"X-Team":"harbour","bad name":"x","X-Bad":"a\nb"},"env_http_headers":{"X-Region":"REGION","X-Absent":"ABSENT","X-Blank":"BLANK"}}
REGION=north
BLANK= "#,
        expect![[r#"
            http://b/responses
            accept: text/event-stream
            content-type: application/json
            x-region: north
            x-team: harbour
        "#]],
    );
}

#[test]
fn what_a_provider_may_and_may_not_replace() {
    check_endpoint(
        r#"{"name":"M","base_url":"http://b","http_headers":{"Accept":"text/x","Content-Type":"text/y","User-Agent":"mine","originator":"me","session_id":"theirs","Authorization":"Basic q"}}
> session_id: s1
> user-agent: ua
> originator: us
> bad name: x"#,
        expect![[r#"
            http://b/responses
            accept: text/event-stream
            authorization: Basic q
            content-type: text/y
            originator: me
            session_id: s1
            user-agent: mine
        "#]],
    );
}

#[test]
fn the_variable_comes_before_the_token_before_the_session() {
    let all = r#"{"name":"M","base_url":"http://b","env_key":"KEY","experimental_bearer_token":"token"}
KEY=from-variable
session=from-session"#;
    check_endpoint(
        all,
        expect![[r#"
            http://b/responses
            accept: text/event-stream
            authorization: Bearer from-variable
            content-type: application/json
        "#]],
    );
    check_endpoint(
        &all.replace(r#""env_key":"KEY","#, ""),
        expect![[r#"
            http://b/responses
            accept: text/event-stream
            authorization: Bearer token
            content-type: application/json
        "#]],
    );
}

#[test]
fn a_missing_or_blank_variable_is_an_error_with_instructions() {
    check_endpoint(
        r#"{"name":"M","base_url":"http://b","env_key":"KEY","experimental_bearer_token":"token"}"#,
        expect![[r#"
            MissingKey: Missing environment variable: `KEY`.
        "#]],
    );
    check_endpoint(
        r#"{"name":"M","base_url":"http://b","env_key":"KEY","env_key_instructions":"Get one."}
KEY=  "#,
        expect![[r#"
            MissingKey: Missing environment variable: `KEY`. Get one.
        "#]],
    );
}

#[test]
fn an_address_that_is_none_is_told() {
    check_endpoint(
        r#"{"name":"M","base_url":"box/v1"}"#,
        expect![[r#"
            Local: the address `box/v1/responses` of provider `M` is not valid: relative URL without a base
        "#]],
    );
    check_endpoint(
        r#"{"name":"M","base_url":"ftp://box"}"#,
        expect![[r#"
            Local: the address `ftp://box/responses` of provider `M` must begin with http:// or https://
        "#]],
    );
}

#[test]
fn keys_are_not_printed() {
    let provider = Provider {
        base_url: Some("http://b".to_owned()),
        experimental_bearer_token: Some(Secret::new("sk-123")),
        ..Provider::default()
    };
    let endpoint = Endpoint::resolve(&provider, None, &|_| None).unwrap();
    let printed = format!("{endpoint:?} {:?}", endpoint.request_headers(&[]));
    assert!(!printed.contains("sk-123"), "{printed}");
}

#[track_caller]
fn check_hint(base_url: &str, expected: Option<&str>) {
    let provider = Provider { base_url: Some(base_url.to_owned()), ..Provider::default() };
    let endpoint = Endpoint::resolve(&provider, None, &|_| None).unwrap();
    assert_eq!(endpoint.refused_hint().as_deref(), expected);
}

#[test]
fn local_servers_come_with_how_to_start_them() {
    check_hint(
        "http://localhost:11434/v1",
        Some("nothing listens at localhost:11434; start Ollama with `ollama serve`, or change the provider's base_url"),
    );
    check_hint(
        "http://127.0.0.1:1234/v1",
        Some(
            "nothing listens at 127.0.0.1:1234; start LM Studio with `lms server start`, or change the provider's base_url",
        ),
    );
    check_hint(
        "http://[::1]:8080",
        Some("nothing listens at [::1]:8080; start the model server there, or change the provider's base_url"),
    );
    check_hint("https://api.openai.com/v1", None);
}
