//! Reviews: what is reviewed, and the reviewer's findings.

use serde::Deserialize;
use serde::Serialize;

/// A request for a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRequest {
    /// The changes to review.
    pub target: ReviewTarget,
    /// A description of what is reviewed, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_facing_hint: Option<String>,
}

/// The changes that are reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ReviewTarget {
    /// Staged, unstaged and untracked changes.
    UncommittedChanges,
    /// The changes since a branch.
    BaseBranch {
        /// The name of the branch.
        branch: String,
    },
    /// The changes of a commit.
    Commit {
        /// The hash of the commit.
        sha: String,
        /// The commit's subject, if the client knows it.
        title: Option<String>,
    },
    /// Anything that instructions describe.
    Custom {
        /// The instructions for the reviewer.
        instructions: String,
    },
}

/// The result of a review.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReviewOutput {
    /// The findings, in the reviewer's order.
    pub findings: Vec<ReviewFinding>,
    /// The verdict: `patch is correct` or `patch is incorrect`.
    pub overall_correctness: String,
    /// The reason for the verdict.
    pub overall_explanation: String,
    /// How sure the reviewer is, 0 to 1.
    #[serde(deserialize_with = "crate::number::as_f32")]
    pub overall_confidence_score: f32,
}

/// A problem that a reviewer found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewFinding {
    /// The problem in a few words.
    pub title: String,
    /// The problem explained in full.
    pub body: String,
    /// How sure the reviewer is, 0 to 1.
    #[serde(deserialize_with = "crate::number::as_f32")]
    pub confidence_score: f32,
    /// How urgent the problem is; 0 is the most urgent.
    pub priority: i32,
    /// The place of the problem.
    pub code_location: CodeLocation,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeLocation {
    /// The absolute path of the file.
    pub absolute_file_path: String,
    /// The lines of the place.
    pub line_range: LineRange,
}

/// Lines of a file, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    /// The first line, counted from 1.
    pub start: u32,
    /// The last line, counted from 1.
    pub end: u32,
}
