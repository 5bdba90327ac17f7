//! `[memory]` of a layout: how what does not fit the window is remembered.

use serde::Deserialize;

use super::preset;
use crate::fragment::concat;
use crate::pack::Pack;
use crate::template::Shape;
use crate::template::Trim;

/// Texts are used without the newline at their end.
const WORDS: Shape = Shape { trim: Trim::Newline, places: &[] };
const SUMMARY: &str = "memory/summary.md";
const CARD: &str = "memory/card.md";

/// `[memory]` of a layout.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryLayout {
    /// Which strategy.
    pub strategy: Option<Strategy>,
    /// The window in tokens; the model's own where it is smaller.
    pub max_context: Option<f64>,
    /// Room for the answer, in tokens.
    pub max_response: Option<f64>,
    /// Who summarises.
    pub summaries: Option<Summariser>,
    /// The model that does; the session's own when absent.
    pub summary_model: Option<String>,
    /// Who makes vectors.
    pub vectors: Option<Embedder>,
    /// The provider's model that does.
    pub vector_model: Option<String>,
    /// How many tokens SupaMemory and HypaMemory v2 summarise at once.
    pub chunk_tokens: Option<f64>,
    /// The room for the memory of HypaMemory v2, in tokens.
    pub allocated_tokens: Option<f64>,
    /// The room for the past in Hanurai, in tokens.
    pub recall_tokens: Option<f64>,
    /// Whether Hanurai looks at paragraphs one by one.
    pub recall_paragraphs: Option<bool>,
    /// Whether SupaMemory takes punctuation out of what it remembers.
    pub remove_punctuation: Option<bool>,
    /// Settings of HypaV3, with the keys that its presets have.
    pub preset: Option<preset::Settings>,
}

/// A strategy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The oldest entries go.
    Window,
    /// One running summary.
    Supa,
    /// The same with fragments of the past.
    HypaV1,
    /// Summaries and details.
    HypaV2,
    /// Summaries as cards.
    #[default]
    HypaV3,
    /// The past itself, by likeness.
    Hanurai,
}

/// Who summarises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Summariser {
    /// A model of the provider.
    #[default]
    Model,
    /// Nobody: the first sentences are kept.
    Lexical,
}

/// Who makes vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Embedder {
    /// Nobody: words are counted.
    #[default]
    Lexical,
    /// A model of the provider.
    Provider,
}

impl MemoryLayout {
    /// The model that makes vectors when nobody says which.
    pub const VECTOR_MODEL: &str = "text-embedding-3-small";

    /// Which strategy.
    pub fn strategy(&self) -> Strategy {
        self.strategy.unwrap_or_default()
    }

    /// Settings of HypaV3.
    pub fn preset(&self) -> preset::Settings {
        self.preset.clone().unwrap_or_default()
    }

    /// Takes from the layout beneath whatever this one does not say.
    pub(crate) fn complete(&mut self, base: &Self) {
        fn fill<T: Clone>(own: &mut Option<T>, base: &Option<T>) {
            if own.is_none() {
                own.clone_from(base);
            }
        }
        fill(&mut self.strategy, &base.strategy);
        fill(&mut self.max_context, &base.max_context);
        fill(&mut self.max_response, &base.max_response);
        fill(&mut self.summaries, &base.summaries);
        fill(&mut self.summary_model, &base.summary_model);
        fill(&mut self.vectors, &base.vectors);
        fill(&mut self.vector_model, &base.vector_model);
        fill(&mut self.chunk_tokens, &base.chunk_tokens);
        fill(&mut self.allocated_tokens, &base.allocated_tokens);
        fill(&mut self.recall_tokens, &base.recall_tokens);
        fill(&mut self.recall_paragraphs, &base.recall_paragraphs);
        fill(&mut self.remove_punctuation, &base.remove_punctuation);
        fill(&mut self.preset, &base.preset);
    }

    /// The templates that it needs.
    pub(crate) fn templates(&self) -> [(&'static str, Shape); 2] {
        [(SUMMARY, WORDS), (CARD, WORDS)]
    }

    /// How a summary is asked for when no setting says it.
    pub fn prompt(&self, pack: &Pack) -> String {
        let file = if self.strategy() == Strategy::HypaV3 { CARD } else { SUMMARY };
        concat(&pack.template(file).text())
    }
}
