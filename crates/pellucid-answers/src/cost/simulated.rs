//! The same requests under another setting, with recorded answers and times and a simulated cache.
//!
//! A provider's cache has the beginnings of requests that it read, in the order of reading, for a time. A request that begins
//! with the whole of an earlier one reads as many tokens from the cache as the provider counted in that one; a request that
//! diverges within it reads its share. What the provider does beyond that (blocks of tokens, a least length, no cache at
//! all) is learned from the recorded figures, so that the simulation without a setting gives these.
//!
//! A setting that changes more than what is read and kept needs requests that were made again (`remade`).

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use pellucid_engine::prices::PriceEntry;
use pellucid_engine::prices::PriceTable;
use pellucid_protocol::price::Money;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::usage::UsageSplit;
use serde_json::Value;
use serde_json::json;

use super::CostSetting;
use super::CostedRequest;
use super::ReadText;
use super::RemadeRequest;
use super::SettingError;
use super::TokenScale;
use super::UsedPrice;
use super::ledger;
use super::money_json;

/// How many tokens some providers read from their cache at once.
const BLOCK: i64 = 128;

/// The least that such providers keep.
const BLOCKS_LEAST: i64 = 1024;

/// What requests would cost under a setting.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedCost {
    /// The setting as a person types it; absent for the recorded one.
    pub setting: Option<String>,
    /// What the simulation assumes, in one line.
    pub note: String,
    /// The tokens of each request that has figures, with its session and number.
    pub requests: Vec<(Arc<str>, usize, UsageSplit)>,
    /// All requests together.
    pub usage: UsageSplit,
    /// What all requests cost; absent where a price is unknown.
    pub cost: Option<Money>,
    /// The prices that were used.
    pub prices: Vec<UsedPrice>,
}

impl SimulatedCost {
    /// Simulates requests, under a setting or as they were.
    ///
    /// # Errors
    /// When the setting names a part that no request has.
    pub fn of(
        requests: &[CostedRequest],
        setting: Option<&CostSetting>,
        prices: &PriceTable,
    ) -> Result<Self, SettingError> {
        let altered = altered(requests, setting)?;
        let sent = requests.iter().zip(altered).filter_map(|(request, altered)| {
            let model = match setting {
                Some(CostSetting::Model(model)) => model,
                _ => &request.figures.model,
            };
            let before = BeforeSession::AsRecorded;
            let kept_ms = request.kept_ms;
            Some(Sent { recorded: request, usage: request.figures.usage.as_ref()?, model, altered, kept_ms, before })
        });
        Ok(Self::simulated(requests, sent.collect(), setting, prices))
    }

    /// Simulates requests that were made again under a setting. `recorded` has the requests whose answers they get.
    pub fn of_remade(
        recorded: &[CostedRequest],
        remade: &[RemadeRequest],
        setting: &CostSetting,
        prices: &PriceTable,
    ) -> Self {
        let scale = TokenScale::of(recorded);
        let sent = remade.iter().filter_map(|made| {
            let is_meant = |it: &&CostedRequest| it.session == made.session && it.figures.number == made.number;
            let request = recorded.iter().find(is_meant)?;
            let read: Vec<&ReadText> = made.read.iter().collect();
            let before: Vec<&ReadText> = request.read.iter().collect();
            let bytes = read.iter().map(|text| text.bytes.len()).sum();
            // What the provider had of other texts before the session is not known.
            let is_same = bytes == before.iter().map(|text| text.bytes.len()).sum::<usize>()
                && same_bytes(&read, &before) == bytes;
            Some(Sent {
                recorded: request,
                usage: request.figures.usage.as_ref()?,
                model: &made.model,
                altered: Some(Altered { read, bytes, tokens: scale.tokens(request, &made.read)? }),
                kept_ms: match setting {
                    CostSetting::Wire(wire) => request.kept_ms.or_else(|| kept_ms(wire.cache_seconds())),
                    _ => request.kept_ms,
                },
                before: if is_same { BeforeSession::AsRecorded } else { BeforeSession::Nothing },
            })
        });
        Self::simulated(recorded, sent.collect(), Some(setting), prices)
    }

    fn simulated(
        recorded: &[CostedRequest],
        mut requests: Vec<Sent<'_>>,
        setting: Option<&CostSetting>,
        prices: &PriceTable,
    ) -> Self {
        let rule = Rule::learned(recorded);
        let ttl = match setting {
            Some(CostSetting::Ttl(ms)) => Some(*ms),
            _ => None,
        };
        if requests.iter().all(|sent| sent.recorded.sent_ms.is_some()) {
            requests.sort_by_key(|sent| sent.recorded.sent_ms);
        }
        let mut caches: BTreeMap<(&str, &str), Cache<'_>> = BTreeMap::new();
        let mut begun = BTreeSet::new();
        let mut simulated = Self {
            setting: setting.map(CostSetting::name),
            note: rule.note(setting),
            requests: Vec::new(),
            usage: UsageSplit::default(),
            cost: None,
            prices: Vec::new(),
        };
        let (mut costs, mut asked) = (Vec::new(), Vec::new());
        for Sent { recorded: request, usage: recorded, model, altered, kept_ms, before } in requests {
            let usage = match altered {
                Some(sent) => {
                    // Every model has a separate cache. What the provider had before the session is known by its
                    // first request alone.
                    let model = cache_model(request, model, setting);
                    let cache = caches.entry((&*request.provider, model)).or_default();
                    let tokens = sent.tokens;
                    let in_cache = rule.read(cache.read(sent, request.sent_ms, ttl.or(kept_ms)));
                    let read = match (begun.insert((&*request.session, model)), before) {
                        (true, BeforeSession::AsRecorded) => recorded.cached_read,
                        (true, BeforeSession::Nothing) | (false, _) => in_cache,
                    };
                    split(recorded, tokens, read.min(tokens), setting)
                }
                None => *recorded,
            };
            let entry = prices.of(model, request.day());
            asked.push((model, request.day()));
            costs.push(entry.map(|entry| match ttl {
                Some(ms) if ms > 300_000 => entry.cost_kept_an_hour(&usage),
                _ => entry.cost(&usage),
            }));
            simulated.usage.add(&usage);
            simulated.requests.push((request.session.clone(), request.figures.number, usage));
        }
        simulated.cost = costs.into_iter().collect::<Option<Vec<_>>>().and_then(Money::sum);
        simulated.prices = UsedPrice::all(prices, asked);
        simulated
    }

    /// How many requests have other figures than the provider reported.
    pub fn n_different(&self, requests: &[CostedRequest]) -> usize {
        let recorded = requests.iter().filter_map(|request| request.figures.usage.as_ref());
        self.requests.iter().zip(recorded).filter(|((_, _, usage), recorded)| usage != *recorded).count()
    }

    /// The simulation as JSON.
    pub fn to_json(&self) -> Value {
        let request = |(session, number, usage): &(Arc<str>, usize, UsageSplit)| {
            json!({ "session": session, "number": number, "read": usage.cached_read, "written": usage.cache_write,
                "uncached": usage.uncached, "answered": usage.output })
        };
        json!({
            "as": self.setting,
            "note": self.note,
            "requests": self.requests.iter().map(request).collect::<Vec<_>>(),
            "read": self.usage.cached_read,
            "written": self.usage.cache_write,
            "uncached": self.usage.uncached,
            "answered": self.usage.output,
            "cost": money_json(self.cost.as_ref()),
            "prices": UsedPrice::to_json(&self.prices),
        })
    }
}

impl CostedRequest {
    /// The day of the request, for its price.
    pub(super) fn day(&self) -> &str {
        self.figures.sent_at.as_deref().unwrap_or_default()
    }

    /// The price of the request; absent if it is unknown.
    pub(super) fn price<'p>(&self, prices: &'p PriceTable) -> Option<&'p PriceEntry> {
        prices.of(&self.figures.model, self.day())
    }
}

/// A request that is simulated.
struct Sent<'a> {
    /// The recorded request whose answer it gets.
    recorded: &'a CostedRequest,
    /// What the provider charged for the recorded request.
    usage: &'a UsageSplit,
    /// The model whose price counts.
    model: &'a str,
    /// The request as it would be sent; absent where the bytes are not known.
    altered: Option<Altered<'a>>,
    /// For how many milliseconds the provider keeps the request.
    kept_ms: Option<i64>,
    before: BeforeSession,
}

/// What the provider has of the first request of a session, besides what other sessions sent.
#[derive(Clone, Copy)]
enum BeforeSession {
    /// As much as it read then.
    AsRecorded,
    /// Nothing, because the text is another one.
    Nothing,
}

/// The model whose cache is used: with the price of another model the cache is still that of the recorded one.
fn cache_model<'a>(request: &'a CostedRequest, model: &'a str, setting: Option<&CostSetting>) -> &'a str {
    match setting {
        Some(CostSetting::Model(_)) => &request.figures.model,
        _ => model,
    }
}

/// For how many milliseconds a provider keeps a request.
fn kept_ms(seconds: Option<u64>) -> Option<i64> {
    i64::try_from(seconds?).ok()?.checked_mul(1000)
}

/// A request as it would be sent.
struct Altered<'a> {
    read: Vec<&'a ReadText>,
    bytes: usize,
    tokens: i64,
}

/// The requests as they would be sent; absent where bytes or figures are not known.
fn altered<'a>(
    requests: &'a [CostedRequest],
    setting: Option<&CostSetting>,
) -> Result<Vec<Option<Altered<'a>>>, SettingError> {
    let stable = match setting {
        Some(CostSetting::StableFirst) => stable_texts(requests),
        _ => BTreeSet::new(),
    };
    let mut n_left_out = 0;
    let mut made = Vec::with_capacity(requests.len());
    for request in requests {
        let Some(usage) = request.figures.usage.as_ref().filter(|_| !request.read.is_empty()) else {
            made.push(None);
            continue;
        };
        let tokens = ledger::input(usage);
        let whole: Vec<&ReadText> = request.read.iter().collect();
        let (read, tokens) = match setting {
            Some(CostSetting::Without(part)) => {
                let weights: Vec<u64> = whole.iter().map(|text| text.bytes.len() as u64).collect();
                let shares = ledger::deal(tokens, &weights);
                let (mut kept, mut left) = (Vec::new(), 0);
                for (text, share) in whole.into_iter().zip(shares) {
                    if is_within(&text.part, part) {
                        n_left_out += 1;
                    } else {
                        kept.push(text);
                        left += share;
                    }
                }
                (kept, left)
            }
            Some(CostSetting::StableFirst) => {
                let mut read = whole;
                read.sort_by_key(|text| match text {
                    text if text.is_item => 1,
                    text if stable.contains(&key(text)) => 0,
                    _ => 2,
                });
                (read, tokens)
            }
            _ => (whole, tokens),
        };
        let bytes = read.iter().map(|text| text.bytes.len()).sum();
        made.push(Some(Altered { read, bytes, tokens }));
    }
    match setting {
        Some(CostSetting::Without(part)) if n_left_out == 0 => Err(no_part(requests, part)),
        _ => Ok(made),
    }
}

fn is_within(part: &str, wanted: &str) -> bool {
    part == wanted || part.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('/'))
}

fn no_part(requests: &[CostedRequest], part: &str) -> SettingError {
    let parts: BTreeSet<&str> = requests.iter().flat_map(|it| it.read.iter()).map(|text| &*text.part).collect();
    let parts = parts.into_iter().collect::<Vec<_>>().join(", ");
    SettingError(format!("no request has the part `{part}`; the parts are: {parts}"))
}

fn key(text: &ReadText) -> (&str, &[u8]) {
    (&text.part, &text.bytes)
}

/// The texts around items that every request has.
fn stable_texts(requests: &[CostedRequest]) -> BTreeSet<(&str, &[u8])> {
    let mut known = requests.iter().filter(|request| !request.read.is_empty()).map(|request| {
        let around = request.read.iter().filter(|text| !text.is_item);
        around.map(key).collect::<BTreeSet<_>>()
    });
    let first = known.next().unwrap_or_default();
    known.fold(first, |all, next| all.intersection(&next).copied().collect())
}

/// The tokens of a request by what they are charged for, if so many are read from the cache.
///
/// Where the provider reports what it writes, what it did not write of the recorded request lies behind its last mark.
fn split(recorded: &UsageSplit, tokens: i64, read: i64, setting: Option<&CostSetting>) -> UsageSplit {
    let rest = tokens - read;
    let (cache_write, uncached) = match (setting, recorded.cache_write) {
        (Some(CostSetting::Wire(WireApi::Messages)), None) => (Some(rest), 0),
        (Some(CostSetting::Wire(WireApi::Responses | WireApi::Chat)), _) => (None, rest),
        (_, Some(_)) => {
            let uncached = recorded.uncached.min(rest);
            (Some(rest - uncached), uncached)
        }
        (_, None) => (None, rest),
    };
    UsageSplit { cached_read: read, cache_write, uncached, output: recorded.output }
}

/// What a provider does with beginnings that it has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The provider reads every token that it has.
    Tokens,
    /// The provider reads blocks of tokens.
    Blocks {
        /// The least that it keeps.
        least: i64,
    },
    /// The provider reads nothing, or does not say so.
    Nothing,
}

impl Rule {
    fn learned(requests: &[CostedRequest]) -> Self {
        let reads = || requests.iter().filter_map(|it| it.figures.usage.as_ref()).map(|usage| usage.cached_read);
        let Some(least) = reads().filter(|read| *read > 0).min() else {
            return Self::Nothing;
        };
        if reads().any(|read| read % BLOCK != 0) {
            return Self::Tokens;
        }
        Self::Blocks { least: BLOCKS_LEAST.min(least) }
    }

    /// What a simulation under a setting assumes, in one line.
    fn note(self, setting: Option<&CostSetting>) -> String {
        let note = setting.map(CostSetting::note).unwrap_or_default();
        match self {
            Self::Nothing if setting.is_some() => {
                format!("{note}; the provider read nothing from a cache, so none is simulated")
            }
            _ => note,
        }
    }

    fn read(self, tokens: i64) -> i64 {
        match self {
            Self::Tokens => tokens,
            Self::Blocks { least } if tokens >= least => tokens - tokens % BLOCK,
            Self::Blocks { .. } | Self::Nothing => 0,
        }
    }
}

/// The beginnings that a provider has read.
#[derive(Default)]
struct Cache<'a> {
    kept: Vec<KeptRequest<'a>>,
}

struct KeptRequest<'a> {
    read: Vec<&'a ReadText>,
    bytes: usize,
    tokens: i64,
    used_ms: Option<i64>,
}

impl<'a> Cache<'a> {
    /// How many tokens of a request the cache has; the request is in the cache afterwards.
    fn read(&mut self, sent: Altered<'a>, now: Option<i64>, kept_ms: Option<i64>) -> i64 {
        let is_kept = |used: Option<i64>| match (used, now, kept_ms) {
            (Some(used), Some(now), Some(kept)) => now - used <= kept,
            _ => true,
        };
        self.kept.retain(|kept| is_kept(kept.used_ms));
        let mut most = 0;
        // A request that this one begins with has nothing that this one has not.
        self.kept.retain(|kept| {
            let same = same_bytes(&kept.read, &sent.read);
            let tokens = if same == kept.bytes { kept.tokens } else { share(kept.tokens, same, kept.bytes) };
            most = most.max(tokens);
            same < kept.bytes
        });
        let Altered { read, bytes, tokens } = sent;
        self.kept.push(KeptRequest { read, bytes, tokens, used_ms: now });
        most
    }
}

fn share(tokens: i64, same: usize, of: usize) -> i64 {
    let share = i128::from(tokens) * same as i128 / of.max(1) as i128;
    i64::try_from(share).unwrap_or(i64::MAX)
}

/// How many bytes from the beginning are the same. The same bytes may have other origins in the other request, and are then
/// divided into texts elsewhere.
fn same_bytes(one: &[&ReadText], two: &[&ReadText]) -> usize {
    let n_same = one.iter().zip(two).take_while(|(one, two)| is_same(one, two)).count();
    let same: usize = one[..n_same].iter().map(|text| text.bytes.len()).sum();
    let mut rests = [one, two].map(|texts| texts[n_same..].iter().map(|text| &*text.bytes));
    let [mut left, mut right]: [&[u8]; 2] = [&[], &[]];
    let mut more = 0;
    loop {
        let [next_left, next_right] = &mut rests;
        for (rest, next) in [(&mut left, next_left), (&mut right, next_right)] {
            while rest.is_empty() {
                match next.next() {
                    Some(bytes) => *rest = bytes,
                    None => return same + more,
                }
            }
        }
        let n = left.len().min(right.len());
        if left[..n] != right[..n] {
            return same + more + left.iter().zip(right).take_while(|(left, right)| left == right).count();
        }
        (left, right) = (&left[n..], &right[n..]);
        more += n;
    }
}

/// Whether two texts have the same bytes; equal texts mostly share them.
fn is_same(one: &ReadText, two: &ReadText) -> bool {
    Arc::ptr_eq(&one.bytes, &two.bytes) || one.bytes == two.bytes
}
