//! From events of a session to updates for its client: values in, values out.
//!
//! A [`View`] sees the events in order. It keeps what later events need: which calls have begun, whose text the client has,
//! which request asked for a call. The texts of files that an event is about come with it ([`View::wants`] says which).
//!
//! - `calls`: tool calls, from their first event to their last
//! - `diffs`: both texts of a changed file
//! - `notices`: what people learn beside the conversation
//! - `over`: how a turn ended

mod calls;
pub mod diffs;
mod notices;
mod over;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::PathBuf;

use agent_client_protocol::v1::schema::CompactionStatus;
use agent_client_protocol::v1::schema::CompactionUpdate;
use agent_client_protocol::v1::schema::ContentBlock;
use agent_client_protocol::v1::schema::ContentChunk;
use agent_client_protocol::v1::schema::MessageId;
use agent_client_protocol::v1::schema::Meta;
use agent_client_protocol::v1::schema::Plan;
use agent_client_protocol::v1::schema::PlanEntry;
use agent_client_protocol::v1::schema::PlanEntryPriority;
use agent_client_protocol::v1::schema::PlanEntryStatus;
use agent_client_protocol::v1::schema::SessionInfoUpdate;
use agent_client_protocol::v1::schema::SessionUpdate;
use agent_client_protocol::v1::schema::Usage;
use agent_client_protocol::v1::schema::UsageUpdate;
use pellucid_protocol::event::AgentContent;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::PlanUpdate;
use pellucid_protocol::event::RequestSent;
use pellucid_protocol::event::StepStatus;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::usage::TokenUsageInfo;
use serde_json::Value;
use serde_json::json;

pub use self::calls::Call;
pub use self::calls::Wanted;
pub use self::calls::cut;
pub use self::calls::title;
pub use self::over::TurnEnd;
pub use self::over::TurnFault;
use crate::ask::SessionQuestion;

/// The key of what this program adds to messages of the protocol.
pub const META: &str = "pellucid";

/// The purposes of requests that ask for an answer, and so for calls.
const ANSWERS: [&str; 2] = ["answer", "answer_again"];

/// What the client shows beside the conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shown {
    /// Whether the client shows notices.
    pub notices: bool,
    /// Whether the client shows summaries of the history as such.
    pub compaction: bool,
    /// Whether raw reasoning is shown, not only summaries of it.
    pub raw_reasoning: bool,
}

/// The texts of files, by path, that an event is about.
pub type Texts = BTreeMap<PathBuf, String>;

/// What follows from an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Outgoing {
    /// An update for the client.
    Update(SessionUpdate),
    /// A question for the client.
    Question(SessionQuestion),
    /// A turn is over.
    Over(TurnEnd),
}

impl From<SessionUpdate> for Outgoing {
    fn from(update: SessionUpdate) -> Self {
        Self::Update(update)
    }
}

/// A request that was sent, with the session that sent it if that is not the client's.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sent {
    request: RequestSent,
    session: Option<String>,
}

impl Sent {
    fn named(&self) -> Value {
        let mut named = json!({ "n": self.request.n, "sha256": self.request.sha256 });
        if let Some(session) = &self.session {
            named["session"] = json!(session);
        }
        named
    }
}

/// What the client of a session has received so far.
#[derive(Debug)]
pub struct View {
    shown: Shown,
    /// The calls that have not ended.
    calls: BTreeMap<String, Call>,
    /// The calls that the client knows.
    announced: BTreeSet<String>,
    /// The messages and thoughts whose text came in pieces.
    in_pieces: BTreeSet<String>,
    /// The requests of the turn.
    sent: Vec<Sent>,
    /// The last request of the session that asked for an answer.
    asker: Option<Sent>,
    /// The same of a reviewer that works in this turn.
    reviewer: Option<Sent>,
    usage: Option<Usage>,
    /// The loss that the last summary reported.
    loss: Option<Value>,
    compacting: Option<String>,
    /// The last summary that is complete.
    compacted: Option<String>,
    fault: Option<TurnFault>,
    n_notices: u64,
    /// The agent that is viewed, if it is not the client's session.
    agent: Option<String>,
}

impl View {
    /// A session of which the client knows nothing.
    pub fn new(shown: Shown) -> Self {
        Self {
            shown,
            calls: BTreeMap::new(),
            announced: BTreeSet::new(),
            in_pieces: BTreeSet::new(),
            sent: Vec::new(),
            asker: None,
            reviewer: None,
            usage: None,
            loss: None,
            compacting: None,
            compacted: None,
            fault: None,
            n_notices: 0,
            agent: None,
        }
    }

    /// An agent of a session, whose calls name its own requests.
    pub fn of_agent(id: &str) -> Self {
        Self { agent: Some(id.to_owned()), ..Self::new(Shown::default()) }
    }

    /// The files that the updates of an event need.
    pub fn wants(&self, event: &EventMessage) -> Vec<Wanted> {
        calls::wants(event)
    }

    /// What follows from an event.
    pub fn event(&mut self, event: &Event, texts: &Texts) -> Vec<Outgoing> {
        match &event.msg {
            EventMessage::TaskStarted { .. } => {
                self.sent.clear();
                self.in_pieces.clear();
                self.announced.retain(|id| self.calls.contains_key(id));
                self.fault = None;
                Vec::new()
            }
            EventMessage::ContextRequestSent(request) => {
                self.keep(request, None);
                Vec::new()
            }
            EventMessage::ContextElsewhere { thread_id, event } => {
                if let EventMessage::ContextRequestSent(request) = event.in_session() {
                    self.keep(request, Some(thread_id.to_string()));
                }
                Vec::new()
            }
            EventMessage::TokenCount { info: Some(info), .. } => self.counted(info),
            EventMessage::PlanUpdate(plan) => vec![SessionUpdate::Plan(plan_of(plan)).into()],
            EventMessage::ThreadNameUpdated { thread_name, .. } => {
                vec![SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(thread_name.clone())).into()]
            }
            EventMessage::TaskComplete { .. } => self.over(event, TurnEnd::completed),
            EventMessage::TurnAborted { .. } => self.over(event, TurnEnd::cancelled),
            EventMessage::Error { message, codex_error_info, failure } => {
                self.fault = Some(TurnFault::new(message, *codex_error_info, failure));
                let failed = self.compacting.take().filter(|_| self.shown.compaction);
                let failed = failed.map(|id| {
                    let why = failure.plain.clone().unwrap_or_else(|| message.clone());
                    let update = CompactionUpdate::new(id, CompactionStatus::Failed).error(why);
                    SessionUpdate::CompactionUpdate(update).into()
                });
                failed.into_iter().collect()
            }
            EventMessage::ExitedReviewMode { .. } => {
                self.reviewer = None;
                Vec::new()
            }
            EventMessage::ContextCompaction { account } => match self.compacted.take() {
                Some(id) => {
                    let done = CompactionUpdate::new(id, CompactionStatus::Completed);
                    self.of_compaction(done.meta(meta(json!({ "loss": account }))))
                }
                None => {
                    self.loss = Some(account.clone());
                    Vec::new()
                }
            },
            other => self.spoken(other).or_else(|| self.call(other, texts)).unwrap_or_else(|| self.notice(other)),
        }
    }

    /// The failure of a submission that began no turn.
    pub fn fault(&mut self) -> Option<TurnFault> {
        self.fault.take()
    }

    /// The tokens of the session.
    pub fn usage(&self) -> Option<&Usage> {
        self.usage.as_ref()
    }

    fn keep(&mut self, request: &RequestSent, session: Option<String>) {
        let is_own = session.is_none();
        let sent = Sent { request: request.clone(), session: session.or_else(|| self.agent.clone()) };
        if ANSWERS.contains(&request.purpose.as_str()) {
            let asker = if is_own { &mut self.asker } else { &mut self.reviewer };
            *asker = Some(sent.clone());
        }
        self.sent.push(sent);
    }

    /// What a call carries about the request that asked for it.
    fn asked_by(&self) -> Option<Meta> {
        let asker = self.reviewer.as_ref().or(self.asker.as_ref())?;
        Some(meta(json!({ "request": asker.named() })))
    }

    /// Messages and thoughts, and items that are shown as such.
    fn spoken(&mut self, event: &EventMessage) -> Option<Vec<Outgoing>> {
        let message = |text: &str, id: &str| SessionUpdate::AgentMessageChunk(chunk(text, id)).into();
        let thought = |text: &str, id: &str| SessionUpdate::AgentThoughtChunk(chunk(text, id)).into();
        Some(match event {
            EventMessage::AgentMessageContentDelta { item_id, delta, .. }
            | EventMessage::PlanDelta { item_id, delta, .. } => {
                self.in_pieces.insert(item_id.clone());
                vec![message(delta, item_id)]
            }
            EventMessage::ReasoningContentDelta { item_id, delta, .. } => {
                self.in_pieces.insert(item_id.clone());
                vec![thought(delta, item_id)]
            }
            EventMessage::ReasoningRawContentDelta { item_id, delta, .. } if self.shown.raw_reasoning => {
                self.in_pieces.insert(item_id.clone());
                vec![thought(delta, item_id)]
            }
            EventMessage::AgentReasoningSectionBreak { item_id, .. } if self.in_pieces.contains(item_id) => {
                vec![thought("\n\n", item_id)]
            }
            EventMessage::ItemStarted { item: TurnItem::ContextCompaction { id }, .. } => {
                self.compacting = Some(id.clone());
                let begun = CompactionUpdate::new(id.clone(), CompactionStatus::InProgress);
                self.of_compaction(begun)
            }
            EventMessage::ItemCompleted { item, .. } => return self.completed(item),
            _ => return None,
        })
    }

    fn completed(&mut self, item: &TurnItem) -> Option<Vec<Outgoing>> {
        let is_shown = self.in_pieces.remove(item.id());
        Some(match item {
            // The client has what its user wrote.
            TurnItem::UserMessage { .. } => Vec::new(),
            _ if is_shown => Vec::new(),
            TurnItem::AgentMessage { id, content, .. } => {
                let text: String = content.iter().map(|AgentContent::Text { text }| text.as_str()).collect();
                said(SessionUpdate::AgentMessageChunk, &text, id)
            }
            TurnItem::Plan { id, text } => said(SessionUpdate::AgentMessageChunk, text, id),
            TurnItem::Reasoning { id, summary_text, raw_content } => {
                let texts =
                    if self.shown.raw_reasoning && !raw_content.is_empty() { raw_content } else { summary_text };
                said(SessionUpdate::AgentThoughtChunk, &texts.join("\n\n"), id)
            }
            TurnItem::ContextCompaction { id } => {
                self.compacting = None;
                let mut done = CompactionUpdate::new(id.clone(), CompactionStatus::Completed);
                match self.loss.take() {
                    Some(loss) => done = done.meta(meta(json!({ "loss": loss }))),
                    None => self.compacted = Some(id.clone()),
                }
                self.of_compaction(done)
            }
            TurnItem::WebSearch { .. } => return None,
        })
    }

    fn of_compaction(&self, update: CompactionUpdate) -> Vec<Outgoing> {
        if self.shown.compaction { vec![SessionUpdate::CompactionUpdate(update).into()] } else { Vec::new() }
    }

    fn counted(&mut self, info: &TokenUsageInfo) -> Vec<Outgoing> {
        let count = |tokens: i64| u64::try_from(tokens).unwrap_or_default();
        let total = &info.total_token_usage;
        let usage = Usage::new(count(total.total_tokens), count(total.input_tokens), count(total.output_tokens))
            .thought_tokens(count(total.reasoning_output_tokens))
            .cached_read_tokens(count(total.cached_input_tokens));
        self.usage = Some(usage);
        let used = count(info.last_token_usage.total_tokens);
        let size = info.model_context_window.map(count).filter(|size| *size > 0);
        size.map(|size| SessionUpdate::UsageUpdate(UsageUpdate::new(used, size)).into()).into_iter().collect()
    }

    fn over(&mut self, event: &Event, end: fn(&str, Option<TurnFault>) -> TurnEnd) -> Vec<Outgoing> {
        let mut end = end(&event.id, self.fault.take());
        end.usage.clone_from(&self.usage);
        let requests = self.sent.drain(..).map(|sent| {
            let mut named = sent.named();
            named["purpose"] = json!(sent.request.purpose);
            named
        });
        end.meta = Some(meta(json!({ "requests": requests.collect::<Vec<_>>() })));
        self.reviewer = None;
        let mut outgoing = self.calls_over();
        outgoing.push(Outgoing::Over(end));
        outgoing
    }
}

/// What this program adds to a message.
pub fn meta(added: Value) -> Meta {
    Meta::from_iter([(META.to_owned(), added)])
}

/// A piece of a message.
pub fn chunk(text: &str, message_id: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::from(text)).message_id(MessageId::new(message_id))
}

fn said(update: fn(ContentChunk) -> SessionUpdate, text: &str, id: &str) -> Vec<Outgoing> {
    if text.is_empty() { Vec::new() } else { vec![update(chunk(text, id)).into()] }
}

/// The text and images of a person's message, a piece each.
pub fn user_message(id: &str, content: &[UserInput]) -> Vec<SessionUpdate> {
    let piece = |text: &str| SessionUpdate::UserMessageChunk(chunk(text, id));
    let shown = content.iter().map(|input| match input {
        UserInput::Text { text, .. } => piece(text),
        UserInput::Image { .. } => piece("[image]"),
        UserInput::LocalImage { path } => piece(&format!("[image {}]", path.display())),
        UserInput::Skill { name, .. } | UserInput::Mention { name, .. } => piece(name),
    });
    shown.collect()
}

/// A plan as the model wrote it.
pub fn plan_of(plan: &PlanUpdate) -> Plan {
    let entry = |step: &pellucid_protocol::event::PlanStep| {
        let status = match step.status {
            StepStatus::Pending => PlanEntryStatus::Pending,
            StepStatus::InProgress => PlanEntryStatus::InProgress,
            StepStatus::Completed => PlanEntryStatus::Completed,
        };
        PlanEntry::new(step.step.clone(), PlanEntryPriority::Medium, status)
    };
    Plan::new(plan.plan.iter().map(entry).collect())
}
