//! `model/list`, `experimentalFeature/list`, `collaborationMode/list`: what can be chosen.
//!
//! Not here: choosing. That is a matter of the configuration and of each turn.

use pellucid_agent::gather;
use pellucid_engine::fragment;
use pellucid_engine::pack::Pack;
use pellucid_engine::presets;
use pellucid_engine::source::offers_tones;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::Stage;
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::model::ModelVisibility;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_workspace::pack_files;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::current;
use super::paging::page;
use crate::rpc::RpcError;
use crate::server::Server;

/// Names that are listed among the hidden models and behave like another one: their name, and whose
/// levels and tones they have.
const ALIASES: [(&str, &str); 2] = [("bengalfox", "gpt-5.2-codex"), ("boomslang", "gpt-5.2")];

/// What `model/list` takes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelListParams {
    /// Where to begin.
    #[serde(default)]
    pub cursor: Option<String>,
    /// How many.
    #[serde(default)]
    pub limit: Option<u32>,
    /// Whether those that pickers do not show are listed too.
    #[serde(default)]
    pub include_hidden: Option<bool>,
}

/// What `model/list` gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelListResponse {
    /// The models, in the order of pickers.
    pub data: Vec<Model>,
    /// Where to go on.
    pub next_cursor: Option<String>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Its id.
    pub id: String,
    /// Its name in requests.
    pub model: String,
    /// The model that has come after it.
    pub upgrade: Option<String>,
    /// Its name for people.
    pub display_name: String,
    /// One line about it.
    pub description: String,
    /// Whether pickers do not show it.
    pub hidden: bool,
    /// How long it can think.
    pub supported_reasoning_efforts: Vec<ReasoningEffortOption>,
    /// How long it thinks unless told otherwise.
    pub default_reasoning_effort: ReasoningEffort,
    /// What it can take in.
    #[serde(default = "all_modalities")]
    pub input_modalities: Vec<String>,
    /// Whether it can take on a tone.
    #[serde(default)]
    pub supports_personality: bool,
    /// Whether it is the one for those who name none.
    pub is_default: bool,
}

/// A level of thinking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningEffortOption {
    /// The level.
    pub reasoning_effort: ReasoningEffort,
    /// One line about it.
    pub description: String,
}

/// What `experimentalFeature/list` takes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentalFeatureListParams {
    /// Where to begin.
    #[serde(default)]
    pub cursor: Option<String>,
    /// How many.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// What `experimentalFeature/list` gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentalFeatureListResponse {
    /// The features, in the order of listings.
    pub data: Vec<ExperimentalFeature>,
    /// Where to go on.
    pub next_cursor: Option<String>,
}

/// A feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentalFeature {
    /// Its key in `[features]`.
    pub name: String,
    /// How settled it is.
    pub stage: ExperimentalFeatureStage,
    /// Its name for people.
    pub display_name: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// What people are told who do not know it yet.
    pub announcement: Option<String>,
    /// Whether it is on.
    pub enabled: bool,
    /// Whether it is on when nobody says.
    pub default_enabled: bool,
}

/// How settled a feature is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExperimentalFeatureStage {
    /// To be tried.
    Beta,
    /// Not for daily use.
    UnderDevelopment,
    /// Here to stay.
    Stable,
    /// Going away.
    Deprecated,
    /// Gone.
    Removed,
}

/// What `collaborationMode/list` takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CollaborationModeListParams {}

impl CollaborationModeListParams {
    /// All of it may still change.
    pub fn experimental(&self) -> Option<&'static str> {
        Some("collaborationMode/list")
    }
}

/// What `collaborationMode/list` gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CollaborationModeListResponse {
    /// The modes.
    pub data: Vec<CollaborationModeMask>,
}

/// A way of working together: what it sets, and `null` for what it leaves alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CollaborationModeMask {
    /// Its name for people.
    pub name: String,
    /// The mode.
    pub mode: Option<CollaborationModeKind>,
    /// The model.
    pub model: Option<String>,
    /// How long the model thinks.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// What the model is told.
    pub developer_instructions: Option<String>,
}

/// `model/list`.
///
/// # Errors
/// When the cursor is not one of ours.
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

/// `experimentalFeature/list`.
///
/// # Errors
/// When the cursor is not one of ours, or the configuration cannot be used.
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

/// `collaborationMode/list`.
///
/// # Errors
/// None; a pack that cannot be used leaves the built-in one.
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

/// The pack of the configuration, or the built-in one where that cannot be used: lists are there even then.
fn pack(server: &Server) -> Pack {
    let configured =
        current(server, None).ok().and_then(|config| pack_files::load(&config.prompt.pack, &config.folders.home).ok());
    configured.or_else(|| Pack::builtin("codex")).expect("the pack is built in")
}

fn shown(model: &ModelInfo, pack: &Pack, is_default: bool) -> Model {
    // What a pack says of a model goes before what we say of it.
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

fn stage(stage: Stage) -> ExperimentalFeatureStage {
    match stage {
        Stage::Stable => ExperimentalFeatureStage::Stable,
        Stage::Experimental => ExperimentalFeatureStage::Beta,
        Stage::UnderDevelopment => ExperimentalFeatureStage::UnderDevelopment,
        Stage::Deprecated => ExperimentalFeatureStage::Deprecated,
        Stage::Removed => ExperimentalFeatureStage::Removed,
    }
}

/// What people are told of a feature that they may try.
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

/// `mock/experimentalMethod`: by which clients find out whether they get what may still change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MockExperimentalMethodParams {
    /// Anything.
    pub value: Option<String>,
}

impl MockExperimentalMethodParams {
    /// The whole method needs the experimental capability.
    pub fn experimental(&self) -> Option<&'static str> {
        Some("mock/experimentalMethod")
    }
}

/// What `mock/experimentalMethod` gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MockExperimentalMethodResponse {
    /// The same.
    pub echoed: Option<String>,
}

/// Says back what it is told.
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
