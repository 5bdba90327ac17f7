//! Facts as JSON, for programs in other languages.
//!
//! A key that is left out is as in [`Facts::plain`]; a key that is not known is refused.

use std::collections::BTreeMap;

use pellucid_engine::facts::Document;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::Provided;
use pellucid_engine::facts::Surroundings;
use pellucid_engine::injection;
use pellucid_engine::injection::scalar;
use pellucid_engine::window::settings::SettingsDocument;
use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::Verbosity;
use pellucid_protocol::settings::WebSearchMode;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;

use crate::input::InputError;

/// The bytes of instruction files that are used unless the input says how many.
const DOCUMENT_BYTES_MAX: usize = 32_768;

/// Facts as programs in other languages write them.
///
/// ```
/// use pellucid_context::{Facts, FactsInput};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let input = r#"{
///     "model": "gpt-5.2-codex",
///     "cwd": "/proj",
///     "project_documents": [{ "path": "/proj/AGENTS.md", "text": "Use tabs." }]
/// }"#;
/// let facts: Facts = serde_json::from_str::<FactsInput>(input)?.try_into()?;
/// assert_eq!(facts.world.project_documents[0].path, "/proj/AGENTS.md");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactsInput {
    model: ModelInput,
    cwd: String,
    shell: Option<String>,
    home_document: Option<FileInput>,
    #[serde(default)]
    project_documents: Vec<FileInput>,
    project_document_bytes_max: Option<usize>,
    base_instructions: Option<String>,
    developer_instructions: Option<String>,
    #[serde(default)]
    permissions: PermissionsInput,
    effort: Option<ReasoningEffort>,
    summary: Option<ReasoningSummary>,
    verbosity: Option<Verbosity>,
    personality: Option<Personality>,
    web_search: Option<WebSearchMode>,
    prompt_mode: Option<PromptMode>,
    #[serde(default)]
    features: BTreeMap<String, bool>,
    #[serde(default)]
    tools: Vec<DynamicTool>,
    injection: Option<InjectionFactsInput>,
    #[serde(default)]
    given: Map<String, Value>,
    #[serde(default)]
    surroundings: Surroundings,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum ModelInput {
    Name(String),
    Entry(Box<ModelInfo>),
}

/// When a person is asked, and what commands may touch.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PermissionsInput {
    approval_policy: Option<ApprovalPolicy>,
    sandbox_policy: Option<SandboxPolicy>,
    writable_roots: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileInput {
    path: String,
    text: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct InjectionFactsInput {
    sources: Option<Value>,
    #[serde(default)]
    attributes: Map<String, Value>,
    store: Option<BTreeMap<String, String>>,
    #[serde(default)]
    memory: Vec<String>,
    #[serde(default)]
    variables: Map<String, Value>,
    /// The settings of an agent, as one document.
    settings: Option<Map<String, Value>>,
}

impl From<FileInput> for Document {
    fn from(file: FileInput) -> Self {
        Self::whole(file.path, file.text)
    }
}

impl TryFrom<FactsInput> for Facts {
    type Error = InputError;

    fn try_from(input: FactsInput) -> Result<Self, InputError> {
        let model = match input.model {
            ModelInput::Name(name) => ModelInfo::named(&name),
            ModelInput::Entry(model) => *model,
        };
        let mut facts = Self::plain(&input.cwd, model);
        let given = |key: &str, text: Option<String>| text.map(|text| Provided { place: key.to_owned(), text });
        facts.world.shell = input.shell.unwrap_or(facts.world.shell);
        facts.world.home_document = input.home_document.map(Document::from);
        facts.world.project_documents = input.project_documents.into_iter().map(Document::from).collect();
        let settings = &mut facts.settings;
        settings.project_document_bytes_max = input.project_document_bytes_max.unwrap_or(DOCUMENT_BYTES_MAX);
        settings.base_instructions = given("base_instructions", input.base_instructions);
        settings.developer_instructions = given("developer_instructions", input.developer_instructions);
        settings.approval_policy = input.permissions.approval_policy.unwrap_or(settings.approval_policy);
        if let Some(policy) = input.permissions.sandbox_policy {
            settings.sandbox_policy = policy;
        }
        settings.writable_roots = input.permissions.writable_roots;
        settings.effort = input.effort;
        settings.summary = input.summary.unwrap_or(settings.summary);
        settings.verbosity = input.verbosity;
        settings.personality = input.personality;
        settings.web_search = input.web_search.unwrap_or(settings.web_search);
        for (key, on) in input.features {
            let feature = Feature::from_key(&key).ok_or(InputError::Feature { key })?;
            settings.features.set(feature, on);
        }
        facts.tools.dynamic_tools = input.tools;
        facts.system.prompt_mode = input.prompt_mode.unwrap_or(facts.system.prompt_mode);
        facts.system.given = input.given;
        facts.system.surroundings = input.surroundings;
        let mut system_prompt = None;
        if let Some(input) = input.injection {
            let facts = &mut facts.system.injection;
            facts.sources = input.sources.as_ref().map(injection::sources).unwrap_or_default();
            facts.attributes = input.attributes;
            facts.store = input.store;
            facts.memory = input.memory;
            let text = |(name, value): (String, Value)| (name, scalar::text(&value).into_owned());
            facts.variables = input.variables.into_iter().map(text).collect();
            if let Some(settings) = &input.settings {
                let document = SettingsDocument::new(settings)?;
                facts.window = document.window()?;
                if let Some(sources) = document.sources() {
                    facts.sources = injection::sources(sources);
                }
                let limit = facts.window.memory_search_limit.and_then(|limit| usize::try_from(limit).ok());
                facts.memory.truncate(limit.unwrap_or(usize::MAX));
                system_prompt = document.system_prompt();
            }
        }
        if let Some(text) = system_prompt {
            let given = || Provided { place: "injection.settings".to_owned(), text };
            facts.settings.base_instructions.get_or_insert_with(given);
        }
        Ok(facts)
    }
}
