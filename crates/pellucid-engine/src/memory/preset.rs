//! Settings of [`super::summary_cards`], with names, as people keep and share them. The keys are those of Risuai's presets.

use serde::Deserialize;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;

/// The name of a preset without a name.
pub const NEW_NAME: &str = "New Preset";

/// Settings with a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryPreset {
    /// The name of the preset.
    pub name: String,
    /// The settings of the preset.
    pub settings: CardSettings,
}

/// How much is remembered, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CardSettings {
    /// The source of summaries: `subModel` for a model that is asked, else a local one.
    pub summarization_model: String,
    /// How a summary is asked for; empty for the usual words.
    pub summarization_prompt: String,
    /// How a summary of summaries is asked for; empty for the usual words.
    pub re_summarization_prompt: String,
    /// The share of the window for the memory.
    pub memory_tokens_ratio: f64,
    /// How far below the window to go once something is summarised.
    pub extra_summarization_ratio: f64,
    /// How many messages make a summary.
    pub max_chats_per_summary: f64,
    /// The share of the memory for new summaries.
    pub recent_memory_ratio: f64,
    /// The share for cards that are similar to the last messages.
    pub similar_memory_ratio: f64,
    /// Whether the last messages are summarised for the comparison.
    pub enable_similarity_correction: bool,
    /// Whether summaries stay whose messages are gone.
    pub preserve_orphaned_memory: bool,
    /// Whether scripts change texts before they are summarised again.
    pub process_regex_script: bool,
    /// Whether what people say is left out of summaries.
    pub do_not_summarize_user_message: bool,
    /// Whether the experimental implementation is used.
    pub use_experimental_impl: bool,
    /// How many summaries a minute.
    pub summarization_requests_per_minute: f64,
    /// How many at once.
    pub summarization_max_concurrent: f64,
    /// How many requests for vectors a minute.
    pub embedding_requests_per_minute: f64,
    /// How many at once.
    pub embedding_max_concurrent: f64,
    /// Whether choosing a character switches its memory on.
    pub always_toggle_on: bool,
}

impl Default for CardSettings {
    fn default() -> Self {
        Self {
            summarization_model: "subModel".to_owned(),
            summarization_prompt: String::new(),
            re_summarization_prompt: String::new(),
            memory_tokens_ratio: 0.2,
            extra_summarization_ratio: 0.0,
            max_chats_per_summary: 6.0,
            recent_memory_ratio: 0.4,
            similar_memory_ratio: 0.4,
            enable_similarity_correction: false,
            preserve_orphaned_memory: false,
            process_regex_script: false,
            do_not_summarize_user_message: false,
            use_experimental_impl: false,
            summarization_requests_per_minute: 20.0,
            summarization_max_concurrent: 1.0,
            embedding_requests_per_minute: 100.0,
            embedding_max_concurrent: 1.0,
            always_toggle_on: false,
        }
    }
}

impl CardSettings {
    /// Foreign settings: of keys that are known, values of the right kind.
    pub fn from_foreign(given: &Value) -> Self {
        let usual = serde_json::to_value(Self::default()).unwrap_or_default();
        let (Value::Object(mut settings), Value::Object(given)) = (usual, given) else {
            return Self::default();
        };
        take_over(&mut settings, given);
        serde_json::from_value(Value::Object(settings)).unwrap_or_default()
    }
}

fn take_over(settings: &mut Map<String, Value>, given: &Map<String, Value>) {
    let kind = |value: &Value| match value {
        Value::Bool(_) => 'b',
        Value::Number(_) => 'n',
        Value::String(_) => 's',
        Value::Null | Value::Array(_) | Value::Object(_) => 'o',
    };
    for (key, value) in settings.iter_mut() {
        if let Some(given) = given.get(key)
            && kind(given) == kind(value)
        {
            value.clone_from(given);
        }
    }
}

impl MemoryPreset {
    /// A preset from foreign settings.
    pub fn new(name: Option<&str>, given: &Value) -> Self {
        Self { name: name.unwrap_or(NEW_NAME).to_owned(), settings: CardSettings::from_foreign(given) }
    }

    /// The preset as JSON, to be shared.
    pub fn exported(&self) -> Value {
        serde_json::json!({ "type": "risu", "ver": 1, "data": self })
    }

    /// Reads a shared preset; `None` if the JSON is something else.
    pub fn imported(value: &Value) -> Option<Self> {
        if value.get("type")? != "risu" {
            return None;
        }
        let data = value.get("data")?;
        let name = data.get("name").and_then(Value::as_str).unwrap_or("Imported Preset");
        Some(Self::new(Some(name), data.get("settings")?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_can_be_taken_over() {
        let mut preset = MemoryPreset::new(Some("Mine"), &Value::Null);
        preset.settings.memory_tokens_ratio = 0.35;
        assert_eq!(MemoryPreset::imported(&preset.exported()), Some(preset));
        assert_eq!(MemoryPreset::imported(&serde_json::json!({ "type": "other", "data": {} })), None);
    }

    #[test]
    fn of_foreign_settings_only_known_keys_of_the_right_kind_are_taken() {
        let given = serde_json::json!({
            "memoryTokensRatio": 0.5, "maxChatsPerSummary": "many", "useExperimentalImpl": true, "doNotSummarizeUserMessage": 1,
            "summarizationPrompt": "p", "recentMemoryRatio": null, "later": 7,
        });
        let expected = CardSettings {
            memory_tokens_ratio: 0.5,
            use_experimental_impl: true,
            summarization_prompt: "p".to_owned(),
            ..CardSettings::default()
        };
        assert_eq!(CardSettings::from_foreign(&given), expected);
        for nothing in [Value::Null, serde_json::json!([]), serde_json::json!("x"), serde_json::json!({})] {
            assert_eq!(CardSettings::from_foreign(&nothing), CardSettings::default(), "{nothing}");
        }
        assert_eq!(CardSettings::from_foreign(&serde_json::to_value(&expected).unwrap()), expected);
    }

    #[test]
    fn a_preset_without_a_name_gets_one_and_what_is_no_preset_is_refused() {
        assert_eq!(MemoryPreset::new(None, &Value::Null).name, NEW_NAME);
        let shared = |data: Value| {
            MemoryPreset::imported(&serde_json::json!({ "type": "risu", "data": data })).map(|it| it.name)
        };
        assert_eq!(shared(serde_json::json!({ "settings": {} })).as_deref(), Some("Imported Preset"));
        assert_eq!(shared(serde_json::json!({ "name": 7, "settings": {} })).as_deref(), Some("Imported Preset"));
        assert_eq!(shared(serde_json::json!({ "name": "n" })), None);
        for wrong in [Value::Null, serde_json::json!({ "type": "risu" }), serde_json::json!([1])] {
            assert_eq!(MemoryPreset::imported(&wrong), None, "{wrong}");
        }
    }
}
