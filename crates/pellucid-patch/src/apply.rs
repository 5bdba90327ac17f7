//! Writing a verified patch: all of it, or nothing.
//!
//! First everything is looked at that could stand in the way: who may write where, whether files are
//! still what was read, and every new text is written beside its place. Then files are put aside,
//! folders made and texts renamed into place; if one of these steps fails, the ones before it are
//! taken back. Only a machine that stops in between leaves half a patch, and even then each single
//! file is old or new.
//!
//! Not here: whether the patch fits (`verify`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use crate::base::Base;
use crate::files::Stamp;
use crate::replace::Content;
use crate::replace::Like;
use crate::replace::Staged;
use crate::replace::check_writable;
use crate::replace::overwrite;
use crate::replace::put_aside;
use crate::replace::put_back;
use crate::text::Text;
use crate::verify::Before;
use crate::verify::Entry;
use crate::verify::Gone;
use crate::verify::Now;
use crate::verify::Origin;
use crate::verify::Verified;
use crate::writable::Resolver;
use crate::writable::Writable;

/// Why a patch was not written. Nothing was changed, except where it says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The patch would write where it may not.
    #[error("{} is outside of what may be written{}", path.display(), leads_to(path, real))]
    Outside {
        /// The path, absolute.
        path: PathBuf,
        /// Where it leads.
        real: PathBuf,
    },
    /// Two paths of the patch are one file.
    #[error("{} and {} are the same file; change it under one name", one.display(), other.display())]
    SameFile {
        /// A name of it.
        one: PathBuf,
        /// Another.
        other: PathBuf,
    },
    /// A file is not what was read.
    #[error("{} was changed since the patch was verified; read it again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("Failed to write file {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why, if the system said it.
        source: Option<io::Error>,
    },
    /// A folder for a file cannot be made.
    #[error("Failed to create parent directories for {}", path.display())]
    Parents {
        /// The file.
        path: PathBuf,
        /// Why, if the system said it.
        source: Option<io::Error>,
    },
    /// A file cannot be deleted.
    #[error("Failed to delete file {}", path.display())]
    Delete {
        /// The file.
        path: PathBuf,
        /// Why, if the system said it.
        source: Option<io::Error>,
    },
    /// A moved file cannot be removed where it was.
    #[error("Failed to remove original {}", path.display())]
    RemoveOriginal {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something failed, and what was done before it could not be taken back.
    #[error("{cause}; could not restore {}", list(unrestored))]
    Torn {
        /// What failed first.
        cause: Box<ApplyError>,
        /// What is left changed.
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

impl Verified {
    /// Writes it.
    ///
    /// # Errors
    ///
    /// See [`ApplyError`]. Nothing is written outside of `writable`.
    pub fn apply(mut self, writable: &Writable) -> Result<(), ApplyError> {
        if let Some(blocked) = self.blocked.take() {
            return Err(blocked);
        }
        let steps = self.steps(writable)?;
        check_distinct(&steps)?;
        let mut removals = Vec::new();
        let mut writes = Vec::new();
        for step in &steps {
            match &step.entry.now {
                Now::Nothing(_) if matches!(step.entry.before, Before::Nothing) => {}
                Now::Nothing(gone) => {
                    check_unchanged(step, fs::metadata(step.path).ok().as_ref())?;
                    removals.push((step, *gone));
                }
                Now::Text { text, origin } => writes.push(Write::stage(step, text, origin)?),
            }
        }
        let mut journal = Journal::default();
        match journal.commit(removals, writes) {
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
    /// [`ApplyError::Outside`] for the first path that may not.
    pub fn check_writable(&self, writable: &Writable) -> Result<(), ApplyError> {
        self.steps(writable).map(drop)
    }

    /// What has to be done, at the places where links lead.
    fn steps(&self, writable: &Writable) -> Result<Vec<Step<'_>>, ApplyError> {
        let mut resolver = Resolver::default();
        let mut steps = Vec::with_capacity(self.entries.len());
        for (path, entry) in &self.entries {
            let resolved = match &entry.now {
                Now::Text { .. } => resolver.resolve_and_look(path),
                // What is removed is the link, not what it leads to.
                Now::Nothing(_) => resolver.resolve_last(path).map(|real| (real, None)),
            };
            let (real, metadata) = resolved.unwrap_or_else(|_| (path.clone(), None));
            if !writable.allows_resolved(path, &real, &mut resolver) {
                return Err(ApplyError::Outside { path: path.clone(), real });
            }
            steps.push(Step { path, real, metadata, entry });
        }
        Ok(steps)
    }
}

/// A path to be changed.
struct Step<'a> {
    path: &'a Path,
    /// Where it leads.
    real: PathBuf,
    /// What is there, if that is known.
    metadata: Option<Metadata>,
    entry: &'a Entry,
}

impl Step<'_> {
    fn write_error(&self, source: io::Error) -> ApplyError {
        ApplyError::Write { path: self.entry.written.clone(), source: Some(source) }
    }
}

/// The picture that was verified has a place for each path, so two paths must not be one place.
fn check_distinct(steps: &[Step<'_>]) -> Result<(), ApplyError> {
    let mut places = HashMap::with_capacity(steps.len());
    for step in steps {
        if let Some(other) = places.insert(step.real.as_path(), step.path) {
            return Err(ApplyError::SameFile { one: other.to_owned(), other: step.path.to_owned() });
        }
    }
    Ok(())
}

fn check_unchanged(step: &Step<'_>, metadata: Option<&Metadata>) -> Result<(), ApplyError> {
    match &step.entry.before {
        Before::Text { stamp, .. } if metadata.map(Stamp::of) != Some(*stamp) => {
            Err(ApplyError::Changed { path: step.entry.written.clone() })
        }
        _ => Ok(()),
    }
}

/// A text to be written, with everything ready that can be made ready without changing anything.
struct Write<'a> {
    step: &'a Step<'a>,
    text: Cow<'a, Text>,
    /// Where the text is already, if it could be written beside its place.
    staged: Option<Staged>,
    /// About the file that it replaces.
    old: Option<Metadata>,
    /// The file that was moved here, for its mode.
    moved: Option<Metadata>,
}

/// A file as it was, to be put back where nothing of it is left on the disk.
struct Old {
    bytes: OldBytes,
    metadata: Metadata,
}

enum OldBytes {
    /// They were read for the patch.
    Known(Arc<String>),
    /// They were read to be put back.
    Read(Vec<u8>),
}

impl Old {
    fn read(step: &Step<'_>, metadata: Metadata) -> Result<Self, ApplyError> {
        let bytes = match &step.entry.before {
            Before::Text { text: Base::Held(text), .. } => OldBytes::Known(Arc::clone(text)),
            _ => OldBytes::Read(fs::read(&step.real).map_err(|error| step.write_error(error))?),
        };
        Ok(Self { bytes, metadata })
    }

    fn content(&self) -> Content<'_> {
        match &self.bytes {
            OldBytes::Known(text) => Content::Bytes(text.as_bytes()),
            OldBytes::Read(bytes) => Content::Bytes(bytes),
        }
    }
}

impl<'a> Write<'a> {
    fn stage(step: &'a Step<'a>, text: &'a Text, origin: &Origin) -> Result<Self, ApplyError> {
        let real = &step.real;
        let mut write = Self { step, text: Cow::Borrowed(text), staged: None, old: None, moved: None };
        let metadata = step.metadata.clone().map_or_else(|| fs::metadata(real), Ok);
        check_unchanged(step, metadata.as_ref().ok())?;
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(error) if is_missing(&error) => {
                if let Origin::File(path) = origin {
                    write.moved = fs::metadata(path).ok();
                }
                if real.parent().is_some_and(Path::is_dir) {
                    write.staged = Some(write.stage_new()?);
                } else {
                    // What it is made of may be gone when there is a folder for it.
                    let text = text.flat().map_err(|error| step.write_error(error))?;
                    write.text = Cow::Owned(Text::whole(text));
                }
                return Ok(write);
            }
            Err(error) => return Err(step.write_error(error)),
        };
        if !metadata.is_file() {
            return Err(step.write_error(io::Error::other("it is no file")));
        }
        check_writable(real, &metadata).map_err(|error| step.write_error(error))?;
        match Staged::new(real, &Content::Text(text), Like::Replaced(&metadata)) {
            Ok(staged) => write.staged = Some(staged),
            // What has no room beside it may have none in its place, and what was there would be lost.
            Err(error) if is_full(&error) => return Err(step.write_error(error)),
            // Where nothing can be made beside it, the file itself may still be writable.
            Err(_) => {
                check_unchanged(step, fs::metadata(real).ok().as_ref())?;
                // What it is made of may be put aside before its turn, or be the file that is overwritten.
                let text = text.flat().map_err(|error| step.write_error(error))?;
                write.text = Cow::Owned(Text::whole(text));
            }
        }
        write.old = Some(metadata);
        Ok(write)
    }

    fn stage_new(&self) -> Result<Staged, ApplyError> {
        let like = self.moved.as_ref().map_or(Like::New, Like::Moved);
        Staged::new(&self.step.real, &Content::Text(&self.text), like).map_err(|error| self.step.write_error(error))
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

/// What was done, to be taken back from the end.
#[derive(Default)]
struct Journal {
    done: Vec<Done>,
}

enum Done {
    /// A file was put aside.
    Aside { path: PathBuf, aside: PathBuf },
    /// A folder was made.
    Folder(PathBuf),
    /// A file was made.
    New(PathBuf),
    /// A file was replaced, and is beside its place.
    Exchanged { path: PathBuf, aside: PathBuf },
    /// A file was replaced, or was about to be.
    Replaced { path: PathBuf, old: Old },
}

impl Journal {
    /// Removals come first: a file may have to make room for a folder of its name.
    fn commit(&mut self, removals: Vec<(&Step<'_>, Gone)>, writes: Vec<Write<'_>>) -> Result<(), ApplyError> {
        for (step, gone) in removals {
            self.put_aside(step, gone)?;
        }
        for write in writes {
            match write.old.clone() {
                Some(metadata) => self.replace(write, metadata)?,
                None => self.create(write)?,
            }
        }
        Ok(())
    }

    fn put_aside(&mut self, step: &Step<'_>, gone: Gone) -> Result<(), ApplyError> {
        let path = step.entry.written.clone();
        let aside = put_aside(&step.real).map_err(|source| match gone {
            Gone::Moved => ApplyError::RemoveOriginal { path, source },
            Gone::Deleted => ApplyError::Delete { path, source: Some(source) },
        })?;
        self.done.push(Done::Aside { path: step.real.clone(), aside });
        Ok(())
    }

    fn create(&mut self, mut write: Write<'_>) -> Result<(), ApplyError> {
        let step = write.step;
        let staged = match write.staged.take() {
            Some(staged) => staged,
            None => {
                self.make_folders(step)?;
                write.stage_new()?
            }
        };
        staged.commit().map_err(|(error, _)| step.write_error(error))?;
        self.done.push(Done::New(step.real.clone()));
        Ok(())
    }

    fn make_folders(&mut self, step: &Step<'_>) -> Result<(), ApplyError> {
        let missing: Vec<_> = step.real.ancestors().skip(1).take_while(|folder| !folder.is_dir()).collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder)
                .map_err(|source| ApplyError::Parents { path: step.entry.written.clone(), source: Some(source) })?;
            self.done.push(Done::Folder(folder.to_owned()));
        }
        Ok(())
    }

    fn replace(&mut self, write: Write<'_>, metadata: Metadata) -> Result<(), ApplyError> {
        let Write { step, text, staged, .. } = write;
        let path = step.real.clone();
        let staged = match staged.map(Staged::exchange) {
            Some(Ok(aside)) => {
                let found = fs::symlink_metadata(&aside).ok();
                self.done.push(Done::Exchanged { path, aside });
                // Now nobody can change it any more who does not have it open.
                let is_same = found.is_some_and(|found| Stamp::of(&found) == Stamp::of(&metadata));
                return if is_same { Ok(()) } else { Err(ApplyError::Changed { path: step.entry.written.clone() }) };
            }
            Some(Err(staged)) => Some(staged),
            None => None,
        };
        let old = Old::read(step, metadata)?;
        let bytes = match staged.map(Staged::commit) {
            Some(Ok(())) => {
                self.done.push(Done::Replaced { path, old });
                return Ok(());
            }
            Some(Err((_, staged))) => Some(staged.read().map_err(|error| step.write_error(error))?),
            None => None,
        };
        let content = bytes.as_deref().map_or(Content::Text(&text), Content::Bytes);
        // Recorded before it is overwritten, because that may stop halfway.
        self.done.push(Done::Replaced { path, old });
        overwrite(&step.real, &content).map_err(|error| step.write_error(error))
    }

    /// Everything went well: what was put aside is not needed any more.
    fn close(self) {
        for done in self.done {
            if let Done::Aside { aside, .. } | Done::Exchanged { aside, .. } = done {
                // It is out of the way already, so a leftover is no failure of the patch.
                let _ = fs::remove_file(aside);
            }
        }
    }

    fn take_back(self, cause: ApplyError) -> ApplyError {
        let mut unrestored = Vec::new();
        for done in self.done.into_iter().rev() {
            let (path, restored) = match done {
                Done::Aside { path, aside } => (path.clone(), fs::rename(aside, path)),
                Done::Exchanged { path, aside } => (path.clone(), put_back(&aside, &path)),
                Done::Folder(path) => (path.clone(), fs::remove_dir(path)),
                Done::New(path) => (path.clone(), fs::remove_file(path)),
                Done::Replaced { path, old } => {
                    let staged = Staged::new(&path, &old.content(), Like::Replaced(&old.metadata));
                    let restored = staged.and_then(|staged| staged.commit().map_err(|(error, _)| error));
                    let restored = restored.or_else(|_| overwrite(&path, &old.content()));
                    (path, restored)
                }
            };
            if restored.is_err() {
                unrestored.push(path);
            }
        }
        if unrestored.is_empty() { cause } else { ApplyError::Torn { cause: Box::new(cause), unrestored } }
    }
}

#[cfg(test)]
mod tests;
