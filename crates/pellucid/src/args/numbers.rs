//! Numbers as values of options.

/// Parses a whole number; the error is for people.
pub fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "a whole number is needed".to_owned())
}

/// The same for limits, which may be larger.
pub fn limit(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a whole number is needed".to_owned())
}

/// An amount of money.
pub fn amount(text: &str) -> Result<f64, String> {
    let amount = text.parse().ok().filter(|amount: &f64| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "an amount of money is needed, such as 0.50".to_owned())
}

/// A whole number that is not 0.
pub fn number_from_one(text: &str) -> Result<usize, String> {
    number(text).ok().filter(|number| *number > 0).ok_or_else(|| "a whole number from 1 on is needed".to_owned())
}
