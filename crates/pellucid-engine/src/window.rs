//! The window strategy: a history is brought within a budget of tokens, turn by turn.
//!
//! Recalled memories are dropped first, from their end; then the oldest turns, which may be summarised; last the
//! summary itself. Injected texts of a layout are never dropped. The loop is a value: it receives the cost of a
//! prompt and returns the next step, so the caller asks the model.
//!
//! - `count`: estimates tokens
//! - `summary`: the prompt for a summary, and how the summary is shown
//! - `settings`: the settings, checked
//!
//! Not here: building the prompt, and where the state is kept.

pub mod count;
pub mod settings;
pub mod summary;

use serde::Deserialize;
use serde::Serialize;

use crate::injection::scalar;
use summary::HistoryMessage;

/// How often a prompt is built at most.
const LOOPS_MAX: usize = 200;

/// With so many dropped messages a summary is made before it fits: twenty turns of eight.
const FLUSH_AT: usize = 20 * 8;

/// The state of a conversation between runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationState {
    /// The summary; blank counts as none.
    pub summary: Option<String>,
    /// The number of messages of the history that the summary covers.
    pub cursor: usize,
    /// The number of summaries so far.
    pub compaction_count: usize,
}

impl ConversationState {
    fn summary(&self) -> Option<&str> {
        self.summary.as_deref().filter(|summary| !scalar::is_blank(summary))
    }
}

/// How much may be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowLimits {
    /// The window in tokens. Without it nothing is dropped.
    pub window: Option<i64>,
    /// The tokens that are reserved for the answer.
    pub reserved: i64,
    /// Whether what is dropped is summarised.
    pub compacts: bool,
}

/// The cost of a prompt, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// The tokens of the messages, including the system prompt.
    pub messages: i64,
    /// The tokens of the tools.
    pub tools: i64,
}

/// The parts that a prompt is built from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PromptParts<'a> {
    /// The summary of what came before.
    pub summary: Option<&'a str>,
    /// The part of the history that is left.
    pub history: &'a [HistoryMessage],
    /// How many messages come before that part.
    pub n_before: usize,
    /// The texts of recalled memories.
    pub memory: &'a [String],
}

/// The next step of the loop.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowStep {
    /// Build the prompt and report its cost.
    Build,
    /// Summarise these messages, and say what came of it.
    Summarise {
        /// The summary so far.
        previous: Option<String>,
        /// The messages that were dropped.
        dropped: Vec<HistoryMessage>,
    },
    /// The prompt fits the window.
    Fits {
        /// The state to store, if it changed.
        changed: Option<ConversationState>,
    },
    /// The prompt cannot be made to fit.
    Failed(WindowExceeded),
}

/// A prompt that cannot be made to fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WindowExceeded {
    /// Nothing is left to drop.
    #[error(
        "Estimated {estimated} prompt tokens exceeds limit {limit} (messages: {}, tools: {}, context_window: {window}, reserved_output: {reserved})",
        cost.messages, cost.tools
    )]
    Tokens {
        /// The cost of the prompt.
        cost: Cost,
        /// The sum of that cost.
        estimated: i64,
        /// The limit for that sum.
        limit: i64,
        /// The context window, in tokens.
        window: i64,
        /// The tokens that are reserved for the answer.
        reserved: i64,
    },
    /// The loop reached its maximum number of steps.
    #[error("context management exceeded max_loops={LOOPS_MAX}")]
    Loops,
}

/// The loop that fits a prompt into the window.
#[derive(Debug, Clone)]
pub struct Window {
    limits: WindowLimits,
    /// The history after the cursor.
    history: Vec<HistoryMessage>,
    /// The number of messages that are dropped.
    start: usize,
    memory: Vec<String>,
    summary: Option<String>,
    cursor: usize,
    count: usize,
    /// The state at the beginning of the run.
    loaded: ConversationState,
    /// How many of the dropped messages wait for a summary.
    n_waiting: usize,
    summary_is_dropped: bool,
    n_loops: usize,
    /// How many messages the cursor left out.
    n_skipped: usize,
}

impl Window {
    /// Begins with a stored state and the whole history. The second value says that the stored state
    /// is of another history and has to be cleared.
    pub fn new(
        limits: WindowLimits,
        stored: &ConversationState,
        history: &[HistoryMessage],
        memory: Vec<String>,
    ) -> (Self, bool) {
        let mut loaded = stored.clone();
        loaded.summary = stored.summary().map(str::to_owned);
        if loaded.summary.is_none() {
            loaded.cursor = 0;
        }
        let is_stale = loaded.cursor > history.len();
        if is_stale {
            loaded = ConversationState::default();
        }
        let n_skipped = loaded.cursor;
        let window = Self {
            limits,
            history: history[n_skipped..].to_vec(),
            start: 0,
            memory,
            summary: loaded.summary.clone(),
            cursor: loaded.cursor,
            count: loaded.compaction_count,
            loaded,
            n_waiting: 0,
            summary_is_dropped: false,
            n_loops: 0,
            n_skipped,
        };
        (window, is_stale)
    }

    /// The parts that the prompt is built from now.
    pub fn parts(&self) -> PromptParts<'_> {
        PromptParts {
            summary: self.summary.as_deref(),
            history: &self.history[self.start..],
            n_before: self.n_skipped + self.start,
            memory: &self.memory,
        }
    }

    /// The first step of the loop.
    pub fn begin(&mut self) -> WindowStep {
        self.build()
    }

    /// Continues with the cost of the prompt.
    pub fn built(&mut self, cost: Cost) -> WindowStep {
        let Some(window) = self.limits.window else {
            return WindowStep::Fits { changed: None };
        };
        let limit = window - self.limits.reserved;
        let estimated = cost.messages + cost.tools;
        if estimated <= limit {
            if self.limits.compacts && self.n_waiting > 0 {
                return self.summarise();
            }
            return WindowStep::Fits { changed: self.changed() };
        }
        if self.memory.pop().is_some() {
            return self.build();
        }
        if self.start < self.history.len() {
            self.drop_oldest_turn();
            if self.n_waiting >= FLUSH_AT {
                if self.limits.compacts {
                    return self.summarise();
                }
                self.n_waiting = 0;
            }
            return self.build();
        }
        if self.summary.is_some() && !self.summary_is_dropped {
            self.summary = None;
            self.cursor = self.loaded.cursor;
            self.count = self.loaded.compaction_count;
            self.n_waiting = 0;
            self.summary_is_dropped = true;
            return self.build();
        }
        let reserved = self.limits.reserved;
        WindowStep::Failed(WindowExceeded::Tokens { cost, estimated, limit, window, reserved })
    }

    /// Continues with a summary. Without one the dropped messages are lost.
    pub fn summarised(&mut self, summary: Option<&str>) -> WindowStep {
        if let Some(summary) = summary.map(scalar::strip).filter(|summary| !summary.is_empty()) {
            self.summary = Some(summary.to_owned());
            self.cursor += self.n_waiting;
            self.count += 1;
        }
        self.n_waiting = 0;
        self.build()
    }

    fn build(&mut self) -> WindowStep {
        if self.n_loops == LOOPS_MAX {
            return WindowStep::Failed(WindowExceeded::Loops);
        }
        self.n_loops += 1;
        WindowStep::Build
    }

    fn summarise(&self) -> WindowStep {
        let dropped = self.history[self.start - self.n_waiting..self.start].to_vec();
        WindowStep::Summarise { previous: self.summary.clone(), dropped }
    }

    /// A turn begins with a message of the user; messages before the first one are a separate turn.
    fn drop_oldest_turn(&mut self) {
        let rest = &self.history[self.start + 1..];
        let n = 1 + rest.iter().position(HistoryMessage::begins_turn).unwrap_or(rest.len());
        self.start += n;
        self.n_waiting += n;
    }

    fn changed(&self) -> Option<ConversationState> {
        let state =
            ConversationState { summary: self.summary.clone(), cursor: self.cursor, compaction_count: self.count };
        (state != self.loaded).then_some(state)
    }
}

#[cfg(test)]
mod tests;
