//! Commands as faces see them.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;

use crate::id::TurnId;
use crate::parsed_command::ParsedCommand;
use crate::settings::word_enum;

/// A command began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommandBegin {
    /// Pairs it with its end.
    pub call_id: String,
    /// The terminal it runs in, if it may outlive the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<String>,
    /// In which turn.
    pub turn_id: TurnId,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Where.
    pub cwd: PathBuf,
    /// What it seems to do, for showing.
    pub parsed_cmd: Vec<ParsedCommand>,
    /// Who wanted it.
    pub source: ExecSource,
    /// What was typed into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction_input: Option<String>,
}

/// A command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommandEnd {
    /// What began.
    #[serde(flatten)]
    pub begin: ExecCommandBegin,
    /// What it said.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    /// Both, as they are shown.
    pub aggregated_output: String,
    /// Its exit code.
    pub exit_code: i32,
    /// How long it ran.
    pub duration: Duration,
    /// The output as the model sees it.
    pub formatted_output: String,
    /// How it ended.
    pub status: ExecStatus,
}

word_enum! {
    /// Who wanted a command.
    ExecSource {
        /// The model.
        Agent = "agent",
        /// The person.
        UserShell = "user_shell",
        /// The model, in a terminal that may outlive the call.
        UnifiedExecStartup = "unified_exec_startup",
        /// The model, writing into such a terminal.
        UnifiedExecInteraction = "unified_exec_interaction",
    }
}

word_enum! {
    /// How a command ended.
    ExecStatus {
        /// With exit code 0.
        Completed = "completed",
        /// With another.
        Failed = "failed",
        /// It was not run.
        Declined = "declined",
    }
}

word_enum! {
    /// Where output came from.
    OutputStream {
        /// Standard output.
        Stdout = "stdout",
        /// Standard error.
        Stderr = "stderr",
    }
}
