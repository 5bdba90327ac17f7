//! A command that runs within its call: asked for, run, shown, answered.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pellucid_engine::exec_output::Ended;
use pellucid_exec::process;
use pellucid_exec::process::Delta;
use pellucid_exec::process::Finished;
use pellucid_exec::process::Stream;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::exec::ExecCommandBegin;
use pellucid_protocol::exec::ExecCommandEnd;
use pellucid_protocol::exec::ExecSource;
use pellucid_protocol::exec::ExecStatus;
use pellucid_protocol::exec::OutputStream;
use pellucid_protocol::item::ToolOutput;
use tokio::sync::mpsc;

use crate::Failed;
use crate::Job;
use crate::permit;
use crate::permit::Refused;
use crate::permit::Rights;

/// How many pieces of output may wait to be shown.
const DELTAS_WAITING: usize = 16;

/// A command that the model wants to be run.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub call_id: String,
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub timeout: Duration,
    pub rights: Rights,
    pub form: Form,
}

/// In which form the model is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Lines,
}

/// Runs a command and shows it.
pub(crate) async fn run(job: &Job, wanted: &Wanted) -> Result<ToolOutput, Failed> {
    let begin = ExecCommandBegin {
        call_id: wanted.call_id.clone(),
        process_id: None,
        turn_id: job.situation.turn_id.clone(),
        command: wanted.argv.clone(),
        cwd: wanted.cwd.clone(),
        parsed_cmd: summary(&wanted.argv),
        source: ExecSource::Agent,
        interaction_input: None,
    };
    job.desk.tell(EventMessage::ExecCommandBegin(begin.clone())).await;
    let ran = permit::run(job, wanted).await;
    let policy = job.situation.truncation;
    let (end, answer) = match &ran {
        Ok(finished) => match finished.exit_code() {
            Some(exit_code) => {
                let shown = finished.shown();
                let ended = Ended { exit_code, duration: finished.duration, output: &shown };
                let text = match wanted.form {
                    Form::Json => ended.structured(policy),
                    Form::Lines => ended.freeform(policy),
                };
                let formatted = pellucid_engine::exec_output::with_heading(&shown, policy);
                (finished_end(begin, finished, exit_code, formatted), Ok(text))
            }
            None => {
                let text = finished.failure_text().unwrap_or_default();
                (refused_end(begin, &text, ExecStatus::Failed), Err(Failed::Told(text)))
            }
        },
        Err(Refused::Failed(text)) => (refused_end(begin, text, ExecStatus::Failed), Err(Failed::told(text))),
        Err(Refused::Declined(text)) => (refused_end(begin, text, ExecStatus::Declined), Err(Failed::told(text))),
        Err(Refused::Aborted) => {
            (refused_end(begin, "", ExecStatus::Declined), Err(Failed::Fatal("the turn was ended".to_owned())))
        }
    };
    job.desk.tell(EventMessage::ExecCommandEnd(Box::new(end))).await;
    answer.map(ToolOutput::Text)
}

/// Runs what is permitted, and passes its output on while it comes.
pub(crate) async fn run_shown(
    job: &Job,
    call_id: &str,
    command: &process::Command,
    timeout: Duration,
) -> Result<Finished, process::SpawnError> {
    let (sender, mut deltas) = mpsc::channel::<Delta>(DELTAS_WAITING);
    let running = async {
        let finished = process::run(command, Some(timeout), Some(&sender)).await;
        drop(sender);
        finished
    };
    let showing = async {
        while let Some(delta) = deltas.recv().await {
            let stream = match delta.stream {
                Stream::Stdout => OutputStream::Stdout,
                Stream::Stderr => OutputStream::Stderr,
            };
            let (call_id, chunk) = (call_id.to_owned(), STANDARD.encode(&delta.bytes));
            job.desk.tell(EventMessage::ExecCommandOutputDelta { call_id, stream, chunk }).await;
        }
    };
    tokio::join!(running, showing).0
}

fn finished_end(begin: ExecCommandBegin, finished: &Finished, exit_code: i32, formatted: String) -> ExecCommandEnd {
    ExecCommandEnd {
        begin,
        stdout: finished.stdout.text(),
        stderr: finished.stderr.text(),
        aggregated_output: finished.aggregated(),
        exit_code,
        duration: finished.duration,
        formatted_output: formatted,
        status: if exit_code == 0 { ExecStatus::Completed } else { ExecStatus::Failed },
    }
}

/// The end of a command that never ran, or not to an end of its own.
fn refused_end(begin: ExecCommandBegin, text: &str, status: ExecStatus) -> ExecCommandEnd {
    ExecCommandEnd {
        begin,
        stdout: String::new(),
        stderr: text.to_owned(),
        aggregated_output: text.to_owned(),
        exit_code: -1,
        duration: Duration::ZERO,
        formatted_output: text.to_owned(),
        status,
    }
}
