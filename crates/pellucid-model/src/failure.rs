//! Why there is no reply: the kinds of trouble and the words for them.
//!
//! A table from statuses and codes to kinds. The words of the fixed sentences are here and nowhere
//! else.
//!
//! Not here: whether to ask again (the kind says it) and errors inside a stream
//! ([`crate::responses`]).

use http::HeaderMap;
use http::StatusCode;
use jiff::Zoned;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use serde_json::Value;

use crate::rate_limit;
use crate::rate_limit::text;
use crate::usage_limit;

/// How much of a body that is not JSON is shown.
const BODY_BYTES_SHOWN: usize = 1000;

/// The phrase by which a server says that a picture is none.
const INVALID_IMAGE_PHRASE: &str = "The image data you provided does not represent a valid image";

/// A response that is no reply.
#[derive(Debug, Clone, Copy)]
pub struct Refusal<'a> {
    /// Its status.
    pub status: StatusCode,
    /// Where it came from, if that helps a reader.
    pub address: Option<&'a str>,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its body.
    pub body: &'a str,
    /// The time here, for sentences about "when".
    pub now: &'a Zoned,
}

/// What a response that is no reply means.
pub fn refused(refusal: &Refusal<'_>) -> ReplyError {
    let json: Option<Value> = serde_json::from_str(refusal.body).ok();
    let error = |key: &str| json.as_ref().and_then(|json| json.get("error")?.get(key)?.as_str());
    match refusal.status {
        StatusCode::BAD_REQUEST if refusal.body.contains(INVALID_IMAGE_PHRASE) => invalid_image(),
        StatusCode::BAD_REQUEST => ReplyError::new(ReplyErrorKind::InvalidRequest, refusal.body),
        StatusCode::INTERNAL_SERVER_ERROR => internal_server(),
        StatusCode::SERVICE_UNAVAILABLE if matches!(error("code"), Some("server_is_overloaded" | "slow_down")) => {
            server_overloaded()
        }
        StatusCode::TOO_MANY_REQUESTS => match error("type") {
            Some("usage_limit_reached") => usage_limit_reached(refusal, json.as_ref()),
            Some("usage_not_included") => usage_not_included(),
            _ => retry_limit(refusal),
        },
        _ => unexpected_status(refusal, error("message")),
    }
}

/// 500.
fn internal_server() -> ReplyError {
    ReplyError::new(
        ReplyErrorKind::InternalServer,
        "The model's server is under heavy demand and fails now and then; trying again may help.",
    )
}

/// A picture was refused.
fn invalid_image() -> ReplyError {
    ReplyError::new(
        ReplyErrorKind::InvalidImage,
        "The last message holds an image that the model cannot read. Remove it and try again.",
    )
}

/// The prompt is too long.
pub(crate) fn context_window_exceeded() -> ReplyError {
    ReplyError::new(
        ReplyErrorKind::ContextWindowExceeded,
        "The conversation has outgrown the model's context window. Start a new session or clear earlier history.",
    )
}

/// The plan has no usage.
pub(crate) fn usage_not_included() -> ReplyError {
    ReplyError::new(
        ReplyErrorKind::UsageNotIncluded,
        "This plan does not include the model's use. Upgrade the plan to go on.",
    )
}

/// The account has no money left.
pub(crate) fn quota_exceeded() -> ReplyError {
    ReplyError::new(
        ReplyErrorKind::QuotaExceeded,
        "The quota is used up. Check the account's plan and billing details.",
    )
}

/// The model is overloaded.
pub(crate) fn server_overloaded() -> ReplyError {
    ReplyError::new(
        ReplyErrorKind::ServerOverloaded,
        "The selected model has no capacity left at the moment. Choose another model or try again later.",
    )
}

fn usage_limit_reached(refusal: &Refusal<'_>, json: Option<&Value>) -> ReplyError {
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
    ReplyError { rate_limits: Some(snapshot), ..ReplyError::new(ReplyErrorKind::UsageLimitReached, message) }
}

fn retry_limit(refusal: &Refusal<'_>) -> ReplyError {
    let mut message = format!("exceeded retry limit, last status: {}", refusal.status);
    if let Some(id) = request_id(refusal.headers).or_else(|| text(refusal.headers, "cf-ray")) {
        message.push_str(&format!(", request id: {id}"));
    }
    ReplyError::new(ReplyErrorKind::RetryLimit { status: refusal.status.as_u16() }, message)
}

fn unexpected_status(refusal: &Refusal<'_>, error_message: Option<&str>) -> ReplyError {
    let Refusal { status, headers, body, .. } = *refusal;
    let blocked = status == StatusCode::FORBIDDEN && body.contains("Cloudflare") && body.contains("blocked");
    let mut message = if blocked {
        format!("Cloudflare blocked the access, which often happens in a restricted region (status {status})")
    } else {
        format!("unexpected status {status}: {}", shown_body(body, error_message))
    };
    let facts = [
        ("url", refusal.address.map(str::to_owned)),
        ("cf-ray", text(headers, "cf-ray")),
        ("request id", request_id(headers)),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            message.push_str(&format!(", {name}: {value}"));
        }
    }
    ReplyError::new(ReplyErrorKind::UnexpectedStatus, message)
}

fn shown_body(body: &str, error_message: Option<&str>) -> String {
    if let Some(message) = error_message.map(str::trim).filter(|message| !message.is_empty()) {
        return message.to_owned();
    }
    let body = body.trim();
    if body.is_empty() {
        "Unknown error".to_owned()
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
