//! The environment as a value: a lookup that the caller hands over.
//!
//! Not here: which variables mean what. Each is read where its meaning is.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Looks up environment variables.
#[derive(Clone)]
pub struct Env(Arc<Lookup>);

type Lookup = dyn Fn(&str) -> Option<OsString> + Send + Sync;

impl Env {
    /// An environment behind a function.
    pub fn new(lookup: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static) -> Self {
        Self(Arc::new(lookup))
    }

    /// The environment of this process.
    pub fn process() -> Self {
        Self::new(|name| std::env::var_os(name))
    }

    /// An environment that has these variables and no others.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let pairs: BTreeMap<String, OsString> =
            pairs.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        Self::new(move |name| pairs.get(name).cloned())
    }

    /// A variable, unless it is unset or empty.
    pub fn var_os(&self, name: &str) -> Option<OsString> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// A variable as text, unless it is unset, blank or not Unicode.
    pub fn text(&self, name: &str) -> Option<String> {
        let value = self.var_os(name)?.into_string().ok()?;
        (!value.trim().is_empty()).then_some(value)
    }

    /// The user's own folder.
    pub fn user_home(&self) -> Option<PathBuf> {
        self.var_os(if cfg!(windows) { "USERPROFILE" } else { "HOME" }).map(PathBuf::from)
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Env")
    }
}
