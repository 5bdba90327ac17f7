//! The figures of requests that a session sent: sizes, what the provider charged, and what came of its cache.
//!
//! A walk through the record gives one value for each request; `cache` and `cost` add them up.

use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::requests::entry;

/// The figures of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestFigures {
    /// The number of the request in its session, from 1.
    pub number: usize,
    /// The turn that sent the request.
    pub turn: String,
    /// What the request asks for, in a word: `answer`, `summary` and so on.
    pub purpose: String,
    /// The model that the request asks; empty where the record does not tell.
    pub model: String,
    /// When the request was sent, in UTC.
    pub sent_at: Option<String>,
    /// How many tokens the body has, estimated from its bytes.
    pub tokens: usize,
    /// How many bytes the body has.
    pub bytes: u64,
    /// What the provider charged, if it says.
    pub usage: Option<UsageSplit>,
    /// What came of the provider's cache.
    pub verdict: CacheVerdict,
    /// Where the request diverges from the one before, if it does.
    pub cache_break: Option<CacheBreak>,
    /// Why there was no answer, in a word.
    pub failure: Option<String>,
}

impl RequestFigures {
    /// The figures of a request and its reply, as the record has them.
    pub fn of(number: usize, model: &str, sent: &entry::RequestEntry, reply: Option<&entry::ReplyEntry>) -> Self {
        let bytes = usize::try_from(sent.bytes).unwrap_or(usize::MAX);
        Self {
            number,
            turn: sent.turn.clone(),
            purpose: sent.purpose.word().to_owned(),
            model: model.to_owned(),
            sent_at: sent.sent_at.clone(),
            tokens: tokens_of_bytes(bytes),
            bytes: sent.bytes,
            usage: reply.and_then(entry::ReplyEntry::split),
            verdict: reply.and_then(|reply| reply.cache.clone()).unwrap_or_else(CacheVerdict::unknown),
            cache_break: sent.cache_break.clone(),
            failure: reply.and_then(|reply| reply.failure.clone()),
        }
    }

    /// Whether the request asks for an answer, so that the next one continues it.
    pub fn is_answer(&self) -> bool {
        matches!(self.purpose.as_str(), "answer" | "answer_again")
    }
}
