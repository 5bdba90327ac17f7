//! The state of an agent that another agent started.

use serde::Deserialize;
use serde::Serialize;

/// The state of an agent. Its events change it, see the engine's `agent_status`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// The agent was started and has not begun to work.
    #[default]
    PendingInit,
    /// The agent works on its task.
    Running,
    /// The agent has done its work; the text is its final answer.
    Completed(Option<String>),
    /// The agent's work failed; the text is the error.
    Errored(String),
    /// The agent was closed.
    Shutdown,
    /// No agent has that id.
    NotFound,
}

impl AgentStatus {
    /// Whether no event follows unless another agent sends input.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::PendingInit | Self::Running)
    }

    /// Whether the agent failed or does not exist.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Errored(_) | Self::NotFound)
    }
}
