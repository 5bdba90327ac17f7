//! A work tree that git may be run in, and the folder in it that counts.

use std::path::Path;
use std::path::PathBuf;

use pellucid_files::dot_git::Tie;

use crate::private::Needs;
use crate::private::Private;
use crate::repository::Repository;
use crate::run::Git;
use crate::run::GitError;

/// A work tree, and the folder in it that counts.
#[derive(Debug)]
pub(crate) struct Tree<'g> {
    git: &'g Git,
    pub repository: Repository,
    /// Relative to the root; empty for all of it.
    pub prefix: PathBuf,
}

impl<'g> Tree<'g> {
    pub fn new(git: &'g Git, repository: Repository, cwd: &Path) -> Self {
        let prefix = cwd.strip_prefix(&repository.root).unwrap_or(Path::new("")).to_owned();
        Self { git, repository, prefix }
    }

    /// The top folder of the work tree.
    pub fn root(&self) -> &Path {
        &self.repository.root
    }

    /// A folder for git.
    pub fn private(&self, needs: Needs) -> Result<Private<'g>, GitError> {
        Private::new(self.git, self.root(), Some(&self.repository), needs)
    }

    /// Makes sure that the repository's data may be written for this work tree: it is inside, or where its owner says
    /// so.
    pub fn check_own(&self) -> Result<(), GitError> {
        let Repository { common_dir, tie, root, .. } = &self.repository;
        let objects = common_dir.join("objects");
        let unreadable =
            |path: &Path, what: &str| GitError::Unreadable { path: path.to_owned(), what: what.to_owned() };
        if *tie == Tie::Unconfirmed {
            return Err(unreadable(root, "its `.git` names a repository that does not name this folder"));
        }
        if !objects.symlink_metadata().is_ok_and(|it| it.is_dir()) {
            return Err(unreadable(&objects, "it is a link"));
        }
        Ok(())
    }
}
