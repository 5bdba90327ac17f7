//! Through which face a thread began.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

/// Through which face a thread began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionSource {
    /// The terminal.
    Cli,
    /// An editor, or any other client of the app-server.
    #[serde(rename = "vscode")]
    VsCode,
    /// A script.
    Exec,
    /// The server of tools.
    AppServer,
    /// Another agent.
    SubAgent(SubAgentSource),
    /// Something that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Which kind of agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubAgentSource {
    /// One that reviews.
    Review,
    /// One that summarises.
    Compact,
    /// One that another thread began.
    ThreadSpawn {
        /// That thread.
        parent_thread_id: String,
        /// How many are above it.
        depth: i32,
    },
    /// One that sorts memories.
    MemoryConsolidation,
    /// Another kind.
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
