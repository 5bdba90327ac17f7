//! A model's entry in the catalogue.
//!
//! The JSON is that of a models cache, so that the home folder may contain one. Fields that only pickers show are kept,
//! unknown ones are ignored.

use serde::Deserialize;
use serde::Serialize;

use crate::settings::ReasoningEffort;
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
