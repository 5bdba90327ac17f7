//! Why there is no reply: the kinds of errors and their texts.
//!
//! A table from statuses and codes to kinds. The fixed sentences are here and nowhere else. The message of an error has
//! the words that programs know from the Codex CLI; beside it is the text for people, with the server's words and what
//! to do.
//!
//! Not here: whether to retry (the kind decides) and errors inside a stream ([`crate::responses`]).

use http::HeaderMap;
use http::StatusCode;
use jiff::Zoned;
use pellucid_protocol::failure::FailureCode;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use serde_json::Value;

use crate::key_origin::KeyOrigin;
use crate::overflow;
use crate::rate_limit;
use crate::rate_limit::text;
use crate::usage_limit;

/// How much of a body that is not JSON is shown.
const BODY_BYTES_SHOWN: usize = 1000;

/// The text in place of a body without a message.
const UNKNOWN: &str = "Unknown error";

/// The phrase by which a server rejects an image.
const INVALID_IMAGE_PHRASE: &str = "The image data you provided does not represent a valid image";

/// An HTTP response that is not a reply.
#[derive(Debug, Clone, Copy)]
pub struct RefusedResponse<'a> {
    /// The status of the response.
    pub status: StatusCode,
    /// The address of the request, if that helps a reader.
    pub address: Option<&'a str>,
    /// The headers of the response.
    pub headers: &'a HeaderMap,
    /// The body of the response.
    pub body: &'a str,
    /// The time here, for sentences about "when".
    pub now: &'a Zoned,
    /// Where the key of the request comes from, if that is known.
    pub key: Option<&'a KeyOrigin>,
}

/// The error that a response which is not a reply means.
pub fn refused(refusal: &RefusedResponse<'_>) -> ReplyError {
    let json: Option<Value> = serde_json::from_str(refusal.body).ok();
    let error = meaning(refusal, json.as_ref());
    let code = code(refusal, json.as_ref(), &error);
    let error = error.coded(code);
    match plain(refusal, json.as_ref(), &error) {
        Some(text) => error.plainly(text),
        None => error,
    }
}

fn meaning(refusal: &RefusedResponse<'_>, json: Option<&Value>) -> ReplyError {
    let error = |key: &str| json.and_then(|json| json.get("error")?.get(key)?.as_str());
    match refusal.status {
        StatusCode::BAD_REQUEST if refusal.body.contains(INVALID_IMAGE_PHRASE) => invalid_image(),
        StatusCode::BAD_REQUEST => ReplyError::new(ReplyErrorKind::InvalidRequest, refusal.body),
        StatusCode::INTERNAL_SERVER_ERROR => internal_server(),
        StatusCode::SERVICE_UNAVAILABLE if matches!(error("code"), Some("server_is_overloaded" | "slow_down")) => {
            server_overloaded()
        }
        StatusCode::TOO_MANY_REQUESTS => match error("type") {
            Some("usage_limit_reached") => usage_limit_reached(refusal, json),
            Some("usage_not_included") => usage_not_included(),
            _ => retry_limit(refusal),
        },
        _ => unexpected_status(refusal, error("message")),
    }
}

/// The code for programs: statuses and codes are finer than the kinds.
fn code(refusal: &RefusedResponse<'_>, json: Option<&Value>, error: &ReplyError) -> FailureCode {
    let says = |phrases: &[&str]| {
        let body = refusal.body.to_ascii_lowercase();
        phrases.iter().any(|phrase| body.contains(phrase))
    };
    let is_refusal = matches!(error.kind, ReplyErrorKind::InvalidRequest | ReplyErrorKind::UnexpectedStatus);
    match refusal.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => FailureCode::Auth,
        StatusCode::PAYMENT_REQUIRED => FailureCode::Quota,
        status if status.is_client_error() && is_quota(json) => FailureCode::Quota,
        StatusCode::TOO_MANY_REQUESTS if says(&["exceeded your current quota"]) => FailureCode::Quota,
        StatusCode::BAD_REQUEST if says(&["credit balance is too low"]) => FailureCode::Quota,
        status if status.is_client_error() && is_refusal && overflow::is_overflow(refusal.body) => {
            FailureCode::Overflow
        }
        StatusCode::REQUEST_TIMEOUT => FailureCode::Provider,
        status if status.is_client_error() && is_refusal => FailureCode::Other,
        _ => error.failure.code,
    }
}

/// Whether the code in a body says that the account's quota is used up, as OpenAI, Anthropic and compatible servers
/// write it.
fn is_quota(json: Option<&Value>) -> bool {
    const CODES: [&str; 3] = ["insufficient_quota", "billing_hard_limit_reached", "billing_error"];
    let error = |key: &str| json.and_then(|json| json.get("error")?.get(key)?.as_str());
    ["code", "type"].into_iter().filter_map(error).any(|code| CODES.contains(&code))
}

/// The text for people: what happened, in the server's words, and what to do. `None` if the message says that.
fn plain(refusal: &RefusedResponse<'_>, json: Option<&Value>, error: &ReplyError) -> Option<String> {
    let RefusedResponse { status, headers, .. } = *refusal;
    let key = || refusal.key.map(KeyOrigin::advice).unwrap_or_default();
    let (what, advice) = match (error.kind, error.failure.code) {
        (
            ReplyErrorKind::UsageLimitReached | ReplyErrorKind::UsageNotIncluded | ReplyErrorKind::ServerOverloaded,
            _,
        ) => return None,
        (_, FailureCode::Auth) if is_blocked(refusal) => return None,
        (_, FailureCode::Auth) if status == StatusCode::UNAUTHORIZED => ("the provider refused the key", key()),
        (_, FailureCode::Auth) => ("the provider does not allow this", key()),
        (_, FailureCode::Quota) => (
            "the account's quota is used up",
            "check the plan and the billing details of the account that the key belongs to".to_owned(),
        ),
        (_, FailureCode::Overflow) => {
            ("the request does not fit into the model's context window", OVERFLOW_ADVICE.to_owned())
        }
        (ReplyErrorKind::InvalidImage, _) => ("the provider refused an image", "remove it and try again".to_owned()),
        (ReplyErrorKind::RetryLimit { .. }, _) => {
            ("the provider's rate limit is reached", wait_advice(text(headers, "retry-after").as_deref()))
        }
        (ReplyErrorKind::InternalServer, _) => ("the provider's server failed", String::new()),
        (_, _) if status == StatusCode::NOT_FOUND => (
            "the provider does not know the address or the model",
            "check the model's name, and base_url and wire_api of the provider".to_owned(),
        ),
        (_, _) if status.is_client_error() => ("the provider refused the request", String::new()),
        (_, _) if status.is_redirection() => (
            "the provider redirects the request, and redirects are not followed",
            "write the new address as base_url".to_owned(),
        ),
        (_, _) => ("the provider's server failed", String::new()),
    };
    let mut text = format!("{what} ({status}): {}{}", server_words(refusal.body, json), facts(refusal));
    if !advice.is_empty() {
        text.push_str("; ");
        text.push_str(&advice);
    }
    Some(text)
}

/// What to do about a request that does not fit into the context window.
pub const OVERFLOW_ADVICE: &str =
    "start a new session, or make this one shorter with `pellucid compact` or a smaller prompt";

fn wait_advice(retry_after: Option<&str>) -> String {
    match retry_after.and_then(|value| value.trim().parse::<f64>().ok()).filter(|seconds| seconds.is_finite()) {
        Some(seconds) => format!("the provider asks to wait {seconds} s before the next request"),
        None => "wait a little before you try again".to_owned(),
    }
}

/// The server's words: the message in its JSON, or its text.
fn server_words(body: &str, json: Option<&Value>) -> String {
    let inner = |json: &Value| -> Option<String> {
        let error = json.get("error").unwrap_or(json);
        let text = error.as_str().or_else(|| ["message", "detail"].iter().find_map(|key| error.get(*key)?.as_str()));
        text.map(str::to_owned)
    };
    let message = json.and_then(inner);
    let start = body.trim_start().get(..20).unwrap_or(body).to_ascii_lowercase();
    if message.is_none() && (start.starts_with("<!doctype html") || start.starts_with("<html")) {
        return "it answered with a web page".to_owned();
    }
    match shown_body(body, message.as_deref()) {
        unknown if unknown == UNKNOWN => "it gave no reason".to_owned(),
        words => words,
    }
}

/// The error of the HTTP status 500.
fn internal_server() -> ReplyError {
    ReplyError::new(ReplyErrorKind::InternalServer, "The provider's server failed; trying again may help.")
}

/// The provider rejected an image.
fn invalid_image() -> ReplyError {
    ReplyError::new(
        ReplyErrorKind::InvalidImage,
        "The last message holds an image that the model cannot read. Remove it and try again.",
    )
}

/// The request does not fit into the context window.
pub(crate) fn context_window_exceeded() -> ReplyError {
    ReplyError::new(
        ReplyErrorKind::ContextWindowExceeded,
        "The conversation has outgrown the model's context window. Start a new session or clear earlier history.",
    )
}

/// The plan does not include any usage.
pub(crate) fn usage_not_included() -> ReplyError {
    ReplyError::new(
        ReplyErrorKind::UsageNotIncluded,
        "This plan does not include the model's use. Upgrade the plan to continue.",
    )
}

/// The account's quota is used up.
pub(crate) fn quota_exceeded() -> ReplyError {
    ReplyError::new(
        ReplyErrorKind::QuotaExceeded,
        "The quota is used up. Check the account's plan and billing details.",
    )
}

/// The provider is overloaded.
pub(crate) fn server_overloaded() -> ReplyError {
    ReplyError::new(
        ReplyErrorKind::ServerOverloaded,
        "The selected model has no capacity left at the moment. Choose another model or try again later.",
    )
}

fn usage_limit_reached(refusal: &RefusedResponse<'_>, json: Option<&Value>) -> ReplyError {
    let error = |key: &str| json.and_then(|json| json.get("error")?.get(key));
    let limit = text(refusal.headers, "x-codex-active-limit");
    let snapshot = rate_limit::snapshot(refusal.headers, limit.as_deref().unwrap_or(rate_limit::DEFAULT_LIMIT));
    let message = usage_limit::sentence(&usage_limit::Situation {
        limit_name: snapshot.limit_name.as_deref(),
        promo: text(refusal.headers, "x-codex-promo-message").as_deref(),
        plan: error("plan_type").and_then(Value::as_str),
        resets_at: error("resets_at").and_then(Value::as_i64),
        now: refusal.now,
    });
    ReplyError { rate_limits: Some(Box::new(snapshot)), ..ReplyError::new(ReplyErrorKind::UsageLimitReached, message) }
}

fn retry_limit(refusal: &RefusedResponse<'_>) -> ReplyError {
    let mut message = format!("exceeded retry limit, last status: {}", refusal.status);
    if let Some(id) = request_id(refusal.headers).or_else(|| text(refusal.headers, "cf-ray")) {
        message.push_str(&format!(", request id: {id}"));
    }
    ReplyError::new(ReplyErrorKind::RetryLimit { status: refusal.status.as_u16() }, message)
}

fn unexpected_status(refusal: &RefusedResponse<'_>, error_message: Option<&str>) -> ReplyError {
    let RefusedResponse { status, body, .. } = *refusal;
    let mut message = if is_blocked(refusal) {
        format!("Cloudflare blocked the access, which often happens in a restricted region (status {status})")
    } else {
        format!("unexpected status {status}: {}", shown_body(body, error_message))
    };
    message.push_str(&facts(refusal));
    ReplyError { status: Some(status.as_u16()), ..ReplyError::new(ReplyErrorKind::UnexpectedStatus, message) }
}

fn is_blocked(refusal: &RefusedResponse<'_>) -> bool {
    let RefusedResponse { status, body, .. } = *refusal;
    status == StatusCode::FORBIDDEN && body.contains("Cloudflare") && body.contains("blocked")
}

/// The address and the ids by which the provider finds the request, as far as they are known.
fn facts(refusal: &RefusedResponse<'_>) -> String {
    let facts = [
        ("url", refusal.address.map(str::to_owned)),
        ("cf-ray", text(refusal.headers, "cf-ray")),
        ("request id", request_id(refusal.headers)),
    ];
    let known = facts.into_iter().filter_map(|(name, value)| Some(format!(", {name}: {}", value?)));
    known.collect()
}

fn shown_body(body: &str, error_message: Option<&str>) -> String {
    if let Some(message) = error_message.map(str::trim).filter(|message| !message.is_empty()) {
        return message.to_owned();
    }
    let body = body.trim();
    if body.is_empty() {
        UNKNOWN.to_owned()
    } else if body.len() > BODY_BYTES_SHOWN {
        format!("{}...", &body[..body.floor_char_boundary(BODY_BYTES_SHOWN)])
    } else {
        body.to_owned()
    }
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    text(headers, "x-request-id").or_else(|| text(headers, "x-oai-request-id"))
}

#[cfg(test)]
mod tests;
