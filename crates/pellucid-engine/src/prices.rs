//! What tokens cost, by model and date.
//!
//! A table in the program has prices of one dated source; `prices.toml` in the home folder comes first. A model without an
//! entry has no price: a price is never guessed, and never 0 because it is unknown.

#[cfg(test)]
mod tests;

use globset::Glob;
use globset::GlobMatcher;
use pellucid_protocol::price::Money;
use pellucid_protocol::price::TokenPrice;
use pellucid_protocol::usage::UsageSplit;
use serde::Deserialize;

/// The prices that the program has.
const BUILT_IN: &str = include_str!("prices.toml");

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
    /// Where the price was found.
    pub source: String,
    /// What a token of each kind costs.
    pub rates: TokenPrice,
    matcher: GlobMatcher,
    is_users: bool,
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
    let rates = TokenPrice {
        from: from.as_str().into(),
        currency: written.currency.as_str().into(),
        input,
        cached_read: or_input("cached_read", written.cached_read)?,
        cache_write,
        cache_write_1h: written.cache_write_1h.map_or(Ok(cache_write), |value| amount("cache_write_1h", value))?,
        output: amount("output", written.output)?,
    };
    Ok(PriceEntry { rates, from, matcher, is_users, source: written.source, model: written.model })
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
