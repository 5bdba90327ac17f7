//! `exec`: one turn without a terminal interface.
//!
//! Submits the prompt through the session's door and shows its events, as lines for people or as
//! JSON. The status is 1 if any error was told.

mod human;
mod json;

use std::path::Path;
use std::process::ExitCode;

use pellucid_agent::door;
use pellucid_agent::door::Door;
use pellucid_agent::identity::new_turn_id;
use pellucid_agent::session::Session;
use pellucid_engine::fragment::Why;
use pellucid_engine::report::why_text;
use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_workspace::git;
use serde_json::Value;

use crate::args::ExecArgs;
use crate::args::Shared;
use crate::exec::human::Human;
use crate::exec::json::Json;
use crate::start;
use crate::start::Failure;
use crate::start::Opening;
use crate::start::Start;
use crate::stdin;
use crate::style;
use crate::style::Paint;

pub fn run(shared: &Shared, args: &ExecArgs) -> Result<ExitCode, Failure> {
    let mut start = Start::new(shared, &args.turn)?;
    let is_waived = args.skip_git_repo_check || args.turn.bypass;
    if !is_waived && git::work_tree_root(&start.config.folders.cwd).is_none() {
        return Err(Failure::new("Not inside a trusted directory and --skip-git-repo-check was not specified."));
    }
    start.make_ready()?;
    let tape = args.record.as_deref().map(|file| start.record(file)).transpose()?;
    let hide_reasoning = start.config.display.hide_reasoning;
    let has_context_events = args.context_events || start.config.records.context_events;
    let has_typed_codes = args.typed_exit_codes || start.config.records.typed_exit_codes;
    let (resume, prompt) = (args.resume(), args.prompt());
    let opening = match resume.and_then(|which| start.find(&which)) {
        Some(loaded) => Opening::Resumed { loaded: Box::new(loaded), keep: args.keep() },
        None => Opening::New { session_id: args.turn.session_id.as_deref(), keep: args.keep() },
    };
    let mut session = start.session(opening)?;
    if args.json && has_context_events {
        session.tell_context();
    }
    tell_omissions(&session, args.strict_context)?;
    let prompt = stdin::prompt(prompt)?;
    let output_schema = start::output_schema(args.turn.output_schema.as_deref())?;
    let turn = Turn { inputs: start::inputs(&args.images(), Some(prompt.clone())), output_schema };
    let paint = Paint::new(args.color);
    let mut show = if args.json {
        Show::Json(Json::new(has_context_events))
    } else {
        Show::Human(Box::new(Human::new(paint, hide_reasoning, prompt, session.facts())))
    };
    let (session, outcome) = run_turn(session, turn, &mut show)?;
    if let Some(failure) = session.file_failure() {
        style::line(&format!("warning: the session is not kept: {failure}"));
    }
    if let Some(file) = &args.output_last_message {
        write_last_message(file, outcome.last_message.as_deref());
    }
    show.finish(outcome.last_message.as_deref())?;
    if let Some(Err(error)) = tape.map(|tape| tape.finish()) {
        style::line(&format!("warning: the recording is not whole: {error}"));
    }
    Ok(if has_typed_codes { outcome.typed_code() } else { outcome.code() })
}

/// Says on standard error which instructions the model will not see. Events stay as they are.
fn tell_omissions(session: &Session, is_strict: bool) -> Result<(), Failure> {
    let lost: Vec<_> = session.omissions().iter().filter(|omission| is_loss(&omission.why)).collect();
    for omission in &lost {
        style::line(&format!("warning: {}: {}", omission.what, why_text(&omission.why)));
    }
    if is_strict && !lost.is_empty() {
        return Err(Failure::new(
            "Error: --strict-context: the model would not see what the warnings above name, so nothing was sent",
        ));
    }
    Ok(())
}

/// Whether somebody's words are lost. A blank file loses nothing.
fn is_loss(why: &Why) -> bool {
    match why {
        Why::Cut { .. } | Why::OverBudget { .. } | Why::Unusable { .. } => true,
        Why::LeftWindow { .. } | Why::Blank | Why::SwitchedOff | Why::OnlyOnMention | Why::Shadowed { .. } => false,
    }
}

/// What is asked.
#[derive(Debug)]
pub struct Turn {
    pub inputs: Vec<UserInput>,
    pub output_schema: Option<Value>,
}

/// How a turn ended.
#[derive(Debug, Default)]
pub struct Outcome {
    pub last_message: Option<String>,
    pub failure: Option<ErrorInfo>,
    pub is_interrupted: bool,
}

impl Outcome {
    /// The status that other programs know: an interruption is no failure.
    fn code(&self) -> ExitCode {
        if self.failure.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    /// The status that tells kinds of failure apart.
    fn typed_code(&self) -> ExitCode {
        let code = match self.failure {
            None if self.is_interrupted => 130,
            None => 0,
            Some(ErrorInfo::Unauthorized) => 10,
            Some(ErrorInfo::UsageLimitExceeded) => 11,
            Some(ErrorInfo::ContextWindowExceeded) => 12,
            Some(
                ErrorInfo::ServerOverloaded
                | ErrorInfo::InternalServerError
                | ErrorInfo::ResponseStreamDisconnected { .. }
                | ErrorInfo::ResponseTooManyFailedAttempts { .. },
            ) => 16,
            Some(ErrorInfo::BadRequest | ErrorInfo::ThreadRollbackFailed | ErrorInfo::Other) => 1,
        };
        ExitCode::from(code)
    }
}

/// Where events go.
#[derive(Debug)]
pub enum Show {
    Human(Box<Human>),
    Json(Json),
}

impl Show {
    fn event(&mut self, event: &EventMessage) -> Result<(), Failure> {
        match self {
            Self::Human(human) => {
                human.event(event);
                Ok(())
            }
            Self::Json(json) => json.event(event),
        }
    }

    /// After the last event: the answer goes to standard output.
    pub fn finish(&self, last_message: Option<&str>) -> Result<(), Failure> {
        match self {
            Self::Human(human) => human.finish(last_message),
            Self::Json(_) => Ok(()),
        }
    }
}

/// Runs one turn to its end and gives the session back.
pub fn run_turn(session: Session, turn: Turn, show: &mut Show) -> Result<(Session, Outcome), Failure> {
    runtime()?.block_on(async {
        let (door, inside) = door::open(&session);
        let (session, outcome) = tokio::join!(door::run(session, inside), watch(door, turn, show));
        Ok((session, outcome?))
    })
}

/// What everything that waits runs on.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("Error: the runtime cannot start: {error}")))
}

/// The face: submits, shows, and shuts the session down after the turn.
async fn watch(mut door: Door, turn: Turn, show: &mut Show) -> Result<Outcome, Failure> {
    let submit = |operation| Submission { id: new_turn_id(), operation };
    let input = Operation::UserInput { items: turn.inputs, final_output_json_schema: turn.output_schema };
    let mut outcome = Outcome::default();
    // A send only fails when the session has ended, and then the event stream says so.
    let _ = door.submissions.send(submit(input)).await;
    loop {
        let event = tokio::select! {
            event = door.events.recv() => event,
            interrupt = tokio::signal::ctrl_c() => {
                if interrupt.is_ok() {
                    let _ = door.submissions.send(submit(Operation::Interrupt)).await;
                }
                continue;
            }
        };
        let Some(event) = event else {
            return Ok(outcome);
        };
        show.event(&event.msg)?;
        match event.msg {
            EventMessage::Error { codex_error_info, .. } => {
                outcome.failure = Some(codex_error_info.unwrap_or(ErrorInfo::Other));
            }
            EventMessage::TaskComplete { last_agent_message, .. } => {
                outcome.last_message = last_agent_message;
                let _ = door.submissions.send(submit(Operation::Shutdown)).await;
            }
            EventMessage::TurnAborted { .. } => {
                outcome.is_interrupted = true;
                let _ = door.submissions.send(submit(Operation::Shutdown)).await;
            }
            EventMessage::ShutdownComplete => return Ok(outcome),
            _ => {}
        }
    }
}

fn write_last_message(file: &Path, message: Option<&str>) {
    let shown = file.display();
    if message.is_none() {
        style::line(&format!("Warning: no last agent message; wrote empty content to {shown}"));
    }
    if let Err(error) = std::fs::write(file, message.unwrap_or_default()) {
        style::line(&format!("Failed to write last message file {shown}: {error}"));
    }
}

/// Shows events to a person, with everything that the model thinks aloud.
pub fn human(paint: Paint, prompt: String, session: &Session) -> Human {
    Human::new(paint, false, prompt, session.facts())
}
