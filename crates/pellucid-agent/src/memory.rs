//! What a session remembers when its conversation outgrows the window.
//!
//! The conversation is kept whole here and in the session's file. Requests show the context, the memory and the part of
//! the conversation that a strategy of the engine leaves in the window.
//!
//! - `history`: the conversation as entries
//! - `job`: a strategy with everything it looks at
//! - `recall`: answers to the strategy's questions
//! - `view`: the cards of a memory, for `pellucid memory`
//!
//! Not here: the strategies (`pellucid_engine::memory`).

mod history;
mod job;
mod recall;
mod view;

use pellucid_engine::assemble::Context;
use pellucid_engine::assemble::LayoutMessage;
use pellucid_engine::assemble::PlacedMessage;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Why;
use pellucid_engine::memory::BatchFate;
use pellucid_engine::memory::MemoryFailure;
use pellucid_engine::memory::data::CardData;
use pellucid_engine::memory::data::DetailData;
use pellucid_engine::memory::entry::ChatEntry;
use pellucid_engine::memory::layout::MemoryLayout;
use pellucid_engine::memory::layout::MemoryStrategy;
use pellucid_engine::memory::ranking::KnownVectors;
use pellucid_engine::memory::texts::MemoryTexts;
use pellucid_engine::report::Report;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::Transcript;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

pub use self::history::History;
use self::history::Kept;
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
pub use self::view::CardOrigin;
pub use self::view::CardView;
pub use self::view::cards;
use crate::habits::Habit;
use crate::habits::Happened;
use crate::session::Setup;

/// The name of a memory's part in requests.
pub(crate) const PART: &str = "memory";

/// The name under which a memory is kept beside the session's file.
pub const SIDE: &str = "memory";

/// What is kept of a session's memory beside its file, with the keys of Risuai's files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryFile {
    /// Summaries as cards.
    pub v3: CardData,
    /// Summaries and their details.
    pub v2: DetailData,
    /// The running summary.
    pub supa: Option<String>,
    /// Vectors that a model gave.
    pub vectors: KnownVectors,
}

impl MemoryFile {
    /// Reads what was kept; what cannot be read is as if it were not there.
    pub fn read(value: Option<&Value>) -> Self {
        value.and_then(|value| serde_json::from_value(value.clone()).ok()).unwrap_or_default()
    }
}

/// The memory of a session.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    layout: MemoryLayout,
    prompt: String,
    texts: MemoryTexts,
    file: MemoryFile,
    history: History,
    /// What requests show now: where the conversation begins, and what is before it.
    shown: Option<Shown>,
    /// Requests that were sent for the memory and are not recorded yet.
    asked: AskedList,
}

#[derive(Debug, Clone, PartialEq)]
struct Shown {
    first: usize,
    memories: Vec<ChatEntry>,
}

impl Memory {
    /// The memory of a session whose pack has one.
    pub(crate) fn of(setup: &Setup) -> Option<Self> {
        let layout = setup.pack.layout.memory.as_ref()?;
        let file = MemoryFile::read(setup.side.get(SIDE));
        let (prompt, texts) = (layout.prompt(&setup.pack), MemoryTexts::of(&setup.pack));
        let (history, asked) = (History::default(), AskedList::default());
        Some(Self { layout: layout.clone(), prompt, texts, file, history, shown: None, asked })
    }

    pub(crate) fn layout(&self) -> &MemoryLayout {
        &self.layout
    }

    /// Requests that were sent for the memory and are not recorded yet. Clones are the same list.
    pub(crate) fn asked(&self) -> &AskedList {
        &self.asked
    }

    /// A strategy with everything it looks at. `around` is what surrounds the conversation, in tokens.
    pub(crate) fn job(&self, model: &str, window: Option<i64>, around: f64) -> Job {
        Job::new(self, model, window, around)
    }

    /// Whether the conversation does not fit the window.
    pub(crate) fn is_over(&self, model: &str, window: Option<i64>, around: f64) -> bool {
        let first = self.shown.as_ref().map_or(0, |shown| shown.first);
        self.job(model, window, around).is_over(first)
    }

    /// Takes over what a strategy did, and keeps it beside the session's file.
    pub(crate) fn take(&mut self, setup: &mut Setup, remembered: Remembered) -> Result<Done, MemoryFailure> {
        let Remembered { result, cards, vectors, failure: _ } = remembered;
        if let Some(cards) = cards {
            self.file.v3 = cards;
        }
        self.file.vectors.extend(vectors);
        if let Ok(done) = &result {
            if let Some(details) = &done.details {
                self.file.v2.clone_from(details);
            }
            if let Some(summary) = &done.running_summary {
                self.file.supa = Some(summary.clone());
            }
        }
        setup.keep(SIDE, serde_json::to_value(&self.file).unwrap_or_default());
        result
    }

    /// Shows what a strategy decided. A transcript that shows it already is left as it is.
    pub(crate) fn show(&mut self, done: &Done, transcript: &mut Transcript, context: Context) {
        let shown = Shown { first: done.first, memories: done.memories.clone() };
        if self.changes_view(done) {
            transcript.clear();
            for message in context.messages {
                transcript.record_draft(&Draft::from(message));
            }
            if self.layout.place().is_none() {
                for memory in &shown.memories {
                    transcript.record_draft(&Draft::from(self.block(memory)));
                }
            }
            self.history.record_from(shown.first, transcript);
        }
        self.shown = Some(shown);
    }

    /// Whether requests will look different after what a strategy decided.
    pub(crate) fn changes_view(&self, done: &Done) -> bool {
        match &self.shown {
            Some(before) => before.first != done.first || before.memories != done.memories,
            // Without a memory and with everything in the window, nothing is different.
            None => !done.memories.is_empty() || done.first > 0,
        }
    }

    /// The memories with their place, if the layout has one for them within the conversation.
    pub(crate) fn placed(&self) -> Vec<PlacedMessage> {
        let Some(depth) = self.layout.place() else {
            return Vec::new();
        };
        let memories = self.shown.iter().flat_map(|shown| &shown.memories);
        memories.map(|memory| PlacedMessage { message: self.block(memory), depth }).collect()
    }

    /// A memory as a message.
    fn block(&self, memory: &ChatEntry) -> LayoutMessage {
        let memory = Fragment::provided("the memory of this session", memory.content.as_str());
        let fragments = self.texts.previous(memory);
        LayoutMessage { slot: PART.into(), role: "developer", fragments, inside: None }
    }

    /// What the model does not see of the conversation.
    fn omissions(&self) -> Vec<Omission> {
        let Some(shown) = &self.shown else {
            return Vec::new();
        };
        let gone = self.history.entries().into_iter().take(shown.first);
        let omission = |(entry, _): (ChatEntry, _)| {
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
            MemoryStrategy::Cards => {
                let card = self.file.v3.summaries.iter().position(|summary| has(&summary.chat_memos));
                card.map_or_else(String::new, |card| format!("card {}", card + 1))
            }
            MemoryStrategy::SummariesAndDetails => {
                let chunk = self.file.v2.main_chunks.iter().find(|chunk| has(&chunk.chat_memos));
                chunk.map_or_else(String::new, |chunk| format!("summary {}", chunk.id))
            }
            MemoryStrategy::RunningSummary | MemoryStrategy::SummaryAndFragments => "the summary".to_owned(),
            MemoryStrategy::Window | MemoryStrategy::Recall => String::new(),
        }
    }
}

impl Habit for Memory {
    fn copied(&self) -> Box<dyn Habit> {
        // Clones of the list are the same list, and what a copy asks is no request of the session.
        Box::new(Self { asked: AskedList::default(), ..self.clone() })
    }

    fn note(&mut self, _setup: &mut Setup, happened: &Happened<'_>) {
        match happened {
            Happened::Drafted(draft) => self.history.push(Kept::Draft((*draft).clone())),
            Happened::Recorded(item, origin) => self.history.push(Kept::Item((*item).clone(), (*origin).clone())),
            Happened::Restored(transcript, origin) | Happened::Replaced(transcript, origin) => {
                self.history = History::default();
                self.shown = None;
                for (item, spans) in transcript.items_with_origins() {
                    self.history.push_restored(&item, origin, spans);
                }
            }
            Happened::RolledBack { n_turns, .. } => {
                self.history.roll_back(*n_turns);
                self.shown = None;
            }
            _ => {}
        }
    }

    fn report(&self, report: &mut Report) {
        report.omissions.extend(self.omissions());
    }

    fn memory(&self) -> Option<&Memory> {
        Some(self)
    }

    fn memory_mut(&mut self) -> Option<&mut Memory> {
        Some(self)
    }
}

/// What became of messages, in a few words.
pub(crate) fn fate_text(fate: BatchFate) -> &'static str {
    match fate {
        BatchFate::Summarised => "summarised",
        BatchFate::PassedOver => "left the window without a summary",
    }
}
