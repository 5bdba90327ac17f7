//! What changed between two requests.
//!
//! Rows of the two reports are matched by part and origin, then by text. Every row ends up in one step, so the bytes of
//! all steps add up to the bytes of both requests, and the steps with their bytes turn the first request into the second.
//!
//! - `pairs`: which row of one request is which row of the other
//! - `lines`: how the lines of a changed text differ, with the lines of its file
//! - `json`: the answer for programs
//! - `summary`: the changes part by part, as a person reads them
//! - `told`: what two programs tell their models, side by side
//! - `texts`: the texts of a changed part, which `lines` compares

mod json;
mod lines;
mod pairs;
mod summary;
#[cfg(test)]
mod tests;
mod texts;
mod told;

use std::ops::Range;

use pellucid_engine::continuity::Continuity;

pub use self::lines::LineChange;
pub use self::lines::LineHunk;
pub use self::summary::ChangeSummary;
pub use self::summary::PartChange;
pub(crate) use self::summary::is_usual;
pub use self::told::ToldKind;
pub use self::told::ToldSize;
use crate::inspected::Inspected;
use crate::whole;

/// What changed between two requests.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestDiff<'a> {
    /// The request that is compared from.
    pub a: &'a Inspected,
    /// The request that is compared to.
    pub b: &'a Inspected,
    /// What became of every row, in the order of `b`. A row that was removed comes where it was in `a`.
    pub steps: Vec<DiffStep>,
    /// How `b` would continue `a`; absent where that cannot be known.
    pub continuity: Option<Continuity>,
}

/// What became of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffStep {
    /// What became of the rows.
    pub kind: DiffKind,
    /// The rows of `a`; empty for added ones.
    pub a: Range<usize>,
    /// The rows of `b`; empty for removed ones.
    pub b: Range<usize>,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiffKind {
    /// The text is the same, at the same place among the texts around it.
    Same,
    /// The text of this part and origin is another.
    Changed,
    /// Only the second request has the row.
    Added,
    /// Only the first request has the row.
    Removed,
    /// The text is the same, at another place.
    Moved,
}

impl DiffKind {
    /// The sign of the kind in reports.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Same => "=",
            Self::Changed => "~",
            Self::Added => "+",
            Self::Removed => "-",
            Self::Moved => ">",
        }
    }
}

impl<'a> RequestDiff<'a> {
    /// Compares two requests.
    pub fn of(a: &'a Inspected, b: &'a Inspected) -> Self {
        Self { a, b, steps: pairs::steps(&a.rows, &b.rows), continuity: whole::continuity(a, b) }
    }

    /// Whether nothing differs but facts that differ between any two sessions.
    pub fn is_usual(&self) -> bool {
        self.steps.iter().filter(|step| step.kind != DiffKind::Same).all(|step| {
            let rows = self.a.rows[step.a.clone()].iter().chain(&self.b.rows[step.b.clone()]);
            rows.into_iter().all(is_usual)
        })
    }
}
