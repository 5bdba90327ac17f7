//! Runs one command from its start to its end, with bounded output.
//!
//! Standard input is empty; standard output and standard error are read separately. Whatever the
//! command writes, only so much is kept. A command whose future is dropped is ended, and so is
//! every process of its group.
//!
//! Not here: commands that continue after a call ([`terminal`](crate::terminal)), and which commands are allowed.

use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use pellucid_protocol::exec::OutputStream;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio::time::sleep;
use tokio::time::timeout;

use crate::before_exec::Attachment;
pub use crate::command::Command;
pub use crate::command::SpawnError;
pub use crate::command::Variables;
use crate::listener::Listening;
use crate::spawner;
use crate::spawner::Plug;
use crate::text;

pub use self::capture::Captured;
pub use self::capture::DELTA_BYTES;
pub use self::capture::DELTAS_MAX;
pub use self::capture::Delta;
pub use self::capture::KEPT_BYTES;
use self::capture::Reader;

mod capture;

/// The default time limit of a command.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The exit code of a command that took too long.
pub const TIMEOUT_EXIT_CODE: i32 = 124;

/// How long pipes are read that stay open after the command has ended.
const DRAIN: Duration = Duration::from_secs(2);

/// How long is waited at least until the time of a command is looked at again.
const LEAST_WAIT: Duration = Duration::from_millis(10);

/// The result of a command that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How the command ended.
    pub end: ProcessEnd,
    /// The captured standard output.
    pub stdout: Captured,
    /// The captured standard error.
    pub stderr: Captured,
    /// From start to end, the reading of what it left included.
    pub duration: Duration,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that we did not send.
    Signalled(i32),
    /// We ended it, because it exceeded the time limit.
    TimedOut,
}

impl Finished {
    /// The exit code; none for a command that was ended by a signal of others.
    pub fn exit_code(&self) -> Option<i32> {
        match self.end {
            ProcessEnd::Exited(code) => Some(code),
            ProcessEnd::Signalled(_) => None,
            ProcessEnd::TimedOut => Some(TIMEOUT_EXIT_CODE),
        }
    }

    /// Standard output followed by standard error, within the limit for both.
    pub fn aggregated(&self) -> String {
        text::decode(capture::aggregate(&self.stdout.bytes, &self.stderr.bytes, KEPT_BYTES))
    }

    /// The text for the model: the output, after a line about the time limit if it was exceeded.
    pub fn shown(&self) -> String {
        let aggregated = self.aggregated();
        match self.end {
            ProcessEnd::TimedOut => {
                format!("command timed out after {} milliseconds\n{aggregated}", self.duration.as_millis())
            }
            ProcessEnd::Exited(_) | ProcessEnd::Signalled(_) => aggregated,
        }
    }

    /// The text for the model in place of an output, for a command that another process ended with a signal.
    pub fn failure_text(&self) -> Option<String> {
        match self.end {
            ProcessEnd::Signalled(signal) => Some(format!("execution error: Sandbox(Signal({signal}))")),
            ProcessEnd::Exited(_) | ProcessEnd::TimedOut => None,
        }
    }
}

/// Runs a command until it ends or `limit` is over, whichever comes first.
///
/// Output is sent to `deltas` as it comes. A slow receiver slows the command down and may miss the last output; a
/// closed receiver does not stop the command.
///
/// Dropping the future ends the command and every process of its group. After the command has ended by itself,
/// processes that it left behind continue, but the pipes that they hold open are read for two seconds only.
///
/// # Errors
/// When it cannot be started.
pub async fn run(
    command: &Command,
    limit: Option<Duration>,
    deltas: Option<&mpsc::Sender<Delta>>,
) -> Result<Finished, SpawnError> {
    run_heard(command, limit, deltas, None).await
}

/// The same with a listener that gets all of what the command writes.
///
/// # Errors
/// When it cannot be started.
pub async fn run_heard(
    command: &Command,
    limit: Option<Duration>,
    deltas: Option<&mpsc::Sender<Delta>>,
    listening: Listening,
) -> Result<Finished, SpawnError> {
    let started = Instant::now();
    let plugs = [Plug::Nothing, Plug::Pipe, Plug::Pipe];
    let mut child = spawner::spawn(command, plugs, Attachment::Nothing).await?;
    let time_paused = child.time_paused();
    let mut stdout = Reader::new(child.take_stdout(), OutputStream::Stdout, listening.clone());
    let mut stderr = Reader::new(child.take_stderr(), OutputStream::Stderr, listening);

    let status = {
        let mut reading = pin!(async { tokio::join!(stdout.read(deltas), stderr.read(deltas)) });
        let mut over = pin!(async {
            match limit {
                Some(limit) => over(limit, time_paused).await,
                None => std::future::pending().await,
            }
        });
        let mut is_read = false;
        loop {
            tokio::select! {
                status = child.wait() => break Some(status?),
                () = &mut over => break None,
                _ = &mut reading, if !is_read => is_read = true,
            }
        }
    };
    let end = match status {
        Some(status) => ProcessEnd::of(status),
        None => {
            child.kill_group();
            ProcessEnd::TimedOut
        }
    };

    // A killed process ends as soon as the system lets it. If that takes longer than what is left
    // in the pipes may take, the runtime collects it later.
    let draining = async { tokio::join!(child.wait(), stdout.read(deltas), stderr.read(deltas)) };
    if timeout(DRAIN, draining).await.is_err() {
        // A receiver that lags must not cost what is in the pipe already.
        let rest = async { tokio::join!(stdout.read(None), stderr.read(None)) };
        let _ = timeout(Duration::ZERO, rest).await;
    }
    child.leave_alone();
    Ok(Finished { end, stdout: stdout.finish(), stderr: stderr.finish(), duration: started.elapsed() })
}

/// Waits until a time is over, without the times in which a command could do nothing.
async fn over(limit: Duration, time_paused: impl Fn() -> Duration) {
    let started = Instant::now();
    sleep(limit).await;
    loop {
        let counted = started.elapsed().saturating_sub(time_paused());
        match limit.checked_sub(counted) {
            Some(left) if !left.is_zero() => sleep(left.max(LEAST_WAIT)).await,
            _ => return,
        }
    }
}

impl ProcessEnd {
    fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, Some(signal)) => Self::Signalled(signal),
            // The remaining case is a stopped process, for which `wait` was not asked.
            (None, None) => Self::Exited(-1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pause_takes_no_time() {
        let began = Instant::now();
        over(Duration::from_secs(10), || began.elapsed().min(Duration::from_secs(7))).await;
        assert_eq!(began.elapsed(), Duration::from_secs(17));
    }
}
