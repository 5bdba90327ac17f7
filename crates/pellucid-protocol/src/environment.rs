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
