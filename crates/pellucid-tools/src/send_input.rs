//! `send_input`: sends a message to an agent, at once or after its current turn.

use pellucid_engine::approval::grounds::Unasked;
use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;
use serde::Serialize;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::agents;
use crate::agents::AgentError;
use crate::arguments;

pub(crate) const TOOL: Tool = Tool {
    name: "send_input",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::Agent),
    run: |call, job| Box::pin(run(call, job)),
};

#[derive(Deserialize)]
struct Arguments {
    id: String,
    message: Option<String>,
    items: Option<Vec<UserInput>>,
    #[serde(default)]
    interrupt: bool,
}

#[derive(Serialize)]
struct Sent {
    submission_id: TurnId,
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let Arguments { id, message, items, interrupt } = arguments(call)?;
    let id = agents::parse_id(&id)?;
    let message = agents::said(message, items)?;
    let prompt = agents::shown(&message);
    let agents = job.agents()?;
    if interrupt && *agents.status(&id).borrow() == AgentStatus::NotFound {
        return Err(AgentError::NotFound(id).answered());
    }
    let (call_id, sender_thread_id) = (call.call_id.clone(), job.situation.session_id.clone());
    let begin = EventMessage::CollabAgentInteractionBegin {
        call_id: call_id.clone(),
        sender_thread_id: sender_thread_id.clone(),
        receiver_thread_id: id.clone(),
        prompt: prompt.clone(),
    };
    job.desk.tell_first(begin).await;
    let broken_off = if interrupt { agents.interrupt(&id).await } else { Ok(()) };
    let sent = match broken_off {
        Ok(()) => agents.send(&id, message).await,
        Err(error) => Err(error),
    };
    let status = agents.status(&id).borrow().clone();
    let end =
        EventMessage::CollabAgentInteractionEnd { call_id, sender_thread_id, receiver_thread_id: id, prompt, status };
    job.desk.tell(end).await;
    let submission_id = sent.map_err(AgentError::answered)?;
    Ok(agents::json(&Sent { submission_id })?.into())
}
