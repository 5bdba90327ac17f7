//! The request that `prompt` and `context` show: one that would be sent, one that was, or a saved report of one.
//!
//! - `named`: from words to the request that is meant
//! - `certain`: whether the bytes can be promised, and why not
//!
//! Not here: how it is printed.

pub mod certain;
mod named;

use std::path::Path;
use std::process::ExitCode;

use pellucid_agent::replay;
use pellucid_agent::replay::RebuildError;
use pellucid_agent::replay::RebuiltRequest;
use pellucid_agent::replay::WantedRequest;
use pellucid_agent::session::NextPurpose;
use pellucid_agent::session::Session;
use pellucid_agent::session::TurnPreview;
use pellucid_agent::session::UnfinishedRequest;
use pellucid_engine::fragment::Omission;
use pellucid_engine::report::why_text;
use pellucid_engine::request_name::RequestName;
use pellucid_protocol::input::UserInput;
use pellucid_store::read;
use serde_json::Value;

pub use self::certain::Reason;
use crate::args::request::McpLists;
use crate::args::request::RequestArgs;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::args::turn::TurnArgs;
use crate::capsule;
use crate::capsule::LookedAt;
use crate::exec;
use crate::screen::name;
use crate::start;
use crate::start::Opening;
use crate::start::Persistence;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::start::Which;
use crate::style;
use crate::style::number;

/// How long a saved report may be.
const SAVED_BYTES_MAX: u64 = 256 << 20;

/// Why no request is shown.
#[derive(Debug)]
pub struct RequestRefusal(ProgramFailure);

impl RequestRefusal {
    /// The REF is malformed or names nothing; exit status 2.
    pub fn usage(text: String) -> Self {
        Self(ProgramFailure::usage(text))
    }

    /// The request cannot be determined from what is stored; exit status 3.
    pub fn unknown(text: impl Into<String>) -> Self {
        Self(ProgramFailure::unknown(text))
    }

    /// The same refusal, with what it is about before the message.
    pub fn about(self, what: &str) -> Self {
        Self(self.0.about(what))
    }

    /// The message, without the prefix `error:`.
    pub fn text(&self) -> &str {
        self.0.text()
    }

    /// The failure behind the refusal.
    pub fn failure(&self) -> &ProgramFailure {
        &self.0
    }

    /// Prints the message, and returns the exit status.
    pub fn show(&self) -> ExitCode {
        self.0.show()
    }

    /// The same for a command that answers a question: whatever did not work, the answer is unknown.
    pub fn show_of_question(self) -> ExitCode {
        self.0.of_question().show()
    }
}

impl From<ProgramFailure> for RequestRefusal {
    fn from(failure: ProgramFailure) -> Self {
        Self(failure)
    }
}

/// A request to be shown.
#[derive(Debug)]
pub enum ShownRequest {
    /// A request that would be sent next.
    Coming(Box<Coming>),
    /// A request that was sent.
    Sent(Box<PastRequest>),
    /// A saved report of a request.
    Saved(Value),
}

/// A request that would be sent.
#[derive(Debug)]
pub struct Coming {
    /// The name of the request, as REF.
    pub name: String,
    /// The session, as it would be then.
    pub session: Session,
    /// The request that it would send first.
    pub next: TurnPreview,
    /// Why the bytes cannot be promised.
    pub reasons: Vec<Reason>,
}

/// A request that was sent.
#[derive(Debug)]
pub struct PastRequest {
    /// The id of the session.
    pub session: String,
    /// The request, rebuilt from the record.
    pub rebuilt: RebuiltRequest,
}

impl PastRequest {
    /// The name of the request, as REF.
    pub fn name(&self) -> String {
        RequestName::Sent { session: self.session.clone(), number: Some(self.rebuilt.number as u64) }.to_string()
    }
}

/// The line about a request that does not ask for an answer, such as a compaction: why it comes first, with the
/// figures that decide.
pub fn first_line(next: &TurnPreview) -> Option<String> {
    let what = match next.purpose {
        NextPurpose::Answer => return None,
        NextPurpose::Summary => "the next request asks for a summary of the history",
        NextPurpose::ProviderSummary => "the next request asks the provider for a summary of the history",
        NextPurpose::MemorySummary => "the next request asks for a summary for the memory of the session",
        NextPurpose::MemoryVectors => "the next request asks for vectors for the memory of the session",
    };
    let figures = next.due.map_or_else(String::new, |due| {
        format!(": tokens {}, compacts_at {}", style::thousands(due.tokens), style::thousands(due.compacts_at))
    });
    Some(format!("{what}{figures}"))
}

/// The line about a request of which only a plan is known.
pub fn plan_line(plan: &UnfinishedRequest) -> String {
    let (known, start) = (number(plan.body.len() - plan.hole.len()), number(plan.hole.start));
    let at_most =
        plan.tokens_max.map_or_else(String::new, |max| format!(" of at most {} tokens", style::thousands(max)));
    format!(
        "then the answer is asked for, a plan: {known} bytes as they would be sent, and a summary{at_most} from byte {start} on"
    )
}

/// Says the first line on standard error, where standard output has nothing but bytes.
pub fn tell_first_line(coming: &Coming) {
    if let Some(line) = first_line(&coming.next) {
        style::line(&format!("note: {line}"));
    }
}

/// The name of a request that a word is; absent for a word that is a message.
pub fn asked_name(home: &Path, word: &str) -> Result<Option<RequestName>, RequestRefusal> {
    let args = RequestArgs { word: Some(word.to_owned()), ..RequestArgs::default() };
    Ok(named::asked(&args, home)?.name)
}

/// The model that a body asks.
pub fn model_of(body: &[u8]) -> Result<String, ProgramFailure> {
    let parsed: Value = serde_json::from_slice(body)
        .map_err(|error| ProgramFailure::new(format!("the request is not JSON: {error}")))?;
    Ok(parsed["model"].as_str().unwrap_or_default().to_owned())
}

/// Finds and makes the request that is asked for.
pub fn shown(shared: &Shared, turn: &TurnArgs, args: &RequestArgs) -> Result<ShownRequest, RequestRefusal> {
    let home = start::find_home()?;
    let asked = named::asked(args, &home)?;
    let no_message = |name: &RequestName| match &asked.message {
        Some(_) => Err(RequestRefusal::usage(format!("`{name}` is not a request to come, so it takes no message"))),
        None => Ok(()),
    };
    match &asked.name {
        None => {
            let of = args.stored.which().map_or(Of::New { revision: None }, Of::Stored);
            coming(shared, turn, args, of, asked.message)
        }
        Some(RequestName::Now { revision }) => {
            coming(shared, turn, args, Of::New { revision: revision.as_deref() }, asked.message)
        }
        Some(RequestName::Next { session }) => {
            capsule::refuse_next(session)?;
            let (id, _) = named::session(&home, session)?;
            coming(shared, turn, args, Of::Stored(Which::Id(id)), asked.message)
        }
        Some(name @ RequestName::Sent { session, number }) => {
            no_message(name)?;
            let LookedAt { home, id, path } = capsule::look(&home, session)?;
            sent(&home, id, &path, *number)
        }
        Some(RequestName::Lock) => Err(RequestRefusal::unknown(
            "a lock has the parts of a request and not its bytes; `pellucid context diff lock now` compares them",
        )),
        Some(name @ RequestName::File { path }) => {
            no_message(name)?;
            saved(Path::new(path))
        }
    }
}

/// The session that would send the request.
enum Of<'a> {
    /// A new one, with the project's files of a git revision or those on disk.
    New { revision: Option<&'a str> },
    /// A session stored on disk.
    Stored(Which),
}

/// A request that would be sent.
fn coming(
    shared: &Shared,
    turn: &TurnArgs,
    args: &RequestArgs,
    of: Of<'_>,
    message: Option<String>,
) -> Result<ShownRequest, RequestRefusal> {
    let start = Start::new(shared, &turn.start)?;
    let coming = coming_of(start, turn, args, of, message, Warnings::Shown)?;
    Ok(ShownRequest::Coming(Box::new(coming)))
}

/// The first request of a new session. Warnings are not printed: the report has what they say.
pub fn first(start: Start, turn: &TurnArgs, mcp: McpLists, revision: Option<&str>) -> Result<Coming, RequestRefusal> {
    let args = RequestArgs { mcp, ..RequestArgs::default() };
    coming_of(start, turn, &args, Of::New { revision }, None, Warnings::Kept)
}

/// The same with a message.
pub fn first_with(start: Start, turn: &TurnArgs, message: Option<String>) -> Result<Coming, RequestRefusal> {
    let args = RequestArgs { mcp: McpLists::Cached, ..RequestArgs::default() };
    coming_of(start, turn, &args, Of::New { revision: None }, message, Warnings::Kept)
}

/// The next request of the stored session with this id, without a message.
pub fn next_of(shared: &Shared, start: &StartArgs, id: &str) -> Result<Coming, RequestRefusal> {
    let (start, turn) = (Start::new(shared, start)?, TurnArgs::default());
    coming_of(start, &turn, &RequestArgs::default(), Of::Stored(Which::Id(id.to_owned())), None, Warnings::Kept)
}

/// Whether warnings about a request are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Warnings {
    Shown,
    Kept,
}

fn coming_of(
    mut start: Start,
    turn: &TurnArgs,
    args: &RequestArgs,
    of: Of<'_>,
    message: Option<String>,
    warnings: Warnings,
) -> Result<Coming, RequestRefusal> {
    let is_new = matches!(of, Of::New { .. });
    let mut revised = None;
    let opening = match of {
        Of::Stored(which) => {
            let file = start.existing_of_any(&which)?;
            Opening::Resumed { file: Box::new(file), keep: Persistence::Nothing }
        }
        Of::New { revision } => {
            if let Some(revision) = revision {
                let commit = start.look_at(revision);
                commit.map_err(|error| {
                    let hint = "a revision is what `git rev-parse` takes: a commit, a branch, a tag";
                    RequestRefusal::usage(format!(
                        "now@{revision}: there is no revision `{revision}`: {error}\nhint: {hint}"
                    ))
                })?;
                revised = Some(revision);
            }
            let session_id = start::given_session_id(turn.session_id.as_deref())?;
            Opening::New { session_id, keep: Persistence::Nothing }
        }
    };
    let mut session = start.session(opening)?;
    session.context_events_switch().join();
    let notices = session.take_notices();
    if warnings == Warnings::Shown && !args.is_quiet {
        exec::tell_warnings(notices);
    }
    let schema = start::output_schema(turn.output_schema.as_deref())?;
    let mut inputs = start::inputs(&turn.image, message);
    let mut reasons = learn_tools(&mut session, args.mcp, &mut inputs)?;
    let next = session.next_request(&inputs, schema).map_err(ProgramFailure::new)?;
    for warning in next.warnings.iter().filter(|_| warnings == Warnings::Shown && !args.is_quiet) {
        style::line(&format!("warning: {warning}"));
    }
    if inputs.is_empty() {
        reasons.push(Reason::no_message());
    }
    let id = session.id().to_string();
    let has_own_id = is_new && turn.session_id.is_none();
    if has_own_id && next.body().windows(id.len()).any(|window| window == id.as_bytes()) {
        reasons.push(Reason::new_id());
    }
    reasons.extend(next.reasons.iter().map(|why| Reason::memory(why)));
    reasons.extend(next.unasked.iter().map(|why| Reason::unasked_server(why)));
    reasons.extend(revised.map(Reason::revision));
    refuse_losses(&next.report.omissions, args.strict_context)?;
    let name = match is_new {
        true => RequestName::Now { revision: revised.map(str::to_owned) },
        false => RequestName::Next { session: id },
    };
    Ok(Coming { name: name.to_string(), session, next, reasons })
}

/// Has the session know the tools of its MCP servers, and takes what the message wants of servers that are started. Gives what
/// cannot be promised of them.
fn learn_tools(
    session: &mut Session,
    from: McpLists,
    inputs: &mut Vec<UserInput>,
) -> Result<Vec<Reason>, ProgramFailure> {
    let reasons = match from {
        McpLists::Off => session.pass_over_servers().iter().map(|server| Reason::tools_left_out(server)).collect(),
        McpLists::Cached => {
            let (kept, missing) = session.recall_server_tools();
            let kept = kept.iter().map(|server| Reason::kept_tools(server));
            kept.chain(missing.iter().map(|server| Reason::unknown_tools(server))).collect()
        }
        McpLists::Connect => {
            let failed = exec::runtime()?.block_on(async {
                let failed = session.connect_servers().await;
                let given = session.with_server_input(inputs).await;
                session.end_servers().await;
                failed.map_err(|error| error.to_string()).and_then(|failed| given.map(|given| (failed, given)))
            });
            let (failed, given) = failed.map_err(ProgramFailure::new)?;
            *inputs = given;
            failed.iter().map(|server| Reason::not_started(server)).collect()
        }
    };
    Ok(reasons)
}

/// Fails if the model would not see something that it should, and that is not allowed.
fn refuse_losses(omissions: &[Omission], is_strict: bool) -> Result<(), ProgramFailure> {
    let lost: Vec<_> = omissions.iter().filter(|omission| omission.why.is_loss()).collect();
    if !is_strict || lost.is_empty() {
        return Ok(());
    }
    for omission in lost {
        style::line(&format!("warning: {}: {}", name(&omission.what), name(&why_text(&omission.why))));
    }
    Err(ProgramFailure::violation("--strict-context: the warnings above name content that is cut or left out"))
}

/// A request that was sent, rebuilt from the session's files.
fn sent(home: &Path, session: String, path: &Path, number: Option<u64>) -> Result<ShownRequest, RequestRefusal> {
    let file = read::open(path).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    let wanted = match number {
        Some(number) => WantedRequest::Number(usize::try_from(number).unwrap_or(usize::MAX)),
        None => WantedRequest::Last,
    };
    let rebuilt = replay::rebuild(home, &file, wanted).map_err(|error| match error {
        RebuildError::NoSuchRequest { .. } => RequestRefusal::usage(format!("{session}: {error}")),
        RebuildError::NotProvable { .. } => RequestRefusal::unknown(format!("{session}: {error}")),
        error => ProgramFailure::new(format!("{session}: {error}")).into(),
    })?;
    if let Some(broken) = &rebuilt.broken {
        style::line(&format!("warning: {broken}"));
    }
    Ok(ShownRequest::Sent(Box::new(PastRequest { session, rebuilt })))
}

/// A report that was saved.
fn saved(path: &Path) -> Result<ShownRequest, RequestRefusal> {
    let shown = path.display();
    let text = pellucid_files::read_given(path, SAVED_BYTES_MAX)
        .map_err(|error| RequestRefusal::usage(format!("the report {shown} cannot be read: {error}")))?;
    let no_report = |why: String| RequestRefusal::usage(format!("{shown} is not a report of `context --json`: {why}"));
    let value: Value = serde_json::from_str(&text).map_err(|error| no_report(error.to_string()))?;
    if !value["rows"].is_array() {
        return Err(no_report("it has no `rows`".to_owned()));
    }
    Ok(ShownRequest::Saved(value))
}
