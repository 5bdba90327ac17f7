//! The items of a conversation, as the model sees them and as files hold them.
//!
//! `type` comes first, the other keys in declaration order. Ids given by a server are read and
//! kept in memory but never written. Unknown fields are ignored, unknown types become
//! [`Item::Other`].

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Serialize;

/// One element of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ResponseItem"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// Text or images said by somebody.
    Message {
        /// The server's id.
        #[serde(default, skip_serializing)]
        id: Option<String>,
        /// `developer`, `user`, `assistant` or `system`.
        role: String,
        /// What was said, in order.
        content: Vec<ContentPart>,
        /// The model's own mark that its turn is over; echoed back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end_turn: Option<bool>,
        /// Which part of an answer this is; echoed back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<Phase>,
    },
    /// What the model thought, as far as it says.
    Reasoning {
        /// The server's id.
        #[serde(default, skip_serializing)]
        id: Option<String>,
        /// Summaries meant for people.
        summary: Vec<ReasoningSummaryPart>,
        /// Raw thoughts. Absent is written as `null`; present without any `reasoning_text` is left out.
        #[serde(default, skip_serializing_if = "has_no_raw_thought")]
        content: Option<Vec<ReasoningContentPart>>,
        /// The server's sealed form of the thoughts.
        #[serde(default)]
        encrypted_content: Option<String>,
    },
    /// A command for the shell that the model's maker built into the wire.
    LocalShellCall {
        /// The server's id.
        #[serde(default, skip_serializing)]
        id: Option<String>,
        /// Pairs the call with its output.
        #[serde(default)]
        call_id: Option<String>,
        /// How far the call has come.
        status: LocalShellStatus,
        /// What to run.
        action: LocalShellAction,
    },
    /// A call of a function tool.
    FunctionCall {
        /// The server's id.
        #[serde(default, skip_serializing)]
        id: Option<String>,
        /// The tool.
        name: String,
        /// Its arguments: text that should be JSON, never reformatted.
        arguments: String,
        /// Pairs the call with its output.
        call_id: String,
    },
    /// The answer to a [`Item::FunctionCall`] or [`Item::LocalShellCall`].
    FunctionCallOutput {
        /// The call this answers.
        call_id: String,
        /// What the tool said.
        output: ToolOutput,
    },
    /// A call of a freeform tool.
    CustomToolCall {
        /// The server's id.
        #[serde(default, skip_serializing)]
        id: Option<String>,
        /// How far the call has come, if the server says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        /// Pairs the call with its output.
        call_id: String,
        /// The tool.
        name: String,
        /// Its raw input.
        input: String,
    },
    /// The answer to a [`Item::CustomToolCall`].
    CustomToolCallOutput {
        /// The call this answers.
        call_id: String,
        /// What the tool said.
        output: String,
    },
    /// A search that the server ran.
    WebSearchCall {
        /// The server's id.
        #[serde(default, skip_serializing)]
        id: Option<String>,
        /// How far it has come, if the server says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        /// What was done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<WebSearchAction>,
    },
    /// A snapshot of the work tree taken for undo. Local only, never sent.
    GhostSnapshot {
        /// The commit that holds it.
        ghost_commit: GhostCommit,
    },
    /// A sealed summary made by the server.
    #[serde(alias = "compaction_summary")]
    Compaction {
        /// The sealed text.
        encrypted_content: String,
    },
    /// A type this version does not know; its fields are lost.
    #[serde(other)]
    Other,
}

/// Part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ContentItem"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    /// Text given to the model.
    InputText {
        /// The text.
        text: String,
    },
    /// A picture given to the model.
    InputImage {
        /// A URL or a `data:` URL.
        image_url: String,
    },
    /// Text from the model.
    OutputText {
        /// The text.
        text: String,
    },
}

/// Which part of an answer a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "MessagePhase"))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Said on the way.
    Commentary,
    /// The answer.
    FinalAnswer,
}

/// A summary of the model's thoughts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ReasoningItemReasoningSummary"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReasoningSummaryPart {
    /// One paragraph of it.
    SummaryText {
        /// The text.
        text: String,
    },
}

/// A raw thought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ReasoningItemContent"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReasoningContentPart {
    /// The model's own words.
    ReasoningText {
        /// The text.
        text: String,
    },
    /// Other text beside them.
    Text {
        /// The text.
        text: String,
    },
}

/// How far a local shell call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LocalShellStatus {
    /// Done.
    Completed,
    /// Running.
    InProgress,
    /// Broken off.
    Incomplete,
}

/// What a local shell call asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LocalShellAction {
    /// Run a program. All keys are always written.
    Exec {
        /// Program and arguments.
        command: Vec<String>,
        /// Time limit.
        #[serde(default)]
        timeout_ms: Option<u64>,
        /// Where to run.
        #[serde(default)]
        working_directory: Option<String>,
        /// Variables to set.
        #[serde(default)]
        env: Option<BTreeMap<String, String>>,
        /// User to run as.
        #[serde(default)]
        user: Option<String>,
    },
}

/// What a web search did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ResponsesApiWebSearchAction"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WebSearchAction {
    /// Searched.
    Search {
        /// The words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        query: Option<String>,
        /// Several searches at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queries: Option<Vec<String>>,
    },
    /// Opened a page.
    OpenPage {
        /// Its address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
    /// Looked for a text in a page.
    FindInPage {
        /// The page's address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// The text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
    },
    /// Something this version does not know.
    #[serde(other)]
    Other,
}

/// The commit behind a ghost snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GhostCommit {
    /// Its hash.
    pub id: String,
    /// Its parent, if any.
    #[serde(default)]
    pub parent: Option<String>,
    /// Untracked files that were there before.
    #[serde(default)]
    pub preexisting_untracked_files: Vec<String>,
    /// Untracked folders that were there before.
    #[serde(default)]
    pub preexisting_untracked_dirs: Vec<String>,
}

/// What a tool answered: a text, or parts where pictures are among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "FunctionCallOutputBody"))]
#[serde(untagged)]
pub enum ToolOutput {
    /// One text.
    Text(String),
    /// Texts and pictures; only `input_text` and `input_image` occur.
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

    /// The server's id, where it gave one.
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
