//! Folders that are held, so that what was looked at is what is used.
//!
//! A name can lead elsewhere between a look and a mount. A handle cannot.
//!
//! Not here: what is mounted.

use std::os::fd::AsRawFd;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::path::PathBuf;

use pellucid_files::FileIdentity;
use rustix::fs::CWD;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::fs::ResolveFlags;
use rustix::io::Errno;

use super::HelperError;
use super::Step;
use crate::sandbox::roots::RootChanged;
use crate::sandbox::roots::WritableFolder;

/// Opens a path of which no part is a link.
pub fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Before Linux 5.6. What matters is looked at afterwards.
        Err(Errno::NOSYS) => rustix::fs::open(path, flags, Mode::empty()),
        opened => opened,
    }
}

/// A writable root, if its path still leads to the folder that is meant.
pub(super) fn open_root(root: &WritableFolder) -> Result<OwnedFd, HelperError> {
    let changed = || HelperError::Root(RootChanged { name: root.path.clone(), now: None });
    let opened = match open(&root.path) {
        Ok(opened) => opened,
        Err(Errno::LOOP | Errno::NOENT | Errno::NOTDIR) => return Err(changed()),
        Err(error) => return Err(error).step(format!("opening {}", root.path.display())),
    };
    if identity(&opened)? == root.identity { Ok(opened) } else { Err(changed()) }
}

/// The device and inode of an open file.
pub(super) fn identity(handle: &OwnedFd) -> Result<FileIdentity, HelperError> {
    let stat = rustix::fs::fstat(handle).step("looking at a folder")?;
    Ok(identity_of(&stat))
}

/// The device and inode in a file's metadata.
#[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
pub fn identity_of(stat: &rustix::fs::Stat) -> FileIdentity {
    FileIdentity { device: stat.st_dev as u64, number: stat.st_ino as u64 }
}

/// A name for what a handle holds, for system calls that take names.
pub fn name(handle: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}
