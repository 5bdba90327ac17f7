//! What tokens cost, by model and date.
//!
//! A table in the program has prices of one dated source; `prices.toml` in the home folder comes first. A model without an
//! entry has no price: a price is never guessed, and never 0 because it is unknown.

#[cfg(test)]
mod tests;

use std::ops::Range;

use globset::Glob;
use globset::GlobMatcher;
use pellucid_protocol::price::Money;
use pellucid_protocol::price::TokenPrice;
use pellucid_protocol::usage::UsageSplit;
use serde::Deserialize;
use toml::Spanned;

/// The prices that the program has.
const BUILT_IN: &str = include_str!("prices.toml");

/// What models cost, by name.
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// Where the price was found.
    pub source: String,
    /// What a token of each kind costs.
    pub rates: TokenPrice,
    matcher: GlobMatcher,
    is_users: bool,
}

/// The matcher follows from the pattern, and is not compared.
impl PartialEq for PriceEntry {
    fn eq(&self, other: &Self) -> bool {
        let Self { model, from, source, rates, matcher: _, is_users } = self;
        (model, from, source, rates, is_users)
            == (&other.model, &other.from, &other.source, &other.rates, &other.is_users)
    }
}

/// Why a file of prices cannot be used, and where: the line and the column come first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct PriceError {
    /// The line of the file, from 1.
    pub line: usize,
    /// The character of the line, from 1.
    pub column: usize,
    /// What is wrong, and what is expected.
    pub what: String,
}

impl PriceError {
    fn new(text: &str, at: usize, what: String) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let last = before.rsplit('\n').next().unwrap_or_default();
        Self { line: before.matches('\n').count() + 1, column: last.chars().count() + 1, what }
    }
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
    model: Spanned<String>,
    from: Spanned<toml::Value>,
    currency: Spanned<String>,
    input: Spanned<f64>,
    cached_read: Option<Spanned<f64>>,
    cache_write: Option<Spanned<f64>>,
    cache_write_1h: Option<Spanned<f64>>,
    output: Spanned<f64>,
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
    let file: PriceFile = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        PriceError::new(text, at, error.message().to_owned())
    })?;
    file.price.into_iter().map(|written| entry(written, is_users, text)).collect()
}

fn entry(written: WrittenPrice, is_users: bool, text: &str) -> Result<PriceEntry, PriceError> {
    let model = written.model.get_ref().as_str();
    let wrong = |at: usize, what: String| PriceError::new(text, at, format!("the price of `{model}`: {what}"));
    let from = match written.from.get_ref() {
        toml::Value::String(day) => day.clone(),
        toml::Value::Datetime(day) => day.to_string(),
        other => other.to_string(),
    };
    if !is_day(&from) {
        let what = format!("`from` is `{from}`, a date such as 2026-01-31 is needed");
        return Err(wrong(written.from.span().start, what));
    }
    if written.currency.get_ref().trim().is_empty() {
        let what = "`currency` is empty, a code such as USD is needed".to_owned();
        return Err(wrong(written.currency.span().start, what));
    }
    let amount = |key: &str, given: &Spanned<f64>| match *given.get_ref() {
        value if value.is_finite() && (0.0..=1_000_000.0).contains(&value) =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
            Ok((value * 1_000_000.0).round() as i64)
        }
        value => {
            let what = format!("`{key}` is {value}, an amount from 0 to 1000000 for a million tokens is needed");
            Err(wrong(given.span().start, what))
        }
    };
    let or = |key: &str, given: &Option<Spanned<f64>>, otherwise: i64| match given {
        Some(given) => amount(key, given),
        None => Ok(otherwise),
    };
    let input = amount("input", &written.input)?;
    let cache_write = or("cache_write", &written.cache_write, input)?;
    let matcher = Glob::new(model)
        .map_err(|error| wrong(written.model.span().start, format!("the pattern cannot be read: {error}")))?
        .compile_matcher();
    let rates = TokenPrice {
        from: from.as_str().into(),
        currency: written.currency.get_ref().as_str().into(),
        input,
        cached_read: or("cached_read", &written.cached_read, input)?,
        cache_write,
        cache_write_1h: or("cache_write_1h", &written.cache_write_1h, cache_write)?,
        output: amount("output", &written.output)?,
    };
    Ok(PriceEntry { rates, from, matcher, is_users, source: written.source, model: written.model.into_inner() })
}

/// Whether a text is a date as `YYYY-MM-DD`.
fn is_day(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digit = |n: usize| matches!(n, 4 | 7) || bytes[n].is_ascii_digit();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' || !(0..10).all(is_digit) {
        return false;
    }
    let number = |range: Range<usize>| text[range].parse::<u32>().unwrap_or_default();
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let n_days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=n_days).contains(&day)
}

impl PriceEntry {
    /// What these tokens cost.
    pub fn cost(&self, usage: &UsageSplit) -> Money {
        self.rates.cost(usage)
    }

    /// What these tokens cost if the provider keeps what is written to its cache for an hour.
    pub fn cost_kept_an_hour(&self, usage: &UsageSplit) -> Money {
        self.rates.cost_kept_an_hour(usage)
    }

    /// Whether the entry is of the user's own file.
    pub fn is_users(&self) -> bool {
        self.is_users
    }
}
