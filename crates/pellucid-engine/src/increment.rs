//! Finds the items that need not be sent again to a server that remembers the request before.
//!
//! A request adds to the one before when nothing but its items changed, and these begin with what
//! was sent then and what the server answered. What follows is all that is new to the server.
//!
//! Not here: whether the server remembers (`pellucid-model` knows its connections).

use crate::continuity::Continuity;
use crate::continuity::SentRequest;
use crate::fragment::Origin;
use crate::request::Frame;
use crate::transcript::Rendered;

/// How a request adds to the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Increment {
    /// How many bytes of the items the server knows, if it gave as many items as `n_returned`.
    pub known_bytes: usize,
    /// How many items of the model follow those of the request before.
    pub n_returned: usize,
}

/// A request and the one before it.
#[derive(Debug, Clone, Copy)]
pub struct RequestPair<'a> {
    /// The request that was sent before.
    pub sent: &'a SentRequest,
    /// The current bytes around the items.
    pub frame: &'a Frame,
    /// How the request continues the one before.
    pub continuity: &'a Continuity,
    /// The current items, rendered.
    pub items: &'a [Rendered],
}

impl Increment {
    /// The items that a request adds; `None` if it changes something else, or adds nothing.
    pub fn of(step: &RequestPair<'_>) -> Option<Self> {
        if !step.sent.is_begun_by(step.frame, step.continuity) {
            return None;
        }
        let n_items_sent = step.sent.n_items();
        let after = step.items.get(n_items_sent..)?;
        let returned: Vec<&Rendered> = after.iter().take_while(|item| is_by_model(item)).collect();
        if returned.len() == after.len() {
            return None;
        }
        let len = |item: &&Rendered| item.spans.iter().map(|span| span.len).sum::<usize>();
        let n_commas = returned.len() - usize::from(n_items_sent == 0 && !returned.is_empty());
        let known_bytes = step.sent.items_len() + returned.iter().map(len).sum::<usize>() + n_commas;
        Some(Self { known_bytes, n_returned: returned.len() })
    }
}

fn is_by_model(item: &Rendered) -> bool {
    item.spans.iter().all(|span| span.origin == Origin::Model)
}
