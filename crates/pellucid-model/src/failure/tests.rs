use expect_test::Expect;
use expect_test::expect;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::*;
use crate::response_headers::tests::parse_headers;

/// A fixture is the status, then headers, then an empty line and the body.
#[track_caller]
fn check_refusal(fixture: &str, expected: Expect) {
    let (head, body) = fixture.split_once("\n\n").unwrap_or((fixture, ""));
    let (status, headers) = head.split_once('\n').unwrap_or((head, ""));
    let now = Timestamp::from_second(1_800_000_000).unwrap().to_zoned(TimeZone::UTC);
    let error = refused(&RefusedResponse {
        status: StatusCode::from_u16(status.parse().unwrap()).unwrap(),
        address: Some("http://box/v1/responses?a=1"),
        headers: &parse_headers(headers),
        body,
        now: &now,
        key: Some(&KeyOrigin::Variable("BOX_KEY".to_owned())),
    });
    let is_unexpected = error.kind == ReplyErrorKind::UnexpectedStatus;
    assert_eq!(error.status, is_unexpected.then(|| status.parse().unwrap()));
    let limit = error.rate_limits.as_ref().and_then(|snapshot| snapshot.limit_id.clone());
    let limit = limit.map(|id| format!(" [{id}]")).unwrap_or_default();
    let retry = if error.is_retryable() { "again" } else { "final" };
    expected.assert_eq(&format!("{:?} {retry}{limit}: {error}", error.kind));
}

#[test]
fn a_bad_request_shows_the_body_as_it_is() {
    check_refusal(
        "400\n\n{\"error\": {\"message\": \"bad\"}}\n",
        expect![[r#"
        InvalidRequest final: {"error": {"message": "bad"}}
    "#]],
    );
    check_refusal("400", expect!["InvalidRequest final: "]);
    check_refusal(
        "400\n\n{\"error\":{\"message\":\"The image data you provided does not represent a valid image. Sorry.\"}}",
        expect![
            "InvalidImage final: The last message holds an image that the model cannot read. Remove it and try again."
        ],
    );
}

#[test]
fn server_errors_have_their_sentences() {
    check_refusal(
        "500\n\n{\"error\":{\"message\":\"trouble\"}}",
        expect!["InternalServer again: The provider's server failed; trying again may help."],
    );
    check_refusal(
        "503\n\n{\"error\":{\"code\":\"server_is_overloaded\"}}",
        expect![
            "ServerOverloaded final: The selected model has no capacity left at the moment. Choose another model or try again later."
        ],
    );
    check_refusal(
        "503\n\n{\"error\":{\"code\":\"slow_down\"}}",
        expect![
            "ServerOverloaded final: The selected model has no capacity left at the moment. Choose another model or try again later."
        ],
    );
    check_refusal(
        "503\n\n{\"error\":{\"code\":\"other\",\"message\":\"closed\"}}",
        expect![
            "UnexpectedStatus again: unexpected status 503 Service Unavailable: closed, url: http://box/v1/responses?a=1"
        ],
    );
}

#[test]
fn too_many_requests_has_three_meanings() {
    check_refusal(
        "429\n\n{\"error\":{\"type\":\"usage_limit_reached\",\"plan_type\":\"pro\",\"resets_at\":1800003600}}",
        expect![
            "UsageLimitReached final [codex]: You've hit your usage limit. Buy credits to continue, or try again at 9:00 AM."
        ],
    );
    check_refusal(
        "429
x-codex-active-limit: codex-bench
x-codex-bench-limit-name: Bench
x-codex-bench-primary-used-percent: 100

{\"error\":{\"type\":\"usage_limit_reached\"}}",
        expect![
            "UsageLimitReached final [codex_bench]: You've hit your usage limit for Bench. Switch to another model now, or try again later."
        ],
    );
    check_refusal(
        "429
x-codex-promo-message: Visit the shop

{\"error\":{\"type\":\"usage_limit_reached\",\"plan_type\":7,\"resets_at\":\"soon\"}}",
        expect!["UsageLimitReached final [codex]: You've hit your usage limit. Visit the shop, or try again later."],
    );
    check_refusal(
        "429\n\n{\"error\":{\"type\":\"usage_not_included\"}}",
        expect!["UsageNotIncluded final: This plan does not include the model's use. Upgrade the plan to continue."],
    );
    check_refusal(
        "429\n\n{\"error\":{\"type\":\"rate_limit_exceeded\"}}",
        expect!["RetryLimit { status: 429 } final: exceeded retry limit, last status: 429 Too Many Requests"],
    );
    check_refusal(
        "429\ncf-ray: ray-1\n\nslow down",
        expect![
            "RetryLimit { status: 429 } final: exceeded retry limit, last status: 429 Too Many Requests, request id: ray-1"
        ],
    );
    check_refusal(
        "429\ncf-ray: ray-1\nx-request-id: id-1\n\nslow down",
        expect![
            "RetryLimit { status: 429 } final: exceeded retry limit, last status: 429 Too Many Requests, request id: id-1"
        ],
    );
}

#[test]
fn other_statuses_tell_what_is_known() {
    check_refusal(
        "401\n\n{\"error\":{\"message\":\"no key\"}}",
        expect!["UnexpectedStatus again: unexpected status 401 Unauthorized: no key, url: http://box/v1/responses?a=1"],
    );
    check_refusal(
        "404\ncf-ray: ray-1\nx-oai-request-id: id-2\n\n  nope \n",
        expect![
            "UnexpectedStatus again: unexpected status 404 Not Found: nope, url: http://box/v1/responses?a=1, cf-ray: ray-1, request id: id-2"
        ],
    );
    check_refusal(
        "502",
        expect![
            "UnexpectedStatus again: unexpected status 502 Bad Gateway: Unknown error, url: http://box/v1/responses?a=1"
        ],
    );
    check_refusal(
        "599\n\n{\"error\":{\"message\":\" \"}}",
        expect![[
            r#"UnexpectedStatus again: unexpected status 599 <unknown status code>: {"error":{"message":" "}}, url: http://box/v1/responses?a=1"#
        ]],
    );
    check_refusal(
        "418\n\n{\"detail\":\"x\"}",
        expect![[
            r#"UnexpectedStatus again: unexpected status 418 I'm a teapot: {"detail":"x"}, url: http://box/v1/responses?a=1"#
        ]],
    );
    check_refusal(
        "307",
        expect![
            "UnexpectedStatus again: unexpected status 307 Temporary Redirect: Unknown error, url: http://box/v1/responses?a=1"
        ],
    );
}

#[test]
fn a_block_by_the_gatekeeper_is_named() {
    check_refusal(
        "403\ncf-ray: ray-1\nx-request-id: id-1\n\n<html>Cloudflare: you are blocked</html>",
        expect![
            "UnexpectedStatus again: Cloudflare blocked the access, which often happens in a restricted region (status 403 Forbidden), url: http://box/v1/responses?a=1, cf-ray: ray-1, request id: id-1"
        ],
    );
    check_refusal(
        "403\n\nblocked",
        expect!["UnexpectedStatus again: unexpected status 403 Forbidden: blocked, url: http://box/v1/responses?a=1"],
    );
}

#[test]
fn long_bodies_are_cut_between_characters() {
    let body = format!("a{}", "é".repeat(700));
    let shown = shown_body(&body, None);
    assert_eq!(shown, format!("a{}...", "é".repeat(499)));
    assert_eq!(shown_body(&"b".repeat(1000), None), "b".repeat(1000));
}
