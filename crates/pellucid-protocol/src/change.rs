//! Changes of files as faces see them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::id::TurnId;
use crate::settings::word_enum;

/// What a patch does, by absolute path.
pub type Changes = BTreeMap<PathBuf, FileChange>;

/// What a patch does to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FileChange {
    /// It makes it.
    Add {
        /// All of it.
        content: String,
    },
    /// It takes it away.
    Delete {
        /// What it held.
        content: String,
    },
    /// It changes it.
    Update {
        /// How, without the names.
        unified_diff: String,
        /// Where it goes.
        move_path: Option<PathBuf>,
    },
}

/// A patch is about to be applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchApplyBegin {
    /// Pairs it with its end.
    pub call_id: String,
    /// In which turn.
    pub turn_id: TurnId,
    /// Whether nobody is asked.
    pub auto_approved: bool,
    /// What it does.
    pub changes: Changes,
}

/// A patch was applied, or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchApplyEnd {
    /// Pairs it with its beginning.
    pub call_id: String,
    /// In which turn.
    pub turn_id: TurnId,
    /// What was said of it.
    pub stdout: String,
    /// What went wrong.
    pub stderr: String,
    /// Whether all of it was applied.
    pub success: bool,
    /// What it does.
    pub changes: Changes,
    /// How it ended.
    pub status: PatchStatus,
}

word_enum! {
    /// How a patch ended.
    PatchStatus {
        /// It was applied.
        Completed = "completed",
        /// It was not.
        Failed = "failed",
        /// A person did not want it.
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
