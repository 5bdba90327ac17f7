//! Calls of tools that another server runs, as items show them.

use pellucid_protocol::word_enum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

word_enum! {
    /// How such a call stands.
    McpToolCallStatus {
        /// It runs.
        InProgress = "inProgress",
        /// The tool answered.
        Completed = "completed",
        /// It did not, or said that it failed.
        Failed = "failed",
    }
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpToolCallResult {
    /// For the model.
    pub content: Vec<Value>,
    /// For programs.
    pub structured_content: Option<Value>,
}

/// Why a tool did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpToolCallError {
    /// In words.
    pub message: String,
}
