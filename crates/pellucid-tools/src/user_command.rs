//! A command that the user runs: in the user's shell, without sandbox and without approval.
//!
//! No tool of the model. What comes of it is shown like a command of the model, and the model sees
//! a record of it with the next request.

use std::future::Future;
use std::time::Duration;

use pellucid_engine::approval::grounds::CallGrounds;
use pellucid_engine::approval::grounds::Unasked;
use pellucid_engine::exec_output;
use pellucid_engine::user_command::UserCommand;
use pellucid_exec::process::Command;
use pellucid_exec::process::Finished;
use pellucid_exec::summary::summary;
use pellucid_protocol::call_record::CallOutcome;
use pellucid_protocol::call_record::HeldSandbox;
use pellucid_protocol::call_record::OutsideBecause;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::exec::ExecCommandBegin;
use pellucid_protocol::exec::ExecCommandEnd;
use pellucid_protocol::exec::ExecSource;
use pellucid_protocol::exec::ExecStatus;
use pellucid_protocol::settings::SandboxPolicy;

use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;

use crate::CallContext;
use crate::command;
use crate::desk::FromTool;
use crate::held;
use crate::script_argv::Login;
use crate::script_argv::script_argv;

/// The time limit of a user's command.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// Runs a person's command until it ends or `cancelled` does.
pub async fn run(job: &CallContext, call_id: String, script: &str, cancelled: impl Future<Output = ()> + Send) {
    let situation = &job.situation;
    let argv = script_argv(&situation.children.shell, Login::Yes, script);
    let begin = ExecCommandBegin {
        call_id: call_id.clone(),
        process_id: None,
        turn_id: situation.turn_id.clone(),
        parsed_cmd: summary(&argv),
        command: argv.clone(),
        cwd: situation.cwd.clone(),
        source: ExecSource::UserShell,
        interaction_input: None,
    };
    let _begun = job.notes.begin();
    job.notes.decided(CallGrounds::not_needed(Unasked::Person));
    let is_unconfined =
        matches!(situation.sandbox_policy, SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. });
    job.notes.runs(match is_unconfined {
        true => held::unconfined(&situation.sandbox_policy),
        false => HeldSandbox::outside(OutsideBecause::Person),
    });
    job.desk.tell(EventMessage::ExecCommandBegin(begin.clone())).await;
    let mut env = situation.children.environment.clone();
    let argv = job.toolbox.with_login(&argv, &situation.cwd, situation, &mut env);
    let command = Command { argv, arg0: None, cwd: situation.cwd.clone(), env };
    let ran = tokio::select! {
        ran = command::run_shown(job, &call_id, &command, LIMIT) => Some(ran),
        () = cancelled => None,
    };
    let is_interrupted = ran.is_none();
    let outcome = match ran {
        None => Outcome::failed("command aborted by user".to_owned()),
        Some(Err(error)) => Outcome::failed(error.failure_text()),
        Some(Ok(finished)) => Outcome::of(&finished),
    };
    job.notes.end(outcome.kept(is_interrupted));
    if let Some(exit_code) = outcome.ended_with {
        job.notes.ran(exit_code);
    }
    let user_command = UserCommand {
        command: script,
        exit_code: outcome.exit_code,
        duration: outcome.duration,
        output: &outcome.shown,
    };
    let record = user_command.record(situation.truncation);
    let formatted_output = exec_output::with_heading(&outcome.shown, situation.truncation);
    let end = ExecCommandEnd {
        begin,
        stdout: outcome.stdout,
        stderr: outcome.stderr,
        aggregated_output: outcome.aggregated,
        exit_code: outcome.exit_code,
        duration: outcome.duration,
        formatted_output,
        status: if outcome.exit_code == 0 { ExecStatus::Completed } else { ExecStatus::Failed },
    };
    job.desk.tell(EventMessage::ExecCommandEnd(Box::new(end))).await;
    job.desk.say(FromTool::UserCommandEnded { call_id, record }).await;
}

/// The end of a command that an error inside Pellucid ended, as the session and the model see it.
pub fn broken(call_id: String, script: &str) -> FromTool {
    tracing::error!(call_id, "a command of the person failed inside Pellucid");
    let output = "the command failed: an error inside Pellucid ended it";
    let failed = UserCommand { command: script, exit_code: -1, duration: Duration::ZERO, output };
    // The text is short enough for any policy.
    let record = failed.record(TruncationPolicy { mode: TruncationMode::Bytes, limit: 10_000 });
    FromTool::UserCommandEnded { call_id, record }
}

/// The result of a command.
struct Outcome {
    exit_code: i32,
    /// The exit code of its process; absent if that gave none.
    ended_with: Option<i32>,
    duration: Duration,
    stdout: String,
    stderr: String,
    aggregated: String,
    shown: String,
}

impl Outcome {
    /// The outcome of the command in the words of records.
    fn kept(&self, is_interrupted: bool) -> CallOutcome {
        match self.ended_with {
            _ if is_interrupted => CallOutcome::Interrupted,
            Some(0) => CallOutcome::Done,
            _ => CallOutcome::Failed,
        }
    }

    fn of(finished: &Finished) -> Self {
        match finished.exit_code() {
            Some(exit_code) => Self {
                exit_code,
                ended_with: Some(exit_code),
                duration: finished.duration,
                stdout: finished.stdout.text(),
                stderr: finished.stderr.text(),
                aggregated: finished.aggregated(),
                shown: finished.shown(),
            },
            None => Self::failed(finished.failure_text().unwrap_or_default()),
        }
    }

    fn failed(text: String) -> Self {
        Self {
            exit_code: -1,
            ended_with: None,
            duration: Duration::ZERO,
            stdout: String::new(),
            stderr: text.clone(),
            aggregated: text.clone(),
            shown: text,
        }
    }
}
