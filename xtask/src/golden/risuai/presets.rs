//! Presets of the program that the vectors come from: its keys, their usual values, and what is taken over of a shared one.

use pellucid_engine::memory::card_settings::CardSettings;
use serde_json::{Map, Value, json};

/// The name of a preset without a name.
const NEW_NAME: &str = "New Preset";

/// Keys of presets that Pellucid has no use for.
const UNUSED: [&str; 4] = ["summarizationModel", "reSummarizationPrompt", "processRegexScript", "alwaysToggleOn"];

/// A preset from the settings of a shared one.
pub fn preset(name: Option<&str>, given: &Value) -> Value {
    json!({ "name": name.unwrap_or(NEW_NAME), "settings": completed(given) })
}

/// The settings of a shared preset, as Pellucid has them.
pub fn settings(given: &Value) -> CardSettings {
    let mut settings = completed(given);
    settings.retain(|key, _| !UNUSED.contains(&key.as_str()));
    serde_json::from_value(settings.into()).unwrap_or_default()
}

/// The usual settings, and over them, of keys that are known, values of the right kind.
fn completed(given: &Value) -> Map<String, Value> {
    let Value::Object(mut settings) = usual() else {
        return Map::new();
    };
    for (key, value) in &mut settings {
        if let Some(given) = given.get(key).filter(|given| kind(given) == kind(value)) {
            value.clone_from(given);
        }
    }
    settings
}

fn kind(value: &Value) -> char {
    match value {
        Value::Bool(_) => 'b',
        Value::Number(_) => 'n',
        Value::String(_) => 's',
        Value::Null | Value::Array(_) | Value::Object(_) => 'o',
    }
}

fn usual() -> Value {
    json!({
        "summarizationModel": "subModel",
        "summarizationPrompt": "",
        "reSummarizationPrompt": "",
        "memoryTokensRatio": 0.2,
        "extraSummarizationRatio": 0.0,
        "maxChatsPerSummary": 6.0,
        "recentMemoryRatio": 0.4,
        "similarMemoryRatio": 0.4,
        "enableSimilarityCorrection": false,
        "preserveOrphanedMemory": false,
        "processRegexScript": false,
        "doNotSummarizeUserMessage": false,
        "useExperimentalImpl": false,
        "summarizationRequestsPerMinute": 20.0,
        "summarizationMaxConcurrent": 1.0,
        "embeddingRequestsPerMinute": 100.0,
        "embeddingMaxConcurrent": 1.0,
        "alwaysToggleOn": false,
    })
}
