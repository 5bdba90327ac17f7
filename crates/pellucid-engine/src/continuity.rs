//! Whether a request extends the one before it.
//!
//! Providers bill what they have seen before at a lower price, as long as it is the same from the
//! first byte on. A request that parts from the one before pays for the rest anew; this says
//! where, and by how much.

use std::sync::Arc;

use crate::request::Frame;
use crate::transcript::Divergence;
use crate::truncate::tokens_of_bytes;

/// How a request continues the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continuity {
    /// How many bytes from the start are those of the request before.
    pub kept_bytes: usize,
    /// How many bytes that request had before its tools and settings.
    pub previous_bytes: usize,
    /// Where it parts, if it does.
    pub broken: Option<Break>,
}

/// Where a request parts from the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// The first byte that differs.
    pub first_byte: usize,
    /// The part it belongs to.
    pub part: Arc<str>,
    /// The tokens that are paid for anew, estimated.
    pub tokens_rebilled: usize,
}

/// What is remembered of a request: enough to tell how the next one continues it.
#[derive(Debug, Clone)]
pub struct Sent {
    frame: Frame,
    items_len: usize,
}

impl Sent {
    /// Remembers a request.
    pub fn new(frame: &Frame, items_len: usize) -> Self {
        Self { frame: frame.clone(), items_len }
    }

    /// How many bytes its items have.
    pub(crate) fn items_len(&self) -> usize {
        self.items_len
    }

    /// Whether what follows the items is the same.
    pub(crate) fn has_tail_of(&self, frame: &Frame) -> bool {
        self.frame.tail_bytes() == frame.tail_bytes()
    }

    /// Compares the next request with this one.
    pub fn continued_by(&self, frame: &Frame, divergence: Option<Divergence>) -> Continuity {
        let (old, new) = (self.frame.head_bytes(), frame.head_bytes());
        let previous_bytes = old.len() + self.items_len;
        let kept_bytes = if old == new {
            old.len() + divergence.map_or(self.items_len, |divergence| divergence.kept)
        } else {
            old.iter().zip(new.iter()).take_while(|(a, b)| a == b).count()
        };
        let broken = (kept_bytes < previous_bytes).then(|| Break {
            first_byte: kept_bytes,
            part: frame.part_of_head_byte(kept_bytes).unwrap_or_else(|| frame.list().into()),
            tokens_rebilled: tokens_of_bytes(previous_bytes - kept_bytes),
        });
        Continuity { kept_bytes, previous_bytes, broken }
    }
}
