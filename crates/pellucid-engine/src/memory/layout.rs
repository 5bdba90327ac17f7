//! `[memory]` of a layout: how what does not fit the window is remembered.

use serde::Deserialize;

use super::card_settings::CardSettings;
use crate::pack::Depth;
use crate::pack::HistoryEnd;

/// The settings under which several summaries are asked for at once.
const SEVERAL: &str = "`experimental = true` and `summaries = \"model\"`";

/// `[memory]` of a layout.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryLayout {
    /// The strategy; absent for the default.
    pub strategy: Option<MemoryStrategy>,
    /// The window in tokens; the model's own where it is smaller.
    pub max_context: Option<f64>,
    /// Room for the answer, in tokens.
    pub max_response: Option<f64>,
    /// The source of summaries; absent for the default.
    pub summaries: Option<Summariser>,
    /// The model that does; the session's own when absent.
    pub summary_model: Option<String>,
    /// The source of vectors; absent for the default.
    pub vectors: Option<Embedder>,
    /// The provider's model that does.
    pub vector_model: Option<String>,
    /// How many tokens a running summary, or a summary with details, takes in at once.
    pub chunk_tokens: Option<f64>,
    /// The room for summaries with their details, in tokens.
    pub allocated_tokens: Option<f64>,
    /// The room for earlier messages that are recalled, in tokens.
    pub recall_tokens: Option<f64>,
    /// Whether paragraphs of earlier messages are compared one by one.
    pub recall_paragraphs: Option<bool>,
    /// Whether a running summary is kept without punctuation.
    pub remove_punctuation: Option<bool>,
    /// The place of the memory within the conversation, as for a slot; absent for its head.
    pub depth: Option<usize>,
    /// The end of the conversation that the depth is counted from; absent for the last message.
    pub from: Option<HistoryEnd>,
    /// Settings of cards; `preset` in files of another system.
    #[serde(alias = "preset")]
    pub cards: Option<CardSettings>,
}

/// The strategies that keep a chat within its window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryStrategy {
    /// The oldest entries go.
    Window,
    /// One running summary of the chat.
    #[serde(alias = "supa")]
    RunningSummary,
    /// The same with fragments of the past.
    #[serde(alias = "hypa_v1")]
    SummaryAndFragments,
    /// Summaries, and details that are recalled.
    #[serde(alias = "hypa_v2")]
    SummariesAndDetails,
    /// Summaries as cards that are recalled.
    #[default]
    #[serde(alias = "hypa_v3")]
    Cards,
    /// The past itself, by likeness.
    #[serde(alias = "hanurai")]
    Recall,
}

/// The source of summaries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Summariser {
    /// A model of the provider.
    #[default]
    Model,
    /// No model: the first sentences are kept.
    Lexical,
}

/// The source of vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Embedder {
    /// No model: words are counted.
    #[default]
    Lexical,
    /// A model of the provider.
    Provider,
}

impl MemoryLayout {
    /// The default model for vectors.
    pub const VECTOR_MODEL: &str = "text-embedding-3-small";

    /// The strategy, or the default one.
    pub fn strategy(&self) -> MemoryStrategy {
        self.strategy.unwrap_or_default()
    }

    /// The place of the memory within the conversation; absent for its head.
    pub fn place(&self) -> Option<Depth> {
        Some(Depth { messages: self.depth?, from: self.from.unwrap_or_default() })
    }

    /// The settings of cards.
    pub fn cards(&self) -> CardSettings {
        self.cards.clone().unwrap_or_default()
    }

    /// Why a key of this table could never have an effect in the whole layout, if there is one.
    pub(crate) fn without_effect(&self, whole: &Self) -> Option<String> {
        use MemoryStrategy::Cards;
        use MemoryStrategy::Recall;
        use MemoryStrategy::RunningSummary;
        use MemoryStrategy::SummariesAndDetails;
        use MemoryStrategy::SummaryAndFragments;
        let strategy = whole.strategy();
        let is_one_of = |served: &[MemoryStrategy]| served.contains(&strategy);
        let with_one = [RunningSummary, SummaryAndFragments];
        let summarises = is_one_of(&with_one) || is_one_of(&[SummariesAndDetails, Cards]);
        let compares = is_one_of(&[SummaryAndFragments, SummariesAndDetails, Cards, Recall]);
        let asks_model = summarises && whole.summaries.unwrap_or_default() == Summariser::Model;
        let asks_vectors = compares && whole.vectors.unwrap_or_default() == Embedder::Provider;
        let asks_several = whole.cards().experimental && asks_model;
        let cards = self.cards.as_ref();
        let paced = |pace: fn(&CardSettings) -> Option<f64>| cards.and_then(pace).is_some();
        if cards.is_some_and(|cards| cards.messages_per_card.is_nan() || cards.messages_per_card < 1.0) {
            return Some("`messages_per_card` must be at least 1".to_owned());
        }
        let keys = [
            (
                "chunk_tokens",
                self.chunk_tokens.is_some(),
                is_one_of(&with_one) || strategy == SummariesAndDetails,
                "a strategy that reads it",
            ),
            (
                "allocated_tokens",
                self.allocated_tokens.is_some(),
                is_one_of(&[SummariesAndDetails]),
                "`strategy = \"summaries_and_details\"`",
            ),
            ("recall_tokens", self.recall_tokens.is_some(), is_one_of(&[Recall]), "`strategy = \"recall\"`"),
            ("recall_paragraphs", self.recall_paragraphs.is_some(), is_one_of(&[Recall]), "`strategy = \"recall\"`"),
            ("remove_punctuation", self.remove_punctuation.is_some(), is_one_of(&with_one), "a strategy that reads it"),
            ("summaries", self.summaries.is_some(), summarises, "a strategy that summarises"),
            ("summary_model", self.summary_model.is_some(), asks_model, "`summaries = \"model\"`"),
            ("vectors", self.vectors.is_some(), compares, "a strategy that compares texts"),
            ("vector_model", self.vector_model.is_some(), asks_vectors, "`vectors = \"provider\"`"),
            ("depth", self.depth.is_some(), strategy != MemoryStrategy::Window, "a strategy that remembers"),
            ("from", self.from.is_some(), whole.depth.is_some(), "`depth`"),
            ("cards", self.cards.is_some(), is_one_of(&[Cards]), "`strategy = \"cards\"`"),
            ("vectors_per_minute", paced(|cards| cards.vectors_per_minute), asks_vectors, "`vectors = \"provider\"`"),
            ("vectors_at_once", paced(|cards| cards.vectors_at_once), asks_vectors, "`vectors = \"provider\"`"),
            ("summaries_per_minute", paced(|cards| cards.summaries_per_minute), asks_several, SEVERAL),
            ("summaries_at_once", paced(|cards| cards.summaries_at_once), asks_several, SEVERAL),
        ];
        let dead = keys.into_iter().find(|(_, is_said, has_effect, _)| *is_said && !has_effect);
        dead.map(|(key, .., needs)| format!("`{key}` has no effect without {needs}"))
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
        fill(&mut self.depth, &base.depth);
        fill(&mut self.from, &base.from);
        fill(&mut self.cards, &base.cards);
    }
}
