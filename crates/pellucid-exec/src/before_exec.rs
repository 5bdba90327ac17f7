//! The steps of a child process between its fork and its program.
//!
//! The child leaves our session, so that no signal from our terminal reaches it and its whole group can be ended at
//! once, and it asks the kernel to end it when we die.
//!
//! With the sandbox's `fork` it is the one file of the crate with unsafe code: no safe function runs code in a child that
//! has not begun its program, or sets what a signal does.

#![allow(unsafe_code, reason = "`pre_exec` and `signal` have no safe counterparts")]

use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process;

/// The terminal that the child is attached to, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attachment {
    /// The child has no terminal.
    Nothing,
    /// The terminal on its standard input.
    Terminal,
}

/// Makes the child of this command the leader of a new session that ends with this process. The child writes its id
/// to `guard_pipe` before its program begins.
pub(crate) fn set_up(command: &mut Command, attachment: Attachment, guard_pipe: Option<BorrowedFd<'static>>) {
    let parent = process::getpid();
    let set_up = move || {
        process::setsid()?;
        if let Some(guard_pipe) = guard_pipe {
            // If the guard does not read, the child still ends with us; only its descendants may survive.
            let _ = rustix::io::write(guard_pipe, &process::getpid().as_raw_nonzero().get().to_ne_bytes());
        }
        if attachment == Attachment::Terminal {
            process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            heed_keys();
        }
        die_with(parent)?;
        Ok(())
    };
    // SAFETY: The closure runs in a copy of a process with several threads, where only functions
    // that a signal handler may call are allowed. It makes system calls and nothing else: it
    // allocates nothing, takes no lock and cannot panic.
    unsafe { command.pre_exec(set_up) };
}

/// Restores the default handling of a terminal's keys, which may be inherited as ignored from the process that
/// started us.
pub(crate) fn heed_keys() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGALRM, libc::SIGCHLD] {
        // SAFETY: A system call that may be made here, with signals and a disposition that exist.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Asks the kernel for a signal when the thread that made us ends. `spawner` makes children on a
/// thread that ends with the process only.
#[cfg(target_os = "linux")]
fn die_with(parent: process::Pid) -> rustix::io::Result<()> {
    process::set_parent_process_death_signal(Some(process::Signal::TERM))?;
    // The parent may have died before the call above; then no signal comes.
    if process::getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH) }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "on Linux it can fail")]
fn die_with(_parent: process::Pid) -> rustix::io::Result<()> {
    Ok(())
}
