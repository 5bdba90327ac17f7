//! The configuration as clients see it: some keys are always present, the others as the files have them.

use std::collections::BTreeMap;

use pellucid_config::config::LoginMethod;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::Verbosity;
use pellucid_protocol::settings::WebSearchMode;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

/// The effective configuration, all layers merged. Profiles are not applied.
///
/// The field names are the keys of `config.toml`; `null` means that no layer sets the key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(rename = "Config"))]
pub struct EffectiveConfig {
    pub model: Option<String>,
    pub review_model: Option<String>,
    pub model_context_window: Option<i64>,
    pub model_auto_compact_token_limit: Option<i64>,
    pub model_provider: Option<String>,
    pub approval_policy: Option<ApprovalPolicy>,
    pub sandbox_mode: Option<SandboxMode>,
    pub sandbox_workspace_write: Option<WorkspaceWriteConfig>,
    pub forced_chatgpt_workspace_id: Option<String>,
    pub forced_login_method: Option<LoginMethod>,
    pub web_search: Option<WebSearchMode>,
    pub tools: Option<ToolSwitches>,
    pub profile: Option<String>,
    #[serde(default)]
    pub profiles: BTreeMap<String, ProfileConfig>,
    pub instructions: Option<String>,
    pub developer_instructions: Option<String>,
    pub compact_prompt: Option<String>,
    pub model_reasoning_effort: Option<ReasoningEffort>,
    pub model_reasoning_summary: Option<ReasoningSummary>,
    pub model_verbosity: Option<Verbosity>,
    pub analytics: Option<AnalyticsConfig>,
    #[serde(default)]
    pub apps: Option<BTreeMap<String, AppConfig>>,
    /// All keys that have no field here.
    #[serde(flatten)]
    pub additional: BTreeMap<String, Value>,
}

/// The table `sandbox_workspace_write` of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
#[cfg_attr(test, schemars(rename = "SandboxWorkspaceWrite"))]
pub struct WorkspaceWriteConfig {
    pub writable_roots: Vec<String>,
    pub network_access: bool,
    pub exclude_tmpdir_env_var: bool,
    pub exclude_slash_tmp: bool,
}

/// The table `tools` of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(rename = "ToolsV2"))]
pub struct ToolSwitches {
    #[serde(default, alias = "web_search_request")]
    pub web_search: Option<bool>,
    #[serde(default)]
    pub view_image: Option<bool>,
}

/// A table of `profiles`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(rename = "ProfileV2"))]
pub struct ProfileConfig {
    pub model: Option<String>,
    pub model_provider: Option<String>,
    pub approval_policy: Option<ApprovalPolicy>,
    pub model_reasoning_effort: Option<ReasoningEffort>,
    pub model_reasoning_summary: Option<ReasoningSummary>,
    pub model_verbosity: Option<Verbosity>,
    pub web_search: Option<WebSearchMode>,
    pub chatgpt_base_url: Option<String>,
    /// All keys that have no field here.
    #[serde(flatten)]
    pub additional: BTreeMap<String, Value>,
}

/// The table `analytics` of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AnalyticsConfig {
    pub enabled: Option<bool>,
    /// All keys that have no field here.
    #[serde(flatten)]
    pub additional: BTreeMap<String, Value>,
}

/// A table of `apps`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AppConfig {
    #[serde(default = "yes")]
    pub enabled: bool,
    #[serde(default)]
    pub disabled_reason: Option<AppDisabledReason>,
}

/// Why an app is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AppDisabledReason {
    /// The configuration gives no reason.
    Unknown,
    /// The user switched the app off.
    User,
}

fn yes() -> bool {
    true
}
