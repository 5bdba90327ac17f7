//! The files that verification reads: those on the disk, or a table.
//!
//! Not here: writing.

use std::collections::BTreeMap;
use std::fs;
use std::fs::Metadata;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use pellucid_files::FileIdentity;
use pellucid_files::FileStatus;

/// A source of files to verify a patch against.
pub trait PatchFiles {
    /// The content of a file. Links are followed.
    ///
    /// # Errors
    ///
    /// As the system says, and where there is no end to read to.
    fn read(&self, path: &Path) -> io::Result<StampedFile>;

    /// The file itself, to be read a piece at a time, if there is one. Links are followed.
    fn open(&self, path: &Path) -> Option<(fs::File, Stamp)> {
        let _ = path;
        None
    }

    /// The kind of the entry at this path. Links are followed.
    ///
    /// # Errors
    ///
    /// As the system says, above all that there is nothing.
    fn kind(&self, path: &Path) -> io::Result<PathKind>;

    /// Whether the entry can be removed as a file is: a file or a link, but not a folder.
    fn is_removable(&self, path: &Path) -> bool;
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// A regular file, or a link to one.
    File,
    /// A folder, which cannot be patched.
    Folder,
    /// A device, a pipe or a socket.
    Other,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StampedFile {
    /// The whole content of the file.
    pub bytes: Vec<u8>,
    /// A stamp that changes when the file does.
    pub stamp: Stamp,
}

/// The values that change with a file: its length, its time of change, and its identity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    n_bytes: u64,
    /// The device and inode, for a file on a disk.
    identity: Option<FileIdentity>,
    modified: Option<SystemTime>,
}

impl Stamp {
    pub(crate) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }
}

impl From<&FileStatus> for Stamp {
    fn from(status: &FileStatus) -> Self {
        Self { n_bytes: status.n_bytes, identity: Some(status.identity), modified: status.modified }
    }
}

/// The files on the disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl PatchFiles for Disk {
    fn read(&self, path: &Path) -> io::Result<StampedFile> {
        let (mut file, status) = pellucid_files::open_with_status(path).map_err(|error| match error.kind() {
            // The system's error for reading a folder; the number is the same on every Unix.
            io::ErrorKind::IsADirectory => io::Error::from_raw_os_error(21),
            _ => error,
        })?;
        let mut bytes = Vec::with_capacity(usize::try_from(status.n_bytes).unwrap_or_default() + 1);
        file.read_to_end(&mut bytes)?;
        Ok(StampedFile { bytes, stamp: Stamp::from(&status) })
    }

    fn open(&self, path: &Path) -> Option<(fs::File, Stamp)> {
        let (file, status) = pellucid_files::open_with_status(path).ok()?;
        Some((file, Stamp::from(&status)))
    }

    fn kind(&self, path: &Path) -> io::Result<PathKind> {
        fs::metadata(path).map(|metadata| kind_of(&metadata))
    }

    fn is_removable(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_dir())
    }
}

fn kind_of(metadata: &Metadata) -> PathKind {
    if metadata.is_file() {
        PathKind::File
    } else if metadata.is_dir() {
        PathKind::Folder
    } else {
        PathKind::Other
    }
}

/// A table of files, for tests and for looking at a patch without a disk. Folders are where files are.
#[derive(Debug, Clone, Default)]
pub struct FileTable {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl<P: Into<PathBuf>, B: Into<Vec<u8>>> FromIterator<(P, B)> for FileTable {
    fn from_iter<I: IntoIterator<Item = (P, B)>>(files: I) -> Self {
        Self { files: files.into_iter().map(|(path, bytes)| (path.into(), bytes.into())).collect() }
    }
}

impl PatchFiles for FileTable {
    fn read(&self, path: &Path) -> io::Result<StampedFile> {
        let bytes = self.files.get(path).ok_or(io::ErrorKind::NotFound)?.clone();
        let stamp = Stamp { n_bytes: bytes.len() as u64, ..Stamp::default() };
        Ok(StampedFile { bytes, stamp })
    }

    fn kind(&self, path: &Path) -> io::Result<PathKind> {
        if self.files.contains_key(path) {
            return Ok(PathKind::File);
        }
        let has_files = self.files.keys().any(|file| file.starts_with(path));
        if has_files { Ok(PathKind::Folder) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn is_removable(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }
}
