//! Why something is paid for again: what came of the provider's cache, request by request.

#[cfg(test)]
mod tests;

use pellucid_engine::continuity::Cause;
use pellucid_engine::continuity::Continuity;
use pellucid_engine::prices::PriceTable;
use pellucid_protocol::cache::CacheChangeKind;
use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::cache::CacheWord;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::price::Money;
use pellucid_protocol::usage::UsageSplit;
use serde_json::Value;
use serde_json::json;

use crate::cost::UsedPrice;
use crate::cost::money_json;
use crate::figures::RequestFigures;

/// The name and version of the form.
pub const SCHEMA: &str = "pellucid.cache/1";

/// What came of the provider's cache in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheAnswer {
    /// One row for each request, in order.
    pub rows: Vec<CacheRow>,
    /// How many requests diverge from the one before.
    pub n_breaks: usize,
    /// The tokens that were paid for again, estimated.
    pub tokens_rebilled: usize,
    /// What all requests cost; absent where a price or the provider's figures are unknown.
    pub cost: Option<Money>,
    /// What of the cost was for tokens that had been sent before.
    pub cost_rebilled: Option<Money>,
    /// The prices that were used.
    pub prices: Vec<UsedPrice>,
    /// Whether the session has no record, so that all is estimated from what the provider charged.
    pub is_estimated: bool,
    /// Whether the session is of another agent, and was made from the file of that agent.
    pub is_reconstructed: bool,
    /// How the next request continues the last one; absent where a session cannot be continued from here.
    pub next: Option<NextInCache>,
}

/// How the next request of a session continues the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextInCache {
    /// The model reads all of the last request again, unchanged.
    Extends,
    /// The next request diverges from the last one.
    Diverges {
        /// The part that the model reads first among those that differ.
        part: String,
        /// The cause in a word.
        cause: &'static str,
        /// How many tokens are paid for again, estimated.
        tokens_rebilled: usize,
    },
    /// The next request cannot be made or compared, for this reason.
    Unknown(String),
}

impl NextInCache {
    /// What a comparison with the last request says; absent if there is none to compare with.
    pub fn of(continuity: Option<&Continuity>) -> Self {
        match continuity.map(|continuity| &continuity.broken) {
            Some(None) => Self::Extends,
            Some(Some(broken)) => Self::Diverges {
                part: broken.part.to_string(),
                cause: broken.cause.as_str(),
                tokens_rebilled: broken.tokens_rebilled,
            },
            None => Self::Unknown("the bytes of the last request are not known".to_owned()),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Extends => json!({"verdict": "extends"}),
            Self::Diverges { part, cause, tokens_rebilled } => {
                json!({"verdict": "diverges", "part": part, "cause": cause, "tokens_rebilled": tokens_rebilled})
            }
            Self::Unknown(why) => json!({"verdict": "unknown", "why": why}),
        }
    }
}

/// What came of the provider's cache for one request. Tokens are estimated from bytes, but for those that the provider read.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheRow {
    /// The number of the request in its session, from 1.
    pub number: usize,
    /// When the request was sent, in UTC.
    pub sent_at: Option<String>,
    /// How many tokens the request has.
    pub sent: usize,
    /// How many of these the request before had too, in the order of reading.
    pub kept: usize,
    /// How many tokens of the request before are sent again behind the place where the two diverge.
    pub rebilled: usize,
    /// How many tokens the provider read from its cache, if it says.
    pub read: Option<i64>,
    /// Whether the request could use the cache, and if not, why.
    pub verdict: CacheVerdict,
    /// Where the request diverges from the one before, if it does.
    pub cache_break: Option<CacheBreak>,
    /// What the request cost; absent where the price or the provider's figures are unknown.
    pub cost: Option<Money>,
    /// The number of the request that this one continues, if it continues one.
    pub before: Option<usize>,
    /// For how many seconds the provider keeps what it has read, if that is known.
    pub cache_seconds: Option<u64>,
}

impl CacheAnswer {
    /// Adds up the requests of a session.
    pub fn of(requests: &[RequestFigures], prices: &PriceTable) -> Self {
        let mut before: Option<(usize, usize)> = None;
        let mut rows = Vec::with_capacity(requests.len());
        let mut again = Vec::new();
        for request in requests {
            let rebilled = request.cache_break.as_ref().map_or(0, |it| it.tokens_rebilled);
            let has_other_model = request.cache_break.as_ref().is_some_and(|it| it.cause == Cause::Model.as_str());
            let kept = match before {
                // Settings that no model reads are not paid for again, but another model has kept nothing.
                Some((_, before)) if request.is_answer() && !has_other_model => {
                    before.saturating_sub(rebilled).min(request.tokens)
                }
                _ => 0,
            };
            let price = prices.of(&request.model, request.sent_at.as_deref().unwrap_or_default());
            let cost = price.and_then(|price| request.cost(price));
            // Tokens are estimated, and no more of them can have been paid for again than the provider charged in full.
            let charged = request.usage.as_ref().map_or(i64::MAX, |usage| usage.uncached);
            let uncached = i64::try_from(rebilled).unwrap_or(i64::MAX).min(charged);
            let rebilled_usage = UsageSplit { uncached, ..UsageSplit::default() };
            again.push(price.map(|price| price.cost(&rebilled_usage)));
            rows.push(CacheRow {
                number: request.number,
                sent_at: request.sent_at.clone(),
                sent: request.tokens,
                kept,
                rebilled,
                read: request.usage.as_ref().map(|usage| usage.cached_read),
                verdict: request.verdict.clone(),
                cache_break: request.cache_break.clone(),
                cost,
                before: before.map(|(number, _)| number),
                cache_seconds: request.cache_seconds,
            });
            if request.is_answer() {
                before = Some((request.number, request.tokens));
            }
        }
        let all = |amounts: Vec<Option<Money>>| amounts.into_iter().collect::<Option<Vec<_>>>().and_then(Money::sum);
        Self {
            n_breaks: rows
                .iter()
                .filter(|row| row.verdict.verdict == CacheWord::Broken || row.cache_break.is_some())
                .count(),
            tokens_rebilled: rows.iter().map(|row| row.rebilled).sum(),
            cost: all(rows.iter().map(|row| row.cost.clone()).collect()),
            cost_rebilled: all(again),
            prices: UsedPrice::all(
                prices,
                requests.iter().map(|it| (it.model.as_str(), it.sent_at.as_deref().unwrap_or_default())),
            ),
            rows,
            is_estimated: false,
            is_reconstructed: false,
            next: None,
        }
    }

    /// For how many seconds the provider keeps what it has read, as far as that is known of the last request.
    pub fn cache_seconds(&self) -> Option<u64> {
        self.rows.last().and_then(|row| row.cache_seconds)
    }

    /// Adds up the requests of a session that has no record (`RequestFigures::estimated`).
    pub fn estimated(requests: &[RequestFigures], prices: &PriceTable) -> Self {
        Self { is_estimated: true, ..Self::of(requests, prices) }
    }

    /// How often each token was sent, not counting those that the provider could keep: 1.00 if nothing was sent again.
    pub fn times_over(&self) -> Option<f64> {
        let written: usize = self.rows.iter().map(|row| row.sent - row.kept).sum();
        let once = written.saturating_sub(self.tokens_rebilled);
        #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
        (once > 0).then(|| written as f64 / once as f64)
    }

    /// The answer as JSON.
    pub fn to_json(&self) -> Value {
        let money = |money: &Option<Money>| money_json(money.as_ref());
        let rows = self.rows.iter().map(|row| {
            json!({
                "number": row.number,
                "sent_at": row.sent_at,
                "tokens": row.sent,
                "kept": row.kept,
                "new": row.sent - row.kept,
                "rebilled": row.rebilled,
                "provider_read": row.read,
                "verdict": row.verdict,
                "detail": row.detail(),
                "break": row.cache_break,
                "cost": money(&row.cost),
                "cache_seconds": row.cache_seconds,
            })
        });
        let mut answer = json!({
            "schema": SCHEMA,
            "requests": rows.collect::<Vec<_>>(),
            "estimated": self.is_estimated,
            "breaks": self.n_breaks,
            "tokens_rebilled": self.tokens_rebilled,
            "times_over": self.times_over().map(|ratio| format!("{ratio:.2}")),
            "cost": money(&self.cost),
            "cost_rebilled": money(&self.cost_rebilled),
            "prices": UsedPrice::to_json(&self.prices),
            "next": self.next.as_ref().map(NextInCache::to_json),
        });
        if self.is_reconstructed {
            answer["reconstructed"] = true.into();
        }
        answer
    }
}

impl CacheRow {
    /// Why the verdict is what it is, for people; empty where the word says it.
    pub fn detail(&self) -> String {
        match (self.verdict.verdict, &self.cache_break) {
            (CacheWord::Broken, Some(broken)) => format!("{}{}", broken.cause, named_changes(broken)),
            (CacheWord::Broken, None) => self.verdict.cause.clone().unwrap_or_default(),
            (CacheWord::Expired, _) => match self.verdict.idle_ms {
                Some(idle) => {
                    let since = self.before.map_or_else(|| "the request before".to_owned(), |it| format!("#{it}"));
                    let kept = self.cache_seconds.map(|seconds| format!(", kept for {}", span(seconds)));
                    format!("{} since {since}{}", span(idle / 1000), kept.unwrap_or_default())
                }
                None => String::new(),
            },
            (CacheWord::Missed, _) => match self.verdict.expected {
                Some(expected) => format!("the provider read {} of {expected} expected tokens", self.read.unwrap_or(0)),
                None => String::new(),
            },
            (CacheWord::Unknown, _) => match &self.cache_break {
                Some(broken) => format!("the provider gave no figures; {}{}", broken.cause, named_changes(broken)),
                None => "the provider gave no figures".to_owned(),
            },
            (CacheWord::Cold | CacheWord::Extended | CacheWord::Shortened, _) => String::new(),
        }
    }
}

/// A time in a unit that a person would use.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// The parts that changed, each with a sign; at most three of them.
fn named_changes(broken: &CacheBreak) -> String {
    let read: Vec<_> = broken.changes.iter().filter(|change| change.is_read).collect();
    let mut text = String::new();
    for change in read.iter().take(3) {
        let sign = match change.how {
            CacheChangeKind::Added => "+",
            CacheChangeKind::Removed => "\u{2212}",
            CacheChangeKind::Changed => "~",
            CacheChangeKind::Moved => ">",
        };
        let source = if change.source.is_empty() { String::new() } else { format!(" ({})", change.source) };
        text += &format!(", {sign} {}{source}", change.part);
    }
    match read.len() {
        0 => format!(", in {}", broken.part),
        n if n > 3 => text + &format!(" and {} more", n - 3),
        _ => text,
    }
}

/// What a person can do so that requests do not diverge for this cause.
pub fn advice(cause: Cause) -> &'static str {
    match cause {
        Cause::Compaction => {
            "a summary replaces the history once; a higher `model_auto_compact_token_limit` makes it rarer"
        }
        Cause::RollBack => "turns that are taken back change what follows them; `fork` keeps both histories",
        Cause::PlacedText => "a text at a depth of the conversation moved; counted from the start it keeps its place",
        Cause::Memory => "the memory of the session was chosen again; a pack with a fixed memory keeps its place",
        Cause::Model => "keep one model for a session; each model has a separate cache",
        Cause::Instructions => "keep pack, base instructions and personality for a session; change them in a new one",
        Cause::Tools => {
            "keep features and MCP servers for a session; a server that fails to start takes its tools away"
        }
        Cause::Schema => "give the same --output-schema for every turn of a session",
        Cause::Settings => "keep effort, summary and verbosity for a session where the provider reads them as text",
        Cause::Items => "an earlier message came out differently; `context diff` of the two requests shows where",
    }
}
