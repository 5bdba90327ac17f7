//! `config/value/write` and `config/batchWrite`: changes to the user's own file, all of them or none.

use std::path::Path;
use std::path::PathBuf;

use pellucid_config::edit;
use pellucid_config::edit::Change;
use pellucid_config::edit::Edit;
use pellucid_config::edit::EditError;
use pellucid_config::layers::FILE_NAME;
use pellucid_config::layers::Layers;
use pellucid_config::layers::Source;
use pellucid_config::user_file;
use pellucid_config::user_file::WriteError;
use pellucid_config::verify::verify;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

use super::layers::ConfigLayerMetadata;
use super::layers::metadata;
use super::options;
use crate::ground::Ground;
use crate::rpc::RpcError;
use crate::server::Server;

/// What becomes of a table that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MergeStrategy {
    /// The new value takes its place.
    Replace,
    /// The new value's keys are added to it.
    Upsert,
}

/// What `config/value/write` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigValueWriteParams {
    /// The dotted path of the key.
    pub key_path: String,
    /// The value; `null` removes the key.
    pub value: Value,
    /// What becomes of a table that is there already.
    pub merge_strategy: MergeStrategy,
    /// The file; only the user's own can be written.
    #[serde(default)]
    pub file_path: Option<String>,
    /// The version that the file must have.
    #[serde(default)]
    pub expected_version: Option<String>,
}

/// What `config/batchWrite` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigBatchWriteParams {
    /// The changes, in this order.
    pub edits: Vec<ConfigEdit>,
    /// The file; only the user's own can be written.
    #[serde(default)]
    pub file_path: Option<String>,
    /// The version that the file must have.
    #[serde(default)]
    pub expected_version: Option<String>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigEdit {
    /// The dotted path of the key.
    pub key_path: String,
    /// The value; `null` removes the key.
    pub value: Value,
    /// What becomes of a table that is there already.
    pub merge_strategy: MergeStrategy,
}

/// What both give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigWriteResponse {
    /// Whether the file decides.
    pub status: WriteStatus,
    /// The version that the file has now.
    pub version: String,
    /// The file.
    pub file_path: String,
    /// Who else decides.
    pub overridden_metadata: Option<OverriddenMetadata>,
}

/// Whether the file decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WriteStatus {
    /// It does.
    Ok,
    /// It is written, but a stronger layer says otherwise.
    OkOverridden,
}

/// The layer that is stronger, and what it says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverriddenMetadata {
    /// In words.
    pub message: String,
    /// The layer.
    pub overriding_layer: ConfigLayerMetadata,
    /// What counts.
    pub effective_value: Value,
}

/// `config/value/write`.
///
/// # Errors
/// When the value cannot be written; the file is then as it was.
pub async fn config_value_write(
    server: &Server,
    params: ConfigValueWriteParams,
) -> Result<ConfigWriteResponse, RpcError> {
    let ConfigValueWriteParams { key_path, value, merge_strategy, file_path, expected_version } = params;
    let edits = vec![ConfigEdit { key_path, value, merge_strategy }];
    config_batch_write(server, ConfigBatchWriteParams { edits, file_path, expected_version }).await
}

/// `config/batchWrite`.
///
/// # Errors
/// When one of the values cannot be written; the file is then as it was.
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
        // The layers are read while nobody else writes, so the version is that of the text.
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

/// Switches a skill in the user's own file.
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
            (Value::Null, _) => Change::Clear,
            (value, MergeStrategy::Replace) => Change::Replace(value),
            (value, MergeStrategy::Upsert) => Change::Merge(value),
        };
        Edit::at(&self.key_path, change).map_err(|error| uneditable(&error))
    }
}

/// An error inside of a change to the file.
struct Failed(RpcError);

impl From<RpcError> for Failed {
    fn from(error: RpcError) -> Self {
        Self(error)
    }
}

impl From<WriteError> for Failed {
    fn from(error: WriteError) -> Self {
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

/// Who decides instead of the user's file, if somebody does.
fn overridden(layers: &Layers, edit: &Edit) -> Option<OverriddenMetadata> {
    let effective = layers.merged().at(edit.names())?.to_json();
    let written = layers.user()?.table.at(edit.names()).map(pellucid_config::value::Value::to_json);
    if written.as_ref() == Some(&effective) {
        return None;
    }
    let stronger = layers.iter().filter(|layer| layer.source > Source::User && layer.is_enabled());
    let layer = stronger.filter(|layer| layer.table.at(edit.names()).is_some()).last()?;
    let message = match layer.source {
        Source::Managed => format!("overridden by the administrator's settings in {}", shown(layer.file.as_ref())),
        Source::Project => format!("overridden by the project's settings in {}", shown(layer.file.as_ref())),
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
