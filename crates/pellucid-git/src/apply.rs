//! Computes what a diff makes of files, and writes that.
//!
//! Git works on copies of the files in a private folder. The results are written by us, by handles: a folder that is
//! swapped for a link meanwhile is not followed, and no program of the repository runs. A merge also makes a new
//! index; it replaces the repository's index only if that is still the one that was copied.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs;
use std::fs::FileTimes;
use std::io;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use pellucid_files::Folder;

use crate::files;
use crate::objects;
use crate::objects::Listed;
use crate::objects::Mode as FileMode;
use crate::private::Access;
use crate::private::Needs;
use crate::private::Private;
use crate::refs;
use crate::repository::Repository;
use crate::run::Ask;
use crate::run::Git;
use crate::run::GitError;
use crate::run::Said;
use crate::tree::Tree;

/// The folder in which git works on copies.
const COPIES: &str = "tree";

/// How long an index may be.
const INDEX_BYTES_MAX: u64 = 2 << 30;

/// How a diff is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyMode {
    /// Checks whether the diff fits.
    Check,
    /// Only whether it could be taken back, so that it is applied already.
    CheckReversed,
    /// All of it or nothing; the index does not change.
    Plain,
    /// Merged where it does not fit, in files and index.
    ThreeWay,
}

/// Why a diff was not applied, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum DiffApplyError {
    /// Git is not run, or fails.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A merge needs a repository.
    #[error("--3way needs a git repository, and {} is in none", .0.display())]
    NoRepository(PathBuf),
    /// The diff does not fit the files.
    #[error("git cannot apply the diff:\n{said}\nNothing was changed{}.", advice(said))]
    Misfit {
        /// The output of git.
        said: String,
    },
    /// The diff was merged, with conflicts.
    #[error("the diff was applied with conflicts, which are marked in:\n{}\nThe rest is applied and staged.", paths.join("\n"))]
    Conflicts {
        /// The files in conflict.
        paths: Vec<String>,
    },
    /// A file is not what it was when it was copied.
    #[error("{} was changed at the same time; files before it in the list are changed, it and those after it are not", .0.display())]
    Changed(PathBuf),
    /// The index is in use.
    #[error(
        "the files are changed, but the index is not: {} {what}; `git add` stages them",
        path.display()
    )]
    Index {
        /// The index or its lock.
        path: PathBuf,
        /// The problem with the index.
        what: String,
    },
}

/// Advice for the user, where git gives none.
fn advice(said: &str) -> &'static str {
    let is_changed = said.contains("does not match index") || said.contains("does not exist in index");
    if is_changed { "; --3way merges into what is staged, so stage, commit or stash these files first" } else { "" }
}

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The content after the diff.
    pub bytes: Vec<u8>,
    /// Whether the file is executable.
    pub is_program: bool,
}

/// The folder that diffs begin at: the top of the work tree, or the folder itself outside of one.
#[derive(Debug)]
pub struct DiffRoot<'g> {
    git: &'g Git,
    tree: Option<Tree<'g>>,
    root: PathBuf,
}

impl<'g> DiffRoot<'g> {
    /// For the work tree of a folder.
    ///
    /// # Errors
    /// When git may not be run there.
    pub fn at(git: &'g Git, cwd: &Path) -> Result<Self, GitError> {
        match git.tree(cwd) {
            Ok(tree) => Ok(Self { git, root: tree.root().to_owned(), tree: Some(tree) }),
            Err(GitError::NoRepository(_)) => Ok(Self { git, root: cwd.to_owned(), tree: None }),
            Err(error) => Err(error),
        }
    }

    /// The top folder of the work tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether it is the top of a work tree.
    pub fn is_repository(&self) -> bool {
        self.tree.is_some()
    }

    /// Files of a commit, by paths below the root. Absent if the commit does not exist, or one of them is not a
    /// regular file.
    pub fn committed(&self, commit: &str, paths: &BTreeSet<PathBuf>) -> Option<BTreeMap<PathBuf, Committed>> {
        if !refs::is_hash(commit) || paths.is_empty() {
            return None;
        }
        let private = self.tree.as_ref()?.private(Needs::Objects).ok()?;
        let wanted: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let listed = objects::files(&private, commit, &wanted).ok()?;
        // Links, and what is below a path that is a folder there, are no texts that a patch could change.
        let is_text = |(path, it): (&PathBuf, &Listed)| {
            paths.contains(path) && matches!(it.mode, FileMode::File | FileMode::Program)
        };
        if !listed.iter().all(is_text) {
            return None;
        }
        let mut found = BTreeMap::new();
        for group in objects::groups(listed.into_iter().collect()) {
            let them: Vec<&Listed> = group.iter().map(|(_, it)| it).collect();
            let blobs = objects::blobs(&private, &them).ok()?;
            let files = group.into_iter().zip(blobs);
            found.extend(
                files.map(|((path, it), bytes)| (path, Committed { bytes, is_program: it.mode == FileMode::Program })),
            );
        }
        Some(found)
    }

    /// Applies a diff whose paths begin at the root. `touched` are the files of the diff, `settings` are the user's
    /// settings for git, as `name=value`.
    ///
    /// # Errors
    /// When it does not fit or has conflicts, and when a file cannot be read or written.
    pub fn apply(
        &self,
        diff: &str,
        touched: &BTreeSet<PathBuf>,
        mode: ApplyMode,
        settings: &[String],
    ) -> Result<(), DiffApplyError> {
        if mode == ApplyMode::ThreeWay {
            let tree = self.tree.as_ref().ok_or_else(|| DiffApplyError::NoRepository(self.root.clone()))?;
            tree.check_own()?;
        }
        let root = Folder::open(&self.root, None).map_err(GitError::file(&self.root))?;
        let needs = if mode == ApplyMode::ThreeWay { Needs::Index } else { Needs::Objects };
        let repository = self.tree.as_ref().map(|tree| &tree.repository);
        let index = match (mode, repository) {
            (ApplyMode::ThreeWay, Some(repository)) => Some((IndexStamp::read(repository)?, repository)),
            _ => None,
        };
        let mut private = Private::new(self.git, &self.root, repository, needs)?;
        private.see(COPIES);
        let copies = Copies::make(&private, &root, &self.root, touched)?;
        if index.is_some() {
            // The stat data in the index is true for the originals, not for their copies.
            private.ask(Ask::new(&["update-index", "-q", "--really-refresh"]), Access::Objects, None)?;
        }
        let said = apply_to_copies(&private, diff, mode, settings)?;
        let is_done = said.code == Some(0);
        let conflicts = if is_done { Vec::new() } else { conflicts(&said) };
        if !is_done && conflicts.is_empty() {
            return Err(DiffApplyError::Misfit { said: said.stderr.trim_end().to_owned() });
        }
        if matches!(mode, ApplyMode::Plain | ApplyMode::ThreeWay) {
            copies.write_back(&root)?;
        }
        if let Some((stamp, repository)) = index {
            stamp.exchange(repository, &private.path("git/index"))?;
        }
        if conflicts.is_empty() { Ok(()) } else { Err(DiffApplyError::Conflicts { paths: conflicts }) }
    }
}

fn apply_to_copies(private: &Private<'_>, diff: &str, mode: ApplyMode, settings: &[String]) -> Result<Said, GitError> {
    let words: &[&str] = match mode {
        ApplyMode::Check => &["apply", "--whitespace=nowarn", "--check", "-"],
        ApplyMode::CheckReversed => &["apply", "--whitespace=nowarn", "--check", "--reverse", "-"],
        ApplyMode::Plain => &["apply", "--whitespace=nowarn", "-"],
        ApplyMode::ThreeWay => &["apply", "--whitespace=nowarn", "--3way", "-"],
    };
    let mut ask = Ask { input: diff.as_bytes(), ..Ask::new(words) };
    let theirs = settings.iter().flat_map(|setting| ["-c".into(), setting.into()]);
    ask.words = theirs.chain(ask.words).collect::<Vec<OsString>>();
    let access = if mode == ApplyMode::ThreeWay { Access::Objects } else { Access::Read };
    private.ask(ask, access, None)
}

/// Files that were merged with conflicts.
fn conflicts(said: &Said) -> Vec<String> {
    let stdout = String::from_utf8_lossy(&said.stdout);
    let lines = said.stderr.lines().chain(stdout.lines());
    lines.filter_map(|line| line.strip_prefix("U ")).map(str::to_owned).collect()
}

/// The bytes and mode of a file before; `None` if it did not exist.
type Was = Option<(Vec<u8>, FileMode)>;

/// Copies of the files that a diff is about.
struct Copies<'a> {
    /// The folder with the copies.
    folder: PathBuf,
    /// The name of the folder with the originals.
    root: &'a Path,
    before: BTreeMap<&'a PathBuf, Was>,
}

impl<'a> Copies<'a> {
    fn make(
        private: &Private<'_>,
        root: &Folder,
        name: &'a Path,
        touched: &'a BTreeSet<PathBuf>,
    ) -> Result<Self, GitError> {
        let folder = private.path(COPIES);
        pellucid_files::make_private_folder(&folder).map_err(GitError::file(&folder))?;
        let mut before = BTreeMap::new();
        for path in touched {
            let failed = |error: io::Error| GitError::File { path: name.join(path), error };
            if !objects::is_plain(path) {
                return Err(failed(io::Error::other("it is outside of the folder, or in the repository itself")));
            }
            let was = files::read(root, path).map_err(failed)?;
            if was.as_ref().is_some_and(|(_, mode)| *mode == FileMode::Link) {
                return Err(failed(io::Error::other("it is a link")));
            }
            if let Some((bytes, mode)) = &was {
                copy(&folder.join(path), bytes, *mode).map_err(failed)?;
            }
            before.insert(path, was);
        }
        // The attribute files say how lines end.
        let folders: BTreeSet<&Path> = touched.iter().flat_map(|path| path.ancestors().skip(1)).collect();
        for attributes in folders.iter().map(|folder| folder.join(".gitattributes")) {
            if let (false, Ok(Some((bytes, FileMode::File)))) =
                (touched.contains(&attributes), files::read(root, &attributes))
            {
                copy(&folder.join(&attributes), &bytes, FileMode::File).map_err(GitError::file(attributes))?;
            }
        }
        Ok(Self { folder, root: name, before })
    }

    /// Writes what became of the copies to where they are from.
    fn write_back(&self, root: &Folder) -> Result<(), DiffApplyError> {
        let changed: Vec<(&PathBuf, &Was, Was)> = self
            .before
            .iter()
            .map(|(path, was)| {
                let copy = self.folder.join(path);
                read_copy(&copy).map(|is| (*path, was, is)).map_err(GitError::file(copy))
            })
            .collect::<Result<_, _>>()?;
        let changed: Vec<_> = changed.into_iter().filter(|(_, was, is)| *was != is).collect();
        // Deleted files make room for new ones.
        let (gone, new): (Vec<_>, Vec<_>) = changed.iter().partition(|(_, _, is)| is.is_none());
        for (path, was, is) in gone.into_iter().chain(new) {
            let failed = |error: io::Error| GitError::File { path: self.root.join(path), error };
            if files::read(root, path).map_err(failed)? != **was {
                return Err(DiffApplyError::Changed(self.root.join(path)));
            }
            match is {
                Some((bytes, mode)) => files::put(root, path, bytes, *mode).map_err(failed)?,
                None => files::remove(root, path).map_err(failed)?,
            }
        }
        Ok(())
    }
}

fn copy(to: &Path, bytes: &[u8], mode: FileMode) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        pellucid_files::make_private_folder(folder)?;
    }
    pellucid_files::create_private(to)?.write_all(bytes)?;
    let mode = if mode == FileMode::Program { 0o700 } else { 0o600 };
    fs::set_permissions(to, fs::Permissions::from_mode(mode))
}

fn read_copy(path: &Path) -> io::Result<Was> {
    let metadata = match path.symlink_metadata() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        metadata => metadata?,
    };
    if !metadata.is_file() {
        return Err(io::Error::other("the diff makes something else than a regular file of it"));
    }
    let mode = if metadata.permissions().mode() & 0o111 == 0 { FileMode::File } else { FileMode::Program };
    Ok(Some((pellucid_files::read(path, objects::BLOB_BYTES_MAX)?, mode)))
}

/// The index that a merge began with.
#[derive(Debug)]
struct IndexStamp {
    bytes: Option<Vec<u8>>,
    modified: Option<SystemTime>,
}

impl IndexStamp {
    fn read(repository: &Repository) -> Result<Self, GitError> {
        let path = repository.git_dir.join("index");
        let modified = path.metadata().and_then(|it| it.modified()).ok();
        Ok(Self { bytes: read_index(&path).map_err(GitError::file(path))?, modified })
    }

    /// Puts a new index in the place of the old one, as git does: under its lock, at one stroke, and through no link.
    fn exchange(&self, repository: &Repository, new: &Path) -> Result<(), DiffApplyError> {
        let path = repository.git_dir.join("index");
        let lock = OsStr::new("index.lock");
        let wrong = |path: PathBuf, what: String| DiffApplyError::Index { path, what };
        let put = || -> io::Result<bool> {
            let bytes = pellucid_files::read(new, INDEX_BYTES_MAX)?;
            let folder = Folder::open(&repository.git_dir, None)?;
            let mut file = folder.create(lock, 0o666)?;
            let mut written = || -> io::Result<bool> {
                if read_index(&path)? != self.bytes {
                    return Ok(false);
                }
                file.write_all(&bytes)?;
                // Git looks into files that are as new as the index, because the two may have been written at the same
                // time. A newer index would hide changes to files that were not ours to look at.
                if let Some(modified) = self.modified {
                    file.set_times(FileTimes::new().set_modified(modified))?;
                }
                folder.rename(lock, &folder, OsStr::new("index"))?;
                Ok(true)
            };
            let written = written();
            if !matches!(written, Ok(true)) {
                // The lock is ours.
                let _ = folder.remove_file(lock);
            }
            written
        };
        match put() {
            Ok(true) => Ok(()),
            Ok(false) => Err(wrong(path, "was changed at the same time".to_owned())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(wrong(repository.git_dir.join(lock), "exists, so another git is running".to_owned()))
            }
            Err(error) => Err(wrong(path, format!("cannot be written: {error}"))),
        }
    }
}

fn read_index(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match pellucid_files::read(path, INDEX_BYTES_MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
