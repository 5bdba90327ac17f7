//! `exec`: one turn that asks nothing.
//!
//! Submits the prompt through the session's door and shows its events: as they come at a terminal (`live`), as lines for
//! people (`human`), or as JSON (`json`). The exit status is 1 if any error was reported.

mod absent;
mod collab;
mod elicitation;
mod family;
mod human;
mod json;
mod last_message;
mod live;

use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_agent::door;
use pellucid_agent::door::Door;
use pellucid_agent::identity::new_turn_id;
use pellucid_agent::session::Session;
use pellucid_config::Env;
use pellucid_engine::documents::listed::with_hidden;
use pellucid_engine::report::why_text;
use pellucid_engine::review;
use pellucid_engine::turn::compacting;
use pellucid_inspect::server::StartedFor;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::failure::FailureCode;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_protocol::review::ReviewRequest;
use pellucid_protocol::review::ReviewTarget;
use pellucid_tui::cells::transcript::ShownReasoning;
use pellucid_tui::cells::transcript::TranscriptOptions;

use crate::args::exec::Color;
use crate::args::exec::ExecArgs;
use crate::args::exec::ExecCommand;
use crate::args::exec::ExecOptions;
use crate::args::review::ReviewArgs;
use crate::args::shared::Shared;
pub use crate::exec::absent::Absent;
use crate::exec::family::Family;
use crate::exec::human::Human;
use crate::exec::json::Json;
use crate::exec::last_message::LastMessage;
use crate::exec::live::LiveTurn;
use crate::exec::live::Woken;
use crate::fork;
use crate::fork::CopyEnd;
use crate::inspect;
use crate::screen::name;
use crate::start;
use crate::start::Opening;
use crate::start::Persistence;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::start::Which;
use crate::stdin;
use crate::stored::NoSession;
use crate::style;
use crate::style::Paint;
use crate::tui::settings::shown_reasoning;

pub fn run(shared: &Shared, args: &ExecArgs) -> Result<ExitCode, ProgramFailure> {
    if let Some(ExecCommand::Review(review_args)) = &args.command {
        return run_review(shared, &args.options, review_args, Manner::Codex);
    }
    let target = match args.resume() {
        Some(which) => SessionTarget::Resumed { which, otherwise: Otherwise::BeginNew },
        None => SessionTarget::New,
    };
    let work = Work::Answer { prompt: args.prompt(), images: args.images() };
    run_job(shared, &args.options, ExecJob { target, work, manner: Manner::Codex })
}

/// Runs a review turn for `review` and `exec review`.
pub fn run_review(
    shared: &Shared,
    options: &ExecOptions,
    args: &ReviewArgs,
    manner: Manner,
) -> Result<ExitCode, ProgramFailure> {
    let target = review_target(args)?;
    run_job(shared, options, ExecJob { target: SessionTarget::New, work: Work::Review(target), manner })
}

fn review_target(args: &ReviewArgs) -> Result<ReviewTarget, ProgramFailure> {
    let ReviewArgs { uncommitted, base, commit, title, instructions } = args;
    match (uncommitted, base, commit, instructions) {
        (true, ..) => Ok(ReviewTarget::UncommittedChanges),
        (_, Some(branch), ..) => Ok(ReviewTarget::BaseBranch { branch: branch.clone() }),
        (_, _, Some(sha), _) => Ok(ReviewTarget::Commit { sha: sha.clone(), title: title.clone() }),
        (_, _, _, Some(_)) => {
            let instructions = stdin::prompt(instructions.clone())?;
            if instructions.trim().is_empty() {
                return Err(ProgramFailure::new("Review prompt cannot be empty"));
            }
            Ok(ReviewTarget::Custom { instructions: instructions.trim().to_owned() })
        }
        _ => Err(ProgramFailure::new("Specify --uncommitted, --base, --commit, or provide custom review instructions")),
    }
}

/// The work of one run, the session it is for, and how it behaves.
#[derive(Debug)]
pub struct ExecJob {
    pub target: SessionTarget,
    pub work: Work,
    pub manner: Manner,
}

/// Which program's behaviour a command follows where the two differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// The behaviour of the Codex CLI's `exec`: when a session, an image or a branch does not exist, the turn still
    /// runs, and a review is not printed on standard output.
    Codex,
    /// The behaviour of our commands: a missing session, image or branch is an error before any request, and a review
    /// is printed on standard output.
    Own,
}

/// The kind of turn that is run.
#[derive(Debug)]
pub enum Work {
    /// A prompt is answered; without one it is read from standard input.
    Answer { prompt: Option<String>, images: Vec<PathBuf> },
    /// A reviewer looks at changes.
    Review(ReviewTarget),
}

/// The session that a turn is run in.
#[derive(Debug)]
pub enum SessionTarget {
    /// A new session is started.
    New,
    /// A stored session that continues.
    Resumed { which: Which, otherwise: Otherwise },
    /// A copy of one, up to this place.
    Forked { which: Which, end: CopyEnd },
}

/// What happens when the named session does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// A new session begins.
    BeginNew,
    /// The run fails before any request.
    Fail,
}

pub fn run_job(shared: &Shared, options: &ExecOptions, job: ExecJob) -> Result<ExitCode, ProgramFailure> {
    let mut start = Start::new(shared, &options.turn.start)?;
    start.enforce_login()?;
    start.read_rules()?;
    let has_typed_codes = options.typed_exit_codes || start.config.records.typed_exit_codes;
    let is_exact = options.strict_context || has_typed_codes;
    let absent = if is_exact || job.manner == Manner::Own { Absent::Refused } else { Absent::Warned };
    let is_waived = options.skip_git_repo_check || options.turn.start.bypass;
    let folders = &start.config.folders;
    if !is_waived && folders.work_tree.is_none() && pellucid_git::work_tree_root(&folders.cwd).is_none() {
        return Err(ProgramFailure::new("not inside a trusted directory, and --skip-git-repo-check was not given"));
    }
    // Before a command can put a link there, and before anything is paid for.
    let last_message = options.output_last_message.as_deref().map(LastMessage::note).transpose()?;
    absent.check(&start, &job.work)?;
    let opening = opening(&start, &job.target, options, absent)?;
    start.make_ready()?;
    let tape = options.record.as_deref().map(|file| start.record(file)).transpose()?;
    let reasoning = shown_reasoning(&start.config);
    let has_context_events = options.context_events || start.config.records.context_events;
    let limits = &mut start.config.limits;
    limits.max_tokens = options.max_tokens.or(limits.max_tokens);
    limits.max_requests = options.max_requests.or(limits.max_requests);
    limits.max_cost = options.max_cost.or(limits.max_cost);
    if let Some(answers) = &options.elicitation {
        start.config.tools.mcp_answers = elicitation::policy(answers)?;
    }
    let env = start.env.clone();
    let mut session = start.session(opening)?;
    if options.strict_context {
        session.refuse_losses();
    }
    if options.strict_cache {
        session.refuse_breaks();
    }
    if options.json && has_context_events {
        session.context_events_switch().join();
    }
    tell_omissions(&session, options.strict_context)?;
    tell_hidden(&session);
    let (prompt, operation) = operation(job.work, options)?;
    let mut show = if options.json {
        Show::Json(Box::new(Json::new(has_context_events)))
    } else {
        Show::people(options.color, reasoning, prompt, &env, &session)
    };
    let how = RunHow { is_strict: options.strict_context, inspected: options.inspect.then_some(shared) };
    let (mut session, mut outcome) = run_operation_with(session, operation, &mut show, &how)?;
    for warning in session.take_failures() {
        style::line(&format!("warning: {warning}"));
    }
    let answer = outcome.last_message.as_deref();
    let written = last_message.map(|file| file.write(answer.or(outcome.review.as_deref())));
    show.finish(answer.or(outcome.review.as_deref().filter(|_| job.manner == Manner::Own)))?;
    if let Some(Err(error)) = tape.map(|tape| tape.finish()) {
        style::line(&format!("warning: the recording is incomplete: {error}"));
    }
    if session.is_kept() && (outcome.is_interrupted || outcome.is_cut_off) {
        style::line(&format!("to continue: pellucid exec resume {}", session.id()));
    }
    if let Some(Err(failure)) = written {
        failure.show();
        outcome.failure.get_or_insert(FailureCode::Other);
    }
    Ok(if has_typed_codes { outcome.typed_code() } else { outcome.code() })
}

/// The text that is shown of the work, and the operation to submit.
fn operation(work: Work, options: &ExecOptions) -> Result<(String, Operation), ProgramFailure> {
    match work {
        Work::Answer { prompt, images } => {
            let is_taken = prompt.is_none() && !images.is_empty();
            let prompt = stdin::prompt(prompt).map_err(|failure| match is_taken {
                true => ProgramFailure::new(format!("{}\n{IMAGES_TAKE_ALL}", failure.text())),
                false => failure,
            })?;
            let items = start::user_inputs(&images, Some(prompt.clone()));
            let final_output_json_schema = start::output_schema(options.turn.output_schema.as_deref())?;
            Ok((prompt, Operation::UserInput { items, final_output_json_schema }))
        }
        Work::Review(target) => {
            let hint = review::hint(&target);
            Ok((hint, Operation::Review { review_request: ReviewRequest { target, user_facing_hint: None } }))
        }
    }
}

/// Said when the prompt may have been taken for an image.
const IMAGES_TAKE_ALL: &str =
    "hint: `-i` takes every word that follows it, so put `--` before the prompt: pellucid exec -i FILE -- PROMPT";

/// How the session of a job is opened.
pub fn opening(
    start: &Start,
    target: &SessionTarget,
    options: &ExecOptions,
    absent: Absent,
) -> Result<Opening, ProgramFailure> {
    let keep = options.keep();
    let session_id = start::given_session_id(options.turn.session_id.as_deref())?;
    let check = || match &session_id {
        Some(id) if keep != Persistence::Nothing => start.check_is_free(id),
        _ => Ok(()),
    };
    let new = |session_id| Opening::New { session_id, keep };
    match target {
        SessionTarget::New => {
            check()?;
            Ok(new(session_id))
        }
        SessionTarget::Resumed { which, otherwise } => {
            let file = match (otherwise, absent) {
                (Otherwise::BeginNew, Absent::Warned) => start.find(which)?,
                (Otherwise::Fail, _) | (_, Absent::Refused) => Some(start.existing(which)?),
            };
            Ok(match file {
                Some(file) => Opening::Resumed { file: Box::new(file), keep },
                None => {
                    check()?;
                    let NoSession { why, hint } = start.no_session(which);
                    style::line(&format!("warning: {why}; a new session begins"));
                    style::line(&format!("hint: {hint}"));
                    new(session_id)
                }
            })
        }
        SessionTarget::Forked { which, end } => {
            let file = start.existing(which)?;
            let (file, upto) = fork::place(&start.config.folders.home, file, *end)?;
            check()?;
            Ok(Opening::Forked { file: Box::new(file), upto, session_id, keep })
        }
    }
}

/// Says warnings on standard error.
pub fn tell_warnings(events: impl IntoIterator<Item = EventMessage>) {
    for event in events {
        if let EventMessage::Warning { message } = event {
            style::line(&format!("warning: {message}"));
        }
    }
}

/// Says on standard error which instructions the model will not see. Events stay as they are.
fn tell_omissions(session: &Session, is_strict: bool) -> Result<(), ProgramFailure> {
    let lost: Vec<_> = session.omissions().iter().filter(|omission| omission.why.is_loss()).collect();
    for omission in &lost {
        style::line(&format!("warning: {}: {}", name(&omission.what), name(&why_text(&omission.why))));
    }
    if is_strict && !lost.is_empty() {
        return Err(ProgramFailure::new(
            "--strict-context: nothing was sent, because the warnings above name content that is changed, cut or left out",
        ));
    }
    Ok(())
}

/// Warns of what a person does not see in the files that the model is given.
fn tell_hidden(session: &Session) {
    for (path, hidden) in with_hidden(session.facts()) {
        let Some(first) = hidden.first() else { continue };
        let more = match hidden.len() {
            1 => "",
            _ => ", and elsewhere (see `pellucid context`)",
        };
        style::line(&format!("warning: {}:{first}{more}", name(path)));
    }
}

/// How a turn ended.
#[derive(Debug, Default)]
pub struct TurnOutcome {
    pub last_message: Option<String>,
    /// The findings of a reviewer, as text.
    pub review: Option<String>,
    pub failure: Option<FailureCode>,
    /// Why a tool call was refused, if one was; the turn may still have completed.
    pub refusal: Option<FailureCode>,
    /// Why the sandbox failed last, which was printed.
    sandbox_failure: Option<String>,
    pub is_interrupted: bool,
    /// Whether the turn ended with a message that is not complete.
    pub is_cut_off: bool,
}

impl TurnOutcome {
    /// The status that other programs know: an interruption is no failure.
    pub fn code(&self) -> ExitCode {
        if self.failure.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    /// The exit status under `--typed-exit-codes`, one for each kind of failure.
    fn typed_code(&self) -> ExitCode {
        ExitCode::from(match self.failure.or(self.refusal.filter(|_| !self.is_interrupted)) {
            None if self.is_interrupted => INTERRUPTED,
            None => 0,
            Some(code) => code.status(),
        })
    }

    /// Notes what the status depends on. Of several refusals the sandbox's own counts.
    fn note(&mut self, event: &EventMessage) {
        match event.in_session() {
            EventMessage::Error { failure, .. } => self.failure = Some(failure.code),
            EventMessage::ContextRefusal { code, why, .. } => {
                self.refusal = self.refusal.max(Some(*code));
                if *code == FailureCode::Sandbox && self.sandbox_failure.as_ref() != Some(why) {
                    tell_sandbox_failure(why);
                    self.sandbox_failure = Some(why.clone());
                }
            }
            _ => {}
        }
    }
}

/// Reports that not the command failed but the sandbox, with the remedy. What the model reads stays the reference's text.
fn tell_sandbox_failure(why: &str) {
    let cause = why.lines().next().unwrap_or_default();
    style::line(&format!("warning: the sandbox failed, so a command did not run: {cause}"));
    style::line("hint: `pellucid doctor` shows which sandboxes work here, and what is missing for the others");
}

/// The status of a turn that was interrupted, as shells have it for Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Prints events, as lines for people or as JSON.
#[derive(Debug)]
pub enum Show {
    Human(Box<Human>),
    /// As it comes, at a terminal.
    Live(Box<LiveTurn>),
    Json(Box<Json>),
    /// Nowhere, unless something is wrong.
    Trouble,
}

impl Show {
    /// Shows a turn to people: as it comes if a person watches at a terminal, else line by line.
    pub fn people(color: Color, reasoning: ShownReasoning, prompt: String, env: &Env, session: &Session) -> Self {
        if LiveTurn::is_possible(env) {
            let options = TranscriptOptions { home: env.user_home(), reasoning };
            return Self::Live(Box::new(LiveTurn::new(color, env, options, session)));
        }
        let hide_reasoning = reasoning == ShownReasoning::Nothing;
        Self::Human(Box::new(Human::new(Paint::new(color), hide_reasoning, prompt, session)))
    }

    fn event(&mut self, event: &EventMessage) -> Result<(), ProgramFailure> {
        match (self, event) {
            (Self::Human(human), _) => human.event(event),
            (Self::Live(live), _) => live.event(event),
            // Programs that read events know no such one.
            (Self::Json(_) | Self::Trouble, EventMessage::ToolCallFailed { name, why, .. }) => {
                style::line(&call_failed(Paint::plain(), name, why));
            }
            (Self::Json(json), _) => json.event(event)?,
            (Self::Trouble, EventMessage::Error { message, failure, .. }) => {
                style::line(&format!("error: {}", failure.plain.as_ref().unwrap_or(message)));
            }
            // The result is printed instead.
            (Self::Trouble, EventMessage::Warning { message }) if message == compacting::ADVICE => {}
            (Self::Trouble, EventMessage::Warning { message }) => style::line(&format!("warning: {message}")),
            (Self::Trouble, EventMessage::StreamError { .. }) => {
                style::line(&format!("warning: {}", human::retry_text(event)));
            }
            (Self::Trouble, _) => {}
        }
        Ok(())
    }

    /// An event of an agent that the session started.
    fn agent_event(&mut self, event: &EventMessage) -> Result<(), ProgramFailure> {
        match self {
            Self::Live(live) => live.agent_event(event),
            _ => self.event(event)?,
        }
        Ok(())
    }

    fn begin(&mut self) {
        if let Self::Live(live) = self {
            live.begin();
        }
    }

    /// Waits until something has to be drawn although no event came.
    async fn woken(&mut self) -> Woken {
        match self {
            Self::Live(live) => live.woken().await,
            _ => std::future::pending().await,
        }
    }

    fn answer(&mut self, woken: Woken) {
        if let Self::Live(live) = self {
            live.answer(woken);
        }
    }

    /// Nothing is drawn in place from here on.
    fn leave(&mut self) {
        if let Self::Live(live) = self {
            live.leave();
        }
    }

    /// After the last event: the answer goes to standard output.
    pub fn finish(&mut self, last_message: Option<&str>) -> Result<(), ProgramFailure> {
        match self {
            Self::Live(live) => live.finish(last_message),
            Self::Human(human) => human.finish(last_message),
            Self::Json(_) | Self::Trouble => Ok(()),
        }
    }
}

/// Runs one operation that is a turn to its end and gives the session back.
pub fn run_operation(
    session: Session,
    operation: Operation,
    show: &mut Show,
) -> Result<(Session, TurnOutcome), ProgramFailure> {
    run_operation_with(session, operation, show, &RunHow::default())
}

/// How an operation is run.
#[derive(Debug, Default)]
struct RunHow<'a> {
    /// Nothing is sent if the model has to see all of its context and an MCP server does not start.
    is_strict: bool,
    /// The options of the page that is served meanwhile, if one is.
    inspected: Option<&'a Shared>,
}

/// The same in a certain way.
fn run_operation_with(
    mut session: Session,
    operation: Operation,
    show: &mut Show,
    how: &RunHow<'_>,
) -> Result<(Session, TurnOutcome), ProgramFailure> {
    runtime()?.block_on(async {
        let started_for = StartedFor { session: Some(session.id().to_string()), ..StartedFor::default() };
        let _page = match how.inspected {
            Some(shared) => Some(inspect::tell_beside(shared, start::find_home()?, started_for)?),
            None => None,
        };
        let started = session.start_servers().await;
        started.map_err(|error| ProgramFailure::new(error.to_string()))?;
        if how.is_strict {
            let failed = session.connect_servers().await;
            let failed = failed.map_err(|error| ProgramFailure::new(error.to_string()))?;
            if !failed.is_empty() {
                session.end_servers().await;
                return tell_omissions(&session, true).map(|()| (session, TurnOutcome::default()));
            }
        }
        let (door, inside) = door::open(&session);
        let (family, nursery) = Family::new(session.context_events_switch().are_wanted());
        session.crew().set_nursery(nursery);
        let (session, outcome) = tokio::join!(door::run(session, inside), watch(door, family, operation, show));
        show.leave();
        Ok((session, outcome?))
    })
}

/// The single-threaded runtime that a command's futures run on.
pub fn runtime() -> Result<tokio::runtime::Runtime, ProgramFailure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| ProgramFailure::new(format!("the runtime cannot start: {error}")))
}

/// Submits the operation, shows every event, and shuts the session down after the turn.
async fn watch(
    mut door: Door,
    mut family: Family,
    operation: Operation,
    show: &mut Show,
) -> Result<TurnOutcome, ProgramFailure> {
    let submit = |operation| Submission { id: new_turn_id(), operation };
    let mut outcome = TurnOutcome::default();
    show.begin();
    // A send only fails when the session has ended, and then the event stream says so.
    let _ = door.submissions.send(submit(operation)).await;
    loop {
        let event = tokio::select! {
            // Events of the session come before those of its agents.
            biased;
            event = door.events.recv() => event,
            event = family.next() => {
                // A refusal or failure in an agent does not end the session's turn, but counts for the exit status.
                outcome.note(&event);
                show.agent_event(&event)?;
                continue;
            }
            woken = show.woken() => {
                show.answer(woken);
                continue;
            }
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
        outcome.note(&event.msg);
        if matches!(event.msg.in_session(), EventMessage::ContextCutOff { .. }) {
            outcome.is_cut_off = true;
        }
        match event.msg {
            EventMessage::AgentMessage { .. } => outcome.is_cut_off = false,
            EventMessage::ExitedReviewMode { review_output: Some(output) } => {
                outcome.review = Some(review::render(Some(&output)));
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

/// One line that reports a failed tool call.
fn call_failed(paint: Paint, name: &str, why: &str) -> String {
    format!("{} a call of `{name}` failed; {why}", paint.red("error:"))
}
