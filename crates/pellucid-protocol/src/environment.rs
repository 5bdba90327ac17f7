//! The environment variables of commands.

use std::collections::BTreeMap;

use crate::settings::word_enum;

word_enum! {
    /// The variables that a command starts with.
    Inherit {
        /// All variables of this process.
        All = "all",
        /// The few that every program needs, such as `PATH` and `HOME`.
        Core = "core",
        /// No variables at all.
        None = "none",
    }
}

/// The variable with an API key, which is used before a stored one.
pub const API_KEY: &str = "CODEX_API_KEY";

/// The variable with the token that clients of the app-server must show.
pub const APP_SERVER_TOKEN: &str = "PELLUCID_APP_SERVER_TOKEN";

/// The variable with the token that clients of the MCP server must show when it listens.
pub const MCP_SERVER_TOKEN: &str = "PELLUCID_MCP_SERVER_TOKEN";

/// Variables with Pellucid's secrets. Commands never receive them, nor those that the configuration names.
pub const SECRETS: [&str; 4] = [API_KEY, APP_SERVER_TOKEN, MCP_SERVER_TOKEN, "CODEX_CONNECTORS_TOKEN"];

/// How the environment of commands is made. The steps apply in the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellEnvironmentPolicy {
    /// The variables that commands start with.
    pub inherit: Inherit,
    /// Whether variables whose names suggest secrets are kept.
    pub ignore_default_excludes: bool,
    /// Patterns (`*`, `?`) of variables to drop.
    pub exclude: Vec<String>,
    /// Variables that are set, by name.
    pub set: BTreeMap<String, String>,
    /// Patterns of variables to keep; empty keeps all.
    pub include_only: Vec<String>,
    /// Whether commands run in a login shell.
    pub use_profile: bool,
}

impl Default for ShellEnvironmentPolicy {
    /// By default all variables are passed on.
    fn default() -> Self {
        Self {
            inherit: Inherit::All,
            ignore_default_excludes: true,
            exclude: Vec::new(),
            set: BTreeMap::new(),
            include_only: Vec::new(),
            use_profile: false,
        }
    }
}
