//! What a command probably does, guessed for display. Nothing is decided by it.

use serde::Deserialize;
use serde::Serialize;

/// What a command probably does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ParsedCommand {
    /// The command reads a file.
    Read {
        /// The command, quoted for a shell.
        cmd: String,
        /// A short name of the file.
        name: String,
        /// The path of the file, as far as the command shows it.
        path: String,
    },
    /// The command lists the files of a folder.
    ListFiles {
        /// The command, quoted for a shell.
        cmd: String,
        /// A short name of the folder.
        path: Option<String>,
    },
    /// The command searches for text or for files.
    Search {
        /// The command, quoted for a shell.
        cmd: String,
        /// The text or pattern that is searched for.
        query: Option<String>,
        /// A short name of the place that is searched.
        path: Option<String>,
    },
    /// The command does anything else.
    Unknown {
        /// The command, quoted for a shell.
        cmd: String,
    },
}
