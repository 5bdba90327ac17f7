//! The project's files as a value: paths, sizes, texts.
//!
//! Rules examine a [`Tree`] and never the disk, so a test can give them a tree made of a few lines of text. Files that
//! git ignores are left out.
//!
//! Not here: any opinion about the files.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::program;

/// The files of a project, sorted by path.
#[derive(Debug, Default)]
pub struct Tree {
    files: Vec<File>,
}

/// One file, named by its path from the root with forward slashes.
#[derive(Debug)]
pub struct File {
    pub path: String,
    pub n_bytes: usize,
    /// The text of the file; `None` if it is not UTF-8.
    pub text: Option<String>,
}

impl Tree {
    /// Reads the files below `root` that git tracks or would track.
    pub fn read(root: &Path) -> Result<Self> {
        let mut paths = match git_paths(root) {
            Some(paths) => paths,
            None => walked_paths(root)?,
        };
        paths.sort();
        paths.dedup();
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let full = root.join(&path);
            // A link points elsewhere, and a deleted file may still be in git's list.
            if !full.symlink_metadata().is_ok_and(|it| it.is_file()) {
                continue;
            }
            let bytes = fs::read(&full).with_context(|| format!("could not read {}", full.display()))?;
            files.push(File { path, n_bytes: bytes.len(), text: String::from_utf8(bytes).ok() });
        }
        Ok(Self { files })
    }

    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The text of the file at `path`, if there is such a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        let at = self.files.binary_search_by(|it| it.path.as_str().cmp(path)).ok()?;
        self.files[at].text.as_deref()
    }

    /// Path and text of every text file that `wanted` accepts by its path.
    pub fn texts(&self, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .filter(move |it| wanted(&it.path))
            .filter_map(|it| Some((it.path.as_str(), it.text.as_deref()?)))
    }

    /// A tree in one text: a line `== path` opens each file.
    #[cfg(test)]
    pub fn fixture(text: &str) -> Self {
        let mut files: Vec<File> = Vec::new();
        for line in text.trim_start_matches('\n').split_inclusive('\n') {
            if let Some(path) = line.strip_prefix("== ") {
                files.push(File { path: path.trim().to_string(), n_bytes: 0, text: Some(String::new()) });
                continue;
            }
            let file = files.last_mut().expect("a fixture opens with a path");
            file.n_bytes += line.len();
            file.text.as_mut().expect("made above").push_str(line);
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }
}

/// Whether `path` is Rust source that is shipped or run: a crate's, or this one's.
pub fn is_source(path: &str) -> bool {
    let mut parts = path.split('/');
    let in_source = match parts.next() {
        Some("crates") => parts.nth(1) == Some("src"),
        Some("xtask") => parts.next() == Some("src"),
        _ => false,
    };
    in_source && path.ends_with(".rs")
}

/// Whether `path` is a module of tests in a separate file.
pub fn is_test_module(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

fn git_paths(root: &Path) -> Option<Vec<String>> {
    if !root.join(".git").exists() {
        return None;
    }
    let mut command = Command::new("git");
    command.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let list = program::text_of(&mut command).ok()?;
    Some(list.split('\0').filter(|it| !it.is_empty()).map(str::to_string).collect())
}

fn walked_paths(root: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let full = root.join(&folder);
        let entries = fs::read_dir(&full).with_context(|| format!("could not list {}", full.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if matches!(name.as_str(), "target" | ".git" | "__pycache__") {
                continue;
            }
            let path = match folder.as_str() {
                "" => name,
                folder => format!("{folder}/{name}"),
            };
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                paths.push(path);
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn without_git_the_folder_is_walked_but_not_what_is_built() {
        let scratch = Scratch::new().unwrap();
        fs::write(scratch.folder("target").unwrap().join("x"), "built").unwrap();
        fs::write(scratch.folder("docs/a").unwrap().join("b.md"), "text").unwrap();
        fs::write(scratch.path().join("raw"), [0xff, 0xfe]).unwrap();
        let tree = Tree::read(scratch.path()).unwrap();
        let paths: Vec<_> = tree.files().iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["docs/a/b.md", "raw"]);
        assert_eq!(tree.text("docs/a/b.md"), Some("text"));
        assert_eq!(tree.text("raw"), None);
        assert_eq!(tree.files()[1].n_bytes, 2);
    }

    #[test]
    fn a_fixture_is_a_tree() {
        let tree = Tree::fixture("\n== b\ntwo\nlines\n== a\n");
        assert_eq!(tree.text("a"), Some(""));
        assert_eq!(tree.text("b"), Some("two\nlines\n"));
        assert_eq!(tree.text("c"), None);
    }

    #[test]
    fn source_is_told_from_the_rest() {
        assert!(is_source("crates/pellucid-engine/src/a/b.rs"));
        assert!(is_source("xtask/src/main.rs"));
        assert!(!is_source("crates/pellucid-engine/packs/src/a.rs"));
        assert!(!is_source("crates/pellucid-engine/src/a.md"));
        assert!(is_test_module("crates/a/src/b/tests.rs"));
        assert!(!is_test_module("crates/a/src/attests.rs"));
    }
}
