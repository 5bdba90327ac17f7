//! `config/read`, `config/value/write`, `config/batchWrite`, `configRequirements/read`.
//!
//! The effective configuration of a folder, where each value comes from, and changes to the user's `config.toml`.
//!
//! Not here: what values mean (`pellucid-config`).

mod effective;
mod layers;
mod requirements;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use pellucid_config::ConfigError;
use pellucid_config::LoadOptions;
use pellucid_config::ProjectLayers;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::rpc::RpcError;
use crate::server::Server;
use pellucid_agent::ground::Ground;

pub use effective::AnalyticsConfig;
pub use effective::AppConfig;
pub use effective::AppDisabledReason;
pub use effective::EffectiveConfig;
pub use effective::ProfileConfig;
pub use effective::ToolSwitches;
pub use effective::WorkspaceWriteConfig;
pub use layers::ConfigLayer;
pub use layers::ConfigLayerMetadata;
pub use layers::ConfigLayerSource;
pub use requirements::ConfigRequirements;
pub use requirements::ConfigRequirementsReadResponse;
pub use requirements::NetworkRequirements;
pub use requirements::ResidencyRequirement;
pub use requirements::config_requirements_read;
pub use write::ConfigBatchWriteParams;
pub use write::ConfigEdit;
pub use write::ConfigValueWriteParams;
pub use write::ConfigWriteResponse;
pub use write::MergeStrategy;
pub use write::OverriddenMetadata;
pub use write::WriteStatus;
pub use write::config_batch_write;
pub use write::config_value_write;
pub(crate) use write::switch_skill;

/// The parameters of `config/read`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigReadParams {
    /// Whether the response lists every layer.
    #[serde(default)]
    pub include_layers: bool,
    /// The folder whose project layers apply too.
    #[serde(default)]
    pub cwd: Option<String>,
}

/// The result of `config/read`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigReadResponse {
    /// The effective configuration, all layers merged.
    pub config: EffectiveConfig,
    /// The layer that each value comes from, by the value's dotted path.
    pub origins: BTreeMap<String, ConfigLayerMetadata>,
    /// The layers, the strongest first; `null` unless the client asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<Vec<ConfigLayer>>,
}

/// Handles `config/read`.
///
/// # Errors
/// When a file cannot be used.
pub async fn config_read(server: &Server, params: ConfigReadParams) -> Result<ConfigReadResponse, RpcError> {
    read(&options(&server.ground, params.cwd.as_deref()), params.include_layers)
}

fn read(options: &LoadOptions, include_layers: bool) -> Result<ConfigReadResponse, RpcError> {
    let stack = pellucid_config::load_layers(options).map_err(|error| unreadable(&error))?;
    stack.verify().map_err(|error| RpcError::internal(format!("invalid configuration: {}", error.brief())))?;
    let config = serde_json::from_value(stack.merged().to_json())
        .map_err(|error| RpcError::internal(format!("invalid configuration: {error}")))?;
    Ok(ConfigReadResponse {
        config,
        origins: layers::origins(&stack),
        layers: include_layers.then(|| layers::list(&stack)),
    })
}

/// How layers are read for a folder; without a folder, only the layers that apply everywhere.
pub(crate) fn options(ground: &Ground, cwd: Option<&str>) -> LoadOptions {
    let mut options = match cwd {
        Some(cwd) => {
            let cwd = pellucid_files::normal(&ground.cwd.join(Path::new(cwd)));
            LoadOptions::new(cwd, ground.home.clone(), ground.env.clone())
        }
        None => LoadOptions {
            project: ProjectLayers::Skip,
            ..LoadOptions::new(ground.home.clone(), ground.home.clone(), ground.env.clone())
        },
    };
    options.overrides.clone_from(&ground.overrides);
    options
}

pub(crate) fn unreadable(error: &ConfigError) -> RpcError {
    RpcError::internal(format!("failed to read configuration layers: {}", error.brief()))
}

#[cfg(test)]
mod tests;
