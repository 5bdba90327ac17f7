//! Requests of the server to its clients, and their responses.
//!
//! The requests of protocol version 1 are missing, because no thread of this server makes them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::dynamic_tool as inner_tool;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::question as inner;
use pellucid_protocol::word_enum;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use super::command::CommandAction;

/// A request of the server; its id is added when it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "method", content = "params")]
pub enum ServerRequest {
    /// May this command run?
    #[serde(rename = "item/commandExecution/requestApproval")]
    CommandExecutionRequestApproval(CommandExecutionRequestApprovalParams),
    /// May this patch be applied?
    #[serde(rename = "item/fileChange/requestApproval")]
    FileChangeRequestApproval(FileChangeRequestApprovalParams),
    /// The model asks the user.
    #[serde(rename = "item/tool/requestUserInput")]
    ToolRequestUserInput(ToolRequestUserInputParams),
    /// The model calls a tool of the client.
    #[serde(rename = "item/tool/call")]
    DynamicToolCall(DynamicToolCallParams),
    /// An MCP server asks the user.
    #[serde(rename = "mcpServer/elicitation/request")]
    McpServerElicitation(McpServerElicitationRequestParams),
    /// The client's ChatGPT tokens were rejected; the client must send new ones.
    #[serde(rename = "account/chatgptAuthTokens/refresh")]
    ChatgptAuthTokensRefresh(ChatgptAuthTokensRefreshParams),
}

impl ServerRequest {
    /// The JSON-RPC method, such as `item/tool/call`.
    pub fn method(&self) -> &'static str {
        match self {
            Self::CommandExecutionRequestApproval(_) => "item/commandExecution/requestApproval",
            Self::FileChangeRequestApproval(_) => "item/fileChange/requestApproval",
            Self::ToolRequestUserInput(_) => "item/tool/requestUserInput",
            Self::DynamicToolCall(_) => "item/tool/call",
            Self::McpServerElicitation(_) => "mcpServer/elicitation/request",
            Self::ChatgptAuthTokensRefresh(_) => "account/chatgptAuthTokens/refresh",
        }
    }
}

/// Asks the client whether a command may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CommandExecutionRequestApprovalParams {
    pub thread_id: String,
    pub turn_id: String,
    /// The item of the command.
    pub item_id: String,
    /// Distinguishes several questions about one item; absent if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// Why approval is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command, quoted for a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The folder in which the command would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// What the command probably does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_actions: Option<Vec<CommandAction>>,
    /// The command prefix that the client may add to the rules as allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_execpolicy_amendment: Option<Vec<String>>,
}

/// The client's decision about a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CommandExecutionRequestApprovalResponse {
    pub decision: CommandExecutionApprovalDecision,
}

/// The client's decision about a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CommandExecutionApprovalDecision {
    /// The command may run this time.
    Accept,
    /// The command may run, and for the rest of the session without asking.
    AcceptForSession,
    /// The command may run, and its prefix is added to the rules as allowed.
    AcceptWithExecpolicyAmendment {
        /// The prefix that is added.
        execpolicy_amendment: Vec<String>,
    },
    /// The command may not run; the turn continues.
    Decline,
    /// The command may not run, and the turn is interrupted.
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

/// Asks the client whether a patch may be applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileChangeRequestApprovalParams {
    pub thread_id: String,
    pub turn_id: String,
    /// The item of the patch.
    pub item_id: String,
    /// Why approval is needed.
    pub reason: Option<String>,
    /// The folder that would become writable for the rest of the session.
    pub grant_root: Option<PathBuf>,
}

/// The client's decision about a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileChangeRequestApprovalResponse {
    pub decision: FileChangeApprovalDecision,
}

word_enum! {
    /// The client's decision about a patch.
    FileChangeApprovalDecision {
        /// The patch may be applied this time.
        Accept = "accept",
        /// The patch may be applied, and later patches of the same files without asking.
        AcceptForSession = "acceptForSession",
        /// The patch may not be applied; the turn continues.
        Decline = "decline",
        /// The patch may not be applied, and the turn is interrupted.
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

/// Questions of the model for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputParams {
    pub thread_id: String,
    pub turn_id: String,
    /// The id of the tool call that asks.
    pub item_id: String,
    pub questions: Vec<ToolRequestUserInputQuestion>,
}

/// One question for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputQuestion {
    /// The id by which the answer names its question.
    pub id: String,
    /// A short heading for the question.
    pub header: String,
    pub question: String,
    /// Whether the user may give an answer that is not among `options`.
    #[serde(default)]
    pub is_other: bool,
    /// Whether the client must hide the answer while it is typed.
    #[serde(default)]
    pub is_secret: bool,
    /// The answers to choose from; absent if the answer is free text.
    pub options: Option<Vec<ToolRequestUserInputOption>>,
}

/// An answer to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputOption {
    /// The short text of the choice.
    pub label: String,
    /// What follows if the user chooses it.
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

/// The user's answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputResponse {
    /// The answers, by the ids of the questions.
    pub answers: BTreeMap<String, ToolRequestUserInputAnswer>,
}

/// The user's answer to one question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestUserInputAnswer {
    /// The labels that were chosen, and any free text.
    pub answers: Vec<String>,
}

impl From<ToolRequestUserInputResponse> for inner::UserAnswers {
    fn from(response: ToolRequestUserInputResponse) -> Self {
        let answers = response.answers.into_iter();
        Self { answers: answers.map(|(id, answer)| (id, inner::UserAnswer { answers: answer.answers })).collect() }
    }
}

/// The question of an MCP server for the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct McpServerElicitationRequestParams {
    pub thread_id: String,
    /// The turn that waits for the answer.
    pub turn_id: Option<String>,
    pub server_name: String,
    pub mode: ElicitationMode,
    /// What the server wants to know, in its words.
    pub message: String,
    /// The JSON schema of the values that the server wants.
    pub requested_schema: Value,
    /// The address that the server wants opened, in the mode `url`. Of clients of today.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(skip))]
    pub url: Option<String>,
    /// The id of the question, in the mode `url`. Of clients of today.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(skip))]
    pub elicitation_id: Option<String>,
}

word_enum! {
    /// How the question of an MCP server is answered.
    ElicitationMode {
        /// With the values of a form.
        Form = "form",
        /// By opening an address.
        Url = "url",
    }
}

/// The user's answer to an MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct McpServerElicitationRequestResponse {
    pub action: McpServerElicitationAction,
    /// The values that the server wants; only if the user accepts.
    #[serde(default)]
    pub content: Option<Value>,
}

word_enum! {
    /// What the user does with the question of an MCP server.
    McpServerElicitationAction {
        /// The server gets what it asks for.
        Accept = "accept",
        /// The user says no.
        Decline = "decline",
        /// The user leaves the question without a decision.
        Cancel = "cancel",
    }
}

impl From<McpServerElicitationAction> for ElicitationAction {
    fn from(action: McpServerElicitationAction) -> Self {
        match action {
            McpServerElicitationAction::Accept => Self::Accept,
            McpServerElicitationAction::Decline => Self::Decline,
            McpServerElicitationAction::Cancel => Self::Cancel,
        }
    }
}

/// Asks the client to run one of its tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCallParams {
    pub thread_id: String,
    pub turn_id: String,
    pub call_id: String,
    pub tool: String,
    pub arguments: Value,
}

/// The result of a client's tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCallResponse {
    /// The texts and images for the model, in order.
    pub content_items: Vec<DynamicToolCallOutputContentItem>,
    /// Whether the tool succeeded.
    pub success: bool,
}

/// A text or an image in the result of a client's tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum DynamicToolCallOutputContentItem {
    InputText {
        text: String,
    },
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

/// Asks the client for new ChatGPT tokens, because the old ones were rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChatgptAuthTokensRefreshParams {
    /// Why new tokens are needed.
    pub reason: ChatgptAuthTokensRefreshReason,
    /// The account of the tokens that were rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_account_id: Option<String>,
}

word_enum! {
    /// Why new tokens are needed.
    ChatgptAuthTokensRefreshReason {
        /// The provider rejected the tokens.
        Unauthorized = "unauthorized",
    }
}

/// The client's new ChatGPT tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChatgptAuthTokensRefreshResponse {
    pub access_token: String,
    /// The account of the token.
    pub chatgpt_account_id: String,
    /// The plan of the account, if the client knows it.
    pub chatgpt_plan_type: Option<String>,
}
