//! What clients are told because of a request, beside its answer.

use serde::Serialize;
use serde_json::Value;

/// A message that nobody asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Notice {
    /// What it is about.
    pub method: &'static str,
    /// What it says.
    pub params: Value,
}

/// An answer, and what all clients are told after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Told<R> {
    /// The answer.
    pub result: R,
    /// What is told, in this order.
    pub notices: Vec<Notice>,
}

impl Notice {
    /// A message with these parameters.
    pub fn new(method: &'static str, params: &impl Serialize) -> Self {
        // Parameters are plain data with text keys, which always can be written.
        Self { method, params: serde_json::to_value(params).unwrap_or_default() }
    }
}
