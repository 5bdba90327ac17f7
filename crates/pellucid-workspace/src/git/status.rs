//! Whether a work tree differs from its last commit.
//!
//! The one question that is left to git itself: the answer needs its index, its ignore rules and
//! its filters. It may take seconds in a large work tree, so it is for the background only.

use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Whether `git status` has anything to say about a work tree; absent if it fails or takes longer
/// than five seconds.
///
/// Waits for a process: not to be called where somebody else waits.
pub fn has_changes(root: &Path) -> Option<bool> {
    let mut child = Command::new("git")
        // The repository may name a program that watches files; asking must not start it.
        .args(["-c", "core.fsmonitor=false", "status", "--porcelain"])
        .env("GIT_OPTIONAL_LOCKS", "0")
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;

    let mut output = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let said = drain(&mut output);
        // Nobody listens any more after a timeout.
        let _ = sender.send(said);
    });
    let said = receiver.recv_timeout(TIMEOUT);
    if said.is_err() {
        // A process that has ended by itself cannot be killed, which is as good.
        let _ = child.kill();
    }
    let status = child.wait().ok()?;
    let said = said.ok()?.ok()?;
    status.success().then_some(said)
}

/// Reads to the end and says whether there was anything.
fn drain(output: &mut impl Read) -> std::io::Result<bool> {
    Ok(std::io::copy(output, &mut std::io::sink())? > 0)
}
