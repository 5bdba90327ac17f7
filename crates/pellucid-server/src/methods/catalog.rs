//! `model/list`, `experimentalFeature/list`, `collaborationMode/list`: what a user can choose.
//!
//! Not here: the choice itself, which is in the configuration and in each `turn/start`.

use pellucid_agent::gather;
use pellucid_engine::fragment;
use pellucid_engine::pack::Pack;
use pellucid_engine::presets;
use pellucid_engine::source::offers_tones;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::FeatureStage;
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::model::ModelVisibility;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_workspace::pack_files;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::current;
use super::paging::page;
use crate::rpc::RpcError;
use crate::server::Server;

/// Hidden models that behave like another model: the name, and the model whose efforts and personalities it has.
const ALIASES: [(&str, &str); 2] = [("bengalfox", "gpt-5.2-codex"), ("boomslang", "gpt-5.2")];

/// The parameters of `model/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelListParams {
    /// The `nextCursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
    /// The largest number of models in a page.
    #[serde(default)]
    pub limit: Option<u32>,
    /// Whether hidden models are listed too.
    #[serde(default)]
    pub include_hidden: Option<bool>,
}

/// The result of `model/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelListResponse {
    /// The models, in the order in which pickers show them.
    pub data: Vec<Model>,
    /// The cursor of the next page; `null` after the last one.
    pub next_cursor: Option<String>,
}

/// A model of the catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Model {
    pub id: String,
    /// The model's name in requests.
    pub model: String,
    /// The id of the model's successor.
    pub upgrade: Option<String>,
    /// The model's name for people.
    pub display_name: String,
    /// A description in one line.
    pub description: String,
    /// Whether pickers hide the model.
    pub hidden: bool,
    /// The reasoning efforts that the model supports.
    pub supported_reasoning_efforts: Vec<ReasoningEffortOption>,
    /// The reasoning effort that applies unless one is set.
    pub default_reasoning_effort: ReasoningEffort,
    /// The kinds of input that the model accepts, such as `text` and `image`.
    #[serde(default = "all_modalities")]
    pub input_modalities: Vec<String>,
    /// Whether the model supports the setting `personality`.
    #[serde(default)]
    pub supports_personality: bool,
    /// Whether this model is used if none is configured.
    pub is_default: bool,
}

/// A reasoning effort that a model supports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReasoningEffortOption {
    pub reasoning_effort: ReasoningEffort,
    /// A description in one line.
    pub description: String,
}

/// The parameters of `experimentalFeature/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ExperimentalFeatureListParams {
    /// The `nextCursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
    /// The largest number of features in a page.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// The result of `experimentalFeature/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExperimentalFeatureListResponse {
    /// The features, in the order in which lists show them.
    pub data: Vec<ExperimentalFeature>,
    /// The cursor of the next page; `null` after the last one.
    pub next_cursor: Option<String>,
}

/// A feature flag and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExperimentalFeature {
    /// The feature's key in `[features]`.
    pub name: String,
    /// How mature the feature is.
    pub stage: ExperimentalFeatureStage,
    /// The feature's name for people.
    pub display_name: Option<String>,
    pub description: Option<String>,
    /// A sentence that announces the feature to users who have not tried it.
    pub announcement: Option<String>,
    /// Whether the feature is on.
    pub enabled: bool,
    /// Whether the feature is on if the configuration does not set it.
    pub default_enabled: bool,
}

/// How mature a feature is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ExperimentalFeatureStage {
    /// Users may try the feature.
    Beta,
    /// The feature is not ready for daily use.
    UnderDevelopment,
    /// The feature will stay.
    Stable,
    /// The feature will be removed.
    Deprecated,
    /// The flag has no effect any more.
    Removed,
}

/// The parameters of `collaborationMode/list`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CollaborationModeListParams {}

impl CollaborationModeListParams {
    /// The whole method is experimental.
    pub fn experimental(&self) -> Option<&'static str> {
        Some("collaborationMode/list")
    }
}

/// The result of `collaborationMode/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CollaborationModeListResponse {
    pub data: Vec<CollaborationModeMask>,
}

/// A collaboration mode: the settings it changes, `null` for those it leaves alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CollaborationModeMask {
    /// The mode's name for people.
    pub name: String,
    pub mode: Option<CollaborationModeKind>,
    pub model: Option<String>,
    /// The reasoning effort of the mode.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The instructions that the mode adds.
    pub developer_instructions: Option<String>,
}

/// Handles `model/list`.
///
/// # Errors
/// When the cursor is not one that this method returned.
pub async fn model_list(server: &Server, params: ModelListParams) -> Result<ModelListResponse, RpcError> {
    let catalogue = gather::catalogue(&server.ground.home);
    let pack = pack(server);
    let default = catalogue.default_model();
    let mut models: Vec<&ModelInfo> = catalogue.models().iter().filter(|model| model.supported_in_api).collect();
    models.sort_by_key(|model| model.priority);
    let mut listed: Vec<_> = models.iter().map(|model| shown(model, &pack, model.slug == default)).collect();
    for (alias, like) in ALIASES {
        if listed.iter().all(|model| model.id != alias)
            && let Some(like) = listed.iter().find(|model| model.id == like)
        {
            listed.push(Model {
                id: alias.to_owned(),
                model: alias.to_owned(),
                upgrade: None,
                display_name: alias.to_owned(),
                description: alias.to_owned(),
                hidden: true,
                is_default: false,
                ..like.clone()
            });
        }
    }
    let includes_hidden = params.include_hidden.unwrap_or(false);
    listed.retain(|model| includes_hidden || !model.hidden);
    let page = page(listed, params.cursor.as_deref(), params.limit, "models")?;
    Ok(ModelListResponse { data: page.entries, next_cursor: page.next_cursor })
}

/// Handles `experimentalFeature/list`.
///
/// # Errors
/// When the cursor is not one that this method returned, or the configuration cannot be used.
pub async fn experimental_feature_list(
    server: &Server,
    params: ExperimentalFeatureListParams,
) -> Result<ExperimentalFeatureListResponse, RpcError> {
    let config = current(server, None)?;
    let features = Feature::ALL.iter().map(|feature| {
        let about = about(*feature);
        ExperimentalFeature {
            name: feature.key().to_owned(),
            stage: stage(feature.stage()),
            display_name: about.map(|about| about.name.to_owned()),
            description: about.map(|about| about.description.to_owned()),
            announcement: about.map(|about| about.announcement.to_owned()),
            enabled: config.features.is_on(*feature),
            default_enabled: feature.default_on(),
        }
    });
    let page = page(features.collect(), params.cursor.as_deref(), params.limit, "feature flags")?;
    Ok(ExperimentalFeatureListResponse { data: page.entries, next_cursor: page.next_cursor })
}

/// Handles `collaborationMode/list`.
///
/// # Errors
/// Never: if the configured pack cannot be used, the built-in one is.
pub async fn collaboration_mode_list(
    server: &Server,
    _params: CollaborationModeListParams,
) -> Result<CollaborationModeListResponse, RpcError> {
    let presets = presets::presets(&pack(server));
    let data = presets.into_iter().map(|preset| CollaborationModeMask {
        name: preset.name.to_owned(),
        mode: Some(preset.mode),
        model: None,
        reasoning_effort: preset.reasoning_effort,
        developer_instructions: Some(fragment::concat(&preset.instructions)),
    });
    Ok(CollaborationModeListResponse { data: data.collect() })
}

/// The configured pack, or the built-in one if the configured pack cannot be used, so that the lists never fail.
fn pack(server: &Server) -> Pack {
    let configured =
        current(server, None).ok().and_then(|config| pack_files::load(&config.prompt.pack, &config.folders.home).ok());
    configured.or_else(|| Pack::builtin("codex")).expect("the pack is built in")
}

fn shown(model: &ModelInfo, pack: &Pack, is_default: bool) -> Model {
    // The pack's entry of a model goes before the catalogue's.
    let entry = pack.model_entry(&model.slug);
    let levels = model.supported_reasoning_levels.iter().map(|level| {
        let words = entry.and_then(|entry| {
            entry.supported_reasoning_levels.iter().find(|words| words.effort == level.effort.as_str())
        });
        let description = words.map_or(&level.description, |words| &words.description);
        ReasoningEffortOption { reasoning_effort: level.effort, description: description.clone() }
    });
    let description = entry.and_then(|entry| entry.description.as_ref()).or(model.description.as_ref());
    Model {
        id: model.slug.clone(),
        model: model.slug.clone(),
        upgrade: model.upgrade.as_ref().map(|upgrade| upgrade.model.clone()),
        display_name: model.display_name.clone(),
        description: description.cloned().unwrap_or_default(),
        hidden: model.visibility != ModelVisibility::List,
        supported_reasoning_efforts: levels.collect(),
        default_reasoning_effort: model.default_reasoning_level.unwrap_or(ReasoningEffort::None),
        input_modalities: model.input_modalities.clone(),
        supports_personality: offers_tones(model, pack),
        is_default,
    }
}

fn stage(stage: FeatureStage) -> ExperimentalFeatureStage {
    match stage {
        FeatureStage::Stable => ExperimentalFeatureStage::Stable,
        FeatureStage::Experimental => ExperimentalFeatureStage::Beta,
        FeatureStage::UnderDevelopment => ExperimentalFeatureStage::UnderDevelopment,
        FeatureStage::Deprecated => ExperimentalFeatureStage::Deprecated,
        FeatureStage::Removed => ExperimentalFeatureStage::Removed,
    }
}

/// The name, description and announcement of a feature that users may try.
#[derive(Clone, Copy)]
struct About {
    name: &'static str,
    description: &'static str,
    announcement: &'static str,
}

fn about(feature: Feature) -> Option<About> {
    match feature {
        Feature::UseLinuxSandboxBwrap => Some(About {
            name: "Bubblewrap sandbox",
            description: "Confine commands with bubblewrap instead of the sandbox that is chosen for this system.",
            announcement: "Commands can be confined with bubblewrap: switch on `use_linux_sandbox_bwrap`.",
        }),
        Feature::MultiAgent => Some(About {
            name: "Multi-agents",
            description: "Let the agent start others that work on parts of a task at the same time.",
            announcement: "The agent can start others to help it: switch on `multi_agent`.",
        }),
        Feature::Apps => Some(About {
            name: "Apps",
            description: "Use apps that are connected to a ChatGPT account by naming them after a `$`.",
            announcement: "Apps of a ChatGPT account can be used: switch on `apps`.",
        }),
        _ => None,
    }
}

fn all_modalities() -> Vec<String> {
    vec!["text".to_owned(), "image".to_owned()]
}

/// `mock/experimentalMethod`: lets clients test whether they may use the experimental API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct MockExperimentalMethodParams {
    /// Any text; the response repeats it.
    pub value: Option<String>,
}

impl MockExperimentalMethodParams {
    /// The whole method is experimental.
    pub fn experimental(&self) -> Option<&'static str> {
        Some("mock/experimentalMethod")
    }
}

/// The result of `mock/experimentalMethod`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MockExperimentalMethodResponse {
    /// The text of the request.
    pub echoed: Option<String>,
}

/// Repeats the text of the request.
pub async fn mock(
    _server: &Server,
    params: MockExperimentalMethodParams,
) -> Result<MockExperimentalMethodResponse, RpcError> {
    Ok(MockExperimentalMethodResponse { echoed: params.value })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::methods::fixture::world;

    #[track_caller]
    fn check_models(models: &[Model], expected: &Expect) {
        let mut lines = String::new();
        for model in models {
            let levels: Vec<_> = model.supported_reasoning_efforts.iter().map(|it| it.reasoning_effort).collect();
            let _ = writeln!(
                lines,
                "{} hidden={} default={} upgrade={:?} tones={} {levels:?}",
                model.id, model.hidden, model.is_default, model.upgrade, model.supports_personality,
            );
        }
        expected.assert_eq(&lines);
    }

    #[tokio::test]
    async fn models_are_in_the_order_of_pickers() {
        let world = world(&[], &[]);
        let listed = model_list(&world.server, ModelListParams::default()).await.unwrap();
        check_models(
            &listed.data,
            &expect![[r#"
            gpt-5.2-codex hidden=false default=true upgrade=Some("gpt-5.3-codex") tones=true [Low, Medium, High, XHigh]
            gpt-5.1-codex-max hidden=false default=false upgrade=Some("gpt-5.3-codex") tones=false [Low, Medium, High, XHigh]
            gpt-5.2 hidden=false default=false upgrade=Some("gpt-5.3-codex") tones=false [Low, Medium, High, XHigh]
            gpt-5.1-codex-mini hidden=false default=false upgrade=Some("gpt-5.3-codex") tones=false [Medium, High]
        "#]],
        );
        let all = ModelListParams { include_hidden: Some(true), ..ModelListParams::default() };
        check_models(
            &model_list(&world.server, all).await.unwrap().data,
            &expect![[r#"
            gpt-5.3-codex hidden=true default=false upgrade=None tones=true [Low, Medium, High, XHigh]
            gpt-5.2-codex hidden=false default=true upgrade=Some("gpt-5.3-codex") tones=true [Low, Medium, High, XHigh]
            gpt-5.1-codex-max hidden=false default=false upgrade=Some("gpt-5.3-codex") tones=false [Low, Medium, High, XHigh]
            gpt-5.1-codex hidden=true default=false upgrade=Some("gpt-5.3-codex") tones=false [Low, Medium, High]
            gpt-5.2 hidden=false default=false upgrade=Some("gpt-5.3-codex") tones=false [Low, Medium, High, XHigh]
            gpt-5.1 hidden=true default=false upgrade=Some("gpt-5.3-codex") tones=false [Low, Medium, High]
            gpt-5-codex hidden=true default=false upgrade=Some("gpt-5.3-codex") tones=false [Low, Medium, High]
            gpt-5 hidden=true default=false upgrade=Some("gpt-5.3-codex") tones=false [Minimal, Low, Medium, High]
            gpt-5.1-codex-mini hidden=false default=false upgrade=Some("gpt-5.3-codex") tones=false [Medium, High]
            gpt-5-codex-mini hidden=true default=false upgrade=Some("gpt-5.3-codex") tones=false [Medium, High]
            bengalfox hidden=true default=false upgrade=None tones=true [Low, Medium, High, XHigh]
            boomslang hidden=true default=false upgrade=None tones=false [Low, Medium, High, XHigh]
        "#]],
        );
    }

    #[tokio::test]
    async fn one_model_in_full() {
        let world = world(&[], &[]);
        let params = ModelListParams { limit: Some(1), ..ModelListParams::default() };
        expect![[r#"
            {
              "data": [
                {
                  "id": "gpt-5.2-codex",
                  "model": "gpt-5.2-codex",
                  "upgrade": "gpt-5.3-codex",
                  "displayName": "gpt-5.2-codex",
                  "description": "A leading model for agentic coding.",
                  "hidden": false,
                  "supportedReasoningEfforts": [
                    {
                      "reasoningEffort": "low",
                      "description": "Quick answers with a little thought"
                    },
                    {
                      "reasoningEffort": "medium",
                      "description": "An even mix of speed and thought for daily work"
                    },
                    {
                      "reasoningEffort": "high",
                      "description": "More thought for hard problems"
                    },
                    {
                      "reasoningEffort": "xhigh",
                      "description": "The most thought, for the hardest problems"
                    }
                  ],
                  "defaultReasoningEffort": "medium",
                  "inputModalities": [
                    "text",
                    "image"
                  ],
                  "supportsPersonality": true,
                  "isDefault": true
                }
              ],
              "nextCursor": "1"
            }"#]]
        .assert_eq(&world.answer(model_list(&world.server, params).await));
    }

    #[tokio::test]
    async fn models_are_listed_whatever_the_configuration_says() {
        let world = world(&[("home/config.toml", "model = [\n")], &[]);
        assert_eq!(model_list(&world.server, ModelListParams::default()).await.unwrap().data.len(), 4);
        let error = experimental_feature_list(&world.server, ExperimentalFeatureListParams::default()).await;
        expect!["-32600: error deriving config: $R/home/config.toml:1:10: unclosed array, expected `]`"]
            .assert_eq(&world.answer(error));
    }

    #[tokio::test]
    async fn features_say_whether_they_are_on() {
        let world = world(&[("home/config.toml", "[features]\nmulti_agent = true\n")], &[]);
        let all = experimental_feature_list(&world.server, ExperimentalFeatureListParams::default()).await.unwrap();
        assert_eq!(all.data.len(), Feature::ALL.len());
        let tried: Vec<_> = all.data.iter().filter(|it| it.stage == ExperimentalFeatureStage::Beta).collect();
        expect![[r#"
            [
              {
                "name": "use_linux_sandbox_bwrap",
                "stage": "beta",
                "displayName": "Bubblewrap sandbox",
                "description": "Confine commands with bubblewrap instead of the sandbox that is chosen for this system.",
                "announcement": "Commands can be confined with bubblewrap: switch on `use_linux_sandbox_bwrap`.",
                "enabled": false,
                "defaultEnabled": false
              },
              {
                "name": "multi_agent",
                "stage": "beta",
                "displayName": "Multi-agents",
                "description": "Let the agent start others that work on parts of a task at the same time.",
                "announcement": "The agent can start others to help it: switch on `multi_agent`.",
                "enabled": true,
                "defaultEnabled": false
              },
              {
                "name": "apps",
                "stage": "beta",
                "displayName": "Apps",
                "description": "Use apps that are connected to a ChatGPT account by naming them after a `$`.",
                "announcement": "Apps of a ChatGPT account can be used: switch on `apps`.",
                "enabled": false,
                "defaultEnabled": false
              }
            ]"#]].assert_eq(&serde_json::to_string_pretty(&tried).unwrap());
    }

    #[tokio::test]
    async fn modes_come_with_their_instructions() {
        let world = world(&[], &[]);
        let mut modes = collaboration_mode_list(&world.server, CollaborationModeListParams {}).await.unwrap();
        for mode in &mut modes.data {
            let text = mode.developer_instructions.as_mut().unwrap();
            assert!(text.len() > 100);
            text.clear();
        }
        expect![[r#"{"data":[{"name":"Plan","mode":"plan","model":null,"reasoning_effort":"medium","developer_instructions":""},{"name":"Default","mode":"default","model":null,"reasoning_effort":null,"developer_instructions":""}]}"#]].assert_eq(&serde_json::to_string(&modes).unwrap());
    }

    #[tokio::test]
    async fn a_pack_may_say_what_a_model_is_like() {
        let models = r#"{"models": [{"slug": "gpt-5.2-codex", "description": "Ours.",
            "supported_reasoning_levels": [{"effort": "low", "description": "Quick."}]}]}"#;
        let files = [("home/config.toml", "pack = \"mine\"\n"), ("home/packs/mine/models.json", models)];
        let world = world(&files, &[]);
        let list = model_list(&world.server, ModelListParams::default()).await.unwrap();
        let model = list.data.iter().find(|model| model.id == "gpt-5.2-codex").unwrap();
        assert_eq!(model.description, "Ours.");
        let words: Vec<&str> =
            model.supported_reasoning_efforts.iter().map(|level| level.description.as_str()).collect();
        assert_eq!(words[0], "Quick.");
        assert!(words.len() > 1 && words[1..].iter().all(|words| !words.is_empty()), "{words:?}");
        let other = list.data.iter().find(|model| model.id == "gpt-5.1-codex-mini").unwrap();
        assert!(!other.description.is_empty() && other.description != "Ours.");
    }
}
