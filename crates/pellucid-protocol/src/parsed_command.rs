//! What a command seems to be about, for people who look at it. Nothing is decided by it.

use serde::Deserialize;
use serde::Serialize;

/// What a command seems to be about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ParsedCommand {
    /// It reads a file.
    Read {
        /// The command, quoted for a shell.
        cmd: String,
        /// A short name of the file.
        name: String,
        /// The file, as far as the command tells.
        path: String,
    },
    /// It lists files.
    ListFiles {
        /// The command, quoted for a shell.
        cmd: String,
        /// A short name of where.
        path: Option<String>,
    },
    /// It searches.
    Search {
        /// The command, quoted for a shell.
        cmd: String,
        /// What for.
        query: Option<String>,
        /// A short name of where.
        path: Option<String>,
    },
    /// Something else.
    Unknown {
        /// The command, quoted for a shell.
        cmd: String,
    },
}
