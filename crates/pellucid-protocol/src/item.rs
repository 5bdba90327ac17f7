//! The items of a conversation, as the model sees them and as session files contain them.
//!
//! `type` comes first, the other keys in declaration order. Ids that a provider gives are read and kept in memory but
//! never written. Unknown fields are ignored, unknown types become [`Item::Other`].

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Serialize;

/// One item of the conversation.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ResponseItem"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// A message with texts or images.
    Message {
        #[serde(default, skip_serializing)]
        id: Option<String>,
        /// `developer`, `user`, `assistant` or `system`.
        role: String,
        /// The parts of the message, in order.
        content: Vec<ContentPart>,
        /// The model's mark that its turn is over; sent back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end_turn: Option<bool>,
        /// Which part of an answer the message is; sent back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<MessagePhase>,
    },
    /// The model's reasoning, as far as the provider sends it.
    Reasoning {
        #[serde(default, skip_serializing)]
        id: Option<String>,
        /// Summaries for people.
        summary: Vec<ReasoningSummaryPart>,
        /// Raw reasoning. `None` is written as `null`; a list without any `reasoning_text` is left out.
        #[serde(default, skip_serializing_if = "has_no_raw_thought")]
        content: Option<Vec<ReasoningContentPart>>,
        /// The reasoning in the provider's encrypted form.
        #[serde(default)]
        encrypted_content: Option<String>,
    },
    /// A command for the shell tool that is part of the Responses API.
    LocalShellCall {
        #[serde(default, skip_serializing)]
        id: Option<String>,
        /// The id of the call; its output has the same.
        #[serde(default)]
        call_id: Option<String>,
        /// The state of the call.
        status: LocalShellStatus,
        action: LocalShellAction,
    },
    /// A call of a function tool.
    FunctionCall {
        #[serde(default, skip_serializing)]
        id: Option<String>,
        name: String,
        /// The arguments: text that should be JSON, never reformatted.
        arguments: String,
        /// The id of the call; its output has the same.
        call_id: String,
    },
    /// The output of a [`Item::FunctionCall`] or [`Item::LocalShellCall`].
    FunctionCallOutput {
        /// The id of the call.
        call_id: String,
        /// The output of the tool.
        output: ToolOutput,
    },
    /// A call of a freeform tool.
    CustomToolCall {
        #[serde(default, skip_serializing)]
        id: Option<String>,
        /// The state of the call, if the provider sends it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        /// The id of the call; its output has the same.
        call_id: String,
        name: String,
        /// The input, exactly as the model wrote it.
        input: String,
    },
    /// The output of a [`Item::CustomToolCall`].
    CustomToolCallOutput {
        /// The id of the call.
        call_id: String,
        /// The output of the tool.
        output: String,
    },
    /// A web search that the provider ran.
    WebSearchCall {
        #[serde(default, skip_serializing)]
        id: Option<String>,
        /// The state of the search, if the provider sends it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        /// What the search did, if the provider says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<WebSearchAction>,
    },
    /// A snapshot of the work tree for undo. Only in session files, never sent.
    GhostSnapshot {
        /// The commit that contains the snapshot.
        ghost_commit: GhostCommit,
    },
    /// A summary in the provider's encrypted form.
    #[serde(alias = "compaction_summary")]
    Compaction { encrypted_content: String },
    /// A type this version does not know; its fields are lost.
    #[serde(other)]
    Other,
}

/// A part of a message.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ContentItem"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    /// Text given to the model.
    InputText { text: String },
    /// An image given to the model.
    InputImage {
        /// A URL or a `data:` URL.
        image_url: String,
    },
    /// Text from the model.
    OutputText { text: String },
}

/// Which part of an answer a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessagePhase {
    /// A message before the answer, while the model works.
    Commentary,
    /// The final answer of the turn.
    FinalAnswer,
}

/// A part of a reasoning summary.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ReasoningItemReasoningSummary"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReasoningSummaryPart {
    /// One paragraph of the summary.
    SummaryText { text: String },
}

/// A part of the raw reasoning.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ReasoningItemContent"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReasoningContentPart {
    /// Text of the reasoning itself.
    ReasoningText { text: String },
    /// Other text beside the reasoning.
    Text { text: String },
}

/// The state of a local shell call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LocalShellStatus {
    /// The call is over.
    Completed,
    /// The call is running.
    InProgress,
    /// The call was interrupted.
    Incomplete,
}

/// The action of a local shell call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LocalShellAction {
    /// Run a program. All keys are always written.
    Exec {
        /// The program and its arguments.
        command: Vec<String>,
        /// The time limit in milliseconds.
        #[serde(default)]
        timeout_ms: Option<u64>,
        /// The folder to run in.
        #[serde(default)]
        working_directory: Option<String>,
        /// Variables to set, by name.
        #[serde(default)]
        env: Option<BTreeMap<String, String>>,
        /// The user to run as.
        #[serde(default)]
        user: Option<String>,
    },
}

/// What a web search did.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ResponsesApiWebSearchAction"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WebSearchAction {
    /// The model searched the web.
    Search {
        /// The query, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        query: Option<String>,
        /// The queries, if there were several at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queries: Option<Vec<String>>,
    },
    /// The model opened a page.
    OpenPage {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
    /// The model searched a page for a text.
    FindInPage {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// The text that was searched for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
    },
    /// An action that this version does not know.
    #[serde(other)]
    Other,
}

/// The commit behind a snapshot for undo.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GhostCommit {
    pub id: String,
    /// The commit's parent, if it has one.
    #[serde(default)]
    pub parent: Option<String>,
    /// Untracked files that existed before the snapshot.
    #[serde(default)]
    pub preexisting_untracked_files: Vec<String>,
    /// Untracked folders that existed before the snapshot.
    #[serde(default)]
    pub preexisting_untracked_dirs: Vec<String>,
}

/// The output of a tool: a text, or parts if it contains images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "FunctionCallOutputBody"))]
#[serde(untagged)]
pub enum ToolOutput {
    /// The whole output as one text.
    Text(String),
    /// Texts and images; only `input_text` and `input_image` occur.
    Parts(Vec<ContentPart>),
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Item {
    /// A message of one text part.
    pub fn text(role: &str, text: impl Into<String>) -> Self {
        let text = text.into();
        let part = if role == "assistant" { ContentPart::OutputText { text } } else { ContentPart::InputText { text } };
        Self::message(role, vec![part])
    }

    /// A message of these parts.
    pub fn message(role: &str, content: Vec<ContentPart>) -> Self {
        Self::Message { id: None, role: role.to_owned(), content, end_turn: None, phase: None }
    }

    /// The provider's id of the item, if it sent one.
    pub fn server_id(&self) -> Option<&str> {
        match self {
            Self::Message { id, .. }
            | Self::Reasoning { id, .. }
            | Self::LocalShellCall { id, .. }
            | Self::FunctionCall { id, .. }
            | Self::CustomToolCall { id, .. }
            | Self::WebSearchCall { id, .. } => id.as_deref().filter(|id| !id.is_empty()),
            _ => None,
        }
    }
}

fn has_no_raw_thought(content: &Option<Vec<ReasoningContentPart>>) -> bool {
    content
        .as_ref()
        .is_some_and(|parts| !parts.iter().any(|part| matches!(part, ReasoningContentPart::ReasoningText { .. })))
}
