//! Refusals of the interface: a code from a closed list, and a message for people.

use http::StatusCode;
use serde_json::json;

use crate::reply::Reply;

/// The kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// A query or body has something that the path does not take.
    BadRequest,
    /// The caller may not do this.
    Forbidden,
    /// The path, session, request or call does not exist.
    NotFound,
    /// The path exists and does not take the method.
    MethodNotAllowed,
    /// The bytes of a request cannot be proved, so nothing is shown of them.
    NotProvable,
    /// The answer would be longer than answers are.
    TooLarge,
    /// A command that answers the same question would end with status 3.
    Unknown,
    /// The range of bytes is not one of the body.
    BadRange,
    /// Too much is asked at once.
    Busy,
    /// Pellucid itself failed; its log says why.
    Internal,
}

impl ErrorCode {
    /// Every code with its word and its status.
    pub const ALL: [(Self, &str, StatusCode); 10] = [
        (Self::BadRequest, "bad_request", StatusCode::BAD_REQUEST),
        (Self::Forbidden, "forbidden", StatusCode::FORBIDDEN),
        (Self::NotFound, "not_found", StatusCode::NOT_FOUND),
        (Self::MethodNotAllowed, "method_not_allowed", StatusCode::METHOD_NOT_ALLOWED),
        (Self::NotProvable, "not_provable", StatusCode::CONFLICT),
        (Self::TooLarge, "too_large", StatusCode::PAYLOAD_TOO_LARGE),
        (Self::Unknown, "unknown", StatusCode::UNPROCESSABLE_ENTITY),
        (Self::BadRange, "bad_range", StatusCode::RANGE_NOT_SATISFIABLE),
        (Self::Busy, "busy", StatusCode::SERVICE_UNAVAILABLE),
        (Self::Internal, "internal", StatusCode::INTERNAL_SERVER_ERROR),
    ];

    fn row(self) -> (Self, &'static str, StatusCode) {
        let internal = (Self::Internal, "internal", StatusCode::INTERNAL_SERVER_ERROR);
        Self::ALL.into_iter().find(|(code, ..)| *code == self).unwrap_or(internal)
    }
}

/// A refusal with its message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The kind of refusal.
    pub code: ErrorCode,
    /// The message for people.
    pub message: String,
}

impl ApiError {
    /// A refusal of this kind.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The caller asked for something that the path does not take.
    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::BadRequest, message)
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// Something failed here. The caller learns what was being done, and the log why it failed.
    pub fn internal(doing: &'static str, error: &dyn std::fmt::Display) -> Self {
        tracing::warn!(doing, %error, "an answer of the inspector failed");
        Self::new(ErrorCode::Internal, format!("{doing} failed; the log of the inspector says why"))
    }

    /// The refusal as a line of JSON.
    pub fn line(&self) -> String {
        let value = json!({ "error": { "code": self.code.row().1, "message": self.message } });
        format!("{value}\n")
    }

    /// The refusal as an answer.
    pub fn reply(&self) -> Reply {
        Reply::json(self.line().into_bytes()).with_status(self.code.row().2)
    }
}
