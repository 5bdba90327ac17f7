//! Settings of the model's input: the pack, and the texts that the configuration gives.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::ReinjectTrigger;
use pellucid_protocol::settings::ResumeContext;

use crate::config::BootstrapSettings;
use crate::config::ResumeSettings;
use crate::config::Sourced;
use crate::keys::default::text_or_default;
use crate::keys::default::word_or_default;
use crate::reader::Reader;
use crate::value::Table;
use crate::value::Value;

/// The texts that the configuration gives for the prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptSettings {
    /// The prompt pack: the name of a built-in one, or a folder.
    pub pack: String,
    /// The base instructions that replace the pack's.
    pub base_instructions: Option<Sourced>,
    /// A further message with the role `developer`.
    pub developer_instructions: Option<Sourced>,
    /// The prompt that asks the model for a summary.
    pub compact_prompt: Option<Sourced>,
    /// What of the first context is sent when a session is resumed.
    pub resume_context: ResumeContext,
    /// Where model, effort and appended instructions of a resumed session come from.
    pub resume_settings: ResumeSettings,
    /// After how many turns the message of a slot is sent again, by the slot's name.
    pub reinject_turns: BTreeMap<String, u64>,
    /// The name that commit messages are attributed to; blank for none.
    pub commit_attribution: Option<String>,
    /// The phase of work, for packs that have prompts for phases.
    pub phase: Option<String>,
    /// How standing texts are repeated.
    pub reinject: StandingSettings,
    /// How much of a layout is used, if it is set.
    pub mode: Option<PromptMode>,
    /// Files with items to inject.
    pub inject: Vec<PathBuf>,
    /// Items to inject that came by standard input, as the text of such a file.
    pub inject_input: Option<Arc<str>>,
    /// The files that the layout begins with.
    pub bootstrap: BootstrapSettings,
    /// Values for the templates and conditions of the pack, by name.
    pub facts: serde_json::Map<String, serde_json::Value>,
}

impl PromptSettings {
    /// The settings without the texts that files have.
    pub(crate) fn read(reader: &Reader<'_>) -> Self {
        Self {
            pack: text_or_default!(reader, "pack"),
            base_instructions: None,
            developer_instructions: None,
            compact_prompt: None,
            resume_context: word_or_default!(reader, "resume_context", ResumeContext),
            resume_settings: word_or_default!(reader, "resume_settings", ResumeSettings),
            reinject_turns: counts(reader, "reinject_turns"),
            commit_attribution: reader.text("commit_attribution"),
            phase: reader.text("phase"),
            reinject: StandingSettings::read(reader),
            mode: reader.word("prompt_mode", PromptMode::from_word),
            inject: reader.texts("inject").unwrap_or_default().into_iter().map(PathBuf::from).collect(),
            inject_input: None,
            bootstrap: BootstrapSettings::read(reader),
            facts: match reader.value("facts").map(Value::to_json) {
                Some(serde_json::Value::Object(facts)) => facts,
                _ => serde_json::Map::new(),
            },
        }
    }
}

/// How standing texts are repeated. The pack decides about absent values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StandingSettings {
    /// The file of the workspace with its rules.
    pub rules: Option<String>,
    /// Whether texts are sent again that did not change.
    pub enabled: Option<bool>,
    /// After how many turns texts are sent again.
    pub turns: Option<f64>,
    /// After how many turns everything but the instructions is sent again.
    pub rules_turns: Option<f64>,
    /// What makes texts be sent again.
    pub trigger: Option<ReinjectTrigger>,
    /// The used shares of the window at which texts are sent again.
    pub thresholds: Option<Vec<f64>>,
}

impl StandingSettings {
    fn read(reader: &Reader<'_>) -> Self {
        let number = |key| reader.value(key).and_then(Value::as_number);
        let shares = reader.value("reinject.thresholds").and_then(Value::as_list);
        Self {
            rules: reader.text("reinject.rules"),
            enabled: reader.flag("reinject.enabled"),
            turns: number("reinject.turns"),
            rules_turns: number("reinject.rules_turns"),
            trigger: reader.word("reinject.trigger", ReinjectTrigger::from_word),
            thresholds: shares.map(|shares| shares.iter().filter_map(Value::as_number).collect()),
        }
    }
}

/// Whole numbers by name.
fn counts(reader: &Reader<'_>, path: &str) -> BTreeMap<String, u64> {
    let entries = reader.value(path).and_then(Value::as_table).into_iter().flat_map(Table::iter);
    entries.filter_map(|entry| Some((entry.key.clone(), entry.value.as_integer()?.try_into().ok()?))).collect()
}
