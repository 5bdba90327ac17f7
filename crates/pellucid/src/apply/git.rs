//! The `git` program: where its repository is, what is in a commit, and applying a diff.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::env;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Output;
use std::process::Stdio;

use pellucid_patch::diff::Mode as FileMode;
use pellucid_patch::diff::Snapshot;

/// Settings for `git apply` as `name=value`, separated by commas.
const SETTINGS: &str = "CODEX_APPLY_GIT_CFG";

/// How a diff is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Only whether it fits.
    Check,
    /// Only whether it could be taken back, so that it is applied already.
    CheckReversed,
    /// All of it or nothing; the index stays as it is.
    Plain,
    /// Merged where it does not fit, in files and index.
    ThreeWay,
}

/// Git in a folder.
#[derive(Debug)]
pub struct Git {
    /// The top of the work tree, or the folder itself outside of one.
    pub root: PathBuf,
    pub is_repository: bool,
}

/// Why a diff was not applied.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("git could not be run: {0}; `apply` needs it")]
    NotRun(#[from] io::Error),
    /// A merge needs a repository.
    #[error("--3way needs a git repository, and {} is in none", .0.display())]
    NoRepository(PathBuf),
    /// It does not fit.
    #[error("git cannot apply the diff:\n{said}\nNothing was changed{}.", advice(said))]
    Misfit {
        /// What git said.
        said: String,
    },
    /// It was merged, with conflicts.
    #[error("the diff was applied with conflicts, which are marked in:\n{}\nThe rest is applied and staged.", paths.join("\n"))]
    Conflicts {
        /// The files.
        paths: Vec<String>,
    },
}

/// What to do about it, where git does not say.
fn advice(said: &str) -> &'static str {
    let is_changed = said.contains("does not match index") || said.contains("does not exist in index");
    if is_changed { "; --3way merges into what is staged, so stage, commit or stash these files first" } else { "" }
}

impl Git {
    /// Git in this folder.
    pub fn at(cwd: &Path) -> Result<Self, GitError> {
        let output = Command::new("git").args(["rev-parse", "--show-toplevel"]).current_dir(cwd).output()?;
        let top = String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned();
        Ok(if output.status.success() && !top.is_empty() {
            Self { root: top.into(), is_repository: true }
        } else {
            Self { root: cwd.to_owned(), is_repository: false }
        })
    }

    /// Files of a commit by their paths in the work tree. Absent if the commit is not there.
    pub fn files(&self, commit: &str, paths: &BTreeSet<PathBuf>) -> Option<BTreeMap<PathBuf, Snapshot>> {
        if commit.is_empty() || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut listing = Command::new("git");
        listing.args(["--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--"]).current_dir(&self.root);
        listing.args(paths.iter().filter_map(|path| path.strip_prefix(&self.root).ok()));
        let output = listing.output().ok().filter(|output| output.status.success())?;
        let mut files = BTreeMap::new();
        for row in String::from_utf8(output.stdout).ok()?.split_terminator('\0') {
            // mode, kind and id, then the path behind a tab.
            let (about, path) = row.split_once('\t')?;
            let mut about = about.split(' ');
            let (mode, id) = (about.next()?, about.nth(1)?);
            let mode = match mode {
                "100644" => FileMode::Regular,
                "100755" => FileMode::Executable,
                // Links and folders are no texts that a patch could change.
                _ => return None,
            };
            let blob = Command::new("git").args(["cat-file", "blob", id]).current_dir(&self.root).output().ok()?;
            if !blob.status.success() {
                return None;
            }
            files.insert(self.root.join(path), Snapshot { bytes: blob.stdout, mode });
        }
        Some(files)
    }

    /// Applies a diff, whose paths begin at the root.
    pub fn apply(&self, diff: &str, mode: Mode) -> Result<(), GitError> {
        if mode == Mode::ThreeWay && !self.is_repository {
            return Err(GitError::NoRepository(self.root.clone()));
        }
        let mut command = Command::new("git");
        let settings = env::var(SETTINGS).unwrap_or_default();
        for setting in settings.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
            command.args(["-c", setting]);
        }
        command.args(["apply", "--whitespace=nowarn"]).current_dir(&self.root);
        match mode {
            Mode::Check => _ = command.arg("--check"),
            Mode::CheckReversed => _ = command.args(["--check", "--reverse"]),
            Mode::Plain => {}
            Mode::ThreeWay => _ = command.arg("--3way"),
        }
        if !self.is_repository {
            // A repository further up must not decide where paths begin.
            command.env("GIT_CEILING_DIRECTORIES", self.root.parent().unwrap_or(&self.root));
        }
        let output = with_input(command.arg("-"), diff)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        let unmerged = || said.lines().chain(std::str::from_utf8(&output.stdout).unwrap_or_default().lines());
        let paths: Vec<_> = unmerged().filter_map(|line| line.strip_prefix("U ")).map(str::to_owned).collect();
        Err(if paths.is_empty() { GitError::Misfit { said } } else { GitError::Conflicts { paths } })
    }
}

fn with_input(command: &mut Command, input: &str) -> io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read it all says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output()
}
