//! Turns, rebuilt from events.
//!
//! The same fold serves a session file, whose records it reads from the first to the last, and the running turn, whose
//! events it sees as they happen. Files of older versions do not say where turns begin: there every message of the user
//! begins one.

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::TextElement;
use pellucid_protocol::review::ReviewOutput;
use pellucid_store::record::Record;

use crate::types::input::UserInput;
use crate::types::item::ThreadItem;
use crate::types::thread::Turn;
use crate::types::thread::TurnError;
use crate::types::thread::TurnStatus;
use crate::types::thread::TurnTimes;

/// What is shown of a review whose target has no description.
const UNNAMED_REVIEW: &str = "Review requested.";

/// The turns that these records describe.
pub fn rebuild<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Turn> {
    rebuild_with(records, fresh_id)
}

fn rebuild_with<'a>(records: impl IntoIterator<Item = &'a Record>, fresh_id: fn() -> String) -> Vec<Turn> {
    let mut builder = Builder::new(fresh_id);
    for record in records {
        builder.record(record);
    }
    builder.finish()
}

/// The turns of a file, with the running turn in place of what the file says of it so far.
pub fn with_running(mut turns: Vec<Turn>, running: Option<Turn>) -> Vec<Turn> {
    if let Some(running) = running {
        turns.retain(|turn| turn.id != running.id);
        turns.push(running);
    }
    turns
}

/// A new id for a turn that has none.
fn fresh_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// Builds turns from events.
#[derive(Debug)]
pub(crate) struct Builder {
    done: Vec<Turn>,
    open: Option<Open>,
    n_items: usize,
    fresh_id: fn() -> String,
    /// Whether turns have times.
    is_timed: bool,
    /// When the record was written that is read now, in milliseconds of Unix time.
    at: Option<i64>,
}

/// A turn that is not over.
#[derive(Debug)]
struct Open {
    turn: Turn,
    /// Whether the file says where the turn began.
    is_announced: bool,
    /// Whether the history was summarised in the turn.
    has_compaction: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new(fresh_id)
    }
}

impl Builder {
    fn new(fresh_id: fn() -> String) -> Self {
        Self { done: Vec::new(), open: None, n_items: 0, fresh_id, is_timed: false, at: None }
    }

    /// A builder of turns with times.
    pub(crate) fn timed() -> Self {
        Self { is_timed: true, ..Self::default() }
    }

    /// Adds a record that was written at this time, in milliseconds of Unix time.
    pub(crate) fn record_at(&mut self, record: &Record, at: Option<i64>) {
        self.at = at;
        self.record(record);
    }

    /// The turn that is not over.
    pub(crate) fn running(&self) -> Option<Turn> {
        let open = self.open.as_ref()?;
        let status = if open.turn.status == TurnStatus::Completed { TurnStatus::InProgress } else { open.turn.status };
        Some(Turn { status, ..open.turn.clone() })
    }

    /// Whether there is a turn that is not over.
    pub(crate) fn is_running(&self) -> bool {
        self.open.is_some()
    }

    /// Closes the open turn and returns all turns.
    pub(crate) fn finish(mut self) -> Vec<Turn> {
        self.close();
        self.done
    }

    fn record(&mut self, record: &Record) {
        match record {
            Record::EventMsg(event) => self.event(event),
            Record::Compacted(_) => self.open().has_compaction = true,
            Record::SessionMeta(_) | Record::ResponseItem(_) | Record::TurnContext(_) => {}
        }
    }

    /// Adds an event.
    pub(crate) fn event(&mut self, event: &EventMessage) {
        match event {
            EventMessage::TaskStarted { turn_id, .. } => {
                self.close();
                self.open = Some(Open::new(turn_id.to_string(), true, self.times()));
            }
            EventMessage::TaskComplete { turn_id, .. } => self.complete(turn_id),
            EventMessage::TurnAborted { turn_id, .. } => self.abort(turn_id),
            EventMessage::Error { message, codex_error_info, failure: _ } => {
                let error = TurnError {
                    message: message.clone(),
                    codex_error_info: codex_error_info.map(Into::into),
                    additional_details: None,
                };
                if error.ends_a_turn()
                    && let Some(open) = &mut self.open
                {
                    open.turn.status = TurnStatus::Failed;
                    open.turn.error = Some(error);
                }
            }
            EventMessage::ThreadRolledBack { num_turns } => self.roll_back(*num_turns),
            EventMessage::UserMessage { message, images, local_images, text_elements } => {
                let images = images.iter().map(|url| UserInput::Image { url: url.clone() });
                let local_images = local_images.iter().map(|path| UserInput::LocalImage { path: path.clone() });
                let content = text_input(message, text_elements).into_iter().chain(images).chain(local_images);
                self.user_message(content.collect());
            }
            EventMessage::AgentMessage { message } if !message.is_empty() => {
                let text = message.clone();
                self.numbered(|id| ThreadItem::AgentMessage { id, text });
            }
            EventMessage::AgentReasoning { text } if !text.is_empty() => self.thought(text, Thought::Summary),
            EventMessage::AgentReasoningRawContent { text } if !text.is_empty() => self.thought(text, Thought::Raw),
            EventMessage::ItemCompleted { item: TurnItem::Plan { id, text }, .. } if !text.is_empty() => {
                self.put(ThreadItem::Plan { id: id.clone(), text: text.clone() });
            }
            EventMessage::ContextCompacted => self.numbered(|id| ThreadItem::ContextCompaction { id }),
            EventMessage::EnteredReviewMode { user_facing_hint, .. } => {
                let review = user_facing_hint.clone().unwrap_or_else(|| UNNAMED_REVIEW.to_owned());
                self.numbered(|id| ThreadItem::EnteredReviewMode { id, review });
            }
            EventMessage::ExitedReviewMode { review_output } => {
                let review = explained(review_output.as_ref());
                self.numbered(|id| ThreadItem::ExitedReviewMode { id, review });
            }
            EventMessage::WebSearchEnd { call_id, query, action } => self.put(ThreadItem::WebSearch {
                id: call_id.clone(),
                query: query.clone(),
                action: Some(action.clone().into()),
            }),
            EventMessage::ViewImageToolCall { call_id, path } => {
                self.put(ThreadItem::ImageView { id: call_id.clone(), path: path.to_string_lossy().into_owned() });
            }
            EventMessage::ExecCommandEnd(end) => self.command(&end.begin.turn_id, (&**end).into()),
            EventMessage::PatchApplyEnd(end) => self.put(end.into()),
            EventMessage::McpToolCallEnd(end) => self.put((&**end).into()),
            other => {
                if let Some(item) = ThreadItem::ended_with_agents(other) {
                    self.put(item);
                }
            }
        }
    }

    /// The turn that is not over; begins one if there is none.
    fn open(&mut self) -> &mut Open {
        let (fresh_id, times) = (self.fresh_id, self.times());
        self.open.get_or_insert_with(|| Open::new(fresh_id(), false, times))
    }

    /// The times of a turn that begins now.
    fn times(&self) -> Option<TurnTimes> {
        self.is_timed.then(|| TurnTimes {
            started_at: self.at.map(|at| at / 1000),
            completed_at: None,
            duration_ms: None,
            items_view: None,
            item_times: Vec::new(),
        })
    }

    /// Notes that a turn ends now.
    fn note_end(turn: &mut Turn, at: Option<i64>) {
        if let Some(times) = &mut turn.times {
            times.completed_at = at.map(|at| at / 1000);
            let began = times.started_at.map(|began| began * 1000);
            times.duration_ms = at.zip(began).map(|(at, began)| (at - began).max(0));
        }
    }

    /// Ends the open turn. A turn that was not announced and has no items is dropped.
    fn close(&mut self) {
        if let Some(open) = self.open.take()
            && (open.is_announced || open.has_compaction || !open.turn.items.is_empty())
        {
            self.done.push(open.turn);
        }
    }

    fn complete(&mut self, turn_id: &TurnId) {
        // A turn that failed or was interrupted keeps its status. The end of an unknown turn ends the open one.
        if self.is_open(turn_id) || !self.done.iter().any(|turn| turn.id == turn_id.as_str()) {
            if let Some(open) = &mut self.open {
                Self::note_end(&mut open.turn, self.at);
            }
            self.close();
        }
    }

    fn is_open(&self, turn_id: &TurnId) -> bool {
        self.open.as_ref().is_some_and(|open| open.turn.id == turn_id.as_str())
    }

    fn abort(&mut self, turn_id: &TurnId) {
        let is_open = self.is_open(turn_id);
        let done = self.done.iter_mut().find(|turn| turn.id == turn_id.as_str() && !is_open);
        let turn = done.or_else(|| self.open.as_mut().map(|open| &mut open.turn));
        if let Some(turn) = turn {
            turn.status = TurnStatus::Interrupted;
            Self::note_end(turn, self.at);
        }
    }

    fn roll_back(&mut self, n_turns: usize) {
        self.close();
        self.done.truncate(self.done.len().saturating_sub(n_turns));
        self.n_items = self.done.iter().map(|turn| turn.items.len()).sum();
    }

    fn user_message(&mut self, content: Vec<UserInput>) {
        // Where turns are not announced, a message begins one; a turn that only holds a summary counts as new.
        if self.open.as_ref().is_some_and(|open| !open.is_announced && !open.is_summary_alone()) {
            self.close();
        }
        self.numbered(|id| ThreadItem::UserMessage { id, content });
    }

    fn thought(&mut self, text: &str, kind: Thought) {
        if let Some(ThreadItem::Reasoning { summary, content, .. }) = self.open().turn.items.last_mut() {
            match kind {
                Thought::Summary => summary.push(text.to_owned()),
                Thought::Raw => content.push(text.to_owned()),
            }
            return;
        }
        let text = vec![text.to_owned()];
        let (summary, content) = match kind {
            Thought::Summary => (text, Vec::new()),
            Thought::Raw => (Vec::new(), text),
        };
        self.numbered(|id| ThreadItem::Reasoning { id, summary, content });
    }

    /// Adds an item that has no id yet.
    fn numbered(&mut self, item: impl FnOnce(String) -> ThreadItem) {
        self.n_items += 1;
        let item = item(format!("item-{}", self.n_items));
        self.put(item);
    }

    /// Adds an item that has an id.
    fn put(&mut self, item: ThreadItem) {
        let at = self.at;
        add(&mut self.open().turn, item, at);
    }

    /// Adds a command to the turn where it began; the command may have ended turns later.
    fn command(&mut self, turn_id: &TurnId, item: ThreadItem) {
        let is_open = self.is_open(turn_id);
        match self.done.iter_mut().find(|turn| turn.id == turn_id.as_str()) {
            Some(turn) if !is_open => add(turn, item, self.at),
            _ => self.put(item),
        }
    }
}

impl Open {
    fn new(id: String, is_announced: bool, times: Option<TurnTimes>) -> Self {
        let turn = Turn { id, items: Vec::new(), status: TurnStatus::Completed, error: None, times };
        Self { turn, is_announced, has_compaction: false }
    }

    fn is_summary_alone(&self) -> bool {
        self.has_compaction && self.turn.items.is_empty()
    }
}

/// Adds an item to a turn.
fn add(turn: &mut Turn, item: ThreadItem, at: Option<i64>) {
    turn.items.push(item);
    if let Some(times) = &mut turn.times {
        times.item_times.push(at);
    }
}

/// The kind of reasoning.
#[derive(Clone, Copy)]
enum Thought {
    Summary,
    Raw,
}

fn text_input(message: &str, elements: &[TextElement]) -> Option<UserInput> {
    let text_elements = elements.iter().cloned().map(Into::into).collect();
    (!message.trim().is_empty()).then(|| UserInput::Text { text: message.to_owned(), text_elements })
}

/// A review in the reviewer's words, without the findings.
fn explained(output: Option<&ReviewOutput>) -> String {
    let words = output.map(|output| output.overall_explanation.trim()).unwrap_or_default();
    if words.is_empty() { pellucid_engine::review::render(Some(&ReviewOutput::default())) } else { words.to_owned() }
}

#[cfg(test)]
mod tests;
