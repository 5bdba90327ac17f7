//! Reviews: what is reviewed, and what a reviewer finds.

use serde::Deserialize;
use serde::Serialize;

/// A review that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRequest {
    /// What is reviewed.
    pub target: ReviewTarget,
    /// What people see of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_facing_hint: Option<String>,
}

/// What is reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ReviewTarget {
    /// Staged, unstaged and untracked changes.
    UncommittedChanges,
    /// The changes since a branch.
    BaseBranch {
        /// The branch.
        branch: String,
    },
    /// The changes of a commit.
    Commit {
        /// Which.
        sha: String,
        /// Its title.
        title: Option<String>,
    },
    /// What a person says.
    Custom {
        /// In these words.
        instructions: String,
    },
}

/// What a reviewer found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReviewOutput {
    /// One by one.
    pub findings: Vec<Finding>,
    /// The verdict.
    pub overall_correctness: String,
    /// In words.
    pub overall_explanation: String,
    /// How sure they are.
    #[serde(deserialize_with = "crate::number::as_f32")]
    pub overall_confidence_score: f32,
}

/// Something that a reviewer found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// In a few words.
    pub title: String,
    /// In more words.
    pub body: String,
    /// How sure they are.
    #[serde(deserialize_with = "crate::number::as_f32")]
    pub confidence_score: f32,
    /// How urgent it is.
    pub priority: i32,
    /// Where it is.
    pub code_location: CodeLocation,
}

/// Where something is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeLocation {
    /// The file.
    pub absolute_file_path: String,
    /// Its lines.
    pub line_range: LineRange,
}

/// Lines of a file, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    /// The first.
    pub start: u32,
    /// The last.
    pub end: u32,
}
