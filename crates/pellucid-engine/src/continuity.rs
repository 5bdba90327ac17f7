//! Whether a request extends the one before it.
//!
//! Providers bill what they have seen before at a lower price, as long as it is the same from the
//! first byte on. A request that parts from the one before pays for the rest anew; this says
//! where, and by how much.

use std::sync::Arc;

use crate::digest::agreeing;
use crate::request::Frame;
use crate::request::Request;
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
    /// Why.
    pub cause: Cause,
}

/// Why a request parts from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A summary took the place of the history.
    Compaction,
    /// Turns were taken back.
    RollBack,
    /// What is remembered was chosen anew.
    Memory,
    /// Another model is asked.
    Model,
    /// The instructions are others.
    Instructions,
    /// The tools are others, on a wire that has them first.
    Tools,
    /// Settings are others, on a wire that has them first.
    Settings,
    /// Items come out differently.
    Items,
}

impl Cause {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compaction => "compaction",
            Self::RollBack => "roll_back",
            Self::Memory => "memory",
            Self::Model => "model",
            Self::Instructions => "instructions",
            Self::Tools => "tools",
            Self::Settings => "settings",
            Self::Items => "items",
        }
    }

    fn of_head(part: &str) -> Self {
        match part {
            "model" => Self::Model,
            "base" => Self::Instructions,
            part if part == "tools" || part.starts_with("tools/") => Self::Tools,
            _ => Self::Settings,
        }
    }
}

/// What a record tells of a request that another process sent.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// What surrounded its items.
    pub frame: Frame,
    /// Digests of its beginnings up to items, each with its end, in order.
    pub marks: Vec<(usize, String)>,
}

impl Recorded {
    /// Compares the next request with this one. Where items differ, it is told from which item on.
    pub fn continued_by(&self, frame: &Frame, request: &Request) -> Continuity {
        let previous_bytes = self.marks.last().map_or(self.frame.head_bytes().len(), |(end, _)| *end);
        let same_head = self.frame.head_bytes() == frame.head_bytes();
        let kept = same_head.then(|| {
            let marks = self.marks.iter().map(|(end, mark)| (*end, mark.as_str()));
            agreeing(request, marks).max(frame.head_bytes().len())
        });
        continuity(&self.frame, frame, kept, previous_bytes)
    }
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
        let head_len = self.frame.head_bytes().len();
        let same_head = self.frame.head_bytes() == frame.head_bytes();
        let kept = same_head.then(|| head_len + divergence.map_or(self.items_len, |divergence| divergence.kept));
        continuity(&self.frame, frame, kept, head_len + self.items_len)
    }
}

/// How a request continues one that has so many bytes before its tools and settings, `kept` of which are the same if
/// all before the items is.
fn continuity(before: &Frame, frame: &Frame, kept: Option<usize>, previous_bytes: usize) -> Continuity {
    let (old, new) = (before.head_bytes(), frame.head_bytes());
    let kept_bytes = kept.unwrap_or_else(|| old.iter().zip(new.iter()).take_while(|(a, b)| a == b).count());
    let broken = (kept_bytes < previous_bytes).then(|| {
        let head = frame.part_of_head_byte(kept_bytes);
        Break {
            first_byte: kept_bytes,
            cause: head.as_ref().map_or(Cause::Items, |part| Cause::of_head(part)),
            part: head.unwrap_or_else(|| frame.list().into()),
            tokens_rebilled: tokens_of_bytes(previous_bytes - kept_bytes),
        }
    });
    Continuity { kept_bytes, previous_bytes, broken }
}
