//! A model's response: a stream of events, or the reason why there is none.
//!
//! It is the same for every API format and for the scripted model; only `pellucid-model` knows the bytes.

use std::time::Duration;

use crate::failure::AnswerCut;
use crate::failure::Failure;
use crate::failure::FailureCode;
use crate::item::Item;
use crate::usage::RateLimitSnapshot;
use crate::usage::TokenUsage;

/// One event of a model's response stream.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyEvent {
    /// The response has begun.
    Created,
    /// An item was announced; its text may still be empty.
    ItemAdded(Item),
    /// An item is complete.
    ItemDone(Item),
    /// More text of the announced message.
    TextDelta(String),
    /// A new paragraph of the reasoning summary begins.
    SummaryPartAdded {
        /// The paragraph, counted from 0.
        summary_index: i64,
    },
    /// More text of the reasoning summary.
    SummaryDelta {
        /// The text that is added.
        delta: String,
        /// The paragraph, counted from 0.
        summary_index: i64,
    },
    /// More text of the raw reasoning.
    RawReasoningDelta {
        /// The text that is added.
        delta: String,
        /// The part of the reasoning, counted from 0.
        content_index: i64,
    },
    /// The model that answers, as the provider names it.
    ServerModel(String),
    /// The state of a rate limit.
    RateLimits(RateLimitSnapshot),
    /// The provider's usage figures already include earlier reasoning.
    ReasoningIncluded,
    /// A token to send back for the rest of the turn.
    TurnState(String),
    /// Tokens of the request that were written to the provider's cache, if the API reports them.
    CacheWritten(i64),
    /// The provider's usage figures do not say how much came from a cache, so a missing figure does not mean 0.
    CacheReadUnknown,
    /// The response is complete; nothing follows.
    Completed {
        /// The provider's id of the response.
        response_id: String,
        /// The token usage, if the provider reports it.
        usage: Option<TokenUsage>,
    },
}

/// Why there is no response, or why it was interrupted.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyError {
    /// The kind of error.
    pub kind: ReplyErrorKind,
    /// The text for programs, in the words that they expect.
    pub message: String,
    /// The code, and the text for people.
    pub failure: Failure,
    /// The HTTP status, if it has no special meaning.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// The state of a rate limit that came with the error.
    pub rate_limits: Option<Box<RateLimitSnapshot>>,
    /// The transport of the request.
    pub via: Via,
}

/// The transport of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Via {
    /// HTTP, with one request for each response.
    #[default]
    Http,
    /// A WebSocket that stays open for a turn.
    WebSocket,
}

/// The kinds of errors of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyErrorKind {
    /// The stream was interrupted, timed out or never began.
    Stream,
    /// An HTTP status without a special meaning.
    UnexpectedStatus,
    /// The HTTP status 500.
    InternalServer,
    /// The provider rejected the request as invalid.
    InvalidRequest,
    /// The provider rejected an image.
    InvalidImage,
    /// The request does not fit into the context window.
    ContextWindowExceeded,
    /// A limit of the plan is reached.
    UsageLimitReached,
    /// The plan does not include any usage.
    UsageNotIncluded,
    /// The account's quota is used up.
    QuotaExceeded,
    /// The provider is overloaded.
    ServerOverloaded,
    /// The provider received too many requests, also after retries.
    RetryLimit {
        /// The HTTP status of the last attempt.
        status: u16,
    },
    /// No key is configured, so nothing was sent.
    MissingKey,
    /// The provider could not be reached, and this process never had a response from it.
    Unreachable,
    /// A limit that the user has set is reached, so nothing was sent.
    Budget,
    /// An error on this side: the provider's settings or the script.
    Local,
}

impl ReplyError {
    /// An error of this kind without further facts.
    pub fn new(kind: ReplyErrorKind, message: impl Into<String>) -> Self {
        let (message, failure) = (message.into(), kind.code().into());
        Self { kind, message, failure, status: None, retry_after: None, rate_limits: None, via: Via::Http }
    }

    /// Adds a text for people.
    #[must_use]
    pub fn plainly(mut self, text: impl Into<String>) -> Self {
        self.failure.plain = Some(text.into());
        self
    }

    /// Replaces the code.
    #[must_use]
    pub fn coded(mut self, code: FailureCode) -> Self {
        self.failure.code = code;
        self
    }

    /// Adds what ended the answer.
    #[must_use]
    pub fn cut_by(mut self, cut: AnswerCut) -> Self {
        self.failure.cut = Some(cut);
        self
    }

    /// The text for people.
    pub fn plain(&self) -> &str {
        self.failure.plain.as_deref().unwrap_or(&self.message)
    }

    /// An interrupted stream, in the words that every client shows.
    pub fn stream(text: impl std::fmt::Display) -> Self {
        Self::new(ReplyErrorKind::Stream, format!("stream disconnected before completion: {text}"))
    }

    /// Whether a retry may help.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, ReplyErrorKind::Stream | ReplyErrorKind::UnexpectedStatus | ReplyErrorKind::InternalServer)
    }

    /// Whether nothing was sent, and nothing would be sent by a retry.
    pub fn is_unsent(&self) -> bool {
        matches!(self.kind, ReplyErrorKind::MissingKey | ReplyErrorKind::Unreachable | ReplyErrorKind::Budget)
    }
}

impl ReplyErrorKind {
    /// The code of an error of this kind, unless more is known of it.
    pub fn code(self) -> FailureCode {
        match self {
            Self::MissingKey => FailureCode::Auth,
            Self::UsageLimitReached | Self::UsageNotIncluded | Self::QuotaExceeded => FailureCode::Quota,
            Self::ContextWindowExceeded => FailureCode::Overflow,
            Self::Budget => FailureCode::Budget,
            Self::Stream
            | Self::UnexpectedStatus
            | Self::InternalServer
            | Self::ServerOverloaded
            | Self::RetryLimit { .. }
            | Self::Unreachable => FailureCode::Provider,
            Self::InvalidRequest | Self::InvalidImage | Self::Local => FailureCode::Other,
        }
    }
}

impl std::fmt::Display for ReplyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReplyError {}
