//! Calls by which an agent starts and steers other agents, as items show them.

use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::word_enum;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::item::ThreadItem;

word_enum! {
    /// The tool by which an agent deals with another agent.
    CollabAgentTool {
        /// The call starts a new agent.
        SpawnAgent = "spawnAgent",
        /// The call sends a message to an agent.
        SendInput = "sendInput",
        /// The call restarts an agent that had ended.
        ResumeAgent = "resumeAgent",
        /// The call waits for agents to finish.
        Wait = "wait",
        /// The call ends an agent.
        CloseAgent = "closeAgent",
    }
}

word_enum! {
    /// The state of a call of [`CollabAgentTool`].
    CollabAgentToolCallStatus {
        InProgress = "inProgress",
        Completed = "completed",
        Failed = "failed",
    }
}

word_enum! {
    /// The state of an agent.
    CollabAgentStatus {
        /// The agent was started and has not begun to work.
        PendingInit = "pendingInit",
        Running = "running",
        /// The agent gave its final answer.
        Completed = "completed",
        Errored = "errored",
        /// The agent was closed.
        Shutdown = "shutdown",
        /// No agent has that id.
        NotFound = "notFound",
    }
}

/// The state of an agent, with its last message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CollabAgentState {
    pub status: CollabAgentStatus,
    /// The agent's final answer, or the reason why it failed.
    pub message: Option<String>,
}

impl From<&AgentStatus> for CollabAgentState {
    fn from(status: &AgentStatus) -> Self {
        let (status, message) = match status {
            AgentStatus::PendingInit => (CollabAgentStatus::PendingInit, None),
            AgentStatus::Running => (CollabAgentStatus::Running, None),
            AgentStatus::Completed(message) => (CollabAgentStatus::Completed, message.clone()),
            AgentStatus::Errored(message) => (CollabAgentStatus::Errored, Some(message.clone())),
            AgentStatus::Shutdown => (CollabAgentStatus::Shutdown, None),
            AgentStatus::NotFound => (CollabAgentStatus::NotFound, None),
        };
        Self { status, message }
    }
}

/// A call by which an agent deals with others, as an event reports it.
struct AgentCall<'a> {
    tool: CollabAgentTool,
    id: &'a str,
    sender: &'a SessionId,
    prompt: Option<&'a String>,
    /// The agents that the call concerns, with their states once the call is over.
    receivers: Vec<(&'a SessionId, Option<&'a AgentStatus>)>,
    status: CollabAgentToolCallStatus,
}

impl AgentCall<'_> {
    fn item(self) -> ThreadItem {
        let states = self.receivers.iter().filter_map(|(id, status)| Some((id.to_string(), (*status)?.into())));
        ThreadItem::CollabAgentToolCall {
            id: self.id.to_owned(),
            tool: self.tool,
            status: self.status,
            sender_thread_id: self.sender.to_string(),
            receiver_thread_ids: self.receivers.iter().map(|(id, _)| id.to_string()).collect(),
            prompt: self.prompt.cloned(),
            agents_states: states.collect(),
        }
    }
}

/// The state of a call that is over.
fn over<'a>(mut statuses: impl Iterator<Item = &'a AgentStatus>) -> CollabAgentToolCallStatus {
    if statuses.any(AgentStatus::is_failure) {
        CollabAgentToolCallStatus::Failed
    } else {
        CollabAgentToolCallStatus::Completed
    }
}

impl ThreadItem {
    /// The call by which an agent deals with others, if the event reports its beginning.
    pub fn begun_with_agents(event: &EventMessage) -> Option<Self> {
        let status = CollabAgentToolCallStatus::InProgress;
        let (tool, id, sender, prompt, receivers) = match event {
            EventMessage::CollabAgentSpawnBegin { call_id, sender_thread_id, prompt } => {
                (CollabAgentTool::SpawnAgent, call_id, sender_thread_id, Some(prompt), Vec::new())
            }
            EventMessage::CollabAgentInteractionBegin { call_id, sender_thread_id, receiver_thread_id, prompt } => {
                let receivers = vec![(receiver_thread_id, None)];
                (CollabAgentTool::SendInput, call_id, sender_thread_id, Some(prompt), receivers)
            }
            EventMessage::CollabWaitingBegin { call_id, sender_thread_id, receiver_thread_ids } => {
                let receivers = receiver_thread_ids.iter().map(|id| (id, None)).collect();
                (CollabAgentTool::Wait, call_id, sender_thread_id, None, receivers)
            }
            EventMessage::CollabCloseBegin { call_id, sender_thread_id, receiver_thread_id } => {
                (CollabAgentTool::CloseAgent, call_id, sender_thread_id, None, vec![(receiver_thread_id, None)])
            }
            EventMessage::CollabResumeBegin { call_id, sender_thread_id, receiver_thread_id } => {
                (CollabAgentTool::ResumeAgent, call_id, sender_thread_id, None, vec![(receiver_thread_id, None)])
            }
            _ => return None,
        };
        Some(AgentCall { tool, id, sender, prompt, receivers, status }.item())
    }

    /// The call by which an agent deals with others, if the event reports its end.
    pub fn ended_with_agents(event: &EventMessage) -> Option<Self> {
        let (tool, id, sender, prompt, receivers, status) = match event {
            EventMessage::CollabAgentSpawnEnd { call_id, sender_thread_id, new_thread_id, prompt, status } => {
                let receivers: Vec<_> = new_thread_id.iter().map(|id| (id, Some(status))).collect();
                let status = match new_thread_id {
                    Some(_) => over(std::iter::once(status)),
                    None => CollabAgentToolCallStatus::Failed,
                };
                (CollabAgentTool::SpawnAgent, call_id, sender_thread_id, Some(prompt), receivers, status)
            }
            EventMessage::CollabAgentInteractionEnd {
                call_id,
                sender_thread_id,
                receiver_thread_id,
                prompt,
                status,
            } => {
                let receivers = vec![(receiver_thread_id, Some(status))];
                let status = over(std::iter::once(status));
                (CollabAgentTool::SendInput, call_id, sender_thread_id, Some(prompt), receivers, status)
            }
            EventMessage::CollabWaitingEnd { call_id, sender_thread_id, statuses } => {
                let receivers = statuses.iter().map(|(id, status)| (id, Some(status))).collect();
                (CollabAgentTool::Wait, call_id, sender_thread_id, None, receivers, over(statuses.values()))
            }
            EventMessage::CollabCloseEnd { call_id, sender_thread_id, receiver_thread_id, status } => {
                let receivers = vec![(receiver_thread_id, Some(status))];
                (CollabAgentTool::CloseAgent, call_id, sender_thread_id, None, receivers, over(std::iter::once(status)))
            }
            EventMessage::CollabResumeEnd { call_id, sender_thread_id, receiver_thread_id, status } => {
                let receivers = vec![(receiver_thread_id, Some(status))];
                (
                    CollabAgentTool::ResumeAgent,
                    call_id,
                    sender_thread_id,
                    None,
                    receivers,
                    over(std::iter::once(status)),
                )
            }
            _ => return None,
        };
        Some(AgentCall { tool, id, sender, prompt, receivers, status }.item())
    }
}
