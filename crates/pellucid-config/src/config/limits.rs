//! Limits of a session.

use crate::reader::Reader;
use crate::value::Value;

/// The limits of a session with its agents, reviews and summaries; absent ones do not apply.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LimitSettings {
    /// How many tokens requests and replies may have in all.
    pub max_tokens: Option<u64>,
    /// How many requests may be sent.
    pub max_requests: Option<u64>,
    /// What requests and replies may cost in all, in the currency of the prices.
    pub max_cost: Option<f64>,
}

impl LimitSettings {
    pub(crate) fn read(reader: &Reader<'_>) -> Self {
        Self {
            max_tokens: reader.count("limits.max_tokens"),
            max_requests: reader.count("limits.max_requests"),
            max_cost: reader.value("limits.max_cost").and_then(Value::as_number),
        }
    }

    /// Whether there is a limit.
    pub fn are_set(&self) -> bool {
        *self != Self::default()
    }
}
