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

/// The settings under which several summaries are asked for at once.
const SEVERAL: &str = "`useExperimentalImpl = true` and `summaries = \"model\"`";

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
    /// How many tokens SupaMemory and HypaMemory v2 summarise at once.
    pub chunk_tokens: Option<f64>,
    /// The room for the memory of HypaMemory v2, in tokens.
    pub allocated_tokens: Option<f64>,
    /// The room for the past in Hanurai, in tokens.
    pub recall_tokens: Option<f64>,
    /// Whether Hanurai compares paragraphs one by one.
    pub recall_paragraphs: Option<bool>,
    /// Whether SupaMemory takes punctuation out of what it remembers.
    pub remove_punctuation: Option<bool>,
    /// Settings of HypaV3, with the keys that its presets have.
    pub preset: Option<PresetTable>,
}

/// `[memory.preset]` of a layout.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "toml::Table")]
pub struct PresetTable {
    /// The settings; a key that is absent is as usual.
    pub settings: preset::CardSettings,
    /// The keys that are written.
    keys: Vec<String>,
}

/// Keys that presets of the reference have and this program has no use for.
const UNUSED: [&str; 4] = ["summarizationModel", "reSummarizationPrompt", "processRegexScript", "alwaysToggleOn"];

impl TryFrom<toml::Table> for PresetTable {
    type Error = String;

    fn try_from(table: toml::Table) -> Result<Self, String> {
        let keys: Vec<String> = table.keys().cloned().collect();
        if let Some(key) = keys.iter().find(|key| UNUSED.contains(&key.as_str())) {
            return Err(format!("`{key}` of a preset has no effect in a layout"));
        }
        let settings: preset::CardSettings =
            table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        if settings.max_chats_per_summary < 1.0 {
            return Err("`maxChatsPerSummary` must be at least 1".to_owned());
        }
        Ok(Self { settings, keys })
    }
}

/// The strategies that keep a chat within its window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryStrategy {
    /// The oldest entries go.
    Window,
    /// One running summary of the chat.
    Supa,
    /// The same with fragments of the past.
    HypaV1,
    /// Summaries, and details that are recalled.
    HypaV2,
    /// Summaries as cards that are recalled.
    #[default]
    HypaV3,
    /// The past itself, by likeness.
    Hanurai,
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

    /// The settings of HypaV3.
    pub fn preset(&self) -> preset::CardSettings {
        self.preset.clone().unwrap_or_default().settings
    }

    /// Why a key of this table could never have an effect in the whole layout, if there is one.
    pub(crate) fn without_effect(&self, whole: &Self) -> Option<String> {
        use MemoryStrategy::Hanurai;
        use MemoryStrategy::HypaV1;
        use MemoryStrategy::HypaV2;
        use MemoryStrategy::HypaV3;
        use MemoryStrategy::Supa;
        let strategy = whole.strategy();
        let is_one_of = |served: &[MemoryStrategy]| served.contains(&strategy);
        let (summarises, compares) =
            (is_one_of(&[Supa, HypaV1, HypaV2, HypaV3]), is_one_of(&[HypaV1, HypaV2, HypaV3, Hanurai]));
        let asks_model = summarises && whole.summaries.unwrap_or_default() == Summariser::Model;
        let asks_vectors = compares && whole.vectors.unwrap_or_default() == Embedder::Provider;
        let asks_several = whole.preset().use_experimental_impl && asks_model;
        let has = |key: &str| self.preset.as_ref().is_some_and(|preset| preset.keys.iter().any(|known| known == key));
        let keys = [
            (
                "chunk_tokens",
                self.chunk_tokens.is_some(),
                is_one_of(&[Supa, HypaV1, HypaV2]),
                "a strategy that reads it",
            ),
            ("allocated_tokens", self.allocated_tokens.is_some(), is_one_of(&[HypaV2]), "`strategy = \"hypa_v2\"`"),
            ("recall_tokens", self.recall_tokens.is_some(), is_one_of(&[Hanurai]), "`strategy = \"hanurai\"`"),
            ("recall_paragraphs", self.recall_paragraphs.is_some(), is_one_of(&[Hanurai]), "`strategy = \"hanurai\"`"),
            (
                "remove_punctuation",
                self.remove_punctuation.is_some(),
                is_one_of(&[Supa, HypaV1]),
                "a strategy that reads it",
            ),
            ("summaries", self.summaries.is_some(), summarises, "a strategy that summarises"),
            ("summary_model", self.summary_model.is_some(), asks_model, "`summaries = \"model\"`"),
            ("vectors", self.vectors.is_some(), compares, "a strategy that compares texts"),
            ("vector_model", self.vector_model.is_some(), asks_vectors, "`vectors = \"provider\"`"),
            ("preset", self.preset.is_some(), is_one_of(&[HypaV3]), "`strategy = \"hypa_v3\"`"),
            ("embeddingRequestsPerMinute", has("embeddingRequestsPerMinute"), asks_vectors, "`vectors = \"provider\"`"),
            ("embeddingMaxConcurrent", has("embeddingMaxConcurrent"), asks_vectors, "`vectors = \"provider\"`"),
            ("summarizationRequestsPerMinute", has("summarizationRequestsPerMinute"), asks_several, SEVERAL),
            ("summarizationMaxConcurrent", has("summarizationMaxConcurrent"), asks_several, SEVERAL),
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
        fill(&mut self.preset, &base.preset);
    }

    /// The templates that it needs.
    pub(crate) fn templates(&self) -> [(&'static str, Shape); 2] {
        [(SUMMARY, WORDS), (CARD, WORDS)]
    }

    /// How a summary is asked for when no setting says it.
    pub fn prompt(&self, pack: &Pack) -> String {
        let file = if self.strategy() == MemoryStrategy::HypaV3 { CARD } else { SUMMARY };
        concat(&pack.template(file).text())
    }
}
