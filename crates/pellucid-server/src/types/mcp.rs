//! Calls of MCP servers' tools, as items show them.

use pellucid_protocol::word_enum;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

word_enum! {
    /// The state of a call of an MCP server's tool.
    McpToolCallStatus {
        InProgress = "inProgress",
        /// The tool answered without an error.
        Completed = "completed",
        /// The tool answered with an error, or did not answer.
        Failed = "failed",
    }
}

/// The result of an MCP server's tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct McpToolCallResult {
    /// The content blocks for the model, as the server sent them.
    pub content: Vec<Value>,
    /// The result as one JSON value, if the server sent one.
    pub structured_content: Option<Value>,
}

/// Why an MCP server's tool did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct McpToolCallError {
    pub message: String,
}
