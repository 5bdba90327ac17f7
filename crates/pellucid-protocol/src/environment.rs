//! Which variables commands find in their environment.

use std::collections::BTreeMap;

use crate::settings::word_enum;

word_enum! {
    /// Which variables a command starts with.
    Inherit {
        /// All of them.
        All = "all",
        /// The few that every program needs.
        Core = "core",
        /// None.
        None = "none",
    }
}

/// The variable with the key that comes before the stored one.
pub const API_KEY: &str = "CODEX_API_KEY";

/// The variable that sets the token of the app-server's clients.
pub const APP_SERVER_TOKEN: &str = "PELLUCID_APP_SERVER_TOKEN";

/// Variables with secrets of ours, which no command is given, besides those that the configuration names.
pub const SECRETS: [&str; 3] = [API_KEY, APP_SERVER_TOKEN, "CODEX_CONNECTORS_TOKEN"];

/// What commands find in their environment. The steps apply in the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellEnvironmentPolicy {
    /// Which variables they start with.
    pub inherit: Inherit,
    /// Whether variables with secrets in their name are kept.
    pub ignore_default_excludes: bool,
    /// Patterns (`*`, `?`) of variables to drop.
    pub exclude: Vec<String>,
    /// Variables to set.
    pub set: BTreeMap<String, String>,
    /// Patterns of variables to keep; empty keeps all.
    pub include_only: Vec<String>,
    /// Whether commands run in a login shell.
    pub use_profile: bool,
}

impl Default for ShellEnvironmentPolicy {
    /// Everything is passed on.
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
