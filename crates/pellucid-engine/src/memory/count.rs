//! The cost of an entry in tokens.
//!
//! Arithmetic is that of doubles throughout, because budgets are shares of a window.

use super::entry::ChatEntry;
use crate::tokens::Counter;

/// How entries are counted.
#[derive(Clone, Copy)]
pub struct EntryCounter<'a> {
    counter: &'a dyn Counter,
    /// The tokens that every entry costs besides its text.
    overhead: f64,
    names: Names,
}

/// Whether names cost something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Counted,
    Free,
}

impl std::fmt::Debug for EntryCounter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EntryCounter").field("counter", &self.counter.name()).field("overhead", &self.overhead).finish()
    }
}

impl<'a> EntryCounter<'a> {
    /// As entries of this model are counted.
    pub fn new(counter: &'a dyn Counter, model: &str) -> Self {
        if model.starts_with("gpt") {
            Self { counter, overhead: 5.0, names: Names::Free }
        } else {
            Self { counter, overhead: 3.0, names: Names::Counted }
        }
    }

    /// The tokens of a bare text.
    pub fn text(&self, text: &str) -> f64 {
        self.counter.count(text) as f64
    }

    /// The tokens of an entry.
    pub fn entry(&self, entry: &ChatEntry) -> f64 {
        let name = match (&entry.name, self.names) {
            (Some(name), Names::Counted) => self.text(name) + 1.0,
            _ => 0.0,
        };
        self.text(&entry.content) + self.overhead + name + entry.attachments.iter().sum::<f64>()
    }

    /// The tokens of a system entry with this text.
    pub fn system(&self, text: &str) -> f64 {
        self.text(text) + self.overhead
    }

    /// The tokens of several entries.
    pub fn entries(&self, entries: &[ChatEntry]) -> f64 {
        entries.iter().map(|entry| self.entry(entry)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::entry::ChatRole;
    use crate::tokens::Estimate;

    #[test]
    fn an_entry_costs_its_text_and_more() {
        let mut entry = ChatEntry::new(ChatRole::User, "12345678");
        entry.name = Some("abcd".to_owned());
        assert_eq!(EntryCounter::new(&Estimate, "gpt-5").entry(&entry), 7.0);
        assert_eq!(EntryCounter::new(&Estimate, "claude").entry(&entry), 7.0);
        entry.name = None;
        assert_eq!(EntryCounter::new(&Estimate, "claude").entry(&entry), 5.0);
    }
}
