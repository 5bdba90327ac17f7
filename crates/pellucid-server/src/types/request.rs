//! What the server asks of its clients, and what they answer.
//!
//! Requests of the first version of the protocol are not here, as no thread of ours makes them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::dynamic_tool as inner_tool;
use pellucid_protocol::question as inner;
use pellucid_protocol::word_enum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use super::command::CommandAction;

/// A request of the server; its id is added when it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "method", content = "params")]
pub enum ServerRequest {
    /// May this command run?
    #[serde(rename = "item/commandExecution/requestApproval")]
    CommandExecutionRequestApproval(CommandExecutionRequestApprovalParams),
    /// May this patch be applied?
    #[serde(rename = "item/fileChange/requestApproval")]
    FileChangeRequestApproval(FileChangeRequestApprovalParams),
    /// The model asks a person.
    #[serde(rename = "item/tool/requestUserInput")]
    ToolRequestUserInput(ToolRequestUserInputParams),
    /// The model calls a tool of the client.
    #[serde(rename = "item/tool/call")]
    DynamicToolCall(DynamicToolCallParams),
    /// The client's tokens are no longer good.
    #[serde(rename = "account/chatgptAuthTokens/refresh")]
    ChatgptAuthTokensRefresh(ChatgptAuthTokensRefreshParams),
}

impl ServerRequest {
    /// Its method.
    pub fn method(&self) -> &'static str {
        match self {
            Self::CommandExecutionRequestApproval(_) => "item/commandExecution/requestApproval",
            Self::FileChangeRequestApproval(_) => "item/fileChange/requestApproval",
            Self::ToolRequestUserInput(_) => "item/tool/requestUserInput",
            Self::DynamicToolCall(_) => "item/tool/call",
            Self::ChatgptAuthTokensRefresh(_) => "account/chatgptAuthTokens/refresh",
        }
    }
}

/// May this command run?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecutionRequestApprovalParams {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// The item of the command.
    pub item_id: String,
    /// Which of several questions of that item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// Why somebody is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command, quoted for a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Where it would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// What it seems to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_actions: Option<Vec<CommandAction>>,
    /// The prefix that could be saved as allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_execpolicy_amendment: Option<Vec<String>>,
}

/// Whether a command may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecutionRequestApprovalResponse {
    /// The answer.
    pub decision: CommandExecutionApprovalDecision,
}

/// Whether a command may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandExecutionApprovalDecision {
    /// It may.
    Accept,
    /// It may, and the same need not be asked again in this session.
    AcceptForSession,
    /// It may, and commands like it are saved as allowed.
    AcceptWithExecpolicyAmendment {
        /// The prefix that is saved.
        execpolicy_amendment: Vec<String>,
    },
    /// It may not; the turn goes on.
    Decline,
    /// It may not, and the turn ends.
    Cancel,
}

impl From<CommandExecutionApprovalDecision> for ReviewDecision {
    fn from(decision: CommandExecutionApprovalDecision) -> Self {
        match decision {
            CommandExecutionApprovalDecision::Accept => Self::Approved,
            CommandExecutionApprovalDecision::AcceptForSession => Self::ApprovedForSession,
            CommandExecutionApprovalDecision::AcceptWithExecpolicyAmendment { execpolicy_amendment } => {
                Self::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: execpolicy_amendment }
            }
            CommandExecutionApprovalDecision::Decline => Self::Denied,
            CommandExecutionApprovalDecision::Cancel => Self::Abort,
        }
    }
}

/// May this patch be applied?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChangeRequestApprovalParams {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// The item of the patch.
    pub item_id: String,
    /// Why somebody is asked.
    pub reason: Option<String>,
    /// The folder that would be opened for writing for the rest of the session.
    pub grant_root: Option<PathBuf>,
}

/// Whether a patch may be applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChangeRequestApprovalResponse {
    /// The answer.
    pub decision: FileChangeApprovalDecision,
}

word_enum! {
    /// Whether a patch may be applied.
    FileChangeApprovalDecision {
        /// It may.
        Accept = "accept",
        /// It may, and patches of the same files need not be asked for again in this session.
        AcceptForSession = "acceptForSession",
        /// It may not; the turn goes on.
        Decline = "decline",
        /// It may not, and the turn ends.
        Cancel = "cancel",
    }
}

impl From<FileChangeApprovalDecision> for ReviewDecision {
    fn from(decision: FileChangeApprovalDecision) -> Self {
        match decision {
            FileChangeApprovalDecision::Accept => Self::Approved,
            FileChangeApprovalDecision::AcceptForSession => Self::ApprovedForSession,
            FileChangeApprovalDecision::Decline => Self::Denied,
            FileChangeApprovalDecision::Cancel => Self::Abort,
        }
    }
}

/// The model asks a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputParams {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// The call that asks.
    pub item_id: String,
    /// What it asks.
    pub questions: Vec<ToolRequestUserInputQuestion>,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputQuestion {
    /// By what its answer is known.
    pub id: String,
    /// A word above it.
    pub header: String,
    /// The question itself.
    pub question: String,
    /// Whether a person may say something else.
    #[serde(default)]
    pub is_other: bool,
    /// Whether the answer must not be seen.
    #[serde(default)]
    pub is_secret: bool,
    /// What may be chosen.
    pub options: Option<Vec<ToolRequestUserInputOption>>,
}

/// Something that may be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputOption {
    /// In a word or two.
    pub label: String,
    /// What it means.
    pub description: String,
}

impl From<inner::UserQuestion> for ToolRequestUserInputQuestion {
    fn from(question: inner::UserQuestion) -> Self {
        let inner::UserQuestion { id, header, question, is_other, is_secret, options } = question;
        let options = options.map(|options| {
            let choices = options.into_iter();
            choices.map(|inner::UserChoice { label, description }| ToolRequestUserInputOption { label, description })
        });
        Self { id, header, question, is_other, is_secret, options: options.map(Iterator::collect) }
    }
}

/// The answers, by the ids of the questions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputResponse {
    /// By id.
    pub answers: BTreeMap<String, ToolRequestUserInputAnswer>,
}

/// The answer to a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputAnswer {
    /// What was chosen, and what was said besides.
    pub answers: Vec<String>,
}

impl From<ToolRequestUserInputResponse> for inner::UserAnswers {
    fn from(response: ToolRequestUserInputResponse) -> Self {
        let answers = response.answers.into_iter();
        Self { answers: answers.map(|(id, answer)| (id, inner::UserAnswer { answers: answer.answers })).collect() }
    }
}

/// The model calls a tool of the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCallParams {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// The call.
    pub call_id: String,
    /// Which tool.
    pub tool: String,
    /// With what.
    pub arguments: Value,
}

/// What the client's tool answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCallResponse {
    /// Texts and pictures.
    pub content_items: Vec<DynamicToolCallOutputContentItem>,
    /// Whether it worked.
    pub success: bool,
}

/// Part of such an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum DynamicToolCallOutputContentItem {
    /// A text.
    InputText {
        /// The text.
        text: String,
    },
    /// A picture.
    #[serde(rename_all = "camelCase")]
    InputImage {
        /// A URL or a `data:` URL.
        image_url: String,
    },
}

impl From<DynamicToolCallResponse> for inner_tool::DynamicToolResponse {
    fn from(response: DynamicToolCallResponse) -> Self {
        let items = response.content_items.into_iter().map(|item| match item {
            DynamicToolCallOutputContentItem::InputText { text } => inner_tool::DynamicContent::InputText { text },
            DynamicToolCallOutputContentItem::InputImage { image_url } => {
                inner_tool::DynamicContent::InputImage { image_url }
            }
        });
        Self { content_items: items.collect(), success: response.success }
    }
}

/// The client's tokens are no longer good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatgptAuthTokensRefreshParams {
    /// Why new ones are needed.
    pub reason: ChatgptAuthTokensRefreshReason,
    /// The account they were for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_account_id: Option<String>,
}

word_enum! {
    /// Why new tokens are needed.
    ChatgptAuthTokensRefreshReason {
        /// The provider did not accept them.
        Unauthorized = "unauthorized",
    }
}

/// New tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatgptAuthTokensRefreshResponse {
    /// The token.
    pub access_token: String,
    /// The account it is for.
    pub chatgpt_account_id: String,
    /// The account's plan.
    pub chatgpt_plan_type: Option<String>,
}
