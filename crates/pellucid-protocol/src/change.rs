//! Changes of files as clients see them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::id::TurnId;
use crate::settings::word_enum;

/// The changes of a patch, by absolute path.
pub type Changes = BTreeMap<PathBuf, FileChange>;

/// The change of one file in a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FileChange {
    /// The patch creates the file.
    Add {
        /// The whole content of the new file.
        content: String,
    },
    /// The patch deletes the file.
    Delete {
        /// The content that the file had.
        content: String,
    },
    /// The patch changes the file, and may move it.
    Update {
        /// The unified diff without its file header.
        unified_diff: String,
        /// The new path of a file that is moved.
        move_path: Option<PathBuf>,
    },
}

/// A patch is about to be applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchApplyBegin {
    /// The id of the tool call; the end has the same.
    pub call_id: String,
    /// The turn of the tool call.
    pub turn_id: TurnId,
    /// Whether the patch was applied without asking a person.
    pub auto_approved: bool,
    /// The changes of the patch, by absolute path.
    pub changes: Changes,
}

/// A patch was applied, or failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchApplyEnd {
    /// The id of the tool call; the beginning has the same.
    pub call_id: String,
    /// The turn of the tool call.
    pub turn_id: TurnId,
    /// The report of the applied changes.
    pub stdout: String,
    /// The error, if the patch failed.
    pub stderr: String,
    /// Whether all of the patch was applied.
    pub success: bool,
    /// The changes of the patch, by absolute path.
    pub changes: Changes,
    /// The final state of the patch.
    pub status: PatchStatus,
}

word_enum! {
    /// The final state of a patch.
    PatchStatus {
        /// All of the patch was applied.
        Completed = "completed",
        /// The patch could not be applied.
        Failed = "failed",
        /// A person declined the patch.
        Declined = "declined",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_json(change: &FileChange, json: &str) {
        assert_eq!(serde_json::to_string(change).unwrap(), json);
        assert_eq!(&serde_json::from_str::<FileChange>(json).unwrap(), change);
    }

    #[test]
    fn a_change_has_its_exact_json() {
        check_json(&FileChange::Add { content: "a\n".into() }, r#"{"type":"add","content":"a\n"}"#);
        check_json(&FileChange::Delete { content: String::new() }, r#"{"type":"delete","content":""}"#);
        let update = |move_path| FileChange::Update { unified_diff: "@@".into(), move_path };
        check_json(&update(None), r#"{"type":"update","unified_diff":"@@","move_path":null}"#);
        check_json(&update(Some("/b".into())), r#"{"type":"update","unified_diff":"@@","move_path":"/b"}"#);
    }
}
