//! What came of the provider's cache for each request, and when each was sent and answered.

use std::time::Duration;

use pellucid_engine::cache_verdict::CacheGrounds;
use pellucid_engine::continuity::Continuity;
use pellucid_model::transport::Attempts;
use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::usage::TokenUsage;
use pellucid_store::moment::Moment;
use pellucid_store::requests::entry;

use crate::replay::LastRequest as LastRecorded;

/// What is known of the requests of a session, as far as its provider's cache is concerned.
#[derive(Debug, Clone, Default)]
pub(super) struct CacheState {
    /// Whether the session sent something before the last request.
    has_before: bool,
    /// Whether the session sent a request at all.
    has_sent: bool,
    /// The request before the last one.
    before: Timed,
    /// The last request that asked for an answer.
    last: Timed,
    /// The request that is being answered.
    flight: Flight,
}

/// When a request was sent and how many tokens the provider counted in it.
#[derive(Debug, Clone, Copy, Default)]
struct Timed {
    sent_at: Option<Moment>,
    tokens: Option<i64>,
}

/// A request that is being answered.
#[derive(Debug, Clone, Default)]
struct Flight {
    sent_at: Option<Moment>,
    first_event_at: Option<Moment>,
    attempts: Attempts,
    cache_write: Option<i64>,
    /// Whether the provider's figures leave open what came from its cache.
    is_read_unknown: bool,
    /// How it continues the last request, if it asks for a summary.
    summary: Option<Option<Continuity>>,
}

impl CacheState {
    /// The state of a session that continues a history.
    pub(super) fn of_history() -> Self {
        Self { has_sent: true, ..Self::default() }
    }

    /// Notes that another request is made.
    pub(super) fn next_request(&mut self) {
        self.has_before = std::mem::replace(&mut self.has_sent, true);
        self.before = std::mem::take(&mut self.last);
    }

    /// Takes over what the record has of the last request of an earlier process.
    pub(super) fn recall(&mut self, recorded: &LastRecorded) {
        self.last = Timed { sent_at: recorded.sent_at, tokens: recorded.tokens };
    }

    /// Notes that a request is sent now, for a summary if its continuity is given. Gives the time.
    pub(super) fn sends(&mut self, summary: Option<Option<Continuity>>) -> Moment {
        let now = Moment::now();
        self.flight = Flight { sent_at: Some(now), summary, ..Flight::default() };
        now
    }

    /// Where attempts to send the request are counted.
    pub(super) fn attempts(&self) -> Attempts {
        self.flight.attempts.clone()
    }

    /// Whether a request is being answered.
    pub(super) fn is_in_flight(&self) -> bool {
        self.flight.sent_at.is_some()
    }

    /// Notes an event of the reply that is not its end.
    pub(super) fn note(&mut self, event: &ReplyEvent) {
        self.flight.first_event_at.get_or_insert_with(Moment::now);
        match event {
            ReplyEvent::CacheWritten(tokens) => self.flight.cache_write = Some(*tokens),
            ReplyEvent::CacheReadUnknown => self.flight.is_read_unknown = true,
            _ => {}
        }
    }

    /// Notes that the whole answer came at once.
    pub(super) fn note_whole(&mut self) {
        self.flight.first_event_at = Some(Moment::now());
    }

    /// What came of the cache for the request that was answered just now. `last` is how the last request for an answer
    /// continues the one before.
    pub(super) fn judge(
        &mut self,
        last: Option<&Continuity>,
        usage: Option<&TokenUsage>,
        kept_for: Option<Duration>,
    ) -> CacheVerdict {
        let (has_before, before, continuity) = match &self.flight.summary {
            Some(continuity) => (self.has_sent, self.last, continuity.as_ref()),
            None => (self.has_before, self.before, last),
        };
        let idle = self.flight.sent_at.zip(before.sent_at).map(|(now, before)| now.since(before));
        let tokens_read = usage.filter(|_| !self.flight.is_read_unknown).map(|usage| usage.cached_input_tokens);
        let tokens_before = before.tokens;
        let verdict = CacheGrounds { has_before, continuity, tokens_before, tokens_read, idle, kept_for }.verdict();
        if !self.is_summary() {
            self.last = Timed { sent_at: self.flight.sent_at, tokens: usage.map(|usage| usage.input_tokens) };
        }
        verdict
    }

    /// Whether the request that is being answered asks for a summary.
    pub(super) fn is_summary(&self) -> bool {
        self.flight.summary.is_some()
    }

    /// What came of the cache for a request beside the conversation that was sent at this time.
    pub(super) fn judge_beside(
        &self,
        sent_at: Moment,
        continuity: Option<&Continuity>,
        usage: Option<&TokenUsage>,
        kept_for: Option<Duration>,
    ) -> CacheVerdict {
        CacheGrounds {
            has_before: self.has_sent,
            continuity,
            tokens_before: self.last.tokens,
            tokens_read: usage.map(|usage| usage.cached_input_tokens),
            idle: self.last.sent_at.map(|before| sent_at.since(before)),
            kept_for,
        }
        .verdict()
    }

    /// What the record gets of every reply that is over.
    pub(super) fn over(&mut self) -> entry::ReplyEntry {
        let Flight { first_event_at, attempts, cache_write, .. } = std::mem::take(&mut self.flight);
        entry::ReplyEntry {
            cache_write,
            first_event_at: first_event_at.map(|moment| moment.to_string()),
            done_at: Some(Moment::now().to_string()),
            attempts: attempts.statuses(),
            ..entry::ReplyEntry::default()
        }
    }
}
