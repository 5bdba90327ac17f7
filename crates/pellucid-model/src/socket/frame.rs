//! Decodes a frame of the server: an event of the wire, a rate limit, or an error.

use std::collections::VecDeque;

use http::HeaderMap;
use http::HeaderName;
use http::HeaderValue;
use http::StatusCode;
use jiff::Zoned;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::usage::Credits;
use pellucid_protocol::usage::RateLimitSnapshot;
use pellucid_protocol::usage::RateLimitWindow;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::failure;
use crate::failure::RefusedResponse;
use crate::rate_limit::DEFAULT_LIMIT;
use crate::rate_limit::limit_id;
use crate::responses::ResponsesDecoder;

/// Appends the events of a frame. An error in it counts at once, because the connection, unlike a stream, would stay
/// open.
pub(super) fn read(
    frame: &[u8],
    decoder: &mut ResponsesDecoder,
    events: &mut VecDeque<ReplyEvent>,
) -> Result<(), ReplyError> {
    match kind(frame).as_deref() {
        Some("error") => match serde_json::from_slice::<ErrorFrame>(frame).ok().and_then(ErrorFrame::refusal) {
            Some(error) => Err(error),
            None => Ok(()),
        },
        Some("codex.rate_limits") => {
            events.extend(serde_json::from_slice(frame).ok().map(LimitsFrame::event));
            Ok(())
        }
        _ => {
            decoder.decode(frame, events);
            decoder.take_failure().map_or(Ok(()), Err)
        }
    }
}

fn kind(frame: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Frame {
        #[serde(rename = "type")]
        kind: String,
    }
    serde_json::from_slice(frame).ok().map(|frame: Frame| frame.kind)
}

#[derive(Deserialize)]
struct ErrorFrame {
    #[serde(default)]
    status: Option<u16>,
    #[serde(default)]
    status_code: Option<u16>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    headers: Option<Map<String, Value>>,
}

impl ErrorFrame {
    /// The error that the frame represents. A frame without a status represents none.
    fn refusal(self) -> Option<ReplyError> {
        let status =
            StatusCode::from_u16(self.status.or(self.status_code)?).ok().filter(|status| !status.is_success())?;
        let headers: HeaderMap = self.headers.iter().flatten().filter_map(header).collect();
        let body = self.error.map(|error| format!("{:#}", json!({ "error": error }))).unwrap_or_default();
        let refusal =
            RefusedResponse { status, address: None, headers: &headers, body: &body, now: &Zoned::now(), key: None };
        Some(failure::refused(&refusal))
    }
}

fn header((name, value): (&String, &Value)) -> Option<(HeaderName, HeaderValue)> {
    let value = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return None,
    };
    Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
}

#[derive(Deserialize)]
struct LimitsFrame {
    #[serde(default)]
    plan_type: Option<String>,
    #[serde(default)]
    rate_limits: Option<Windows>,
    #[serde(default)]
    credits: Option<Credits>,
    #[serde(default)]
    metered_limit_name: Option<String>,
    #[serde(default)]
    limit_name: Option<String>,
}

#[derive(Deserialize)]
struct Windows {
    #[serde(default)]
    primary: Option<Window>,
    #[serde(default)]
    secondary: Option<Window>,
}

#[derive(Deserialize)]
struct Window {
    used_percent: f64,
    #[serde(default)]
    window_minutes: Option<i64>,
    #[serde(default)]
    reset_at: Option<i64>,
}

impl LimitsFrame {
    fn event(self) -> ReplyEvent {
        let (primary, secondary) = self.rate_limits.map_or((None, None), |it| (it.primary, it.secondary));
        let name = self.metered_limit_name.or(self.limit_name);
        let window = |window: Window| RateLimitWindow {
            used_percent: window.used_percent,
            window_minutes: window.window_minutes,
            resets_at: window.reset_at,
        };
        ReplyEvent::RateLimits(RateLimitSnapshot {
            limit_id: Some(limit_id(name.as_deref().unwrap_or(DEFAULT_LIMIT))),
            limit_name: None,
            primary: primary.map(window),
            secondary: secondary.map(window),
            credits: self.credits,
            plan_type: self.plan_type,
        })
    }
}
