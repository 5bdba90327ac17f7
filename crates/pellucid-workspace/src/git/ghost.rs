//! Snapshots of a work tree that nothing points to, and going back to them.
//!
//! A snapshot is a commit made with an index of its own: branches, the index and the stash of the
//! person are not touched. It holds what is tracked and what is not yet, but neither large files
//! nor what programs leave behind; going back leaves those alone too.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use pellucid_protocol::item::GhostCommit;

use super::work_tree_root;

/// Folders that programs fill by themselves.
const IGNORED: [&str; 12] = [
    "node_modules",
    ".venv",
    "venv",
    "env",
    ".env",
    "dist",
    "build",
    ".pytest_cache",
    ".mypy_cache",
    ".cache",
    ".tox",
    "__pycache__",
];

/// How many paths one command of git is given.
const GROUP: usize = 64;

/// Who made the commit, and what it says.
const NAME: &str = "Pellucid Snapshot";
const EMAIL: &str = "snapshot@pellucid.local";
const MESSAGE: &str = "pellucid snapshot";

/// What snapshots leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GhostLimits {
    /// Untracked files of more bytes.
    pub file_bytes: Option<u64>,
    /// Untracked files in folders with so many of them, or more.
    pub folder_files: Option<usize>,
}

impl Default for GhostLimits {
    fn default() -> Self {
        Self { file_bytes: Some(10 * 1024 * 1024), folder_files: Some(200) }
    }
}

/// A snapshot, and what it does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ghost {
    /// The commit.
    pub commit: GhostCommit,
    /// Files that are too large, with their sizes.
    pub large_files: Vec<(String, u64)>,
    /// Folders with too many files, with their number.
    pub large_folders: Vec<(String, usize)>,
}

/// Why there is no snapshot, or no going back to it.
#[derive(Debug, thiserror::Error)]
pub enum GhostError {
    /// There is no repository.
    #[error("{0} is in no git repository")]
    NoRepository(PathBuf),
    /// There is no git.
    #[error("git does not start: {0}")]
    NotStarted(io::Error),
    /// Git said no.
    #[error("git {command}: {said}")]
    Failed {
        /// What it was asked for.
        command: String,
        /// What it said.
        said: String,
    },
    /// A file could not be removed.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Makes a snapshot of the part of a work tree that is at or below `cwd`.
///
/// # Errors
/// When there is no repository, or git fails.
pub fn create(cwd: &Path, limits: GhostLimits) -> Result<Ghost, GhostError> {
    let tree = Tree::of(cwd)?;
    let status = tree.status()?;
    let untracked = Untracked::sort(&tree, status.untracked, limits);
    let parent = tree.git(&["rev-parse", "--verify", "--quiet", "HEAD"]).ok();
    let index = Index::new();
    if parent.is_some() {
        index.git(&tree, &["read-tree", "HEAD"])?;
    }
    let paths: Vec<&String> = status.changed.iter().chain(&untracked.held).collect();
    for group in paths.chunks(GROUP) {
        let words = ["add", "--all", "--"].into_iter().chain(group.iter().map(|path| path.as_str()));
        index.git(&tree, &words.collect::<Vec<_>>())?;
    }
    let written = index.git(&tree, &["write-tree"])?;
    let mut words = vec!["commit-tree", &written];
    if let Some(parent) = &parent {
        words.extend(["-p", parent]);
    }
    words.extend(["-m", MESSAGE]);
    let id = index.git(&tree, &words)?;
    let large_files = untracked.large_files.iter().map(|(path, _)| path.clone());
    let commit = GhostCommit {
        id,
        parent,
        preexisting_untracked_files: untracked.held.iter().cloned().chain(large_files).collect(),
        preexisting_untracked_dirs: untracked.large_folders.iter().map(|(path, _)| path.clone()).collect(),
    };
    Ok(Ghost { commit, large_files: untracked.large_files, large_folders: untracked.large_folders })
}

/// Brings the files at or below `cwd` back to a snapshot. The index stays as it is. Files that are
/// untracked and came after the snapshot are removed.
///
/// # Errors
/// When there is no repository, git fails, or a file cannot be removed.
pub fn restore(cwd: &Path, snapshot: &GhostCommit, limits: GhostLimits) -> Result<(), GhostError> {
    let tree = Tree::of(cwd)?;
    let untracked = Untracked::sort(&tree, tree.status()?.untracked, limits);
    let folder = if tree.prefix.is_empty() { "." } else { tree.prefix.as_str() };
    let held = tree.git(&["ls-tree", "--name-only", "-r", &snapshot.id, "--", folder])?;
    if !held.is_empty() {
        tree.git(&["restore", "--source", &snapshot.id, "--worktree", "--", folder])?;
    }
    let before: BTreeSet<&str> = snapshot.preexisting_untracked_files.iter().map(String::as_str).collect();
    let was_there = |path: &str| {
        let folders = &snapshot.preexisting_untracked_dirs;
        before.contains(path) || folders.iter().any(|folder| Path::new(path).starts_with(folder))
    };
    for path in untracked.held.iter().filter(|path| !was_there(path)) {
        let file = tree.root.join(path);
        fs::remove_file(&file).map_err(|error| GhostError::File { path: file.clone(), error })?;
        // A folder with something else in it stays.
        let folders = file.ancestors().skip(1).take_while(|folder| *folder != tree.root);
        let _last = folders.take_while(|folder| fs::remove_dir(folder).is_ok()).last();
    }
    Ok(())
}

/// A work tree, and the folder in it that counts.
struct Tree {
    root: PathBuf,
    /// Relative to the root; empty for all of it.
    prefix: String,
}

/// What git says of a work tree; paths are relative to its root.
struct Status {
    changed: BTreeSet<String>,
    untracked: Vec<String>,
}

impl Tree {
    fn of(cwd: &Path) -> Result<Self, GhostError> {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let root = work_tree_root(&cwd).ok_or_else(|| GhostError::NoRepository(cwd.clone()))?;
        let prefix = cwd.strip_prefix(&root).unwrap_or(Path::new("")).to_string_lossy().into_owned();
        Ok(Self { root, prefix })
    }

    fn status(&self) -> Result<Status, GhostError> {
        let mut words = vec!["status", "--porcelain=2", "-z", "--untracked-files=all"];
        if !self.prefix.is_empty() {
            words.extend(["--", &self.prefix]);
        }
        let text = self.git(&words)?;
        let (mut changed, mut untracked) = (BTreeSet::new(), Vec::new());
        let mut records = text.split('\0');
        while let Some(record) = records.next() {
            let field = |n| record.splitn(n, ' ').nth(n - 1).map(str::to_owned);
            match record.as_bytes().first() {
                Some(b'1') => changed.extend(field(9)),
                Some(b'2') => {
                    changed.extend(field(10));
                    // Where it was before stands in a record of its own.
                    changed.extend(records.next().map(str::to_owned));
                }
                Some(b'u') => changed.extend(field(11)),
                Some(b'?') => untracked.extend(field(2)),
                _ => {}
            }
        }
        Ok(Status { changed, untracked })
    }

    fn git(&self, words: &[&str]) -> Result<String, GhostError> {
        self.git_with(words, &[])
    }

    fn git_with(&self, words: &[&str], env: &[(&str, &OsStr)]) -> Result<String, GhostError> {
        let mut command = Command::new("git");
        // The repository may name programs that watch files or hear of changes; they must not start.
        command.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
        command.current_dir(&self.root).args(words).env("GIT_LITERAL_PATHSPECS", "1").env("LC_ALL", "C");
        for (name, value) in env {
            command.env(name, value);
        }
        let output = command.output().map_err(GhostError::NotStarted)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
            return Err(GhostError::Failed { command: words.first().copied().unwrap_or_default().to_owned(), said });
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
    }
}

/// Untracked files, by what becomes of them.
struct Untracked {
    held: Vec<String>,
    large_files: Vec<(String, u64)>,
    large_folders: Vec<(String, usize)>,
}

impl Untracked {
    fn sort(tree: &Tree, paths: Vec<String>, limits: GhostLimits) -> Self {
        let is_ignored = |path: &String| {
            Path::new(path)
                .components()
                .any(|part| part.as_os_str().to_str().is_some_and(|part| IGNORED.contains(&part)))
        };
        // A path that ends so is a repository of its own.
        let paths: Vec<String> = paths.into_iter().filter(|path| !is_ignored(path) && !path.ends_with('/')).collect();
        let mut in_folder: BTreeMap<String, usize> = BTreeMap::new();
        for folder in paths.iter().filter_map(|path| parent(path)) {
            *in_folder.entry(folder.to_owned()).or_default() += 1;
        }
        in_folder.retain(|_, n_files| limits.folder_files.is_some_and(|limit| *n_files >= limit));
        let (mut held, mut large_files) = (Vec::new(), Vec::new());
        for path in paths {
            if parent(&path).is_some_and(|folder| in_folder.contains_key(folder)) {
                continue;
            }
            let size = fs::symlink_metadata(tree.root.join(&path)).map_or(0, |metadata| metadata.len());
            if limits.file_bytes.is_some_and(|limit| size > limit) {
                large_files.push((path, size));
            } else {
                held.push(path);
            }
        }
        Self { held, large_files, large_folders: in_folder.into_iter().collect() }
    }
}

/// The folder of a file; absent at the root.
fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(folder, _)| folder)
}

/// An index of our own; its file is removed when this is dropped.
struct Index {
    path: PathBuf,
}

impl Index {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("pellucid-index-{}-{number}", std::process::id());
        Self { path: std::env::temp_dir().join(name) }
    }

    fn git(&self, tree: &Tree, words: &[&str]) -> Result<String, GhostError> {
        let env = [
            ("GIT_INDEX_FILE", self.path.as_os_str()),
            ("GIT_AUTHOR_NAME", OsStr::new(NAME)),
            ("GIT_AUTHOR_EMAIL", OsStr::new(EMAIL)),
            ("GIT_COMMITTER_NAME", OsStr::new(NAME)),
            ("GIT_COMMITTER_EMAIL", OsStr::new(EMAIL)),
        ];
        tree.git_with(words, &env)
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        // There is none if nothing was to be held.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    struct Repository {
        folder: tempfile::TempDir,
    }

    impl Repository {
        fn new(files: &[(&str, &str)]) -> Self {
            let repository = Self { folder: tempfile::tempdir().unwrap() };
            repository.git(&["init", "-q"]);
            if !files.is_empty() {
                repository.write(files);
                repository.git(&["add", "-A"]);
                repository.git(&["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first"]);
            }
            repository
        }

        fn git(&self, words: &[&str]) {
            let mut command = Command::new("git");
            command.current_dir(self.folder.path()).args(words);
            command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }

        fn write(&self, files: &[(&str, &str)]) {
            for (path, text) in files {
                let path = self.folder.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }

        /// All files that are not git's, a line each.
        fn shown(&self) -> String {
            let mut lines = Vec::new();
            let mut folders = vec![self.folder.path().to_owned()];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        if !path.ends_with(".git") {
                            folders.push(path);
                        }
                        continue;
                    }
                    let name = path.strip_prefix(self.folder.path()).unwrap().display().to_string();
                    lines.push(format!("{name}: {}\n", fs::read_to_string(&path).unwrap()));
                }
            }
            lines.sort();
            lines.concat()
        }
    }

    const SMALL: GhostLimits = GhostLimits { file_bytes: Some(10), folder_files: Some(3) };

    /// Takes a snapshot, makes changes, goes back, and shows what is there.
    #[track_caller]
    fn check_back(repository: &Repository, cwd: &str, change: impl FnOnce(&Path), expected: &Expect) {
        let cwd = repository.folder.path().join(cwd);
        let ghost = create(&cwd, SMALL).unwrap();
        change(repository.folder.path());
        restore(&cwd, &ghost.commit, SMALL).unwrap();
        expected.assert_eq(&repository.shown());
    }

    #[test]
    fn what_was_there_comes_back_and_what_came_goes() {
        let repository = Repository::new(&[("a", "1"), ("sub/b", "2"), ("gone", "3")]);
        repository.write(&[("a", "1 changed"), ("new", "untracked")]);
        fs::remove_file(repository.folder.path().join("gone")).unwrap();
        check_back(
            &repository,
            "",
            |root| {
                fs::write(root.join("a"), "again").unwrap();
                fs::remove_file(root.join("new")).unwrap();
                fs::write(root.join("gone"), "back").unwrap();
                fs::create_dir_all(root.join("x/y")).unwrap();
                fs::write(root.join("x/y/z"), "late").unwrap();
            },
            &expect![[r#"
                a: 1 changed
                new: untracked
                sub/b: 2
            "#]],
        );
    }

    #[test]
    fn only_the_working_folder_counts() {
        let repository = Repository::new(&[("a", "1"), ("sub/b", "2")]);
        check_back(
            &repository,
            "sub",
            |root| {
                fs::write(root.join("a"), "outside").unwrap();
                fs::write(root.join("sub/b"), "inside").unwrap();
            },
            &expect![[r#"
                a: outside
                sub/b: 2
            "#]],
        );
    }

    #[test]
    fn large_files_and_what_programs_leave_stay_as_they_are() {
        let repository = Repository::new(&[("a", "1")]);
        repository.write(&[("large", "12345678901"), ("many/1", ""), ("many/2", ""), ("many/3", "")]);
        repository.write(&[("node_modules/m", "before")]);
        let ghost = create(repository.folder.path(), SMALL).unwrap();
        assert_eq!(ghost.large_files, [("large".to_owned(), 11)]);
        assert_eq!(ghost.large_folders, [("many".to_owned(), 3)]);
        assert_eq!(ghost.commit.preexisting_untracked_files, ["large"]);
        repository.write(&[("large", "changed too!"), ("many/1", "x"), ("many/4", "y"), ("node_modules/n", "late")]);
        restore(repository.folder.path(), &ghost.commit, SMALL).unwrap();
        expect![[r#"
            a: 1
            large: changed too!
            many/1: x
            many/2: 
            many/3: 
            many/4: y
            node_modules/m: before
            node_modules/n: late
        "#]]
        .assert_eq(&repository.shown());
    }

    #[test]
    fn a_repository_without_a_commit_has_snapshots_too() {
        let repository = Repository::new(&[]);
        let ghost = create(repository.folder.path(), SMALL).unwrap();
        assert_eq!(ghost.commit.parent, None);
        repository.write(&[("late", "x")]);
        restore(repository.folder.path(), &ghost.commit, SMALL).unwrap();
        assert_eq!(repository.shown(), "");
    }

    #[test]
    fn outside_of_repositories_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(create(folder.path(), SMALL), Err(GhostError::NoRepository(_))));
    }
}
