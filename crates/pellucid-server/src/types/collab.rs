//! What agents have other agents do, as items show it.

use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::word_enum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::item::ThreadItem;

word_enum! {
    /// Which tool was called.
    CollabAgentTool {
        /// A new agent.
        SpawnAgent = "spawnAgent",
        /// Words for an agent.
        SendInput = "sendInput",
        /// An agent that had ended goes on.
        ResumeAgent = "resumeAgent",
        /// Waiting for agents.
        Wait = "wait",
        /// The end of an agent.
        CloseAgent = "closeAgent",
    }
}

word_enum! {
    /// How such a call stands.
    CollabAgentToolCallStatus {
        /// It runs.
        InProgress = "inProgress",
        /// It was done.
        Completed = "completed",
        /// It was not.
        Failed = "failed",
    }
}

word_enum! {
    /// How an agent stands.
    CollabAgentStatus {
        /// It has not begun.
        PendingInit = "pendingInit",
        /// It works.
        Running = "running",
        /// It is done.
        Completed = "completed",
        /// It failed.
        Errored = "errored",
        /// It was ended.
        Shutdown = "shutdown",
        /// There is none of that id.
        NotFound = "notFound",
    }
}

/// How an agent stands, with its last words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CollabAgentState {
    /// How it stands.
    pub status: CollabAgentStatus,
    /// Its answer, or why it failed.
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

/// A call by which an agent deals with others, as an event tells of it.
struct AgentCall<'a> {
    tool: CollabAgentTool,
    id: &'a str,
    sender: &'a SessionId,
    prompt: Option<&'a String>,
    /// Whom it concerns, with their states once it is over.
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

/// How a call stands that is over.
fn over<'a>(mut statuses: impl Iterator<Item = &'a AgentStatus>) -> CollabAgentToolCallStatus {
    if statuses.any(AgentStatus::is_failure) {
        CollabAgentToolCallStatus::Failed
    } else {
        CollabAgentToolCallStatus::Completed
    }
}

impl ThreadItem {
    /// The call by which an agent deals with others, if an event tells of its beginning.
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

    /// The same if an event tells of its end.
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
