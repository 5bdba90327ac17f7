//! What the client asks about the past of its session, what the program answers, and the pages that show it.
//!
//! - `summary`: a summary on trial, and what the last compaction lost
//! - `back`: what going back to an earlier message does to files

pub mod back;
pub mod summary;

use pellucid_protocol::change::Changes;
use ratatui_core::style::Style;
use ratatui_core::text::Line;

use crate::host::StoredRecord;
use crate::text::clean;
use crate::text::wrap::Breaking;
use crate::text::wrap::Indent;
use crate::text::wrap::wrap_text;

/// Something that the client wants to know of the past of its session, or to change in it. The answer comes when it is
/// ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PastCall {
    /// Ask for a summary, and change nothing.
    TrySummary,
    /// Say what this summary would do.
    JudgeSummary(String),
    /// Put this summary in place of the history.
    StoreSummary {
        /// The summary in its own words.
        summary: String,
        /// Whether a person changed what the model wrote.
        is_edited: bool,
    },
    /// Say what the last compaction did.
    LastCompaction,
    /// Undo the last compaction.
    UndoCompaction,
    /// Say what going back by so many messages does to files.
    WayBack {
        /// How many messages of the person are taken back.
        n_messages: usize,
    },
    /// Restore the files from before so many messages.
    GoBack {
        /// How many messages of the person are taken back.
        n_messages: usize,
        /// The first of the messages, if they leave the conversation too. It comes back with the answer.
        message: Option<String>,
    },
    /// Take the last going back back.
    Redo,
}

/// The answer to a call about the past.
#[derive(Debug, Clone, PartialEq)]
pub enum PastAnswer {
    /// What a summary on trial would do, or why there is none.
    Summary(Result<Box<SummaryView>, String>),
    /// What the last compaction did, or why that is not known.
    LastCompaction(Result<Box<SummaryView>, String>),
    /// The history was changed, with what is to be said about it; or why it was not.
    Reshaped(Result<String, String>),
    /// What going back does to files.
    WayBack(Result<Box<WayBack>, String>),
    /// Files were restored, or why they were not.
    WentBack(Result<WentBack, String>),
    /// A going back was taken back, or why it was not.
    Redone(Result<Box<Redone>, String>),
}

/// What a summary does to the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummaryView {
    /// The estimated tokens of the prompt, before and after.
    pub tokens: (usize, usize),
    /// The items that leave, a line for each.
    pub leaves: Vec<String>,
    /// The items that stay, a line for each.
    pub stays: Vec<String>,
    /// The summary in its own words; absent if the provider sealed it.
    pub summary: Option<String>,
    /// What is in the items that leave and in none that stay.
    pub lost: Vec<LostFacts>,
}

/// Facts of one kind that a summary leaves out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LostFacts {
    /// The kind, such as `paths`.
    pub kind: String,
    /// The facts in the words of the conversation.
    pub facts: Vec<String>,
}

/// What going back to an earlier message does to files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WayBack {
    /// The number of the first turn that is taken back.
    pub turn: usize,
    /// How files would change, from what they are now.
    pub changes: Changes,
    /// The files that stay as they are although the session changed them, each with the reason.
    pub kept: Vec<String>,
    /// The calls whose effects stay, because only patches are undone.
    pub effects: Vec<String>,
}

/// What came of going back with files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WentBack {
    /// What is to be said about it.
    pub words: String,
    /// The first of the messages that left the conversation.
    pub message: Option<String>,
}

/// What was taken back of a going back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Redone {
    /// What is to be said about it.
    pub words: String,
    /// What the session's file has now, if turns are in the conversation again.
    pub history: Option<Vec<StoredRecord>>,
}

/// A text in lines of this width.
fn wrapped(text: &str, columns: usize, indent: usize, style: Style) -> Vec<Line<'static>> {
    let one = |line: &str| {
        let line = clean::line(line).into_owned();
        wrap_text(&line, style, columns, &Indent::blanks(indent), Breaking::Words)
    };
    text.lines().flat_map(one).collect()
}
