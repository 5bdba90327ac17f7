//! One writer for a file. A process that can only read the file cannot block the writer.
//!
//! A command that is confined to reading can still open a session file, and some locks need no more than that. So the
//! lock is one that takes a file open for writing, and of the conflicting locks only those of another writer count.
//!
//! Not here: which files need it.

use std::fs::File;
use std::io;

/// Whether this file has us as its only writer from now on, until it is closed.
///
/// Where the file system has no locks, or a process that can only read holds one, this returns true: then the user
/// has to see to it that one process writes.
#[cfg(target_os = "linux")]
pub(crate) fn is_ours(file: &File) -> io::Result<bool> {
    use nix::errno::Errno;
    use nix::fcntl::FcntlArg;
    use nix::fcntl::fcntl;
    use nix::libc;

    match fcntl(file, FcntlArg::F_OFD_SETLK(&whole(libc::F_WRLCK))) {
        Err(Errno::EAGAIN | Errno::EACCES) => {}
        // Held, or there are no locks here.
        _ => return Ok(true),
    }
    // Asked as a reader, only writers are in the way.
    let mut asked = whole(libc::F_RDLCK);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut asked))?;
    Ok(i32::from(asked.l_type) == libc::F_UNLCK)
}

/// Lets another writer have the file, before it is closed.
///
/// Closing the file is not enough: a process that was forked for a command, and has not started its program yet, has the
/// same open file, and the lock with it.
#[cfg(target_os = "linux")]
pub(crate) fn release(file: &File) {
    use nix::fcntl::FcntlArg;
    use nix::fcntl::fcntl;

    // Where there are no locks, there is none to release.
    let _ = fcntl(file, FcntlArg::F_OFD_SETLK(&whole(nix::libc::F_UNLCK)));
}

/// A lock of a kind on a whole file.
#[cfg(target_os = "linux")]
fn whole(kind: i32) -> nix::libc::flock {
    nix::libc::flock {
        l_type: i16::try_from(kind).unwrap_or_default(),
        l_whence: i16::try_from(nix::libc::SEEK_SET).unwrap_or_default(),
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// Whether this file has us as its only writer from now on, until it is closed.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_ours(file: &File) -> io::Result<bool> {
    Ok(!matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
}

/// Lets another writer have the file, before it is closed.
#[cfg(not(target_os = "linux"))]
pub(crate) fn release(file: &File) {
    let _ = file.unlock();
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use nix::fcntl::FcntlArg;
    use nix::fcntl::fcntl;
    use nix::libc;

    use super::*;

    #[test]
    fn a_second_writer_is_noticed_and_a_reader_is_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = |writes: bool| File::options().read(true).write(writes).open(file.path()).unwrap();
        let reader = open(false);
        reader.lock().unwrap();
        let reads = libc::flock { l_type: libc::F_RDLCK as i16, l_whence: 0, l_start: 0, l_len: 0, l_pid: 0 };
        fcntl(&reader, FcntlArg::F_OFD_SETLK(&reads)).unwrap();
        assert!(is_ours(&open(true)).unwrap());
        drop(reader);
        let writer = open(true);
        assert!(is_ours(&writer).unwrap());
        assert!(!is_ours(&open(true)).unwrap());
        // A process that can only read cannot take the writer's lock, nor make the writer doubt its own.
        assert!(fcntl(open(false), FcntlArg::F_OFD_SETLK(&reads)).is_err());
        drop(writer);
        assert!(is_ours(&open(true)).unwrap());
    }
}
