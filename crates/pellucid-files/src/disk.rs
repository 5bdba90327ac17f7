//! The edge at which a disk fails: every change of the files that hold what a client was shown.
//!
//! A disk runs full in the middle of a line, reports an error for one write only, or is gone. Code that keeps what a
//! client has seen writes through a [`Disk`], so that a test can let any single step fail (`FaultyDisk` of
//! `pellucid-testkit`). [`RealDisk`] is the disk of this machine.
//!
//! Not here: reading. A file that cannot be read is reported by whatever reads it, and nothing is lost.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::private;

/// The changes of a disk that can fail.
pub trait Disk: Debug + Send + Sync {
    /// Opens a file to add to its end. A new file is private to this user.
    ///
    /// # Errors
    /// As the system says.
    fn open_to_append(&self, path: &Path, existing: Existing) -> io::Result<File>;

    /// Adds bytes to the end of a file and returns how many of them were written, which may be fewer.
    ///
    /// # Errors
    /// As the system says. Nothing was written then.
    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts the end of a file off.
    ///
    /// # Errors
    /// As the system says. The file is as it was then.
    fn shorten(&self, file: &File, len: u64) -> io::Result<()>;

    /// Writes a private file in one step: a reader sees all of the bytes or the old content. The folder has to exist.
    ///
    /// # Errors
    /// As the system says. The file is as it was then.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
}

/// Whether a file has to exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The file has to exist.
    Needed,
    /// The file is created if it does not exist, with the folders above it.
    Welcome,
}

/// The disk of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl RealDisk {
    /// The disk, for code that holds any disk.
    pub fn shared() -> Arc<dyn Disk> {
        Arc::new(Self)
    }
}

impl Disk for RealDisk {
    fn open_to_append(&self, path: &Path, existing: Existing) -> io::Result<File> {
        match existing {
            Existing::Needed => File::options().read(true).append(true).open(path),
            Existing::Welcome => {
                if let Some(folder) = path.parent() {
                    private::make_private_folder(folder)?;
                }
                private::append_private(path)
            }
        }
    }

    fn append(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    fn shorten(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        private::write_private(path, bytes)
    }
}

/// Why bytes were not written to their end.
#[derive(Debug)]
pub struct PartlyWritten {
    /// How many bytes were written.
    pub n_bytes: usize,
    /// Why the next byte was not.
    pub error: io::Error,
}

/// Adds all of the bytes to the end of a file.
///
/// # Errors
/// As the system says, with how many bytes were written before.
pub fn append_all(disk: &dyn Disk, file: &File, bytes: &[u8]) -> Result<(), PartlyWritten> {
    let mut n_bytes = 0;
    while n_bytes < bytes.len() {
        match disk.append(file, &bytes[n_bytes..]) {
            Ok(0) => return Err(PartlyWritten { n_bytes, error: io::ErrorKind::WriteZero.into() }),
            Ok(n) => n_bytes += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(PartlyWritten { n_bytes, error }),
        }
    }
    Ok(())
}

/// Adds one line, which ends with a newline, to a private file that several processes may add lines to at the same
/// time. A line that a crash or a full disk left incomplete is kept, and the new one begins after a line end. While
/// another process writes a line, that line looks incomplete as well: then the file gets an empty line.
///
/// # Errors
/// As the system says, and if the file is not a regular file.
pub fn add_line(disk: &dyn Disk, path: &Path, line: &[u8]) -> io::Result<()> {
    let file = disk.open_to_append(path, Existing::Welcome)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let written = if ends_with_newline(&file)? {
        append_all(disk, &file, line)
    } else {
        append_all(disk, &file, &[b"\n", line].concat())
    };
    written.map_err(|partly| partly.error)
}

/// Whether the next byte of a file begins a line.
///
/// # Errors
/// As the system says.
pub fn ends_with_newline(mut file: &File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// A disk of which each answer to a write is given: bytes that are taken, or an error.
    #[derive(Debug)]
    struct Answers(Mutex<Vec<Result<usize, io::ErrorKind>>>);

    impl Disk for Answers {
        fn open_to_append(&self, path: &Path, existing: Existing) -> io::Result<File> {
            RealDisk.open_to_append(path, existing)
        }

        fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
            match self.0.lock().unwrap().remove(0) {
                Ok(n) => RealDisk.append(file, &bytes[..n]),
                Err(kind) => Err(kind.into()),
            }
        }

        fn shorten(&self, file: &File, len: u64) -> io::Result<()> {
            RealDisk.shorten(file, len)
        }

        fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
            RealDisk.replace(path, bytes)
        }
    }

    #[track_caller]
    fn check_append(answers: Vec<Result<usize, io::ErrorKind>>, expected: (usize, Option<io::ErrorKind>)) {
        let top = tempfile::tempdir().unwrap();
        let disk = Answers(Mutex::new(answers));
        let file = disk.open_to_append(&top.path().join("f"), Existing::Welcome).unwrap();
        let (n_bytes, kind) = match append_all(&disk, &file, b"0123456789") {
            Ok(()) => (10, None),
            Err(PartlyWritten { n_bytes, error }) => (n_bytes, Some(error.kind())),
        };
        assert_eq!((n_bytes, kind), expected);
        assert_eq!(std::fs::read(top.path().join("f")).unwrap(), b"0123456789"[..n_bytes]);
        assert!(disk.0.lock().unwrap().is_empty());
    }

    #[test]
    fn short_writes_continue_and_errors_say_how_far_they_came() {
        use io::ErrorKind::Interrupted;
        use io::ErrorKind::StorageFull;
        use io::ErrorKind::WriteZero;
        check_append(vec![Ok(10)], (10, None));
        check_append(vec![Ok(3), Err(Interrupted), Ok(7)], (10, None));
        check_append(vec![Err(StorageFull)], (0, Some(StorageFull)));
        check_append(vec![Ok(4), Err(StorageFull)], (4, Some(StorageFull)));
        check_append(vec![Ok(9), Ok(0)], (9, Some(WriteZero)));
    }

    #[test]
    fn a_line_begins_after_a_line_end() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("a/f");
        add_line(&RealDisk, &path, b"one\n").unwrap();
        let full = Answers(Mutex::new(vec![Ok(2), Err(io::ErrorKind::StorageFull)]));
        assert_eq!(add_line(&full, &path, b"two\n").unwrap_err().kind(), io::ErrorKind::StorageFull);
        add_line(&RealDisk, &path, b"three\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntw\nthree\n");
        assert!(add_line(&RealDisk, top.path(), b"four\n").is_err());
    }
}
