//! Writing a verified patch: all of it, or nothing.
//!
//! First everything is checked that could prevent the patch: where writing is allowed, whether files are still what
//! was read, and every new text is written beside its place. Then files are put aside, folders made and texts renamed
//! into place; if one of these steps fails, the ones before it are taken back. Only a machine that stops in between
//! leaves half a patch, and even then each single file is old or new. Every folder is held from the check until the
//! end (`place`).
//!
//! Not here: whether the patch fits (`verify`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use pellucid_files::FileKind;
use pellucid_files::FileStatus;

use crate::base::Base;
use crate::files::Stamp;
use crate::place::HeldFolders;
use crate::place::HeldName;
use crate::replace::Content;
use crate::replace::Like;
use crate::replace::Overwritten;
use crate::replace::Staged;
use crate::replace::open_to_overwrite;
use crate::replace::overwrite;
use crate::replace::put_aside;
use crate::replace::put_back;
use crate::replace::read;
use crate::text::PatchedText;
use crate::verify::Before;
use crate::verify::Entry;
use crate::verify::Gone;
use crate::verify::Now;
use crate::verify::Origin;
use crate::verify::VerifiedPatch;
use crate::writable::Limits;
use crate::writable::Resolver;
use crate::writable::Writable;
use crate::writable::follow;

/// Why a patch was not written. Nothing was changed, except where it says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatchApplyError {
    /// The patch would write where it may not.
    #[error("{} is outside of what may be written{}", path.display(), leads_to(path, real))]
    Outside {
        /// The absolute path of the file.
        path: PathBuf,
        /// The path with links followed.
        real: PathBuf,
    },
    /// Two paths of the patch are one file.
    #[error("{} and {} are the same file; change it under one name", one.display(), other.display())]
    SameFile {
        /// A name of it.
        one: PathBuf,
        /// The other path of the file.
        other: PathBuf,
    },
    /// A file is not what was read.
    #[error("{} was changed since the patch was verified; read it again", path.display())]
    Changed {
        /// The path of the file.
        path: PathBuf,
    },
    /// A folder was exchanged for a link, or moved, while the patch was applied.
    #[error("{} was moved or exchanged for something else while the patch was applied; look at it and try again", path.display())]
    Moved {
        /// The folder that moved.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("Failed to write file {}", path.display())]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system, if there is one.
        source: Option<io::Error>,
    },
    /// A folder for a file cannot be made.
    #[error("Failed to create parent directories for {}", path.display())]
    Parents {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system, if there is one.
        source: Option<io::Error>,
    },
    /// A file cannot be deleted.
    #[error("Failed to delete file {}", path.display())]
    Delete {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system, if there is one.
        source: Option<io::Error>,
    },
    /// A moved file cannot be removed where it was.
    #[error("Failed to remove original {}", path.display())]
    RemoveOriginal {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Something failed, and what was done before it could not be taken back.
    #[error("{cause}; could not restore {}", list(unrestored))]
    Torn {
        /// The failure that came first.
        cause: Box<PatchApplyError>,
        /// The paths that could not be restored.
        unrestored: Vec<PathBuf>,
    },
}

fn leads_to(path: &Path, real: &Path) -> String {
    if path == real { String::new() } else { format!(" (it leads to {})", real.display()) }
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

impl VerifiedPatch {
    /// Writes the verified patch to disk.
    ///
    /// # Errors
    ///
    /// See [`PatchApplyError`]. Nothing is written outside of `writable`, whatever happens to folders meanwhile.
    pub fn apply(mut self, writable: &Writable) -> Result<(), PatchApplyError> {
        if let Some(blocked) = self.blocked.take() {
            return Err(blocked);
        }
        let mut resolver = Resolver::default();
        let limits = Limits::new(writable, &mut resolver);
        let mut places = HeldFolders::new(&limits);
        let steps = self.steps(&limits, &mut resolver, &mut places)?;
        #[cfg(test)]
        tests::meanwhile("held");
        check_distinct(&steps)?;
        let mut removals = Vec::new();
        let mut writes = Vec::new();
        for step in &steps {
            match &step.entry.now {
                Now::Nothing(_) if matches!(step.entry.before, Before::Nothing) => {}
                Now::Nothing(gone) => {
                    check_unchanged(step, followed(step).as_ref())?;
                    removals.push((step, *gone));
                }
                Now::Text { text, origin } => writes.push(Write::stage(step, text, origin)?),
            }
        }
        let mut journal = Journal { done: Vec::new(), places, folders: &self.folders, is_limited: limits.is_limited() };
        #[cfg(test)]
        tests::meanwhile("staged");
        let written = journal.commit(removals, writes);
        #[cfg(test)]
        tests::meanwhile("written");
        match written.and_then(|()| journal.places.check()) {
            Ok(()) => {
                journal.close();
                Ok(())
            }
            Err(cause) => Err(journal.take_back(cause)),
        }
    }

    /// Whether all of it may be written.
    ///
    /// # Errors
    ///
    /// [`PatchApplyError::Outside`] for the first path that may not.
    pub fn check_writable(&self, writable: &Writable) -> Result<(), PatchApplyError> {
        let mut resolver = Resolver::default();
        let limits = Limits::new(writable, &mut resolver);
        for (path, entry) in &self.entries {
            check_allowed(&limits, path, target(&mut resolver, path, entry))?;
        }
        Ok(())
    }

    /// The paths that would be written now, with links followed, in the order of the patch's paths.
    pub fn targets(&self) -> Vec<PathBuf> {
        let mut resolver = Resolver::default();
        self.entries.iter().map(|(path, entry)| target(&mut resolver, path, entry)).collect()
    }

    /// The steps to do, at the places that links lead to.
    fn steps<'a>(
        &'a self,
        limits: &Limits<'_>,
        resolver: &mut Resolver,
        places: &mut HeldFolders<'_>,
    ) -> Result<Vec<Step<'a>>, PatchApplyError> {
        let mut steps = Vec::with_capacity(self.entries.len());
        for (path, entry) in &self.entries {
            let mut real = resolver.resolve_last(path).unwrap_or_else(|_| path.clone());
            let is_followed = matches!(entry.now, Now::Text { .. });
            if is_followed && !limits.allows(path, &real) {
                // Perhaps it is a link that leads in.
                real = follow(&real).unwrap_or(real);
            }
            real = check_allowed(limits, path, real)?;
            let mut step = Step::at(path, real, entry, places)?;
            if is_followed && step.status.is_some_and(|status| status.kind == FileKind::Link) {
                let real = follow(&step.real).map_err(|error| step.write_error(error))?;
                step = Step::at(path, check_allowed(limits, path, real)?, entry, places)?;
            }
            steps.push(step);
        }
        Ok(steps)
    }
}

/// The place that a path leads to. A deletion removes a link, not its target.
fn target(resolver: &mut Resolver, path: &Path, entry: &Entry) -> PathBuf {
    let real = match &entry.now {
        Now::Text { .. } => resolver.resolve(path),
        Now::Nothing(_) => resolver.resolve_last(path),
    };
    real.unwrap_or_else(|_| path.to_owned())
}

fn check_allowed(limits: &Limits<'_>, path: &Path, real: PathBuf) -> Result<PathBuf, PatchApplyError> {
    if limits.allows(path, &real) { Ok(real) } else { Err(PatchApplyError::Outside { path: path.to_owned(), real }) }
}

/// A path to be changed.
struct Step<'a> {
    path: &'a Path,
    /// The path with links followed.
    real: PathBuf,
    /// The same, held, if there is a folder for it.
    place: Option<HeldName>,
    /// The status of the existing entry, if there is one.
    status: Option<FileStatus>,
    entry: &'a Entry,
}

impl<'a> Step<'a> {
    fn at(
        path: &'a Path,
        real: PathBuf,
        entry: &'a Entry,
        places: &mut HeldFolders<'_>,
    ) -> Result<Self, PatchApplyError> {
        let mut step = Self { path, place: places.place(&real)?, real, status: None, entry };
        if let Some(place) = &step.place {
            step.status = place.status().map_err(|error| step.write_error(error))?;
        }
        Ok(step)
    }

    fn write_error(&self, source: io::Error) -> PatchApplyError {
        PatchApplyError::Write { path: self.entry.written.clone(), source: Some(source) }
    }

    fn changed(&self) -> PatchApplyError {
        PatchApplyError::Changed { path: self.entry.written.clone() }
    }
}

/// The verified state has one entry for each path, so two paths must not be the same file.
fn check_distinct(steps: &[Step<'_>]) -> Result<(), PatchApplyError> {
    let mut places = HashMap::with_capacity(steps.len());
    for step in steps {
        if let Some(other) = places.insert(step.real.as_path(), step.path) {
            return Err(PatchApplyError::SameFile { one: other.to_owned(), other: step.path.to_owned() });
        }
    }
    Ok(())
}

/// The entry that was read during verification: a file, or the target of a link.
fn followed(step: &Step<'_>) -> Option<FileStatus> {
    match step.status {
        Some(status) if status.kind == FileKind::Link => {
            fs::metadata(&step.real).ok().map(|found| FileStatus::from(&found))
        }
        status => status,
    }
}

fn check_unchanged(step: &Step<'_>, status: Option<&FileStatus>) -> Result<(), PatchApplyError> {
    match &step.entry.before {
        Before::Text { stamp, .. } if status.map(Stamp::from) != Some(*stamp) => Err(step.changed()),
        Before::Free if status.is_some() => Err(step.changed()),
        _ => Ok(()),
    }
}

/// A text to be written, with everything ready that can be made ready without changing anything.
struct Write<'a> {
    step: &'a Step<'a>,
    text: Cow<'a, PatchedText>,
    /// The temporary file with the text, if one could be written beside its place.
    staged: Option<Staged>,
    /// The file that it replaces.
    old: Option<(HeldName, FileStatus)>,
    /// The file that was moved here, for its mode.
    moved: Option<FileStatus>,
}

/// A file before the patch, to be restored if nothing of it is left on the disk.
struct Old {
    bytes: OldBytes,
    status: FileStatus,
}

enum OldBytes {
    /// The bytes were read for the patch.
    Known(Arc<String>),
    /// The bytes were read for a restore.
    Read(Vec<u8>),
}

impl Old {
    fn read(step: &Step<'_>, place: &HeldName, status: FileStatus) -> Result<Self, PatchApplyError> {
        let bytes = match &step.entry.before {
            Before::Text { text: Base::Held(text), .. } => OldBytes::Known(Arc::clone(text)),
            _ => OldBytes::Read(read(place).map_err(|error| step.write_error(error))?),
        };
        Ok(Self { bytes, status })
    }

    fn content(&self) -> Content<'_> {
        match &self.bytes {
            OldBytes::Known(text) => Content::Bytes(text.as_bytes()),
            OldBytes::Read(bytes) => Content::Bytes(bytes),
        }
    }
}

impl<'a> Write<'a> {
    fn stage(step: &'a Step<'a>, text: &'a PatchedText, origin: &Origin) -> Result<Self, PatchApplyError> {
        let mut write = Self { step, text: Cow::Borrowed(text), staged: None, old: None, moved: None };
        check_unchanged(step, step.status.as_ref())?;
        let failed = |error| step.write_error(error);
        let Some((place, status)) = step.place.as_ref().zip(step.status) else {
            if let Origin::File(path) = origin {
                write.moved = fs::metadata(path).ok().map(|found| FileStatus::from(&found));
            }
            match &step.place {
                Some(place) => write.staged = Some(write.stage_new(place)?),
                // The base of the text may be gone by the time its folder exists.
                None => write.text = Cow::Owned(PatchedText::whole(text.flat().map_err(failed)?)),
            }
            return Ok(write);
        };
        if status.kind != FileKind::File {
            return Err(failed(io::Error::other("it is no file")));
        }
        place.folder.folder().and_then(|folder| folder.check_writable(&place.name)).map_err(failed)?;
        match Staged::new(place, &Content::Text(text), Like::Replaced(&status)) {
            Ok(staged) => write.staged = Some(staged),
            // If there is no room beside the file, there may be none in its place, and the old content would be lost.
            Err(error) if is_full(&error) => return Err(failed(error)),
            // If no file can be made beside it, the file itself may still be writable.
            Err(_) => {
                check_unchanged(step, place.status().map_err(failed)?.as_ref())?;
                // The base of the text may be put aside before its turn, or be the file that is overwritten.
                write.text = Cow::Owned(PatchedText::whole(text.flat().map_err(failed)?));
            }
        }
        write.old = Some((place.clone(), status));
        Ok(write)
    }

    fn stage_new(&self, place: &HeldName) -> Result<Staged, PatchApplyError> {
        let like = self.moved.as_ref().map_or(Like::New, Like::Moved);
        Staged::new(place, &Content::Text(&self.text), like).map_err(|error| self.step.write_error(error))
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

/// The steps that were done, to be undone from the end.
struct Journal<'a> {
    done: Vec<Done>,
    places: HeldFolders<'a>,
    /// Folders that were there when the patch was verified.
    folders: &'a HashSet<PathBuf>,
    /// Whether not everything may be written.
    is_limited: bool,
}

enum Done {
    /// A file was put aside.
    Aside { place: HeldName, aside: HeldName },
    /// A folder was made.
    Folder(HeldName),
    /// A file was made.
    New(HeldName),
    /// A file was replaced, and is beside its place.
    Exchanged { place: HeldName, aside: HeldName },
    /// A file was replaced, or was about to be.
    Replaced { place: HeldName, old: Old },
}

impl Journal<'_> {
    /// Removals come first: a file may have to make room for a folder of its name.
    fn commit(&mut self, removals: Vec<(&Step<'_>, Gone)>, writes: Vec<Write<'_>>) -> Result<(), PatchApplyError> {
        for (step, gone) in removals {
            self.put_aside(step, gone)?;
        }
        for mut write in writes {
            match write.old.take() {
                Some((place, status)) => self.replace(write, place, status)?,
                None => self.create(write)?,
            }
        }
        Ok(())
    }

    fn put_aside(&mut self, step: &Step<'_>, gone: Gone) -> Result<(), PatchApplyError> {
        let failed = |source| {
            let path = step.entry.written.clone();
            match gone {
                Gone::Moved => PatchApplyError::RemoveOriginal { path, source },
                Gone::Deleted => PatchApplyError::Delete { path, source: Some(source) },
            }
        };
        let Some(place) = step.place.clone() else {
            return Err(failed(io::ErrorKind::NotFound.into()));
        };
        let aside = put_aside(&place).map_err(failed)?;
        let found = aside.status().ok().flatten();
        self.done.push(Done::Aside { place, aside });
        if found.as_ref().map(Stamp::from) == step.status.as_ref().map(Stamp::from) {
            Ok(())
        } else {
            Err(step.changed())
        }
    }

    fn create(&mut self, mut write: Write<'_>) -> Result<(), PatchApplyError> {
        let step = write.step;
        let place = match &step.place {
            Some(place) => place.clone(),
            None => self.make_folders(step)?,
        };
        let staged = match write.staged.take() {
            Some(staged) => staged,
            None => write.stage_new(&place)?,
        };
        staged.commit_new().map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => step.changed(),
            _ => step.write_error(error),
        })?;
        self.done.push(Done::New(place));
        Ok(())
    }

    fn make_folders(&mut self, step: &Step<'_>) -> Result<HeldName, PatchApplyError> {
        let failed = |source| PatchApplyError::Parents { path: step.entry.written.clone(), source };
        let name = step.real.file_name().ok_or_else(|| failed(None))?;
        let mut missing = Vec::new();
        let mut held = None;
        for folder in step.real.ancestors().skip(1) {
            held = self.places.hold(folder)?;
            if held.is_some() {
                break;
            }
            missing.extend(folder.file_name());
        }
        let mut folder = held.ok_or_else(|| failed(None))?;
        self.check_there(step.path)?;
        for name in missing.into_iter().rev() {
            let made = self.places.make(&folder, name).map_err(|source| failed(Some(source)))?;
            self.done.push(Done::Folder(HeldName { folder, name: name.to_owned() }));
            folder = made;
        }
        Ok(HeldName { folder, name: name.to_owned() })
    }

    /// Checks that a folder which existed still does; only folders that were missing are made.
    fn check_there(&self, path: &Path) -> Result<(), PatchApplyError> {
        let known = path.ancestors().skip(1).find(|folder| self.folders.contains(*folder));
        match known {
            Some(folder) if !folder.is_dir() => Err(PatchApplyError::Moved { path: folder.to_owned() }),
            _ => Ok(()),
        }
    }

    fn replace(&mut self, write: Write<'_>, place: HeldName, status: FileStatus) -> Result<(), PatchApplyError> {
        let Write { step, text, staged, .. } = write;
        let staged = match staged.map(Staged::exchange) {
            Some(Ok(aside)) => {
                let found = aside.status().ok().flatten();
                self.done.push(Done::Exchanged { place, aside });
                // From now on only processes that have the file open can change it.
                let is_same = found.is_some_and(|found| Stamp::from(&found) == Stamp::from(&status));
                return if is_same { Ok(()) } else { Err(step.changed()) };
            }
            Some(Err(staged)) => Some(staged),
            None => None,
        };
        let old = Old::read(step, &place, status)?;
        let bytes = match staged.map(Staged::commit) {
            Some(Ok(())) => {
                self.done.push(Done::Replaced { place, old });
                return Ok(());
            }
            Some(Err((_, staged))) => Some(staged.read().map_err(|error| step.write_error(error))?),
            None => None,
        };
        let content = bytes.as_deref().map_or(Content::Text(&text), Content::Bytes);
        let expected = Overwritten { identity: status.identity, is_limited: self.is_limited };
        let file = open_to_overwrite(&place, expected).map_err(|error| step.write_error(error))?;
        // Recorded before it is overwritten, because that may stop halfway.
        self.done.push(Done::Replaced { place, old });
        overwrite(file, &content).map_err(|error| step.write_error(error))
    }

    /// Everything went well: what was put aside is not needed any more.
    fn close(self) {
        for done in self.done {
            if let Done::Aside { aside, .. } | Done::Exchanged { aside, .. } = done {
                // The old file is out of the way already, so a leftover is no failure of the patch.
                let _ = aside.folder.folder().and_then(|folder| folder.remove_file(&aside.name));
            }
        }
    }

    fn take_back(self, cause: PatchApplyError) -> PatchApplyError {
        let mut unrestored = Vec::new();
        for done in self.done.into_iter().rev() {
            let restored = done.take_back();
            if restored.is_err() {
                unrestored.push(done.path());
            }
        }
        if unrestored.is_empty() { cause } else { PatchApplyError::Torn { cause: Box::new(cause), unrestored } }
    }
}

impl Done {
    fn take_back(&self) -> io::Result<()> {
        match self {
            Self::Aside { place, aside } => {
                let folder = place.folder.folder()?;
                folder.rename(&aside.name, &folder, &place.name)
            }
            Self::Exchanged { place, aside } => put_back(aside, place),
            Self::Folder(place) => place.folder.folder()?.remove_folder(&place.name),
            Self::New(place) => place.folder.folder()?.remove_file(&place.name),
            Self::Replaced { place, old } => {
                let staged = Staged::new(place, &old.content(), Like::Replaced(&old.status));
                let restored = staged.and_then(|staged| staged.commit().map_err(|(error, _)| error));
                // The file has no other names, or they may be written too: it was overwritten before.
                let expected = Overwritten { identity: old.status.identity, is_limited: false };
                restored.or_else(|_| overwrite(open_to_overwrite(place, expected)?, &old.content()))
            }
        }
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Aside { place, .. }
            | Self::Exchanged { place, .. }
            | Self::Replaced { place, .. }
            | Self::Folder(place)
            | Self::New(place) => place.path(),
        }
    }
}

#[cfg(test)]
mod tests;
