//! A repository's state, read from its files.
//!
//! Asking git itself costs a process for every question, a few milliseconds each. The answers needed here are in a
//! handful of small files.
//!
//! A repository that is broken, or of a kind that these files do not describe (a table of
//! references, say), has no answers: everything is an `Option`. Only the repository's own
//! configuration is read, so rules of the user's configuration that rewrite addresses do not apply.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use pellucid_files::dot_git::DOT_GIT;
use pellucid_files::dot_git::DotGit;
use pellucid_files::dot_git::Tie;
use pellucid_files::git_config;
use pellucid_files::git_config::GitConfigEntry;

use crate::refs;
use crate::refs::Checkout;
use crate::refs::Head;
use crate::remotes;

/// Files of a repository that are larger than this are not what they should be.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The nearest folder at or above `cwd` with a `.git` entry, in the spelling of `cwd`.
///
/// This is the name of a work tree and says nothing about the repository's health.
pub fn work_tree_root(cwd: &Path) -> Option<PathBuf> {
    let start = if cwd.is_dir() { cwd } else { cwd.parent()? };
    start.ancestors().find(|folder| folder.join(DOT_GIT).exists()).map(Path::to_path_buf)
}

/// A repository with a work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The folder of the work tree, by its real name.
    pub(crate) root: PathBuf,
    /// The folder of data that belongs to this work tree alone, such as `HEAD`.
    pub(crate) git_dir: PathBuf,
    /// The folder of data that all work trees share. The same folder, unless this is a further work tree.
    pub(crate) common_dir: PathBuf,
    /// Whether the other side agrees.
    pub(crate) tie: Tie,
}

impl Repository {
    /// The repository of `cwd`.
    ///
    /// Like git, passes over a `.git` folder that is no repository, and gives up at a `.git` file
    /// that leads nowhere.
    pub fn discover(cwd: &Path) -> Option<Self> {
        let canonical = fs::canonicalize(cwd).ok()?;
        for folder in canonical.ancestors() {
            let Ok(metadata) = fs::metadata(folder.join(DOT_GIT)) else {
                continue;
            };
            let found = DotGit::read(folder).and_then(|found| Self::open(folder, found));
            if found.is_some() || metadata.is_file() {
                return found;
            }
        }
        None
    }

    /// The commit that is checked out; absent before the first commit.
    pub fn head(&self) -> Option<Head> {
        match self.checkout()? {
            Checkout::At(head) => Some(head),
            Checkout::Nothing => None,
        }
    }

    /// The branch or commit that is checked out, if it can be read.
    pub(crate) fn checkout(&self) -> Option<Checkout> {
        refs::checkout(&self.git_dir, &self.common_dir)
    }

    /// The folder of the work tree, by its real name.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The fetch address of each remote, by name, without secrets.
    pub fn remote_urls(&self) -> BTreeMap<String, String> {
        remotes::urls(&self.config().unwrap_or_default())
    }

    /// The entries of the repository's configuration, without included files.
    pub(crate) fn config(&self) -> Option<Vec<GitConfigEntry>> {
        git_config::parse(&read_text(&self.common_dir.join("config"))?)
    }

    fn open(root: &Path, found: DotGit) -> Option<Self> {
        let DotGit { git_dir, common_dir, tie } = found;
        let is_repository = fs::symlink_metadata(git_dir.join("HEAD")).is_ok()
            && common_dir.join("objects").is_dir()
            && common_dir.join("refs").is_dir();
        is_repository.then(|| Self { root: root.to_owned(), git_dir, common_dir, tie })
    }
}

/// The text of a small file.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    let bytes = pellucid_files::read(path, FILE_BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
