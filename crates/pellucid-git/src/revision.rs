//! Files of a project as a revision has them, read as objects. Nothing is checked out, and no hook, filter or other
//! program of the repository runs.

use std::path::Path;
use std::path::PathBuf;

use crate::objects;
use crate::objects::Listed;
use crate::objects::Mode;
use crate::private::Needs;
use crate::private::Private;
use crate::run::Git;
use crate::run::GitError;

/// How many files are read at most.
const FILES_MAX: usize = 20_000;

/// How many bytes these may have together.
const BYTES_MAX: u64 = 256 << 20;

/// Files of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The id of the commit.
    pub commit: String,
    /// The top folder of the work tree.
    pub root: PathBuf,
    /// The files, by paths that begin there.
    pub files: Vec<RevisionFile>,
}

/// A file of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionFile {
    /// The path relative to the top folder.
    pub path: PathBuf,
    /// Whether it is a symbolic link; its bytes say where that leads.
    pub is_link: bool,
    /// The bytes, as committed.
    pub bytes: Vec<u8>,
}

/// Reads those files of a revision that are wanted, by their paths from the top folder. `cwd` is a folder of the work
/// tree.
///
/// Blocks until git has ended.
///
/// # Errors
/// When the folder is in no work tree, git may not be run there, there is no such revision, or what is wanted is too
/// much.
pub fn read(git: &Git, cwd: &Path, revision: &str, wants: &dyn Fn(&Path) -> bool) -> Result<Revision, GitError> {
    let tree = git.tree(cwd)?;
    let private = tree.private(Needs::References)?;
    let meant = format!("{revision}^{{commit}}");
    let commit = private.text(&["rev-parse", "--verify", "--end-of-options", &meant])?;
    // Options for git may be echoed first.
    let commit = commit.lines().last().unwrap_or_default().to_owned();
    let files = files(&private, &commit, wants)?;
    Ok(Revision { commit, root: tree.root().to_owned(), files })
}

/// The wanted files of a commit.
pub(crate) fn files(
    private: &Private<'_>,
    commit: &str,
    wants: &dyn Fn(&Path) -> bool,
) -> Result<Vec<RevisionFile>, GitError> {
    let is_wanted = |(path, listed): &(PathBuf, Listed)| listed.mode != Mode::Submodule && wants(path);
    let wanted: Vec<(PathBuf, Listed)> = objects::files(private, commit, &[])?.into_iter().filter(is_wanted).collect();
    let n_bytes: u64 = wanted.iter().map(|(_, listed)| listed.n_bytes).sum();
    if wanted.len() > FILES_MAX || n_bytes > BYTES_MAX {
        let said = format!("{} files with {n_bytes} bytes would have to be read, which is too much", wanted.len());
        return Err(GitError::Failed { command: "ls-tree".to_owned(), said });
    }
    let mut files = Vec::with_capacity(wanted.len());
    for group in objects::groups(wanted) {
        let listed: Vec<&Listed> = group.iter().map(|(_, listed)| listed).collect();
        let blobs = objects::blobs(private, &listed)?;
        for ((path, listed), bytes) in group.into_iter().zip(blobs) {
            files.push(RevisionFile { path, is_link: listed.mode == Mode::Link, bytes });
        }
    }
    Ok(files)
}
