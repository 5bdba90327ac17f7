//! Commands as clients see them.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;

use crate::id::TurnId;
use crate::parsed_command::ParsedCommand;
use crate::settings::word_enum;

/// A command was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommandBegin {
    /// The id of the tool call; the end has the same.
    pub call_id: String,
    /// The id of the terminal, if the command may outlive the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<String>,
    /// The turn in which the command was started.
    pub turn_id: TurnId,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working directory of the command.
    pub cwd: PathBuf,
    /// What the command probably does, for display.
    pub parsed_cmd: Vec<ParsedCommand>,
    /// What started the command.
    pub source: ExecSource,
    /// The text that was written to the command's standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction_input: Option<String>,
}

/// A command has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommandEnd {
    /// The event of the start, whose fields are repeated.
    #[serde(flatten)]
    pub begin: ExecCommandBegin,
    /// The standard output of the command.
    pub stdout: String,
    /// The standard error of the command.
    pub stderr: String,
    /// The output of both streams, as clients show it.
    pub aggregated_output: String,
    /// The exit code of the command.
    pub exit_code: i32,
    /// How long the command ran.
    pub duration: Duration,
    /// The output as the model sees it.
    pub formatted_output: String,
    /// The final state of the command.
    pub status: ExecStatus,
}

word_enum! {
    /// What started a command.
    ExecSource {
        /// A tool call of the model.
        Agent = "agent",
        /// The user, without a tool call.
        UserShell = "user_shell",
        /// A tool call of the model, in a terminal that may outlive the call.
        UnifiedExecStartup = "unified_exec_startup",
        /// A tool call of the model that writes to such a terminal.
        UnifiedExecInteraction = "unified_exec_interaction",
    }
}

word_enum! {
    /// The final state of a command.
    ExecStatus {
        /// The command ended with exit code 0.
        Completed = "completed",
        /// The command ended with another exit code, or could not be run.
        Failed = "failed",
        /// The command was declined and not run.
        Declined = "declined",
    }
}

word_enum! {
    /// The stream that output came from.
    OutputStream {
        /// The standard output.
        Stdout = "stdout",
        /// The standard error.
        Stderr = "stderr",
    }
}
