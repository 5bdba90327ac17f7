//! What clients should show to people, and what a search found.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// Something configured is going away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecationNoticeNotification {
    /// What.
    pub summary: String,
    /// What to do instead.
    pub details: Option<String>,
}

/// Something in the configuration does not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigWarningNotification {
    /// What.
    pub summary: String,
    /// Why.
    pub details: Option<String>,
    /// In which file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Where in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<TextRange>,
}

/// A piece of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextRange {
    /// Where it begins.
    pub start: TextPosition,
    /// Where it ends.
    pub end: TextPosition,
}

/// A place in a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextPosition {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// What a search found so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionUpdatedNotification {
    /// Which search.
    pub session_id: String,
    /// What was looked for.
    pub query: String,
    /// What was found.
    pub files: Vec<FuzzyFileSearchResult>,
}

/// A search found all there is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionCompletedNotification {
    /// Which search.
    pub session_id: String,
}

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FuzzyFileSearchResult {
    /// The folder that was searched.
    pub root: String,
    /// The file, from that folder.
    pub path: String,
    /// Its name.
    pub file_name: String,
    /// How well it fits.
    pub score: u32,
    /// Which characters of its path fit.
    pub indices: Option<Vec<u32>>,
}

/// Folders that anybody may write, on systems where the sandbox cannot protect them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowsWorldWritableWarningNotification {
    /// Some of them.
    pub sample_paths: Vec<String>,
    /// How many more.
    pub extra_count: usize,
    /// Whether looking failed.
    pub failed_scan: bool,
}
