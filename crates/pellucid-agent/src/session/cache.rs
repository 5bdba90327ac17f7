//! What came of the provider's cache for each request, and when each was sent and answered.

use std::time::Duration;

use pellucid_engine::cache_verdict::Grounds;
use pellucid_model::transport::Attempts;
use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::usage::TokenUsage;
use pellucid_store::moment::Moment;
use pellucid_store::requests::entry;

use super::*;
use crate::replay::LastRequest as LastRecorded;

/// What is known of the requests of a session, as far as its provider's cache is concerned.
#[derive(Debug, Default)]
pub(super) struct CacheState {
    /// Whether the session sent something before the last request.
    has_before: bool,
    /// Whether it sent something at all.
    has_sent: bool,
    /// The request before the last one.
    before: Answered,
    /// The last one.
    last: Answered,
    /// The one that is being answered.
    flight: Flight,
}

/// When a request was sent and how many tokens the provider counted in it.
#[derive(Debug, Clone, Copy, Default)]
struct Answered {
    sent_at: Option<Moment>,
    tokens: Option<i64>,
}

/// A request that is being answered.
#[derive(Debug, Default)]
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
        self.last = Answered { sent_at: recorded.sent_at, tokens: recorded.tokens };
    }

    /// Notes that a request goes out now. Gives when that is.
    pub(super) fn sends(&mut self, summary: Option<Option<Continuity>>) -> Moment {
        let now = Moment::now();
        self.flight = Flight { sent_at: Some(now), summary, ..Flight::default() };
        now
    }

    /// The grounds of the verdict on the request that is being answered.
    fn grounds<'a>(&'a self, last: Option<&'a Continuity>, kept_for: Option<Duration>) -> Grounds<'a> {
        let (has_before, before, continuity) = match &self.flight.summary {
            Some(continuity) => (self.has_sent, self.last, continuity.as_ref()),
            None => (self.has_before, self.before, last),
        };
        let idle = self.flight.sent_at.zip(before.sent_at).map(|(now, before)| now.since(before));
        Grounds { has_before, continuity, tokens_before: before.tokens, tokens_read: None, idle, kept_for }
    }
}

impl Session {
    /// Where the attempts to send the request that goes out are noted.
    pub(crate) fn attempts(&self) -> Attempts {
        self.cache.flight.attempts.clone()
    }

    /// How a request that is no continuation of the conversation, such as one for a summary, continues the last request.
    pub(super) fn continuity_beside(&mut self, frame: &Frame, request: &Request) -> Option<Continuity> {
        self.recall_before();
        let order = self.setup.provider.reading_order();
        let next = continuity::Next { frame, request, items: &[], order, left: None, cause: None };
        let Some(last) = self.last.as_ref() else {
            return self.recorded.as_ref()?.continued_by(&next);
        };
        let mark = last.account.as_ref()?.marks.last()?;
        let marks = vec![(mark.n_items, mark.end, mark.beginning.short())];
        Recorded { frame: last.frame.clone(), marks }.continued_by(&next)
    }

    /// What came of the provider's cache for a request beside the conversation that was sent at this time.
    pub(super) fn judge_beside(
        &self,
        sent_at: Moment,
        continuity: Option<&Continuity>,
        usage: Option<&TokenUsage>,
    ) -> CacheVerdict {
        let CacheState { has_sent, last, .. } = &self.cache;
        Grounds {
            has_before: *has_sent,
            continuity,
            tokens_before: last.tokens,
            tokens_read: usage.map(|usage| usage.cached_input_tokens),
            idle: last.sent_at.map(|before| sent_at.since(before)),
            kept_for: self.setup.provider.cache_kept(),
        }
        .verdict()
    }

    /// Notes what an answer cost: in the record, and for clients that ask for it.
    pub(crate) fn note_reply(&mut self, event: &ReplyEvent) -> Option<EventMessage> {
        let flight = &mut self.cache.flight;
        flight.first_event_at.get_or_insert_with(Moment::now);
        match event {
            ReplyEvent::CacheWritten(tokens) => {
                flight.cache_write = Some(*tokens);
                None
            }
            ReplyEvent::CacheReadUnknown => {
                flight.is_read_unknown = true;
                None
            }
            ReplyEvent::Completed { response_id, usage } => {
                self.note_answer(Some(response_id.clone()).filter(|id| !id.is_empty()), usage.as_ref())
            }
            _ => None,
        }
    }

    /// The same for a summary that the provider made: one answer, and no stream of events.
    /// A history without items is summarised without a request.
    pub(crate) fn note_summary(&mut self, usage: Option<&TokenUsage>) -> Option<EventMessage> {
        self.cache.flight.sent_at?;
        self.cache.flight.first_event_at = Some(Moment::now());
        self.note_answer(None, usage)
    }

    fn note_answer(&mut self, response_id: Option<String>, usage: Option<&TokenUsage>) -> Option<EventMessage> {
        let cache = self.judge(usage);
        let reply =
            entry::Reply { response_id, usage: usage.copied(), cache: Some(cache.clone()), ..self.reply_over() };
        let cache_write = reply.cache_write;
        if let Some((sent, _)) = self.log.sent() {
            sent.reply(reply);
        }
        let request = UsageSplit::new(usage?, cache_write);
        self.spent.add(&request);
        let event = EventMessage::ContextUsage { request, session: self.spent, cache };
        self.setup.context_events.are_wanted().then_some(event)
    }

    /// Notes that the turn no longer waits for the answer of a request, if one is under way.
    pub(crate) fn note_interruption(&mut self) {
        let reply = entry::Reply { failure: Some(INTERRUPTED.to_owned()), ..self.reply_over() };
        if let Some((sent, _)) = self.log.sent() {
            sent.reply(reply);
        }
    }

    /// Notes that a request failed.
    pub(crate) fn note_failure(&mut self, error: &ReplyError) {
        let failure = Some(failure_word(error.kind).to_owned());
        let reply = entry::Reply { failure, ..self.reply_over() };
        if let Some((sent, _)) = self.log.sent() {
            sent.reply(reply);
        }
    }

    /// What came of the cache for the request that was answered just now.
    fn judge(&mut self, usage: Option<&TokenUsage>) -> CacheVerdict {
        let last = self.last.as_ref().and_then(|last| last.continuity.as_ref());
        let grounds = self.cache.grounds(last, self.setup.provider.cache_kept());
        let read = usage.filter(|_| !self.cache.flight.is_read_unknown).map(|usage| usage.cached_input_tokens);
        let verdict = Grounds { tokens_read: read, ..grounds }.verdict();
        if self.cache.flight.summary.is_none() {
            let sent_at = self.cache.flight.sent_at;
            if let Some(usage) = usage {
                self.size.reported(usage.input_tokens);
            }
            self.cache.last = Answered { sent_at, tokens: usage.map(|usage| usage.input_tokens) };
        }
        verdict
    }

    /// What is written down of every reply that is over.
    fn reply_over(&mut self) -> entry::Reply {
        let Flight { first_event_at, attempts, cache_write, .. } = std::mem::take(&mut self.cache.flight);
        entry::Reply {
            cache_write,
            first_event_at: first_event_at.map(|moment| moment.to_string()),
            done_at: Some(Moment::now().to_string()),
            attempts: attempts.statuses(),
            ..entry::Reply::default()
        }
    }
}

/// Why a request has no answer whose turn ended before.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// Why a request failed, in a word that says nothing of what the server said.
pub(crate) fn failure_word(kind: ReplyErrorKind) -> &'static str {
    match kind {
        ReplyErrorKind::Stream => "stream",
        ReplyErrorKind::UnexpectedStatus => "unexpected_status",
        ReplyErrorKind::InternalServer => "internal_server",
        ReplyErrorKind::InvalidRequest => "invalid_request",
        ReplyErrorKind::InvalidImage => "invalid_image",
        ReplyErrorKind::ContextWindowExceeded => "context_window_exceeded",
        ReplyErrorKind::UsageLimitReached => "usage_limit_reached",
        ReplyErrorKind::UsageNotIncluded => "usage_not_included",
        ReplyErrorKind::QuotaExceeded => "quota_exceeded",
        ReplyErrorKind::ServerOverloaded => "server_overloaded",
        ReplyErrorKind::RetryLimit { .. } => "retry_limit",
        ReplyErrorKind::MissingKey => "missing_key",
        ReplyErrorKind::Unreachable => "unreachable",
        ReplyErrorKind::Budget => "budget",
        ReplyErrorKind::Local => "local",
    }
}
