//! Reading regular files only, and no more of them than a limit.
//!
//! Opening a named pipe waits for a writer, and a device may never end. So a file is looked at before it is opened,
//! opened in a way that never waits, and looked at again: it may have been exchanged in between.

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

use crate::FileStatus;

/// More than any text that people write: for files of which no better limit is known.
pub const TEXT_BYTES_MAX: u64 = 16 << 20;

/// Opens a regular file. Links are followed.
///
/// # Errors
/// If there is no such file, or the entry is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    open_with_status(path).map(|(file, _)| file)
}

/// The same, with what is known about the file that was opened.
///
/// # Errors
/// As [`open`].
pub fn open_with_status(path: &Path) -> io::Result<(File, FileStatus)> {
    open_with_metadata(path).map(|(file, metadata)| (file, FileStatus::from(&metadata)))
}

pub(crate) fn open_with_metadata(path: &Path) -> io::Result<(File, std::fs::Metadata)> {
    check_regular(&std::fs::metadata(path)?)?;
    let file = open_without_waiting(path)?;
    let metadata = file.metadata()?;
    check_regular(&metadata)?;
    Ok((file, metadata))
}

/// The bytes of a regular file of at most `n_bytes_max` bytes. Links are followed.
///
/// # Errors
/// When [`open`] fails, when it cannot be read, and when it is longer.
pub fn read(path: &Path, n_bytes_max: u64) -> io::Result<Vec<u8>> {
    read_open(open(path)?, n_bytes_max)
}

/// The bytes of a file that was found to be a regular one, of at most `n_bytes_max` bytes.
pub(crate) fn read_open(file: File, n_bytes_max: u64) -> io::Result<Vec<u8>> {
    let n_bytes = file.metadata()?.len();
    if n_bytes > n_bytes_max {
        return Err(too_long(n_bytes_max));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(n_bytes).unwrap_or_default() + 1);
    file.take(n_bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    // The length is what the system reported, which may be wrong: files below `/proc` report none.
    if bytes.len() as u64 > n_bytes_max { Err(too_long(n_bytes_max)) } else { Ok(bytes) }
}

/// The text of a regular file of at most `n_bytes_max` bytes. Links are followed.
///
/// # Errors
/// When [`read`] fails, and when it is not UTF-8.
pub fn read_text(path: &Path, n_bytes_max: u64) -> io::Result<String> {
    let bytes = read(path, n_bytes_max)?;
    // In the words of the standard library, which people may look for.
    let not_text = "stream did not contain valid UTF-8";
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, not_text))
}

/// The text of a file that a person named on the command line, of at most `n_bytes_max` bytes: a regular file, or what a
/// shell or another program passes on open (`/dev/stdin`, `/dev/fd/63`).
///
/// # Errors
/// When [`read_text`] fails.
pub fn read_given(path: &Path, n_bytes_max: u64) -> io::Result<String> {
    const PASSED_ON: [&str; 3] = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];
    if !PASSED_ON.iter().any(|place| path.starts_with(place)) {
        return read_text(path, n_bytes_max);
    }
    let mut text = String::new();
    File::open(path)?.take(n_bytes_max.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() as u64 > n_bytes_max { Err(too_long(n_bytes_max)) } else { Ok(text) }
}

pub(crate) fn check_regular(metadata: &std::fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(if metadata.is_dir() { directory() } else { io::Error::other("it is not a regular file") })
}

/// The system's error for reading a folder.
#[cfg(unix)]
fn directory() -> io::Error {
    rustix::io::Errno::ISDIR.into()
}

#[cfg(not(unix))]
fn directory() -> io::Error {
    io::ErrorKind::IsADirectory.into()
}

/// Opens a file again that was a regular file a moment ago. The caller reads no more than its length then, and checks
/// afterwards whether it is still the same ([`FileStatus::of`]). Links are followed.
///
/// # Errors
/// As the system says.
#[cfg(unix)]
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    open_with(path, rustix::fs::OFlags::empty())
}

/// The same for what was no link either. A link is refused.
#[cfg(unix)]
pub(crate) fn open_no_link(path: &Path) -> io::Result<File> {
    open_with(path, rustix::fs::OFlags::NOFOLLOW)
}

#[cfg(unix)]
fn open_with(path: &Path, more: rustix::fs::OFlags) -> io::Result<File> {
    use rustix::fs::Mode;
    use rustix::fs::OFlags;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Opens a file again that was a regular file a moment ago.
///
/// # Errors
/// As the system says.
#[cfg(not(unix))]
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(not(unix))]
pub(crate) fn open_no_link(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn too_long(n_bytes_max: u64) -> io::Error {
    let limit = if n_bytes_max >= 1 << 20 && n_bytes_max.is_multiple_of(1 << 20) {
        format!("{} MiB", n_bytes_max >> 20)
    } else {
        format!("{n_bytes_max} bytes")
    };
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &Path, n_bytes_max: u64, expected: Result<&str, &str>) {
        let found = read_text(path, n_bytes_max).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "four").unwrap();
        check(&path, 4, Ok("four"));
        check(&path, 3, Err("it is longer than 3 bytes"));
        std::fs::write(&path, b"\xff").unwrap();
        check(&path, 4, Err("stream did not contain valid UTF-8"));
        assert_eq!(read(&path, 4).unwrap(), b"\xff");
        check(folder.path(), 4, Err("Is a directory (os error 21)"));
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read_given(&path, 4).unwrap(), "four");
        assert_eq!(read_given(&path, 3).unwrap_err().to_string(), "it is longer than 3 bytes");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_has_no_end_or_never_answers_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        check(&pipe, 4, Err("it is not a regular file"));
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        check(&link, 4, Err("it is not a regular file"));
        assert_eq!(read_given(&pipe, 4).unwrap_err().to_string(), "it is not a regular file");
        let (ours, theirs) = io::pipe().unwrap();
        io::Write::write_all(&mut { theirs }, b"four").unwrap();
        let passed_on = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&ours));
        assert_eq!(read_given(Path::new(&passed_on), 4).unwrap(), "four");
        // The file reports a length of 0, and has some bytes.
        check(Path::new("/proc/self/status"), 4, Err("it is longer than 4 bytes"));
    }
}
