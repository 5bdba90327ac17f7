//! Describes lines and files that were changed since they were written.

use std::fmt;

use serde::Serialize;

/// A line or file that was changed since it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The file, from the home folder.
    pub file: String,
    /// The line, from one; for a missing line the one now at its place. Absent where a file is not a list of lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// How many lines in a row.
    pub n_lines: u64,
    /// The offset at which the line begins, or began.
    pub byte: u64,
    /// The kind of line, with the kind of item or event.
    pub kind: String,
    /// The part that it was sent as.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// The turn that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The kind of change.
    pub change: DamageKind,
}

/// The ways in which a line or a file can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DamageKind {
    /// The bytes of the line differ.
    Changed,
    /// The line is gone.
    Missing,
    /// The line was added.
    New,
    /// The line is at another place.
    Moved,
}

impl Damage {
    /// A text about the change, without the file.
    pub fn what(&self) -> What<'_> {
        What(self)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what())
    }
}

/// Displays a change of a line for people.
#[derive(Debug, Clone, Copy)]
pub struct What<'a>(&'a Damage);

impl fmt::Display for What<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { line, n_lines, byte, kind, part, turn, change, .. } = self.0;
        let (is, was) = if *n_lines > 1 { ("are", "were") } else { ("is", "was") };
        match (line, n_lines) {
            (None, _) => write!(f, "{kind}")?,
            (Some(line), 0 | 1) => write!(f, "line {line} (byte {byte}, {kind}")?,
            (Some(line), n) => write!(f, "lines {line} to {} (byte {byte}, first {kind}", line.saturating_add(n - 1))?,
        }
        if line.is_some() {
            if !part.is_empty() {
                write!(f, ", sent as {part}")?;
            }
            if let Some(turn) = turn {
                write!(f, ", turn {turn}")?;
            }
            write!(f, ")")?;
        }
        match change {
            DamageKind::Changed => write!(f, " {was} changed"),
            DamageKind::Missing => write!(f, " {is} missing"),
            DamageKind::New => write!(f, " {is} new"),
            DamageKind::Moved => write!(f, " {was} moved"),
        }
    }
}

#[cfg(test)]
mod tests;
