//! Which items a request has in common with the request before, so that only new ones are looked at.
//!
//! Requests share the origins of their items, so two items with the same list of origins are the same item, and no byte
//! is compared.

use std::sync::Arc;

use pellucid_engine::encode::Span;
use pellucid_engine::transcript::Rendered;

/// The items of the request that was looked at last.
#[derive(Debug, Clone, Default)]
pub struct SharedItems {
    /// The origins of each item with the length of the notation before it. The origins are held, so that no later item has
    /// the same address.
    before: Vec<(Arc<[Span]>, usize)>,
}

impl SharedItems {
    /// How many items the next request begins with that the request before began with too.
    pub fn next(&mut self, items: &[Rendered]) -> usize {
        let is_same = |(before, item): &(&(Arc<[Span]>, usize), &Rendered)| {
            Arc::ptr_eq(&before.0, &item.spans) && before.1 == item.lead
        };
        let n_kept = self.before.iter().zip(items).take_while(is_same).count();
        self.before.truncate(n_kept);
        self.before.extend(items[n_kept..].iter().map(|item| (item.spans.clone(), item.lead)));
        n_kept
    }
}

#[cfg(test)]
mod tests {
    use pellucid_engine::fragment::Origin;

    use super::*;

    fn item(len: usize) -> Rendered {
        let span = Span { part: "user".into(), origin: Origin::User, len, raw_len: len };
        Rendered { kind: "message", role: None, lead: 1, spans: [span].into(), trail: 0 }
    }

    #[test]
    fn a_request_keeps_the_items_that_are_the_same_and_not_those_that_are_only_alike() {
        let mut shared = SharedItems::default();
        let (a, b, c) = (item(1), item(2), item(3));
        let later = Rendered { lead: 0, ..b.clone() };
        for (items, n_kept) in [
            (vec![a.clone(), b.clone()], 0),
            (vec![a.clone(), b.clone(), c.clone()], 2),
            (vec![a.clone()], 1),
            (vec![a.clone(), c.clone()], 1),
            (vec![item(1), c], 0),
            (vec![b], 0),
            (vec![later], 0),
            (Vec::new(), 0),
        ] {
            assert_eq!(shared.next(&items), n_kept, "{items:?}");
        }
    }
}
