//! One file replaced at a time: written beside its place, then renamed into it.
//!
//! Whoever reads the file meanwhile sees the old text or the new, never half of one. Mode and owner are
//! kept; a second name of the same file (a hard link) keeps the old text. Where the system can, the two
//! change places at one stroke, and what was there stays beside until it is not needed any more. Where no
//! file can be made beside it, or it cannot be renamed into place, a file is overwritten where it is.
//!
//! Not here: several files (`apply`).

use std::fs;
use std::fs::File;
use std::fs::Metadata;
use std::fs::OpenOptions;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use crate::text::Text;

/// Tells the names of one process apart.
static N_NAMES: AtomicU64 = AtomicU64::new(0);
/// Asked once: the system has to be asked each time.
static PROCESS: LazyLock<u32> = LazyLock::new(std::process::id);

/// What is written.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    Text(&'a Text),
    Bytes(&'a [u8]),
}

impl Content<'_> {
    fn write_to(&self, file: &mut File) -> io::Result<()> {
        match self {
            Self::Text(text) => text.write_to(file),
            Self::Bytes(bytes) => file.write_all(bytes),
        }
    }
}

/// What a new file resembles.
#[derive(Debug, Clone, Copy)]
pub enum Like<'a> {
    /// Any new file.
    New,
    /// The file that was moved: its mode.
    Moved(&'a Metadata),
    /// The file that it replaces: its mode and its owner.
    Replaced(&'a Metadata),
}

/// A new text of a file that is not at its place yet. It is removed again if it never gets there.
#[derive(Debug)]
pub struct Staged {
    target: PathBuf,
    /// Where the text lies, if there is a file for it.
    temporary: Option<PathBuf>,
}

impl Staged {
    /// Writes a text beside `target`.
    pub fn new(target: &Path, content: &Content<'_>, like: Like<'_>) -> io::Result<Self> {
        let folder = target.parent().unwrap_or(Path::new("/"));
        let mut staged = Self { target: target.to_owned(), temporary: None };
        let (path, mut file) = create_beside(folder, like)?;
        staged.temporary = Some(path);
        content.write_to(&mut file)?;
        resemble(&file, like)?;
        Ok(staged)
    }

    /// Changes places with the file at its place, and says where that one is now. Where the system cannot
    /// do that, nothing has happened.
    pub fn exchange(mut self) -> Result<PathBuf, Self> {
        match self.temporary.take() {
            Some(temporary) if exchange(&temporary, &self.target).is_ok() => Ok(temporary),
            temporary => {
                self.temporary = temporary;
                Err(self)
            }
        }
    }

    /// Renames it into its place. One that does not get there is still beside it.
    pub fn commit(mut self) -> Result<(), (io::Error, Self)> {
        let Some(temporary) = self.temporary.take() else {
            return Ok(());
        };
        fs::rename(&temporary, &self.target).map_err(|error| {
            self.temporary = Some(temporary);
            (error, self)
        })
    }

    /// What lies beside its place.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        self.temporary.as_ref().map_or_else(|| Err(io::ErrorKind::NotFound.into()), fs::read)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nothing else can be done about a file that does not go.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Puts back what changed places, whatever it is.
pub fn put_back(aside: &Path, path: &Path) -> io::Result<()> {
    exchange(aside, path)?;
    fs::remove_file(aside)
}

#[cfg(test)]
thread_local! {
    /// Whether this thread's files can change places.
    pub static HAS_EXCHANGE: std::cell::Cell<bool> = const { std::cell::Cell::new(true) };
}

/// A rename over another file makes some file systems write the new text to the disk at once, because
/// many programs count on that; an exchange does not.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::CWD;
    use rustix::fs::RenameFlags;

    #[cfg(test)]
    if !HAS_EXCHANGE.get() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Renames a file to a name beside it that nobody has, and says which.
pub fn put_aside(path: &Path) -> io::Result<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    loop {
        let aside = temporary_name(folder);
        match rename_to_free(path, &aside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result.map(|()| aside),
        }
    }
}

/// Processes in namespaces of their own have the same numbers, and so the same names: what another has made in the
/// meantime must not be replaced.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(crate) fn rename_to_free(path: &Path, free: &Path) -> io::Result<()> {
    use rustix::fs::CWD;
    use rustix::fs::RenameFlags;
    use rustix::io::Errno;

    match rustix::fs::renameat_with(CWD, path, CWD, free, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => rename_if_free(path, free),
        result => Ok(result?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(crate) fn rename_to_free(path: &Path, free: &Path) -> io::Result<()> {
    rename_if_free(path, free)
}

/// Looks first, where the system cannot do both at once.
fn rename_if_free(path: &Path, free: &Path) -> io::Result<()> {
    if fs::symlink_metadata(free).is_ok() { Err(io::ErrorKind::AlreadyExists.into()) } else { fs::rename(path, free) }
}

pub(crate) fn create_beside(folder: &Path, like: Like<'_>) -> io::Result<(PathBuf, File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    restrict(&mut options, like);
    loop {
        let path = temporary_name(folder);
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => return Ok((path, file)),
        }
    }
}

fn temporary_name(folder: &Path) -> PathBuf {
    let n = N_NAMES.fetch_add(1, Ordering::Relaxed);
    folder.join(format!(".pellucid-{}-{n}.tmp", *PROCESS))
}

/// Overwrites a file where it is.
pub fn overwrite(path: &Path, content: &Content<'_>) -> io::Result<()> {
    content.write_to(&mut OpenOptions::new().write(true).truncate(true).open(path)?)
}

/// Whoever may not read the file that it resembles may not read what is being written either.
#[cfg(unix)]
fn restrict(options: &mut OpenOptions, like: Like<'_>) {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::fs::OpenOptionsExt;

    if let Like::Moved(other) | Like::Replaced(other) = like {
        // What a group may do is meant for the group of that file alone.
        let is_ours = other.gid() == rustix::process::getegid().as_raw();
        options.mode(other.mode() & if is_ours { 0o777 } else { 0o707 });
    }
}

#[cfg(not(unix))]
fn restrict(_: &mut OpenOptions, _: Like<'_>) {}

#[cfg(unix)]
fn resemble(file: &File, like: Like<'_>) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;

    let other = match like {
        Like::New => return Ok(()),
        Like::Moved(other) | Like::Replaced(other) => other,
    };
    let own = file.metadata()?;
    let is_mine = (own.uid(), own.gid()) == (other.uid(), other.gid());
    if !is_mine && matches!(like, Like::Replaced(_)) {
        std::os::unix::fs::fchown(file, Some(other.uid()), Some(other.gid()))?;
    }
    if own.mode() != other.mode() {
        file.set_permissions(other.permissions())?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn resemble(file: &File, like: Like<'_>) -> io::Result<()> {
    match like {
        Like::New => Ok(()),
        Like::Moved(other) | Like::Replaced(other) => file.set_permissions(other.permissions()),
    }
}

/// Whether a file that is there may be written to: replacing it would not ask.
#[cfg(unix)]
pub fn check_writable(path: &Path, _: &Metadata) -> io::Result<()> {
    Ok(rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?)
}

#[cfg(not(unix))]
pub fn check_writable(_: &Path, metadata: &Metadata) -> io::Result<()> {
    if metadata.permissions().readonly() { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}
