//! `close_agent`: an agent that is no longer needed is ended.

use pellucid_engine::approval::grounds::Unasked;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::ToolOutput;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::agents;
use crate::agents::AgentError;
use crate::agents::Answer;
use crate::agents::OneAgent;
use crate::arguments;

pub(crate) const TOOL: Tool = Tool {
    name: "close_agent",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::Agent),
    run: |call, job| Box::pin(run(call, job)),
};

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let OneAgent { id } = arguments(call)?;
    let receiver_thread_id = agents::parse_id(&id)?;
    let agents = job.agents()?;
    let (call_id, sender_thread_id) = (call.call_id.clone(), job.situation.session_id.clone());
    let begin = EventMessage::CollabCloseBegin {
        call_id: call_id.clone(),
        sender_thread_id: sender_thread_id.clone(),
        receiver_thread_id: receiver_thread_id.clone(),
    };
    job.desk.tell(begin).await;
    // The model wants to know what became of the work, not that the agent is gone.
    let status = agents.status(&receiver_thread_id).borrow().clone();
    let closed = agents.close(&receiver_thread_id).await;
    let end = EventMessage::CollabCloseEnd { call_id, sender_thread_id, receiver_thread_id, status: status.clone() };
    job.desk.tell(end).await;
    closed.map_err(AgentError::answered)?;
    Ok(agents::json(&Answer { status })?.into())
}
