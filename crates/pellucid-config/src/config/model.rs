//! Settings of the model and its provider.

use std::collections::BTreeMap;

use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::Features;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::Verbosity;

use crate::error::ConfigError;
use crate::keys::default::word_or_default;
use crate::layers::Layers;
use crate::load::LoadOptions;
use crate::providers;
use crate::reader::Reader;

/// The model and its provider.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    /// The model's name in requests, if one is configured.
    pub slug: Option<String>,
    /// Whether the command line, or the client, names the model.
    pub is_typed: bool,
    /// Whether the command line, or the client, names the effort.
    pub is_effort_typed: bool,
    /// The model for reviews, if it differs.
    pub review_slug: Option<String>,
    /// The id of the provider.
    pub provider_id: String,
    /// The settings of that provider.
    pub provider: Provider,
    /// All providers by id.
    pub providers: BTreeMap<String, Provider>,
    /// The local provider that `--oss` uses.
    pub oss_provider: Option<String>,
    /// The context window in tokens.
    pub context_window: Option<i64>,
    /// At how many tokens the history is summarised.
    pub auto_compact_token_limit: Option<i64>,
    /// The reasoning effort, if one is configured.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// How reasoning is summarised.
    pub reasoning_summary: ReasoningSummary,
    /// Whether the model can summarise its reasoning, if that overrides the catalogue.
    pub supports_reasoning_summaries: Option<bool>,
    /// The verbosity of answers, if one is configured.
    pub verbosity: Option<Verbosity>,
    /// The tone of the model's answers.
    pub personality: Option<Personality>,
    /// How many tokens of a tool's output are kept.
    pub tool_output_token_limit: Option<usize>,
}

impl ModelSettings {
    /// # Errors
    ///
    /// If there is no provider of the configured name.
    pub(crate) fn read(
        reader: &Reader<'_>,
        options: &LoadOptions,
        layers: &Layers,
        features: &Features,
    ) -> Result<Self, ConfigError> {
        let harness = &options.harness;
        let providers = providers::all(reader, &options.env);
        let provider_id = harness
            .model_provider
            .clone()
            .or_else(|| reader.text("model_provider"))
            .unwrap_or_else(|| providers::DEFAULT.to_owned());
        let default_personality = features.is_on(Feature::Personality).then_some(Personality::Pragmatic);
        Ok(Self {
            slug: harness.model.clone().or_else(|| reader.text("model")),
            is_typed: harness.model.is_some() || layers.is_typed("model"),
            is_effort_typed: layers.is_typed("model_reasoning_effort"),
            review_slug: harness.review_model.clone().or_else(|| reader.text("review_model")),
            provider: providers::choose(&providers, &provider_id)?,
            provider_id,
            providers,
            oss_provider: reader.text("oss_provider"),
            context_window: reader.integer("model_context_window"),
            auto_compact_token_limit: reader.integer("model_auto_compact_token_limit"),
            reasoning_effort: reader.word("model_reasoning_effort", ReasoningEffort::from_word),
            reasoning_summary: word_or_default!(reader, "model_reasoning_summary", ReasoningSummary),
            supports_reasoning_summaries: reader.flag("model_supports_reasoning_summaries"),
            verbosity: reader.word("model_verbosity", Verbosity::from_word),
            personality: harness
                .personality
                .or_else(|| reader.word("personality", Personality::from_word))
                .or(default_personality),
            tool_output_token_limit: reader.count("tool_output_token_limit"),
        })
    }
}
