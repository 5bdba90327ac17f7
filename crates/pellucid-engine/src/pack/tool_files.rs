//! The tools' files of a pack, each read when it is first wanted.
//!
//! Few of a pack's tools are offered at a time, and nothing may be sent before those are read. Tests check the
//! built-in files, so they are parsed on demand. A file that the user wrote is parsed when the pack is loaded, so
//! that its errors are reported then.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::PackError;
use super::shelf::Shelf;
use super::tool_file::ToolFile;

/// The tools' files, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolFiles {
    files: BTreeMap<String, OnceLock<ToolFile>>,
}

/// Ignores which files are parsed already, because the parsed content follows from the shelf.
impl PartialEq for ToolFiles {
    fn eq(&self, other: &Self) -> bool {
        self.files.keys().eq(other.files.keys())
    }
}

impl ToolFiles {
    /// Reads those of these tools that are the user's.
    pub(super) fn load<'a>(shelf: &Shelf, names: impl Iterator<Item = &'a str>) -> Result<Self, PackError> {
        let mut files = BTreeMap::new();
        for name in names {
            let is_sure = shelf.get(&ToolFile::file_name(name)).is_some_and(|file| !file.is_users);
            let file = if is_sure { OnceLock::new() } else { OnceLock::from(ToolFile::load(shelf, name)?) };
            files.insert(name.to_owned(), file);
        }
        Ok(Self { files })
    }

    /// Parses all files, to report their errors.
    pub(super) fn check(&self, shelf: &Shelf) -> Result<(), PackError> {
        for (name, file) in &self.files {
            if file.get().is_none() {
                ToolFile::load(shelf, name)?;
            }
        }
        Ok(())
    }

    /// The parsed file of a tool.
    pub(super) fn get(&self, shelf: &Shelf, name: &str) -> Option<&ToolFile> {
        let file = self.files.get(name)?;
        Some(file.get_or_init(|| ToolFile::load(shelf, name).expect("built-in tools are read by a test")))
    }

    /// All tools of the pack, by name.
    pub(super) fn iter<'a>(&'a self, shelf: &'a Shelf) -> impl Iterator<Item = (&'a str, &'a ToolFile)> {
        self.files.keys().filter_map(|name| Some((name.as_str(), self.get(shelf, name)?)))
    }
}
