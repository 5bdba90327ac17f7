//! Requests that were made again under another setting, each with the recorded answer that it gets.

use std::sync::Arc;

use super::CostedRequest;
use super::ReadText;
use super::ledger;

/// A request as it would have been sent under another setting.
#[derive(Debug, Clone)]
pub struct RemadeRequest {
    /// The id of the session.
    pub session: Arc<str>,
    /// The number of the recorded request whose answer it gets.
    pub number: usize,
    /// The model that the request asks.
    pub model: String,
    /// What the model would have read, in the order of reading.
    pub read: Arc<[ReadText]>,
}

/// How many tokens a provider counts for the bytes of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenScale {
    tokens: i64,
    bytes: usize,
}

impl TokenScale {
    /// The scale of the recorded requests that have figures.
    pub fn of(requests: &[CostedRequest]) -> Self {
        let mut scale = Self { tokens: 0, bytes: 0 };
        for request in requests.iter().filter(|request| !request.read.is_empty()) {
            if let Some(usage) = &request.figures.usage {
                scale.tokens = scale.tokens.saturating_add(ledger::input(usage));
                scale.bytes += n_bytes(&request.read);
            }
        }
        scale
    }

    /// The input tokens of a request that a model would read instead of a recorded one: those that the provider counted,
    /// more or less the tokens of the bytes that are more or less. Absent if the provider gave no figures.
    pub fn tokens(&self, recorded: &CostedRequest, read: &[ReadText]) -> Option<i64> {
        let counted = ledger::input(recorded.figures.usage.as_ref()?);
        let (before, now) = (n_bytes(&recorded.read) as i128, n_bytes(read) as i128);
        let (tokens, bytes) = (i128::from(self.tokens), self.bytes.max(1) as i128);
        let more = ((now - before) * tokens * 2 + bytes).div_euclid(bytes * 2);
        Some(i64::try_from(i128::from(counted) + more).unwrap_or(i64::MAX).max(0))
    }
}

fn n_bytes(read: &[ReadText]) -> usize {
    read.iter().map(|text| text.bytes.len()).sum()
}
