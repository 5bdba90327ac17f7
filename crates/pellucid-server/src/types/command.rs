//! Commands, as items show them.

use std::path::PathBuf;

use pellucid_protocol::exec::ExecStatus;
use pellucid_protocol::parsed_command::ParsedCommand;
use pellucid_protocol::word_enum;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

word_enum! {
    /// The state of a command.
    CommandExecutionStatus {
        /// The command runs, or waits for approval.
        InProgress = "inProgress",
        /// The command ended with exit code 0.
        Completed = "completed",
        /// The command ended with another exit code, or could not be run.
        Failed = "failed",
        /// A person declined the command; it was not run.
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

/// What a command probably does, guessed from its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum CommandAction {
    /// The command reads a file.
    Read {
        /// The command, quoted for a shell.
        command: String,
        /// A short name of the file.
        name: String,
        /// The path of the file.
        path: PathBuf,
    },
    /// The command lists the files of a folder.
    ListFiles {
        /// The command, quoted for a shell.
        command: String,
        /// A short name of the folder.
        path: Option<String>,
    },
    /// The command searches for text or for files.
    Search {
        /// The command, quoted for a shell.
        command: String,
        /// The text or pattern that is searched for.
        query: Option<String>,
        /// A short name of the place that is searched.
        path: Option<String>,
    },
    /// The command does anything else.
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

/// What the parts of a command probably do.
pub fn actions(parsed: &[ParsedCommand]) -> Vec<CommandAction> {
    parsed.iter().cloned().map(Into::into).collect()
}
