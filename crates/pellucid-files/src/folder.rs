//! Writing below a folder that another process may change at the same time.
//!
//! A path that was checked and is then used leads elsewhere if one of its folders is exchanged for a link in between.
//! So a folder is opened once and held; everything in it is reached by the handle and a name, which is one part of a
//! path, and a link of that name is never followed. If the folder is moved away, written files move with it: nothing
//! gets to a place that a swapped link leads to.
//!
//! Not here: which folders may be written in. On systems that are no Unix there are no such handles: there a folder
//! is a path that is looked at before each use.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use crate::FileIdentity;
use crate::FileKind;
use crate::FileStatus;
use crate::read::read_open;

#[cfg_attr(unix, path = "folder/unix.rs")]
#[cfg_attr(not(unix), path = "folder/other.rs")]
mod system;

/// As many names as are tried for something that is put aside.
const N_ASIDE_MAX: u32 = 10_000;

/// A folder that is held: whatever happens to its name, this is the same folder.
#[derive(Debug)]
pub struct Folder {
    handle: system::Handle,
}

impl Folder {
    /// Opens a folder at a given path. Links are followed; if an identity is given, the folder must be that one.
    ///
    /// # Errors
    /// When there is no such folder, and when it is another than the one that is expected.
    pub fn open(path: &Path, identity: Option<FileIdentity>) -> io::Result<Self> {
        let folder = Self { handle: system::Handle::open(path)? };
        folder.check(identity)?;
        Ok(folder)
    }

    /// Opens a folder somewhere below, never through a link and never outside of this one.
    ///
    /// # Errors
    /// When there is no such folder, and when the way there goes through a link.
    pub fn folder(&self, below: &Path) -> io::Result<Self> {
        Ok(Self { handle: self.handle.below(&plain(below)?)? })
    }

    /// The same, but folders that are missing are made.
    ///
    /// # Errors
    /// As [`Self::folder`], and when a folder cannot be made.
    pub fn make_folders(&self, below: &Path, mode: u32) -> io::Result<Self> {
        match self.folder(below) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => return result,
        }
        let mut folder = self.folder(Path::new(""))?;
        for part in plain(below)?.components() {
            let name = part.as_os_str();
            folder = match folder.folder(Path::new(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match folder.make_folder(name, mode) {
                        // Another process was quicker.
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                        result => result?,
                    }
                    folder.folder(Path::new(name))?
                }
                result => result?,
            };
        }
        Ok(folder)
    }

    /// The device and inode of this folder.
    ///
    /// # Errors
    /// As the system says.
    pub fn identity(&self) -> io::Result<FileIdentity> {
        self.handle.identity()
    }

    fn check(&self, identity: Option<FileIdentity>) -> io::Result<()> {
        match identity {
            Some(expected) if expected != self.identity()? => Err(io::Error::other("it is another folder than before")),
            _ => Ok(()),
        }
    }

    /// Makes one folder. `mode` is narrowed by the user's `umask`.
    ///
    /// # Errors
    /// As the system says, above all when there is something of this name.
    pub fn make_folder(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        self.handle.make_folder(checked(name)?, mode)
    }

    /// Makes a new file, to be written. `mode` is narrowed by the user's `umask`.
    ///
    /// # Errors
    /// As the system says, above all when there is something of this name, be it a link that leads nowhere.
    pub fn create(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        self.handle.create(checked(name)?, mode)
    }

    /// Opens a regular file to be read, without waiting for whatever it is instead.
    ///
    /// # Errors
    /// If there is no such file, or the entry is a link, a folder, a pipe or a device.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        self.open_regular(name, Access::Read)
    }

    /// The bytes of a regular file of at most `n_bytes_max` bytes.
    ///
    /// # Errors
    /// As [`Self::open_file`], and when it is longer.
    pub fn read(&self, name: &OsStr, n_bytes_max: u64) -> io::Result<Vec<u8>> {
        read_open(self.open_file(name)?, n_bytes_max)
    }

    /// Opens a regular file to be written where it is. Nothing in it is changed by that.
    ///
    /// # Errors
    /// As [`Self::open_file`].
    pub fn open_file_to_overwrite(&self, name: &OsStr) -> io::Result<File> {
        self.open_regular(name, Access::Write)
    }

    /// The name is checked before it is opened, because opening a device can have effects, and again afterwards,
    /// because it may have been exchanged in between.
    fn open_regular(&self, name: &OsStr, access: Access) -> io::Result<File> {
        check_regular(self.status(name)?.kind)?;
        let file = self.handle.open_file(checked(name)?, access)?;
        check_regular(FileStatus::of(&file)?.kind)?;
        Ok(file)
    }

    /// The status of the entry at a name. Links are not followed.
    ///
    /// # Errors
    /// As the system says, above all that there is nothing.
    pub fn status(&self, name: &OsStr) -> io::Result<FileStatus> {
        self.handle.status(checked(name)?)
    }

    /// Whether an existing file may be written, which replacing it does not check.
    ///
    /// # Errors
    /// When it may not.
    pub fn check_writable(&self, name: &OsStr) -> io::Result<()> {
        self.handle.check_writable(checked(name)?)
    }

    /// Renames an entry, over an existing one if that is not a folder.
    ///
    /// # Errors
    /// As the system says.
    pub fn rename(&self, name: &OsStr, into: &Self, new_name: &OsStr) -> io::Result<()> {
        self.handle.rename(checked(name)?, &into.handle, checked(new_name)?)
    }

    /// Renames something to a name that nothing has.
    ///
    /// # Errors
    /// As the system says, above all when there is something of this name.
    pub fn rename_to_free(&self, name: &OsStr, into: &Self, new_name: &OsStr) -> io::Result<()> {
        self.handle.rename_to_free(checked(name)?, &into.handle, checked(new_name)?)
    }

    /// Lets two things change places at one stroke.
    ///
    /// # Errors
    /// As the system says, above all where it cannot do that. Then nothing has happened.
    pub fn exchange(&self, name: &OsStr, other: &Self, other_name: &OsStr) -> io::Result<()> {
        self.handle.exchange(checked(name)?, &other.handle, checked(other_name)?)
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    /// As the system says.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        self.handle.remove_file(checked(name)?)
    }

    /// Removes a folder that has nothing in it.
    ///
    /// # Errors
    /// As the system says.
    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        self.handle.remove_folder(checked(name)?)
    }

    /// Sets the permissions of a regular file or a folder.
    ///
    /// # Errors
    /// As the system says, and when it is anything else.
    pub fn set_mode(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        match self.status(name)?.kind {
            FileKind::File | FileKind::Folder => self.handle.set_mode(checked(name)?, mode),
            FileKind::Link | FileKind::Other => Err(io::Error::other("it is neither a file nor a folder")),
        }
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// As the system says, above all when there is something of this name.
    pub fn make_link(&self, name: &OsStr, target: &Path) -> io::Result<()> {
        self.handle.make_link(checked(name)?, target)
    }

    /// The target of a symbolic link, as written.
    ///
    /// # Errors
    /// As the system says, above all when it is no link.
    pub fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        self.handle.read_link(checked(name)?)
    }

    /// Writes a file below this folder: a concurrent reader sees the old content or the whole new content. Missing
    /// folders are made; an existing file or link is replaced. `mode` is narrowed by the user's `umask`.
    ///
    /// # Errors
    /// When the way there goes through a link, and as the system says. Nothing is left behind.
    pub fn write(&self, below: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.write_in(below, bytes, mode, 0o777)
    }

    /// Writes a file that no other user may read; new folders are private too.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_private(&self, below: &Path, bytes: &[u8]) -> io::Result<()> {
        self.write_in(below, bytes, 0o600, 0o700)
    }

    fn write_in(&self, below: &Path, bytes: &[u8], mode: u32, folder_mode: u32) -> io::Result<()> {
        let name = below.file_name().ok_or_else(not_a_name)?;
        let folder = self.make_folders(below.parent().unwrap_or(Path::new("")), folder_mode)?;
        let (temporary, mut file) = folder.create_temporary(mode)?;
        let written = file.write_all(bytes).and_then(|()| folder.rename(&temporary, &folder, name));
        if written.is_err() {
            // A file that cannot be removed is left.
            let _ = folder.remove_file(&temporary);
        }
        written
    }

    /// Makes a file under a name that nothing has, and says which.
    ///
    /// # Errors
    /// As the system says.
    pub fn create_temporary(&self, mode: u32) -> io::Result<(OsString, File)> {
        loop {
            let name = temporary_name();
            match self.create(&name, mode) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => return result.map(|file| (name, file)),
            }
        }
    }

    /// Renames something to a name beside it that nothing has, and says which.
    ///
    /// # Errors
    /// As the system says.
    pub fn rename_to_temporary(&self, name: &OsStr) -> io::Result<OsString> {
        loop {
            let temporary = temporary_name();
            match self.rename_to_free(name, self, &temporary) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => return result.map(|()| temporary),
            }
        }
    }

    /// Moves a file, a link or a whole folder into another folder of the same file system, under its own name or one
    /// with a number behind it if that is taken, and says which.
    ///
    /// # Errors
    /// As the system says; `CrossesDevices` where the other folder is on another file system.
    pub fn put_aside(&self, name: &OsStr, into: &Self) -> io::Result<OsString> {
        for n in 0..N_ASIDE_MAX {
            let mut free = name.to_owned();
            if n > 0 {
                free.push(format!(".{n}"));
            }
            match self.rename_to_free(name, into, &free) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => return result.map(|()| free),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// The access for which a file is opened.
#[derive(Debug, Clone, Copy)]
enum Access {
    Read,
    Write,
}

/// A name that this process has not used yet. Processes in separate namespaces have the same ids, so the name may
/// still be taken.
fn temporary_name() -> OsString {
    static N_NAMES: AtomicU64 = AtomicU64::new(0);
    /// Asked once: the system has to be asked each time.
    static PROCESS: LazyLock<u32> = LazyLock::new(std::process::id);
    let n = N_NAMES.fetch_add(1, Ordering::Relaxed);
    format!(".pellucid-{}-{n}.tmp", *PROCESS).into()
}

/// Checks that a name is one part of a path and does not lead up.
fn checked(name: &OsStr) -> io::Result<&OsStr> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        // As long as the part: a slash behind it would make the system follow a link.
        (Some(Component::Normal(part)), None) if part.len() == name.len() => Ok(name),
        _ => Err(not_a_name()),
    }
}

fn not_a_name() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not the name of a file")
}

/// A path that only goes down.
fn plain(below: &Path) -> io::Result<PathBuf> {
    let mut plain = PathBuf::new();
    for part in below.components() {
        match part {
            Component::Normal(part) => plain.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it leads out of its folder"));
            }
        }
    }
    Ok(plain)
}

fn check_regular(kind: FileKind) -> io::Result<()> {
    match kind {
        FileKind::File => Ok(()),
        FileKind::Folder => Err(io::ErrorKind::IsADirectory.into()),
        FileKind::Link => Err(io::Error::other("it is a link")),
        FileKind::Other => Err(io::Error::other("it is not a regular file")),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
