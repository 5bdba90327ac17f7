//! The guard: a process that outlives us for a moment and ends what we were running.
//!
//! We end our commands ourselves, unless we are killed. Then the kernel ends the first process of
//! each, and what that had started would go on. So the first command starts a guard as well, which
//! is this program again. It reads a pipe that nobody else holds: each child writes its id there
//! before its program begins, and we say which sessions are not to be ended any more. When we are
//! gone, however that came, the pipe ends, and the guard ends every session that is left.
//!
//! What leaves its session on purpose, as a daemon does, is beyond it once its parent has ended.
//!
//! Not here: what the guard does (`sandbox/helper/guard.rs`), which is played like the sandbox's helper.

use std::io;
use std::io::PipeWriter;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::OnceLock;

use rustix::fs::OFlags;
use rustix::process::Pid;

use crate::sandbox::helper;
use crate::sandbox::order::Stage;

/// Our end of the pipe, if there is a guard.
static PIPE: OnceLock<Option<PipeWriter>> = OnceLock::new();

/// Where children say that they are there. The first question starts the guard; there is none where
/// this program does not play one, as in tests.
pub(crate) fn listener() -> Option<BorrowedFd<'static>> {
    // Without a guard commands run all the same: it is the second net.
    let pipe = PIPE.get_or_init(|| start().ok().flatten());
    pipe.as_ref().map(AsFd::as_fd)
}

/// Says that a session is over, or may go on without us.
pub(crate) fn forget(session: Pid) {
    if let Some(Some(pipe)) = PIPE.get() {
        let _ = rustix::io::write(pipe, &(-session.as_raw_nonzero().get()).to_ne_bytes());
    }
}

fn start() -> io::Result<Option<PipeWriter>> {
    let Some(mut guard) = helper::ourselves(&Stage::Guard) else { return Ok(None) };
    let (ours, theirs) = {
        let (reader, writer) = io::pipe()?;
        (writer, reader)
    };
    // A guard that does not read must not hold us up.
    rustix::fs::fcntl_setfl(&ours, rustix::fs::fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
    // A group of its own keeps the keys of our terminal from it.
    guard.stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null()).env_clear().process_group(0);
    // Nobody waits for it: it ends after us.
    let _guard = guard.spawn()?;
    Ok(Some(ours))
}
