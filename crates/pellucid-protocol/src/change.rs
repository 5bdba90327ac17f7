//! What a patch does to one file.

use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

/// A change of a file, as events and requests for approval carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FileChange {
    /// The file is written whole.
    Add {
        /// All of it.
        content: String,
    },
    /// The file is removed.
    Delete {
        /// What was in it.
        content: String,
    },
    /// Lines of the file change.
    Update {
        /// Hunks without the names of files above them.
        unified_diff: String,
        /// Where the file goes. Always written.
        move_path: Option<PathBuf>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(change: &FileChange, json: &str) {
        assert_eq!(serde_json::to_string(change).unwrap(), json);
        assert_eq!(&serde_json::from_str::<FileChange>(json).unwrap(), change);
    }

    #[test]
    fn has_its_exact_json() {
        check(&FileChange::Add { content: "a\n".into() }, r#"{"type":"add","content":"a\n"}"#);
        check(&FileChange::Delete { content: String::new() }, r#"{"type":"delete","content":""}"#);
        check(
            &FileChange::Update { unified_diff: "@@".into(), move_path: None },
            r#"{"type":"update","unified_diff":"@@","move_path":null}"#,
        );
        check(
            &FileChange::Update { unified_diff: "@@".into(), move_path: Some("/b".into()) },
            r#"{"type":"update","unified_diff":"@@","move_path":"/b"}"#,
        );
    }
}
