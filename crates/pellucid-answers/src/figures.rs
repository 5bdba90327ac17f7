//! The figures of requests that a session sent: sizes, what the provider charged, and what came of its cache.
//!
//! A walk through the record gives one value for each request; `cache` and `cost` add them up.

use std::time::Duration;

use pellucid_engine::prices::PriceEntry;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::cache::CacheWord;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::price::Money;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::moment::Moment;
use pellucid_store::requests::entry;
use pellucid_store::token_counts::TokenCountLine;
use serde::Deserialize;
use serde::Serialize;

/// The longer of the times for which a provider keeps what was written to its cache.
const HOUR: Duration = Duration::from_secs(3600);

/// The figures of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// How many of the tokens that were written to the provider's cache it keeps for an hour, where that is known.
    #[serde(default)]
    pub cache_write_1h: Option<i64>,
    /// What came of the provider's cache.
    pub verdict: CacheVerdict,
    /// Where the request diverges from the one before, if it does.
    pub cache_break: Option<CacheBreak>,
    /// Why there was no answer, in a word.
    pub failure: Option<String>,
    /// For how many seconds the provider keeps what it has read, if that is known.
    pub cache_seconds: Option<u64>,
}

/// A request as a walk through the record reaches it.
#[derive(Debug, Clone, Copy)]
pub struct ReachedRequest<'w> {
    /// The number of the request in its session, from 1.
    pub number: usize,
    /// The request's line of the record; absent for a request that only the session file mentions.
    pub entry: Option<&'w entry::RequestEntry>,
    /// The line of the record about the reply, if one came.
    pub reply: Option<&'w entry::ReplyEntry>,
    /// The settings of the process that sent the request; absent in records of earlier versions.
    pub terms: Option<&'w entry::RequestTerms>,
    /// The model and the API format of the body, where its bytes are proved.
    pub known: Option<(Option<&'w str>, WireApi)>,
}

/// The figures of the requests that a walk has reached so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GatheredFigures {
    figures: Vec<RequestFigures>,
    wire: Option<WireApi>,
}

impl GatheredFigures {
    /// Continues figures that were gathered before. `wire` is the API format of the last request whose bytes are proved.
    pub fn continuing(figures: Vec<RequestFigures>, wire: Option<WireApi>) -> Self {
        Self { figures, wire }
    }

    /// Adds the next request. A request whose bytes are not known is taken to ask the model of the request before.
    pub fn add(&mut self, request: ReachedRequest<'_>) {
        let ReachedRequest { number, entry, reply, terms, known } = request;
        let model = match known {
            Some((model, wire)) => {
                self.wire = Some(wire);
                model.unwrap_or_default().to_owned()
            }
            None => self.figures.last().map(|it| it.model.clone()).unwrap_or_default(),
        };
        if let Some(entry) = entry {
            let figures = RequestFigures::of(number, &model, entry, reply);
            self.figures.push(figures.kept_for(cache_seconds(terms, self.wire)));
        }
    }

    /// The figures of every request that the record has, in order.
    pub fn finish(self) -> Vec<RequestFigures> {
        self.figures
    }
}

/// For how many seconds the provider of a request keeps what it has read: as recorded, else what its API format says.
pub fn cache_seconds(terms: Option<&entry::RequestTerms>, wire: Option<WireApi>) -> Option<u64> {
    match terms {
        Some(terms) => terms.cache_seconds,
        None => wire.and_then(WireApi::cache_seconds),
    }
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
            cache_write_1h: None,
            verdict: reply.and_then(|reply| reply.cache.clone()).unwrap_or_else(CacheVerdict::unknown),
            cache_break: sent.cache_break.clone(),
            failure: reply.and_then(|reply| reply.failure.clone()),
            cache_seconds: None,
        }
    }

    /// The same figures of a request whose provider keeps what it has read for so many seconds.
    #[must_use]
    pub fn kept_for(self, cache_seconds: Option<u64>) -> Self {
        Self { cache_seconds, ..self }
    }

    /// The figures of requests that have no record, from the token counts of their session file. `kept_for` is how long a
    /// provider keeps what it has read.
    ///
    /// The bytes are not known: a request that the provider did not read from its cache may have diverged from the one
    /// before, and is called `missed`.
    pub fn estimated(counts: &[TokenCountLine], kept_for: Duration) -> Vec<Self> {
        let mut kept_for = kept_for;
        let mut before: Option<&TokenCountLine> = None;
        let mut figures = Vec::with_capacity(counts.len());
        for (at, count) in counts.iter().enumerate() {
            let idle = before.and_then(|before| Some(Moment::parse(&count.at)?.since(Moment::parse(&before.at)?)));
            let expected = before.map(|before| before.usage.input_tokens.min(count.usage.input_tokens));
            let read = count.usage.cached_input_tokens;
            let verdict = match (expected, idle) {
                (None, _) => CacheWord::Cold,
                (Some(expected), _) if read > 0 && read >= expected / 2 => CacheWord::Extended,
                (Some(_), Some(idle)) if idle > kept_for => CacheWord::Expired,
                (Some(_), _) => CacheWord::Missed,
            };
            // What was written for an hour is kept for another one whenever it is read.
            if count.cache_write_1h.is_some_and(|tokens| tokens > 0) {
                kept_for = HOUR.max(kept_for);
            }
            let tokens = usize::try_from(count.usage.input_tokens).unwrap_or(0);
            figures.push(Self {
                number: at + 1,
                turn: count.turn.clone(),
                purpose: "answer".to_owned(),
                model: count.model.clone(),
                sent_at: Some(count.at.clone()),
                tokens,
                bytes: 0,
                usage: Some(UsageSplit::new(&count.usage, count.cache_write)),
                cache_write_1h: count.cache_write_1h,
                verdict: CacheVerdict {
                    verdict,
                    cause: None,
                    expected,
                    read: Some(read),
                    idle_ms: idle.and_then(|idle| u64::try_from(idle.as_millis()).ok()),
                },
                cache_break: None,
                failure: None,
                cache_seconds: Some(kept_for.as_secs()),
            });
            before = Some(count);
        }
        figures
    }

    /// What the provider charged, by a price; absent if it reported no tokens.
    pub fn cost(&self, price: &PriceEntry) -> Option<Money> {
        let usage = self.usage?;
        let written = usage.cache_write.unwrap_or(0);
        let for_an_hour = self.cache_write_1h.unwrap_or(0).clamp(0, written.max(0));
        if for_an_hour == 0 {
            return Some(price.cost(&usage));
        }
        let rest = UsageSplit { cache_write: Some(written - for_an_hour), ..usage };
        let kept = UsageSplit { cache_write: Some(for_an_hour), ..UsageSplit::default() };
        Money::sum([price.cost(&rest), price.cost_kept_an_hour(&kept)])
    }

    /// Whether the request asks for an answer, so that the next one continues it.
    pub fn is_answer(&self) -> bool {
        matches!(self.purpose.as_str(), "answer" | "answer_again")
    }
}
