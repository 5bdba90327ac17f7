//! The metadata of a file or folder, without opening it.

use std::fs::Metadata;
use std::io;
use std::time::SystemTime;

use crate::FileIdentity;

/// The kind of the entry at a name. Links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// The entry is a regular file.
    File,
    /// A folder, whatever is in it.
    Folder,
    /// The entry is a symbolic link.
    Link,
    /// A device, a pipe or a socket.
    Other,
}

/// The metadata of a file, a folder or a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStatus {
    /// The kind of the entry.
    pub kind: FileKind,
    /// The device and inode.
    pub identity: FileIdentity,
    /// The number of bytes of the file.
    pub n_bytes: u64,
    /// When it was written last, where the system knows.
    pub modified: Option<SystemTime>,
    /// The permissions, the sticky and set-id bits included; on Windows only whether it may be written.
    pub mode: u32,
    /// The user that it belongs to.
    pub owner: u32,
    /// The group that it belongs to.
    pub group: u32,
    /// How many names it has: more than one if there are hard links.
    pub n_names: u64,
}

impl FileStatus {
    /// Of an open file.
    ///
    /// # Errors
    /// As the system says.
    pub fn of(file: &std::fs::File) -> io::Result<Self> {
        file.metadata().map(|metadata| Self::from(&metadata))
    }
}

impl From<&Metadata> for FileStatus {
    fn from(metadata: &Metadata) -> Self {
        let kind = if metadata.is_file() {
            FileKind::File
        } else if metadata.is_dir() {
            FileKind::Folder
        } else if metadata.is_symlink() {
            FileKind::Link
        } else {
            FileKind::Other
        };
        let (mode, owner, group, n_names) = rights(metadata);
        Self {
            kind,
            identity: FileIdentity::from(metadata),
            n_bytes: metadata.len(),
            modified: metadata.modified().ok(),
            mode,
            owner,
            group,
            n_names,
        }
    }
}

#[cfg(unix)]
fn rights(metadata: &Metadata) -> (u32, u32, u32, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.mode() & 0o7777, metadata.uid(), metadata.gid(), metadata.nlink())
}

#[cfg(not(unix))]
fn rights(metadata: &Metadata) -> (u32, u32, u32, u64) {
    (if metadata.permissions().readonly() { 0o444 } else { 0o666 }, 0, 0, 1)
}

#[cfg(unix)]
impl From<&rustix::fs::Stat> for FileStatus {
    // The widths of these fields are not the same on every system.
    #[allow(clippy::unnecessary_cast)]
    fn from(stat: &rustix::fs::Stat) -> Self {
        use rustix::fs::FileType;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Folder,
            FileType::Symlink => FileKind::Link,
            _ => FileKind::Other,
        };
        Self {
            kind,
            identity: FileIdentity { device: stat.st_dev as u64, number: stat.st_ino as u64 },
            n_bytes: stat.st_size as u64,
            modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as u64),
            mode: stat.st_mode as u32 & 0o7777,
            owner: stat.st_uid,
            group: stat.st_gid,
            n_names: stat.st_nlink as u64,
        }
    }
}

#[cfg(unix)]
fn time(seconds: i64, nanoseconds: u64) -> Option<SystemTime> {
    use std::time::Duration;
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let epoch = SystemTime::UNIX_EPOCH;
    let time = if seconds < 0 { epoch.checked_sub(whole) } else { epoch.checked_add(whole) };
    time?.checked_add(Duration::from_nanos(nanoseconds))
}
