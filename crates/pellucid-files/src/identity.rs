//! The identity of a file or folder, whatever its name leads to later.

use std::fs::Metadata;
use std::io;
use std::path::Path;

/// The device and the number there. No two files that exist at the same time share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileIdentity {
    /// The number of the file system.
    pub device: u64,
    /// The number in it.
    pub number: u64,
}

impl FileIdentity {
    /// The identity of the file at a path. Links are followed.
    ///
    /// # Errors
    /// As the system says, above all that there is nothing.
    pub fn of(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|metadata| Self::from(&metadata))
    }
}

#[cfg(unix)]
impl From<&Metadata> for FileIdentity {
    fn from(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: metadata.dev(), number: metadata.ino() }
    }
}

#[cfg(not(unix))]
impl From<&Metadata> for FileIdentity {
    fn from(_: &Metadata) -> Self {
        Self { device: 0, number: 0 }
    }
}
