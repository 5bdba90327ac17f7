//! The status of every source, derived from the request itself.
//!
//! A file that was read counts as loaded only if its bytes are among the rows. So a layer that gets lost between
//! reading and sending shows here, whatever the facts say.

use std::collections::BTreeSet;

use serde_json::Value;
use serde_json::json;

use super::Report;
use super::Row;
use super::fate_text;
use super::why_text;
use crate::documents::listed::InstructionFile;
use crate::facts::Fate;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::fragment::Why;

/// Whether a source is in the request, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceStatus {
    /// All bytes of the source are in the request.
    Full,
    /// All of it is, with U+FFFD where bytes are not UTF-8.
    Altered,
    /// Some bytes of the source are in the request.
    Truncated,
    /// No byte of the source is in the request.
    Omitted,
    /// The file was looked for and does not exist.
    Missing,
    /// Another source with the same name is used.
    Shadowed,
    /// The content is in the request already.
    Duplicate,
}

impl SourceStatus {
    /// The word for the status in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Altered => "altered",
            Self::Truncated => "truncated",
            Self::Omitted => "omitted",
            Self::Missing => "missing",
            Self::Shadowed => "shadowed",
            Self::Duplicate => "duplicate",
        }
    }

    fn of_why(why: &Why) -> Self {
        match why {
            Why::Cut { .. } => Self::Truncated,
            Why::NotUtf8(_) => Self::Altered,
            Why::Shadowed { .. } | Why::Replaced { .. } => Self::Shadowed,
            Why::Missing => Self::Missing,
            Why::Duplicate => Self::Duplicate,
            Why::OverBudget { .. }
            | Why::LeftWindow { .. }
            | Why::Blank
            | Why::SwitchedOff
            | Why::OnlyOnMention
            | Why::Outside { .. }
            | Why::Untrusted
            | Why::NotAccepted { .. }
            | Why::ByPack { .. }
            | Why::Unusable { .. } => Self::Omitted,
        }
    }

    fn of_fate(fate: &Fate) -> Self {
        match fate {
            Fate::Absent => Self::Missing,
            Fate::Shadowed { .. } => Self::Shadowed,
            Fate::Read
            | Fate::NotAFile
            | Fate::Unreadable { .. }
            | Fate::Blank
            | Fate::Outside { .. }
            | Fate::Untrusted
            | Fate::NotAccepted { .. } => Self::Omitted,
        }
    }
}

/// A source, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRow {
    /// The slot, where it has one.
    pub part: Option<String>,
    /// A path or a name.
    pub source: String,
    /// Whether the source is in the request, and how.
    pub status: SourceStatus,
    /// How many of its bytes are in the request.
    pub bytes: u64,
    /// Why not all of it is; blank if all is.
    pub why: String,
}

impl Report {
    /// Every source that was used or looked for.
    pub fn sources(&self) -> Vec<SourceRow> {
        let mut sources: Vec<SourceRow> = Vec::new();
        for file in &self.files {
            let (status, bytes) = self.delivery(file);
            let omissions: Vec<_> = self.omissions.iter().filter(|omission| omission.what == file.path).collect();
            let why = match (status, omissions.as_slice()) {
                (SourceStatus::Full, _) => String::new(),
                (_, []) => "read, but not in the request".to_owned(),
                (_, omissions) => {
                    let whys: Vec<String> = omissions.iter().map(|omission| why_text(&omission.why)).collect();
                    whys.join("; ")
                }
            };
            let part = omissions.first().map(|omission| omission.slot.to_string());
            sources.push(SourceRow { part, source: file.path.clone(), status, bytes, why });
        }
        let is_listed = |name: &str, sources: &[SourceRow]| sources.iter().any(|it| it.source == name);
        for candidate in &self.candidates {
            if !is_listed(&candidate.path, &sources) {
                let (status, why) = (SourceStatus::of_fate(&candidate.fate), fate_text(&candidate.fate));
                sources.push(SourceRow { part: None, source: candidate.path.clone(), status, bytes: 0, why });
            }
        }
        for omission in &self.omissions {
            if !is_listed(&omission.what, &sources) {
                let bytes = if let Why::Cut { kept, .. } = omission.why { kept } else { 0 };
                sources.push(SourceRow {
                    part: Some(omission.slot.to_string()),
                    source: omission.what.clone(),
                    status: SourceStatus::of_why(&omission.why),
                    bytes,
                    why: why_text(&omission.why),
                });
            }
        }
        sources
    }

    /// Whether some row of the request is known to be of this file.
    pub fn has_rows_of(&self, file: &InstructionFile) -> bool {
        self.rows.iter().any(|row| matches!(row.origin.claim(), Origin::File { path, .. } if **path == *file.path))
    }

    /// How much of a file that was read is in the request, by the request's own rows, or by its words in a history
    /// that was read back.
    pub fn delivery(&self, file: &InstructionFile) -> (SourceStatus, u64) {
        let ranges = self.rows.iter().filter_map(|row| match row.origin.claim() {
            Origin::File { path, range, size } if **path == *file.path => Some((range.clone(), range.end >= *size)),
            _ => None,
        });
        let (mut end, mut is_whole, mut bytes) = (0, false, 0);
        let mut ranges: Vec<_> = ranges.collect();
        ranges.sort_by_key(|(range, _)| range.start);
        for (range, reaches_end) in ranges {
            // A file that is in the request twice counts once.
            bytes += range.end.saturating_sub(end.max(range.start));
            end = end.max(range.end);
            is_whole |= reaches_end;
        }
        let status = match bytes {
            // Items that were read back from a session file have lost their origin, but not their text.
            0 if file.is_in_history => {
                let is_whole = file.n_read >= file.size;
                return (if is_whole { self.whole(&file.path) } else { SourceStatus::Truncated }, file.n_read);
            }
            0 => SourceStatus::Omitted,
            _ if is_whole && !self.is_cut(&file.path) => self.whole(&file.path),
            _ => SourceStatus::Truncated,
        };
        (status, bytes)
    }

    /// Whether an omission says that a file lost bytes before its end.
    fn is_cut(&self, path: &str) -> bool {
        self.omissions.iter().any(|it| it.what == path && matches!(it.why, Why::Cut { .. } | Why::ByPack { .. }))
    }

    /// The status of a file all of whose bytes are in the request.
    fn whole(&self, path: &str) -> SourceStatus {
        let is_altered = |it: &Omission| it.what == path && matches!(it.why, Why::NotUtf8(_));
        if self.omissions.iter().any(is_altered) { SourceStatus::Altered } else { SourceStatus::Full }
    }

    /// The status of each row: whole, altered, cut, or a repetition of a file's bytes.
    pub fn statuses(&self) -> impl Iterator<Item = (&Row, SourceStatus)> {
        let mut seen: BTreeSet<(&str, u64, u64)> = BTreeSet::new();
        let starts: BTreeSet<(&str, u64)> = self
            .rows
            .iter()
            .filter_map(|row| match row.origin.claim() {
                Origin::File { path, range, .. } => Some((&**path, range.start)),
                _ => None,
            })
            .collect();
        self.rows.iter().map(move |row| {
            let Origin::File { path, range, .. } = row.origin.claim() else {
                return (row, SourceStatus::Full);
            };
            let is_new = seen.insert((path, range.start, range.end));
            // A file whose next bytes are a row too is not cut here. Bytes that are not UTF-8 are no row of the file.
            let whole = self.whole(path);
            let continues = match whole {
                SourceStatus::Altered => !self.is_cut(path),
                _ => starts.contains(&(&**path, range.end)),
            };
            let is_cut = row.is_cut() && !continues;
            let status = if !is_new {
                SourceStatus::Duplicate
            } else if is_cut {
                SourceStatus::Truncated
            } else {
                whole
            };
            (row, status)
        })
    }
}

pub(super) fn source_json(source: &SourceRow) -> Value {
    json!({
        "part": source.part,
        "source": source.source,
        "status": source.status.as_str(),
        "bytes": source.bytes,
        "why": source.why,
    })
}
