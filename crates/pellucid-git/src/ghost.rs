//! Snapshots of a work tree that nothing points to, and going back to them.
//!
//! A snapshot is a commit made with a separate index: branches, the index and the stash of the user are not touched.
//! It holds tracked and untracked files, but neither large files nor build output; restoring leaves those alone too.
//!
//! Files are read and written by us, by handles, and are held as they are: git converts nothing, and never writes in the
//! work tree.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::io::Read;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

use pellucid_files::Folder;
use pellucid_protocol::item::GhostCommit;

use crate::files;
use crate::files::There;
use crate::objects;
use crate::objects::BLOB_BYTES_MAX;
use crate::objects::GROUP_BYTES;
use crate::objects::Listed;
use crate::objects::Mode;
use crate::private::Access;
use crate::private::Needs;
use crate::private::Private;
use crate::refs;
use crate::run::Ask;
use crate::run::Git;
use crate::run::GitError;
use crate::status::Status;
use crate::tree::Tree;

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

/// How many files are handed to git at once.
const GROUP: usize = 1000;

/// The index that a snapshot is put together in.
const INDEX: &str = "snapshot";

/// The author and the message of the commit.
const NAME: &str = "Pellucid Snapshot";
const EMAIL: &str = "snapshot@pellucid.local";
const MESSAGE: &str = "pellucid snapshot";

/// What snapshots leave out; without limits, nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GhostLimits {
    /// Untracked files of more bytes.
    pub file_bytes: Option<u64>,
    /// Untracked files in folders with so many of them, or more.
    pub folder_files: Option<usize>,
}

/// A snapshot, and what it does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ghost {
    /// The commit that holds the snapshot.
    pub commit: GhostCommit,
    /// Files that are too large, with their sizes.
    pub large_files: Vec<(String, u64)>,
    /// Folders with too many files, with their number.
    pub large_folders: Vec<(String, usize)>,
}

/// Makes a snapshot of the part of a work tree that is at or below `cwd`.
///
/// # Errors
/// When there is no repository, git may not be run there, or it fails.
pub fn create(git: &Git, cwd: &Path, limits: GhostLimits) -> Result<Ghost, GitError> {
    let tree = git.tree(cwd)?;
    tree.check_own()?;
    let root = Folder::open(tree.root(), None).map_err(GitError::file(tree.root()))?;
    let private = tree.private(Needs::Index)?;
    let status = Status::read(&private, &tree.prefix)?;
    let untracked = Untracked::sort(&tree, status.untracked, limits);
    let parent = tree.repository.head().map(|head| head.commit);
    let mut paths = status.changed;
    if let Some(parent) = &parent {
        private.bytes(Ask::new(&["read-tree", parent]), Access::Objects, Some(INDEX))?;
        paths.extend(converted(&private, &tree, &root, parent)?);
    }
    paths.extend(untracked.held.iter().cloned());
    let records = store(&private, &root, &tree, &paths, parent.as_ref().map_or(40, String::len))?;
    let words = ["update-index", "-z", "--index-info"];
    if !records.is_empty() {
        private.bytes(Ask { input: &records, ..Ask::new(&words) }, Access::Objects, Some(INDEX))?;
    }
    let said = |words: &[&str]| -> Result<String, GitError> {
        let said = private.bytes(Ask::new(words), Access::Objects, Some(INDEX))?;
        Ok(String::from_utf8_lossy(&said).trim().to_owned())
    };
    let written = said(&["write-tree"])?;
    let who = [format!("user.name={NAME}"), format!("user.email={EMAIL}")];
    let mut words = vec!["-c", &who[0], "-c", &who[1], "commit-tree", &written];
    if let Some(parent) = &parent {
        words.extend(["-p", parent]);
    }
    words.extend(["-m", MESSAGE]);
    let id = said(&words)?;
    let name = |path: &PathBuf| path.to_string_lossy().into_owned();
    let large_files: Vec<_> = untracked.large_files.iter().map(|(path, size)| (name(path), *size)).collect();
    let large_folders: Vec<_> = untracked.large_folders.iter().map(|(path, count)| (name(path), *count)).collect();
    let names = untracked.held.iter().map(name).chain(large_files.iter().map(|(path, _)| path.clone()));
    let commit = GhostCommit {
        id,
        parent,
        preexisting_untracked_files: names.collect(),
        preexisting_untracked_dirs: large_folders.iter().map(|(path, _)| path.clone()).collect(),
    };
    Ok(Ghost { commit, large_files, large_folders })
}

/// Files that are not changed for git and yet have other bytes than the commit: line ends, keywords or whole contents
/// were converted. A snapshot holds them as they are.
fn converted(private: &Private<'_>, tree: &Tree<'_>, root: &Folder, commit: &str) -> Result<Vec<PathBuf>, GitError> {
    let listed = match objects::files(private, commit, &[&tree.prefix]) {
        // Objects of a partial clone may be missing. What is not here was not converted here.
        Err(GitError::Failed { .. }) => return Ok(Vec::new()),
        listed => listed?,
    };
    let files = listed.into_iter().filter(|(_, it)| matches!(it.mode, Mode::File | Mode::Program));
    let is_other = |path: &PathBuf, it: &Listed| {
        let size = path.file_name().and_then(|name| {
            let folder = root.folder(path.parent().unwrap_or(Path::new(""))).ok()?;
            folder.status(name).ok()
        });
        size.is_some_and(|there| there.n_bytes != it.n_bytes)
    };
    Ok(files.filter(|(path, it)| is_other(path, it)).map(|(path, _)| path).collect())
}

/// Stores files as objects, and returns the lines for the index. Object names have this many digits.
fn store(
    private: &Private<'_>,
    root: &Folder,
    tree: &Tree<'_>,
    paths: &BTreeSet<PathBuf>,
    n_digits: usize,
) -> Result<Vec<u8>, GitError> {
    let copies = private.path("tmp");
    let mut records = Vec::new();
    let (mut group, mut n_bytes): (Vec<(&PathBuf, Mode)>, u64) = (Vec::new(), 0);
    for path in paths {
        let failed = |error: io::Error| GitError::File { path: tree.root().join(path), error };
        let copy = |from: &mut dyn Read| -> io::Result<u64> {
            let mut copy = pellucid_files::create_private(&copies.join(group.len().to_string()))?;
            let n_bytes = io::copy(&mut from.take(BLOB_BYTES_MAX), &mut copy)?;
            copy.flush()?;
            if n_bytes == BLOB_BYTES_MAX { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(n_bytes) }
        };
        match files::look(root, path).map_err(failed)? {
            There::File(mut file, mode) => {
                n_bytes += copy(&mut file).map_err(failed)?;
                group.push((path, mode));
            }
            There::Link(target) => {
                n_bytes += copy(&mut target.as_slice()).map_err(failed)?;
                group.push((path, Mode::Link));
            }
            There::Nothing => record(&mut records, path, "0", &"0".repeat(n_digits)),
            There::Other => {}
        }
        if group.len() >= GROUP || n_bytes >= GROUP_BYTES {
            hash(private, &copies, &group, &mut records)?;
            (group, n_bytes) = (Vec::new(), 0);
        }
    }
    hash(private, &copies, &group, &mut records)?;
    Ok(records)
}

/// Appends the line of a file for the index.
fn record(records: &mut Vec<u8>, path: &Path, mode: &str, id: &str) {
    records.extend_from_slice(format!("{mode} {id}\t").as_bytes());
    records.extend_from_slice(path.as_os_str().as_bytes());
    records.push(0);
}

/// Makes objects of a group of copies, and removes them.
fn hash(
    private: &Private<'_>,
    copies: &Path,
    group: &[(&PathBuf, Mode)],
    records: &mut Vec<u8>,
) -> Result<(), GitError> {
    if group.is_empty() {
        return Ok(());
    }
    let names: String = (0..group.len()).map(|n| format!("{n}\n")).collect();
    let words = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
    let ask = Ask { input: names.as_bytes(), cwd: copies, ..Ask::new(&words) };
    let ids = private.bytes(ask, Access::Objects, None)?;
    let ids = String::from_utf8_lossy(&ids).into_owned();
    for ((path, mode), id) in group.iter().zip(ids.lines()) {
        record(records, path, mode.as_str(), id);
    }
    for n in 0..group.len() {
        let copy = copies.join(n.to_string());
        fs::remove_file(&copy).map_err(GitError::file(copy))?;
    }
    Ok(())
}

/// Brings the files at or below `cwd` back to a snapshot. The index does not change. Files that are untracked and
/// came after the snapshot are removed.
///
/// # Errors
/// When there is no repository, git may not be run there or fails, or a file cannot be written or removed.
pub fn restore(git: &Git, cwd: &Path, snapshot: &GhostCommit, limits: GhostLimits) -> Result<(), GitError> {
    if !refs::is_hash(&snapshot.id) {
        return Err(GitError::Failed {
            command: "ls-tree".to_owned(),
            said: "it is not the name of a commit".to_owned(),
        });
    }
    let tree = git.tree(cwd)?;
    let root = Folder::open(tree.root(), None).map_err(GitError::file(tree.root()))?;
    let private = tree.private(Needs::Index)?;
    let status = Status::read(&private, &tree.prefix)?;
    let untracked = Untracked::sort(&tree, status.untracked, limits);
    let held = objects::files(&private, &snapshot.id, &[&tree.prefix])?;
    let known = match tree.repository.head() {
        Some(head) => objects::files(&private, &head.commit, &[&tree.prefix])?,
        None => BTreeMap::new(),
    };
    // Files that equal the last commit in both states are equal in both.
    let mut differing = status.changed;
    differing.extend(held.keys().chain(known.keys()).filter(|path| held.get(*path) != known.get(*path)).cloned());
    remove_late(&root, tree.root(), snapshot, &untracked)?;
    let mut wanted = Vec::new();
    for path in differing {
        match held.get(&path) {
            Some(it) if it.mode == Mode::Submodule => {}
            Some(it) => wanted.push((path, it.clone())),
            None => remove_known(&root, &path).map_err(GitError::file(tree.root().join(&path)))?,
        }
    }
    for group in objects::groups(wanted) {
        let listed: Vec<&Listed> = group.iter().map(|(_, it)| it).collect();
        for ((path, it), bytes) in group.iter().zip(objects::blobs(&private, &listed)?) {
            let write = || {
                let is_there = files::read(&root, path)?.is_some_and(|there| there == (bytes.clone(), it.mode));
                if is_there { Ok(()) } else { files::put(&root, path, &bytes, it.mode) }
            };
            write().map_err(GitError::file(tree.root().join(path)))?;
        }
    }
    Ok(())
}

/// Removes untracked files that came after the snapshot.
fn remove_late(root: &Folder, top: &Path, snapshot: &GhostCommit, untracked: &Untracked) -> Result<(), GitError> {
    let before: BTreeSet<&str> = snapshot.preexisting_untracked_files.iter().map(String::as_str).collect();
    let was_there = |path: &Path| {
        let folders = &snapshot.preexisting_untracked_dirs;
        before.contains(&*path.to_string_lossy()) || folders.iter().any(|folder| path.starts_with(folder))
    };
    for path in untracked.held.iter().filter(|path| !was_there(path)) {
        files::remove(root, path).map_err(GitError::file(top.join(path)))?;
    }
    Ok(())
}

/// Removes a file that the snapshot does not have, if it exists.
fn remove_known(root: &Folder, path: &Path) -> io::Result<()> {
    match files::look(root, path)? {
        There::File(..) | There::Link(_) => files::remove(root, path),
        There::Other | There::Nothing => Ok(()),
    }
}

/// Untracked files, by whether the snapshot includes them.
struct Untracked {
    held: Vec<PathBuf>,
    large_files: Vec<(PathBuf, u64)>,
    large_folders: Vec<(PathBuf, usize)>,
}

impl Untracked {
    fn sort(tree: &Tree<'_>, paths: Vec<PathBuf>, limits: GhostLimits) -> Self {
        let is_ignored = |path: &Path| {
            path.components().any(|part| part.as_os_str().to_str().is_some_and(|part| IGNORED.contains(&part)))
        };
        // A path that ends with a slash is a nested repository.
        let is_repository = |path: &Path| path.as_os_str().as_bytes().ends_with(b"/");
        let paths: Vec<PathBuf> = paths
            .into_iter()
            .filter(|path| !is_ignored(path) && !is_repository(path) && objects::is_plain(path))
            .collect();
        let mut in_folder: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for folder in paths.iter().filter_map(|path| parent(path)) {
            *in_folder.entry(folder.to_owned()).or_default() += 1;
        }
        in_folder.retain(|_, n_files| limits.folder_files.is_some_and(|limit| *n_files >= limit));
        let (mut held, mut large_files) = (Vec::new(), Vec::new());
        for path in paths {
            if parent(&path).is_some_and(|folder| in_folder.contains_key(folder)) {
                continue;
            }
            let size = fs::symlink_metadata(tree.root().join(&path)).map_or(0, |metadata| metadata.len());
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
fn parent(path: &Path) -> Option<&Path> {
    path.parent().filter(|folder| !folder.as_os_str().is_empty())
}
