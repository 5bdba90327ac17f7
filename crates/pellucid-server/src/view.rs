//! Turns the events of one session into messages for its clients.
//!
//! A [`ThreadView`] sees the events in order, and returns notifications and questions of the protocol. Its state is
//! what later events need: which patches and commands have begun, whether the turn has failed, its items so far. The
//! server owns connections, request ids and subscriptions; it also sends `turn/started` and the notifications about
//! threads themselves.

mod context;
mod question;
#[cfg(test)]
mod tests;
mod untyped;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::PlanUpdate;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::event::RerouteReason;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::review::ReviewOutput;
use pellucid_protocol::usage::RateLimitSnapshot;
use pellucid_protocol::usage::TokenUsageInfo;

use crate::turns::Builder;
use crate::types::change::PatchApplyStatus;
use crate::types::item::ThreadItem;
use crate::types::notification as note;
use crate::types::notification::ServerNotification;
use crate::types::thread::Turn;
use crate::types::thread::TurnError;
use crate::types::thread::TurnStatus;

pub use context::ContextNotification;
pub use question::ServerQuestion;
pub use untyped::Untyped;

/// A message for the clients of a thread.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "it is sent at once, and most are notifications")]
pub enum Outgoing {
    /// A notification for all clients of the thread.
    Notification(ServerNotification),
    /// A question for a client. The outcome goes to [`ThreadView::answered`].
    Asked(Box<ServerQuestion>),
}

impl<T: Into<ServerNotification>> From<T> for Outgoing {
    fn from(notification: T) -> Self {
        Self::Notification(notification.into())
    }
}

/// The state of a loaded thread, as its events report it.
#[derive(Debug)]
pub struct ThreadView {
    thread_id: String,
    /// Why the turn failed, if it did.
    error: Option<TurnError>,
    /// The calls of patches that have begun.
    patches: BTreeSet<String>,
    /// The running commands, by call, with their turns: some outlive the turn that began them.
    commands: BTreeMap<String, String>,
    /// The running turn, for clients that join later.
    running: Builder,
    /// Whether items of the transcript are sent.
    raw_items: RawItems,
}

impl ThreadView {
    /// A thread without any events so far.
    pub fn new(thread_id: impl Into<String>) -> Self {
        Self {
            thread_id: thread_id.into(),
            error: None,
            patches: BTreeSet::new(),
            commands: BTreeMap::new(),
            running: Builder::default(),
            raw_items: RawItems::Hidden,
        }
    }

    /// Sets whether items of the transcript are sent.
    pub fn with_raw_items(self, raw_items: RawItems) -> Self {
        Self { raw_items, ..self }
    }

    /// The id of the thread.
    pub fn thread_id(&self) -> &str {
        &self.thread_id
    }

    /// The running turn, with its items so far.
    pub fn turn_in_progress(&self) -> Option<Turn> {
        self.running.running()
    }

    /// The event under its protocol version 1 name; `None` if it is not for clients. An event between turns belongs to
    /// the turn that began it.
    pub fn untyped(&self, event: &Event) -> Option<Untyped> {
        let turn_id = match &event.msg {
            _ if !event.id.is_empty() => &event.id,
            EventMessage::ExecCommandEnd(end) => end.begin.turn_id.as_str(),
            EventMessage::ExecCommandOutputDelta { call_id, .. } => {
                self.commands.get(call_id).map_or("", String::as_str)
            }
            _ => "",
        };
        Untyped::of(&self.thread_id, turn_id, &event.msg, self.raw_items)
    }

    /// The notifications and questions that follow from an event.
    pub fn event(&mut self, event: &Event) -> Vec<Outgoing> {
        self.remember(&event.msg);
        let turn_id = &event.id;
        match &event.msg {
            EventMessage::TaskComplete { .. } => {
                let error = self.error.take();
                let status = if error.is_some() { TurnStatus::Failed } else { TurnStatus::Completed };
                self.turn_over(turn_id, status, error)
            }
            EventMessage::TurnAborted { .. } => {
                self.error = None;
                self.turn_over(turn_id, TurnStatus::Interrupted, None)
            }
            EventMessage::Error { message, codex_error_info, failure: _ } => {
                let error = TurnError {
                    message: message.clone(),
                    codex_error_info: codex_error_info.map(Into::into),
                    additional_details: None,
                };
                // The response to `thread/rollback` reports a rollback that fails.
                if !error.ends_a_turn() {
                    return Vec::new();
                }
                self.error = Some(error.clone());
                vec![self.failure(turn_id, error, false)]
            }
            EventMessage::StreamError { message, codex_error_info, additional_details, plain: _ } => {
                let error = TurnError {
                    message: message.clone(),
                    codex_error_info: codex_error_info.map(Into::into),
                    additional_details: additional_details.clone(),
                };
                vec![self.failure(turn_id, error, true)]
            }
            EventMessage::TokenCount { info, rate_limits } => {
                self.counted(turn_id, info.as_ref(), rate_limits.as_ref())
            }
            EventMessage::PlanUpdate(plan) => vec![self.plan(turn_id, plan)],
            EventMessage::TurnDiff { unified_diff } => {
                let (thread_id, turn_id) = self.place(turn_id);
                vec![note::TurnDiffUpdatedNotification { thread_id, turn_id, diff: unified_diff.clone() }.into()]
            }
            EventMessage::ModelReroute { from_model, to_model, reason } => {
                let (thread_id, turn_id) = self.place(turn_id);
                let (from_model, to_model) = (from_model.clone(), to_model.clone());
                let reason = match reason {
                    RerouteReason::HighRiskCyberActivity => note::ModelRerouteReason::HighRiskCyberActivity,
                };
                vec![note::ModelReroutedNotification { thread_id, turn_id, from_model, to_model, reason }.into()]
            }
            EventMessage::DeprecationNotice { summary, details } => {
                let (summary, details) = (summary.clone(), details.clone());
                vec![note::DeprecationNoticeNotification { summary, details }.into()]
            }
            EventMessage::ContextCompacted => {
                let (thread_id, turn_id) = self.place(turn_id);
                vec![note::ContextCompactedNotification { thread_id, turn_id }.into()]
            }
            EventMessage::RawResponseItem { item } if self.raw_items == RawItems::Shown => {
                let (thread_id, turn_id) = self.place(turn_id);
                vec![note::RawResponseItemCompletedNotification { thread_id, turn_id, item: item.clone() }.into()]
            }
            EventMessage::EnteredReviewMode { target, user_facing_hint } => {
                let hint = user_facing_hint.clone().unwrap_or_else(|| pellucid_engine::review::hint(target));
                self.at_once(turn_id, ThreadItem::EnteredReviewMode { id: turn_id.clone(), review: hint })
            }
            EventMessage::ExitedReviewMode { review_output } => {
                // A review without a result is shown like one whose reviewer wrote nothing.
                let output = review_output.clone().unwrap_or_default();
                let review = pellucid_engine::review::render(Some::<&ReviewOutput>(&output));
                self.at_once(turn_id, ThreadItem::ExitedReviewMode { id: turn_id.clone(), review })
            }
            EventMessage::ExecApprovalRequest(_)
            | EventMessage::ApplyPatchApprovalRequest(_)
            | EventMessage::RequestUserInput(_)
            | EventMessage::DynamicToolCallRequest(_)
            | EventMessage::ElicitationRequest(_) => self.ask(event),
            _ => self.of_item(event),
        }
    }

    /// The notifications about items that follow from an event.
    fn of_item(&mut self, event: &Event) -> Vec<Outgoing> {
        let turn_id = &event.id;
        match &event.msg {
            // The turn is the event's: an item of an agent that works in this turn names the agent's turn.
            EventMessage::ItemStarted { item, .. } => {
                vec![self.started(turn_id, item.clone().into())]
            }
            EventMessage::ItemCompleted { item, .. } => {
                vec![self.completed(turn_id, item.clone().into())]
            }
            EventMessage::ExecCommandBegin(begin) => {
                let turn_id = known_turn(&begin.turn_id, turn_id);
                self.commands.insert(begin.call_id.clone(), turn_id.clone());
                vec![self.started(&turn_id, begin.into())]
            }
            EventMessage::ExecCommandOutputDelta { call_id, chunk, .. } => vec![self.output(turn_id, call_id, chunk)],
            EventMessage::TerminalInteraction { call_id, process_id, stdin } => {
                let (thread_id, turn_id) = self.place(turn_id);
                let (item_id, process_id, stdin) = (call_id.clone(), process_id.clone(), stdin.clone());
                let notification =
                    note::TerminalInteractionNotification { thread_id, turn_id, item_id, process_id, stdin };
                vec![notification.into()]
            }
            EventMessage::ExecCommandEnd(end) => {
                let begun = self.commands.remove(&end.begin.call_id);
                let turn_id = begun.unwrap_or_else(|| known_turn(&end.begin.turn_id, turn_id));
                vec![self.completed(&turn_id, (&**end).into())]
            }
            EventMessage::PatchApplyBegin(begin) => {
                let is_new = self.patches.insert(begin.call_id.clone());
                let item = ThreadItem::patch(&begin.call_id, &begin.changes, PatchApplyStatus::InProgress);
                if is_new { vec![self.started(turn_id, item)] } else { Vec::new() }
            }
            EventMessage::PatchApplyEnd(end) => {
                self.patches.remove(&end.call_id);
                vec![self.completed(turn_id, end.into())]
            }
            EventMessage::McpToolCallBegin(begin) => vec![self.started(turn_id, begin.into())],
            EventMessage::McpToolCallEnd(end) => vec![self.completed(turn_id, (&**end).into())],
            EventMessage::ViewImageToolCall { call_id, path } => {
                let path = path.to_string_lossy().into_owned();
                self.at_once(turn_id, ThreadItem::ImageView { id: call_id.clone(), path })
            }
            other => match (ThreadItem::begun_with_agents(other), ThreadItem::ended_with_agents(other)) {
                (Some(item), _) => vec![self.started(turn_id, item)],
                (None, Some(item)) => vec![self.completed(turn_id, item)],
                (None, None) => self.delta(event).into_iter().collect(),
            },
        }
    }

    /// The notification of a delta.
    fn delta(&self, event: &Event) -> Option<Outgoing> {
        Some(match &event.msg {
            EventMessage::AgentMessageContentDelta { item_id, delta, .. } => {
                let (thread_id, turn_id) = self.place(&event.id);
                let (item_id, delta) = (item_id.clone(), delta.clone());
                note::AgentMessageDeltaNotification { thread_id, turn_id, item_id, delta }.into()
            }
            EventMessage::PlanDelta { item_id, delta, .. } => {
                let (thread_id, turn_id) = self.place(&event.id);
                let (item_id, delta) = (item_id.clone(), delta.clone());
                note::PlanDeltaNotification { thread_id, turn_id, item_id, delta }.into()
            }
            EventMessage::ReasoningContentDelta { item_id, delta, summary_index, .. } => {
                let (thread_id, turn_id) = self.place(&event.id);
                let (item_id, delta, summary_index) = (item_id.clone(), delta.clone(), *summary_index);
                note::ReasoningSummaryTextDeltaNotification { thread_id, turn_id, item_id, delta, summary_index }.into()
            }
            EventMessage::ReasoningRawContentDelta { item_id, delta, content_index, .. } => {
                let (thread_id, turn_id) = self.place(&event.id);
                let (item_id, delta, content_index) = (item_id.clone(), delta.clone(), *content_index);
                note::ReasoningTextDeltaNotification { thread_id, turn_id, item_id, delta, content_index }.into()
            }
            EventMessage::AgentReasoningSectionBreak { item_id, summary_index } => {
                let (thread_id, turn_id) = self.place(&event.id);
                let (item_id, summary_index) = (item_id.clone(), *summary_index);
                note::ReasoningSummaryPartAddedNotification { thread_id, turn_id, item_id, summary_index }.into()
            }
            _ => return None,
        })
    }

    /// Keeps the running turn; a turn that is over is in the session's file.
    fn remember(&mut self, event: &EventMessage) {
        self.running.event(event);
        if matches!(event, EventMessage::TaskComplete { .. } | EventMessage::TurnAborted { .. })
            || !self.running.is_running()
        {
            self.running = Builder::default();
        }
    }

    fn place(&self, turn_id: &str) -> (String, String) {
        (self.thread_id.clone(), turn_id.to_owned())
    }

    fn started(&self, turn_id: &str, item: ThreadItem) -> Outgoing {
        let (thread_id, turn_id) = self.place(turn_id);
        note::ItemStartedNotification { item, thread_id, turn_id }.into()
    }

    fn completed(&self, turn_id: &str, item: ThreadItem) -> Outgoing {
        let (thread_id, turn_id) = self.place(turn_id);
        note::ItemCompletedNotification { item, thread_id, turn_id }.into()
    }

    /// The notifications of an item that begins and ends at once.
    fn at_once(&self, turn_id: &str, item: ThreadItem) -> Vec<Outgoing> {
        vec![self.started(turn_id, item.clone()), self.completed(turn_id, item)]
    }

    fn turn_over(&mut self, turn_id: &str, status: TurnStatus, error: Option<TurnError>) -> Vec<Outgoing> {
        self.patches.clear();
        let (thread_id, id) = self.place(turn_id);
        let turn = Turn { id, items: Vec::new(), status, error, times: None };
        vec![note::TurnCompletedNotification { thread_id, turn }.into()]
    }

    fn failure(&self, turn_id: &str, error: TurnError, will_retry: bool) -> Outgoing {
        let (thread_id, turn_id) = self.place(turn_id);
        note::ErrorNotification { error, will_retry, thread_id, turn_id }.into()
    }

    fn counted(
        &self,
        turn_id: &str,
        info: Option<&TokenUsageInfo>,
        limits: Option<&RateLimitSnapshot>,
    ) -> Vec<Outgoing> {
        let usage = info.map(|info| {
            let (thread_id, turn_id) = self.place(turn_id);
            note::ThreadTokenUsageUpdatedNotification { thread_id, turn_id, token_usage: info.clone().into() }.into()
        });
        let limits = limits.map(|limits| {
            let rate_limits = limits.clone().into();
            note::AccountRateLimitsUpdatedNotification { rate_limits }.into()
        });
        usage.into_iter().chain(limits).collect()
    }

    fn plan(&self, turn_id: &str, plan: &PlanUpdate) -> Outgoing {
        let (thread_id, turn_id) = self.place(turn_id);
        let steps = plan.plan.iter();
        let steps = steps.map(|step| note::TurnPlanStep { step: step.step.clone(), status: step.status.into() });
        let explanation = plan.explanation.clone();
        note::TurnPlanUpdatedNotification { thread_id, turn_id, explanation, plan: steps.collect() }.into()
    }

    /// The notification of output of a command, or of a patch that is applied.
    fn output(&self, turn_id: &str, call_id: &str, chunk: &str) -> Outgoing {
        // A chunk that is not base64 was not written by Pellucid; there is nothing to show then.
        let bytes = STANDARD.decode(chunk).unwrap_or_default();
        let delta = String::from_utf8_lossy(&bytes).into_owned();
        let item_id = call_id.to_owned();
        if self.patches.contains(call_id) {
            let (thread_id, turn_id) = self.place(turn_id);
            return note::FileChangeOutputDeltaNotification { thread_id, turn_id, item_id, delta }.into();
        }
        let (thread_id, turn_id) = self.place(self.commands.get(call_id).map_or(turn_id, String::as_str));
        note::CommandExecutionOutputDeltaNotification { thread_id, turn_id, item_id, delta }.into()
    }
}

/// The turn that the event names, or else the one that it belongs to.
fn known_turn(named: &TurnId, of_event: &str) -> String {
    if of_event.is_empty() { named.to_string() } else { of_event.to_owned() }
}
