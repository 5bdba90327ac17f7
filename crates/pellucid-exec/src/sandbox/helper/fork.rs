//! A copy of the helper, for work that needs a separate process and no other program.
//!
//! Starting this program again would cost more than everything else that the helper does: the program is large and is
//! linked each time.
//!
//! Not here: programs. Those are started by `Command`.

#![allow(unsafe_code, reason = "no safe function copies a process, which is sound with one thread only")]

use std::io;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use nix::sched::CloneFlags;
use rustix::process::Pid;

/// Makes a copy of this process that does `work` and exits with its result. Returns the id of the copy.
pub fn fork(work: impl FnOnce() -> i32) -> io::Result<Pid> {
    has_one_thread()?;
    // SAFETY: There is one thread, this one. So no other holds a lock or is in the midst of a change, and the copy
    // may do all that this process may.
    parted(i64::from(unsafe { libc::fork() }), work)
}

/// The same, with namespaces of these kinds for the copy.
pub fn fork_into(namespaces: CloneFlags, work: impl FnOnce() -> i32) -> io::Result<Pid> {
    has_one_thread()?;
    let flags = libc::c_long::from(namespaces.bits() | libc::SIGCHLD);
    // SAFETY: As above. With no stack given and no memory shared, this is what `fork` does; the C library's
    // bookkeeping, which this skips, concerns threads and functions to call in the copy, and there are neither.
    parted(unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) }, work)
}

fn has_one_thread() -> io::Result<()> {
    match std::fs::read_dir("/proc/self/task")?.count() {
        1 => Ok(()),
        n_threads => Err(io::Error::other(format!("a copy of {n_threads} threads would have one of them"))),
    }
}

/// The continuation in the parent and in the copy.
fn parted(id: i64, work: impl FnOnce() -> i32) -> io::Result<Pid> {
    match id {
        -1 => Err(io::Error::last_os_error()),
        // The copy must not unwind into what the original was doing.
        0 => match catch_unwind(AssertUnwindSafe(work)) {
            Ok(code) => std::process::exit(code),
            Err(_panic) => std::process::abort(),
        },
        id => i32::try_from(id).ok().and_then(Pid::from_raw).ok_or_else(|| io::Error::other("a process has no number")),
    }
}
