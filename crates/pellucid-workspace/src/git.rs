//! What git knows about a folder, read from its files.
//!
//! Asking git itself costs a process for every question, a few milliseconds each. The answers
//! needed here lie in a handful of small files.
//!
//! A repository that is broken, or of a kind that these files do not describe (a table of
//! references, say), has no answers: everything is an `Option`. Only the repository's own
//! configuration is read, so rules of the user's configuration that rewrite addresses do not apply.

mod config;
pub mod ghost;
mod refs;
mod status;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

pub use refs::Head;
pub use status::has_changes;

use crate::near::Here;

/// Files of a repository that are larger than this are not what they should be.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The nearest folder at or above `cwd` with a `.git` entry, in the spelling of `cwd`.
///
/// This is the name of a work tree and says nothing about the repository's health.
pub fn work_tree_root(cwd: &Path) -> Option<PathBuf> {
    let start = if cwd.is_dir() { cwd } else { cwd.parent()? };
    start.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_path_buf)
}

/// A repository with a work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// What belongs to this work tree alone, such as `HEAD`.
    git_dir: PathBuf,
    /// What all work trees share. The same folder, unless this is a further work tree.
    common_dir: PathBuf,
}

impl Repository {
    /// The repository that `cwd` lies in.
    ///
    /// Like git, passes over a `.git` folder that is no repository, and gives up at a `.git` file
    /// that leads nowhere.
    pub fn discover(cwd: &Path) -> Option<Self> {
        let here = Here::find();
        let canonical = if here.is(cwd) { Cow::Borrowed(cwd) } else { Cow::Owned(fs::canonicalize(cwd).ok()?) };
        for folder in canonical.ancestors() {
            let entry = folder.join(".git");
            let Ok(metadata) = fs::metadata(here.reach(folder).join(".git")) else {
                continue;
            };
            if metadata.is_file() {
                return Self::open(&linked_dir(&entry)?);
            }
            if let Some(repository) = Self::open(&entry) {
                return Some(repository);
            }
        }
        None
    }

    /// The commit that is checked out; absent before the first commit.
    pub fn head(&self) -> Option<Head> {
        refs::head(&self.git_dir, &self.common_dir)
    }

    /// Where each remote is fetched from, by name.
    pub fn remote_urls(&self) -> BTreeMap<String, String> {
        let text = read_text(&self.common_dir.join("config"));
        text.and_then(|text| config::remote_urls(&text)).unwrap_or_default()
    }

    /// The folder of the main work tree, which further work trees share: the one whose trust counts.
    pub fn main_root(&self) -> Option<PathBuf> {
        fs::canonicalize(&self.common_dir).ok()?.parent().map(Path::to_path_buf)
    }

    fn open(git_dir: &Path) -> Option<Self> {
        let common_dir = match read_text(&git_dir.join("commondir")) {
            Some(text) => git_dir.join(text.trim_end_matches(['\r', '\n'])),
            None => git_dir.to_path_buf(),
        };
        let is_repository = fs::symlink_metadata(git_dir.join("HEAD")).is_ok()
            && common_dir.join("objects").is_dir()
            && common_dir.join("refs").is_dir();
        is_repository.then(|| Self { git_dir: git_dir.to_path_buf(), common_dir })
    }
}

/// The folder that a `.git` file names.
fn linked_dir(file: &Path) -> Option<PathBuf> {
    let text = read_text(file)?;
    let target = text.strip_prefix("gitdir:")?.trim_start_matches(' ').trim_end_matches(['\r', '\n']);
    if target.is_empty() { None } else { Some(file.parent()?.join(target)) }
}

/// The text of a small file.
fn read_text(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return None;
    }
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())
}

#[cfg(test)]
mod tests;
