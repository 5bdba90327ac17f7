//! What comes back from a model: a stream of events, or the reason why not.
//!
//! The same for every wire and for the scripted model; only `pellucid-model` knows the bytes.

use std::time::Duration;

use crate::failure::Failure;
use crate::failure::FailureCode;
use crate::item::Item;
use crate::usage::RateLimitSnapshot;
use crate::usage::TokenUsage;

/// One thing a model's stream said.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyEvent {
    /// The stream begins.
    Created,
    /// An item was announced; its text may still be empty.
    ItemAdded(Item),
    /// An item is complete.
    ItemDone(Item),
    /// More text of the announced message.
    TextDelta(String),
    /// A new paragraph of the summary begins.
    SummaryPartAdded {
        /// Which.
        summary_index: i64,
    },
    /// More text of the summary.
    SummaryDelta {
        /// The text.
        delta: String,
        /// Of which paragraph.
        summary_index: i64,
    },
    /// More of the raw thoughts.
    RawReasoningDelta {
        /// The text.
        delta: String,
        /// Of which part.
        content_index: i64,
    },
    /// The model that really answers.
    ServerModel(String),
    /// A rate limit's state.
    RateLimits(RateLimitSnapshot),
    /// The server's usage figures already count earlier reasoning.
    ReasoningIncluded,
    /// A token to send back for the rest of the turn.
    TurnState(String),
    /// Tokens of the request that went into the provider's cache, where the wire tells.
    CacheWritten(i64),
    /// The server's usage figures do not say how much came from a cache; none that they name is no figure.
    CacheReadUnknown,
    /// The reply is complete; nothing follows.
    Completed {
        /// The server's id of the response.
        response_id: String,
        /// What it cost, if the server says.
        usage: Option<TokenUsage>,
    },
}

/// Why a reply did not come, or broke off.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyError {
    /// What kind of trouble.
    pub kind: ReplyErrorKind,
    /// The text that programs are given, in the words that they expect.
    pub message: String,
    /// The code, and the text for people.
    pub failure: Failure,
    /// The status, if one came that means nothing special.
    pub status: Option<u16>,
    /// The server's wish how long to wait.
    pub retry_after: Option<Duration>,
    /// A rate limit's state that came with it.
    pub rate_limits: Option<Box<RateLimitSnapshot>>,
    /// What the request went over.
    pub via: Via,
}

/// What a request goes over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Via {
    /// HTTP, a request for each reply.
    #[default]
    Http,
    /// A WebSocket that stays open for a turn.
    WebSocket,
}

/// The kinds of trouble with a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyErrorKind {
    /// The stream broke, timed out or never began.
    Stream,
    /// A status that means nothing special.
    UnexpectedStatus,
    /// 500.
    InternalServer,
    /// The request was refused as wrong.
    InvalidRequest,
    /// A picture was refused.
    InvalidImage,
    /// The prompt is too long.
    ContextWindowExceeded,
    /// A plan's limit is reached.
    UsageLimitReached,
    /// The plan has no usage.
    UsageNotIncluded,
    /// The account has no money left.
    QuotaExceeded,
    /// The model is overloaded.
    ServerOverloaded,
    /// Too many requests.
    RetryLimit {
        /// The last status.
        status: u16,
    },
    /// There is no key, so nothing was sent.
    MissingKey,
    /// No connection to the provider could be made, and this process never had an answer from it.
    Unreachable,
    /// A limit of the person's own is reached, so nothing was sent.
    Budget,
    /// Something on this side: the provider's settings or the script.
    Local,
}

impl ReplyError {
    /// An error of this kind without further facts.
    pub fn new(kind: ReplyErrorKind, message: impl Into<String>) -> Self {
        let (message, failure) = (message.into(), kind.code().into());
        Self { kind, message, failure, status: None, retry_after: None, rate_limits: None, via: Via::Http }
    }

    /// The same with a text for people.
    #[must_use]
    pub fn plainly(mut self, text: impl Into<String>) -> Self {
        self.failure.plain = Some(text.into());
        self
    }

    /// The same with another code.
    #[must_use]
    pub fn coded(mut self, code: FailureCode) -> Self {
        self.failure.code = code;
        self
    }

    /// The text for people.
    pub fn plain(&self) -> &str {
        self.failure.plain.as_deref().unwrap_or(&self.message)
    }

    /// A broken stream, in the words that every face shows.
    pub fn stream(text: impl std::fmt::Display) -> Self {
        Self::new(ReplyErrorKind::Stream, format!("stream disconnected before completion: {text}"))
    }

    /// Whether asking again may help.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, ReplyErrorKind::Stream | ReplyErrorKind::UnexpectedStatus | ReplyErrorKind::InternalServer)
    }

    /// Whether nothing went out, and nothing would if it were asked again.
    pub fn is_unsent(&self) -> bool {
        matches!(self.kind, ReplyErrorKind::MissingKey | ReplyErrorKind::Unreachable | ReplyErrorKind::Budget)
    }
}

impl ReplyErrorKind {
    /// The code of a failure of this kind, unless more is known of it.
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
