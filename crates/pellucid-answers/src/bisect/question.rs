//! What is asked of the request of a commit. A bad commit is one for which the answer is yes.

use std::collections::BTreeSet;

use pellucid_engine::digest::Digest;
use pellucid_engine::facts::Fate;
use pellucid_engine::fragment::Why;
use pellucid_engine::report::Report;

use crate::diff::is_usual;
use crate::inspected::Inspected;
use crate::inspected::InspectedRow;

/// What is asked of a request. The answer is yes for bad commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BisectQuestion {
    /// Whether the request contains a text.
    Contains(String),
    /// Whether the request does not contain a text.
    Lacks(String),
    /// Whether a part is not what it is at the good end.
    PartChanged {
        /// The name of the part, or the path of its file.
        name: String,
        /// The part at the good end.
        good: PartState,
    },
    /// Whether the request has more tokens than this.
    TokensOver(usize),
    /// Whether the report has a finding of this kind.
    Finding(AskedFinding),
}

impl BisectQuestion {
    /// The option that asks for the other direction, for a person who took one for the other.
    pub fn opposite(&self) -> Option<&'static str> {
        match self {
            Self::Contains(_) => {
                Some("--contains finds the commit that added a text; --lacks finds the one that removed it")
            }
            Self::Lacks(_) => {
                Some("--lacks finds the commit that removed a text; --contains finds the one that added it")
            }
            Self::PartChanged { .. } | Self::TokensOver(_) | Self::Finding(_) => None,
        }
    }

    /// The text that is looked for, and whether a good commit has it.
    pub fn text(&self) -> Option<(&str, bool)> {
        match self {
            Self::Contains(text) => Some((text, false)),
            Self::Lacks(text) => Some((text, true)),
            Self::PartChanged { .. } | Self::TokensOver(_) | Self::Finding(_) => None,
        }
    }

    /// The answer for a request and its report.
    pub fn is_bad(&self, request: &Inspected, report: &Report) -> bool {
        match self {
            Self::Contains(text) => contains(request, text),
            Self::Lacks(text) => !contains(request, text),
            Self::PartChanged { name, good } => PartState::of(request, name) != *good,
            Self::TokensOver(n) => request.tokens() > *n,
            Self::Finding(kind) => kind.is_in(report),
        }
    }
}

/// A kind of finding that a report can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedFinding {
    /// A text is cut, or left out because the budget was spent.
    Truncated,
    /// A file is there and not read, because another file comes first.
    Shadowed,
    /// An instruction file has characters that a person does not see.
    Hidden,
    /// A file that the layout or a setting names is not there.
    Missing,
    /// A text is sent once, although it is there twice.
    Duplicate,
}

impl AskedFinding {
    /// Whether a report has a finding of this kind.
    pub fn is_in(self, report: &Report) -> bool {
        let is_omitted = |is_meant: fn(&Why) -> bool| report.omissions.iter().any(|omission| is_meant(&omission.why));
        match self {
            Self::Truncated => is_omitted(|why| matches!(why, Why::Cut { .. } | Why::OverBudget { .. })),
            Self::Shadowed => {
                let is_shadowed = |fate: &Fate| matches!(fate, Fate::Shadowed { .. });
                is_omitted(|why| matches!(why, Why::Shadowed { .. }))
                    || report.candidates.iter().any(|candidate| is_shadowed(&candidate.fate))
            }
            Self::Hidden => report.files.iter().any(|file| !file.hidden.is_empty()),
            Self::Missing => is_omitted(|why| matches!(why, Why::Missing)),
            Self::Duplicate => is_omitted(|why| matches!(why, Why::Duplicate)),
        }
    }
}

/// A part of a request, to be compared with the same part of another request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartState {
    /// The request has no such part.
    Absent,
    /// The request has the part, and its text has this digest. Facts that differ between any two sessions are left out.
    Present(Digest),
}

impl PartState {
    /// The part of this name, or of the file with this path, in a request.
    pub fn of(request: &Inspected, name: &str) -> Self {
        let rows: Vec<_> = request.rows.iter().filter(|row| is_named(row, name)).collect();
        if rows.is_empty() {
            return Self::Absent;
        }
        let bytes = rows.into_iter().filter(|row| !is_usual(row));
        Self::Present(Digest::of(bytes.filter_map(|row| Some(&*row.content.as_ref()?.wire))))
    }
}

/// The names of all parts of a request.
pub fn part_names(request: &Inspected) -> BTreeSet<&str> {
    request.rows.iter().filter(|row| !row.is_notation()).map(|row| &*row.part).collect()
}

/// Whether a row belongs to the part of this name, or to a file whose path ends with it.
fn is_named(row: &InspectedRow, name: &str) -> bool {
    let is_file = &*row.source == "file" && std::path::Path::new(&*row.origin).ends_with(name);
    !row.is_notation() && (&*row.part == name || is_file)
}

/// Whether a text that the model reads has another text in it. A text may span rows that are next to each other.
fn contains(request: &Inspected, wanted: &str) -> bool {
    let mut text = String::new();
    let mut last = None;
    for row in &request.rows {
        let Some(content) = &row.content else { continue };
        // Texts with notation between them are different strings.
        if row.is_notation() || last != Some(row.item) {
            text.push('\0');
        }
        last = Some(row.item);
        if !row.is_notation() {
            text += &*content.text;
        }
    }
    text.contains(wanted)
}
