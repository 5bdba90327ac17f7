//! What a patch does to a file.

use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

/// What a patch does to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FileChange {
    /// It is made.
    Add {
        /// Its text.
        content: String,
    },
    /// It is removed.
    Delete {
        /// The text it had.
        content: String,
    },
    /// It is changed.
    Update {
        /// What changes.
        unified_diff: String,
        /// Where it goes.
        move_path: Option<PathBuf>,
    },
}
