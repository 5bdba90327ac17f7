//! The lines of a session file.

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::CollaborationMode;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::TruncationPolicy;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

/// The source of sessions that another program sent, which was watched.
pub const WATCHED_SOURCE: &str = "watched";

/// The payload of a line, by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "payload", rename_all = "snake_case")]
pub enum Record {
    /// The session's id, origin and instructions.
    SessionMeta(Box<SessionMeta>),
    /// An item of the conversation.
    ResponseItem(Item),
    /// A summary took the place of what came before.
    Compacted(Compacted),
    /// The settings of a request.
    TurnContext(Box<TurnContext>),
    /// An event that was shown to the user.
    EventMsg(EventMessage),
}

/// The first line of a session file: which session it is and how it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMeta {
    /// The id of the session, a UUID.
    pub id: String,
    /// The session that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from_id: Option<String>,
    /// The time at which the session began, in UTC.
    pub timestamp: String,
    /// The working directory at the beginning.
    pub cwd: String,
    /// The program that began the session, such as `codex_cli_rs`.
    pub originator: String,
    /// The version of that program.
    pub cli_version: String,
    /// The client that began the session: a word such as `cli` or `exec`, or an object.
    #[serde(default)]
    pub source: Value,
    /// The id of the model provider.
    #[serde(default)]
    pub model_provider: Option<String>,
    /// The base instructions, absent in files of old versions.
    #[serde(default)]
    pub base_instructions: Option<BaseInstructions>,
    /// Tools that the program which drives the session runs itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic_tools: Option<Vec<Value>>,
    /// The repository it began in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<RecordedGit>,
}

/// Base instructions of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseInstructions {
    /// The instructions as they are sent.
    pub text: String,
}

/// The state of the repository when the session began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedGit {
    /// The commit that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_hash: Option<String>,
    /// The name of the checked-out branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The address of the remote `origin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_url: Option<String>,
}

/// A summary that took the place of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// The summary's whole text; empty when the provider made it.
    pub message: String,
    /// The new history, when the provider made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement_history: Option<Vec<Item>>,
}

/// The settings of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnContext {
    /// The id of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The working directory of the turn.
    pub cwd: String,
    /// When a person is asked.
    pub approval_policy: ApprovalPolicy,
    /// What commands may read and write.
    pub sandbox_policy: SandboxPolicy,
    /// Domains of managed requirements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<RecordedNetwork>,
    /// The name of the model.
    pub model: String,
    /// The tone of the model's answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality: Option<Personality>,
    /// The way of working together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collaboration_mode: Option<CollaborationMode>,
    /// The reasoning effort of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// How the model's reasoning is summarised.
    pub summary: ReasoningSummary,
    /// The user's and the project's instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_instructions: Option<String>,
    /// The instructions of the configuration key `developer_instructions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
    /// The schema of the final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_output_json_schema: Option<Value>,
    /// How output of tools is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncation_policy: Option<TruncationPolicy>,
}

/// Domains of managed requirements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedNetwork {
    /// Domains that commands may reach.
    pub allowed_domains: Vec<String>,
    /// Domains that commands may not reach.
    pub denied_domains: Vec<String>,
}

/// Events that session files of the format may hold, though no session of ours writes them.
const OTHER_EVENTS: [&str; 18] = [
    "collab_agent_interaction_end",
    "collab_agent_spawn_end",
    "collab_close_end",
    "collab_resume_end",
    "collab_waiting_end",
    "entered_review_mode",
    "error",
    "exec_command_end",
    "exited_review_mode",
    "item_completed",
    "mcp_tool_call_end",
    "patch_apply_end",
    "plan_update",
    "token_count",
    "undo_completed",
    "user_message",
    "view_image_tool_call",
    "web_search_end",
];

/// Whether this is an event of the format, whatever its fields are.
pub(crate) fn is_known_event(payload: &[u8]) -> bool {
    event_name(payload).is_some_and(|name| OTHER_EVENTS.contains(&name))
}

/// The value of `type` of an event.
pub(crate) fn event_name(payload: &[u8]) -> Option<&str> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(rename = "type")]
        name: &'a str,
    }
    serde_json::from_slice::<Named<'_>>(payload).ok().map(|event| event.name)
}

#[cfg(test)]
mod tests;
