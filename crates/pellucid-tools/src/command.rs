//! A command that runs within its call: asked for, run, shown, answered.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pellucid_engine::cut::middle::byte_limit;
use pellucid_engine::exec_output;
use pellucid_engine::exec_output::EndedCommand;
use pellucid_exec::process;
use pellucid_exec::process::Command;
use pellucid_exec::process::Delta;
use pellucid_exec::process::Finished;
use pellucid_exec::process::Variables;
use pellucid_exec::summary::summary;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::exec::ExecCommandBegin;
use pellucid_protocol::exec::ExecCommandEnd;
use pellucid_protocol::exec::ExecSource;
use pellucid_protocol::exec::ExecStatus;
use pellucid_protocol::item::ToolOutput;
use tokio::sync::mpsc;

use crate::CallContext;
use crate::Failed;
use crate::patch;
use crate::permit;
use crate::permit::After;
use crate::permit::Refused;
use crate::permit::Rights;

/// How many pieces of output may wait to be shown.
const DELTAS_WAITING: usize = 16;

/// A command that the model wants to be run.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub tool: String,
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
pub(crate) async fn run(job: &CallContext, wanted: &Wanted) -> Result<ToolOutput, Failed> {
    if let Some(text) = permit::escalation_refusal(job, &wanted.rights) {
        return Err(Failed::Answered(text));
    }
    if let Some(patched) = patch::intercept(job, &wanted.tool, &wanted.call_id, &wanted.argv, &wanted.cwd).await {
        return patched;
    }
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
    let (end, answer) = match attempt(job, wanted).await {
        Ok(finished) => ended(job, wanted, begin, &finished),
        Err(NotRun { text, status }) => (refused_end(begin, &text, status), Err(Failed::Answered(text))),
    };
    job.desk.tell(EventMessage::ExecCommandEnd(Box::new(end))).await;
    answer.map(ToolOutput::Text)
}

/// Why a command did not run to its end.
struct NotRun {
    text: String,
    status: ExecStatus,
}

impl From<Refused> for NotRun {
    fn from(refused: Refused) -> Self {
        let text = match refused {
            Refused::ByPolicy(text) => text,
            Refused::ByPerson => "exec command rejected by user".to_owned(),
        };
        Self { text, status: ExecStatus::Declined }
    }
}

/// The variables of the command: the environment, and those that skills need.
fn environment(job: &CallContext) -> Variables {
    let own = job.situation.children.skill_variables.0.iter().map(|(name, value)| (name.into(), value.into()));
    job.situation.children.environment.clone().into_iter().chain(own).collect()
}

/// Runs a command, and once more outside of the sandbox if the sandbox stopped it and the user allows it.
async fn attempt(job: &CallContext, wanted: &Wanted) -> Result<Finished, NotRun> {
    if wanted.argv.is_empty() {
        return Err(Refused::ByPolicy("command args are empty".to_owned()).into());
    }
    let request = permit::Request {
        call_id: &wanted.call_id,
        argv: &wanted.argv,
        cwd: &wanted.cwd,
        rights: &wanted.rights,
        tty: None,
    };
    let mut permit = permit::permit(job, &request).await?;
    loop {
        let mut env = environment(job);
        let argv = permit.argv(job, &request, &mut env).await?;
        let command = Command { argv, arg0: None, cwd: wanted.cwd.clone(), env };
        permit.check(job).await?;
        let ran = run_shown(job, &wanted.call_id, &command, wanted.timeout).await;
        let finished = ran.map_err(|error| NotRun { text: error.failure_text(), status: ExecStatus::Failed })?;
        let Some(exit_code) = finished.exit_code() else { return Ok(finished) };
        let outputs = [finished.stdout.text(), finished.stderr.text()];
        match permit::after(job, &request, &permit, exit_code, &outputs.each_ref().map(String::as_str)).await {
            After::NotDenied | After::Denied => return Ok(finished),
            After::Again(outside) => permit = outside,
            After::Refused(refused) => return Err(refused.into()),
        }
    }
}

/// The event and the answer for a command that ended.
fn ended(
    job: &CallContext,
    wanted: &Wanted,
    begin: ExecCommandBegin,
    finished: &Finished,
) -> (ExecCommandEnd, Result<String, Failed>) {
    let Some(exit_code) = finished.exit_code() else {
        let text = finished.failure_text().unwrap_or_default();
        return (refused_end(begin, &text, ExecStatus::Failed), Err(Failed::Answered(text)));
    };
    let (shown, policy) = (finished.shown(), job.situation.truncation);
    let ended = EndedCommand { exit_code, duration: finished.duration, output: &shown };
    let text = match wanted.form {
        Form::Json => ended.structured(policy),
        Form::Lines => ended.freeform(policy),
    };
    let end = ExecCommandEnd {
        begin,
        stdout: finished.stdout.text(),
        stderr: finished.stderr.text(),
        aggregated_output: finished.aggregated(),
        exit_code,
        duration: finished.duration,
        formatted_output: exec_output::with_heading(&shown, policy),
        status: if exit_code == 0 { ExecStatus::Completed } else { ExecStatus::Failed },
    };
    (end, Ok(text))
}

/// Runs what is permitted, and passes its output on while it comes.
pub(crate) async fn run_shown(
    job: &CallContext,
    call_id: &str,
    command: &Command,
    timeout: Duration,
) -> Result<Finished, process::SpawnError> {
    let listening = job.toolbox.listen(call_id, byte_limit(job.situation.truncation));
    let (sender, mut deltas) = mpsc::channel::<Delta>(DELTAS_WAITING);
    let running = async {
        let finished = process::run_heard(command, Some(timeout), Some(&sender), listening).await;
        drop(sender);
        finished
    };
    let showing = async {
        while let Some(delta) = deltas.recv().await {
            let (call_id, stream, chunk) = (call_id.to_owned(), delta.stream, STANDARD.encode(&delta.bytes));
            job.desk.tell(EventMessage::ExecCommandOutputDelta { call_id, stream, chunk }).await;
        }
    };
    tokio::join!(running, showing).0
}

/// The end event of a command that did not run, or was stopped.
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
