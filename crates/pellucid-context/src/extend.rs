//! What a program may bring: texts for slots, conditions, a store of texts. Token counters implement
//! [`Counter`](crate::Counter).
//!
//! The engine asks before assembly and keeps the answers as facts, so the same answers always give the same bytes.

use std::collections::BTreeSet;

use pellucid_engine::facts::Facts;
use pellucid_engine::source::SourceOutput;

/// What a [`TextSource`] is asked for.
#[derive(Debug, Clone, Copy)]
pub struct SourceAsk<'a> {
    /// The id of the slot that the text is for.
    pub slot: &'a str,
    /// The facts of the session.
    pub facts: &'a Facts,
}

/// Gives the text of a slot whose layout says `source = "host"`.
pub trait TextSource: Send + Sync {
    /// The text with its origins, and what was left out. [`SourceOutput::nothing`] leaves the slot out.
    fn give(&self, ask: &SourceAsk<'_>) -> SourceOutput;
}

impl<F: Fn(&SourceAsk<'_>) -> SourceOutput + Send + Sync> TextSource for F {
    fn give(&self, ask: &SourceAsk<'_>) -> SourceOutput {
        self(ask)
    }
}

/// A condition on facts, for gates `host:NAME` of a layout.
pub trait FactGate: Send + Sync {
    /// Whether the gate is open.
    fn is_open(&self, facts: &Facts) -> bool;
}

impl<F: Fn(&Facts) -> bool + Send + Sync> FactGate for F {
    fn is_open(&self, facts: &Facts) -> bool {
        self(facts)
    }
}

/// A store of texts by key, for sources `text_store` of a layout.
pub trait TextLookup: Send + Sync {
    /// Looks up the keys that the layout wants, in one call. A key without a text is left out of the answer, and reported
    /// as missing.
    fn look_up(&self, keys: &BTreeSet<String>) -> Vec<(String, String)>;
}
