//! Which features are on, and the notices about old spellings.
//!
//! Order: defaults, old switches at the top, `[features]`, old switches of the profile, its `[features]`, the caller's.
//! Within a table names apply in alphabetical order, so that an alias and its feature do not depend on the order in a
//! file.
//!
//! Not here: what a feature does.

use std::collections::BTreeMap;

use pellucid_protocol::feature::ALIASES;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::FeatureStage;
use pellucid_protocol::feature::Features;

use crate::config::Deprecation;
use crate::reader::Reader;
use crate::value::Table;
use crate::value::Value;
use crate::value::segments;

/// The features that the configuration switches.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub features: Features,
    /// The notices, by the old spelling.
    pub deprecations: Vec<Deprecation>,
    /// The keys of features under development that `[features]` switches on.
    pub unstable: Vec<&'static str>,
}

/// Old top-level switches: the path, and the feature.
const TOP_SWITCHES: &[(&str, Feature)] = &[
    ("experimental_use_freeform_apply_patch", Feature::ApplyPatchFreeform),
    ("experimental_use_unified_exec_tool", Feature::UnifiedExec),
    ("tools.web_search", Feature::WebSearchRequest),
    ("tools.web_search_request", Feature::WebSearchRequest),
];

/// Old switches in a profile.
const PROFILE_SWITCHES: &[(&str, Feature)] = &[
    ("include_apply_patch_tool", Feature::ApplyPatchFreeform),
    ("experimental_use_freeform_apply_patch", Feature::ApplyPatchFreeform),
    ("experimental_use_unified_exec_tool", Feature::UnifiedExec),
    ("tools_web_search", Feature::WebSearchRequest),
];

/// Determines which features are on.
pub(crate) fn resolve(reader: &Reader<'_>, caller: &BTreeMap<Feature, bool>) -> Resolved {
    let mut state = State { features: Features::default(), deprecations: BTreeMap::new() };
    state.switches(reader.top, TOP_SWITCHES);
    state.table(reader.top);
    if let Some(profile) = reader.profile {
        state.switches(profile, PROFILE_SWITCHES);
        state.table(profile);
    }
    for (feature, on) in caller {
        state.features.set(*feature, *on);
    }
    if !state.features.is_on(Feature::JsRepl) {
        state.features.set(Feature::JsReplToolsOnly, false);
    }
    Resolved {
        unstable: unstable(reader.top, &state.features),
        features: state.features,
        deprecations: state.deprecations.into_values().collect(),
    }
}

struct State {
    features: Features,
    deprecations: BTreeMap<String, Deprecation>,
}

impl State {
    fn switches(&mut self, table: &Table, switches: &[(&'static str, Feature)]) {
        for (path, feature) in switches {
            if let Some(on) = table.at(segments(path)).and_then(Value::as_bool) {
                let name = if *feature == Feature::WebSearchRequest { "[tools].web_search" } else { path };
                self.deprecate(name, *feature);
                self.features.set(*feature, on);
            }
        }
    }

    fn table(&mut self, table: &Table) {
        let Some(table) = table.get("features").and_then(|value| value.as_table()) else { return };
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by(|one, other| one.key.cmp(&other.key));
        for entry in entries {
            let Some(on) = entry.value.as_bool() else { continue };
            let alias = ALIASES.iter().find(|(alias, _)| *alias == entry.key);
            let Some(feature) = Feature::from_key(&entry.key).or(alias.map(|(_, feature)| *feature)) else {
                continue;
            };
            if is_web_search(feature) {
                self.deprecate(&format!("[features].{}", entry.key), feature);
            } else if alias.is_some() {
                self.deprecate(&entry.key, feature);
            }
            self.features.set(feature, on);
        }
    }

    fn deprecate(&mut self, name: &str, feature: Feature) {
        let (key, notice) = (feature.key(), name.to_owned());
        self.deprecations.entry(notice).or_insert_with(|| {
            if is_web_search(feature) {
                Deprecation {
                    summary: format!("`{name}` is deprecated: web search is on without it"),
                    details: Some(
                        "To choose another mode, set `web_search` to `\"live\"`, `\"cached\"` or `\"disabled\"`, \
                         at the top of config.toml or in a profile."
                            .to_owned(),
                    ),
                }
            } else {
                Deprecation {
                    summary: format!("`{name}` is deprecated: use `[features].{key}`"),
                    details: Some(format!(
                        "Set `{key}` under `[features]` in config.toml, or start with `--enable {key}`."
                    )),
                }
            }
        });
    }
}

fn is_web_search(feature: Feature) -> bool {
    matches!(feature, Feature::WebSearchRequest | Feature::WebSearchCached)
}

fn unstable(top: &Table, features: &Features) -> Vec<&'static str> {
    let Some(table) = top.get("features").and_then(|value| value.as_table()) else { return Vec::new() };
    let mut keys: Vec<_> = Feature::ALL
        .iter()
        .filter(|feature| feature.stage() == FeatureStage::UnderDevelopment && features.is_on(**feature))
        .map(|feature| feature.key())
        .filter(|key| table.get(key).and_then(Value::as_bool) == Some(true))
        .collect();
    keys.sort_unstable();
    keys
}
