//! How a failed reply is written in a script: in a server's format, or as it was recorded.

use std::time::Duration;

use http::StatusCode;
use pellucid_protocol::failure::Failure;
use pellucid_protocol::failure::FailureCode;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::Via;
use pellucid_protocol::usage::RateLimitSnapshot;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use super::Ending;

#[derive(Deserialize)]
#[serde(try_from = "ErrorFields")]
pub(super) struct ErrorForm(pub Ending);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table that says how the reply fails")]
struct ErrorFields {
    status: Option<u16>,
    body: Option<Value>,
    failed: Option<String>,
    message: Option<String>,
    incomplete: Option<String>,
    cut: Option<bool>,
    kind: Option<KindForm>,
    retry_after_ms: Option<u64>,
    rate_limits: Option<RateLimitSnapshot>,
    #[serde(default)]
    via: ViaForm,
    code: Option<FailureCode>,
    plain: Option<String>,
}

impl TryFrom<ErrorFields> for ErrorForm {
    type Error = String;

    fn try_from(fields: ErrorFields) -> Result<Self, String> {
        if let Some(kind) = fields.kind {
            return fields.recorded(kind).map(Ending::Error).map(Self);
        }
        let ErrorFields {
            status,
            body,
            failed,
            message,
            incomplete,
            cut,
            kind: _,
            retry_after_ms,
            rate_limits,
            via: _,
            code,
            plain,
        } = fields;
        if retry_after_ms.is_some() || rate_limits.is_some() || code.is_some() || plain.is_some() {
            return Err(
                "`retry_after_ms`, `rate_limits`, `code` and `plain` go with the `kind` of a recorded error".to_owned()
            );
        }
        let ending = match (status, body, failed, message, incomplete, cut) {
            (Some(status), body, None, None, None, None) => status_ending(status, body)?,
            (None, None, failed, message, None, None) if failed.is_some() || message.is_some() => {
                Ending::Failed { code: failed, message }
            }
            (None, None, None, None, Some(reason), None) => Ending::Incomplete(reason),
            (None, None, None, None, None, Some(true)) => Ending::Cut,
            _ => {
                return Err("an `error` has one of `status` (with `body`), `failed` (with `message`), \
                            `incomplete`, `cut = true`, `kind` (with `message`)"
                    .to_owned());
            }
        };
        Ok(Self(ending))
    }
}

impl ErrorFields {
    fn recorded(self, kind: KindForm) -> Result<ReplyError, String> {
        if self.body.is_some() || self.failed.is_some() || self.incomplete.is_some() || self.cut.is_some() {
            return Err(
                "an `error` with a `kind` has `message`, `status`, `retry_after_ms`, `rate_limits`, `via`, `code`, \
                 `plain`"
                    .to_owned(),
            );
        }
        let message = self.message.ok_or("an `error` with a `kind` needs its `message`")?;
        let kind = kind.read(self.status);
        Ok(ReplyError {
            failure: Failure { code: self.code.unwrap_or(kind.code()), plain: self.plain, cut: None },
            retry_after: self.retry_after_ms.map(Duration::from_millis),
            rate_limits: self.rate_limits.map(Box::new),
            via: self.via.into(),
            ..ReplyError::new(kind, message)
        })
    }
}

fn status_ending(status: u16, body: Option<Value>) -> Result<Ending, String> {
    let status = StatusCode::from_u16(status)
        .ok()
        .filter(|status| status.as_u16() >= 300)
        .ok_or_else(|| format!("{status} is not the status of an error: 300 to 999 are"))?;
    let body = match body {
        None => String::new(),
        Some(Value::String(text)) => text,
        Some(json) => json.to_string(),
    };
    Ok(Ending::Status { status, body })
}

/// An error in the format of recordings.
#[derive(Debug, Serialize)]
pub(crate) struct RecordedError {
    kind: KindForm,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_limits: Option<RateLimitSnapshot>,
    #[serde(skip_serializing_if = "ViaForm::is_http")]
    via: ViaForm,
    /// The code, if it differs from the kind's.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<FailureCode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plain: Option<String>,
}

impl From<ReplyError> for RecordedError {
    fn from(error: ReplyError) -> Self {
        let (kind, status) = KindForm::of(error.kind);
        Self {
            kind,
            status,
            message: error.message,
            retry_after_ms: error.retry_after.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
            rate_limits: error.rate_limits.map(|limits| *limits),
            via: error.via.into(),
            code: Some(error.failure.code).filter(|code| *code != error.kind.code()),
            plain: error.failure.plain,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ViaForm {
    #[default]
    Http,
    WebSocket,
}

impl ViaForm {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_http(&self) -> bool {
        *self == Self::Http
    }
}

impl From<Via> for ViaForm {
    fn from(via: Via) -> Self {
        match via {
            Via::Http => Self::Http,
            Via::WebSocket => Self::WebSocket,
        }
    }
}

impl From<ViaForm> for Via {
    fn from(form: ViaForm) -> Self {
        match form {
            ViaForm::Http => Self::Http,
            ViaForm::WebSocket => Self::WebSocket,
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindForm {
    Stream,
    UnexpectedStatus,
    InternalServer,
    InvalidRequest,
    InvalidImage,
    ContextWindowExceeded,
    UsageLimitReached,
    UsageNotIncluded,
    QuotaExceeded,
    ServerOverloaded,
    RetryLimit,
    MissingKey,
    Unreachable,
    Budget,
    Local,
}

impl KindForm {
    fn of(kind: ReplyErrorKind) -> (Self, Option<u16>) {
        let form = match kind {
            ReplyErrorKind::Stream => Self::Stream,
            ReplyErrorKind::UnexpectedStatus => Self::UnexpectedStatus,
            ReplyErrorKind::InternalServer => Self::InternalServer,
            ReplyErrorKind::InvalidRequest => Self::InvalidRequest,
            ReplyErrorKind::InvalidImage => Self::InvalidImage,
            ReplyErrorKind::ContextWindowExceeded => Self::ContextWindowExceeded,
            ReplyErrorKind::UsageLimitReached => Self::UsageLimitReached,
            ReplyErrorKind::UsageNotIncluded => Self::UsageNotIncluded,
            ReplyErrorKind::QuotaExceeded => Self::QuotaExceeded,
            ReplyErrorKind::ServerOverloaded => Self::ServerOverloaded,
            ReplyErrorKind::RetryLimit { status } => return (Self::RetryLimit, Some(status)),
            ReplyErrorKind::MissingKey => Self::MissingKey,
            ReplyErrorKind::Unreachable => Self::Unreachable,
            ReplyErrorKind::Budget => Self::Budget,
            ReplyErrorKind::Local => Self::Local,
        };
        (form, None)
    }

    fn read(self, status: Option<u16>) -> ReplyErrorKind {
        match self {
            Self::Stream => ReplyErrorKind::Stream,
            Self::UnexpectedStatus => ReplyErrorKind::UnexpectedStatus,
            Self::InternalServer => ReplyErrorKind::InternalServer,
            Self::InvalidRequest => ReplyErrorKind::InvalidRequest,
            Self::InvalidImage => ReplyErrorKind::InvalidImage,
            Self::ContextWindowExceeded => ReplyErrorKind::ContextWindowExceeded,
            Self::UsageLimitReached => ReplyErrorKind::UsageLimitReached,
            Self::UsageNotIncluded => ReplyErrorKind::UsageNotIncluded,
            Self::QuotaExceeded => ReplyErrorKind::QuotaExceeded,
            Self::ServerOverloaded => ReplyErrorKind::ServerOverloaded,
            Self::RetryLimit => ReplyErrorKind::RetryLimit { status: status.unwrap_or(429) },
            Self::MissingKey => ReplyErrorKind::MissingKey,
            Self::Unreachable => ReplyErrorKind::Unreachable,
            Self::Budget => ReplyErrorKind::Budget,
            Self::Local => ReplyErrorKind::Local,
        }
    }
}
