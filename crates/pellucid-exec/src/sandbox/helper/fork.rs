//! A copy of the helper, for what needs a process of its own and no other program.
//!
//! Starting this program anew would cost more than all that the helper does: it is large and is linked each time.
//!
//! Not here: programs. Those are started by `Command`.

#![allow(unsafe_code, reason = "no safe function copies a process, which is sound with one thread only")]

use std::io;

use rustix::process::Pid;

/// Makes a copy of this process that does `work` and ends with what it says. Tells which process it is.
pub fn fork(work: impl FnOnce() -> i32) -> io::Result<Pid> {
    let n_threads = std::fs::read_dir("/proc/self/task")?.count();
    if n_threads != 1 {
        return Err(io::Error::other(format!("a copy of {n_threads} threads would have one of them")));
    }
    // SAFETY: There is one thread, this one. So no other holds a lock or is in the midst of a change, and the copy
    // may do all that this process may.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => std::process::exit(work()),
        id => Pid::from_raw(id).ok_or_else(|| io::Error::other("a process has the number 0")),
    }
}
