//! What a command seems to do, for display. It decides nothing.

use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

/// What a command seems to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ParsedCommand {
    /// It shows a file.
    Read {
        /// The command.
        cmd: String,
        /// The file's name.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// It lists files.
    ListFiles {
        /// The command.
        cmd: String,
        /// Of which folder.
        path: Option<String>,
    },
    /// It looks for something.
    Search {
        /// The command.
        cmd: String,
        /// For what.
        query: Option<String>,
        /// Where.
        path: Option<String>,
    },
    /// Something else.
    Unknown {
        /// The command.
        cmd: String,
    },
}
