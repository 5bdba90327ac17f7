//! What clients are told of threads.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::types::thread::Thread;
use crate::types::usage::ThreadTokenUsage;

/// A thread began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStartedNotification {
    /// It, without turns.
    pub thread: Thread,
}

/// A thread was put away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadArchivedNotification {
    /// Which.
    pub thread_id: String,
}

/// A thread was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnarchivedNotification {
    /// Which.
    pub thread_id: String,
}

/// A thread has another name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadNameUpdatedNotification {
    /// Which.
    pub thread_id: String,
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_name: Option<String>,
}

/// New token figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTokenUsageUpdatedNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// The figures.
    pub token_usage: ThreadTokenUsage,
}

/// The history was summarised, for clients that do not know the item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextCompactedNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
}
