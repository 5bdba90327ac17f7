//! `write_stdin`: types into a terminal that is still open, or only looks.

use pellucid_engine::approval::grounds::CallGrounds;
use pellucid_engine::approval::grounds::Unasked;
use pellucid_exec::terminal;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;
use crate::exec_command::OUTPUT_TOKENS;

pub(crate) const TOOL: Tool = Tool {
    name: "write_stdin",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Files,
    asks: Asks::Nothing(Unasked::OpenTerminal),
    run: |call, job| Box::pin(run(call, job)),
};

#[derive(Deserialize)]
struct Arguments {
    session_id: i32,
    #[serde(default)]
    chars: String,
    yield_time_ms: Option<u64>,
    max_output_tokens: Option<usize>,
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let Arguments { session_id, chars, yield_time_ms, max_output_tokens } = arguments(call)?;
    let unknown = |_| Failed::Answered(format!("write_stdin failed: Unknown process id {session_id}"));
    let number = u32::try_from(session_id).map_err(unknown)?;
    let limit = terminal::yield_write(yield_time_ms, &chars);
    let written = job.toolbox.terminals.write(number, &chars, limit).await;
    let written = written.map_err(|error| Failed::Answered(error.to_string()))?;
    let (because, call) = (Unasked::OpenTerminal, Some(written.call_id.clone()));
    job.notes.decided(CallGrounds::NotNeeded { because, call });
    if let Some(sandbox) = job.toolbox.terminal_sandbox(number, written.chunk.exit_code.is_some()) {
        job.notes.runs(sandbox);
    }
    if let Some(exit_code) = written.chunk.exit_code {
        job.notes.ran(exit_code);
    }
    let (call_id, process_id) = (written.call_id, number.to_string());
    job.desk.tell(EventMessage::TerminalInteraction { call_id, process_id, stdin: chars }).await;
    let tokens = max_output_tokens.unwrap_or(OUTPUT_TOKENS);
    Ok(terminal::answer(&terminal::chunk_id(), &written.chunk, number, tokens).into())
}
