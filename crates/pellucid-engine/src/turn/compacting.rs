//! The part of a turn that summarises the history.
//!
//! It happens before the person's input is recorded, or between two requests, when the tokens
//! reach the limit, and when it is asked for. A summary that does not fit is asked for with less;
//! after two in a row that do not help, none is asked for again in the same turn. Rules may set
//! tighter bounds, and have a summary made without a model when none comes.

use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::failure::Failure;
use pellucid_protocol::failure::FailureCode;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::settings::SummaryFallback;

use super::CompactionEffect;
use super::Due;
use super::Next;
use super::Pending;
use super::RunningTurn;
use super::Stage;
use super::SummarisedBy;
use super::SummaryModel;
use super::Wish;
use super::error_info;
use crate::call;
use crate::compaction::CompactionError;
use crate::compaction::Dropped;
use crate::fragment::Origin;
use crate::fragment::concat;
use crate::pack::CompactionStrategy;
use crate::transcript::DraftPart;
use crate::window::WindowExceeded;

/// How often a summary may be refused.
const REFUSALS_MAX: usize = 2;

/// The advice that clients show after a summary.
pub const ADVICE: &str = "the history was summarised; every summary costs accuracy, so give a new task a new session";

/// What is to be done to make the history shorter.
#[derive(Debug, Clone, PartialEq)]
pub enum CompactionWish {
    /// Begin to summarise the history, and ask this model for the summary.
    Start(SummaryModel),
    /// Ask for the summary once more.
    AskAgain,
    /// Leave the oldest item out of what is summarised.
    DropOldest,
    /// Leave the older half out of what is summarised.
    DropHalf,
    /// Keep an item for the summary that is being made. Session files do not have it.
    Note(Item, Origin),
    /// Put a summary that is made by rule in place of the history.
    SummariseLocally,
    /// Put the summary in place of the history.
    Rebuild,
    /// Put the provider's items in place of the history.
    Replace(Vec<Item>),
    /// Write the summary to the session file.
    Log,
}

impl RunningTurn {
    pub(super) fn measured(&mut self, unreported: usize, next: Next) -> Vec<Wish> {
        if self.strategy == CompactionStrategy::Window {
            return self.measured_whole(unreported, next);
        }
        let total = self.meter.last_total().saturating_add(i64::try_from(unreported).unwrap_or(i64::MAX));
        if next == Next::Input
            && let Some(takeover) = self.settings.takeover.take()
            && total > takeover.limit
        {
            self.due = Some(Due { tokens: total, compacts_at: takeover.limit.saturating_add(1) });
            return self.compact_with(SummaryModel::Previous, takeover.previous_window, Next::MeasureAgain);
        }
        let Some(limit) = self.settings.compaction_limit.filter(|limit| total >= *limit) else {
            return self.go_on(next);
        };
        self.due = Some(Due { tokens: total, compacts_at: limit });
        match self.futile.as_slice() {
            // One summary that does not help may be bad luck, two are none.
            [_, CompactionEffect { tokens_before: before, tokens_after: after, .. }, ..] => {
                self.fail_with(&CompactionError::FutileAgain { before: *before, after: *after })
            }
            _ => self.start_compaction(next),
        }
    }

    /// The window strategy knows what the whole request would cost. Between requests of a turn nothing
    /// is dropped any more; before a turn it is, until the rest fits.
    fn measured_whole(&mut self, tokens: usize, next: Next) -> Vec<Wish> {
        let total = i64::try_from(tokens).unwrap_or(i64::MAX);
        match self.settings.compaction_limit {
            Some(limit) if total >= limit && next == Next::Input => {
                self.due = Some(Due { tokens: total, compacts_at: limit });
                self.start_compaction(Next::MeasureAgain)
            }
            _ => self.go_on(next),
        }
    }

    pub(super) fn window_exceeded(&mut self, error: &WindowExceeded) -> Vec<Wish> {
        self.fail(&error.to_string(), ErrorInfo::ContextWindowExceeded, FailureCode::Overflow.into())
    }

    pub(super) fn start_compaction(&mut self, next: Next) -> Vec<Wish> {
        self.compact_with(SummaryModel::Current, self.settings.window, next)
    }

    fn compact_with(&mut self, summariser: SummaryModel, window: Option<i64>, next: Next) -> Vec<Wish> {
        let id = self.fresh_id();
        self.retries = 0;
        self.n_overflows = 0;
        self.n_refusals = 0;
        self.stage = Stage::Compacting { id: id.clone(), window, next };
        vec![self.item_started(&TurnItem::ContextCompaction { id }), Wish::Compact(CompactionWish::Start(summariser))]
    }

    pub(super) fn go_on(&mut self, next: Next) -> Vec<Wish> {
        self.stage = Stage::Sampling;
        match next {
            Next::MeasureAgain => {
                self.stage = Stage::Measuring(Next::Input);
                vec![Wish::Measure(self.reasoning)]
            }
            Next::Input => {
                let inputs = std::mem::take(&mut self.inputs);
                // Clients see the input only once it survives the end of the process.
                let mut wishes = vec![Wish::RecordInput(inputs.clone()), Wish::Persist];
                wishes.extend(self.show_input(inputs));
                wishes.push(Wish::RecordSkills);
                wishes.extend(self.record_pending());
                wishes.push(Wish::AskModel);
                wishes
            }
            Next::FollowUp => {
                let mut wishes = self.record_pending();
                wishes.push(Wish::AskModel);
                wishes
            }
            Next::End => self.complete(None),
        }
    }

    fn record_pending(&mut self) -> Vec<Wish> {
        let pending = std::mem::take(&mut self.pending);
        let mut wishes = Vec::new();
        for pending in pending {
            match pending {
                Pending::Said(inputs) => {
                    wishes.push(Wish::RecordSteered(inputs.clone()));
                    wishes.extend(self.show_input(inputs));
                }
                // Only what the person or a tool says to the model is shown like a message.
                Pending::Attached(draft) => {
                    let shown = (draft.role == "user").then(|| draft.parts.iter().map(shown).collect());
                    wishes.push(Wish::RecordDraft(draft));
                    wishes.extend(shown.into_iter().flat_map(|shown| self.show_input(shown)));
                }
            }
        }
        wishes
    }

    pub(super) fn summary_reply(&mut self, event: ReplyEvent, window: Option<i64>) -> Vec<Wish> {
        match event {
            ReplyEvent::ItemDone(item) => match call::read(&item) {
                call::CallReading::NoCall => vec![Wish::Compact(CompactionWish::Note(item, Origin::Model))],
                // No tool was offered, so a call means nothing.
                call::CallReading::Call(_) | call::CallReading::Unanswerable(_) => Vec::new(),
            },
            ReplyEvent::RateLimits(limits) => {
                self.meter.limit(limits);
                vec![Wish::Emit(self.meter.event())]
            }
            ReplyEvent::Completed { usage, .. } => {
                if let Some(usage) = usage {
                    self.meter.add(&usage, window);
                }
                vec![Wish::Emit(self.meter.event()), Wish::Compact(CompactionWish::Rebuild)]
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn summary_failed(&mut self, error: &ReplyError) -> Vec<Wish> {
        if self.settings.summarised_by == SummarisedBy::Provider {
            return self.no_summary(&error.message, error_info(error.kind), &error.failure);
        }
        if self.strategy == CompactionStrategy::Window {
            // What was dropped is lost, but the turn continues.
            return self
                .reconnect(error, Wish::Compact(CompactionWish::AskAgain))
                .unwrap_or_else(|| vec![Wish::Compact(CompactionWish::Rebuild)]);
        }
        if error.kind == ReplyErrorKind::ContextWindowExceeded {
            self.n_overflows += 1;
            return match self.settings.compaction.overflow_calls_max {
                None => vec![Wish::Compact(CompactionWish::DropOldest)],
                Some(max) if self.n_overflows < max => vec![Wish::Compact(CompactionWish::DropHalf)],
                Some(_) => self.does_not_fit(&CompactionError::StillDoesNotFit { calls: self.n_overflows }),
            };
        }
        match self.reconnect(error, Wish::Compact(CompactionWish::AskAgain)) {
            Some(again) => again,
            None => self.no_summary(&error.message, error_info(error.kind), &error.failure),
        }
    }

    /// A summary that is refused is asked for once more.
    pub(super) fn summary_refused(&mut self, error: &CompactionError) -> Vec<Wish> {
        self.n_refusals += 1;
        if self.n_refusals < REFUSALS_MAX && self.settings.summarised_by == SummarisedBy::Model {
            let message = format!("{error}; asking once more");
            return vec![
                Wish::Emit(EventMessage::BackgroundEvent { message }),
                Wish::Compact(CompactionWish::AskAgain),
            ];
        }
        self.no_summary(&error.to_string(), error.info(), &error.code().into())
    }

    /// No summary comes: one is made by rule where that is wanted, otherwise the turn ends.
    fn no_summary(&mut self, message: &str, info: ErrorInfo, failure: &Failure) -> Vec<Wish> {
        if self.settings.compaction.fallback != Some(SummaryFallback::Local) {
            return self.fail(message, info, failure.clone());
        }
        let why = failure.plain.as_deref().unwrap_or(message);
        let message = format!("no summary came ({why}), so one was made by rule from the history");
        vec![Wish::Emit(EventMessage::Warning { message }), Wish::Compact(CompactionWish::SummariseLocally)]
    }

    fn does_not_fit(&mut self, error: &CompactionError) -> Vec<Wish> {
        let mut wishes = Vec::new();
        if let Some(window) = self.settings.window {
            self.meter.fill(window);
            wishes.push(Wish::Emit(self.meter.event()));
        }
        wishes.extend(self.no_summary(&error.to_string(), error.info(), &error.code().into()));
        wishes
    }

    pub(super) fn oldest_dropped(&mut self, dropped: Dropped) -> Vec<Wish> {
        if dropped == Dropped::Some {
            self.retries = 0;
            return vec![Wish::Compact(CompactionWish::AskAgain)];
        }
        self.does_not_fit(&CompactionError::DoesNotFit)
    }

    pub(super) fn rebuilt(&mut self, rebuilt: CompactionEffect, id: String, next: Next) -> Vec<Wish> {
        let mut wishes = Vec::new();
        if rebuilt.n_dropped > 0 {
            let message = format!("left the {} oldest items out of the request for a summary", rebuilt.n_dropped);
            wishes.push(Wish::Emit(EventMessage::BackgroundEvent { message }));
        }
        wishes.push(Wish::Emit(self.meter.event()));
        wishes.push(Wish::Compact(CompactionWish::Log));
        wishes.push(self.item_completed(TurnItem::ContextCompaction { id }));
        if self.settings.summarised_by == SummarisedBy::Model && self.strategy == CompactionStrategy::Summarise {
            wishes.push(Wish::Emit(EventMessage::Warning { message: ADVICE.to_owned() }));
        }
        if let Some(percent) = self.settings.compaction.saving_min
            && self.strategy == CompactionStrategy::Summarise
            && is_futile(&rebuilt, percent)
        {
            let CompactionEffect { tokens_before: before, tokens_after: after, .. } = rebuilt;
            wishes.extend(self.fail_with(&CompactionError::Futile { before, after, percent }));
            return wishes;
        }
        if rebuilt.tokens_after < rebuilt.tokens_before {
            self.futile.clear();
        } else {
            self.futile.push(rebuilt);
        }
        self.retries = 0;
        wishes.extend(self.go_on(next));
        wishes
    }

    /// Begins and ends at once, because what the person said must not be sent.
    pub fn refuse(&mut self, message: &str) -> Vec<Wish> {
        let mut wishes = vec![self.started()];
        wishes.extend(self.refuse_input(message));
        wishes
    }

    /// Ends a turn that has begun, because its input cannot be had.
    pub fn refuse_input(&mut self, message: &str) -> Vec<Wish> {
        self.fail(message, ErrorInfo::Other, Failure::default())
    }

    fn fail_with(&mut self, error: &CompactionError) -> Vec<Wish> {
        self.fail(&error.to_string(), error.info(), error.code().into())
    }

    fn fail(&mut self, message: &str, info: ErrorInfo, failure: Failure) -> Vec<Wish> {
        let error = EventMessage::Error { message: message.to_owned(), codex_error_info: Some(info), failure };
        let mut wishes = vec![Wish::Emit(error)];
        wishes.extend(self.complete(None));
        wishes
    }
}

/// Whether a summary saved less than so many percent.
fn is_futile(rebuilt: &CompactionEffect, percent: u8) -> bool {
    let wanted = rebuilt.tokens_before.saturating_mul(100 - usize::from(percent.min(100)));
    rebuilt.tokens_after.saturating_mul(100) > wanted
}

/// A part of a message as people see it.
fn shown(part: &DraftPart) -> UserInput {
    match part {
        DraftPart::Text(text) => UserInput::Text { text: concat(text), text_elements: Vec::new() },
        DraftPart::Image(image) => UserInput::Image { image_url: image.text.clone() },
    }
}
