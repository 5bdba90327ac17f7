//! Reads typed values from the merged layers, with the active profile on top.
//!
//! A key that a profile may set is looked up in the profile first. The document has been checked, so a value is of the
//! kind that its key accepts.
//!
//! Not here: defaults and meaning (`load`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::keys;
use crate::value::Table;
use crate::value::Value;
use crate::value::segments;

/// The merged layers and the active profile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'t> {
    pub top: &'t Table,
    pub profile: Option<&'t Table>,
}

impl<'t> Reader<'t> {
    /// The value of a key, from the profile or from the layers.
    pub(crate) fn value(&self, path: &str) -> Option<&'t Value> {
        let key = keys::find(path);
        debug_assert!(key.is_some(), "{path} is not in the table of keys");
        let profile = self.profile.filter(|_| key.is_some_and(keys::Key::in_profiles));
        profile.and_then(|profile| profile.at(segments(path))).or_else(|| self.top.at(segments(path)))
    }

    /// A table outside of profiles.
    pub(crate) fn table(&self, path: &str) -> Option<&'t Table> {
        self.top.at(segments(path))?.as_table()
    }

    /// The value of a key that accepts text.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.value(path)?.as_str().map(str::to_owned)
    }

    /// The value of a key that accepts a path.
    pub(crate) fn path(&self, path: &str) -> Option<PathBuf> {
        self.value(path)?.as_str().map(PathBuf::from)
    }

    /// The value of a key that accepts `true` or `false`.
    pub(crate) fn flag(&self, path: &str) -> Option<bool> {
        self.value(path)?.as_bool()
    }

    /// The value of a key that accepts a whole number.
    pub(crate) fn integer(&self, path: &str) -> Option<i64> {
        self.value(path)?.as_integer()
    }

    /// The value of a key that counts something; `None` if it does not fit into `T`.
    pub(crate) fn count<T: TryFrom<i64>>(&self, path: &str) -> Option<T> {
        self.integer(path)?.try_into().ok()
    }

    /// The value of a key that accepts words, converted.
    pub(crate) fn word<T>(&self, path: &str, from_word: impl Fn(&str) -> Option<T>) -> Option<T> {
        from_word(self.value(path)?.as_str()?)
    }

    /// The value of a key that accepts a list of texts.
    pub(crate) fn texts(&self, path: &str) -> Option<Vec<String>> {
        self.value(path).and_then(texts)
    }

    /// The value of a key that accepts a table of texts.
    pub(crate) fn map(&self, path: &str) -> Option<BTreeMap<String, String>> {
        self.value(path).and_then(map)
    }
}

/// The texts in a list.
pub(crate) fn texts(value: &Value) -> Option<Vec<String>> {
    Some(value.as_list()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// The texts in a table.
pub(crate) fn map(value: &Value) -> Option<BTreeMap<String, String>> {
    let entries = value.as_table()?.iter();
    Some(entries.filter_map(|entry| Some((entry.key.clone(), entry.value.as_str()?.to_owned()))).collect())
}
