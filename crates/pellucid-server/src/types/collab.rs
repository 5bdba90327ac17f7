//! What agents have other agents do, as items show it.

use pellucid_protocol::word_enum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

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
