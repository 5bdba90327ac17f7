//! The kind of client that started a thread.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

/// The kind of client that started a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum SessionSource {
    /// The terminal user interface.
    Cli,
    /// An editor, or any other client of the app-server.
    #[serde(rename = "vscode")]
    VsCode,
    /// `pellucid exec`, for scripts.
    Exec,
    /// The program as an MCP server.
    AppServer,
    /// Another agent started the thread.
    SubAgent(SubAgentSource),
    /// A source that this version does not know.
    #[serde(other)]
    Unknown,
}

/// The kind of agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SubAgentSource {
    /// The agent reviews changes.
    Review,
    /// The agent summarises a history.
    Compact,
    /// The agent was started by another thread.
    ThreadSpawn {
        /// The thread that started the agent.
        parent_thread_id: String,
        /// How many agents are above this one, up to the user's thread.
        depth: i32,
    },
    /// The agent consolidates memories.
    MemoryConsolidation,
    /// Another kind of agent, by its name.
    Other(String),
}

impl SessionSource {
    /// Reads the spelling of session files.
    pub fn from_file(value: &Value) -> Self {
        match value {
            Value::String(word) => match word.as_str() {
                "cli" => Self::Cli,
                "vscode" => Self::VsCode,
                "exec" => Self::Exec,
                "mcp" => Self::AppServer,
                _ => Self::Unknown,
            },
            Value::Object(members) => members
                .get("subagent")
                .and_then(|agent| SubAgentSource::deserialize(agent).ok())
                .map_or(Self::Unknown, Self::SubAgent),
            _ => Self::Unknown,
        }
    }
}
