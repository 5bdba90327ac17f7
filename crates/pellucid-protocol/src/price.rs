//! What tokens cost: the price of a token of each kind, and amounts of money.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::usage::UsageSplit;

/// A price is kept as millionths of a unit of the currency for a million tokens, so one token costs so many of these.
const PARTS_PER_UNIT: i128 = 1_000_000_000_000;

/// The price of a token of each kind, in millionths of a millionth of a unit of the currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenPrice {
    /// The first day on which the price counts, as `YYYY-MM-DD`.
    pub from: Arc<str>,
    /// The currency, such as `USD`.
    pub currency: Arc<str>,
    /// The price of an input token that has nothing to do with a cache.
    pub input: i64,
    /// The price of an input token that the provider reads from its cache.
    pub cached_read: i64,
    /// The price of an input token that the provider writes to its cache.
    pub cache_write: i64,
    /// The price of an input token that the provider writes to its cache and keeps for an hour.
    pub cache_write_1h: i64,
    /// The price of an output token.
    pub output: i64,
}

impl TokenPrice {
    /// What these tokens cost.
    pub fn cost(&self, usage: &UsageSplit) -> Money {
        self.charge(usage, self.cache_write)
    }

    /// What these tokens cost if the provider keeps what is written to its cache for an hour.
    pub fn cost_kept_an_hour(&self, usage: &UsageSplit) -> Money {
        self.charge(usage, self.cache_write_1h)
    }

    /// The least that so many input tokens can cost, whatever the provider has of them in its cache.
    pub fn least(&self, tokens: u64) -> Money {
        let cheapest = self.input.min(self.cached_read).min(self.cache_write).min(self.cache_write_1h);
        Money { currency: self.currency.clone(), parts: i128::from(tokens) * i128::from(cheapest) }
    }

    fn charge(&self, usage: &UsageSplit, cache_write: i64) -> Money {
        let times = |tokens: i64, price: i64| i128::from(tokens.max(0)) * i128::from(price);
        let parts = times(usage.uncached, self.input)
            + times(usage.cached_read, self.cached_read)
            + times(usage.cache_write.unwrap_or(0), cache_write)
            + times(usage.output, self.output);
        Money { currency: self.currency.clone(), parts }
    }
}

/// An amount of money, exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Money {
    /// The currency, such as `USD`.
    pub currency: Arc<str>,
    /// Millionths of a millionth of a unit of the currency.
    parts: i128,
}

impl Money {
    /// The sum of amounts; absent if there is none, or they are in different currencies.
    pub fn sum(amounts: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut amounts = amounts.into_iter();
        let mut sum = amounts.next()?;
        for amount in amounts {
            if amount.currency != sum.currency {
                return None;
            }
            sum.parts += amount.parts;
        }
        Some(sum)
    }

    /// An amount in units of a currency. What is no number and what is below 0 is no money.
    pub fn of_units(units: f64, currency: &Arc<str>) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "the cast saturates")]
        let parts = (units.max(0.0) * PARTS_PER_UNIT as f64).round() as i128;
        Self { currency: currency.clone(), parts }
    }

    /// The amount that a person typed, such as `0.50`; absent if the text is no amount.
    pub fn parse(text: &str, currency: &str) -> Option<Self> {
        let (units, rest) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(units) || !is_number(rest) || rest.len() > 12 || (units.is_empty() && rest.is_empty()) {
            return None;
        }
        let whole: i128 = if units.is_empty() { 0 } else { units.parse().ok()? };
        let part: i128 = format!("{rest:0<12}").parse().ok()?;
        let parts = whole.checked_mul(PARTS_PER_UNIT)?.checked_add(part)?;
        Some(Self { currency: currency.into(), parts })
    }

    /// Whether the amount is larger than another of the same currency; absent for different currencies.
    pub fn is_more_than(&self, other: &Self) -> Option<bool> {
        (self.currency == other.currency).then_some(self.parts > other.parts)
    }

    /// No money of a currency.
    pub fn none(currency: &Arc<str>) -> Self {
        Self { currency: currency.clone(), parts: 0 }
    }

    /// The amount and another of the same currency; absent for different currencies.
    pub fn plus(&self, other: &Self) -> Option<Self> {
        let parts = self.parts.saturating_add(other.parts);
        (self.currency == other.currency).then(|| Self { currency: self.currency.clone(), parts })
    }

    /// What remains of the amount without another of the same currency; absent for different currencies.
    pub fn minus(&self, other: &Self) -> Option<Self> {
        let parts = self.parts.saturating_sub(other.parts);
        (self.currency == other.currency).then(|| Self { currency: self.currency.clone(), parts })
    }

    /// How the amount compares with another of the same currency; absent for different currencies.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        (self.currency == other.currency).then(|| self.parts.cmp(&other.parts))
    }

    /// Whether the amount is 0.
    pub fn is_zero(&self) -> bool {
        self.parts == 0
    }

    /// The amount as a decimal number, exact.
    pub fn decimal(&self) -> String {
        let (units, rest) = (self.parts / PARTS_PER_UNIT, (self.parts % PARTS_PER_UNIT).unsigned_abs());
        let digits = format!("{rest:012}");
        let digits = digits.trim_end_matches('0');
        let sign = if self.parts < 0 && units == 0 { "-" } else { "" };
        if digits.is_empty() { format!("{sign}{units}") } else { format!("{sign}{units}.{digits}") }
    }
}

/// The amount for people: `$12.30`, `$0.046`, `$0.0041`; smaller amounts as `<$0.0001`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.parts.unsigned_abs();
        let unit = PARTS_PER_UNIT.unsigned_abs();
        let sign = if self.parts < 0 { "-" } else { "" };
        let (before, after) = match &*self.currency {
            "USD" => ("$", String::new()),
            "EUR" => ("€", String::new()),
            other => ("", format!(" {other}")),
        };
        if size > 0 && size < unit / 10_000 {
            return write!(f, "<{before}0.0001{after}");
        }
        let digits: usize = if size >= unit {
            2
        } else if size >= unit / 100 {
            3
        } else {
            4
        };
        let scale = 10_u128.pow(u32::try_from(digits).unwrap_or(4));
        let rounded = (size * scale + unit / 2) / unit;
        write!(f, "{sign}{before}{}.{:0digits$}{after}", rounded / scale, rounded % scale)
    }
}
