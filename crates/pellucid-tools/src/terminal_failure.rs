//! The answer to the model for a terminal that did not start, in the form that the model knows.
//!
//! That form is the debug output of another program, names included, so it is made in the same way.

#![allow(dead_code, reason = "the fields are read by `Debug`, which is what they are for")]

use std::time::Duration;

use pellucid_exec::process::SpawnError;

/// Why the terminal did not start.
#[derive(Debug)]
pub(crate) enum TerminalFailure {
    /// The user or a rule refused it.
    Rejected(String),
    /// The process could not be started.
    NotStarted(SpawnError),
    /// The sandbox stopped it at once.
    Denied {
        /// The exit code of the process.
        exit_code: i32,
        /// The output of the process.
        text: String,
    },
}

impl TerminalFailure {
    /// The text for the model.
    pub(crate) fn text(&self) -> String {
        let error = match self {
            Self::Rejected(text) => ToolError::Rejected(text.clone()),
            Self::NotStarted(error) => ToolError::Rejected(format!("Failed to create unified exec process: {error}")),
            Self::Denied { exit_code, text } => {
                let output = |text: &str| StreamOutput { text: text.to_owned(), truncated_after_lines: None };
                ToolError::Codex(CodexErr::Sandbox(SandboxErr::Denied {
                    output: ExecToolCallOutput {
                        exit_code: *exit_code,
                        stdout: output(""),
                        stderr: output(text),
                        aggregated_output: output(text),
                        duration: Duration::ZERO,
                        timed_out: false,
                    },
                    network_policy_decision: None,
                }))
            }
        };
        let failed = UnifiedExecError::CreateProcess { message: format!("{error:?}") };
        format!("exec_command failed: {failed:?}")
    }
}

#[derive(Debug)]
enum UnifiedExecError {
    CreateProcess { message: String },
}

#[derive(Debug)]
enum ToolError {
    Rejected(String),
    Codex(CodexErr),
}

#[derive(Debug)]
enum CodexErr {
    Sandbox(SandboxErr),
}

#[derive(Debug)]
enum SandboxErr {
    Denied { output: ExecToolCallOutput, network_policy_decision: Option<()> },
}

#[derive(Debug)]
struct ExecToolCallOutput {
    exit_code: i32,
    stdout: StreamOutput,
    stderr: StreamOutput,
    aggregated_output: StreamOutput,
    duration: Duration,
    timed_out: bool,
}

#[derive(Debug)]
struct StreamOutput {
    text: String,
    truncated_after_lines: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_quoted_twice() {
        let failure = TerminalFailure::Rejected("`/bin/bash -c 'rm -rf zzz'` rejected: blocked by policy".to_owned());
        let expected = "exec_command failed: CreateProcess { message: \"Rejected(\\\"`/bin/bash -c 'rm -rf zzz'` rejected: blocked by policy\\\")\" }";
        assert_eq!(failure.text(), expected);
    }
}
