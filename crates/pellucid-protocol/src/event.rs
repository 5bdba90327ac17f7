//! The events that a session sends to its clients, in order.
//!
//! An event carries the id of the submission it belongs to. Older clients know some events under a second name;
//! [`EventMessage::echoes`] returns these, so that both are always sent together.

pub use self::context::CacheBreak;
pub use self::context::ContextPart;
pub use self::context::ContextReport;
pub use self::context::RequestSent;

mod context;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde_json::Value;

use crate::agent::AgentStatus;
use crate::approval::ApplyPatchApprovalRequest;
use crate::approval::ExecApprovalRequest;
use crate::cache::CacheVerdict;
use crate::change::PatchApplyBegin;
use crate::change::PatchApplyEnd;
use crate::dynamic_tool::DynamicToolCall;
use crate::elicitation::ElicitationRequest;
use crate::exec::ExecCommandBegin;
use crate::exec::ExecCommandEnd;
use crate::exec::OutputStream;
use crate::failure::Failure;
use crate::failure::FailureCode;
use crate::id::SessionId;
use crate::id::TurnId;
use crate::input::TextElement;
use crate::input::UserInput;
use crate::item::Item;
use crate::item::MessagePhase;
use crate::item::WebSearchAction;
use crate::mcp::McpStartupStatus;
use crate::mcp::McpToolCallBegin;
use crate::mcp::McpToolCallEnd;
use crate::question::RequestUserInput;
use crate::review::ReviewOutput;
use crate::review::ReviewTarget;
use crate::settings::ApprovalPolicy;
use crate::settings::CollaborationModeKind;
use crate::settings::ReasoningEffort;
use crate::settings::SandboxPolicy;
use crate::usage::RateLimitSnapshot;
use crate::usage::TokenUsageInfo;
use crate::usage::UsageSplit;

/// An event of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The submission that the event belongs to; empty for the session itself.
    pub id: String,
    /// The kind of event, with its data.
    pub msg: EventMessage,
}

/// The kinds of events, as session files and clients of protocol version 1 spell them.
///
/// Kinds that are marked as extensions are Pellucid's, and are not in session files.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventMessage {
    /// The session is ready.
    SessionConfigured(SessionConfigured),
    /// A turn was started.
    #[serde(alias = "turn_started")]
    TaskStarted {
        turn_id: TurnId,
        /// The context window that the turn can use, in tokens.
        model_context_window: Option<i64>,
        /// The collaboration mode of the turn.
        #[serde(default = "usual_mode")]
        collaboration_mode_kind: CollaborationModeKind,
    },
    /// A turn ended normally.
    #[serde(alias = "turn_complete")]
    TaskComplete {
        turn_id: TurnId,
        /// The final answer, if there is one.
        last_agent_message: Option<String>,
    },
    /// A turn was interrupted.
    TurnAborted {
        /// The id of the turn; empty in older files, which lack it.
        #[serde(default = "no_turn", deserialize_with = "or_no_turn")]
        turn_id: TurnId,
        reason: AbortReason,
    },
    /// New token usage or rate limits.
    TokenCount {
        /// The token usage; absent before the first response.
        info: Option<TokenUsageInfo>,
        rate_limits: Option<RateLimitSnapshot>,
    },
    /// An error ended the turn.
    Error {
        /// The error in the words that clients of the Codex CLI expect.
        message: String,
        /// The kind of error, for programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        codex_error_info: Option<ErrorInfo>,
        /// The code, and the text for people. An extension of Pellucid.
        #[serde(skip)]
        failure: Failure,
    },
    /// The response stream was interrupted; the request is retried.
    StreamError {
        /// Which retry of how many this is.
        message: String,
        /// The kind of error, for programs.
        #[serde(default)]
        codex_error_info: Option<ErrorInfo>,
        /// The error that interrupted the stream.
        #[serde(default)]
        additional_details: Option<String>,
        /// The error as text for people. An extension of Pellucid.
        #[serde(skip)]
        plain: Option<String>,
    },
    /// A warning for the user.
    Warning { message: String },
    /// The start of an MCP server has begun, succeeded or failed.
    McpStartupUpdate { server: String, status: McpStartupStatus },
    /// The session was renamed.
    ThreadNameUpdated {
        thread_id: SessionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread_name: Option<String>,
    },
    /// The start of all MCP servers is over.
    McpStartupComplete {
        /// The servers that can be used.
        #[serde(default)]
        ready: Vec<String>,
        /// The servers that could not be started, with the errors.
        #[serde(default)]
        failed: Vec<McpStartupFailure>,
        /// The servers whose start was interrupted.
        #[serde(default)]
        cancelled: Vec<String>,
    },
    /// The provider answers with another model than the one requested.
    ModelReroute {
        /// The model that was requested.
        from_model: String,
        /// The model that answers.
        to_model: String,
        reason: RerouteReason,
    },
    /// The parts of the request that is being sent. An extension; only for clients that ask for it.
    ContextReport(ContextReport),
    /// A request was recorded, and goes to the model. An extension; only for clients that ask for it.
    ContextRequestSent(RequestSent),
    /// Where that request differs from the one before. An extension; only for clients that ask for it.
    ContextCacheBreak(CacheBreak),
    /// Where the first request of a resumed session differs from the session's last one. An extension; for people.
    ContextResumeCost(CacheBreak),
    /// An instruction file or a file of the pack has changed since the request before. An extension; for people,
    /// because reports contain it too.
    ContextFileChanged {
        /// The path of the file, and both hashes.
        message: String,
    },
    /// Text of a reply that was interrupted before its message was complete. An extension.
    ContextCutOff {
        /// The text that had arrived.
        text: String,
    },
    /// A tool call that was not run. An extension.
    ContextRefusal {
        /// The id of the call.
        call_id: String,
        /// The reason as a code.
        code: FailureCode,
        /// The reason as text for people.
        why: String,
    },
    /// The token usage of a response, by what is charged for. An extension; only for clients that ask for it.
    ContextUsage {
        /// The request that was answered.
        request: UsageSplit,
        /// All requests of the session that its request log contains.
        session: UsageSplit,
        /// The outcome of the provider's cache.
        cache: CacheVerdict,
    },
    /// Something that was left out of the request. An extension; only for clients that ask for it.
    ContextOmission {
        /// The part that it would belong to.
        part: String,
        /// What was left out.
        what: String,
        /// Why it was left out.
        why: String,
        /// How many bytes were left out.
        bytes: u64,
    },
    /// A tool call failed or was refused. An extension; for people.
    ToolCallFailed {
        /// The id of the call.
        call_id: String,
        name: String,
        /// The consequence, in a few words.
        why: String,
    },
    /// The outcome of an injection. An extension; only for clients that ask for it.
    ContextInjection {
        /// The account of the injection, without its content.
        account: Value,
    },
    /// An instruction file of another folder was added to the context. An extension; only for clients that ask for it.
    ContextDocument {
        path: String,
        /// The SHA-256 of its text.
        sha256: String,
        /// The size of the text in bytes.
        bytes: usize,
        /// The estimated tokens of the text.
        tokens: usize,
    },
    /// The effect of a summary on the history. An extension; only for clients that ask for it.
    ContextCompaction {
        /// Tokens and items before and after, and what was lost.
        account: Value,
    },
    /// All injections of a request together. An extension; only for clients that ask for it.
    ContextInjections {
        /// Sums per target and source, and what the request has besides.
        account: Value,
    },
    /// Recalled texts that had to leave the request. An extension; only for clients that ask for it.
    ContextMemoryDropped {
        /// How many there were.
        account: Value,
    },
    /// A message of the first context that is sent again. An extension; only for clients that ask for it.
    ContextReinjection {
        /// The part that the message belongs to.
        part: String,
        /// Why the message is sent again now.
        reason: String,
        /// The SHA-256 of its text.
        sha256: String,
        /// The estimated tokens of the text.
        tokens: usize,
    },
    /// The start of an MCP server is over. An extension; only for clients that ask for it.
    ContextMcpServer {
        name: String,
        /// `ready`, `failed` or `cancelled`.
        state: String,
        /// Why the server cannot be used.
        error: Option<String>,
        /// How long the start took.
        seconds: f64,
    },
    /// An event about the context of a session that this session started. An extension.
    ContextElsewhere {
        /// The session in which the event happened.
        thread_id: SessionId,
        /// The event as that session sent it.
        event: Box<EventMessage>,
    },
    /// The configuration uses something deprecated.
    DeprecationNotice {
        /// What is deprecated.
        summary: String,
        /// What to use instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<String>,
    },
    /// The model updated its plan.
    PlanUpdate(PlanUpdate),
    /// A command was started.
    ExecCommandBegin(ExecCommandBegin),
    /// More output of a command.
    ExecCommandOutputDelta {
        /// The tool call of the command.
        call_id: String,
        /// The stream that the output came from.
        stream: OutputStream,
        /// The bytes of the output, in base64.
        chunk: String,
    },
    /// The model wrote to the standard input of a running command.
    TerminalInteraction {
        /// The tool call that started the command.
        call_id: String,
        /// The id of the command's terminal.
        process_id: String,
        stdin: String,
    },
    /// A command has ended.
    ExecCommandEnd(Box<ExecCommandEnd>),
    /// The model looks at an image.
    ViewImageToolCall {
        /// The id of the call.
        call_id: String,
        path: PathBuf,
    },
    /// Asks whether a command may run.
    ExecApprovalRequest(ExecApprovalRequest),
    /// Asks whether a patch may be applied.
    ApplyPatchApprovalRequest(ApplyPatchApprovalRequest),
    /// The model asks the user.
    RequestUserInput(RequestUserInput),
    /// The model calls a tool that the client runs.
    DynamicToolCallRequest(DynamicToolCall),
    /// An MCP server asks the user.
    ElicitationRequest(ElicitationRequest),
    /// The model calls a tool of an MCP server.
    McpToolCallBegin(McpToolCallBegin),
    /// A call of an MCP server's tool has ended.
    McpToolCallEnd(Box<McpToolCallEnd>),
    /// A patch is about to be applied.
    PatchApplyBegin(PatchApplyBegin),
    /// A patch was applied, or failed.
    PatchApplyEnd(PatchApplyEnd),
    /// The diff of the turn's patches changed.
    TurnDiff {
        /// The unified diff of all patches of the turn so far.
        unified_diff: String,
    },
    /// An item of the transcript was recorded.
    RawResponseItem { item: Item },
    /// A visible item began.
    ItemStarted { thread_id: SessionId, turn_id: TurnId, item: TurnItem },
    /// A visible item is complete.
    ItemCompleted { thread_id: SessionId, turn_id: TurnId, item: TurnItem },
    /// More text of the model's message.
    AgentMessageContentDelta { thread_id: SessionId, turn_id: TurnId, item_id: String, delta: String },
    /// More text of a proposed plan.
    PlanDelta { thread_id: SessionId, turn_id: TurnId, item_id: String, delta: String },
    /// More text of a reasoning summary.
    ReasoningContentDelta {
        thread_id: SessionId,
        turn_id: TurnId,
        item_id: String,
        delta: String,
        /// The paragraph of the summary, counted from 0.
        summary_index: i64,
    },
    /// More text of the raw reasoning.
    ReasoningRawContentDelta {
        thread_id: SessionId,
        turn_id: TurnId,
        item_id: String,
        delta: String,
        /// The part of the reasoning, counted from 0.
        content_index: i64,
    },
    /// A new paragraph of a reasoning summary begins.
    AgentReasoningSectionBreak {
        item_id: String,
        /// The paragraph of the summary, counted from 0.
        summary_index: i64,
    },
    /// A user's message. For older clients.
    UserMessage {
        /// The texts of the message, joined.
        message: String,
        /// The addresses of its images.
        #[serde(default, deserialize_with = "or_none")]
        images: Vec<String>,
        /// The paths of its images on disk.
        #[serde(default)]
        local_images: Vec<PathBuf>,
        /// Spans of the text that represent something else, such as a mention.
        #[serde(default)]
        text_elements: Vec<TextElement>,
    },
    /// The model's message. For older clients.
    AgentMessage { message: String },
    /// More text of the model's message. For older clients.
    AgentMessageDelta { delta: String },
    /// A paragraph of a reasoning summary. For older clients.
    AgentReasoning { text: String },
    /// More text of a reasoning summary. For older clients.
    AgentReasoningDelta { delta: String },
    /// Raw reasoning. For older clients.
    AgentReasoningRawContent { text: String },
    /// More text of the raw reasoning. For older clients.
    AgentReasoningRawContentDelta { delta: String },
    /// A web search began. For older clients.
    WebSearchBegin { call_id: String },
    /// A web search ended. For older clients.
    WebSearchEnd {
        call_id: String,
        /// The text that was searched for.
        query: String,
        /// What the search did.
        action: WebSearchAction,
    },
    /// A review of changes began.
    EnteredReviewMode {
        /// The changes that are reviewed.
        target: ReviewTarget,
        /// A description of what is reviewed, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user_facing_hint: Option<String>,
    },
    /// A review of changes is over.
    ExitedReviewMode {
        /// The findings; absent if the review was interrupted.
        review_output: Option<ReviewOutput>,
    },
    /// The last turns of the user were removed.
    ThreadRolledBack { num_turns: usize },
    /// The history was summarised. For older clients.
    ContextCompacted,
    /// The work tree is being restored to a snapshot.
    UndoStarted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The work tree was restored, or that failed.
    UndoCompleted {
        success: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A short note about the progress.
    BackgroundEvent { message: String },
    /// Another agent is about to be started.
    CollabAgentSpawnBegin {
        call_id: String,
        sender_thread_id: SessionId,
        /// The task of the new agent.
        prompt: String,
    },
    /// Another agent was started, or could not be.
    CollabAgentSpawnEnd {
        call_id: String,
        sender_thread_id: SessionId,
        /// The new agent's session; absent if the agent could not be started.
        new_thread_id: Option<SessionId>,
        /// The task of the new agent.
        prompt: String,
        /// The state of the new agent.
        status: AgentStatus,
    },
    /// A message is about to be sent to another agent.
    CollabAgentInteractionBegin {
        call_id: String,
        sender_thread_id: SessionId,
        receiver_thread_id: SessionId,
        prompt: String,
    },
    /// A message was sent to another agent, or could not be.
    CollabAgentInteractionEnd {
        call_id: String,
        sender_thread_id: SessionId,
        receiver_thread_id: SessionId,
        prompt: String,
        /// The state of the other agent.
        status: AgentStatus,
    },
    /// An agent begins to wait for others.
    CollabWaitingBegin { sender_thread_id: SessionId, receiver_thread_ids: Vec<SessionId>, call_id: String },
    /// An agent stopped waiting.
    CollabWaitingEnd {
        sender_thread_id: SessionId,
        call_id: String,
        /// The agents that are done; empty if the wait timed out.
        statuses: BTreeMap<SessionId, AgentStatus>,
    },
    /// Another agent is about to be closed.
    CollabCloseBegin { call_id: String, sender_thread_id: SessionId, receiver_thread_id: SessionId },
    /// Another agent was closed, or could not be.
    CollabCloseEnd {
        call_id: String,
        sender_thread_id: SessionId,
        receiver_thread_id: SessionId,
        /// The state of the other agent before.
        status: AgentStatus,
    },
    /// A closed agent is about to be resumed.
    CollabResumeBegin { call_id: String, sender_thread_id: SessionId, receiver_thread_id: SessionId },
    /// A closed agent was resumed, or could not be.
    CollabResumeEnd {
        call_id: String,
        sender_thread_id: SessionId,
        receiver_thread_id: SessionId,
        /// The state of the other agent.
        status: AgentStatus,
    },
    /// The session has ended.
    ShutdownComplete,
}

fn usual_mode() -> CollaborationModeKind {
    CollaborationModeKind::Default
}

fn no_turn() -> TurnId {
    TurnId::new("")
}

fn or_no_turn<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TurnId, D::Error> {
    Option::<TurnId>::deserialize(deserializer).map(|turn| turn.unwrap_or_else(no_turn))
}

/// Reads `null`, which older files have, as an empty list.
fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Option::<Vec<String>>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The settings of a session when it is ready.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionConfigured {
    pub session_id: SessionId,
    pub model: String,
    pub model_provider_id: String,
    /// When commands and patches need approval.
    pub approval_policy: ApprovalPolicy,
    /// What commands may touch.
    pub sandbox_policy: SandboxPolicy,
    /// The working directory of the session.
    pub cwd: PathBuf,
    /// The reasoning effort, if one is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
}

/// Why another model answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RerouteReason {
    /// The provider's safety checks found a risk.
    HighRiskCyberActivity,
}

/// Why a turn was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbortReason {
    /// The user interrupted it.
    Interrupted,
    /// Another task replaced it.
    Replaced,
    /// The review that it belonged to is over.
    ReviewEnded,
}

/// The kind of error, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorInfo {
    /// The request does not fit into the context window.
    ContextWindowExceeded,
    /// The account reached a limit of its plan.
    UsageLimitExceeded,
    /// The provider is overloaded.
    ServerOverloaded,
    /// The response stream was interrupted.
    ResponseStreamDisconnected {
        /// The HTTP status, if the provider sent one.
        http_status_code: Option<u16>,
    },
    /// The request failed as often as it may be retried.
    ResponseTooManyFailedAttempts {
        /// The HTTP status of the last attempt.
        http_status_code: Option<u16>,
    },
    /// The provider reported an internal error.
    InternalServerError,
    /// The provider rejected the credentials, or none are configured.
    Unauthorized,
    /// The provider rejected the request as invalid.
    BadRequest,
    /// Turns could not be rolled back.
    ThreadRollbackFailed,
    /// Any other kind of error.
    Other,
}

/// A plan as the model wrote it.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanUpdate {
    /// Why the plan changed.
    #[serde(default)]
    pub explanation: Option<String>,
    pub plan: Vec<PlanStep>,
}

/// A step of a plan.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
    pub step: String,
    /// The progress of the step.
    pub status: StepStatus,
}

/// The progress of a step of a plan.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    Pending,
    InProgress,
    Completed,
}

/// An item of a turn that clients show.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum TurnItem {
    /// The user's message.
    UserMessage { id: String, content: Vec<UserInput> },
    /// The model's message.
    AgentMessage {
        id: String,
        content: Vec<AgentContent>,
        /// Which part of an answer the message is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<MessagePhase>,
    },
    /// A plan that the model proposes.
    Plan { id: String, text: String },
    /// The model's reasoning.
    Reasoning {
        id: String,
        /// Summaries of the reasoning, one to a paragraph.
        summary_text: Vec<String>,
        /// The raw reasoning, if the provider sends it.
        raw_content: Vec<String>,
    },
    /// The history was summarised.
    ContextCompaction { id: String },
    /// A web search that the provider ran.
    WebSearch {
        id: String,
        /// The text that was searched for.
        query: String,
        /// What the search did.
        action: WebSearchAction,
    },
}

/// A part of the model's message.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum AgentContent {
    Text { text: String },
}

impl TurnItem {
    /// The `id` of the item, whatever its kind.
    pub fn id(&self) -> &str {
        match self {
            Self::UserMessage { id, .. }
            | Self::AgentMessage { id, .. }
            | Self::Plan { id, .. }
            | Self::Reasoning { id, .. }
            | Self::ContextCompaction { id }
            | Self::WebSearch { id, .. } => id,
        }
    }
}

/// An MCP server that could not be started.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpStartupFailure {
    pub server: String,
    pub error: String,
}

/// Whether clients receive the items of the transcript as they are recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RawItems {
    /// Clients receive the items.
    Shown,
    /// Clients do not receive the items.
    #[default]
    Hidden,
}

/// Whether older clients receive raw reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawReasoning {
    /// Clients receive raw reasoning.
    Shown,
    /// Clients do not receive raw reasoning.
    Hidden,
}

impl EventMessage {
    /// The same event under the names that older clients know; they are sent directly after it.
    pub fn echoes(&self, raw: RawReasoning) -> Vec<Self> {
        match self {
            Self::ItemStarted { item: TurnItem::WebSearch { id, .. }, .. } => {
                vec![Self::WebSearchBegin { call_id: id.clone() }]
            }
            Self::ItemCompleted { item, .. } => item.echoes(raw),
            Self::AgentMessageContentDelta { delta, .. } => vec![Self::AgentMessageDelta { delta: delta.clone() }],
            Self::ReasoningContentDelta { delta, .. } => vec![Self::AgentReasoningDelta { delta: delta.clone() }],
            Self::ReasoningRawContentDelta { delta, .. } => {
                vec![Self::AgentReasoningRawContentDelta { delta: delta.clone() }]
            }
            _ => Vec::new(),
        }
    }
}

impl TurnItem {
    fn echoes(&self, raw: RawReasoning) -> Vec<EventMessage> {
        match self {
            Self::UserMessage { content, .. } => vec![user_message(content)],
            Self::AgentMessage { content, .. } => content
                .iter()
                .map(|AgentContent::Text { text }| EventMessage::AgentMessage { message: text.clone() })
                .collect(),
            Self::Reasoning { summary_text, raw_content, .. } => {
                let summaries = summary_text.iter().map(|text| EventMessage::AgentReasoning { text: text.clone() });
                let shown = if raw == RawReasoning::Shown { raw_content.as_slice() } else { &[] };
                let raws = shown.iter().map(|text| EventMessage::AgentReasoningRawContent { text: text.clone() });
                summaries.chain(raws).collect()
            }
            Self::ContextCompaction { .. } => vec![EventMessage::ContextCompacted],
            Self::Plan { .. } => Vec::new(),
            Self::WebSearch { id, query, action } => {
                vec![EventMessage::WebSearchEnd { call_id: id.clone(), query: query.clone(), action: action.clone() }]
            }
        }
    }
}

/// Joins the texts of a message and moves the ranges of their elements along.
fn user_message(content: &[UserInput]) -> EventMessage {
    let (mut message, mut images, mut local_images, mut elements) = (String::new(), Vec::new(), Vec::new(), Vec::new());
    for input in content {
        match input {
            UserInput::Text { text, text_elements } => {
                let offset = message.len();
                elements.extend(text_elements.iter().cloned().map(|mut element| {
                    element.byte_range.start += offset;
                    element.byte_range.end += offset;
                    element
                }));
                message.push_str(text);
            }
            UserInput::Image { image_url } => images.push(image_url.clone()),
            UserInput::LocalImage { path } => local_images.push(path.clone()),
            UserInput::Skill { .. } | UserInput::Mention { .. } => {}
        }
    }
    EventMessage::UserMessage { message, images, local_images, text_elements: elements }
}
