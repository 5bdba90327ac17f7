//! A pseudo terminal: the side that we hold, and the side that a process believes to be a screen.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::pty;
use rustix::pty::OpenptFlags;
use rustix::termios;
use rustix::termios::Winsize;
use tokio::net::unix::pipe;

const SIZE: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

/// The side that we hold.
#[derive(Debug)]
pub(super) struct Pty {
    /// The output of the process. Reading fails when no process holds the other side any more.
    pub(super) output: pipe::Receiver,
    /// The input of the process, as if typed.
    pub(super) input: pipe::Sender,
}

/// Opens both sides. The second is for the process.
pub(super) fn open() -> io::Result<(Pty, OwnedFd)> {
    let ours = open_ours()?;
    pty::grantpt(&ours)?;
    pty::unlockpt(&ours)?;
    let name = pty::ptsname(&ours, Vec::new())?;
    let theirs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    termios::tcsetwinsize(&theirs, SIZE)?;
    rustix::fs::fcntl_setfl(&ours, rustix::fs::fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
    // `from_file_unchecked` skips the check that the file is a pipe. The handle is waited for and read just like a
    // pipe.
    let input = pipe::Sender::from_file_unchecked(File::from(ours.try_clone()?))?;
    let output = pipe::Receiver::from_file_unchecked(File::from(ours))?;
    Ok((Pty { output, input }, theirs))
}

/// Opens the side that we hold. No process that is started meanwhile inherits it.
#[cfg(any(target_os = "linux", target_os = "freebsd", target_os = "netbsd"))]
fn open_ours() -> io::Result<OwnedFd> {
    Ok(pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?)
}

/// Opens the side that we hold. These systems cannot keep it from processes that start before the second call.
#[cfg(not(any(target_os = "linux", target_os = "freebsd", target_os = "netbsd")))]
fn open_ours() -> io::Result<OwnedFd> {
    let ours = pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
    Ok(ours)
}
