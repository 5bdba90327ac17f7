//! The files of a pack, each with whose it is: the user's own, or those of the pack beneath.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::PackFiles;
use crate::file_version::FileVersion;

/// The files of a pack, by their names in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shelf {
    files: BTreeMap<String, PackFile>,
}

/// A file of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackFile {
    /// How reports and errors name it: its name in a built-in pack, else its path.
    pub shown: FileVersion,
    /// Whether the file is the user's.
    pub is_users: bool,
    /// The content of the file.
    pub text: Arc<str>,
}

impl Shelf {
    /// Puts the files of a built-in pack over these.
    pub(super) fn put_builtin(&mut self, files: &PackFiles) {
        for (name, text) in files {
            let file = PackFile { shown: name.as_str().into(), is_users: false, text: text.as_str().into() };
            self.files.insert(name.clone(), file);
        }
    }

    /// Puts the files of a user's folder over these.
    pub(super) fn put_over(&mut self, files: &PackFiles, folder: &str) {
        for (name, text) in files {
            let shown = format!("{}/{name}", folder.trim_end_matches('/'));
            let file = PackFile {
                shown: FileVersion::of(&shown, text.as_bytes()),
                is_users: true,
                text: text.as_str().into(),
            };
            self.files.insert(name.clone(), file);
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&PackFile> {
        self.files.get(name)
    }

    /// Every file, by name.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &PackFile)> {
        self.files.iter().map(|(name, file)| (name.as_str(), file))
    }

    /// The files that are the user's, by name.
    pub(super) fn users(&self) -> impl Iterator<Item = (&str, &PackFile)> {
        self.files.iter().filter(|(_, file)| file.is_users).map(|(name, file)| (name.as_str(), file))
    }
}
