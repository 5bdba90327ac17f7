//! How far an agent is that another one started.

use serde::Deserialize;
use serde::Serialize;

/// How far an agent is. What comes next is told by its events, see the engine's `agent_status`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// It has not begun.
    #[default]
    PendingInit,
    /// It works.
    Running,
    /// It has done its work, and said this last.
    Completed(Option<String>),
    /// Its work broke off.
    Errored(String),
    /// It was ended.
    Shutdown,
    /// Nobody knows it.
    NotFound,
}

impl AgentStatus {
    /// Whether nothing more comes unless somebody asks for it.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::PendingInit | Self::Running)
    }

    /// Whether something went wrong.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Errored(_) | Self::NotFound)
    }
}
