//! The task between a process and what is known about it.

use std::future::Future;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use pellucid_tasks::contained;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStderr;
use tokio::process::ChildStdout;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::pty::Pty;
use super::state::State;
use crate::spawner::Child;

/// How long streams are read that stay open after the end.
const GRACE: Duration = Duration::from_millis(100);

/// The code of a process with pipes that was ended by a signal.
const SIGNALLED_PIPED: i32 = -1;

/// The same in a terminal.
const SIGNALLED_IN_TERMINAL: i32 = 1;

/// The input and output of a process.
#[derive(Debug)]
pub(super) enum Streams {
    Pipes(Option<ChildStdout>, Option<ChildStderr>),
    Terminal(Pty),
}

/// Feeds `state` until the process has ended. What it left running is ended then.
pub(super) async fn pump(state: Arc<State>, child: Child, streams: Streams) {
    // After a panic the child is dropped, which ends it; those who wait for its end are not left waiting.
    let _is_logged = contained("reading a terminal", feed(&state, child, streams)).await;
    state.over();
}

async fn feed(state: &State, child: Child, streams: Streams) {
    match streams {
        Streams::Pipes(stdout, stderr) => {
            let reading = async {
                tokio::join!(read_all(stdout, state), read_all(stderr, state));
            };
            drive(state, child, reading, std::future::pending(), SIGNALLED_PIPED).await;
        }
        Streams::Terminal(Pty { output, input }) => {
            let (reading, writing) = (read_all(Some(output), state), write_all(input, state));
            drive(state, child, reading, writing, SIGNALLED_IN_TERMINAL).await;
        }
    }
}

async fn drive(
    state: &State,
    mut child: Child,
    reading: impl Future<Output = ()>,
    writing: impl Future<Output = ()>,
    code_of_signal: i32,
) {
    let mut reading = pin!(reading);
    let mut writing = pin!(writing);
    let (mut is_read, mut is_deaf, mut is_terminated) = (false, false, false);
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            () = &mut reading, if !is_read => is_read = true,
            () = &mut writing, if !is_deaf => is_deaf = true,
            () = state.terminated(), if !is_terminated => {
                child.kill_group();
                is_terminated = true;
            }
        }
    };
    // The system closes the streams of a process before it says that the process has ended. One turn
    // of the runtime shows that, unless others hold them too.
    if !is_read {
        tokio::select! {
            biased;
            () = &mut reading => is_read = true,
            () = yield_now() => {}
        }
    }
    state.exited(status.as_ref().ok().and_then(ExitStatus::code).unwrap_or(code_of_signal));
    if !is_read {
        let _ = timeout(GRACE, reading).await;
    }
    // Dropping the child ends what is left of its group.
    drop(child);
}

async fn read_all(stream: Option<impl AsyncRead + Unpin>, state: &State) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; super::READ_BYTES];
    // A stream that cannot be read has nothing more to say.
    while let Ok(n_bytes) = stream.read(&mut buffer).await {
        if n_bytes == 0 {
            return;
        }
        state.wrote(&buffer[..n_bytes]);
    }
}

async fn write_all(mut stream: impl AsyncWrite + Unpin, state: &State) {
    loop {
        let input = state.next_input().await;
        if stream.write_all(&input).await.is_err() {
            return;
        }
    }
}
