//! A finding of `context check`, and its forms for people, programs and GitHub.

use pellucid_engine::visible::visible_name;
use serde_json::Value;
use serde_json::json;

use super::LOCK_FILE;

/// What kind of difference or fault a finding is about. The list is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// The text of a source is another.
    Drift,
    /// A source is new in the request.
    Added,
    /// A source is not in the request any more, or cannot be read.
    Removed,
    /// A source does not fit into its budget.
    Truncated,
    /// Another source takes the place of this one.
    Shadowed,
    /// A source has characters that a person does not see.
    Hidden,
    /// A source is there twice.
    Duplicate,
    /// A tool has another definition or another place.
    ToolChanged,
    /// A tool is new.
    ToolAdded,
    /// A tool is not offered any more.
    ToolRemoved,
    /// The pack is another, or a text of it is.
    Pack,
    /// Built-in texts changed with the version of the program.
    Program,
    /// A setting changed.
    Settings,
    /// The request or a part has more tokens than the policy allows.
    OverBudget,
    /// The lock file cannot be read.
    LockFormat,
}

impl FindingKind {
    /// Every kind there is.
    pub const ALL: [Self; 15] = [
        Self::Drift,
        Self::Added,
        Self::Removed,
        Self::Truncated,
        Self::Shadowed,
        Self::Hidden,
        Self::Duplicate,
        Self::ToolChanged,
        Self::ToolAdded,
        Self::ToolRemoved,
        Self::Pack,
        Self::Program,
        Self::Settings,
        Self::OverBudget,
        Self::LockFormat,
    ];

    /// The word for the kind in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Drift => "drift",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Truncated => "truncated",
            Self::Shadowed => "shadowed",
            Self::Hidden => "hidden",
            Self::Duplicate => "duplicate",
            Self::ToolChanged => "tool_changed",
            Self::ToolAdded => "tool_added",
            Self::ToolRemoved => "tool_removed",
            Self::Pack => "pack",
            Self::Program => "program",
            Self::Settings => "settings",
            Self::OverBudget => "over_budget",
            Self::LockFormat => "lock_format",
        }
    }
}

/// Whether a finding makes the check fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingLevel {
    /// The check passes.
    Warning,
    /// The check fails.
    Error,
}

impl FindingLevel {
    /// The word for the level in reports, and of GitHub's commands.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A difference between the lock and the request of today, or a fault of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockFinding {
    /// What kind of difference or fault it is.
    pub kind: FindingKind,
    /// Whether the check fails because of it.
    pub level: FindingLevel,
    /// The file, skill, tool, part or setting.
    pub source: String,
    /// The line of the source, from 1, where that is known.
    pub line: Option<usize>,
    /// How many bytes the source has in the request; those it had if it is gone.
    pub bytes: u64,
    /// How many tokens these bytes have.
    pub tokens: usize,
    /// What differs, in a few words.
    pub message: String,
    /// The file that the finding is shown at, from the project's root, and its line.
    pub shown_at: (String, Option<usize>),
}

/// The outcome of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockVerdict {
    /// The findings, in a fixed order.
    pub findings: Vec<LockFinding>,
}

impl LockVerdict {
    /// How many findings have this level.
    pub fn count(&self, level: FindingLevel) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }

    /// Whether there is a finding of this kind, an error or a warning.
    pub fn has(&self, kind: FindingKind) -> bool {
        self.findings.iter().any(|finding| finding.kind == kind)
    }

    /// Whether the check passes.
    pub fn is_passed(&self) -> bool {
        self.count(FindingLevel::Error) == 0
    }

    /// One line for each finding, and one for all.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let counted = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        let width = self.findings.iter().map(|finding| finding.kind.as_str().len()).max().unwrap_or(0);
        for finding in &self.findings {
            let LockFinding { kind, level, source, line, bytes, tokens, message, .. } = finding;
            // A name that has a line break could forge a finding, or a command of the program that reads the log.
            let (source, message) = (visible_name(source), visible_name(message));
            let line = line.map_or_else(String::new, |line| format!(":{line}"));
            let (level, kind, tokens) = (level.as_str(), kind.as_str(), counted(*tokens, "token"));
            text += &format!("{level:<7} {kind:<width$}  {source}{line}: {message} ({bytes} bytes, {tokens})\n");
        }
        text + &match (self.count(FindingLevel::Error), self.count(FindingLevel::Warning)) {
            (0, 0) => format!("{LOCK_FILE}: the request is as locked\n"),
            (errors, warnings) => {
                format!("{LOCK_FILE}: {}, {}\n", counted(errors, "error"), counted(warnings, "warning"))
            }
        }
    }

    /// The outcome for programs.
    pub fn to_json(&self) -> Value {
        let finding = |it: &LockFinding| {
            json!({
                "kind": it.kind.as_str(),
                "level": it.level.as_str(),
                "source": it.source,
                "line": it.line,
                "bytes": it.bytes,
                "tokens": it.tokens,
                "message": it.message,
            })
        };
        json!({
            "schema": "pellucid.check/1",
            "lock": LOCK_FILE,
            "passed": self.is_passed(),
            "errors": self.count(FindingLevel::Error),
            "warnings": self.count(FindingLevel::Warning),
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
        })
    }

    /// The findings as commands that GitHub shows at the lines of files.
    pub fn to_github(&self) -> String {
        let mut text = String::new();
        for LockFinding { kind, level, source, message, shown_at: (file, line), .. } in &self.findings {
            let (level, title) = (level.as_str(), property(&format!("context: {}", kind.as_str())));
            let (file, line) = (property(file), line.unwrap_or(1));
            let said = data(&format!("{source}: {message}"));
            text += &format!("::{level} file={file},line={line},title={title}::{said}\n");
        }
        text
    }
}

/// A text in which no line is a command for GitHub, which reads them from what a step prints: such a line could come from the
/// name of a file.
pub fn without_commands(text: &str) -> String {
    let is_command = |line: &str| line.trim_start().starts_with("::") || line.contains("##[");
    let line =
        |line: &str| if is_command(line) { format!("| {}", line.replace("##[", "# #[")) } else { line.to_owned() };
    text.split_inclusive('\n').map(line).collect()
}

/// A text as the message of a command of GitHub.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A text as a property of a command of GitHub.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
