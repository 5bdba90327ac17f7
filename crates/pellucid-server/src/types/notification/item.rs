//! What clients are told of items.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::types::item::ThreadItem;

/// Something began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemStartedNotification {
    /// What.
    pub item: ThreadItem,
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
}

/// Something is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemCompletedNotification {
    /// What.
    pub item: ThreadItem,
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
}

/// More of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentMessageDeltaNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// Of which item.
    pub item_id: String,
    /// The text.
    pub delta: String,
}

/// More of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanDeltaNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// Of which item.
    pub item_id: String,
    /// The text.
    pub delta: String,
}

/// More of a command's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecutionOutputDeltaNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// Of which item.
    pub item_id: String,
    /// The text.
    pub delta: String,
}

/// The model typed into a terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalInteractionNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// Of which item.
    pub item_id: String,
    /// Which terminal.
    pub process_id: String,
    /// What was typed.
    pub stdin: String,
}

/// What was said of a patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChangeOutputDeltaNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// Of which item.
    pub item_id: String,
    /// The text.
    pub delta: String,
}

/// How far a call of another server's tool is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpToolCallProgressNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// Of which item.
    pub item_id: String,
    /// In words.
    pub message: String,
}

/// More of a summary of thoughts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningSummaryTextDeltaNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// Of which item.
    pub item_id: String,
    /// The text.
    pub delta: String,
    /// Of which paragraph.
    pub summary_index: i64,
}

/// A new paragraph of a summary begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningSummaryPartAddedNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// Of which item.
    pub item_id: String,
    /// Which.
    pub summary_index: i64,
}

/// More of the raw thoughts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningTextDeltaNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// Of which item.
    pub item_id: String,
    /// The text.
    pub delta: String,
    /// Of which part.
    pub content_index: i64,
}
