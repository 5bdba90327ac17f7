//! The configuration as clients see it: some keys always there, the others as they were written.

use std::collections::BTreeMap;

use pellucid_config::config::LoginMethod;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::Verbosity;
use pellucid_protocol::settings::WebSearchMode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

/// What counts, all layers laid over one another. Profiles are not applied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Config")]
pub struct EffectiveConfig {
    /// `model`.
    pub model: Option<String>,
    /// `review_model`.
    pub review_model: Option<String>,
    /// `model_context_window`.
    pub model_context_window: Option<i64>,
    /// `model_auto_compact_token_limit`.
    pub model_auto_compact_token_limit: Option<i64>,
    /// `model_provider`.
    pub model_provider: Option<String>,
    /// `approval_policy`.
    pub approval_policy: Option<ApprovalPolicy>,
    /// `sandbox_mode`.
    pub sandbox_mode: Option<SandboxMode>,
    /// `sandbox_workspace_write`.
    pub sandbox_workspace_write: Option<WorkspaceWriteConfig>,
    /// `forced_chatgpt_workspace_id`.
    pub forced_chatgpt_workspace_id: Option<String>,
    /// `forced_login_method`.
    pub forced_login_method: Option<LoginMethod>,
    /// `web_search`.
    pub web_search: Option<WebSearchMode>,
    /// `tools`.
    pub tools: Option<ToolSwitches>,
    /// `profile`.
    pub profile: Option<String>,
    /// `profiles`.
    #[serde(default)]
    pub profiles: BTreeMap<String, ProfileConfig>,
    /// `instructions`.
    pub instructions: Option<String>,
    /// `developer_instructions`.
    pub developer_instructions: Option<String>,
    /// `compact_prompt`.
    pub compact_prompt: Option<String>,
    /// `model_reasoning_effort`.
    pub model_reasoning_effort: Option<ReasoningEffort>,
    /// `model_reasoning_summary`.
    pub model_reasoning_summary: Option<ReasoningSummary>,
    /// `model_verbosity`.
    pub model_verbosity: Option<Verbosity>,
    /// `analytics`.
    pub analytics: Option<AnalyticsConfig>,
    /// `apps`.
    #[serde(default)]
    pub apps: Option<BTreeMap<String, AppConfig>>,
    /// Every other key.
    #[serde(flatten)]
    pub additional: BTreeMap<String, Value>,
}

/// `sandbox_workspace_write`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "SandboxWorkspaceWrite")]
pub struct WorkspaceWriteConfig {
    /// `writable_roots`.
    pub writable_roots: Vec<String>,
    /// `network_access`.
    pub network_access: bool,
    /// `exclude_tmpdir_env_var`.
    pub exclude_tmpdir_env_var: bool,
    /// `exclude_slash_tmp`.
    pub exclude_slash_tmp: bool,
}

/// `tools`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ToolsV2")]
pub struct ToolSwitches {
    /// `web_search`.
    #[serde(default, alias = "web_search_request")]
    pub web_search: Option<bool>,
    /// `view_image`.
    #[serde(default)]
    pub view_image: Option<bool>,
}

/// A table of `profiles`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProfileV2")]
pub struct ProfileConfig {
    /// `model`.
    pub model: Option<String>,
    /// `model_provider`.
    pub model_provider: Option<String>,
    /// `approval_policy`.
    pub approval_policy: Option<ApprovalPolicy>,
    /// `model_reasoning_effort`.
    pub model_reasoning_effort: Option<ReasoningEffort>,
    /// `model_reasoning_summary`.
    pub model_reasoning_summary: Option<ReasoningSummary>,
    /// `model_verbosity`.
    pub model_verbosity: Option<Verbosity>,
    /// `web_search`.
    pub web_search: Option<WebSearchMode>,
    /// `chatgpt_base_url`.
    pub chatgpt_base_url: Option<String>,
    /// Every other key.
    #[serde(flatten)]
    pub additional: BTreeMap<String, Value>,
}

/// `analytics`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnalyticsConfig {
    /// `enabled`.
    pub enabled: Option<bool>,
    /// Every other key.
    #[serde(flatten)]
    pub additional: BTreeMap<String, Value>,
}

/// A table of `apps`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppConfig {
    /// `enabled`.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// `disabled_reason`.
    #[serde(default)]
    pub disabled_reason: Option<AppDisabledReason>,
}

/// Why an app is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AppDisabledReason {
    /// Nobody knows.
    Unknown,
    /// The user does not want it.
    User,
}

fn yes() -> bool {
    true
}
