//! A strategy with everything it looks at, to be run until it comes to an end.

use pellucid_engine::memory::BatchFate;
use pellucid_engine::memory::Chat;
use pellucid_engine::memory::ChatLimits;
use pellucid_engine::memory::SPARE;
use pellucid_engine::memory::Stop;
use pellucid_engine::memory::StrategyOutcome;
use pellucid_engine::memory::ask::Answers;
use pellucid_engine::memory::ask::MemoryAnswer;
use pellucid_engine::memory::card_settings::CardSettings;
use pellucid_engine::memory::count::EntryCounter;
use pellucid_engine::memory::data::CardData;
use pellucid_engine::memory::data::DetailData;
use pellucid_engine::memory::entry::ChatEntry;
use pellucid_engine::memory::layout::MemoryLayout;
use pellucid_engine::memory::layout::MemoryStrategy;
use pellucid_engine::memory::recall;
use pellucid_engine::memory::running_summary;
use pellucid_engine::memory::summaries_and_details;
use pellucid_engine::memory::summary_cards;
use pellucid_engine::memory::summary_cards::Chance;
use pellucid_engine::memory::texts::MemoryTexts;
use pellucid_engine::memory::window::window;
use pellucid_engine::tokens::Estimate;

use super::Memory;
use super::MemoryFile;

/// The window when neither the layout nor the model says how large it is.
const WINDOW: f64 = 100_000.0;

/// A strategy with everything it looks at.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub layout: MemoryLayout,
    pub cards: CardSettings,
    prompt: String,
    texts: MemoryTexts,
    model: String,
    entries: Vec<ChatEntry>,
    /// What surrounds the conversation, in tokens.
    around: f64,
    limits: ChatLimits,
    pub file: MemoryFile,
}

/// What a strategy decided to show.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Done {
    /// The first entry that stays in the window.
    pub first: usize,
    /// The memories before that entry.
    pub memories: Vec<ChatEntry>,
    /// Summaries and details after the run.
    pub details: Option<DetailData>,
    /// The running summary after the run.
    pub running_summary: Option<String>,
    /// Which messages left the window, and what became of them.
    pub batches: Vec<(usize, BatchFate)>,
}

impl Job {
    pub(super) fn new(memory: &Memory, model: &str, window: Option<i64>, around: f64) -> Self {
        let layout = memory.layout.clone();
        let own = window.map_or(f64::INFINITY, |window| window as f64);
        let max = layout.max_context.unwrap_or(f64::INFINITY).min(own);
        let max = if max.is_finite() { max } else { WINDOW };
        let limits = ChatLimits { max, response: layout.max_response.unwrap_or(0.0) };
        let entries = memory.history.entries().into_iter().map(|(entry, _)| entry).collect();
        let (prompt, texts, file) = (memory.prompt.clone(), memory.texts.clone(), memory.file.clone());
        Self { cards: layout.cards(), layout, prompt, texts, model: model.to_owned(), entries, around, limits, file }
    }

    /// The tokens of everything, as a strategy counts them.
    fn tokens(&self, count: &EntryCounter<'_>, first: usize) -> f64 {
        let entries = self.entries.get(first..).unwrap_or_default();
        self.limits.response + SPARE + self.around + count.entries(entries)
    }

    /// Whether what is shown from an entry on does not fit.
    pub(super) fn is_over(&self, first: usize) -> bool {
        self.tokens(&EntryCounter::new(&Estimate, &self.model), first) > self.limits.max
    }

    /// Goes as far as the answers lead. The cards are in `cards`, also after a failure.
    pub(super) fn run(&self, given: &[MemoryAnswer], cards: &mut CardData) -> Result<Done, Stop> {
        let count = EntryCounter::new(&Estimate, &self.model);
        let tokens = self.tokens(&count, 0);
        let (entries, known, texts) = (&self.entries, &self.file.vectors, &self.texts);
        let chat = Chat { entries, tokens, limits: self.limits, count: &count, known, texts };
        let answers = &mut Answers::new(given);
        match self.layout.strategy() {
            MemoryStrategy::Window => {
                let window = window(self.entries.clone(), tokens, self.limits.max, &count)?;
                Ok(Done { first: window.n_dropped, ..Done::default() })
            }
            MemoryStrategy::Recall => {
                let settings = recall::RecallSettings {
                    tokens: self.layout.recall_tokens.unwrap_or(1000.0),
                    is_split: self.layout.recall_paragraphs.unwrap_or(false),
                };
                Ok(self.done(&recall::recall(&chat, &settings, answers)?))
            }
            strategy @ (MemoryStrategy::RunningSummary | MemoryStrategy::SummaryAndFragments) => {
                let settings = running_summary::RunningSummarySettings {
                    mode: if strategy == MemoryStrategy::RunningSummary {
                        running_summary::SummaryMode::Alone
                    } else {
                        running_summary::SummaryMode::WithFragments
                    },
                    chunk_tokens_max: self.layout.chunk_tokens.unwrap_or(1200.0),
                    removes_punctuation: self.layout.remove_punctuation.unwrap_or(true),
                    prompt: self.prompt.clone(),
                    user: "user".to_owned(),
                    character: "assistant".to_owned(),
                    cast: running_summary::Cast::One,
                };
                let memory = self.file.supa.as_deref();
                let mut outcome = running_summary::running_summary(&chat, memory, &settings, answers)?;
                let running_summary = outcome.data.memory.take();
                Ok(Done { running_summary, ..self.done(&outcome) })
            }
            MemoryStrategy::SummariesAndDetails => {
                let settings = summaries_and_details::DetailSettings {
                    allocated_tokens: self.layout.allocated_tokens.unwrap_or(3000.0),
                    chunk_size: self.layout.chunk_tokens.unwrap_or(3000.0),
                    prompt: self.prompt.clone(),
                };
                let data = self.file.v2.clone();
                let mut outcome = summaries_and_details::summaries_and_details(&chat, data, &settings, answers)?;
                let details = Some(std::mem::take(&mut outcome.data));
                Ok(Done { details, ..self.done(&outcome) })
            }
            MemoryStrategy::Cards => {
                cards.clone_from(&self.file.v3);
                let (settings, prompt, chance) = (&self.cards, &*self.prompt, self.chance());
                let input = summary_cards::Input { chat, settings, prompt, chance };
                summary_cards::summary_cards(&input, cards, answers).map(|outcome| self.done(&outcome))
            }
        }
    }

    /// Chance that is the same for the same conversation.
    fn chance(&self) -> Chance {
        let memo = self.entries.last().and_then(|entry| entry.memo.as_deref()).unwrap_or_default();
        Chance::Seeded(
            memo.bytes()
                .fold(0xcbf2_9ce4_8422_2325, |seed: u64, byte| (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)),
        )
    }

    fn done<D>(&self, outcome: &StrategyOutcome<D>) -> Done {
        let memories: Vec<ChatEntry> = outcome.entries.iter().take_while(|it| it.is_memory()).cloned().collect();
        let n_kept = outcome.entries.len() - memories.len();
        let batches = outcome.batches.iter().map(|batch| (batch.memos.len(), batch.fate)).collect();
        Done { first: self.entries.len() - n_kept, memories, batches, ..Done::default() }
    }
}
