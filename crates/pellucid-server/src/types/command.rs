//! Commands, as items show them.

use std::path::PathBuf;

use pellucid_protocol::exec::ExecStatus;
use pellucid_protocol::parsed_command::ParsedCommand;
use pellucid_protocol::word_enum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

word_enum! {
    /// How a command stands.
    CommandExecutionStatus {
        /// It runs, or somebody is asked whether it may.
        InProgress = "inProgress",
        /// It ended with exit code 0.
        Completed = "completed",
        /// It ended otherwise.
        Failed = "failed",
        /// It was not run.
        Declined = "declined",
    }
}

impl From<ExecStatus> for CommandExecutionStatus {
    fn from(status: ExecStatus) -> Self {
        match status {
            ExecStatus::Completed => Self::Completed,
            ExecStatus::Failed => Self::Failed,
            ExecStatus::Declined => Self::Declined,
        }
    }
}

/// What a command seems to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum CommandAction {
    /// It reads a file.
    Read {
        /// The command, quoted for a shell.
        command: String,
        /// A short name of the file.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// It lists files.
    ListFiles {
        /// The command, quoted for a shell.
        command: String,
        /// A short name of where.
        path: Option<String>,
    },
    /// It searches.
    Search {
        /// The command, quoted for a shell.
        command: String,
        /// What for.
        query: Option<String>,
        /// A short name of where.
        path: Option<String>,
    },
    /// Something else.
    Unknown {
        /// The command, quoted for a shell.
        command: String,
    },
}

impl From<ParsedCommand> for CommandAction {
    fn from(parsed: ParsedCommand) -> Self {
        match parsed {
            ParsedCommand::Read { cmd, name, path } => Self::Read { command: cmd, name, path: path.into() },
            ParsedCommand::ListFiles { cmd, path } => Self::ListFiles { command: cmd, path },
            ParsedCommand::Search { cmd, query, path } => Self::Search { command: cmd, query, path },
            ParsedCommand::Unknown { cmd } => Self::Unknown { command: cmd },
        }
    }
}

/// What the parts of a command seem to do.
pub fn actions(parsed: &[ParsedCommand]) -> Vec<CommandAction> {
    parsed.iter().cloned().map(Into::into).collect()
}
