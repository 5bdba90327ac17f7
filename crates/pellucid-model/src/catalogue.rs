//! The known models and their properties.
//!
//! A built-in table, which a models cache may extend ([`crate::models_cache`]). A name that begins with a known one
//! behaves like it; any other name gets cautious defaults.
//!
//! Not here: instructions. Entries of the built-in table have none, the pack supplies them.

use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::model::ModelVisibility;
use pellucid_protocol::settings::TruncationMode;

/// The known models.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    models: Vec<ModelInfo>,
}

/// Whether a name was found in the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatalogueMatch {
    /// An entry's slug is the name or its beginning.
    Known,
    /// The model is unknown; its properties are defaults.
    Fallback,
}

/// Settings of the configuration that apply to any model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelOverrides {
    /// `model_supports_reasoning_summaries`; only `true` has an effect.
    pub supports_reasoning_summaries: bool,
    /// The key `model_context_window`, in tokens.
    pub context_window: Option<i64>,
    /// The key `model_auto_compact_token_limit`, in tokens.
    pub auto_compact_token_limit: Option<i64>,
    /// The key `tool_output_token_limit`, in tokens.
    pub tool_output_token_limit: Option<i64>,
}

impl Catalogue {
    /// The built-in table.
    pub fn builtin() -> Self {
        Self { models: ModelInfo::builtin() }
    }

    /// Every model, in the order of the table.
    pub fn models(&self) -> &[ModelInfo] {
        &self.models
    }

    /// Adds entries to the table: one with an equal slug is replaced, others are appended.
    pub fn extend(&mut self, entries: Vec<ModelInfo>) {
        for entry in entries {
            match self.models.iter_mut().find(|model| model.slug == entry.slug) {
                Some(model) => *model = entry,
                None => self.models.push(entry),
            }
        }
    }

    /// The properties of the model of this name: those of the entry whose slug is the longest beginning of the name.
    /// The slug of the result is the name itself.
    ///
    /// ```
    /// use pellucid_model::catalogue::{Catalogue, CatalogueMatch};
    ///
    /// let (model, found) = Catalogue::builtin().lookup("gpt-5.2-codex-custom");
    /// assert_eq!(found, CatalogueMatch::Known);
    /// assert_eq!(model.slug, "gpt-5.2-codex-custom");
    /// assert_eq!(model.display_name, "gpt-5.2-codex");
    /// ```
    pub fn lookup(&self, name: &str) -> (ModelInfo, CatalogueMatch) {
        match ModelInfo::find(&self.models, name) {
            Some(model) => (model, CatalogueMatch::Known),
            None => (ModelInfo::unknown(name), CatalogueMatch::Fallback),
        }
    }

    /// The model that is used if none is configured: the first that pickers show and an API key can use.
    pub fn default_model(&self) -> &str {
        let least = |wanted: &dyn Fn(&ModelInfo) -> bool| {
            self.models.iter().filter(|model| wanted(model)).min_by_key(|model| model.priority)
        };
        least(&|model| model.visibility == ModelVisibility::List && model.supported_in_api)
            .or_else(|| least(&|_| true))
            .map_or("", |model| model.slug.as_str())
    }
}

/// Applies the settings of the configuration, in the order that decides.
pub fn apply_overrides(model: &mut ModelInfo, overrides: &ModelOverrides) {
    if overrides.supports_reasoning_summaries {
        model.supports_reasoning_summaries = true;
    }
    if let Some(window) = overrides.context_window {
        model.context_window = Some(window);
    }
    if let Some(limit) = overrides.auto_compact_token_limit {
        model.auto_compact_token_limit = Some(limit);
    }
    if let Some(tokens) = overrides.tool_output_token_limit {
        model.truncation_policy.limit = match model.truncation_policy.mode {
            TruncationMode::Tokens => tokens,
            // A token is estimated as four bytes.
            TruncationMode::Bytes => tokens.saturating_mul(4),
        };
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pellucid_protocol::model::ModelMessages;
    use pellucid_protocol::settings::TruncationPolicy;

    use super::*;

    #[test]
    fn the_table_holds_the_known_models() {
        let lines: Vec<String> = Catalogue::builtin()
            .models()
            .iter()
            .map(|model| {
                let levels: Vec<_> = model.supported_reasoning_levels.iter().map(|it| it.effort.as_str()).collect();
                format!(
                    "{:18} {:>2} {:?} {:?} {}:{} {:?} parallel={} verbosity={}/{:?} [{}]\n",
                    model.slug,
                    model.priority,
                    model.visibility,
                    model.shell_type,
                    model.truncation_policy.mode,
                    model.truncation_policy.limit,
                    model.apply_patch_tool_type,
                    model.supports_parallel_tool_calls,
                    model.support_verbosity,
                    model.default_verbosity,
                    levels.join(" "),
                )
            })
            .collect();
        expect![[r#"
            gpt-5.3-codex       0 Hide ShellCommand tokens:10000 Some(Freeform) parallel=true verbosity=true/Some(Low) [low medium high xhigh]
            gpt-5.2-codex       1 List ShellCommand tokens:10000 Some(Freeform) parallel=true verbosity=false/None [low medium high xhigh]
            gpt-5.1-codex-max   2 List ShellCommand tokens:10000 Some(Freeform) parallel=false verbosity=false/None [low medium high xhigh]
            gpt-5.1-codex       3 Hide ShellCommand tokens:10000 Some(Freeform) parallel=false verbosity=false/None [low medium high]
            gpt-5.2             4 List ShellCommand bytes:10000 Some(Freeform) parallel=true verbosity=true/Some(Low) [low medium high xhigh]
            gpt-5.1             5 Hide ShellCommand bytes:10000 Some(Freeform) parallel=true verbosity=true/Some(Low) [low medium high]
            gpt-5-codex         8 Hide ShellCommand tokens:10000 Some(Freeform) parallel=false verbosity=false/None [low medium high]
            gpt-5               9 Hide Default bytes:10000 None parallel=false verbosity=true/None [minimal low medium high]
            gpt-5.1-codex-mini 10 List ShellCommand tokens:10000 Some(Freeform) parallel=false verbosity=false/None [medium high]
            gpt-5-codex-mini   11 Hide ShellCommand tokens:10000 Some(Freeform) parallel=false verbosity=false/None [medium high]
        "#]]
        .assert_eq(&lines.concat());
        for model in Catalogue::builtin().models() {
            assert_eq!(model.effective_window(), Some(258_400));
            assert!(model.takes_images() && model.supports_reasoning_summaries && model.supported_in_api);
            assert_eq!((&model.base_instructions, &model.model_messages), (&None, &None));
            let upgrade = model.upgrade.as_ref().map(|upgrade| upgrade.model.as_str());
            assert_eq!(upgrade, (model.slug != "gpt-5.3-codex").then_some("gpt-5.3-codex"));
        }
    }

    #[track_caller]
    fn check_lookup(name: &str, expected: Option<&str>) {
        let (model, found) = Catalogue::builtin().lookup(name);
        assert_eq!(model.slug, name);
        assert_eq!((found == CatalogueMatch::Known).then_some(model.display_name.as_str()), expected);
    }

    #[test]
    fn the_longest_beginning_decides() {
        check_lookup("gpt-5.1-codex-max", Some("gpt-5.1-codex-max"));
        check_lookup("gpt-5.1-codex-maxi", Some("gpt-5.1-codex-max"));
        check_lookup("gpt-5.1-codex-ma", Some("gpt-5.1-codex"));
        check_lookup("gpt-5-2025", Some("gpt-5"));
        check_lookup("gpt-4", None);
        check_lookup("openai/gpt-5", None);
        check_lookup("", None);
    }

    #[test]
    fn an_unknown_model_gets_cautious_defaults() {
        let (model, _) = Catalogue::builtin().lookup("harbour");
        expect![[r#"{"slug":"harbour","display_name":"harbour","description":null,"default_reasoning_level":null,"supported_reasoning_levels":[],"shell_type":"default","visibility":"none","supported_in_api":true,"priority":99,"base_instructions":null,"model_messages":null,"supports_reasoning_summaries":false,"support_verbosity":false,"default_verbosity":null,"apply_patch_tool_type":null,"truncation_policy":{"mode":"bytes","limit":10000},"supports_parallel_tool_calls":false,"context_window":272000,"auto_compact_token_limit":null,"effective_context_window_percent":95,"experimental_supported_tools":[],"input_modalities":["text","image"],"prefer_websockets":false,"upgrade":null}"#]]
        .assert_eq(&serde_json::to_string(&model).unwrap());
    }

    #[test]
    fn the_default_is_the_first_that_is_shown() {
        let mut catalogue = Catalogue::builtin();
        assert_eq!(catalogue.default_model(), "gpt-5.2-codex");

        let entry = |slug: &str, priority, visibility, supported_in_api| ModelInfo {
            priority,
            visibility,
            supported_in_api,
            ..ModelInfo::unknown(slug)
        };
        catalogue.extend(vec![
            entry("equal", 1, ModelVisibility::List, true),
            entry("hidden", -5, ModelVisibility::Hide, true),
            entry("login-only", -5, ModelVisibility::List, false),
        ]);
        assert_eq!(catalogue.default_model(), "gpt-5.2-codex");
        catalogue.extend(vec![entry("first", 0, ModelVisibility::List, true)]);
        assert_eq!(catalogue.default_model(), "first");
    }

    #[test]
    fn overrides_change_what_they_name() {
        let base = |mode| ModelInfo {
            truncation_policy: TruncationPolicy { mode, limit: 1 },
            base_instructions: Some("own".to_owned()),
            model_messages: Some(ModelMessages::default()),
            ..ModelInfo::unknown("m")
        };
        let mut model = base(TruncationMode::Bytes);
        apply_overrides(&mut model, &ModelOverrides::default());
        assert_eq!(model, base(TruncationMode::Bytes));

        let overrides = ModelOverrides {
            supports_reasoning_summaries: true,
            context_window: Some(1000),
            auto_compact_token_limit: Some(900),
            tool_output_token_limit: Some(50),
        };
        apply_overrides(&mut model, &overrides);
        assert!(model.supports_reasoning_summaries);
        assert_eq!((model.context_window, model.auto_compact_token_limit), (Some(1000), Some(900)));
        assert_eq!(model.truncation_policy.limit, 200);

        let mut model = base(TruncationMode::Tokens);
        apply_overrides(&mut model, &overrides);
        assert_eq!(model.truncation_policy.limit, 50);
    }
}
