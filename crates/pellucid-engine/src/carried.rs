//! Finds the items of a new history that are those of the old one.
//!
//! A new history mostly repeats the old one. It is recorded as runs of the old history, so only new items cost space.

use std::collections::BTreeMap;

use pellucid_protocol::item::Item;

use crate::encode::to_json;

/// A stretch of a new history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// Items of the old history, one after the other.
    Run {
        /// The place of the first in the old history.
        from: usize,
        /// The number of items in the run.
        n: usize,
    },
    /// An item that the old history does not have, by its place in the new one.
    New(usize),
}

/// Says a new history in terms of an old one.
pub fn carried(before: &[Item], after: &[Item]) -> Vec<Carried> {
    let mut places: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    for (n, item) in before.iter().enumerate() {
        places.entry(to_json(item)).or_default().push(n);
    }
    let mut stretches: Vec<Carried> = Vec::new();
    for (n, item) in after.iter().enumerate() {
        let found = places.get(&to_json(item));
        let next = match stretches.last() {
            Some(Carried::Run { from, n }) => from + n,
            _ => 0,
        };
        match (found, stretches.last_mut()) {
            (Some(found), Some(Carried::Run { n, .. })) if found.contains(&next) => *n += 1,
            (Some(found), _) => {
                // Equal items are matched in their order.
                let from = found.iter().find(|place| **place >= next).or(found.first()).copied().unwrap_or_default();
                stretches.push(Carried::Run { from, n: 1 });
            }
            (None, _) => stretches.push(Carried::New(n)),
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn items(letters: &str) -> Vec<Item> {
        letters.chars().map(|letter| Item::text("user", letter)).collect()
    }

    fn put_together(before: &[Item], after: &[Item]) -> Vec<Item> {
        let stretch = |it: &Carried| match it {
            Carried::Run { from, n } => before[*from..from + n].to_vec(),
            Carried::New(n) => vec![after[*n].clone()],
        };
        carried(before, after).iter().flat_map(stretch).collect()
    }

    #[test]
    fn a_window_that_moves_on_is_one_run() {
        assert_eq!(
            carried(&items("cabde"), &items("cMde")),
            [Carried::Run { from: 0, n: 1 }, Carried::New(1), Carried::Run { from: 3, n: 2 }]
        );
    }

    proptest! {
        #[test]
        fn the_stretches_make_the_new_history(before in "[abc]{0,9}", after in "[abcd]{0,9}") {
            let (before, after) = (items(&before), items(&after));
            prop_assert_eq!(put_together(&before, &after), after);
        }
    }
}
