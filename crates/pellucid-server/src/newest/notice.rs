//! Notifications that only clients of today receive.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::rpc::RequestId;

/// The state of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ThreadStatus {
    /// The thread is not loaded.
    NotLoaded,
    /// The thread waits for input.
    #[default]
    Idle,
    /// A turn runs.
    #[serde(rename_all = "camelCase")]
    Active {
        /// What the turn waits for.
        active_flags: Vec<ThreadActiveFlag>,
    },
}

/// What a turn waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ThreadActiveFlag {
    /// A client must decide about a command or a patch.
    WaitingOnApproval,
    /// A client must answer a question.
    WaitingOnUserInput,
}

/// The state of an MCP server that starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum McpServerStartupState {
    /// The start has begun.
    Starting,
    /// The server can be used.
    Ready,
    /// The server cannot be used.
    Failed,
    /// The start was interrupted.
    Cancelled,
}

/// A notification for clients of today.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "method", content = "params")]
pub enum NewestNotification {
    /// A thread begins to work, waits for a client, or is done.
    #[serde(rename = "thread/status/changed", rename_all = "camelCase")]
    ThreadStatusChanged { thread_id: String, status: ThreadStatus },
    /// A thread is not loaded any more.
    #[serde(rename = "thread/closed", rename_all = "camelCase")]
    ThreadClosed { thread_id: String },
    /// A thread was deleted.
    #[serde(rename = "thread/deleted", rename_all = "camelCase")]
    ThreadDeleted { thread_id: String },
    /// The settings of a thread changed.
    #[serde(rename = "thread/settings/updated", rename_all = "camelCase")]
    ThreadSettingsUpdated {
        thread_id: String,
        /// All settings, also those that did not change.
        thread_settings: Value,
    },
    /// A request of the server needs no answer any more.
    #[serde(rename = "serverRequest/resolved", rename_all = "camelCase")]
    ServerRequestResolved {
        thread_id: String,
        #[cfg_attr(test, schemars(with = "i64"))]
        request_id: RequestId,
    },
    /// Something that the user should know.
    #[serde(rename = "warning", rename_all = "camelCase")]
    Warning {
        /// The thread that the warning is about.
        thread_id: Option<String>,
        message: String,
    },
    /// The start of an MCP server has begun, succeeded or failed.
    #[serde(rename = "mcpServer/startupStatus/updated", rename_all = "camelCase")]
    McpServerStartupStatusUpdated {
        thread_id: Option<String>,
        /// The name of the server in the configuration.
        name: String,
        status: McpServerStartupState,
        /// Why the server cannot be used.
        error: Option<String>,
        /// Whether a login would help; not known.
        failure_reason: Option<String>,
    },
}

impl NewestNotification {
    /// The JSON-RPC method, such as `thread/closed`.
    pub fn method(&self) -> &'static str {
        match self {
            Self::ThreadStatusChanged { .. } => "thread/status/changed",
            Self::ThreadClosed { .. } => "thread/closed",
            Self::ThreadDeleted { .. } => "thread/deleted",
            Self::ThreadSettingsUpdated { .. } => "thread/settings/updated",
            Self::ServerRequestResolved { .. } => "serverRequest/resolved",
            Self::Warning { .. } => "warning",
            Self::McpServerStartupStatusUpdated { .. } => "mcpServer/startupStatus/updated",
        }
    }
}
