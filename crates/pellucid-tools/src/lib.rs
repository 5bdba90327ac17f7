//! Tools that the model can call, one file each.
//!
//! A tool takes what it is called with and gives the text that the model sees, together with
//! events for people. What the model is told about a tool (schema, description) is a file of the
//! pack; this crate only does the work.
//!
//! To add one: write its file, list it in `TOOLS`, name it in a pack.

mod update_plan;

use pellucid_protocol::call::Payload;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;

/// A tool that runs at once, in this process.
#[derive(Debug)]
struct Tool {
    name: &'static str,
    run: fn(arguments: &str) -> Outcome,
}

/// Every tool.
static TOOLS: [Tool; 1] = [update_plan::TOOL];

/// What became of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What the model is told.
    pub answer: String,
    /// What people are told.
    pub events: Vec<EventMessage>,
}

impl Outcome {
    /// Only this is said, to the model.
    fn answer(text: impl Into<String>) -> Self {
        Self { answer: text.into(), events: Vec::new() }
    }
}

/// Why a call has no outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoOutcome {
    /// There is no such tool.
    Unknown,
    /// The tool cannot be called in this way. The call is left without an answer.
    WrongPayload,
}

/// Runs a call.
///
/// # Errors
/// When no tool can take it.
pub fn run(call: &ToolCall) -> Result<Outcome, NoOutcome> {
    let tool = TOOLS.iter().find(|tool| tool.name == call.name).ok_or(NoOutcome::Unknown)?;
    match &call.payload {
        Payload::Function { arguments } => Ok((tool.run)(arguments)),
        Payload::Custom { .. } | Payload::LocalShell(_) => Err(NoOutcome::WrongPayload),
    }
}
