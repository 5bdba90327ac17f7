//! Whether a work tree differs from its last commit, and where.
//!
//! These questions are left to git itself: the answer needs its index and its ignore rules. It may take seconds in a
//! large work tree, so it is for the background only. Submodules are not inspected, because they have a separate
//! configuration.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use crate::private::Access;
use crate::private::Needs;
use crate::private::Private;
use crate::run::Ask;
use crate::run::Git;
use crate::run::GitError;

/// How long the yes or no may take.
const SHORT_LIMIT: Duration = Duration::from_secs(5);

/// How long the list may take.
const LONG_LIMIT: Duration = Duration::from_secs(300);

/// How long the list may be.
const LIST_BYTES_MAX: u64 = 512 << 20;

/// Whether `git status` has anything to say about the work tree of a folder; absent if it may not be asked, fails or
/// takes longer than five seconds.
///
/// Blocks until a process has ended: not for async code.
pub fn has_changes(git: &Git, cwd: &Path) -> Option<bool> {
    match ask(git, cwd) {
        Ok(has_changes) => Some(has_changes),
        Err(error) => {
            tracing::debug!(%error, "git does not say whether there are changes");
            None
        }
    }
}

fn ask(git: &Git, cwd: &Path) -> Result<bool, GitError> {
    let tree = git.tree(cwd)?;
    let private = tree.private(Needs::Index)?;
    let words = ["status", "--porcelain", "--ignore-submodules=dirty"];
    match private.bytes(Ask { limit: SHORT_LIMIT, ..Ask::new(&words) }, Access::Read, None) {
        Err(GitError::TooLong { .. }) => Ok(true),
        said => Ok(!said?.is_empty()),
    }
}

/// The state of a work tree as git reports it; paths are relative to its root.
#[derive(Debug)]
pub(crate) struct Status {
    /// Files that git knows, and that are other than in the last commit.
    pub changed: BTreeSet<PathBuf>,
    /// Files that git does not track.
    pub untracked: Vec<PathBuf>,
}

impl Status {
    /// Asks about a part of the work tree.
    pub fn read(private: &Private<'_>, prefix: &Path) -> Result<Self, GitError> {
        let words =
            ["status", "--porcelain=2", "-z", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames"];
        let mut ask = Ask { limit: LONG_LIMIT, n_bytes_max: LIST_BYTES_MAX, ..Ask::new(&words) };
        if !prefix.as_os_str().is_empty() {
            ask.words.extend(["--".into(), prefix.into()]);
        }
        let mut status = Self::parse(&private.bytes(ask, Access::Read, None)?);
        // Our folder may be in the work tree: a user may keep the whole home folder in a repository.
        status.untracked.retain(|path| !private.is_own(path));
        Ok(status)
    }

    fn parse(said: &[u8]) -> Self {
        let (mut changed, mut untracked) = (BTreeSet::new(), Vec::new());
        for record in said.split(|byte| *byte == 0) {
            let field = |n| record.splitn(n, |byte| *byte == b' ').nth(n - 1).map(path);
            let found = match record.first() {
                // The field about a submodule begins with an S.
                Some(b'1' | b'u')
                    if record.splitn(4, |byte| *byte == b' ').nth(2).is_some_and(|it| it.starts_with(b"S")) =>
                {
                    None
                }
                Some(b'1') => field(9),
                Some(b'u') => field(11),
                Some(b'?') => {
                    untracked.extend(field(2));
                    None
                }
                _ => None,
            };
            changed.extend(found);
        }
        Self { changed, untracked }
    }
}

/// A path as git writes it.
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
