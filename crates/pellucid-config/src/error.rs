//! What can be wrong with a configuration, and how it is reported to a person.
//!
//! Not here: the checks. They are where the values are read.

use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::path::PathBuf;

use crate::requirements::RequirementsError;

/// Why a configuration cannot be used.
#[expect(missing_docs, reason = "the messages of the variants name the fields")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A place in a file is wrong.
    #[error("{0}")]
    Located(Box<LocatedError>),
    /// A value that is in no file is wrong.
    #[error("{message}\nin `{key}`")]
    Value {
        /// What is wrong with the value.
        message: String,
        /// The dotted path of the key.
        key: String,
    },
    /// The configuration file of a trusted project is not TOML.
    #[error("Error parsing project config file {path}: {detail}", path = .located.path.display(), detail = .located.toml_detail())]
    Project {
        /// The place in the file.
        located: Box<LocatedError>,
    },
    /// The administrator's requirements cannot be used.
    #[error(transparent)]
    Requirements(#[from] RequirementsError),
    /// A file exists and cannot be read.
    #[error("failed to read {what} {path}: {source}", path = .path.display())]
    Unreadable {
        /// What the file is for.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A file that must contain text is blank.
    #[error("{what} is empty: {path}", path = .path.display())]
    Blank {
        /// What the file is for.
        what: &'static str,
        path: PathBuf,
    },
    /// No profile has this name.
    #[error("config profile `{0}` not found")]
    UnknownProfile(String),
    /// No provider has this id.
    #[error("Model provider `{0}` not found")]
    UnknownProvider(String),
    /// The provider existed in an earlier version.
    #[error(
        "the provider `{old}` is gone\nTo fix it, write `{new}` in `model_provider`, in `oss_provider` or after `--local-provider`"
    )]
    RemovedProvider {
        /// The id that is configured.
        old: String,
        /// The id to write instead.
        new: &'static str,
    },
    /// The limit of agents is 0.
    #[error("agents.max_threads must be at least 1")]
    NoAgents,
}

impl ConfigError {
    /// The report for a terminal: several lines, without a newline at the end.
    pub fn report(&self) -> String {
        match self {
            Self::Located(located) => format!("config.toml cannot be loaded:\n{located}"),
            Self::Value { .. } | Self::Project { .. } | Self::Requirements(_) => {
                format!("config.toml cannot be loaded: {self}")
            }
            Self::UnknownProfile(name) => {
                format!("{self}; write it as [profiles.{name}] in config.toml, or choose another one")
            }
            Self::UnknownProvider(name) => {
                format!("{self}; write it as [model_providers.{name}] in config.toml, or choose another one")
            }
            _ => format!("{self}"),
        }
    }
}

impl ConfigError {
    /// The report on one line, without the source line.
    pub fn brief(&self) -> String {
        match self {
            Self::Located(located) | Self::Project { located } => {
                let LocatedError { path, line, column, message, .. } = &**located;
                format!("{}:{line}:{column}: {message}", path.display())
            }
            Self::Value { message, key } => format!("{message} in `{key}`"),
            _ => self.to_string().lines().next().unwrap_or_default().to_owned(),
        }
    }

    /// The place in a file, if the error has one.
    pub fn located(&self) -> Option<&LocatedError> {
        match self {
            Self::Located(located) | Self::Project { located } => Some(located),
            _ => None,
        }
    }
}

/// An error at a place in a file. Displays as message, source line and carets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedError {
    /// The path of the file.
    pub path: PathBuf,
    /// What is wrong at the place.
    pub message: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The text of the line.
    pub source: String,
    /// How many characters are marked.
    pub n_marked: usize,
}

impl LocatedError {
    /// Finds the line and column of a byte range.
    pub(crate) fn new(path: &Path, text: &str, span: &Range<usize>, message: String) -> Self {
        let (line, line_start) = line_at(text, span.start);
        let source = text[line_start..].lines().next().unwrap_or_default();
        let line_end = line_start + source.len();
        let start = floor(text, span.start.min(line_end));
        let end = floor(text, span.end.min(text.len()));
        // The range may begin after the newline of the last line.
        let column = text[line_start..start].chars().count() + span.start.min(text.len()).saturating_sub(line_end);
        let n_marked = if end <= line_end { text[start..end.max(start)].chars().count().max(1) } else { 1 };
        Self { path: path.to_owned(), message, line, column: column + 1, source: source.to_owned(), n_marked }
    }

    /// The source line with carets below it.
    fn excerpt(&self) -> String {
        let Self { line, source, .. } = self;
        let gutter = " ".repeat(line.to_string().len());
        let indent = " ".repeat(self.column - 1);
        let carets = "^".repeat(self.n_marked);
        format!("{gutter} |\n{line} | {source}\n{gutter} | {indent}{carets}")
    }

    fn toml_detail(&self) -> String {
        let Self { line, column, message, .. } = self;
        format!("TOML parse error at line {line}, column {column}\n{}\n{message}", self.excerpt())
    }
}

impl std::fmt::Display for LocatedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { line, column, message, .. } = self;
        write!(f, "{}:{line}:{column}: {message}\n{}", self.path.display(), self.excerpt())
    }
}

/// The line of a byte, counted from 1, and the byte where that line begins. The end of a text that ends with a newline
/// belongs to its last line.
pub(crate) fn line_at(text: &str, offset: usize) -> (usize, usize) {
    let offset = offset.min(text.len());
    let before = &text.as_bytes()[..if offset == text.len() { offset.saturating_sub(1) } else { offset }];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    (line, start)
}

fn floor(text: &str, mut offset: usize) -> usize {
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// Joins names for a message: `a, b, c`.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for name in names {
        let comma = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{comma}{name}");
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_located(text: &str, span: Range<usize>, expected: &Expect) {
        expected.assert_eq(&LocatedError::new(Path::new("c.toml"), text, &span, "no".to_owned()).to_string());
    }

    #[test]
    fn carets_stand_under_what_is_wrong() {
        check_located(
            "a = 1\nmodel = 55\n",
            14..16,
            &expect![[r#"
                c.toml:2:9: no
                  |
                2 | model = 55
                  |         ^^"#]],
        );
        check_located(
            "é = 'ü'\n",
            5..9,
            &expect![[r#"
                c.toml:1:5: no
                  |
                1 | é = 'ü'
                  |     ^^^"#]],
        );
    }

    #[test]
    fn what_spans_lines_or_ends_the_text_has_one_caret() {
        check_located(
            "model = [\n1]\n",
            8..12,
            &expect![[r#"
                c.toml:1:9: no
                  |
                1 | model = [
                  |         ^"#]],
        );
        check_located(
            "a = [1,\n",
            8..8,
            &expect![[r#"
                c.toml:1:9: no
                  |
                1 | a = [1,
                  |         ^"#]],
        );
        check_located(
            "model = \"oops\n",
            13..13,
            &expect![[r#"
                c.toml:1:14: no
                  |
                1 | model = "oops
                  |              ^"#]],
        );
        check_located(
            "",
            0..0,
            &expect![[r#"
                c.toml:1:1: no
                  |
                1 | 
                  | ^"#]],
        );
    }
}
