//! `js_repl` and `js_repl_reset`: JavaScript in a Node process that stays for the session.
//!
//! - `input`: from what the model sent to a piece of JavaScript and its time
//! - `node`: finds Node, and checks whether it is new enough
//! - `message`: the messages between us and the kernel
//! - `kernel`: the process, and a piece from its start to its end
//! - `seat`: the one kernel of a session
//! - `kernel.mjs`: the kernel's own program
//!
//! A piece runs without approval, because it runs in the turn's sandbox. Tools that it calls need their usual
//! approvals.

mod input;
mod kernel;
mod message;
mod node;
mod seat;

#[cfg(test)]
mod tests;

use std::time::Duration;
use std::time::Instant;

use pellucid_engine::approval::grounds::Unasked;
use pellucid_engine::exec_output;
use pellucid_exec::summary::summary;
use pellucid_protocol::call::Payload;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::exec::ExecCommandBegin;
use pellucid_protocol::exec::ExecCommandEnd;
use pellucid_protocol::exec::ExecSource;
use pellucid_protocol::exec::ExecStatus;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;

use self::input::Piece;
pub(crate) use self::seat::KernelSeat;
use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;

/// The name of the tool, which is also how people see it run.
const NAME: &str = "js_repl";
const RESET_NAME: &str = "js_repl_reset";

pub(crate) const TOOL: Tool = Tool {
    name: NAME,
    takes: &[Takes::Function, Takes::Custom],
    when: When::Offered,
    effect: Effect::Files,
    asks: Asks::Nothing(Unasked::Sandbox),
    run: |call, job| Box::pin(run(call, job)),
};

pub(crate) const RESET: Tool = Tool {
    name: RESET_NAME,
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::SessionOnly),
    run: |_call, job| Box::pin(reset(job)),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    code: String,
    timeout_ms: Option<u64>,
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let piece = match &call.payload {
        Payload::Custom { input } => Piece::parse(input).map_err(|error| Failed::answered(error.to_string()))?,
        _ => {
            let Arguments { code, timeout_ms } = arguments(call)?;
            Piece { code, timeout: timeout_ms.map(Duration::from_millis) }
        }
    };
    let argv = vec![NAME.to_owned()];
    let begin = ExecCommandBegin {
        call_id: call.call_id.clone(),
        process_id: None,
        turn_id: job.situation.turn_id.clone(),
        parsed_cmd: summary(&argv),
        command: argv,
        cwd: job.situation.cwd.clone(),
        source: ExecSource::Agent,
        interaction_input: None,
    };
    job.desk.tell(EventMessage::ExecCommandBegin(begin.clone())).await;
    let started = Instant::now();
    let outcome = job.toolbox.kernel().execute(job, &piece).await;
    let end = end(job, begin, &outcome, started.elapsed());
    job.desk.tell(EventMessage::ExecCommandEnd(Box::new(end))).await;
    let text = outcome.map_err(Failed::answered)?;
    Ok(ToolOutput::Parts(vec![ContentPart::InputText { text }]))
}

async fn reset(job: &CallContext) -> Result<ToolOutput, Failed> {
    job.toolbox.kernel().reset().await;
    Ok("js_repl kernel reset".to_owned().into())
}

/// The end event of a piece.
fn end(
    job: &CallContext,
    begin: ExecCommandBegin,
    outcome: &Result<String, String>,
    duration: Duration,
) -> ExecCommandEnd {
    let (Ok(text) | Err(text)) = outcome;
    let (stdout, stderr) = match outcome {
        Ok(output) => (output.clone(), String::new()),
        Err(error) => (String::new(), error.clone()),
    };
    ExecCommandEnd {
        begin,
        stdout,
        stderr,
        aggregated_output: text.clone(),
        exit_code: i32::from(outcome.is_err()),
        duration,
        formatted_output: exec_output::with_heading(text, job.situation.truncation),
        status: if outcome.is_ok() { ExecStatus::Completed } else { ExecStatus::Failed },
    }
}
