//! The guard: a process that outlives us for a moment and ends what we were running.
//!
//! We end our commands ourselves, unless we are killed. Then the kernel ends the first process of each, and its
//! descendants would continue. So the first command starts a guard as well, which is this program again. It reads a
//! pipe that no other process reads: each child writes its id there before its program begins, and we write which
//! sessions are not to be ended any more. When we are gone, for whatever reason, the pipe ends, and the guard ends
//! every session that is left.
//!
//! A process that leaves its session on purpose, as a daemon does, is beyond the guard once its parent has ended.
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
use crate::sandbox::order::HelperStage;

/// Our end of the pipe, if there is a guard.
static PIPE: OnceLock<Option<PipeWriter>> = OnceLock::new();

/// The pipe on which children report their ids. The first call starts the guard; `None` where this program does not
/// act as a guard, as in tests.
pub(crate) fn listener() -> Option<BorrowedFd<'static>> {
    // Without a guard commands run all the same: it is the second net.
    let pipe = PIPE.get_or_init(|| start().ok().flatten());
    pipe.as_ref().map(AsFd::as_fd)
}

/// Reports that a session has ended, or may continue without us.
pub(crate) fn forget(session: Pid) {
    if let Some(Some(pipe)) = PIPE.get() {
        let _ = rustix::io::write(pipe, &(-session.as_raw_nonzero().get()).to_ne_bytes());
    }
}

fn start() -> io::Result<Option<PipeWriter>> {
    let Some(mut guard) = helper::ourselves(&HelperStage::Guard) else { return Ok(None) };
    let (ours, theirs) = {
        let (reader, writer) = io::pipe()?;
        (writer, reader)
    };
    // A guard that does not read must not hold us up.
    rustix::fs::fcntl_setfl(&ours, rustix::fs::fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
    // A separate group keeps the keys of our terminal from the guard.
    guard.stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null()).env_clear().process_group(0);
    // The guard is not waited for: it ends after us.
    let _guard = guard.spawn()?;
    Ok(Some(ours))
}
