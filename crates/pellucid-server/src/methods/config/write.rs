//! `config/value/write` and `config/batchWrite`: changes to the user's `config.toml`, all of them or none.

use std::path::Path;
use std::path::PathBuf;

use pellucid_config::edit;
use pellucid_config::edit::Edit;
use pellucid_config::edit::EditError;
use pellucid_config::edit::ValueEdit;
use pellucid_config::layers::FILE_NAME;
use pellucid_config::layers::LayerSource;
use pellucid_config::layers::Layers;
use pellucid_config::user_file;
use pellucid_config::user_file::UserFileError;
use pellucid_config::verify::verify;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

use super::layers::ConfigLayerMetadata;
use super::layers::metadata;
use super::options;
use crate::rpc::RpcError;
use crate::server::Server;
use pellucid_agent::ground::Ground;

/// How a written value is combined with an existing table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum MergeStrategy {
    /// The new value replaces the table.
    Replace,
    /// The keys of the new value are added to the table.
    Upsert,
}

/// The parameters of `config/value/write`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigValueWriteParams {
    /// The dotted path of the key.
    pub key_path: String,
    /// The value; `null` removes the key.
    pub value: Value,
    /// How the value is combined with an existing table.
    pub merge_strategy: MergeStrategy,
    /// The file; only the user's `config.toml` can be written.
    #[serde(default)]
    pub file_path: Option<String>,
    /// The version that the file must have; the write is refused if it has another one.
    #[serde(default)]
    pub expected_version: Option<String>,
}

/// The parameters of `config/batchWrite`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigBatchWriteParams {
    /// The changes, in the order in which they are applied.
    pub edits: Vec<ConfigEdit>,
    /// The file; only the user's `config.toml` can be written.
    #[serde(default)]
    pub file_path: Option<String>,
    /// The version that the file must have; the write is refused if it has another one.
    #[serde(default)]
    pub expected_version: Option<String>,
}

/// One change of the configuration file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigEdit {
    /// The dotted path of the key.
    pub key_path: String,
    /// The value; `null` removes the key.
    pub value: Value,
    /// How the value is combined with an existing table.
    pub merge_strategy: MergeStrategy,
}

/// The result of `config/value/write` and `config/batchWrite`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigWriteResponse {
    /// Whether the written values take effect.
    pub status: WriteStatus,
    /// The version that the file has now.
    pub version: String,
    /// The path of the file that was written.
    pub file_path: String,
    /// The stronger layer that hides a written value, if there is one.
    pub overridden_metadata: Option<OverriddenMetadata>,
}

/// Whether written values take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum WriteStatus {
    /// The written values take effect.
    Ok,
    /// The values are written, but a stronger layer hides one of them.
    OkOverridden,
}

/// A layer that hides a written value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OverriddenMetadata {
    pub message: String,
    pub overriding_layer: ConfigLayerMetadata,
    /// The value that applies instead.
    pub effective_value: Value,
}

/// Handles `config/value/write`.
///
/// # Errors
/// When the value cannot be written; the file is then unchanged.
pub async fn config_value_write(
    server: &Server,
    params: ConfigValueWriteParams,
) -> Result<ConfigWriteResponse, RpcError> {
    let ConfigValueWriteParams { key_path, value, merge_strategy, file_path, expected_version } = params;
    let edits = vec![ConfigEdit { key_path, value, merge_strategy }];
    config_batch_write(server, ConfigBatchWriteParams { edits, file_path, expected_version }).await
}

/// Handles `config/batchWrite`.
///
/// # Errors
/// When one of the values cannot be written; the file is then unchanged.
pub async fn config_batch_write(
    server: &Server,
    params: ConfigBatchWriteParams,
) -> Result<ConfigWriteResponse, RpcError> {
    let ground = &server.ground;
    let file = ground.home.join(FILE_NAME);
    if let Some(wanted) = &params.file_path
        && !is_same(&ground.cwd.join(wanted), &file)
    {
        let message = format!("only the user's own configuration can be written: {}", file.display());
        return Err(refused("configLayerReadonly", message));
    }
    let edits = params.edits.into_iter().map(ConfigEdit::into_edit).collect::<Result<Vec<_>, _>>()?;
    user_file::rewrite(&file, |text| {
        // The layers are read under the write lock, so the version is that of the text.
        let version = user_version(&layers(ground)?);
        if params.expected_version.is_some_and(|expected| expected != version) {
            let message = "the file has changed since it was read; read it again and repeat the change";
            return Err(refused("configVersionConflict", message).into());
        }
        let new = edit::apply(text, &edits).map_err(|error| uneditable(&error))?;
        verify(&file, &new).map_err(|error| {
            refused("configValidationError", format!("the configuration would be invalid: {}", error.brief()))
        })?;
        Ok(new)
    })
    .map_err(|Failed(error)| error)?;
    let layers = layers(ground)?;
    let overridden_metadata = edits.iter().find_map(|edit| overridden(&layers, edit));
    Ok(ConfigWriteResponse {
        status: if overridden_metadata.is_some() { WriteStatus::OkOverridden } else { WriteStatus::Ok },
        version: user_version(&layers),
        file_path: file.to_string_lossy().into_owned(),
        overridden_metadata,
    })
}

/// Switches a skill on or off in the user's `config.toml`.
pub(crate) fn switch_skill(ground: &Ground, path: &Path, enabled: bool) -> Result<(), RpcError> {
    let is_it = |other: &str| is_same(Path::new(other), path);
    user_file::rewrite(&ground.home.join(FILE_NAME), |text| {
        edit::switch_skill(text, &path.to_string_lossy(), enabled, &is_it)
            .map_err(|error| Failed(RpcError::internal(format!("failed to update skill settings: {error}"))))
    })
    .map_err(|Failed(error)| error)?;
    Ok(())
}

impl ConfigEdit {
    fn into_edit(self) -> Result<Edit, RpcError> {
        let change = match (self.value, self.merge_strategy) {
            (Value::Null, _) => ValueEdit::Clear,
            (value, MergeStrategy::Replace) => ValueEdit::Replace(value),
            (value, MergeStrategy::Upsert) => ValueEdit::Merge(value),
        };
        Edit::at(&self.key_path, change).map_err(|error| uneditable(&error))
    }
}

/// An error during a change of the file.
struct Failed(RpcError);

impl From<RpcError> for Failed {
    fn from(error: RpcError) -> Self {
        Self(error)
    }
}

impl From<UserFileError> for Failed {
    fn from(error: UserFileError) -> Self {
        Self(RpcError::internal(error.to_string()))
    }
}

fn layers(ground: &Ground) -> Result<Layers, RpcError> {
    pellucid_config::load_layers(&options(ground, None))
        .map_err(|error| RpcError::internal(format!("failed to load configuration: {}", error.brief())))
}

fn user_version(layers: &Layers) -> String {
    layers.user().map(|layer| metadata(layer).version).unwrap_or_default()
}

/// The stronger layer that hides the edited value, if there is one.
fn overridden(layers: &Layers, edit: &Edit) -> Option<OverriddenMetadata> {
    let effective = layers.merged().at(edit.names())?.to_json();
    let written = layers.user()?.table.at(edit.names()).map(pellucid_config::value::Value::to_json);
    if written.as_ref() == Some(&effective) {
        return None;
    }
    let stronger = layers.iter().filter(|layer| layer.source > LayerSource::User && layer.is_enabled());
    let layer = stronger.filter(|layer| layer.table.at(edit.names()).is_some()).last()?;
    let message = match layer.source {
        LayerSource::Managed => format!("overridden by the administrator's settings in {}", shown(layer.file.as_ref())),
        LayerSource::Project => format!("overridden by the project's settings in {}", shown(layer.file.as_ref())),
        _ => "overridden by the command line".to_owned(),
    };
    Some(OverriddenMetadata { message, overriding_layer: metadata(layer), effective_value: effective })
}

fn shown(file: Option<&PathBuf>) -> String {
    file.map(|file| file.display().to_string()).unwrap_or_default()
}

fn is_same(one: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| pellucid_files::normal(path));
    canonical(one) == canonical(other)
}

fn refused(code: &str, message: impl Into<String>) -> RpcError {
    RpcError::invalid(message).with_data(json!({ "config_write_error_code": code }))
}

fn uneditable(error: &EditError) -> RpcError {
    let code = match error {
        EditError::NotFound(_) => "configPathNotFound",
        EditError::NotToml(_) => return RpcError::internal(format!("failed to load configuration: {error}")),
        _ => "configValidationError",
    };
    refused(code, error.to_string())
}
