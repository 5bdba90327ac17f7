//! A process that is talked to in lines: ours go to its standard input, its own come from its
//! standard output.
//!
//! Neither side waits for the other: messages are queued, and written while the lines of the process are read. Of
//! what it writes to standard error only the last lines are kept. Dropping a dialogue ends the process and everything
//! in its group.
//!
//! Not here: what the lines mean.

use std::collections::VecDeque;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use pellucid_tasks::Task;
use tokio::io::AsyncBufReadExt;
use tokio::io::AsyncRead;
use tokio::io::AsyncWriteExt;
use tokio::io::BufReader;
use tokio::process::ChildStdin;
use tokio::process::ChildStdout;
use tokio::time::timeout;

use crate::before_exec::Attachment;
use crate::command::Command;
use crate::command::SpawnError;
use crate::spawner;
use crate::spawner::Child;
use crate::spawner::Plug;

/// The longest line that is taken.
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How many lines of standard error are kept, how long each, and how much of all.
const TAIL_LINES: usize = 20;
const TAIL_LINE_BYTES: usize = 512;
const TAIL_BYTES: usize = 4096;

/// How long is waited for a process that closed its streams or was ended.
const GRACE: Duration = Duration::from_secs(2);

/// A process that is talked to.
#[derive(Debug)]
pub struct Dialogue {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Bytes that were sent and are not written yet.
    unwritten: VecDeque<u8>,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    tail: Arc<Mutex<Tail>>,
    tailing: Task<()>,
}

/// Why no further line comes.
#[derive(Debug, thiserror::Error)]
pub enum Silence {
    /// The process does not read any more.
    #[error("{0}")]
    Deaf(io::Error),
    /// The process closed its standard output.
    #[error("its output has ended")]
    Ended,
    /// The standard output of the process cannot be read.
    #[error("{0}")]
    Unreadable(io::Error),
}

/// The state and last output of a process that fell silent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// The id of the process, if it runs.
    pub id: Option<u32>,
    /// The exit status, or that the process runs.
    pub status: ProcessStatus,
    /// The last lines that it wrote to standard error.
    pub stderr: Vec<String>,
}

/// Whether a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessStatus {
    /// The process still runs.
    Running,
    /// The process ended with this code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
}

impl Dialogue {
    /// Starts a command and a dialogue with it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn start(command: &Command) -> Result<Self, SpawnError> {
        let plugs = [Plug::Pipe, Plug::Pipe, Plug::Pipe];
        let mut child = spawner::spawn(command, plugs, Attachment::Nothing).await?;
        let missing = || io::Error::other("a new process lacks a stream");
        let input = child.take_stdin().ok_or_else(missing)?;
        let output = child.take_stdout().ok_or_else(missing)?;
        let stderr = child.take_stderr().ok_or_else(missing)?;
        let tail = Arc::<Mutex<Tail>>::default();
        let tailing = Task::spawn("reading standard error", read_tail(stderr, Arc::clone(&tail)));
        let (unwritten, line) = (VecDeque::new(), Vec::new());
        Ok(Self { child, input, output: BufReader::new(output), unwritten, line, tail, tailing })
    }

    /// The id of the process, as long as it runs.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Says a line. It is written while [`hear`](Self::hear) waits.
    pub fn say(&mut self, line: &str) {
        self.unwritten.extend(line.as_bytes());
        self.unwritten.push_back(b'\n');
    }

    /// The next line. What was said is written meanwhile. The future can be dropped without losing
    /// anything.
    ///
    /// # Errors
    /// When there will be none, or it is too long.
    pub async fn hear(&mut self) -> Result<String, Silence> {
        let Self { input, output, unwritten, line, .. } = self;
        loop {
            tokio::select! {
                // Why nothing can be said is the better reason when both ways are closed.
                biased;
                written = input.write(unwritten.as_slices().0), if !unwritten.is_empty() => match written {
                    Ok(n_bytes) => drop(unwritten.drain(..n_bytes)),
                    Err(error) => return Err(Silence::Deaf(error)),
                },
                read = output.fill_buf() => {
                    let bytes = read.map_err(Silence::Unreadable)?;
                    if bytes.is_empty() {
                        return Err(Silence::Ended);
                    }
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
                    let n_bytes = end.map_or(bytes.len(), |end| end + 1);
                    output.consume(n_bytes);
                    if line.len() > LINE_BYTES_MAX {
                        let text = format!("a line is longer than {LINE_BYTES_MAX} bytes");
                        return Err(Silence::Unreadable(io::Error::other(text)));
                    }
                    if end.is_some() {
                        let whole = std::mem::take(line);
                        return Ok(String::from_utf8_lossy(&whole).into_owned());
                    }
                }
            }
        }
    }

    /// The state of a process that fell silent. Waits a little for its end, then ends it.
    pub async fn remains(mut self) -> Remains {
        let id = self.child.id();
        let ended = timeout(GRACE, self.child.wait()).await;
        let status = match ended {
            Ok(Ok(status)) => ProcessStatus::of(status),
            _ => ProcessStatus::Running,
        };
        if status != ProcessStatus::Running {
            // Processes that it left running may hold the stream open for ever.
            let _ = timeout(GRACE, &mut self.tailing).await;
        }
        let stderr = self.tail.lock().unwrap_or_else(PoisonError::into_inner).lines();
        Remains { id, status, stderr }
    }

    /// Ends the process and everything in its group, and waits until it has ended.
    pub async fn end(mut self) {
        self.child.kill_group();
        let _ = timeout(GRACE, self.child.wait()).await;
    }
}

impl ProcessStatus {
    fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, signal) => Self::Signalled(signal.unwrap_or_default()),
        }
    }
}

/// The last lines of a stream.
#[derive(Debug, Default)]
struct Tail {
    lines: VecDeque<String>,
    n_bytes: usize,
    /// The beginning of an incomplete line, cut to the limit.
    partial: Vec<u8>,
}

impl Tail {
    fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let room = TAIL_LINE_BYTES.saturating_sub(self.partial.len());
            self.partial.extend_from_slice(&text[..text.len().min(room)]);
            if text.len() < piece.len() {
                let line = std::mem::take(&mut self.partial);
                self.push(&line);
            }
        }
    }

    fn push(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line).trim().to_owned();
        if line.is_empty() {
            return;
        }
        self.n_bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > TAIL_LINES || self.n_bytes > TAIL_BYTES {
            let Some(gone) = self.lines.pop_front() else { return };
            self.n_bytes -= gone.len();
        }
    }

    fn lines(&mut self) -> Vec<String> {
        let rest = std::mem::take(&mut self.partial);
        self.push(&rest);
        self.lines.iter().cloned().collect()
    }
}

async fn read_tail(stream: impl AsyncRead + Unpin, tail: Arc<Mutex<Tail>>) {
    let mut stream = BufReader::new(stream);
    // A stream that cannot be read has nothing more to say.
    while let Ok(bytes) = stream.fill_buf().await {
        if bytes.is_empty() {
            return;
        }
        tail.lock().unwrap_or_else(PoisonError::into_inner).take(bytes);
        let n_bytes = bytes.len();
        stream.consume(n_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        Command {
            argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            arg0: None,
            cwd: "/".into(),
            env: [("PATH".into(), "/usr/bin:/bin".into())].into(),
        }
    }

    #[tokio::test]
    async fn lines_go_both_ways() {
        let mut dialogue = Dialogue::start(&shell("while read line; do echo \"heard $line\"; done")).await.unwrap();
        dialogue.say("one");
        dialogue.say("two");
        assert_eq!(dialogue.hear().await.unwrap(), "heard one");
        assert_eq!(dialogue.hear().await.unwrap(), "heard two");
        dialogue.end().await;
    }

    #[tokio::test]
    async fn neither_side_waits_for_the_other() {
        // `cat` stops reading while its output is not read.
        let mut dialogue = Dialogue::start(&shell("cat")).await.unwrap();
        let long = "x".repeat(1_000_000);
        dialogue.say(&long);
        dialogue.say(&long);
        assert_eq!(dialogue.hear().await.unwrap().len(), long.len());
        assert_eq!(dialogue.hear().await.unwrap().len(), long.len());
    }

    #[tokio::test]
    async fn what_is_left_says_how_it_ended_and_why() {
        let script = "echo out; printf 'one\\n\\n  two\\nthree' >&2; exit 3";
        let mut dialogue = Dialogue::start(&shell(script)).await.unwrap();
        assert_eq!(dialogue.hear().await.unwrap(), "out");
        assert!(matches!(dialogue.hear().await, Err(Silence::Ended)));
        let remains = dialogue.remains().await;
        assert_eq!(remains.status, ProcessStatus::Exited(3));
        assert_eq!(remains.stderr, ["one", "two", "three"]);
    }

    #[tokio::test]
    async fn a_deaf_process_is_noticed() {
        let mut dialogue = Dialogue::start(&shell("exec 0<&-; echo ready; exec cat /dev/zero >&2")).await.unwrap();
        assert_eq!(dialogue.hear().await.unwrap(), "ready");
        dialogue.say("hello");
        // A process that is being started beside this one may hold our pipe for a moment, and then the line is
        // written; but no further line comes.
        assert!(matches!(dialogue.hear().await, Err(Silence::Deaf(_) | Silence::Ended)));
    }

    #[test]
    fn a_tail_is_short_whatever_comes() {
        let mut tail = Tail::default();
        for n in 0..100 {
            tail.take(format!("{n} {}\n", "y".repeat(10_000)).as_bytes());
        }
        tail.take(b"last");
        let lines = tail.lines();
        assert_eq!(lines.last().unwrap(), "last");
        assert!(lines.len() <= TAIL_LINES);
        assert!(lines.iter().map(String::len).sum::<usize>() <= TAIL_BYTES);
    }
}
