//! The path of an open file, whatever the name that led to it leads to by now.

use std::fs::File;
use std::fs::Metadata;
use std::io;
use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;

use crate::FileIdentity;
use crate::read::check_regular;
use crate::read::open_no_link;
use crate::read::open_with_metadata;
use crate::read::too_long;

/// A regular file that is open, and its path without links.
#[derive(Debug)]
pub struct LocatedFile {
    /// The file, opened for reading.
    pub file: File,
    /// The path with all links resolved.
    pub real: PathBuf,
    /// The metadata of the open file.
    pub metadata: Metadata,
}

impl LocatedFile {
    /// Opens a regular file. Links are followed, and where they led is known for the file that is open: a link that
    /// is exchanged afterwards changes neither.
    ///
    /// # Errors
    /// When [`crate::open`] fails, and when the file has no name any more.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (file, metadata) = open_with_metadata(path)?;
        let real = real_path(&file, &metadata, path)?;
        Ok(Self { file, real, metadata })
    }

    /// The same for what was a regular file and no link a moment ago, and whose real path is `expected` unless it was
    /// exchanged since. Where that holds, the system is asked less.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_expected(path: &Path, expected: &Path) -> io::Result<Self> {
        let Ok(file) = open_no_link(path) else {
            // Whatever it is by now.
            return Self::open(path);
        };
        let metadata = file.metadata()?;
        check_regular(&metadata)?;
        // The system adds a word to the name of a file that is gone, so that it is no longer this one. Paths compare
        // by their parts, so the texts are compared.
        let is_expected = known_to_system(&file).is_some_and(|real| real.as_os_str() == expected.as_os_str());
        let real = if is_expected { expected.to_owned() } else { real_path(&file, &metadata, path)? };
        Ok(Self { file, real, metadata })
    }

    /// The text of it, if it has at most `n_bytes_max` bytes.
    ///
    /// # Errors
    /// When it cannot be read, is longer or is not UTF-8.
    pub fn read_text(self, n_bytes_max: u64) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.file.take(n_bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > n_bytes_max {
            return Err(too_long(n_bytes_max));
        }
        String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
    }
}

/// The real path of an open file. `path` is the name that it was opened by.
fn real_path(file: &File, metadata: &Metadata, path: &Path) -> io::Result<PathBuf> {
    let identity = FileIdentity::from(metadata);
    // For a deleted file the system reports something that is not a name, so the name has to lead to the same file.
    let is_it = |path: &PathBuf| FileIdentity::of(path).is_ok_and(|found| found == identity);
    known_to_system(file)
        .filter(is_it)
        // Every folder of the path is looked at here, so this comes second.
        .or_else(|| path.canonicalize().ok().filter(is_it))
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "it was exchanged while it was opened"))
}

#[cfg(target_os = "linux")]
fn known_to_system(file: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::ffi::OsStringExt as _;
    /// Most paths fit, so that the system is asked once.
    const ROOM: usize = 1024;
    let path = rustix::fs::readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::with_capacity(ROOM)).ok()?;
    Some(std::ffi::OsString::from_vec(path.into_bytes()).into())
}

#[cfg(not(target_os = "linux"))]
fn known_to_system(_: &File) -> Option<PathBuf> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_resolved_to_the_end_of_their_chain() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir(top.join("deep")).unwrap();
        fs::write(top.join("deep/file"), "text").unwrap();
        symlink("deep", top.join("folder")).unwrap();
        symlink("folder/file", top.join("one")).unwrap();
        symlink("one", top.join("two")).unwrap();
        for name in ["deep/file", "folder/file", "one", "two"] {
            let found = LocatedFile::open(&top.join(name)).unwrap();
            assert_eq!(found.real, top.join("deep/file"), "{name}");
            assert_eq!(found.read_text(4).unwrap(), "text");
        }
        assert_eq!(
            LocatedFile::open(&top.join("two")).unwrap().read_text(3).unwrap_err().to_string(),
            "it is longer than 3 bytes"
        );
    }

    #[test]
    fn a_link_that_is_exchanged_changes_nothing_that_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::write(top.join("good"), "good").unwrap();
        fs::write(top.join("bad"), "bad").unwrap();
        let link = top.join("link");
        symlink("good", &link).unwrap();
        let (file, metadata) = open_with_metadata(&link).unwrap();
        fs::remove_file(&link).unwrap();
        symlink("bad", &link).unwrap();
        #[cfg(target_os = "linux")]
        assert_eq!(real_path(&file, &metadata, &link).unwrap(), top.join("good"));
        fs::remove_file(top.join("good")).unwrap();
        assert_eq!(real_path(&file, &metadata, &link).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_is_expected_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("project/sub")).unwrap();
        fs::create_dir(top.join("elsewhere")).unwrap();
        for name in ["project/a", "project/sub/a", "elsewhere/a"] {
            fs::write(top.join(name), name).unwrap();
        }
        symlink("../elsewhere/a", top.join("project/link")).unwrap();
        symlink("../elsewhere", top.join("project/folder")).unwrap();
        for (path, expected) in [
            ("project/a", "project/a"),
            ("project/sub/a", "project/sub/a"),
            ("project/link", "elsewhere/a"),
            ("project/folder/a", "elsewhere/a"),
            ("project/sub/../a", "project/a"),
            ("project/../elsewhere/a", "elsewhere/a"),
        ] {
            let path = top.join(path);
            let found = LocatedFile::open_expected(&path, &path).unwrap();
            assert_eq!(found.real.as_os_str(), top.join(expected).as_os_str());
            assert_eq!(found.read_text(100).unwrap(), expected);
        }
        let missing = LocatedFile::open_expected(&top.join("none"), &top.join("none"));
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
        let directory = LocatedFile::open_expected(&top.join("project"), &top.join("project"));
        assert_eq!(directory.unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }
}
