//! What tokens cost, by model and date.
//!
//! A table in the program has prices of one dated source; `prices.toml` in the home folder comes first. A model without an
//! entry has no price: a price is never guessed, and never 0 because it is unknown.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use globset::Glob;
use globset::GlobMatcher;
use pellucid_protocol::usage::UsageSplit;
use serde::Deserialize;

/// The prices that the program has.
const BUILT_IN: &str = include_str!("prices.toml");

/// Prices are kept as millionths of a unit of the currency for a million tokens, so one token costs so many of these.
const PARTS_PER_UNIT: i128 = 1_000_000_000_000;

/// What models cost, by name.
#[derive(Debug, Clone, Default)]
pub struct PriceTable {
    /// The user's entries come first, then those of the program.
    entries: Vec<PriceEntry>,
}

/// The price of the models that a pattern names, from a date on.
#[derive(Debug, Clone)]
pub struct PriceEntry {
    /// The name of a model, or a pattern with `*` and `?`.
    pub model: String,
    /// The first day on which the price counts, as `YYYY-MM-DD`.
    pub from: String,
    /// The currency, such as `USD`.
    pub currency: Arc<str>,
    /// Where the price was found.
    pub source: String,
    matcher: GlobMatcher,
    is_users: bool,
    input: i64,
    cached_read: i64,
    cache_write: i64,
    cache_write_1h: i64,
    output: i64,
}

/// An amount of money, exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Money {
    /// The currency, such as `USD`.
    pub currency: Arc<str>,
    /// Millionths of a millionth of a unit of the currency.
    parts: i128,
}

/// Why a file of prices cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The file is not TOML of the right form.
    #[error("{0}")]
    Form(#[from] toml::de::Error),
    /// An entry has a value that no price can have.
    #[error("the price of `{model}`: {what}")]
    Entry {
        /// The model of the entry.
        model: String,
        /// What is wrong, and what is expected.
        what: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    #[serde(default)]
    price: Vec<WrittenPrice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPrice {
    model: String,
    from: toml::Value,
    currency: String,
    input: f64,
    cached_read: Option<f64>,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
    output: f64,
    #[serde(default)]
    source: String,
}

impl PriceTable {
    /// The prices of the program alone.
    pub fn built_in() -> Self {
        Self::with_users("").unwrap_or_default()
    }

    /// The prices of the user's file over those of the program.
    ///
    /// # Errors
    /// When the file is not of the right form.
    pub fn with_users(text: &str) -> Result<Self, PriceError> {
        let mut entries = entries(text, true)?;
        entries.extend(entries_of_program()?);
        Ok(Self { entries })
    }

    /// The price of a model on a day (`YYYY-MM-DD`, or a longer text that begins so); absent if it is not known.
    ///
    /// The user's entries come first. Among those that name the model, the newest one that is not later than the day counts.
    pub fn of(&self, model: &str, day: &str) -> Option<&PriceEntry> {
        let fits = |entry: &&PriceEntry| entry.matcher.is_match(model) && entry.from.as_str() <= day;
        let newest = |is_users: bool| {
            let entries = self.entries.iter().filter(|entry| entry.is_users == is_users);
            entries.filter(fits).max_by(|one, two| one.from.cmp(&two.from))
        };
        newest(true).or_else(|| newest(false))
    }
}

fn entries_of_program() -> Result<Vec<PriceEntry>, PriceError> {
    entries(BUILT_IN, false)
}

fn entries(text: &str, is_users: bool) -> Result<Vec<PriceEntry>, PriceError> {
    let file: PriceFile = toml::from_str(text)?;
    file.price.into_iter().map(|written| entry(written, is_users)).collect()
}

fn entry(written: WrittenPrice, is_users: bool) -> Result<PriceEntry, PriceError> {
    let wrong = |what: String| PriceError::Entry { model: written.model.clone(), what };
    let from = match &written.from {
        toml::Value::String(day) => day.clone(),
        toml::Value::Datetime(day) => day.to_string(),
        other => return Err(wrong(format!("`from` is {}, a date such as 2026-01-31 is needed", other.type_str()))),
    };
    if !is_day(&from) {
        return Err(wrong(format!("`from` is `{from}`, a date such as 2026-01-31 is needed")));
    }
    let amount = |key: &str, value: f64| match value {
        value if value.is_finite() && (0.0..=1_000_000.0).contains(&value) =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
            Ok((value * 1_000_000.0).round() as i64)
        }
        value => Err(wrong(format!("`{key}` is {value}, an amount from 0 on for a million tokens is needed"))),
    };
    let input = amount("input", written.input)?;
    let or_input = |key: &str, value: Option<f64>| amount(key, value.unwrap_or(written.input));
    let cache_write = or_input("cache_write", written.cache_write)?;
    let matcher = Glob::new(&written.model)
        .map_err(|error| wrong(format!("the pattern cannot be read: {error}")))?
        .compile_matcher();
    Ok(PriceEntry {
        input,
        cached_read: or_input("cached_read", written.cached_read)?,
        cache_write,
        cache_write_1h: written.cache_write_1h.map_or(Ok(cache_write), |value| amount("cache_write_1h", value))?,
        output: amount("output", written.output)?,
        from,
        currency: written.currency.as_str().into(),
        matcher,
        is_users,
        source: written.source,
        model: written.model,
    })
}

/// Whether a text is a date as `YYYY-MM-DD`.
fn is_day(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digit = |n: usize| matches!(n, 4 | 7) || bytes[n].is_ascii_digit();
    bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-' && (0..10).all(is_digit)
}

impl PriceEntry {
    /// What these tokens cost.
    pub fn cost(&self, usage: &UsageSplit) -> Money {
        let times = |tokens: i64, price: i64| i128::from(tokens.max(0)) * i128::from(price);
        let written = usage.cache_write.unwrap_or(0);
        let parts = times(usage.uncached, self.input)
            + times(usage.cached_read, self.cached_read)
            + times(written, self.cache_write)
            + times(usage.output, self.output);
        Money { currency: self.currency.clone(), parts }
    }

    /// What these tokens cost if the provider keeps what is written to its cache for an hour.
    pub fn cost_kept_an_hour(&self, usage: &UsageSplit) -> Money {
        let further =
            i128::from(usage.cache_write.unwrap_or(0).max(0)) * i128::from(self.cache_write_1h - self.cache_write);
        let Money { currency, parts } = self.cost(usage);
        Money { currency, parts: parts + further }
    }

    /// Whether the entry is of the user's own file.
    pub fn is_users(&self) -> bool {
        self.is_users
    }
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

    /// The amount of a limit that a person typed, such as `0.50`; absent if the text is no amount.
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
