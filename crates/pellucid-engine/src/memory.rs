//! Memory: how a conversation that outgrows the window is kept in it.
//!
//! A strategy takes the entries of a chat, a window and what was remembered before, and gives the
//! entries to send and what to remember now. Several are known: the plain [`window`], [`running_summary`]
//! (one running summary, with fragments of the past in its mode v1), [`summaries_and_details`] (summaries and
//! details), [`summary_cards`] (summaries as cards, chosen by age, likeness and chance) and [`recall`]
//! (the past itself, by likeness).
//!
//! Strategies are pure. When one needs a summary or vectors it ends with a [`MemoryQuestion`]; the caller finds the answer
//! and runs the strategy again with all answers so far, until it comes to an end. So tokenizer, embedder, summariser,
//! chance and clock are all values here.
//!
//! - [`entry`], [`count`]: the entries of a chat, and their cost in tokens
//! - [`ask`]: questions and answers
//! - [`ranking`]: likeness, and vectors that are known already
//! - [`data`], [`card_settings`], [`cards`]: the memory, its settings, and how people see it
//! - [`chat_markup`], [`request`]: the request for a summary
//! - [`rate_limiter`]: limits the rate of questions
//! - [`lexical`]: likeness and summaries without a model
//! - [`layout`], [`texts`]: `[memory]` of a pack, and its texts
//!
//! Not here: asking a model, keeping files (`pellucid-agent`).

pub mod ask;
pub mod card_settings;
pub mod cards;
pub mod chat_markup;
pub mod count;
pub mod data;
pub mod entry;
pub mod layout;
pub mod lexical;
pub mod ranking;
pub mod rate_limiter;
pub mod recall;
pub mod request;
pub mod running_summary;
pub mod summaries_and_details;
pub mod summary_cards;
pub mod texts;
pub mod window;

use std::fmt;

use self::ask::MemoryQuestion;

/// The tokens that are kept free beside the answer when the entries are first counted.
pub const SPARE: f64 = 50.0;

/// Why a strategy did not come to its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// The strategy needs an answer before it can continue.
    Asks(MemoryQuestion),
    /// The strategy failed with this error.
    Fails(MemoryFailure),
}

/// Why a chat cannot be made to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryFailure {
    /// The kind of failure, in one word.
    pub code: &'static str,
    /// The figures for the message.
    pub numbers: Vec<f64>,
    /// The tokens counted before the failure.
    pub tokens: f64,
    /// Whether it is a mistake of the settings rather than of the chat: nothing is kept then.
    pub is_raised: bool,
    /// The error text of a model or an embedder, if one of them failed; else empty.
    pub detail: String,
}

impl MemoryFailure {
    /// A failure with its figures.
    pub fn new(code: &'static str, numbers: Vec<f64>, tokens: f64) -> Self {
        Self { code, numbers, tokens, is_raised: false, detail: String::new() }
    }

    /// Whether the context window is too small for the chat.
    pub fn is_of_window(&self) -> bool {
        matches!(
            self.code,
            "too_many_tokens"
                | "too_many_tokens_recheck"
                | "cannot_summarize_further"
                | "cannot_summarize_last_4"
                | "not_enough_tokens"
                | "unexpected_overflow"
        )
    }

    fn because(mut self, detail: &str) -> Self {
        detail.clone_into(&mut self.detail);
        self
    }
}

impl fmt::Display for MemoryFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = |at: usize| self.numbers.get(at).copied().unwrap_or_default();
        match self.code {
            "too_many_tokens" | "too_many_tokens_recheck" => {
                write!(f, "the conversation needs {} tokens, which do not fit the context window", n(0))
            }
            "ratio_sum_gt_1" => f.write_str("recent_ratio and similar_ratio together are more than 1"),
            "cannot_summarize_further" | "cannot_summarize_last_4" => {
                let (have, max, kept) = (n(0), n(1), n(2));
                write!(
                    f,
                    "the conversation needs {have} tokens and {max} fit; the last {kept} messages cannot be summarised"
                )
            }
            "message_exceeds_chunk" => write!(f, "a message has {} tokens, more than chunk_size {}", n(0), n(1)),
            "not_enough_tokens" => f.write_str("the window is too small for a summary and the last messages"),
            "unexpected_overflow" => write!(f, "with its memory the conversation has {} tokens of {}", n(0), n(1)),
            code => f.write_str(&code.replace('_', " ")),
        }?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

impl std::error::Error for MemoryFailure {}

impl From<MemoryFailure> for Stop {
    fn from(failure: MemoryFailure) -> Self {
        Self::Fails(failure)
    }
}

/// A chat, and what it has to fit.
#[derive(Debug, Clone, Copy)]
pub struct Chat<'a> {
    /// The entries of the chat, oldest first.
    pub entries: &'a [entry::ChatEntry],
    /// Their tokens, with those of everything around them and of the answer.
    pub tokens: f64,
    /// The limits in tokens that the chat has to fit.
    pub limits: ChatLimits,
    /// How entries are counted.
    pub count: &'a count::EntryCounter<'a>,
    /// Vectors that are known.
    pub known: &'a ranking::KnownVectors,
    /// The texts around what is remembered.
    pub texts: &'a texts::MemoryTexts,
}

/// The limits in tokens that a chat has to fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChatLimits {
    /// The context window, in tokens.
    pub max: f64,
    /// The part of the window that is reserved for the answer.
    pub response: f64,
}

/// The result of applying a strategy to a chat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StrategyOutcome<D> {
    /// The entries to send.
    pub entries: Vec<entry::ChatEntry>,
    /// How many tokens that is, as the strategy counts.
    pub tokens: f64,
    /// The memory after the run.
    pub data: D,
    /// The entries that left the chat, in groups.
    pub batches: Vec<Batch>,
}

/// Entries that left the chat together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The memos of the entries, which are the ids of their messages.
    pub memos: Vec<Option<String>>,
    /// Whether a summary replaced the entries.
    pub fate: BatchFate,
}

/// Whether entries that left the chat were summarised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchFate {
    /// A summary replaced the entries.
    Summarised,
    /// The entries were dropped without a summary.
    PassedOver,
}

#[cfg(test)]
mod tests;
