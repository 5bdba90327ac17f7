//! What is known of a model: the shape of an entry in the catalogue.
//!
//! The JSON is that of a models cache, so that one may lie in the home folder. Fields that only
//! pickers show are kept, unknown ones are ignored.

use serde::Deserialize;
use serde::Serialize;

use crate::settings::ReasoningEffort;
use crate::settings::TruncationPolicy;
use crate::settings::Verbosity;

/// One model of the catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The name in requests.
    pub slug: String,
    /// The name for people.
    pub display_name: String,
    /// One line about it.
    #[serde(default)]
    pub description: Option<String>,
    /// How long it thinks unless told otherwise.
    #[serde(default)]
    pub default_reasoning_level: Option<ReasoningEffort>,
    /// How long it can think.
    #[serde(default)]
    pub supported_reasoning_levels: Vec<ReasoningLevel>,
    /// Which shell tool it was trained on.
    pub shell_type: ShellType,
    /// Whether pickers show it.
    pub visibility: ModelVisibility,
    /// Whether it can be used with an API key.
    #[serde(default)]
    pub supported_in_api: bool,
    /// Its place in pickers, the least first.
    #[serde(default)]
    pub priority: i32,
    /// Base instructions that came with the entry; without them the pack's texts are used.
    #[serde(default)]
    pub base_instructions: Option<String>,
    /// A template for base instructions, and what goes into it.
    #[serde(default)]
    pub model_messages: Option<ModelMessages>,
    /// Whether it can summarise its thoughts.
    #[serde(default)]
    pub supports_reasoning_summaries: bool,
    /// Whether it knows verbosity.
    #[serde(default)]
    pub support_verbosity: bool,
    /// How much it says unless told otherwise.
    #[serde(default)]
    pub default_verbosity: Option<Verbosity>,
    /// The form of the patch tool it was trained on.
    #[serde(default)]
    pub apply_patch_tool_type: Option<ApplyPatchType>,
    /// How output of tools is cut.
    pub truncation_policy: TruncationPolicy,
    /// Whether it may call several tools at once.
    #[serde(default)]
    pub supports_parallel_tool_calls: bool,
    /// Its window in tokens.
    #[serde(default)]
    pub context_window: Option<i64>,
    /// When the history is summarised, in tokens.
    #[serde(default)]
    pub auto_compact_token_limit: Option<i64>,
    /// Which share of the window is used, in percent.
    #[serde(default = "default_window_percent")]
    pub effective_context_window_percent: i64,
    /// Further tools it was trained on.
    #[serde(default)]
    pub experimental_supported_tools: Vec<String>,
    /// What it can take in.
    #[serde(default = "default_modalities")]
    pub input_modalities: Vec<String>,
    /// Whether it prefers the WebSocket transport.
    #[serde(default)]
    pub prefer_websockets: bool,
    /// What people who use it should use now.
    #[serde(default)]
    pub upgrade: Option<ModelUpgrade>,
}

/// A model that has come after another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUpgrade {
    /// Its name in requests.
    pub model: String,
}

/// A level of thinking that a model offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningLevel {
    /// The level.
    pub effort: ReasoningEffort,
    /// One line about it.
    pub description: String,
}

/// A template for base instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelMessages {
    /// The template; `{{ personality }}` stands for the tone.
    #[serde(default)]
    pub instructions_template: Option<String>,
    /// What goes in its place.
    #[serde(default)]
    pub instructions_variables: Option<InstructionVariables>,
}

/// The tones of a template.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionVariables {
    /// When nobody chose.
    #[serde(default)]
    pub personality_default: Option<String>,
    /// Warm.
    #[serde(default)]
    pub personality_friendly: Option<String>,
    /// To the point.
    #[serde(default)]
    pub personality_pragmatic: Option<String>,
}

/// Which shell tool a model was trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellType {
    /// `shell`.
    Default,
    /// The wire's own `local_shell`.
    Local,
    /// `exec_command` and `write_stdin`.
    UnifiedExec,
    /// None.
    Disabled,
    /// `shell_command`.
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
    /// Shown.
    List,
    /// Usable but not shown.
    Hide,
    /// Neither.
    None,
}

impl ModelInfo {
    /// Whether it can look at pictures.
    pub fn takes_images(&self) -> bool {
        self.input_modalities.iter().any(|modality| modality == "image")
    }

    /// When the history is summarised, in tokens: what is configured, but at most nine tenths of
    /// the window.
    pub fn compaction_limit(&self) -> Option<i64> {
        let share = self.context_window.map(|window| window * 9 / 10);
        match (self.auto_compact_token_limit, share) {
            (Some(limit), Some(share)) => Some(limit.min(share)),
            (limit, share) => limit.or(share),
        }
    }

    /// The window that is used, in tokens.
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
