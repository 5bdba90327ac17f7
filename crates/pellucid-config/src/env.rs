//! The environment as a value that the caller passes in.
//!
//! Not here: what variables mean. Each is read by the code that uses it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A set of environment variables.
#[derive(Clone)]
pub struct Env(Arc<BTreeMap<OsString, OsString>>);

impl Env {
    /// The environment of this process.
    pub fn process() -> Self {
        Self(Arc::new(std::env::vars_os().collect()))
    }

    /// An environment that has these variables and no others.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(Arc::new(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect()))
    }

    /// Adds variables, which replace those of the same name.
    #[must_use]
    pub fn with(self, variables: impl IntoIterator<Item = (String, OsString)>) -> Self {
        let mut all = Arc::unwrap_or_clone(self.0);
        all.extend(variables.into_iter().map(|(name, value)| (name.into(), value)));
        Self(Arc::new(all))
    }

    /// All variables, by name.
    pub fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.0
    }

    /// A variable, unless it is unset or empty.
    pub fn var_os(&self, name: &str) -> Option<OsString> {
        self.0.get(OsStr::new(name)).filter(|value| !value.is_empty()).cloned()
    }

    /// A variable as text, unless it is unset, blank or not Unicode.
    pub fn text(&self, name: &str) -> Option<String> {
        let value = self.var_os(name)?.into_string().ok()?;
        (!value.trim().is_empty()).then_some(value)
    }

    /// The home folder of the operating system's user.
    pub fn user_home(&self) -> Option<PathBuf> {
        self.var_os(if cfg!(windows) { "USERPROFILE" } else { "HOME" }).map(PathBuf::from)
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values may be secrets, so they are not printed.
        f.write_str("Env")
    }
}
