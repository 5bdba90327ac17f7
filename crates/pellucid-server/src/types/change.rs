//! Changes of files, as items show them.

use std::path::PathBuf;

use pellucid_protocol::change::Changes;
use pellucid_protocol::change::FileChange;
use pellucid_protocol::change::PatchStatus;
use pellucid_protocol::word_enum;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

word_enum! {
    /// The state of a patch.
    PatchApplyStatus {
        /// The patch is being applied, or waits for approval.
        InProgress = "inProgress",
        /// All of the patch was applied.
        Completed = "completed",
        /// The patch could not be applied.
        Failed = "failed",
        /// A person declined the patch.
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

/// The change of one file in a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileUpdateChange {
    pub path: String,
    /// Whether the file is added, deleted or updated.
    pub kind: PatchChangeKind,
    /// The whole content for a new or a deleted file, else a unified diff.
    pub diff: String,
}

/// What is done to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PatchChangeKind {
    Add,
    /// The file is deleted.
    Delete,
    Update {
        /// The new path of a file that is moved; absent if the file stays where it is.
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
