//! A whole patch in memory, against the files as they are.
//!
//! Hunks are applied one after the other to an in-memory state of the files, so that later hunks see the changes of
//! earlier ones; nothing is written. The result is the state of every touched path before and after. The reference's
//! tool looks at each hunk on its own and its program stops halfway through; here both ask this one function, and a
//! patch fits as a whole or not at all.
//!
//! Not here: who may write where (`writable`), and writing (`apply`).

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::fmt;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use crate::apply::PatchApplyError;
use crate::base::Base;
use crate::base::OnDisk;
use crate::base::WINDOW;
use crate::edit::Misfit;
use crate::edit::edit_parts;
use crate::files::PatchFiles;
use crate::files::PathKind;
use crate::files::Stamp;
use crate::parse::Hunk;
use crate::parse::Patch;
use crate::parse::PatchChunk;
use crate::text::PatchedText;
use crate::text::TextParts;
use crate::window;

/// The reader of the error when a patch does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A model, before anything is asked or run. Its errors have absolute paths, and deleted files must be text, so
    /// that they can be shown. Errors that only writing can find are reported by [`VerifiedPatch::apply`].
    Model,
    /// The user of the program. The errors have paths as written in the patch.
    Program,
}

/// Why a patch does not fit the files.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The line after `@@` was not found.
    #[error("Failed to find context '{context}' in {}", path.display())]
    Context {
        /// The line that was not found.
        context: String,
        /// The path of the file.
        path: PathBuf,
    },
    /// The old lines were not found.
    #[error("Failed to find expected lines in {}:\n{lines}", path.display())]
    Lines {
        /// The lines that were not found.
        lines: String,
        /// The path of the file.
        path: PathBuf,
    },
    /// A file to be changed cannot be read.
    #[error("Failed to read file to update {}: {source}", path.display())]
    Update {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file to be deleted cannot be read.
    #[error("Failed to read {}: {source}", path.display())]
    Delete {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Nothing is wrong with the text, but it could not be written.
    #[error(transparent)]
    Blocked(#[from] PatchApplyError),
}

/// A patch that fits.
///
/// Invariant: `entries` are absolute and lexically normal, and no two of them are the same path.
#[derive(Debug)]
pub struct VerifiedPatch {
    /// The folder that relative paths start at.
    pub(crate) cwd: PathBuf,
    pub(crate) entries: BTreeMap<PathBuf, Entry>,
    pub(crate) summary: PatchSummary,
    /// Folders that existed during verification.
    pub(crate) folders: HashSet<PathBuf>,
    /// The reason why it cannot be written, if the model gets that error later.
    pub(crate) blocked: Option<PatchApplyError>,
}

/// A path that a patch touches.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The path as written last.
    pub written: PathBuf,
    pub before: Before,
    pub now: Now,
}

/// The entry at a path before the patch.
#[derive(Debug)]
pub(crate) enum Before {
    Nothing,
    /// Nothing, and nothing may be there when the patch is applied.
    Free,
    /// Something that did not have to be read.
    Unread,
    Text {
        text: Base,
        stamp: Stamp,
    },
}

/// The entry at a path after the patch.
#[derive(Debug)]
pub(crate) enum Now {
    Nothing(Gone),
    Text { text: PatchedText, origin: Origin },
}

/// How a path came to be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    Deleted,
    Moved,
}

/// The origin of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The text is in the patch.
    Patch,
    /// At this path, which is elsewhere if it was moved.
    File(PathBuf),
}

/// The changes of a patch, for people and models. Paths are as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchSummary {
    /// Files that were written whole.
    pub added: Vec<String>,
    /// Files that were changed, by their new names.
    pub modified: Vec<String>,
    /// Files that were removed.
    pub deleted: Vec<String>,
}

impl fmt::Display for PatchSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Success. Updated the following files:")?;
        for (letter, paths) in [('A', &self.added), ('M', &self.modified), ('D', &self.deleted)] {
            for path in paths {
                writeln!(f, "{letter} {path}")?;
            }
        }
        Ok(())
    }
}

impl VerifiedPatch {
    /// Whether the patch had no hunks.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Every path it reads or writes, sources and targets of moves included.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.entries.keys().map(PathBuf::as_path)
    }

    /// A path of [`Self::paths`] as the patch writes it, made absolute and otherwise unchanged.
    pub fn written(&self, path: &Path) -> PathBuf {
        self.cwd.join(self.in_patch(path))
    }

    /// A path of [`Self::paths`] exactly as the patch writes it.
    pub fn in_patch<'a>(&'a self, path: &'a Path) -> &'a Path {
        self.entries.get(path).map_or(path, |entry| &entry.written)
    }

    /// Files that go elsewhere: from where, and to where. A file whose old path is taken by another in
    /// the same patch does not count; it is new where it is.
    pub fn moves(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.entries.iter().filter_map(|(path, entry)| {
            let Now::Text { origin: Origin::File(from), .. } = &entry.now else {
                return None;
            };
            let is_free = self.entries.get(from).is_some_and(|source| matches!(source.now, Now::Nothing(_)));
            is_free.then_some((from.as_path(), path.as_path()))
        })
    }

    /// The summary of the changes.
    pub fn summary(&self) -> &PatchSummary {
        &self.summary
    }
}

/// Does the patch in memory. Relative paths begin at `cwd`, which is absolute.
///
/// # Errors
///
/// The first hunk that does not fit; see [`VerifyError`].
pub fn verify(
    patch: &Patch<'_>,
    cwd: &Path,
    files: &impl PatchFiles,
    reader: Reader,
) -> Result<VerifiedPatch, VerifyError> {
    verify_with(patch, cwd, files, reader, Texts::Held)
}

/// What happens to texts that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Texts {
    /// The texts are held in memory, so that changes can be shown.
    Held,
    /// The texts are read again when the patch is written, so that memory stays small.
    OnDisk,
}

pub(crate) fn verify_with(
    patch: &Patch<'_>,
    cwd: &Path,
    files: &impl PatchFiles,
    reader: Reader,
    texts: Texts,
) -> Result<VerifiedPatch, VerifyError> {
    let mut after = FilesAfter {
        cwd,
        files,
        reader,
        texts,
        buffer: Vec::new(),
        folders: HashSet::new(),
        verified: VerifiedPatch {
            cwd: cwd.to_owned(),
            entries: BTreeMap::new(),
            summary: PatchSummary::default(),
            folders: HashSet::new(),
            blocked: None,
        },
    };
    for hunk in &patch.hunks {
        after.take(hunk)?;
    }
    Ok(after.verified)
}

/// The files as they would be after the hunks so far.
struct FilesAfter<'a, F> {
    cwd: &'a Path,
    files: &'a F,
    reader: Reader,
    texts: Texts,
    /// For files that are not held.
    buffer: Vec<u8>,
    /// Folders that exist, or will exist after the patch.
    folders: HashSet<PathBuf>,
    verified: VerifiedPatch,
}

impl<F: PatchFiles> FilesAfter<'_, F> {
    fn take(&mut self, hunk: &Hunk<'_>) -> Result<(), VerifyError> {
        match hunk {
            Hunk::Add { path, lines } => {
                let text: String = lines.iter().flat_map(|line| [*line, "\n"]).collect();
                self.write(path, text.into(), Origin::Patch)?;
                self.verified.summary.added.push((*path).to_owned());
            }
            Hunk::Delete { path } => {
                self.delete(path)?;
                self.verified.summary.deleted.push((*path).to_owned());
            }
            Hunk::Update { path, move_to, chunks } => {
                let (text, origin) = self.update(path, chunks)?;
                let target = move_to.unwrap_or(path);
                self.write(target, text, origin)?;
                if self.absolute(path) != self.absolute(target) {
                    self.set(path, Now::Nothing(Gone::Moved));
                }
                self.verified.summary.modified.push(target.to_owned());
            }
        }
        Ok(())
    }

    /// The text of a file after its chunks, and where it began.
    fn update(&mut self, written: &str, chunks: &[PatchChunk<'_>]) -> Result<(PatchedText, Origin), VerifyError> {
        let (path, shown) = (self.absolute(written), self.shown(written));
        if let Some(parts) = self.update_on_disk(written, &path, chunks) {
            let (base, parts) = parts.map_err(|misfit| misfit_error(misfit, shown))?;
            let origin = Origin::File(path.clone());
            let stamp = base.stamp;
            let n_bytes = usize::try_from(stamp.n_bytes()).unwrap_or_default();
            let base = Base::OnDisk(base);
            let before = Before::Text { text: base.clone(), stamp };
            let whole = PatchedText::new(base.clone(), TextParts::whole(n_bytes));
            let now = Now::Text { text: whole, origin: origin.clone() };
            let text = PatchedText::new(base, parts);
            self.verified.entries.insert(path, Entry { written: written.into(), before, now });
            return Ok((text, origin));
        }
        if let Err(source) = self.look(written) {
            return Err(VerifyError::Update { path: shown, source });
        }
        let (text, origin) = match self.verified.entries.get(&path) {
            Some(Entry { now: Now::Text { text, origin }, .. }) => (text.flat(), origin.clone()),
            _ => return Err(VerifyError::Update { path: shown, source: not_found() }),
        };
        let text = match text {
            Ok(text) => text,
            Err(source) => return Err(VerifyError::Update { path: shown, source }),
        };
        let parts = edit_parts(&text, chunks).map_err(|misfit| misfit_error(misfit, shown))?;
        Ok((PatchedText::new(Base::Held(text), parts), origin))
    }

    /// The same for a file that is not held in memory. `None` if that is not asked for, or if the file is unusual:
    /// the path that holds it in memory finds out what.
    fn update_on_disk(
        &mut self,
        written: &str,
        path: &Path,
        chunks: &[PatchChunk<'_>],
    ) -> Option<Result<(Arc<OnDisk>, TextParts), Misfit>> {
        let is_new = self.texts == Texts::OnDisk && !self.verified.entries.contains_key(path);
        if !is_new || self.is_below_a_new_file(written) {
            return None;
        }
        let (mut file, stamp) = self.files.open(path)?;
        let n_bytes = usize::try_from(stamp.n_bytes()).ok()?;
        let parts = if n_bytes <= WINDOW {
            self.buffer.resize(self.buffer.len().max(WINDOW), 0);
            let bytes = &mut self.buffer[..n_bytes];
            file.read_exact(bytes).ok()?;
            edit_parts(std::str::from_utf8(bytes).ok()?, chunks)
        } else {
            Ok(window::edit(&file, &mut self.buffer, chunks).ok()??)
        };
        let base = OnDisk { path: path.to_owned(), stamp };
        Some(parts.map(|parts| (Arc::new(base), parts)))
    }

    fn delete(&mut self, written: &str) -> Result<(), VerifyError> {
        let path = self.absolute(written);
        let failed = || PatchApplyError::Delete { path: written.into(), source: None };
        match self.reader {
            Reader::Model => {
                let path = self.shown(written);
                self.look(written).map_err(|source| VerifyError::Delete { path, source })?;
            }
            Reader::Program if self.is_below_a_new_file(written) => return Err(failed().into()),
            Reader::Program if !self.verified.entries.contains_key(&path) => {
                if !self.files.is_removable(&path) {
                    return Err(failed().into());
                }
                let (before, now) = (Before::Unread, Now::Nothing(Gone::Deleted));
                self.verified.entries.insert(path, Entry { written: written.into(), before, now });
                return Ok(());
            }
            Reader::Program => {}
        }
        if let Some(Entry { now: Now::Nothing(_), .. }) = self.verified.entries.get(&path) {
            match self.reader {
                Reader::Model => return Err(VerifyError::Delete { path: self.shown(written), source: not_found() }),
                Reader::Program => return Err(failed().into()),
            }
        }
        self.set(written, Now::Nothing(Gone::Deleted));
        Ok(())
    }

    /// Puts a text at a path, if it could be written there.
    fn write(&mut self, written: &str, text: PatchedText, origin: Origin) -> Result<(), VerifyError> {
        if let Err(error) = self.check_place(written) {
            match self.reader {
                Reader::Program => return Err(error.into()),
                Reader::Model => self.verified.blocked = self.verified.blocked.take().or(Some(error)),
            }
        }
        self.set(written, Now::Text { text, origin });
        Ok(())
    }

    /// Whether a file can be at this path: there is no folder, and what is above are folders.
    fn check_place(&mut self, written: &str) -> Result<(), PatchApplyError> {
        let path = self.absolute(written);
        let parents = || PatchApplyError::Parents { path: written.into(), source: None };
        let write = || PatchApplyError::Write { path: written.into(), source: None };
        if written.ends_with('/') {
            return Err(write());
        }
        let mut missing = Vec::new();
        for folder in path.ancestors().skip(1) {
            if self.folders.contains(folder) {
                break;
            }
            let now = self.verified.entries.get(folder).map(|entry| &entry.now);
            missing.push(folder.to_owned());
            match (now, self.files.kind(folder)) {
                (Some(Now::Text { .. }), _) => return Err(parents()),
                (_, Ok(PathKind::Folder)) => {
                    self.verified.folders.insert(folder.to_owned());
                    break;
                }
                (None, Ok(_)) => return Err(parents()),
                // Above something that is no folder, or in a folder that hides what it has.
                (Some(Now::Nothing(_)), Ok(_)) | (_, Err(_)) => {}
            }
        }
        self.folders.extend(missing);
        let is_known = self.verified.entries.contains_key(&path);
        let is_file = || matches!(self.files.kind(&path), Ok(PathKind::File) | Err(_));
        if self.folders.contains(&path) || !(is_known || is_file()) {
            return Err(write());
        }
        Ok(())
    }

    /// Reads a file into the state, if the state does not have it yet.
    fn look(&mut self, written: &str) -> io::Result<()> {
        let path = self.absolute(written);
        if self.is_below_a_new_file(written) {
            return Err(not_a_folder());
        }
        if self.verified.entries.contains_key(&path) {
            return Ok(());
        }
        let found = self.files.read(&path).map_err(|error| {
            // The disk still has a file on the path that the patch removes.
            let is_gone = error.kind() == io::ErrorKind::NotADirectory && self.is_below_a_gone_file(&path);
            if is_gone { not_found() } else { error }
        })?;
        let text = String::from_utf8(found.bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8"))?;
        let text = Arc::new(text);
        let before = Before::Text { text: Base::Held(Arc::clone(&text)), stamp: found.stamp };
        let now = Now::Text { text: PatchedText::whole(text), origin: Origin::File(path.clone()) };
        self.verified.entries.insert(path, Entry { written: written.into(), before, now });
        Ok(())
    }

    /// Whether the path goes through a file that the patch makes. A path through a file on the disk fails when it is
    /// read.
    fn is_below_a_new_file(&self, written: &str) -> bool {
        let path = self.absolute(written);
        let is_in_folder = || path.parent().is_some_and(|folder| self.folders.contains(folder));
        // Under a program's rules no file is written over a folder, so no path leads through a file.
        if self.reader == Reader::Program && !written.ends_with('/') && is_in_folder() {
            return false;
        }
        let n_own = usize::from(!written.ends_with('/'));
        let is_file =
            |path: &Path| matches!(self.verified.entries.get(path), Some(Entry { now: Now::Text { .. }, .. }));
        path.ancestors().skip(n_own).any(is_file)
    }

    fn is_below_a_gone_file(&self, path: &Path) -> bool {
        let is_gone = |path: &Path| matches!(self.verified.entries.get(path), Some(Entry { now: Now::Nothing(_), .. }));
        path.ancestors().skip(1).any(is_gone)
    }

    fn set(&mut self, written: &str, now: Now) {
        let path = self.absolute(written);
        let written = PathBuf::from(written);
        match self.verified.entries.get_mut(&path) {
            Some(entry) => {
                entry.written = written;
                entry.now = now;
            }
            None => {
                let before = if self.files.is_removable(&path) { Before::Unread } else { Before::Nothing };
                self.verified.entries.insert(path, Entry { written, before, now });
            }
        }
    }

    /// The path that is meant. `..` takes back what the path says before it, whatever that leads to.
    fn absolute(&self, written: &str) -> PathBuf {
        normal(&self.cwd.join(written))
    }

    /// The path as the reader sees it.
    fn shown(&self, written: &str) -> PathBuf {
        match self.reader {
            Reader::Model => self.cwd.join(written),
            Reader::Program => written.into(),
        }
    }
}

fn misfit_error(misfit: Misfit, path: PathBuf) -> VerifyError {
    match misfit {
        Misfit::Context(context) => VerifyError::Context { context, path },
        Misfit::Lines(lines) => VerifyError::Lines { lines, path },
    }
}

/// The system's error if the state were the disk; the numbers are the same on every Unix.
fn not_found() -> io::Error {
    io::Error::from_raw_os_error(2)
}

fn not_a_folder() -> io::Error {
    io::Error::from_raw_os_error(20)
}

/// A path without `.` and `..`. One that ends with a slash keeps it, so that it is no file.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = pellucid_files::normal(path);
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        normal.push("");
    }
    normal
}

#[cfg(test)]
mod tests;
