//! Handles of folders as Unix has them.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::path::PathBuf;

use rustix::fs::AtFlags;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Access;
use crate::FileIdentity;
use crate::FileStatus;

#[derive(Debug)]
pub struct Handle {
    fd: OwnedFd,
}

/// Only to reach what is in it: whether it may be listed does not matter.
fn folder_flags() -> OFlags {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let access = OFlags::PATH;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let access = OFlags::RDONLY;
    access | OFlags::DIRECTORY | OFlags::CLOEXEC
}

impl Handle {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { fd: rustix::fs::open(path, folder_flags(), Mode::empty())? })
    }

    /// Linux can do it in one call. Where it is older, or a filter does not know the call, each part is a step.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn below(&self, path: &Path) -> io::Result<Self> {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let whole = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        match rustix::fs::openat2(&self.fd, whole, folder_flags(), Mode::empty(), resolve) {
            Ok(fd) => Ok(Self { fd }),
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => self.below_by_steps(path),
            Err(Errno::LOOP) => Err(through_a_link()),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub fn below(&self, path: &Path) -> io::Result<Self> {
        self.below_by_steps(path)
    }

    pub fn below_by_steps(&self, path: &Path) -> io::Result<Self> {
        let mut folder = Self { fd: rustix::fs::openat(&self.fd, ".", folder_flags(), Mode::empty())? };
        for part in path.components() {
            let name = part.as_os_str();
            let flags = folder_flags() | OFlags::NOFOLLOW;
            folder = match rustix::fs::openat(&folder.fd, name, flags, Mode::empty()) {
                Ok(fd) => Self { fd },
                Err(Errno::LOOP) => return Err(through_a_link()),
                Err(Errno::NOTDIR) if folder.status(name)?.kind == crate::FileKind::Link => {
                    return Err(through_a_link());
                }
                Err(error) => return Err(error.into()),
            };
        }
        Ok(folder)
    }

    pub fn identity(&self) -> io::Result<FileIdentity> {
        Ok(FileStatus::from(&rustix::fs::fstat(&self.fd)?).identity)
    }

    pub fn make_folder(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(mode as _))?)
    }

    pub fn create(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(mode as _))?))
    }

    pub fn open_file(&self, name: &OsStr, access: Access) -> io::Result<File> {
        let access = match access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::WRONLY,
        };
        let flags = access | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Ok(File::from(fd)),
            Err(Errno::LOOP) => Err(io::Error::other("it is a link")),
            Err(error) => Err(error.into()),
        }
    }

    pub fn status(&self, name: &OsStr) -> io::Result<FileStatus> {
        Ok(FileStatus::from(&rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Follows a link, which does no harm: another file is written at this name.
    pub fn check_writable(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::accessat(&self.fd, name, rustix::fs::Access::WRITE_OK, AtFlags::empty())?)
    }

    pub fn rename(&self, name: &OsStr, into: &Self, new_name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, name, &into.fd, new_name)?)
    }

    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    pub fn rename_to_free(&self, name: &OsStr, into: &Self, new_name: &OsStr) -> io::Result<()> {
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(&self.fd, name, &into.fd, new_name, flags) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.rename_if_free(name, into, new_name),
            result => Ok(result?),
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    pub fn rename_to_free(&self, name: &OsStr, into: &Self, new_name: &OsStr) -> io::Result<()> {
        self.rename_if_free(name, into, new_name)
    }

    /// Looks first, where the system cannot do both at once.
    fn rename_if_free(&self, name: &OsStr, into: &Self, new_name: &OsStr) -> io::Result<()> {
        match into.status(new_name) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => self.rename(name, into, new_name),
        }
    }

    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    pub fn exchange(&self, name: &OsStr, other: &Self, other_name: &OsStr) -> io::Result<()> {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        Ok(rustix::fs::renameat_with(&self.fd, name, &other.fd, other_name, flags)?)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    pub fn exchange(&self, _: &OsStr, _: &Self, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    pub fn set_mode(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        let mode = Mode::from_raw_mode(mode as _);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Ok(rustix::fs::fchmod(fd, mode)?),
            Err(Errno::ACCESS) => self.set_mode_of_unreadable(name, mode),
            Err(error) => Err(error.into()),
        }
    }

    /// An unreadable file can be held without being opened, but its mode can then only be set through a name of the
    /// handle.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn set_mode_of_unreadable(&self, name: &OsStr, mode: Mode) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty())?;
        if FileStatus::from(&rustix::fs::fstat(&fd)?).kind == crate::FileKind::Link {
            return Err(io::Error::other("it is a link"));
        }
        Ok(rustix::fs::chmod(format!("/proc/self/fd/{}", fd.as_raw_fd()), mode)?)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn set_mode_of_unreadable(&self, name: &OsStr, mode: Mode) -> io::Result<()> {
        Ok(rustix::fs::chmodat(&self.fd, name, mode, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    pub fn make_link(&self, name: &OsStr, target: &Path) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.fd, name)?)
    }

    pub fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.fd, name, Vec::new())?;
        Ok(std::ffi::OsString::from_vec(target.into_bytes()).into())
    }
}

fn through_a_link() -> io::Error {
    io::Error::other("a folder on the way there is a link")
}
