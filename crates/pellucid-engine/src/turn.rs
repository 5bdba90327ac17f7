//! The turn: from a person's input to the final answer, as a value.
//!
//! It receives [`TurnEvent`]s (a piece of a reply, a call's output or question, the client's answer, an interruption) and returns
//! [`Wish`]es (ask the model, run a tool, ask the client, record, show, finish). The driver does what is wished, in order, and
//! reports back. So retries, approvals, the order of outputs and interruption are tested without waiting for anything.
//!
//! Not here: awaiting, clocks, processes. See `pellucid-agent` for the driver.

pub mod calls;
pub mod compacting;
mod plan_text;
pub mod questions;

use std::collections::VecDeque;
use std::time::Duration;

use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RerouteReason;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::reply::Via;
use pellucid_protocol::settings::CollaborationModeKind;
use sha2::Digest;
use sha2::Sha256;

use crate::call;
use crate::call::CallReading;
use crate::compaction::CompactionError;
use crate::compaction::Dropped;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::fragment::concat;
use crate::meter::Meter;
use crate::pack::CompactionRules;
use crate::pack::CompactionStrategy;
use crate::pack::Pack;
use crate::template::Shape;
use crate::transcript::Draft;
use crate::transcript::ReasoningCounted;
use crate::turn_item;
use crate::window::WindowExceeded;
use calls::CallEvent;
use calls::CallWish;
use calls::RunningCall;
use compacting::CompactionWish;
use questions::AskKey;
use questions::AskWish;
use questions::ClientAnswer;
use questions::Questions;

const ABORTED: &str = "turn/aborted.md";
const REROUTED: &str = "warnings/model_rerouted.md";

/// The templates that a turn uses.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[(ABORTED, Shape::VERBATIM), (REROUTED, Shape::VERBATIM)];

/// What a turn must know from the start.
#[derive(Debug, Clone)]
pub struct TurnSettings {
    /// The session that the turn belongs to.
    pub session_id: SessionId,
    /// The id of the turn.
    pub turn_id: TurnId,
    /// The model that is asked.
    pub model: String,
    /// The model's effective window.
    pub window: Option<i64>,
    /// The mode of collaboration.
    pub mode: CollaborationModeKind,
    /// How often a broken reply is asked for again.
    pub stream_retries_max: u64,
    /// From how many tokens on the history is summarised.
    pub compaction_limit: Option<i64>,
    /// Who summarises the history.
    pub summarised_by: SummarisedBy,
    /// Set when the model takes over from one with a larger window.
    pub takeover: Option<Takeover>,
    /// Whether clients see the first retry in a row.
    pub first_retry: FirstRetry,
    /// How the history is made shorter.
    pub compaction: CompactionRules,
}

/// A model takes over from one with a larger window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Takeover {
    /// Above so many tokens the model before summarises first.
    pub limit: i64,
    /// The window of the model before.
    pub previous_window: Option<i64>,
}

/// Whose window the request for a summary has to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryModel {
    /// The model of this turn.
    Current,
    /// The model before it, whose window is larger.
    Previous,
}

/// Whether clients see the first retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstRetry {
    /// Clients see every retry.
    Shown,
    /// Clients see retries from the second on: a WebSocket that was closed while it was idle is nothing to worry about.
    Silent,
}

/// Who summarises the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummarisedBy {
    /// The model, on request.
    Model,
    /// The provider's endpoint for summaries.
    Provider,
}

/// Something that happened outside.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// The next piece of the reply.
    Reply(ReplyEvent),
    /// The reply broke off, or never began.
    ReplyFailed(ReplyError),
    /// A call reported something.
    Call(CallEvent),
    /// The client answered a question.
    Answered {
        /// What the client names the question by.
        key: AskKey,
        /// What the client answered.
        answer: ClientAnswer,
    },
    /// The wished pause is over.
    PauseOver,
    /// The measure that the turn wished for.
    Measured {
        /// Tokens that the server's last figure does not know.
        unreported: usize,
    },
    /// The oldest item was dropped from what is summarised, or there was none.
    OldestDropped(Dropped),
    /// The provider gave items to take the place of the history.
    Summarised(Vec<Item>),
    /// The summary that was given is not accepted.
    SummaryRefused(CompactionError),
    /// The summary took the place of the history.
    Rebuilt(CompactionEffect),
    /// The history cannot be made to fit.
    WindowExceeded(WindowExceeded),
    /// The person said more while the turn was running.
    Steered(Vec<UserInput>),
    /// Something that the model is shown with the next request.
    Attached(Draft),
    /// The command that the turn was begun for has ended, with this record of it.
    UserCommandEnded(Draft),
    /// The client wants the turn to end, or no client is left.
    InterruptRequested,
    /// Everything was stopped, as wished.
    Interrupted {
        /// For how long each call had run, by its index.
        running: Vec<(usize, Duration)>,
    },
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionEffect {
    /// The estimated tokens before.
    pub tokens_before: usize,
    /// The estimated tokens after.
    pub tokens_after: usize,
    /// How many items the model was not shown for the summary.
    pub n_dropped: usize,
}

/// Why a compaction is due: the figures that decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The tokens of the next request: the server's last figure and our estimate of the rest.
    pub tokens: i64,
    /// From how many on the history is made shorter.
    pub compacts_at: i64,
}

/// Something that the turn wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Wish {
    /// Show clients an event.
    Emit(EventMessage),
    /// Record what the person said.
    RecordInput(Vec<UserInput>),
    /// Record what the person said during the turn. It selects no skills.
    RecordSteered(Vec<UserInput>),
    /// Make the session durable: from here on it must not be lost.
    Persist,
    /// Record the skills that the person's input asked for.
    RecordSkills,
    /// Record an item of the conversation.
    Record(Item, Origin),
    /// Record a message of the runtime.
    RecordDraft(Draft),
    /// Send a request with everything that is recorded.
    AskModel,
    /// Send the last request once more, unchanged.
    AskAgain,
    /// Wait before asking again.
    Pause(RetryDelay),
    /// Use no WebSocket any more in this session.
    LeaveWebSocket,
    /// Run or stop calls.
    Call(CallWish),
    /// Ask the client, or do what follows from its answer.
    Ask(AskWish),
    /// Report how many tokens the server's last figure does not know.
    Measure(ReasoningCounted),
    /// Make the history shorter.
    Compact(CompactionWish),
    /// Keep the text of an interrupted message beside the session, and show it.
    KeepCutOff(String),
    /// Start the user's program for notifications: the turn has its final answer.
    Notify(Option<String>),
    /// The turn is over.
    Finish,
}

/// How long to wait before asking again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDelay {
    /// As long as the server asked for.
    Exactly(Duration),
    /// Longer with each attempt, counted from one; the driver adds jitter.
    Backoff {
        /// Which attempt comes next.
        attempt: u64,
    },
}

impl RetryDelay {
    /// The length of the pause without jitter.
    pub fn base(self) -> Duration {
        match self {
            Self::Exactly(duration) => duration,
            Self::Backoff { attempt } => {
                let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX).min(20);
                Duration::from_millis(200) * 2_u32.pow(doublings)
            }
        }
    }
}

/// A turn that is running, or is about to begin.
#[derive(Debug)]
pub struct RunningTurn {
    settings: TurnSettings,
    meter: Meter,
    round: Round,
    retries: u64,
    fresh_ids: u64,
    turn_state: Option<String>,
    aborted_note: Vec<Fragment>,
    /// The warning that another model answers; taken when it was shown.
    rerouted_note: Option<Vec<Fragment>>,
    inputs: Vec<UserInput>,
    /// What the person said since the last request; the next one has it.
    pending: VecDeque<Pending>,
    stage: Stage,
    reasoning: ReasoningCounted,
    /// The last compactions of this turn that did not help.
    futile: Vec<CompactionEffect>,
    /// Why the last compaction of this turn was due; absent if it was asked for.
    due: Option<Due>,
    /// How often the summary that is being made did not fit, and was refused.
    n_overflows: usize,
    n_refusals: usize,
    strategy: CompactionStrategy,
    questions: Questions,
    is_over: bool,
}

/// What waits for the next request.
#[derive(Debug)]
enum Pending {
    /// Something that the person said.
    Said(Vec<UserInput>),
    /// Something that a tool attached.
    Attached(Draft),
}

/// Where a turn is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stage {
    /// The model is asked, or tools run.
    Sampling,
    /// The measure decides whether the history is summarised first.
    Measuring(Next),
    /// The history is being summarised.
    Compacting { id: String, window: Option<i64>, next: Next },
}

/// What follows a measure or a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The history is measured once more, now for the model of this turn.
    MeasureAgain,
    /// The person's input is recorded and the model asked.
    Input,
    /// The model is asked again.
    FollowUp,
    /// Nothing: the compaction was all.
    End,
}

/// What belongs to one request and its reply.
#[derive(Debug, Default)]
struct Round {
    /// The item that deltas belong to.
    active: Option<TurnItem>,
    calls: Vec<RunningCall>,
    /// What calls reported that is passed on after the end of the reply.
    held_back: VecDeque<CallEvent>,
    n_recorded: usize,
    answers_needed: bool,
    is_complete: bool,
    last_message: Option<String>,
    /// The text so far of a message that is not complete.
    unfinished: String,
    plans: plan_text::PlanRound,
}

impl RunningTurn {
    /// A turn that has not begun.
    pub fn new(settings: TurnSettings, meter: Meter, pack: &Pack) -> Self {
        Self {
            settings,
            meter,
            round: Round::default(),
            retries: 0,
            fresh_ids: 0,
            turn_state: None,
            aborted_note: pack.template(ABORTED).text(),
            rerouted_note: Some(pack.template(REROUTED).text()),
            inputs: Vec::new(),
            pending: VecDeque::new(),
            stage: Stage::Sampling,
            reasoning: ReasoningCounted::ByUs,
            futile: Vec::new(),
            due: None,
            n_overflows: 0,
            n_refusals: 0,
            strategy: pack.layout.compaction.strategy,
            questions: Questions::default(),
            is_over: false,
        }
    }

    /// Who can answer the questions of the turn, and what was allowed before it.
    pub fn with_questions(self, questions: Questions) -> Self {
        Self { questions, ..self }
    }

    /// Begins with what the person said.
    pub fn begin(&mut self, inputs: &[UserInput]) -> Vec<Wish> {
        self.inputs = inputs.to_vec();
        self.stage = Stage::Measuring(Next::Input);
        vec![self.started(), Wish::Measure(self.reasoning)]
    }

    /// Replaces the input of a turn that has begun and has not recorded it.
    pub fn replace_input(&mut self, inputs: &[UserInput]) {
        self.inputs = inputs.to_vec();
    }

    /// Begins a turn that only summarises the history.
    pub fn begin_compaction(&mut self) -> Vec<Wish> {
        let mut wishes = vec![self.started()];
        wishes.extend(self.start_compaction(Next::End));
        wishes
    }

    /// Begins a turn that only waits for a command of the person.
    pub fn begin_user_command(&mut self) -> Vec<Wish> {
        vec![self.started()]
    }

    fn started(&self) -> Wish {
        Wish::Emit(EventMessage::TaskStarted {
            turn_id: self.settings.turn_id.clone(),
            model_context_window: self.settings.window,
            collaboration_mode_kind: self.settings.mode,
        })
    }

    /// The figures that had the last compaction begin, if the turn began it by itself.
    pub fn due(&self) -> Option<Due> {
        self.due
    }

    /// Takes an event and returns what has to be done.
    pub fn step(&mut self, event: TurnEvent) -> Vec<Wish> {
        if self.is_over {
            return Vec::new();
        }
        match (event, self.stage.clone()) {
            (TurnEvent::InterruptRequested, _) => self.interrupt_requested(),
            (TurnEvent::Interrupted { running }, _) => self.interrupted(&running),
            (TurnEvent::Call(fact), _) => self.call_reported(fact),
            (TurnEvent::Answered { key, answer }, _) => self.answered(key, answer),
            (TurnEvent::Steered(inputs), _) => {
                self.pending.push_back(Pending::Said(inputs));
                Vec::new()
            }
            (TurnEvent::Attached(draft), _) => {
                self.pending.push_back(Pending::Attached(draft));
                Vec::new()
            }
            (TurnEvent::UserCommandEnded(record), _) => {
                let mut wishes = vec![Wish::RecordDraft(record)];
                wishes.extend(self.complete(None));
                wishes
            }
            (TurnEvent::Measured { unreported }, Stage::Measuring(next)) => self.measured(unreported, next),
            (TurnEvent::Reply(event), Stage::Compacting { window, .. }) => self.summary_reply(event, window),
            (TurnEvent::ReplyFailed(error), Stage::Compacting { .. }) => self.summary_failed(&error),
            (TurnEvent::PauseOver, Stage::Compacting { .. }) => vec![Wish::Compact(CompactionWish::AskAgain)],
            (TurnEvent::OldestDropped(dropped), Stage::Compacting { .. }) => self.oldest_dropped(dropped),
            (TurnEvent::Summarised(items), Stage::Compacting { .. }) => {
                vec![Wish::Compact(CompactionWish::Replace(items))]
            }
            (TurnEvent::Rebuilt(rebuilt), Stage::Compacting { id, window, next }) => {
                self.meter.estimate(i64::try_from(rebuilt.tokens_after).unwrap_or(i64::MAX), window);
                self.rebuilt(rebuilt, id, next)
            }
            (TurnEvent::SummaryRefused(error), Stage::Compacting { .. }) => self.summary_refused(&error),
            (TurnEvent::WindowExceeded(error), Stage::Compacting { .. }) => self.window_exceeded(&error),
            (TurnEvent::Reply(event), _) => self.reply(event),
            (TurnEvent::ReplyFailed(error), _) => self.failed(&error),
            (TurnEvent::PauseOver, _) => vec![Wish::AskAgain],
            (
                TurnEvent::Measured { .. }
                | TurnEvent::OldestDropped(_)
                | TurnEvent::Summarised(_)
                | TurnEvent::SummaryRefused(_)
                | TurnEvent::Rebuilt(_)
                | TurnEvent::WindowExceeded(_),
                _,
            ) => Vec::new(),
        }
    }

    /// What the session has consumed so far.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The token to send back with further requests of this turn.
    pub fn turn_state(&self) -> Option<&str> {
        self.turn_state.as_deref()
    }

    fn reply(&mut self, event: ReplyEvent) -> Vec<Wish> {
        match event {
            ReplyEvent::ItemAdded(item) => self.item_added(&item),
            ReplyEvent::ItemDone(item) => self.item_done(item),
            ReplyEvent::TextDelta(delta) => match self.text_delta(&delta) {
                Some(wishes) => wishes,
                None => self.delta(|turn, item_id| EventMessage::AgentMessageContentDelta {
                    thread_id: turn.settings.session_id.clone(),
                    turn_id: turn.settings.turn_id.clone(),
                    item_id,
                    delta,
                }),
            },
            ReplyEvent::SummaryPartAdded { summary_index } => {
                self.delta(|_, item_id| EventMessage::AgentReasoningSectionBreak { item_id, summary_index })
            }
            ReplyEvent::SummaryDelta { delta, summary_index } => {
                self.delta(|turn, item_id| EventMessage::ReasoningContentDelta {
                    thread_id: turn.settings.session_id.clone(),
                    turn_id: turn.settings.turn_id.clone(),
                    item_id,
                    delta,
                    summary_index,
                })
            }
            ReplyEvent::RawReasoningDelta { delta, content_index } => {
                self.delta(|turn, item_id| EventMessage::ReasoningRawContentDelta {
                    thread_id: turn.settings.session_id.clone(),
                    turn_id: turn.settings.turn_id.clone(),
                    item_id,
                    delta,
                    content_index,
                })
            }
            ReplyEvent::RateLimits(limits) => {
                self.meter.limit(limits);
                vec![Wish::Emit(self.meter.event())]
            }
            ReplyEvent::TurnState(state) => {
                self.turn_state.get_or_insert(state);
                Vec::new()
            }
            ReplyEvent::Completed { usage, .. } => {
                if let Some(usage) = usage {
                    self.meter.add(&usage, self.settings.window);
                }
                let mut wishes = self.plan_text_over();
                self.round.is_complete = true;
                wishes.push(Wish::Emit(self.meter.event()));
                wishes.extend(self.settle());
                wishes.extend(self.release());
                wishes
            }
            ReplyEvent::ReasoningIncluded => {
                self.reasoning = ReasoningCounted::ByServer;
                Vec::new()
            }
            ReplyEvent::ServerModel(model) => self.rerouted(model),
            // What goes into a cache is no part of what fills the window; the session notes it.
            ReplyEvent::Created | ReplyEvent::CacheWritten(_) | ReplyEvent::CacheReadUnknown => Vec::new(),
        }
    }

    fn text_delta(&mut self, delta: &str) -> Option<Vec<Wish>> {
        self.round.unfinished.push_str(delta);
        self.plan_text(delta)
    }

    /// Warns once in a turn that another model answers than was asked.
    fn rerouted(&mut self, to_model: String) -> Vec<Wish> {
        if to_model.eq_ignore_ascii_case(&self.settings.model) {
            return Vec::new();
        }
        let Some(note) = self.rerouted_note.take() else {
            return Vec::new();
        };
        let message = concat(&note);
        let mut fragments = vec![Fragment::layout("Warning: ")];
        fragments.extend(note);
        let from_model = self.settings.model.clone();
        let reason = RerouteReason::HighRiskCyberActivity;
        vec![
            Wish::Emit(EventMessage::ModelReroute { from_model, to_model, reason }),
            Wish::Emit(EventMessage::Warning { message }),
            Wish::RecordDraft(Draft::text("warning", "user", fragments)),
        ]
    }

    fn item_added(&mut self, item: &Item) -> Vec<Wish> {
        let Some(visible) = turn_item::visible(item, || self.fresh_id()) else {
            return Vec::new();
        };
        let mut wishes = Vec::new();
        if self.may_hold_plan(&visible) {
            self.plan_message_added(visible.clone());
        } else {
            wishes.push(self.item_started(&visible));
        }
        self.round.unfinished.clear();
        let early_text = turn_item::said(item).filter(|text| !text.is_empty());
        self.round.active = Some(visible);
        if let Some(text) = early_text {
            wishes.extend(self.reply(ReplyEvent::TextDelta(text)));
        }
        wishes
    }

    fn item_done(&mut self, item: Item) -> Vec<Wish> {
        match call::read(&item) {
            CallReading::Call(call) => self.call_made(item, call),
            CallReading::Unanswerable(answer) => {
                self.round.answers_needed = true;
                vec![
                    Wish::Record(item, Origin::Model),
                    Wish::Record(answer, Origin::Tool { name: "local_shell".into() }),
                ]
            }
            CallReading::NoCall => self.not_a_call(item),
        }
    }

    /// An item that is not a call is shown first, then recorded.
    fn not_a_call(&mut self, item: Item) -> Vec<Wish> {
        if matches!(
            item,
            Item::FunctionCallOutput { .. }
                | Item::CustomToolCallOutput { .. }
                | Item::GhostSnapshot { .. }
                | Item::Other
        ) {
            return Vec::new();
        }
        self.round.unfinished.clear();
        let mut wishes = Vec::new();
        let id = self.round.active.as_ref().map(|item| item.id().to_owned());
        let visible = turn_item::visible(&item, || id.unwrap_or_else(|| self.fresh_id()));
        if let Some(visible) = visible.as_ref().filter(|visible| self.may_hold_plan(visible)) {
            return self.plan_message_done(item, visible.clone());
        }
        let active = self.round.active.take();
        if let Some(visible) = visible {
            if active.is_none() {
                wishes.push(self.item_started(&visible));
            }
            wishes.push(self.item_completed(visible));
        }
        if let Some(text) = turn_item::said(&item).filter(|text| !text.is_empty()) {
            self.round.last_message = Some(text);
        }
        wishes.push(Wish::Record(item, Origin::Model));
        wishes
    }

    fn failed(&mut self, error: &ReplyError) -> Vec<Wish> {
        let mut wishes = self.forget_calls();
        wishes.extend(self.cut_off());
        self.round = Round::default();
        if let Some(limits) = &error.rate_limits {
            self.meter.limit((**limits).clone());
            wishes.push(Wish::Emit(self.meter.event()));
        }
        if error.is_retryable()
            && let Some(again) = self.reconnect(error, Wish::AskAgain)
        {
            wishes.extend(again);
            return wishes;
        }
        if error.kind == ReplyErrorKind::ContextWindowExceeded
            && let Some(window) = self.settings.window
        {
            self.meter.fill(window);
            wishes.push(Wish::Emit(self.meter.event()));
        }
        wishes.push(Wish::Emit(EventMessage::Error {
            message: error.message.clone(),
            codex_error_info: Some(error_info(error.kind)),
            failure: error.failure.clone(),
        }));
        wishes.extend(self.complete(None));
        wishes
    }

    /// What to do for another attempt, if one is left: after a WebSocket, requests without it are always left.
    fn reconnect(&mut self, error: &ReplyError, again: Wish) -> Option<Vec<Wish>> {
        let max = self.settings.stream_retries_max;
        if error.is_unsent() {
            return None;
        }
        if self.retries >= max {
            if error.via != Via::WebSocket {
                return None;
            }
            self.retries = 0;
            let message = format!("Falling back from WebSockets to HTTPS transport. {error}");
            return Some(vec![Wish::LeaveWebSocket, Wish::Emit(EventMessage::Warning { message }), again]);
        }
        self.retries += 1;
        let told = EventMessage::StreamError {
            message: format!("Reconnecting... {}/{max}", self.retries),
            codex_error_info: Some(ErrorInfo::ResponseStreamDisconnected { http_status_code: error.status }),
            additional_details: Some(error.message.clone()),
            plain: error.failure.plain.clone(),
        };
        let is_silent = self.retries == 1 && self.settings.first_retry == FirstRetry::Silent;
        let backoff = RetryDelay::Backoff { attempt: self.retries };
        let pause = Wish::Pause(error.retry_after.map_or(backoff, RetryDelay::Exactly));
        Some((!is_silent).then_some(Wish::Emit(told)).into_iter().chain([pause]).collect())
    }

    /// Keeps the text of a message that will not be completed.
    fn cut_off(&mut self) -> Option<Wish> {
        let text = std::mem::take(&mut self.round.unfinished);
        (!text.trim().is_empty()).then_some(Wish::KeepCutOff(text))
    }

    /// Ends the turn. What the person said too late to be answered is kept all the same.
    fn complete(&mut self, last_agent_message: Option<String>) -> Vec<Wish> {
        self.is_over = true;
        let turn_id = self.settings.turn_id.clone();
        let late = self.pending.drain(..).map(|pending| match pending {
            Pending::Said(inputs) => Wish::RecordSteered(inputs),
            Pending::Attached(draft) => Wish::RecordDraft(draft),
        });
        let mut wishes: Vec<Wish> = late.collect();
        wishes.push(Wish::Emit(EventMessage::TaskComplete { turn_id, last_agent_message }));
        wishes.push(Wish::Finish);
        wishes
    }

    /// Shows what the person said.
    fn show_input(&mut self, inputs: Vec<UserInput>) -> [Wish; 2] {
        let item = TurnItem::UserMessage { id: self.fresh_id(), content: inputs };
        [self.item_started(&item), self.item_completed(item)]
    }

    fn delta(&self, event: impl FnOnce(&Self, String) -> EventMessage) -> Vec<Wish> {
        match &self.round.active {
            Some(item) => vec![Wish::Emit(event(self, item.id().to_owned()))],
            None => Vec::new(),
        }
    }

    fn item_started(&self, item: &TurnItem) -> Wish {
        Wish::Emit(EventMessage::ItemStarted {
            thread_id: self.settings.session_id.clone(),
            turn_id: self.settings.turn_id.clone(),
            item: item.clone(),
        })
    }

    fn item_completed(&self, item: TurnItem) -> Wish {
        Wish::Emit(EventMessage::ItemCompleted {
            thread_id: self.settings.session_id.clone(),
            turn_id: self.settings.turn_id.clone(),
            item,
        })
    }

    /// A new id in the form of a UUID. It follows from the turn, so that a replay gives the same.
    fn fresh_id(&mut self) -> String {
        self.fresh_ids += 1;
        let digest = Sha256::digest(format!("{}/{}", self.settings.turn_id, self.fresh_ids));
        let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
    }
}

fn error_info(kind: ReplyErrorKind) -> ErrorInfo {
    match kind {
        ReplyErrorKind::ContextWindowExceeded => ErrorInfo::ContextWindowExceeded,
        ReplyErrorKind::UsageLimitReached | ReplyErrorKind::UsageNotIncluded | ReplyErrorKind::QuotaExceeded => {
            ErrorInfo::UsageLimitExceeded
        }
        ReplyErrorKind::ServerOverloaded => ErrorInfo::ServerOverloaded,
        ReplyErrorKind::InternalServer => ErrorInfo::InternalServerError,
        ReplyErrorKind::InvalidImage => ErrorInfo::BadRequest,
        ReplyErrorKind::RetryLimit { status } => {
            ErrorInfo::ResponseTooManyFailedAttempts { http_status_code: Some(status) }
        }
        ReplyErrorKind::Stream
        | ReplyErrorKind::UnexpectedStatus
        | ReplyErrorKind::InvalidRequest
        | ReplyErrorKind::MissingKey
        | ReplyErrorKind::Unreachable
        | ReplyErrorKind::Budget
        | ReplyErrorKind::Local => ErrorInfo::Other,
    }
}
