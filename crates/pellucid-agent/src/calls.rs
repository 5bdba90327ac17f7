//! The calls of a session's tools, as its record has them: for commands and for pages.
//!
//! - `whole`: one call with its texts, and its whole output
//!
//! Not here: how they are noted (`pellucid_tools::notes`), and the lines of the record (`pellucid_store::requests::call`).

mod whole;

use std::io;
use std::path::Path;

use pellucid_engine::approval::grounds::CallGrounds;
use pellucid_protocol::call_record::CallAnswer;
use pellucid_protocol::call_record::CallOutcome;
use pellucid_protocol::call_record::HeldSandbox;
use pellucid_store::moment::Moment;
use pellucid_store::name;
use pellucid_store::requests::call;
use pellucid_store::requests::call::DescribedCall;
use pellucid_store::requests::chain::Chain;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

pub use self::whole::CallTexts;
pub use self::whole::WholeOutput;

/// The calls of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calls {
    /// The calls, in the order of their causes: as the model made them, each before those that it made in turn.
    pub calls: Vec<RecordedCall>,
    /// What is wrong with the record, if something is: then some calls may be missing.
    pub broken: Option<String>,
}

/// A call, as the record has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedCall {
    /// The id of the call.
    pub call: String,
    /// The tool's name; empty for a command that a person typed.
    pub tool: String,
    /// The id of the turn that made the call.
    pub turn: String,
    /// The call whose tool made this one, if a tool did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// When the call began, in UTC.
    pub began_at: String,
    /// When the call ended, in UTC.
    pub ended_at: String,
    /// How many milliseconds the call took.
    pub duration_ms: u64,
    /// Whether the call succeeded, failed, was refused or was interrupted.
    pub outcome: CallOutcome,
    /// Why the call ran or was refused; absent if the record lacks that line.
    pub grounds: Option<Value>,
    /// The approval questions that the call led to, with their answers.
    pub answers: Vec<CallAnswer>,
    /// What the call ran, attempt by attempt.
    pub runs: Vec<RecordedRun>,
    /// The number of the call's line in the record.
    pub line: u64,
}

/// An attempt to run something, as the record has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordedRun {
    /// What confined it; absent if the line that says so is gone.
    pub sandbox: Option<HeldSandbox>,
    /// How its process ended, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether the sandbox seems to have stopped it.
    pub denied: bool,
}

impl Calls {
    /// Those of the session that has this file; none if it has no record.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn read(home: &Path, session_file: &Path) -> io::Result<Self> {
        let name = session_file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match name::requests_path(home, name) {
            Some(path) => Ok(Self::of(&Chain::read(&path)?)),
            None => Ok(Self::default()),
        }
    }

    /// Those of a record.
    pub fn of(chain: &Chain) -> Self {
        let calls = call::calls(&chain.links).iter().map(RecordedCall::new).collect();
        Self { calls, broken: chain.broken.as_ref().map(ToString::to_string) }
    }
}

impl RecordedCall {
    fn new(described: &DescribedCall<'_>) -> Self {
        let DescribedCall { line, call, grounds, sandboxes } = described;
        let moments = Moment::parse(&call.ended_at).zip(Moment::parse(&call.began_at));
        let duration = moments.map(|(ended, began)| ended.since(began)).unwrap_or_default();
        let runs = call.runs.iter().zip(sandboxes).map(|(run, sandbox)| RecordedRun {
            sandbox: sandbox.cloned(),
            exit_code: run.exit_code,
            denied: run.denied,
        });
        Self {
            call: call.call.clone(),
            tool: call.tool.clone(),
            turn: call.turn.clone(),
            within: call.within.clone(),
            began_at: call.began_at.clone(),
            ended_at: call.ended_at.clone(),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            outcome: call.outcome,
            grounds: grounds.cloned(),
            answers: call.answers.clone(),
            runs: runs.collect(),
            line: *line,
        }
    }

    /// Its grounds in words, several lines; the JSON of a form that this program does not know.
    pub fn grounds_text(&self) -> String {
        let Some(grounds) = &self.grounds else {
            return "not in the record any more\n".to_owned();
        };
        CallGrounds::deserialize(grounds).map_or_else(|_| format!("{grounds}\n"), |grounds| grounds.to_string())
    }
}
