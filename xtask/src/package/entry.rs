//! The files of a package before any archive is made of them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path in the package, with forward slashes and none in front.
    pub path: String,
    pub is_program: bool,
    pub bytes: Vec<u8>,
}

impl Entry {
    pub fn text(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), is_program: false, bytes: text.into().into_bytes() }
    }

    pub fn program(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), is_program: true, bytes }
    }

    /// The file at `from`, as `path` in the package.
    pub fn of_file(path: impl Into<String>, from: &Path) -> Result<Self> {
        let bytes = fs::read(from).with_context(|| format!("could not read {}", from.display()))?;
        Ok(Self { path: path.into(), is_program: false, bytes })
    }

    /// What the file may be used for: everyone reads it, its owner writes it, and a program runs.
    pub fn mode(&self) -> u32 {
        if self.is_program { 0o755 } else { 0o644 }
    }

    /// The same file below `folder`.
    pub fn below(&self, folder: &str) -> Self {
        Self { path: format!("{folder}/{}", self.path), ..self.clone() }
    }
}

/// The folders of files, each before what it contains, for archives that list folders too.
pub fn folders(entries: &[Entry]) -> Vec<String> {
    let mut folders: Vec<String> = Vec::new();
    for entry in entries {
        for (at, _) in entry.path.match_indices('/') {
            let folder = &entry.path[..at];
            if !folders.iter().any(|it| it == folder) {
                folders.push(folder.to_string());
            }
        }
    }
    folders.sort();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_is_listed_once_and_before_its_contents() {
        let entries = [Entry::text("usr/share/a", ""), Entry::text("usr/bin/b", ""), Entry::text("c", "")];
        assert_eq!(folders(&entries), ["usr", "usr/bin", "usr/share"]);
    }
}
