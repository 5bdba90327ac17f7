//! The accounts of items added up, by the part of the request that they are in and by their source.

use std::collections::BTreeMap;

use serde::Serialize;

use super::report::Injected;
use super::report::ItemOutcome;

/// How much all items are together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct InjectionTotals {
    /// The items that are in the prompt, by their target.
    pub targets: BTreeMap<String, Total>,
    /// All items, by the index of their source and its kind, such as `1 provided`.
    pub sources: BTreeMap<String, Total>,
}

/// How much some items are together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    /// How many items are in the prompt.
    pub injected: usize,
    /// How many are not, whatever the reason.
    pub left_out: usize,
    /// The bytes in the prompt.
    pub bytes: usize,
    /// How many tokens that may be.
    pub tokens_estimate: usize,
}

impl InjectionTotals {
    /// Adds the accounts up.
    pub fn of(accounts: &[Injected]) -> Self {
        let mut totals = Self::default();
        for account in accounts {
            let source = format!("{} {}", account.source_index, account.source_type);
            totals.sources.entry(source).or_default().add(account);
            if let Some(target) = account.target.filter(|_| account.outcome == ItemOutcome::Injected) {
                totals.targets.entry(target.to_owned()).or_default().add(account);
            }
        }
        totals
    }
}

impl Total {
    fn add(&mut self, account: &Injected) {
        if account.outcome != ItemOutcome::Injected {
            self.left_out += 1;
            return;
        }
        self.injected += 1;
        self.bytes += account.bytes_after;
        self.tokens_estimate += account.tokens_estimate;
    }
}
