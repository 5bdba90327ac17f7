//! Settings of [`super::summary_cards`]: `[memory.cards]` of a layout.
//!
//! Other words for the same keys are those of files that people carry over.

use serde::Deserialize;

/// How much is remembered, and how.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CardSettings {
    /// How a summary is asked for; empty for the usual words.
    #[serde(alias = "summarizationPrompt")]
    pub summary_prompt: String,
    /// The share of the window for the memory.
    #[serde(alias = "memoryTokensRatio")]
    pub memory_ratio: f64,
    /// How far below the window to go once something is summarised.
    #[serde(alias = "extraSummarizationRatio")]
    pub extra_ratio: f64,
    /// How many messages make a summary.
    #[serde(alias = "maxChatsPerSummary")]
    pub messages_per_card: f64,
    /// The share of the memory for new summaries.
    #[serde(alias = "recentMemoryRatio")]
    pub recent_ratio: f64,
    /// The share for cards that are similar to the last messages.
    #[serde(alias = "similarMemoryRatio")]
    pub similar_ratio: f64,
    /// Whether the last messages are summarised for the comparison.
    #[serde(alias = "enableSimilarityCorrection")]
    pub similarity_correction: bool,
    /// Whether summaries stay whose messages are gone.
    #[serde(alias = "preserveOrphanedMemory")]
    pub keep_orphans: bool,
    /// Whether what people say is left out of summaries.
    #[serde(alias = "doNotSummarizeUserMessage")]
    pub skip_user_messages: bool,
    /// Whether the experimental implementation is used.
    #[serde(alias = "useExperimentalImpl")]
    pub experimental: bool,
    /// How many summaries a minute; absent for the default.
    #[serde(alias = "summarizationRequestsPerMinute")]
    pub summaries_per_minute: Option<f64>,
    /// How many at once; absent for the default.
    #[serde(alias = "summarizationMaxConcurrent")]
    pub summaries_at_once: Option<f64>,
    /// How many requests for vectors a minute; absent for the default.
    #[serde(alias = "embeddingRequestsPerMinute")]
    pub vectors_per_minute: Option<f64>,
    /// How many at once; absent for the default.
    #[serde(alias = "embeddingMaxConcurrent")]
    pub vectors_at_once: Option<f64>,
}

impl Default for CardSettings {
    fn default() -> Self {
        Self {
            summary_prompt: String::new(),
            memory_ratio: 0.2,
            extra_ratio: 0.0,
            messages_per_card: 6.0,
            recent_ratio: 0.4,
            similar_ratio: 0.4,
            similarity_correction: false,
            keep_orphans: false,
            skip_user_messages: false,
            experimental: false,
            summaries_per_minute: None,
            summaries_at_once: None,
            vectors_per_minute: None,
            vectors_at_once: None,
        }
    }
}

impl CardSettings {
    /// How many summaries may begin a minute, and how many may be asked for at once.
    pub fn pace_of_summaries(&self) -> (f64, f64) {
        (self.summaries_per_minute.unwrap_or(20.0), self.summaries_at_once.unwrap_or(1.0))
    }

    /// The same of vectors.
    pub fn pace_of_vectors(&self) -> (f64, f64) {
        (self.vectors_per_minute.unwrap_or(100.0), self.vectors_at_once.unwrap_or(1.0))
    }
}
