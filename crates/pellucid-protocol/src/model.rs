//! A model's entry in the catalogue.
//!
//! The JSON is that of a models cache, so that the home folder may contain one. Fields that only pickers show are kept,
//! unknown ones are ignored.
//!
//! The built-in table has no instructions: the pack supplies them. A file of the user's that extends the table is read
//! elsewhere (`pellucid-model`).

use serde::Deserialize;
use serde::Serialize;

use crate::settings::ReasoningEffort;
use crate::settings::TruncationMode;
use crate::settings::TruncationPolicy;
use crate::settings::Verbosity;

/// One model of the catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The model's name in requests.
    pub slug: String,
    /// The model's name for people.
    pub display_name: String,
    /// A description in one line.
    #[serde(default)]
    pub description: Option<String>,
    /// The reasoning effort that applies unless one is set.
    #[serde(default)]
    pub default_reasoning_level: Option<ReasoningEffort>,
    /// The reasoning efforts that the model supports.
    #[serde(default)]
    pub supported_reasoning_levels: Vec<ReasoningLevel>,
    /// The shell tool that the model was trained on.
    pub shell_type: ShellType,
    /// Whether pickers show the model.
    pub visibility: ModelVisibility,
    /// Whether the model can be used with an API key.
    #[serde(default)]
    pub supported_in_api: bool,
    /// The model's place in pickers, the lowest number first.
    #[serde(default)]
    pub priority: i32,
    /// Base instructions of the catalogue entry; without them the pack's texts are used.
    #[serde(default)]
    pub base_instructions: Option<String>,
    /// A template for base instructions, and the texts to fill in.
    #[serde(default)]
    pub model_messages: Option<ModelMessages>,
    /// Whether the model can summarise its reasoning.
    #[serde(default)]
    pub supports_reasoning_summaries: bool,
    /// Whether the model supports the setting `verbosity`.
    #[serde(default)]
    pub support_verbosity: bool,
    /// The verbosity that applies unless one is set.
    #[serde(default)]
    pub default_verbosity: Option<Verbosity>,
    /// The form of the patch tool that the model was trained on.
    #[serde(default)]
    pub apply_patch_tool_type: Option<ApplyPatchType>,
    /// How the output of tools is cut.
    pub truncation_policy: TruncationPolicy,
    /// Whether the model may call several tools at once.
    #[serde(default)]
    pub supports_parallel_tool_calls: bool,
    /// The context window in tokens.
    #[serde(default)]
    pub context_window: Option<i64>,
    /// At how many tokens the history is summarised.
    #[serde(default)]
    pub auto_compact_token_limit: Option<i64>,
    /// The share of the window that is used, in percent.
    #[serde(default = "default_window_percent")]
    pub effective_context_window_percent: i64,
    /// Further tools that the model was trained on.
    #[serde(default)]
    pub experimental_supported_tools: Vec<String>,
    /// The kinds of input that the model accepts, such as `text` and `image`.
    #[serde(default = "default_modalities")]
    pub input_modalities: Vec<String>,
    /// Whether the model prefers the WebSocket transport.
    #[serde(default)]
    pub prefer_websockets: bool,
    /// The model that should be used instead.
    #[serde(default)]
    pub upgrade: Option<ModelUpgrade>,
}

/// The successor of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUpgrade {
    /// The successor's name in requests.
    pub model: String,
}

/// A reasoning effort that a model supports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningLevel {
    /// The value of the setting.
    pub effort: ReasoningEffort,
    /// A description in one line.
    pub description: String,
}

/// A template for base instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelMessages {
    /// The template; `{{ personality }}` is replaced by the text of the chosen tone.
    #[serde(default)]
    pub instructions_template: Option<String>,
    /// The texts to fill in.
    #[serde(default)]
    pub instructions_variables: Option<InstructionVariables>,
}

/// The texts for the tones of a template.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionVariables {
    /// The text if no tone is chosen.
    #[serde(default)]
    pub personality_default: Option<String>,
    /// The text of the tone `friendly`.
    #[serde(default)]
    pub personality_friendly: Option<String>,
    /// The text of the tone `pragmatic`.
    #[serde(default)]
    pub personality_pragmatic: Option<String>,
}

/// The shell tool that a model was trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellType {
    /// The tool `shell`, with an argument list.
    Default,
    /// The `local_shell` tool of the Responses API.
    Local,
    /// The tools `exec_command` and `write_stdin`.
    UnifiedExec,
    /// No shell tool at all.
    Disabled,
    /// The tool `shell_command`, with one command line.
    ShellCommand,
}

/// The form of the patch tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplyPatchType {
    /// Raw text under a grammar.
    Freeform,
    /// A function with one argument.
    Function,
}

/// Whether pickers show a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelVisibility {
    /// Pickers show the model.
    List,
    /// The model can be used but is not shown.
    Hide,
    /// The model is neither shown nor usable.
    None,
}

impl ModelInfo {
    /// The model of this name: the properties of the built-in entry whose slug is the longest beginning of the name, else
    /// cautious defaults. The slug of the result is the name itself.
    ///
    /// ```
    /// use pellucid_protocol::model::ModelInfo;
    ///
    /// let model = ModelInfo::named("gpt-5.2-codex-custom");
    /// assert_eq!((model.slug.as_str(), model.display_name.as_str()), ("gpt-5.2-codex-custom", "gpt-5.2-codex"));
    /// assert_eq!(ModelInfo::named("my-own").display_name, "my-own");
    /// ```
    pub fn named(name: &str) -> Self {
        Self::find(&Self::builtin(), name).unwrap_or_else(|| Self::unknown(name))
    }

    /// The entries of the built-in table.
    pub fn builtin() -> Vec<Self> {
        serde_json::from_str(include_str!("model/builtin.json")).expect("a test reads the built-in table")
    }

    /// The model of this name among entries: the one whose slug is the longest beginning of the name, with the name as its
    /// slug.
    pub fn find(entries: &[Self], name: &str) -> Option<Self> {
        let longest = entries.iter().filter(|model| name.starts_with(&model.slug)).max_by_key(|model| model.slug.len());
        longest.map(|model| Self { slug: name.to_owned(), ..model.clone() })
    }

    /// The cautious defaults of a model that no table has.
    pub fn unknown(name: &str) -> Self {
        Self {
            slug: name.to_owned(),
            display_name: name.to_owned(),
            description: None,
            default_reasoning_level: None,
            supported_reasoning_levels: Vec::new(),
            shell_type: ShellType::Default,
            visibility: ModelVisibility::None,
            supported_in_api: true,
            priority: 99,
            base_instructions: None,
            model_messages: None,
            supports_reasoning_summaries: false,
            support_verbosity: false,
            default_verbosity: None,
            apply_patch_tool_type: None,
            truncation_policy: TruncationPolicy { mode: TruncationMode::Bytes, limit: 10_000 },
            supports_parallel_tool_calls: false,
            context_window: Some(272_000),
            auto_compact_token_limit: None,
            effective_context_window_percent: default_window_percent(),
            experimental_supported_tools: Vec::new(),
            input_modalities: default_modalities(),
            prefer_websockets: false,
            upgrade: None,
        }
    }

    /// Whether the model accepts images.
    pub fn takes_images(&self) -> bool {
        self.input_modalities.iter().any(|modality| modality == "image")
    }

    /// At how many tokens the history is summarised: the configured number, but at most nine tenths of the window.
    pub fn compaction_limit(&self) -> Option<i64> {
        let share = self.context_window.map(|window| window * 9 / 10);
        match (self.auto_compact_token_limit, share) {
            (Some(limit), Some(share)) => Some(limit.min(share)),
            (limit, share) => limit.or(share),
        }
    }

    /// The part of the window that is used, in tokens.
    pub fn effective_window(&self) -> Option<i64> {
        self.context_window.map(|window| window * self.effective_context_window_percent / 100)
    }
}

fn default_window_percent() -> i64 {
    95
}

fn default_modalities() -> Vec<String> {
    vec!["text".to_owned(), "image".to_owned()]
}
