//! Configuration layers as clients see them, and the layer that each value comes from.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use pellucid_config::layers::Layer;
use pellucid_config::layers::LayerSource;
use pellucid_config::layers::Layers;
use pellucid_config::value::Data;
use pellucid_config::value::Table;
use pellucid_config::value::Value;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use sha2::Digest;
use sha2::Sha256;

/// Where a configuration layer comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ConfigLayerSource {
    /// A setting of the system's device management.
    Mdm { domain: String, key: String },
    /// The configuration file of the machine.
    System { file: String },
    /// The user's `config.toml`.
    User { file: String },
    /// The configuration file of a project folder.
    Project {
        /// The folder that contains the configuration file.
        dot_codex_folder: String,
    },
    /// The command line or the client's request.
    SessionFlags,
    /// The administrator's managed configuration file.
    LegacyManagedConfigTomlFromFile { file: String },
    /// The administrator's managed configuration from device management.
    LegacyManagedConfigTomlFromMdm,
}

/// A configuration layer and its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigLayerMetadata {
    pub name: ConfigLayerSource,
    /// A hash of all values of the layer.
    pub version: String,
}

/// A layer with all its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigLayer {
    pub name: ConfigLayerSource,
    /// A hash of all values of the layer.
    pub version: String,
    pub config: serde_json::Value,
    /// Why the layer is ignored; absent if it applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_reason: Option<String>,
}

/// The existing layers, the strongest first.
pub(super) fn list(stack: &Layers) -> Vec<ConfigLayer> {
    let mut layers: Vec<_> = stack.iter().filter(|layer| is_there(layer)).map(listed).collect();
    layers.reverse();
    layers
}

/// The layer that each value comes from, by the value's dotted path. Elements of lists are named by their index.
pub(super) fn origins(stack: &Layers) -> BTreeMap<String, ConfigLayerMetadata> {
    let layers: Vec<_> = stack.iter().map(metadata).collect();
    let mut origins = BTreeMap::new();
    collect_table(stack.merged(), &mut String::new(), &mut |path, value| {
        if let Some(layer) = layers.get(value.place.layer) {
            origins.insert(path.to_owned(), layer.clone());
        }
    });
    origins
}

/// The name and version of a layer.
pub(super) fn metadata(layer: &Layer) -> ConfigLayerMetadata {
    ConfigLayerMetadata { name: name(layer), version: version(&layer.table.to_json()) }
}

/// A hash of values: of their JSON with sorted keys and without spaces.
fn version(config: &serde_json::Value) -> String {
    let mut config = config.clone();
    config.sort_all_objects();
    let mut version = "sha256:".to_owned();
    for byte in Sha256::digest(config.to_string()) {
        let _ = write!(version, "{byte:02x}");
    }
    version
}

fn listed(layer: &Layer) -> ConfigLayer {
    let ConfigLayerMetadata { name, version } = metadata(layer);
    let mut config = layer.table.to_json();
    config.sort_all_objects();
    ConfigLayer { name, version, config, disabled_reason: layer.disabled.clone() }
}

/// The layers of the machine and the user are listed even without a file, because a client can write there.
fn is_there(layer: &Layer) -> bool {
    match layer.source {
        LayerSource::System | LayerSource::User | LayerSource::Project => true,
        LayerSource::Flags | LayerSource::Role => !layer.table.is_empty(),
        LayerSource::Managed => layer.file.as_deref().is_some_and(Path::exists),
    }
}

fn name(layer: &Layer) -> ConfigLayerSource {
    let shown = |path: Option<&Path>| path.unwrap_or(Path::new("")).to_string_lossy().into_owned();
    let file = || shown(layer.file.as_deref());
    match layer.source {
        LayerSource::System => ConfigLayerSource::System { file: file() },
        LayerSource::User => ConfigLayerSource::User { file: file() },
        LayerSource::Project => ConfigLayerSource::Project { dot_codex_folder: shown(layer.folder()) },
        LayerSource::Flags | LayerSource::Role => ConfigLayerSource::SessionFlags,
        LayerSource::Managed => ConfigLayerSource::LegacyManagedConfigTomlFromFile { file: file() },
    }
}

fn collect_table(table: &Table, path: &mut String, found: &mut dyn FnMut(&str, &Value)) {
    for entry in table.iter() {
        collect(&entry.key, &entry.value, path, found);
    }
}

fn collect(name: &str, value: &Value, path: &mut String, found: &mut dyn FnMut(&str, &Value)) {
    let n_before = path.len();
    if n_before > 0 {
        path.push('.');
    }
    path.push_str(name);
    match &value.data {
        Data::Table(table) => collect_table(table, path, found),
        Data::List(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(&index.to_string(), item, path, found);
            }
        }
        _ => found(path, value),
    }
    path.truncate(n_before);
}
