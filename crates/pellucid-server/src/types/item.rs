//! The items of a turn.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pellucid_protocol::event::AgentContent;
use pellucid_protocol::event::TurnItem;
#[cfg(test)]
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

/// Something visible that happens in a turn. `id` is unique in the thread; for a tool call it is the call's id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ThreadItem {
    /// The user's message.
    UserMessage { id: String, content: Vec<UserInput> },
    /// The model's message.
    AgentMessage { id: String, text: String },
    /// A plan that the model proposes.
    Plan { id: String, text: String },
    /// The model's reasoning.
    Reasoning {
        id: String,
        /// Summaries of the reasoning, one to a paragraph.
        #[serde(default)]
        summary: Vec<String>,
        /// The raw reasoning, if the provider sends it.
        #[serde(default)]
        content: Vec<String>,
    },
    /// A command that the model or the user runs.
    #[serde(rename_all = "camelCase")]
    CommandExecution {
        id: String,
        /// The command, quoted for a shell.
        command: String,
        /// The command's working directory.
        cwd: PathBuf,
        /// The id of the terminal, if the command may outlive the call.
        process_id: Option<String>,
        status: CommandExecutionStatus,
        /// What the command probably does.
        command_actions: Vec<CommandAction>,
        /// The output of both streams so far; absent if there is none.
        aggregated_output: Option<String>,
        /// The exit code; absent while the command runs.
        exit_code: Option<i32>,
        /// How long the command ran, in milliseconds; absent while it runs.
        duration_ms: Option<i64>,
    },
    /// A patch that the model applies.
    FileChange {
        id: String,
        /// The patch's changes, one to a file.
        changes: Vec<FileUpdateChange>,
        status: PatchApplyStatus,
    },
    /// A call of an MCP server's tool.
    #[serde(rename_all = "camelCase")]
    McpToolCall {
        id: String,
        /// The server's name in the configuration.
        server: String,
        /// The tool's name at the server.
        tool: String,
        status: McpToolCallStatus,
        arguments: Value,
        /// The tool's result; absent while the call runs and if it failed.
        result: Option<McpToolCallResult>,
        /// Why the call failed; absent while the call runs and if the tool answered.
        error: Option<McpToolCallError>,
        /// How long the call took, in milliseconds; absent while it runs.
        duration_ms: Option<i64>,
    },
    /// A call by which an agent starts or steers other agents.
    #[serde(rename_all = "camelCase")]
    CollabAgentToolCall {
        id: String,
        tool: CollabAgentTool,
        status: CollabAgentToolCallStatus,
        /// The thread of the agent that calls.
        sender_thread_id: String,
        /// The threads of the other agents.
        receiver_thread_ids: Vec<String>,
        /// The message for the other agents, if the tool takes one.
        prompt: Option<String>,
        /// The states of the other agents, by thread.
        agents_states: BTreeMap<String, CollabAgentState>,
    },
    /// A web search that the provider runs.
    WebSearch {
        id: String,
        /// The text that is searched for.
        query: String,
        /// What the search did, once that is known.
        action: Option<WebSearchAction>,
    },
    /// The model looks at an image.
    ImageView {
        /// The id of the call.
        id: String,
        /// The path of the image.
        path: String,
    },
    /// The thread begins to review changes.
    EnteredReviewMode {
        /// The id of the turn.
        id: String,
        /// A description of what is reviewed.
        review: String,
    },
    /// The review is over.
    ExitedReviewMode {
        /// The id of the turn.
        id: String,
        /// The text of the review.
        review: String,
    },
    /// The history was summarised.
    ContextCompaction { id: String },
}

impl ThreadItem {
    /// The `id` of the item, whatever its kind.
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
