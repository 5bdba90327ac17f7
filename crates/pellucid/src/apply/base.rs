//! Files that patches are done on in memory: those of a commit, or those that are here.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_agent::patches::Applied;
use pellucid_git::apply::Committed;
use pellucid_git::apply::DiffRoot;
use pellucid_patch::Patch;
use pellucid_patch::Reader;
use pellucid_patch::diff::FileMode;
use pellucid_patch::diff::FileSnapshot;
use pellucid_patch::files::PatchFiles;
use pellucid_patch::files::PathKind;
use pellucid_patch::files::Stamp;
use pellucid_patch::files::StampedFile;
use pellucid_patch::parse;
use pellucid_patch::parse::Hunk;
use pellucid_patch::verify;

use super::Places;
use super::turns;

/// Files that change in memory alone.
pub trait Tree: PatchFiles {
    /// The content and mode of the file at a path.
    fn snapshot(&self, path: &Path) -> Option<FileSnapshot>;

    /// Puts a text at a path, or nothing.
    fn put(&mut self, path: PathBuf, text: Option<String>);

    /// Gives a file that was put a mode.
    fn set_mode(&mut self, path: &Path, mode: FileMode);

    /// Whether something is at a path.
    fn has(&self, path: &Path) -> bool {
        self.snapshot(path).is_some()
    }
}

/// Does patches one after the other.
///
/// # Errors
/// Says which one does not fit, and why.
pub fn change(tree: &mut impl Tree, patches: &[Applied], places: &Places) -> Result<(), String> {
    for (n, patch) in patches.iter().enumerate() {
        let wrong = |error: &dyn std::fmt::Display| {
            let error = error.to_string();
            format!("patch {} of {} does not fit here: {}", n + 1, patches.len(), error.trim_end())
        };
        let parsed = parse(&patch.text).map_err(|error| wrong(&error))?;
        let names = names(&parsed, patch, places).ok_or_else(|| places.outside(patches))?;
        let parsed = renamed(parsed, &names);
        let verified = verify(&parsed, &places.to, tree, Reader::Model).map_err(|error| wrong(&error))?;
        // A file that is moved keeps its mode, unless it takes the place of another.
        let moved: Vec<_> = verified.moves().filter(|(_, to)| !tree.has(to)).collect();
        let modes: Vec<_> = moved.iter().filter_map(|(from, to)| Some((*to, tree.snapshot(from)?.mode))).collect();
        for (path, text) in verified.texts() {
            tree.put(path, text);
        }
        for (path, mode) in modes {
            tree.set_mode(path, mode);
        }
    }
    Ok(())
}

/// The paths of each hunk, relative to this repository. Absent if one is outside of it.
fn names(patch: &Patch<'_>, applied: &Applied, places: &Places) -> Option<Vec<(String, Option<String>)>> {
    let here = |path: &str| places.here(&applied.cwd, path)?.to_str().map(str::to_owned);
    let both = |hunk: &Hunk<'_>| {
        let (path, target) = turns::written(hunk);
        Some((here(path)?, target.map(|target| here(target).ok_or(())).transpose().ok()?))
    };
    patch.hunks.iter().map(both).collect()
}

/// The same patch with other names.
fn renamed<'a>(patch: Patch<'a>, names: &'a [(String, Option<String>)]) -> Patch<'a> {
    let renamed = |(hunk, (path, target)): (Hunk<'a>, &'a (String, Option<String>))| match hunk {
        Hunk::Add { lines, .. } => Hunk::Add { path, lines },
        Hunk::Delete { .. } => Hunk::Delete { path },
        Hunk::Update { chunks, .. } => Hunk::Update { path, move_to: target.as_deref(), chunks },
    };
    Patch { hunks: patch.hunks.into_iter().zip(names).map(renamed).collect() }
}

/// Files that the patches changed so far, with their text; `None` for a deleted file.
type Changed = BTreeMap<PathBuf, Option<String>>;

fn found(text: &Option<String>) -> io::Result<StampedFile> {
    let text = text.as_ref().ok_or(io::ErrorKind::NotFound)?;
    Ok(StampedFile { bytes: text.clone().into_bytes(), stamp: Stamp::default() })
}

/// The files that are here.
#[derive(Debug)]
pub struct LocalFiles {
    root: PathBuf,
    changed: Changed,
    /// The modes of files that the patches moved.
    modes: BTreeMap<PathBuf, FileMode>,
}

impl LocalFiles {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), changed: Changed::new(), modes: BTreeMap::new() }
    }
}

impl PatchFiles for LocalFiles {
    fn read(&self, path: &Path) -> io::Result<StampedFile> {
        match self.changed.get(path) {
            Some(text) => found(text),
            None => pellucid_patch::files::Disk.read(path),
        }
    }

    fn kind(&self, path: &Path) -> io::Result<PathKind> {
        match self.changed.get(path) {
            Some(Some(_)) => Ok(PathKind::File),
            Some(None) => Err(io::ErrorKind::NotFound.into()),
            None if path == self.root => Ok(PathKind::Folder),
            None => pellucid_patch::files::Disk.kind(path),
        }
    }

    fn is_removable(&self, path: &Path) -> bool {
        self.changed.get(path).map_or_else(|| pellucid_patch::files::Disk.is_removable(path), Option::is_some)
    }
}

impl Tree for LocalFiles {
    fn snapshot(&self, path: &Path) -> Option<FileSnapshot> {
        let on_disk = FileSnapshot::read(path);
        match self.changed.get(path) {
            Some(text) => {
                let mode = self.modes.get(path).copied().or(on_disk.map(|snapshot| snapshot.mode));
                let mode = mode.unwrap_or(FileMode::Regular);
                text.as_ref().map(|text| FileSnapshot { bytes: text.clone().into_bytes(), mode })
            }
            None => on_disk,
        }
    }

    fn put(&mut self, path: PathBuf, text: Option<String>) {
        self.changed.insert(path, text);
    }

    fn set_mode(&mut self, path: &Path, mode: FileMode) {
        self.modes.insert(path.to_owned(), mode);
    }
}

/// The files of a commit, as far as they are asked for.
#[derive(Debug)]
pub struct AtCommit {
    root: PathBuf,
    files: BTreeMap<PathBuf, FileSnapshot>,
}

impl AtCommit {
    /// Reads these files. Absent if there is no such commit here, or something of it cannot be read.
    pub fn read(place: &DiffRoot<'_>, commit: &str, paths: &BTreeSet<PathBuf>) -> Option<Self> {
        let root = place.root().to_owned();
        let below: BTreeSet<PathBuf> =
            paths.iter().filter_map(|path| path.strip_prefix(&root).map(Path::to_owned).ok()).collect();
        let snapshot = |file: Committed| {
            let mode = if file.is_program { FileMode::Executable } else { FileMode::Regular };
            FileSnapshot { bytes: file.bytes, mode }
        };
        let files = place.committed(commit, &below)?;
        let files = files.into_iter().map(|(path, file)| (root.join(path), snapshot(file))).collect();
        Some(Self { root, files })
    }
}

impl PatchFiles for AtCommit {
    fn read(&self, path: &Path) -> io::Result<StampedFile> {
        let file = self.files.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(StampedFile { bytes: file.bytes.clone(), stamp: Stamp::default() })
    }

    fn kind(&self, path: &Path) -> io::Result<PathKind> {
        if self.files.contains_key(path) {
            Ok(PathKind::File)
        } else if self.root.starts_with(path) {
            Ok(PathKind::Folder)
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    fn is_removable(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }
}

impl Tree for AtCommit {
    fn snapshot(&self, path: &Path) -> Option<FileSnapshot> {
        self.files.get(path).cloned()
    }

    fn put(&mut self, path: PathBuf, text: Option<String>) {
        let mode = self.files.get(&path).map_or(FileMode::Regular, |file| file.mode);
        match text {
            Some(text) => self.files.insert(path, FileSnapshot { bytes: text.into_bytes(), mode }),
            None => self.files.remove(&path),
        };
    }

    fn set_mode(&mut self, path: &Path, mode: FileMode) {
        if let Some(file) = self.files.get_mut(path) {
            file.mode = mode;
        }
    }
}
