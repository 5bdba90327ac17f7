//! Warnings for the user, and results of file searches.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// The configuration uses something deprecated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeprecationNoticeNotification {
    /// What is deprecated.
    pub summary: String,
    /// What to use instead.
    pub details: Option<String>,
}

/// Something in the configuration has no effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigWarningNotification {
    /// The problem in one line.
    pub summary: String,
    pub details: Option<String>,
    /// The configuration file, if the problem is in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The place in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<TextRange>,
}

/// A range of a file's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TextRange {
    pub start: TextPosition,
    pub end: TextPosition,
}

/// A place in a file; line and column count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TextPosition {
    pub line: usize,
    pub column: usize,
}

/// The results of a search session so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionUpdatedNotification {
    pub session_id: String,
    /// The query that these results are for.
    pub query: String,
    pub files: Vec<FuzzyFileSearchResult>,
}

/// The results of a search session are complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionCompletedNotification {
    pub session_id: String,
}

/// A file that matches a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FuzzyFileSearchResult {
    /// The folder that was searched.
    pub root: String,
    /// The path of the file, relative to `root`.
    pub path: String,
    pub file_name: String,
    /// How well the file matches; higher is better.
    pub score: u32,
    /// The characters of `path` that match, counted from 0.
    pub indices: Option<Vec<u32>>,
}

/// Folders that every user may write, on systems where the sandbox cannot protect them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WindowsWorldWritableWarningNotification {
    /// Some of the folders.
    pub sample_paths: Vec<String>,
    /// How many such folders there are beside `samplePaths`.
    pub extra_count: usize,
    /// Whether the search for such folders failed.
    pub failed_scan: bool,
}
