//! `spawn_agent`: another agent begins to work on a task.

use pellucid_engine::approval::grounds::Unasked;
use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::SessionId;
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
use crate::agents::Depth;
use crate::arguments;

pub(crate) const TOOL: Tool = Tool {
    name: "spawn_agent",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::Agent),
    run: |call, job| Box::pin(run(call, job)),
};

#[derive(Deserialize)]
struct Arguments {
    message: Option<String>,
    items: Option<Vec<UserInput>>,
    agent_type: Option<String>,
}

#[derive(Serialize)]
struct Started {
    agent_id: SessionId,
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let Arguments { message, items, agent_type } = arguments(call)?;
    let role = agent_type.as_deref().map(str::trim).filter(|role| !role.is_empty());
    let task = agents::said(message, items)?;
    let prompt = agents::shown(&task);
    let agents = job.agents()?;
    if agents.depth() == Depth::Reached {
        return Err(Failed::answered("Agent depth limit reached. Solve the task yourself."));
    }
    let (call_id, sender_thread_id) = (call.call_id.clone(), job.situation.session_id.clone());
    let begin = EventMessage::CollabAgentSpawnBegin {
        call_id: call_id.clone(),
        sender_thread_id: sender_thread_id.clone(),
        prompt: prompt.clone(),
    };
    job.desk.tell_first(begin).await;
    let started = agents.spawn(role, task).await;
    if let Err(error @ (AgentError::UnknownRole(_) | AgentError::RoleUnusable)) = &started {
        // A role that cannot be had leaves its beginning without an end.
        return Err(Failed::Answered(error.to_string()));
    }
    let new_thread_id = started.as_ref().ok().cloned();
    let status = new_thread_id.as_ref().map_or(AgentStatus::NotFound, |id| agents.status(id).borrow().clone());
    // The event of the new agent comes before the end of this call.
    tokio::task::yield_now().await;
    let end = EventMessage::CollabAgentSpawnEnd { call_id, sender_thread_id, new_thread_id, prompt, status };
    job.desk.tell(end).await;
    match started {
        Ok(agent_id) => Ok(agents::json(&Started { agent_id })?.into()),
        Err(AgentError::Unavailable) => Err(Failed::Answered(AgentError::Unavailable.to_string())),
        Err(error) => Err(Failed::Answered(format!("collab spawn failed: {error}"))),
    }
}
