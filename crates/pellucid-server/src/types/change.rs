//! Changes of files, as items show them.

use std::path::PathBuf;

use pellucid_protocol::change::Changes;
use pellucid_protocol::change::FileChange;
use pellucid_protocol::change::PatchStatus;
use pellucid_protocol::word_enum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

word_enum! {
    /// How a patch stands.
    PatchApplyStatus {
        /// It is being applied, or somebody is asked whether it may.
        InProgress = "inProgress",
        /// It was applied.
        Completed = "completed",
        /// It was not.
        Failed = "failed",
        /// A person did not want it.
        Declined = "declined",
    }
}

impl From<PatchStatus> for PatchApplyStatus {
    fn from(status: PatchStatus) -> Self {
        match status {
            PatchStatus::Completed => Self::Completed,
            PatchStatus::Failed => Self::Failed,
            PatchStatus::Declined => Self::Declined,
        }
    }
}

/// What a patch does to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileUpdateChange {
    /// The file.
    pub path: String,
    /// What is done.
    pub kind: PatchChangeKind,
    /// The whole content for a new or a deleted file, else a unified diff.
    pub diff: String,
}

/// What is done to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PatchChangeKind {
    /// It is made.
    Add,
    /// It is taken away.
    Delete,
    /// It is changed.
    Update {
        /// Where it goes.
        move_path: Option<PathBuf>,
    },
}

/// All changes of a patch, in the order of their paths.
pub fn updates(changes: &Changes) -> Vec<FileUpdateChange> {
    let mut updates: Vec<_> = changes
        .iter()
        .map(|(path, change)| {
            let (kind, diff) = match change {
                FileChange::Add { content } => (PatchChangeKind::Add, content.clone()),
                FileChange::Delete { content } => (PatchChangeKind::Delete, content.clone()),
                FileChange::Update { unified_diff, move_path } => {
                    let diff = match move_path {
                        Some(to) => format!("{unified_diff}\n\nMoved to: {}", to.display()),
                        None => unified_diff.clone(),
                    };
                    (PatchChangeKind::Update { move_path: move_path.clone() }, diff)
                }
            };
            FileUpdateChange { path: path.to_string_lossy().into_owned(), kind, diff }
        })
        .collect();
    // Paths compare by their parts, texts by their characters; clients expect the latter.
    updates.sort_by(|a: &FileUpdateChange, b| a.path.cmp(&b.path));
    updates
}
