//! What a session tells its faces, in order.
//!
//! An event carries the id of the submission it belongs to. Older clients know some things under
//! a second name; [`EventMessage::echoes`] gives these, so that both always come together.

pub use self::context::CacheBreak;
pub use self::context::ContextPart;
pub use self::context::ContextReport;

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
use crate::item::Phase;
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

/// Something that happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The submission it belongs to; empty for the session itself.
    pub id: String,
    /// What happened.
    pub msg: EventMessage,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventMessage {
    /// The session is ready.
    SessionConfigured(SessionConfigured),
    /// A turn began.
    #[serde(alias = "turn_started")]
    TaskStarted {
        /// Which.
        turn_id: TurnId,
        /// The model's effective window.
        model_context_window: Option<i64>,
        /// The way of working together.
        #[serde(default = "usual_mode")]
        collaboration_mode_kind: CollaborationModeKind,
    },
    /// A turn ended by itself.
    #[serde(alias = "turn_complete")]
    TaskComplete {
        /// Which.
        turn_id: TurnId,
        /// The final answer, if there is one.
        last_agent_message: Option<String>,
    },
    /// A turn was broken off.
    TurnAborted {
        /// Which; older files do not say it.
        #[serde(default = "no_turn", deserialize_with = "or_no_turn")]
        turn_id: TurnId,
        /// Why.
        reason: AbortReason,
    },
    /// New token figures or rate limits.
    TokenCount {
        /// The figures; absent before the first response.
        info: Option<TokenUsageInfo>,
        /// The limits.
        rate_limits: Option<RateLimitSnapshot>,
    },
    /// Something failed; the turn is over.
    Error {
        /// What.
        message: String,
        /// Which kind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        codex_error_info: Option<ErrorInfo>,
        /// The code, and the text for people. Ours alone.
        #[serde(skip)]
        failure: Failure,
    },
    /// A reply broke off and is asked for again.
    StreamError {
        /// What is being done.
        message: String,
        /// Which kind.
        #[serde(default)]
        codex_error_info: Option<ErrorInfo>,
        /// What went wrong.
        #[serde(default)]
        additional_details: Option<String>,
        /// The same for people. Ours alone.
        #[serde(skip)]
        plain: Option<String>,
    },
    /// Something a person should know.
    Warning {
        /// What.
        message: String,
    },
    /// A server of tools is being started, or has started, or not.
    McpStartupUpdate {
        /// Which.
        server: String,
        /// How that stands.
        status: McpStartupStatus,
    },
    /// The session has another name.
    ThreadNameUpdated {
        /// Which session.
        thread_id: SessionId,
        /// The name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread_name: Option<String>,
    },
    /// All servers of tools that are to be started have started, or not.
    McpStartupComplete {
        /// Those that can be used.
        #[serde(default)]
        ready: Vec<String>,
        /// Those that failed.
        #[serde(default)]
        failed: Vec<McpStartupFailure>,
        /// Those that were broken off.
        #[serde(default)]
        cancelled: Vec<String>,
    },
    /// Another model answers than was asked.
    ModelReroute {
        /// The one that was asked.
        from_model: String,
        /// The one that answers.
        to_model: String,
        /// Why.
        reason: RerouteReason,
    },
    /// What the request that is being sent is made of. Ours alone; only for faces that ask for it.
    ContextReport(ContextReport),
    /// Where that request differs from the one before. Ours alone; only for clients that ask for it.
    ContextCacheBreak(CacheBreak),
    /// Where the first request of a resumed session differs from its last one. Ours alone; for people.
    ContextResumeCost(CacheBreak),
    /// A file of instructions or of the pack is not what it was for the request before. Ours alone; for people, as reports
    /// say it too.
    ContextFileChanged {
        /// Which file, and both hashes.
        message: String,
    },
    /// Text of a reply that was interrupted before its message was complete. Ours alone.
    ContextCutOff {
        /// The text that had arrived.
        text: String,
    },
    /// A call that was not done. Ours alone.
    ContextRefusal {
        /// The id of the call.
        call_id: String,
        /// What was in its way.
        code: FailureCode,
        /// The same for people.
        why: String,
    },
    /// What an answer cost, by what is charged for. Ours alone; only for faces that ask for it.
    ContextUsage {
        /// The request that was answered.
        request: UsageSplit,
        /// All requests of the session that its record knows.
        session: UsageSplit,
        /// What came of the provider's cache.
        cache: CacheVerdict,
    },
    /// Something that the model does not see. Ours alone; only for faces that ask for it.
    ContextOmission {
        /// The part it would have been in.
        part: String,
        /// What it is.
        what: String,
        /// Why the model does not see it.
        why: String,
        /// How many bytes are not seen.
        bytes: u64,
    },
    /// A call of a tool failed or was refused. Ours alone; for people.
    ToolCallFailed {
        /// The id of the call.
        call_id: String,
        /// The tool's name.
        name: String,
        /// What follows from it, in a few words.
        why: String,
    },
    /// What became of something that was to be injected. Ours alone; only for faces that ask for it.
    ContextInjection {
        /// The account of it, without its content.
        account: Value,
    },
    /// An instruction file of another folder joined. Ours alone; only for faces that ask for it.
    ContextDocument {
        /// Its path.
        path: String,
        /// The SHA-256 of its text.
        sha256: String,
        /// How many bytes it has.
        bytes: usize,
        /// Its tokens, estimated.
        tokens: usize,
    },
    /// What a summary did to the history. Ours alone; only for faces that ask for it.
    ContextCompaction {
        /// Tokens and items before and after, and what was lost.
        account: Value,
    },
    /// A message of the first context that is said again. Ours alone; only for faces that ask for it.
    ContextReinjection {
        /// Its part.
        part: String,
        /// Why now.
        reason: String,
        /// The SHA-256 of its text.
        sha256: String,
        /// Its tokens, estimated.
        tokens: usize,
    },
    /// An event about the context of a session that this one started. Ours alone.
    ContextElsewhere {
        /// That session.
        thread_id: SessionId,
        /// What happened in it.
        event: Box<EventMessage>,
    },
    /// Something configured is going away.
    DeprecationNotice {
        /// What.
        summary: String,
        /// What to do instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<String>,
    },
    /// A new state of the plan.
    PlanUpdate(PlanUpdate),
    /// A command began.
    ExecCommandBegin(ExecCommandBegin),
    /// More of a command's output.
    ExecCommandOutputDelta {
        /// Of which command.
        call_id: String,
        /// From where.
        stream: OutputStream,
        /// The bytes, in base64.
        chunk: String,
    },
    /// The model typed into a terminal.
    TerminalInteraction {
        /// The call that began it.
        call_id: String,
        /// Which terminal.
        process_id: String,
        /// What was typed.
        stdin: String,
    },
    /// A command ended.
    ExecCommandEnd(Box<ExecCommandEnd>),
    /// The model looks at a picture.
    ViewImageToolCall {
        /// The id of the call.
        call_id: String,
        /// Which picture.
        path: PathBuf,
    },
    /// May this command run?
    ExecApprovalRequest(ExecApprovalRequest),
    /// May this patch be applied?
    ApplyPatchApprovalRequest(ApplyPatchApprovalRequest),
    /// The model asks a person.
    RequestUserInput(RequestUserInput),
    /// The model calls a tool that the program which drives the session runs.
    DynamicToolCallRequest(DynamicToolCall),
    /// A tool of a server is called.
    McpToolCallBegin(McpToolCallBegin),
    /// A call of a server's tool has ended.
    McpToolCallEnd(Box<McpToolCallEnd>),
    /// A patch is about to be applied.
    PatchApplyBegin(PatchApplyBegin),
    /// A patch was applied, or not.
    PatchApplyEnd(PatchApplyEnd),
    /// What the turn's patches changed so far.
    TurnDiff {
        /// All of it.
        unified_diff: String,
    },
    /// An item of the transcript was recorded.
    RawResponseItem {
        /// The item.
        item: Item,
    },
    /// Something visible began.
    ItemStarted {
        /// In which session.
        thread_id: SessionId,
        /// In which turn.
        turn_id: TurnId,
        /// What.
        item: TurnItem,
    },
    /// Something visible is complete.
    ItemCompleted {
        /// In which session.
        thread_id: SessionId,
        /// In which turn.
        turn_id: TurnId,
        /// What.
        item: TurnItem,
    },
    /// More of an answer.
    AgentMessageContentDelta {
        /// In which session.
        thread_id: SessionId,
        /// In which turn.
        turn_id: TurnId,
        /// Of which item.
        item_id: String,
        /// The text.
        delta: String,
    },
    /// More of a plan.
    PlanDelta {
        /// In which session.
        thread_id: SessionId,
        /// In which turn.
        turn_id: TurnId,
        /// Of which item.
        item_id: String,
        /// The text.
        delta: String,
    },
    /// More of a summary of thoughts.
    ReasoningContentDelta {
        /// In which session.
        thread_id: SessionId,
        /// In which turn.
        turn_id: TurnId,
        /// Of which item.
        item_id: String,
        /// The text.
        delta: String,
        /// Of which paragraph.
        summary_index: i64,
    },
    /// More of the raw thoughts.
    ReasoningRawContentDelta {
        /// In which session.
        thread_id: SessionId,
        /// In which turn.
        turn_id: TurnId,
        /// Of which item.
        item_id: String,
        /// The text.
        delta: String,
        /// Of which part.
        content_index: i64,
    },
    /// A new paragraph of a summary begins.
    AgentReasoningSectionBreak {
        /// Of which item.
        item_id: String,
        /// Which paragraph.
        summary_index: i64,
    },
    /// A user's message, for older clients.
    UserMessage {
        /// Its texts, put together.
        message: String,
        /// Addresses of its pictures.
        #[serde(default, deserialize_with = "or_none")]
        images: Vec<String>,
        /// Paths of its pictures.
        #[serde(default)]
        local_images: Vec<PathBuf>,
        /// Spans that stand for something else.
        #[serde(default)]
        text_elements: Vec<TextElement>,
    },
    /// An answer, for older clients.
    AgentMessage {
        /// The text.
        message: String,
    },
    /// More of an answer, for older clients.
    AgentMessageDelta {
        /// The text.
        delta: String,
    },
    /// A summary of thoughts, for older clients.
    AgentReasoning {
        /// The text.
        text: String,
    },
    /// More of a summary, for older clients.
    AgentReasoningDelta {
        /// The text.
        delta: String,
    },
    /// Raw thoughts, for older clients.
    AgentReasoningRawContent {
        /// The text.
        text: String,
    },
    /// More raw thoughts, for older clients.
    AgentReasoningRawContentDelta {
        /// The text.
        delta: String,
    },
    /// A search began, for older clients.
    WebSearchBegin {
        /// Which.
        call_id: String,
    },
    /// A search ended, for older clients.
    WebSearchEnd {
        /// Which.
        call_id: String,
        /// What was looked for.
        query: String,
        /// What was done.
        action: WebSearchAction,
    },
    /// A review began.
    EnteredReviewMode {
        /// Of what.
        target: ReviewTarget,
        /// What people see of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user_facing_hint: Option<String>,
    },
    /// A review ended.
    ExitedReviewMode {
        /// What was found; absent when it was broken off.
        review_output: Option<ReviewOutput>,
    },
    /// The last turns of the person were taken away.
    ThreadRolledBack {
        /// How many.
        num_turns: usize,
    },
    /// The history was summarised, for older clients.
    ContextCompacted,
    /// The work tree is being brought back to a snapshot.
    UndoStarted {
        /// In words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The work tree was brought back, or not.
    UndoCompleted {
        /// Whether it was.
        success: bool,
        /// In words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Something that happened on the way.
    BackgroundEvent {
        /// What.
        message: String,
    },
    /// Another agent is about to be started.
    CollabAgentSpawnBegin {
        /// By which call.
        call_id: String,
        /// By whom.
        sender_thread_id: SessionId,
        /// With which task.
        prompt: String,
    },
    /// Another agent was started, or not.
    CollabAgentSpawnEnd {
        /// By which call.
        call_id: String,
        /// By whom.
        sender_thread_id: SessionId,
        /// Which; absent when it could not be started.
        new_thread_id: Option<SessionId>,
        /// With which task.
        prompt: String,
        /// How far it is.
        status: AgentStatus,
    },
    /// Another agent is about to be told something.
    CollabAgentInteractionBegin {
        /// By which call.
        call_id: String,
        /// By whom.
        sender_thread_id: SessionId,
        /// Which.
        receiver_thread_id: SessionId,
        /// What.
        prompt: String,
    },
    /// Another agent was told something, or not.
    CollabAgentInteractionEnd {
        /// By which call.
        call_id: String,
        /// By whom.
        sender_thread_id: SessionId,
        /// Which.
        receiver_thread_id: SessionId,
        /// What.
        prompt: String,
        /// How far it is.
        status: AgentStatus,
    },
    /// An agent begins to wait for others.
    CollabWaitingBegin {
        /// Who waits.
        sender_thread_id: SessionId,
        /// For whom.
        receiver_thread_ids: Vec<SessionId>,
        /// By which call.
        call_id: String,
    },
    /// An agent waits no longer.
    CollabWaitingEnd {
        /// Who waited.
        sender_thread_id: SessionId,
        /// By which call.
        call_id: String,
        /// Those that are done; none when the time was over.
        statuses: BTreeMap<SessionId, AgentStatus>,
    },
    /// Another agent is about to be closed.
    CollabCloseBegin {
        /// By which call.
        call_id: String,
        /// By whom.
        sender_thread_id: SessionId,
        /// Which.
        receiver_thread_id: SessionId,
    },
    /// Another agent was closed, or not.
    CollabCloseEnd {
        /// By which call.
        call_id: String,
        /// By whom.
        sender_thread_id: SessionId,
        /// Which.
        receiver_thread_id: SessionId,
        /// How far it was before.
        status: AgentStatus,
    },
    /// A closed agent is about to be opened again.
    CollabResumeBegin {
        /// By which call.
        call_id: String,
        /// By whom.
        sender_thread_id: SessionId,
        /// Which.
        receiver_thread_id: SessionId,
    },
    /// A closed agent was opened again, or not.
    CollabResumeEnd {
        /// By which call.
        call_id: String,
        /// By whom.
        sender_thread_id: SessionId,
        /// Which.
        receiver_thread_id: SessionId,
        /// How far it is.
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

/// Older files have `null` for an empty list.
fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Option::<Vec<String>>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// What a session is like when it is ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionConfigured {
    /// Which session.
    pub session_id: SessionId,
    /// Which model.
    pub model: String,
    /// From which provider.
    pub model_provider_id: String,
    /// When a person is asked.
    pub approval_policy: ApprovalPolicy,
    /// What commands may touch.
    pub sandbox_policy: SandboxPolicy,
    /// Where it works.
    pub cwd: PathBuf,
    /// How long the model may think, if configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
}

/// Why another model answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RerouteReason {
    /// The server's safety checks.
    HighRiskCyberActivity,
}

/// Why a turn was broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbortReason {
    /// A person said so.
    Interrupted,
    /// Another task took its place.
    Replaced,
    /// The review it belonged to is over.
    ReviewEnded,
}

/// Which kind of failure, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorInfo {
    /// The prompt is too long.
    ContextWindowExceeded,
    /// A limit of the plan.
    UsageLimitExceeded,
    /// The model is overloaded.
    ServerOverloaded,
    /// A reply broke off.
    ResponseStreamDisconnected {
        /// The status, if one came.
        http_status_code: Option<u16>,
    },
    /// Too many attempts.
    ResponseTooManyFailedAttempts {
        /// The last status.
        http_status_code: Option<u16>,
    },
    /// The server failed.
    InternalServerError,
    /// Not allowed in.
    Unauthorized,
    /// The request was wrong.
    BadRequest,
    /// Turns could not be taken away.
    ThreadRollbackFailed,
    /// Anything else.
    Other,
}

/// A plan as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanUpdate {
    /// Why it changed.
    #[serde(default)]
    pub explanation: Option<String>,
    /// Its steps.
    pub plan: Vec<PlanStep>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
    /// What to do.
    pub step: String,
    /// How far it is.
    pub status: StepStatus,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}

/// Something a person sees in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum TurnItem {
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
        /// Its texts.
        content: Vec<AgentContent>,
        /// Which part of an answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<Phase>,
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
        summary_text: Vec<String>,
        /// Raw thoughts.
        raw_content: Vec<String>,
    },
    /// The history was summarised.
    ContextCompaction {
        /// Its id.
        id: String,
    },
    /// A search of the server.
    WebSearch {
        /// Its id.
        id: String,
        /// What was looked for.
        query: String,
        /// What was done.
        action: WebSearchAction,
    },
}

/// Part of what the model said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum AgentContent {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
}

impl TurnItem {
    /// Its id.
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

/// A server of tools that did not start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpStartupFailure {
    /// Which.
    pub server: String,
    /// Why.
    pub error: String,
}

/// Whether faces are told of items as they are recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RawItems {
    /// They are.
    Shown,
    /// They are not.
    #[default]
    Hidden,
}

/// Whether raw thoughts are shown to older clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawReasoning {
    /// They are.
    Shown,
    /// They are not.
    Hidden,
}

impl EventMessage {
    /// The same event under the names of older clients; they follow it directly.
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

/// Puts the texts together and moves their elements along.
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
