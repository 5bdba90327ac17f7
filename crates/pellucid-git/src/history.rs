//! The point at which branches diverge, the commits between two revisions, and the changes of a work tree that no remote
//! branch has.

use std::ffi::OsString;
use std::path::Path;

use crate::private::Access;
use crate::private::Needs;
use crate::private::Private;
use crate::run::Ask;
use crate::run::Git;
use crate::run::GitError;
use crate::status::path;

/// How much of a difference is shown.
const DIFF_BYTES_MAX: u64 = 1 << 20;

/// How many files that git does not know are shown.
const UNTRACKED_MAX: usize = 2_000;

/// How git is asked for a difference: by itself alone.
const DIFF: [&str; 5] = ["diff", "--no-color", "--no-textconv", "--no-ext-diff", "--ignore-submodules=dirty"];

/// The commit at which this branch diverges from another: from the other's upstream, if that is ahead of it. Absent
/// if it is not known.
///
/// Blocks until git has ended.
pub fn merge_base(git: &Git, cwd: &Path, branch: &str) -> Option<String> {
    let found = || -> Result<String, GitError> {
        let tree = git.tree(cwd)?;
        let private = tree.private(Needs::References)?;
        private.text(&["rev-parse", "--verify", "HEAD"])?;
        private.text(&["rev-parse", "--verify", "--end-of-options", branch])?;
        let follows = format!("{branch}@{{upstream}}");
        let upstream =
            private.text(&["rev-parse", "--abbrev-ref", "--symbolic-full-name", "--end-of-options", &follows]);
        let upstream = upstream.unwrap_or_default().lines().last().unwrap_or_default().to_owned();
        let mut other = branch.to_owned();
        if !upstream.is_empty() {
            let range = format!("{branch}...{upstream}");
            let words = ["rev-list", "--left-right", "--count", "--end-of-options", &range];
            let counts = private.text(&words).unwrap_or_default();
            let n_ahead = counts.split_whitespace().nth(1).and_then(|count| count.parse::<u64>().ok());
            if n_ahead.is_some_and(|count| count > 0) {
                other = upstream;
            }
        }
        private.text(&["merge-base", "--end-of-options", "HEAD", &other])
    };
    found().map_err(|error| tracing::debug!(%error, "git does not say where branches part")).ok()
}

/// Whether a name leads to a commit; absent if git cannot say.
///
/// Blocks until git has ended.
pub fn has_commit(git: &Git, cwd: &Path, name: &str) -> Option<bool> {
    let tree = git.tree(cwd).ok()?;
    let private = tree.private(Needs::References).ok()?;
    let commit = format!("{name}^{{commit}}");
    let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", &commit];
    let said = private.ask(Ask::new(&words), Access::Read, None).ok()?;
    match said.code {
        Some(0) => Some(true),
        Some(_) => Some(false),
        None => None,
    }
}

/// How long the list of commits between two revisions may be.
const COMMITS_BYTES_MAX: u64 = 256 << 20;

/// A commit in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCommit {
    /// The id of the commit.
    pub id: String,
    /// The ids of its parents, the first parent first.
    pub parents: Vec<String>,
    /// The author's date, as `2026-01-05T10:00:00+01:00`.
    pub author_date: String,
    /// The first line of the message.
    pub title: String,
}

/// The commits from one revision to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstParents {
    /// The id of the commit that the list begins after.
    pub from: String,
    /// The commits after that one, each the first parent of the next; empty if both revisions are the same commit.
    pub commits: Vec<ListedCommit>,
}

/// Why there is no list of commits from one revision to another.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FirstParentsError {
    /// Git cannot be asked, or fails.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A name leads to no commit.
    #[error("there is no revision `{name}`: {source}")]
    NoRevision {
        /// The name that was given.
        name: String,
        /// What git says.
        source: GitError,
    },
    /// The first parents of the one revision do not lead to the other.
    #[error("the first parents of `{to}` do not lead to `{from}`")]
    NoPath {
        /// The name that the list would begin after.
        from: String,
        /// The name that the list would end with.
        to: String,
    },
}

/// The commits from one revision to another along first parents: a merge is one commit, and what was merged counts as its
/// change.
///
/// Blocks until git has ended.
///
/// # Errors
/// When git cannot be asked, a name leads to no commit, or the first parents of `to` do not lead to `from`.
pub fn first_parents(git: &Git, cwd: &Path, from: &str, to: &str) -> Result<FirstParents, FirstParentsError> {
    let tree = git.tree(cwd)?;
    let private = tree.private(Needs::References)?;
    let commit_id = |name: &str| {
        let commit = format!("{name}^{{commit}}");
        let said = private.text(&["rev-parse", "--verify", "--end-of-options", &commit]);
        let said = said.map_err(|source| FirstParentsError::NoRevision { name: name.to_owned(), source })?;
        // Options for git may be echoed first.
        Ok::<_, FirstParentsError>(said.lines().last().unwrap_or_default().to_owned())
    };
    let (from_id, to_id) = (commit_id(from)?, commit_id(to)?);
    let no_path = || FirstParentsError::NoPath { from: from.to_owned(), to: to.to_owned() };
    if from_id == to_id {
        return Ok(FirstParents { from: from_id, commits: Vec::new() });
    }
    let not = format!("^{from_id}");
    let words = ["log", "-z", "--first-parent", "--reverse", "--format=%H%x1f%P%x1f%aI%x1f%s", &to_id, &not, "--"];
    let ask = Ask { n_bytes_max: COMMITS_BYTES_MAX, ..Ask::new(&words) };
    let said = private.bytes(ask, Access::Read, None)?;
    let commits: Vec<ListedCommit> = String::from_utf8_lossy(&said).split('\0').filter_map(listed_commit).collect();
    match commits.first() {
        Some(first) if first.parents.first() == Some(&from_id) => Ok(FirstParents { from: from_id, commits }),
        _ => Err(no_path()),
    }
}

fn listed_commit(row: &str) -> Option<ListedCommit> {
    let [id, parents, author_date, title] = row.splitn(4, '\u{1f}').collect::<Vec<_>>().try_into().ok()?;
    Some(ListedCommit {
        id: id.to_owned(),
        parents: parents.split_whitespace().map(str::to_owned).collect(),
        author_date: author_date.to_owned(),
        title: title.to_owned(),
    })
}

/// The commits and changes of a work tree that no remote branch has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ahead {
    /// The nearest commit that a remote branch has.
    pub commit: String,
    /// The changes after that commit, committed or not.
    pub diff: String,
}

/// The changes of a work tree that no remote branch has.
///
/// Blocks until git has ended.
///
/// # Errors
/// When the folder is in no work tree, git may not be run there, there is no remote branch, or git fails.
pub fn ahead_of_remotes(git: &Git, cwd: &Path) -> Result<Ahead, String> {
    let tree = git.tree(cwd).map_err(|error| error.to_string())?;
    let private = tree.private(Needs::References).map_err(|error| error.to_string())?;
    let said = |words: &[&str]| private.text(words).map_err(|error| error.to_string());
    if said(&["for-each-ref", "--count=1", "refs/remotes"])?.is_empty() {
        return Err("there is no remote branch".to_owned());
    }
    // The commits that no remote branch has, and after them those where these begin.
    let ahead = said(&["rev-list", "--boundary", "HEAD", "--not", "--remotes"])?;
    let commit = match ahead.lines().find_map(|line| line.strip_prefix('-')) {
        Some(boundary) => boundary.to_owned(),
        None if ahead.is_empty() => said(&["rev-parse", "HEAD"])?,
        None => return Err("no commit of it is on a remote branch".to_owned()),
    };
    let mut diff = difference(&private, &[commit.as_str().into()])?;
    diff.push_str(&untracked_files(&private)?);
    Ok(Ahead { commit, diff })
}

/// The changes of a work tree since its last commit, staged or not, with files that git does not know.
///
/// Blocks until git has ended.
///
/// # Errors
/// When the folder is in no work tree, git may not be run there, or git fails.
pub fn uncommitted(git: &Git, cwd: &Path) -> Result<String, String> {
    let tree = git.tree(cwd).map_err(|error| error.to_string())?;
    let private = tree.private(Needs::References).map_err(|error| error.to_string())?;
    // Before the first commit everything is compared with nothing.
    let base = match private.text(&["rev-parse", "--verify", "--quiet", "HEAD"]) {
        Ok(commit) => commit.lines().last().unwrap_or_default().to_owned(),
        Err(_) => EMPTY_TREE.to_owned(),
    };
    let mut diff = difference(&private, &[base.into()])?;
    diff.push_str(&untracked_files(&private)?);
    Ok(diff)
}

/// The object id of a folder without files.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// The newest commits of the branch, the newest first.
///
/// Blocks until git has ended.
///
/// # Errors
/// When the folder is in no work tree, git may not be run there, or there is no commit.
pub fn newest_commits(git: &Git, cwd: &Path, n_max: usize) -> Result<Vec<ListedCommit>, GitError> {
    let tree = git.tree(cwd)?;
    let private = tree.private(Needs::References)?;
    let count = format!("--max-count={n_max}");
    let words = ["log", "-z", &count, "--format=%H%x1f%P%x1f%aI%x1f%s", "HEAD", "--"];
    let said = private.bytes(Ask::new(&words), Access::Read, None)?;
    Ok(String::from_utf8_lossy(&said).split('\0').filter_map(listed_commit).collect())
}

/// The local branches by name.
///
/// Blocks until git has ended.
///
/// # Errors
/// When the folder is in no work tree, or git may not be run there.
pub fn branches(git: &Git, cwd: &Path) -> Result<Vec<String>, GitError> {
    let tree = git.tree(cwd)?;
    let private = tree.private(Needs::References)?;
    let said = private.text(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])?;
    Ok(said.lines().map(str::to_owned).collect())
}

/// The files that git does not know, each as a difference from nothing.
fn untracked_files(private: &Private<'_>) -> Result<String, String> {
    let mut diff = String::new();
    let untracked = Ask { n_bytes_max: 64 << 20, ..Ask::new(&["ls-files", "--others", "--exclude-standard", "-z"]) };
    let untracked = private.bytes(untracked, Access::Read, None).map_err(|error| error.to_string())?;
    let untracked: Vec<_> = untracked.split(|byte| *byte == 0).filter(|it| !it.is_empty()).map(path).collect();
    if untracked.len() > UNTRACKED_MAX {
        return Err(format!("git does not know {} of its files, which are more than are shown", untracked.len()));
    }
    for file in untracked.iter().filter(|file| !private.is_own(file)) {
        diff.push_str(&difference(private, &["--no-index".into(), "--".into(), "/dev/null".into(), file.into()])?);
    }
    Ok(diff)
}

fn difference(private: &Private<'_>, words: &[OsString]) -> Result<String, String> {
    let mut ask = Ask { n_bytes_max: DIFF_BYTES_MAX, ..Ask::new(&DIFF) };
    ask.words.extend_from_slice(words);
    let said = private.ask(ask, Access::Read, None).map_err(|error| match error {
        GitError::TooLong { .. } => "it is longer than 1 MiB".to_owned(),
        error => error.to_string(),
    })?;
    match said.code {
        // A difference from nothing is reported by the code 1.
        Some(0 | 1) => Ok(String::from_utf8_lossy(&said.stdout).into_owned()),
        _ => Err(format!("git diff failed: {}", said.stderr.trim())),
    }
}
