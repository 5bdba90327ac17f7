//! Feature flags: one table with key, stage and default.
//!
//! The order of the table is the order in lists and in the beta header.

/// How mature a feature is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureStage {
    /// The feature will stay.
    Stable,
    /// The feature may change; the beta header names it while it is on.
    Experimental,
    /// Not ready for daily use; switching it on warns.
    UnderDevelopment,
    /// The feature will be removed.
    Deprecated,
    /// The feature was removed; the key is accepted and does nothing.
    Removed,
}

impl FeatureStage {
    /// The word for the stage in lists.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Experimental => "experimental",
            Self::UnderDevelopment => "under development",
            Self::Deprecated => "deprecated",
            Self::Removed => "removed",
        }
    }
}

macro_rules! features {
    ($($variant:ident $key:literal $stage:ident $default:expr;)+) => {
        /// A feature flag of the configuration.
        #[allow(missing_docs, reason = "the table below is the documentation")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Feature { $($variant),+ }

        impl Feature {
            /// Every feature, in the order of lists.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The feature's key in `[features]`.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => $key),+ }
            }

            /// How mature the feature is.
            pub const fn stage(self) -> FeatureStage {
                match self { $(Self::$variant => FeatureStage::$stage),+ }
            }

            /// Whether the feature is on if the configuration does not set it.
            pub const fn default_on(self) -> bool {
                match self { $(Self::$variant => $default),+ }
            }

            /// Finds a feature by its key.
            pub fn from_key(key: &str) -> Option<Self> {
                match key { $($key => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

features! {
    Undo "undo" Stable false;
    ShellTool "shell_tool" Stable true;
    UnifiedExec "unified_exec" Stable cfg!(not(windows));
    ShellSnapshot "shell_snapshot" Stable true;
    JsRepl "js_repl" UnderDevelopment false;
    JsReplToolsOnly "js_repl_tools_only" UnderDevelopment false;
    WebSearchRequest "web_search_request" Deprecated false;
    WebSearchCached "web_search_cached" Deprecated false;
    SearchTool "search_tool" Removed false;
    CodexGitCommit "codex_git_commit" UnderDevelopment false;
    RuntimeMetrics "runtime_metrics" UnderDevelopment false;
    Sqlite "sqlite" UnderDevelopment false;
    MemoryTool "memory_tool" UnderDevelopment false;
    ChildAgentsMd "child_agents_md" UnderDevelopment false;
    ApplyPatchFreeform "apply_patch_freeform" UnderDevelopment false;
    UseLinuxSandboxBwrap "use_linux_sandbox_bwrap" Experimental false;
    RequestRule "request_rule" Removed false;
    ExperimentalWindowsSandbox "experimental_windows_sandbox" Removed false;
    ElevatedWindowsSandbox "elevated_windows_sandbox" Removed false;
    RemoteModels "remote_models" Removed false;
    PowershellUtf8 "powershell_utf8" UnderDevelopment false;
    EnableRequestCompression "enable_request_compression" Stable true;
    MultiAgent "multi_agent" Experimental false;
    Apps "apps" Experimental false;
    AppsMcpGateway "apps_mcp_gateway" UnderDevelopment false;
    SkillMcpDependencyInstall "skill_mcp_dependency_install" Stable true;
    SkillEnvVarDependencyPrompt "skill_env_var_dependency_prompt" UnderDevelopment false;
    Steer "steer" Stable true;
    CollaborationModes "collaboration_modes" Stable true;
    Personality "personality" Stable true;
    PreventIdleSleep "prevent_idle_sleep" UnderDevelopment false;
    ResponsesWebsockets "responses_websockets" UnderDevelopment false;
    ResponsesWebsocketsV2 "responses_websockets_v2" UnderDevelopment false;
}

/// Older spellings that `[features]` still accepts, with the feature that each means.
pub const ALIASES: &[(&str, Feature)] = &[
    ("connectors", Feature::Apps),
    ("enable_experimental_windows_sandbox", Feature::ExperimentalWindowsSandbox),
    ("experimental_use_unified_exec_tool", Feature::UnifiedExec),
    ("experimental_use_freeform_apply_patch", Feature::ApplyPatchFreeform),
    ("include_apply_patch_tool", Feature::ApplyPatchFreeform),
    ("web_search", Feature::WebSearchRequest),
    ("collab", Feature::MultiAgent),
];

/// The features that are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features {
    on: std::collections::BTreeSet<Feature>,
}

impl Default for Features {
    fn default() -> Self {
        Self { on: Feature::ALL.iter().copied().filter(|feature| feature.default_on()).collect() }
    }
}

impl Features {
    /// Whether a feature is on.
    pub fn is_on(&self, feature: Feature) -> bool {
        self.on.contains(&feature)
    }

    /// Switches a feature on or off.
    pub fn set(&mut self, feature: Feature, on: bool) {
        if on {
            self.on.insert(feature);
        } else {
            self.on.remove(&feature);
        }
    }

    /// The keys of the features that are on.
    pub fn keys_on(&self) -> impl Iterator<Item = &'static str> {
        Feature::ALL.iter().filter(|feature| self.is_on(**feature)).map(|feature| feature.key())
    }

    /// The keys that the beta header names: experimental features that are on.
    pub fn beta_keys(&self) -> impl Iterator<Item = &'static str> {
        Feature::ALL
            .iter()
            .filter(|feature| feature.stage() == FeatureStage::Experimental && self.is_on(**feature))
            .map(|feature| feature.key())
    }
}
