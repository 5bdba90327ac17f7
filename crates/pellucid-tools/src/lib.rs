//! Tools that the model can call, one file each.
//!
//! A tool takes the arguments of a call and returns the answer to the model. Its events, questions to the user and
//! notes for the next request go over its [`desk::Desk`], in order. The schema and description of a tool are files of
//! the pack; this crate only does the work.
//!
//! To add a tool: write its file, list it in `TOOLS`, name it in a pack.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves"))]

pub mod agents;
pub mod desk;
pub mod edits;
pub mod mcp_tool;
pub mod notes;
pub mod outputs;
pub mod queue;
pub mod situation;
pub mod toolbox;
pub mod user_command;

mod agent_id;
mod apply_patch;
mod call_tool;
mod close_agent;
mod command;
mod dynamic_tool;
mod exec_command;
mod find_tools;
mod grep_files;
mod held;
mod indentation;
mod js_repl;
mod list_dir;
mod login;
mod mcp_resources;
mod outside;
mod patch;
mod permit;
mod read_file;
mod request_user_input;
mod resume_agent;
mod script_argv;
mod search_tool_bm25;
mod send_input;
mod shell;
mod shell_command;
mod spawn_agent;
mod terminal_failure;
mod test_sync_tool;
mod update_plan;
mod view_image;
mod wait;
mod write_stdin;

#[cfg(test)]
mod bench;

#[cfg(test)]
mod broken_tests;

#[cfg(test)]
mod notes_tests;

#[cfg(test)]
mod offered_tests;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use pellucid_engine::approval::grounds::CallGrounds;
use pellucid_engine::approval::grounds::RefusedBecause;
use pellucid_engine::approval::grounds::Unasked;
use pellucid_protocol::call::Payload;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::ToolOutput;
use pellucid_tasks::Task;
use pellucid_tasks::contained;

use crate::desk::Desk;
use crate::notes::CallNotes;
use crate::situation::Situation;
use crate::toolbox::Toolbox;

/// A tool that this crate implements.
struct Tool {
    name: &'static str,
    /// The kinds of input that the tool accepts.
    takes: &'static [Takes],
    /// When the tool can be called.
    when: When,
    /// What calls of it may change.
    effect: Effect,
    /// Whether calls of the tool need a decision.
    asks: Asks,
    run: Run,
}

/// How a call is done.
type Run = for<'a> fn(&'a ToolCall, &'a CallContext) -> Running<'a>;

/// A call that is being done.
type Running<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, Failed>> + Send + 'a>>;

/// The kinds of input of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Function,
    Custom,
    LocalShell,
}

/// When a tool can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// Only when the tool is offered.
    Offered,
    /// When any tool that runs commands is offered, in whatever form: models also call the forms that they know.
    ShellIsOn,
}

/// What calls of a tool may change. Calls that may change files wait for the snapshot that undo needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// The calls change no file of the project.
    Nothing,
    /// The calls change files.
    Files,
    /// The calls run commands, which may change anything.
    Commands,
}

/// Whether calls of a tool are decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// Rules and settings decide, and maybe a person. What the tool does says what was decided.
    Decision,
    /// Calls need no decision.
    Nothing(Unasked),
}

/// All tools of this crate.
static TOOLS: &[Tool] = &[
    shell::SHELL,
    shell::CONTAINER_EXEC,
    shell::LOCAL_SHELL,
    shell_command::TOOL,
    exec_command::TOOL,
    write_stdin::TOOL,
    apply_patch::TOOL,
    mcp_resources::LIST,
    mcp_resources::LIST_TEMPLATES,
    mcp_resources::READ,
    update_plan::TOOL,
    js_repl::TOOL,
    js_repl::RESET,
    request_user_input::TOOL,
    search_tool_bm25::TOOL,
    find_tools::TOOL,
    call_tool::TOOL,
    view_image::TOOL,
    grep_files::TOOL,
    read_file::TOOL,
    list_dir::TOOL,
    test_sync_tool::TOOL,
    spawn_agent::TOOL,
    send_input::TOOL,
    resume_agent::TOOL,
    wait::TOOL,
    close_agent::TOOL,
];

/// The surroundings of a call besides its arguments.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The settings that hold for all calls of the turn.
    pub situation: Arc<Situation>,
    /// The state that is kept between the calls of a session.
    pub toolbox: Arc<Toolbox>,
    /// The line to the session.
    pub desk: Desk,
    /// The notes for the record of the call.
    pub notes: CallNotes,
}

/// The answer to the model for a tool that panicked.
const BROKEN: &str = "the tool failed: an error inside Pellucid ended this call before it was done";

/// Why a call has no proper answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Failed {
    /// The answer to the model.
    #[error("{0}")]
    Answered(String),
    /// The call is left without an answer.
    #[error("{0}")]
    Fatal(String),
    /// The tool panicked before it answered.
    #[error("{BROKEN}")]
    Broken,
}

impl Failed {
    fn answered(text: impl Into<String>) -> Self {
        Self::Answered(text.into())
    }
}

/// Why a call has no outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoOutcome {
    /// No tool has this name.
    Unknown,
    /// The tool broke in a way that leaves the call without an answer.
    Fatal(String),
}

/// Whether calls of this tool may run beside others of the same reply.
pub fn is_parallel(situation: &Situation, name: &str) -> bool {
    situation.tools.offered.iter().any(|offered| offered.name == name && offered.is_parallel)
}

/// Whether calls of this tool run commands.
pub fn runs_commands(name: &str) -> bool {
    effect(name) == Some(Effect::Commands)
}

/// Whether calls of this tool may change files.
pub fn is_mutating(situation: &Situation, name: &str) -> bool {
    let is_own = effect(name).is_some_and(|effect| effect != Effect::Nothing);
    is_own || situation.tools.dynamic_tools.iter().any(|tool| tool == name)
}

fn effect(name: &str) -> Option<Effect> {
    TOOLS.iter().find(|tool| tool.name == name).map(|tool| tool.effect)
}

/// Runs a call of the model.
///
/// # Errors
/// When no tool can take it, or it leaves no answer.
pub async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, NoOutcome> {
    let outcome = noted(call, job, Caller::Model).await;
    for aside in job.toolbox.take_aside() {
        job.desk.tell(EventMessage::Warning { message: aside.to_string() }).await;
    }
    outcome
}

/// Says to people that a call failed. It comes after everything else that the call said.
pub fn failed(call: &ToolCall, why: &str) -> EventMessage {
    let (call_id, name) = (call.call_id.clone(), call.name.clone());
    EventMessage::ToolCallFailed { call_id, name, why: why.to_owned() }
}

/// The source of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    Model,
    Tool,
}

/// Runs a call, and notes when it began and how it ended.
async fn noted(call: &ToolCall, job: &CallContext, caller: Caller) -> Result<ToolOutput, NoOutcome> {
    let begun = job.notes.begin();
    let is_kept_away = job.situation.tools.only.as_ref().is_some_and(|only| !only.contains(&call.name));
    let outcome = if caller == Caller::Model && is_kept_away {
        let (because, policy) = (RefusedBecause::DirectCallsDisabled, job.situation.approval_policy);
        job.notes.decided(CallGrounds::Refused { because, policy });
        job.notes.refused();
        let text = "direct tool calls are disabled; use js_repl and codex.tool(...) instead";
        Ok(ToolOutput::Text(text.to_owned()))
    } else if caller == Caller::Model
        && let Some(text) = call_tool::called_directly(&job.situation.tools.deferred, &call.name)
    {
        job.notes.failed();
        job.desk.tell(failed(call, "the model got the reason")).await;
        Ok(ToolOutput::Text(text))
    } else {
        dispatch(call, job).await
    };
    begun.end(&outcome);
    outcome
}

/// The answer to a call whose tool panicked or could not begin. Clients get the event of a failed call.
pub async fn broken(call: &ToolCall, desk: &Desk) -> ToolOutput {
    tracing::error!(call_id = call.call_id, tool = call.name, "the tool failed inside Pellucid");
    desk.tell(failed(call, "the tool failed inside Pellucid")).await;
    ToolOutput::Text(BROKEN.to_owned())
}

/// Runs a call of the model or of another tool.
async fn dispatch(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, NoOutcome> {
    let known = || TOOLS.iter().find(|tool| tool.name == call.name && job.situation.has(tool));
    let (takes, asks, run): (&[Takes], Asks, Run) = if job.situation.tools.dynamic_tools.contains(&call.name) {
        (&[Takes::Function], Asks::Nothing(Unasked::Client), |call, job| Box::pin(dynamic_tool::run(call, job)))
    } else if job.situation.tools.mcp_tools.iter().any(|route| route.name == call.name) {
        (&[Takes::Function], Asks::Nothing(Unasked::Server), |call, job| Box::pin(mcp_tool::run(call, job)))
    } else {
        let tool = known().ok_or(NoOutcome::Unknown)?;
        (tool.takes, tool.asks, tool.run)
    };
    if let Asks::Nothing(because) = asks {
        job.notes.decided(CallGrounds::not_needed(because));
    }
    let kind = match &call.payload {
        Payload::Function { .. } => Takes::Function,
        Payload::Custom { .. } => Takes::Custom,
        Payload::LocalShell(_) => Takes::LocalShell,
    };
    if !takes.contains(&kind) {
        return Err(NoOutcome::Fatal(format!("tool {} invoked with incompatible payload", call.name)));
    }
    let done = contained("tool call", async { run(call, job).await }).await;
    match done.unwrap_or(Err(Failed::Broken)) {
        Ok(output) => Ok(output),
        Err(Failed::Answered(text)) => {
            job.notes.failed();
            // The answer may contain anything that the call read, so it is logged only at a level that the user has
            // to ask for.
            tracing::warn!("a call of `{}` failed; the model got the reason", call.name);
            job.desk.tell(failed(call, "the model got the reason")).await;
            tracing::debug!("the model got: {text}");
            Ok(ToolOutput::Text(text))
        }
        Err(Failed::Broken) => Ok(broken(call, &job.desk).await),
        Err(Failed::Fatal(text)) => Err(NoOutcome::Fatal(text)),
    }
}

/// The arguments of a call that should be JSON.
fn arguments<'a, T: serde::Deserialize<'a>>(call: &'a ToolCall) -> Result<T, Failed> {
    serde_json::from_str(text_of(call))
        .map_err(|error| Failed::Answered(format!("failed to parse function arguments: {error}")))
}

/// The arguments of a call, as the model wrote them.
fn text_of(call: &ToolCall) -> &str {
    match &call.payload {
        Payload::Function { arguments } => arguments,
        Payload::Custom { input } => input,
        Payload::LocalShell(_) => "",
    }
}

/// Does work that waits for the disk beside the other work of this thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Failed> + Send + 'static) -> Result<T, Failed> {
    Task::blocking("tool call", work).await.unwrap_or(Err(Failed::Broken))
}
