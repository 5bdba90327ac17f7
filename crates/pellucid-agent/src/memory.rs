//! What a session remembers when its conversation outgrows the window.
//!
//! The conversation is kept whole here and in the session's file. Requests show the context, the
//! memory and the part of the conversation that a strategy of the engine leaves in the window.
//!
//! - `history`: the conversation as entries
//! - `job`: a strategy with everything it looks at
//! - `recall`: answers to its questions
//!
//! Not here: the strategies (`pellucid_engine::memory`).

mod history;
mod job;
mod recall;
mod view;

use std::sync::Arc;

use pellucid_engine::assemble::Context;
use pellucid_engine::encode::Span;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::Why;
use pellucid_engine::memory::BatchFate;
use pellucid_engine::memory::Failure;
use pellucid_engine::memory::data::V2Data;
use pellucid_engine::memory::data::V3Data;
use pellucid_engine::memory::entry::Entry;
use pellucid_engine::memory::layout::MemoryLayout;
use pellucid_engine::memory::layout::Strategy;
use pellucid_engine::memory::prompt::PREVIOUS;
use pellucid_engine::memory::ranking::Known;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::Transcript;
use pellucid_protocol::item::Item;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

pub use self::history::History;
pub(crate) use self::history::Kept;
pub(crate) use self::job::Done;
pub(crate) use self::job::Job;
pub(crate) use self::recall::AskedList;
pub(crate) use self::recall::Asker;
pub(crate) use self::recall::FirstFailure;
pub(crate) use self::recall::Offline;
pub(crate) use self::recall::Over;
pub(crate) use self::recall::Remembered;
pub(crate) use self::recall::UNCUT;
pub(crate) use self::recall::account;
pub(crate) use self::recall::last_said;
pub(crate) use self::recall::remember;
pub(crate) use self::recall::remember_offline;
pub use self::view::CardView;
pub use self::view::Origin as CardOrigin;
pub use self::view::cards;

/// Where it is kept.
pub const SIDE: &str = "memory";

/// What is kept of a session's memory beside its file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryFile {
    /// Summaries as cards.
    pub v3: V3Data,
    /// Summaries and details.
    pub v2: V2Data,
    /// The running summary.
    pub supa: Option<String>,
    /// Vectors that were asked for.
    pub vectors: Known,
}

impl MemoryFile {
    /// Reads what was kept; what cannot be read is as if it were not there.
    pub fn read(value: Option<&Value>) -> Self {
        value.and_then(|value| serde_json::from_value(value.clone()).ok()).unwrap_or_default()
    }
}

/// The memory of a session.
#[derive(Debug)]
pub(crate) struct Memory {
    layout: MemoryLayout,
    prompt: String,
    file: MemoryFile,
    history: History,
    /// What requests show now: where the conversation begins, and what stands before it.
    shown: Option<Shown>,
}

#[derive(Debug, Clone, PartialEq)]
struct Shown {
    first: usize,
    memories: Vec<Entry>,
}

impl Memory {
    pub(crate) fn new(layout: &MemoryLayout, prompt: String, file: MemoryFile) -> Self {
        Self { layout: layout.clone(), prompt, file, history: History::default(), shown: None }
    }

    pub(crate) fn layout(&self) -> &MemoryLayout {
        &self.layout
    }

    /// Notes something that was said.
    pub(crate) fn note(&mut self, kept: Kept) {
        self.history.push(kept);
    }

    /// Notes an item of a session that goes on, unless the layout says it anew.
    pub(crate) fn note_restored(&mut self, item: &Item, origin: &Origin, spans: Arc<[Span]>) {
        self.history.push_restored(item, origin, spans);
    }

    /// Takes the last turns of the person away.
    pub(crate) fn roll_back(&mut self, n_turns: usize) {
        self.history.roll_back(n_turns);
        self.shown = None;
    }

    /// A strategy with everything it looks at. `around` is what surrounds the conversation, in tokens.
    pub(crate) fn job(&self, model: &str, window: Option<i64>, around: f64) -> Job {
        Job::new(self, model, window, around)
    }

    /// Whether the conversation has to be made to fit before it goes on.
    pub(crate) fn is_over(&self, model: &str, window: Option<i64>, around: f64) -> bool {
        let first = self.shown.as_ref().map_or(0, |shown| shown.first);
        self.job(model, window, around).is_over(first)
    }

    /// Takes over what a strategy did. Gives what is to be kept.
    pub(crate) fn take(&mut self, remembered: Remembered) -> (Result<Done, Failure>, Value) {
        let Remembered { result, v3, vectors, failure: _ } = remembered;
        if let Some(v3) = v3 {
            self.file.v3 = v3;
        }
        self.file.vectors.extend(vectors);
        if let Ok(done) = &result {
            if let Some(v2) = &done.v2 {
                self.file.v2.clone_from(v2);
            }
            if let Some(supa) = &done.supa {
                self.file.supa = Some(supa.clone());
            }
        }
        let kept = serde_json::to_value(&self.file).unwrap_or_default();
        (result, kept)
    }

    /// Shows what a strategy decided. A transcript that shows it already is left as it is.
    pub(crate) fn show(&mut self, done: &Done, transcript: &mut Transcript, context: Context) {
        let shown = Shown { first: done.first, memories: done.memories.clone() };
        if self.is_shown_anew(done) {
            transcript.clear();
            for message in context.messages {
                transcript.record_draft(&Draft::from(message));
            }
            for memory in &shown.memories {
                transcript.record_draft(&block(memory));
            }
            self.history.record_from(shown.first, transcript);
        }
        self.shown = Some(shown);
    }

    /// Whether requests will look different after what a strategy decided.
    pub(crate) fn is_shown_anew(&self, done: &Done) -> bool {
        match &self.shown {
            Some(before) => before.first != done.first || before.memories != done.memories,
            // Without a memory and with everything in the window, nothing is different.
            None => !done.memories.is_empty() || done.first > 0,
        }
    }

    /// What the model does not see of the conversation.
    pub(crate) fn omissions(&self) -> Vec<Omission> {
        let Some(shown) = &self.shown else {
            return Vec::new();
        };
        let gone = self.history.entries().into_iter().take(shown.first);
        let omission = |(entry, _): (Entry, _)| {
            let memo = entry.memo.clone().unwrap_or_default();
            Omission {
                slot: "memory".into(),
                what: format!("{} {memo}", entry.role.word()),
                why: Why::LeftWindow { of: entry.content.len() as u64, kept_as: self.kept_as(&memo) },
            }
        };
        gone.map(omission).collect()
    }

    /// What took a message's place.
    fn kept_as(&self, memo: &str) -> String {
        let has = |memos: &[Option<String>]| memos.iter().flatten().any(|known| known == memo);
        match self.layout.strategy() {
            Strategy::HypaV3 => {
                let card = self.file.v3.summaries.iter().position(|summary| has(&summary.chat_memos));
                card.map_or_else(String::new, |card| format!("card {}", card + 1))
            }
            Strategy::HypaV2 => {
                let chunk = self.file.v2.main_chunks.iter().find(|chunk| has(&chunk.chat_memos));
                chunk.map_or_else(String::new, |chunk| format!("summary {}", chunk.id))
            }
            Strategy::Supa | Strategy::HypaV1 => "the summary".to_owned(),
            Strategy::Window | Strategy::Hanurai => String::new(),
        }
    }
}

/// A memory as a message of ours, at the head of the conversation.
fn block(memory: &Entry) -> Draft {
    let fragments = vec![
        Fragment::layout(PREVIOUS.0),
        Fragment::provided("the memory of this session", memory.content.as_str()),
        Fragment::layout(PREVIOUS.1),
    ];
    Draft::text("memory", "developer", fragments)
}

/// What became of messages, in a few words.
pub(crate) fn fate_text(fate: BatchFate) -> &'static str {
    match fate {
        BatchFate::Summarised => "summarised",
        BatchFate::PassedOver => "left the window without a summary",
    }
}
