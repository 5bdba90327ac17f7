//! `write_stdin`: types into a terminal that is still open, or only looks.

use pellucid_exec::terminal;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;

use crate::Failed;
use crate::Job;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;
use crate::exec_command::OUTPUT_TOKENS;

pub(crate) const TOOL: Tool = Tool {
    name: "write_stdin",
    takes: &[Takes::Function],
    when: When::Offered,
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

async fn run(call: &ToolCall, job: &Job) -> Result<ToolOutput, Failed> {
    let Arguments { session_id, chars, yield_time_ms, max_output_tokens } = arguments(call)?;
    let unknown = |_| Failed::Told(format!("write_stdin failed: Unknown process id {session_id}"));
    let number = u32::try_from(session_id).map_err(unknown)?;
    let limit = terminal::yield_write(yield_time_ms, &chars);
    let written = job.toolbox.terminals.write(number, &chars, limit).await;
    let written = written.map_err(|error| Failed::Told(error.to_string()))?;
    let (call_id, process_id) = (written.call_id, number.to_string());
    job.desk.tell(EventMessage::TerminalInteraction { call_id, process_id, stdin: chars }).await;
    let tokens = max_output_tokens.unwrap_or(OUTPUT_TOKENS);
    Ok(terminal::answer(&terminal::chunk_id(), &written.chunk, number, tokens).into())
}
