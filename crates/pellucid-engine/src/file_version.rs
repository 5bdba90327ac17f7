//! A file at the time when it was read: its path, and the hash of all of its bytes.
//!
//! The path alone does not say which bytes the model was given, because the file may have changed since. So every
//! origin that names a file carries the hash too, and the record keeps it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::digest::Digest;

/// A path with the hash of the file. Clones share both.
#[derive(Clone, PartialEq, Eq)]
pub struct FileVersion(Arc<Version>);

#[derive(PartialEq, Eq)]
struct Version {
    path: Box<str>,
    sha256: Option<Digest>,
}

impl FileVersion {
    /// A file of which all bytes have this hash; absent where not all of them were read.
    pub fn new(path: &str, sha256: Option<Digest>) -> Self {
        Self(Arc::new(Version { path: path.into(), sha256 }))
    }

    /// A file with these bytes and no others.
    pub fn of(path: &str, bytes: &[u8]) -> Self {
        Self::new(path, Some(Digest::of([bytes])))
    }

    /// The hash of the whole file, where it is known. Files inside of the program have none.
    pub fn sha256(&self) -> Option<&Digest> {
        self.0.sha256.as_ref()
    }
}

impl Deref for FileVersion {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0.path
    }
}

/// A file whose hash is not known.
impl From<&str> for FileVersion {
    fn from(path: &str) -> Self {
        Self::new(path, None)
    }
}

impl Default for FileVersion {
    fn default() -> Self {
        Self::new("", None)
    }
}

impl fmt::Display for FileVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for FileVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sha256() {
            Some(sha256) => write!(f, "{:?} ({})", &**self, sha256.short()),
            None => write!(f, "{:?}", &**self),
        }
    }
}

#[cfg(test)]
mod tests;
