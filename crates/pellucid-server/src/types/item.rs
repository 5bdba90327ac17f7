//! The items of a turn.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pellucid_protocol::event::AgentContent;
use pellucid_protocol::event::TurnItem;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use super::change::FileUpdateChange;
use super::change::PatchApplyStatus;
use super::collab::CollabAgentState;
use super::collab::CollabAgentTool;
use super::collab::CollabAgentToolCallStatus;
use super::command::CommandAction;
use super::command::CommandExecutionStatus;
use super::input::UserInput;
use super::mcp::McpToolCallError;
use super::mcp::McpToolCallResult;
use super::mcp::McpToolCallStatus;
use super::search::WebSearchAction;

/// Something that happens in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ThreadItem {
    /// What the person said.
    UserMessage {
        /// Its id.
        id: String,
        /// Its parts.
        content: Vec<UserInput>,
    },
    /// What the model said.
    AgentMessage {
        /// Its id.
        id: String,
        /// Its text.
        text: String,
    },
    /// A plan that the model proposes.
    Plan {
        /// Its id.
        id: String,
        /// Its text.
        text: String,
    },
    /// What the model thought.
    Reasoning {
        /// Its id.
        id: String,
        /// Summaries.
        #[serde(default)]
        summary: Vec<String>,
        /// Raw thoughts.
        #[serde(default)]
        content: Vec<String>,
    },
    /// A command.
    #[serde(rename_all = "camelCase")]
    CommandExecution {
        /// The call.
        id: String,
        /// The command, quoted for a shell.
        command: String,
        /// Where.
        cwd: PathBuf,
        /// The terminal it runs in, if it may outlive the call.
        process_id: Option<String>,
        /// How it stands.
        status: CommandExecutionStatus,
        /// What it seems to do.
        command_actions: Vec<CommandAction>,
        /// What it said, if anything.
        aggregated_output: Option<String>,
        /// Its exit code.
        exit_code: Option<i32>,
        /// How long it ran.
        duration_ms: Option<i64>,
    },
    /// A patch.
    FileChange {
        /// The call.
        id: String,
        /// What it does.
        changes: Vec<FileUpdateChange>,
        /// How it stands.
        status: PatchApplyStatus,
    },
    /// A call of a tool that another server runs.
    #[serde(rename_all = "camelCase")]
    McpToolCall {
        /// The call.
        id: String,
        /// That server.
        server: String,
        /// The tool.
        tool: String,
        /// How it stands.
        status: McpToolCallStatus,
        /// With what.
        arguments: Value,
        /// What it answered.
        result: Option<McpToolCallResult>,
        /// Why it did not.
        error: Option<McpToolCallError>,
        /// How long it took.
        duration_ms: Option<i64>,
    },
    /// Something an agent has other agents do.
    #[serde(rename_all = "camelCase")]
    CollabAgentToolCall {
        /// The call.
        id: String,
        /// The tool.
        tool: CollabAgentTool,
        /// How it stands.
        status: CollabAgentToolCallStatus,
        /// The thread of the agent that calls.
        sender_thread_id: String,
        /// The threads of the others.
        receiver_thread_ids: Vec<String>,
        /// What they are told.
        prompt: Option<String>,
        /// How they stand, by thread.
        agents_states: BTreeMap<String, CollabAgentState>,
    },
    /// A search of the server.
    WebSearch {
        /// Its id.
        id: String,
        /// What was looked for.
        query: String,
        /// What was done.
        action: Option<WebSearchAction>,
    },
    /// The model looks at a picture.
    ImageView {
        /// The call.
        id: String,
        /// The picture.
        path: String,
    },
    /// A review began.
    EnteredReviewMode {
        /// The turn.
        id: String,
        /// Of what.
        review: String,
    },
    /// A review ended.
    ExitedReviewMode {
        /// The turn.
        id: String,
        /// What was found.
        review: String,
    },
    /// The history was summarised.
    ContextCompaction {
        /// Its id.
        id: String,
    },
}

impl ThreadItem {
    /// Its id.
    pub fn id(&self) -> &str {
        match self {
            Self::UserMessage { id, .. }
            | Self::AgentMessage { id, .. }
            | Self::Plan { id, .. }
            | Self::Reasoning { id, .. }
            | Self::CommandExecution { id, .. }
            | Self::FileChange { id, .. }
            | Self::McpToolCall { id, .. }
            | Self::CollabAgentToolCall { id, .. }
            | Self::WebSearch { id, .. }
            | Self::ImageView { id, .. }
            | Self::EnteredReviewMode { id, .. }
            | Self::ExitedReviewMode { id, .. }
            | Self::ContextCompaction { id } => id,
        }
    }
}

impl From<TurnItem> for ThreadItem {
    fn from(item: TurnItem) -> Self {
        match item {
            TurnItem::UserMessage { id, content } => {
                Self::UserMessage { id, content: content.into_iter().map(Into::into).collect() }
            }
            TurnItem::AgentMessage { id, content, .. } => {
                let text = content.into_iter().map(|AgentContent::Text { text }| text).collect();
                Self::AgentMessage { id, text }
            }
            TurnItem::Plan { id, text } => Self::Plan { id, text },
            TurnItem::Reasoning { id, summary_text, raw_content } => {
                Self::Reasoning { id, summary: summary_text, content: raw_content }
            }
            TurnItem::WebSearch { id, query, action } => Self::WebSearch { id, query, action: Some(action.into()) },
            TurnItem::ContextCompaction { id } => Self::ContextCompaction { id },
        }
    }
}
