//! Processes that outlive a call and can be written to.
//!
//! A call starts a [`Terminal`], collects what it writes for a while and, if it still runs, keeps it in [`Terminals`]
//! under a number. Later calls write to it and collect more. Watchers receive output and the end, whenever it comes
//! ([`TerminalEvent`]).
//!
//! ```text
//! reserve ─► start ─► ended_early? ─► watch ─► collect ─┬─ ended: drop both
//!                                                       └─ running: keep ─► write … write
//! ```
//!
//! Dropping a terminal ends its process and everything in its group, and so does its end.
//!
//! Not here: events and messages, which the caller makes from these values.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;

use pellucid_tasks::Tasks;
use tokio::sync::mpsc;
use tokio::time::Instant;
use uuid::Uuid;

pub use self::answer::DEFAULT_OUTPUT_TOKENS;
pub use self::answer::answer;
pub use self::answer::chunk_id;
pub use self::answer::yield_start;
pub use self::answer::yield_write;
pub use self::buffer::BufferContent;
use self::pump::Streams;
pub use self::report::TerminalEvent;
use self::state::State;
use self::store::NUMBERS;
use self::store::Store;
pub use self::store::TERMINALS_MAX;
pub use self::store::TERMINALS_WARN;
use crate::before_exec::Attachment;
use crate::command::Command;
use crate::command::SpawnError;
use crate::listener::Listening;
use crate::spawner;
use crate::spawner::Plug;

mod answer;
mod buffer;
mod pty;
mod pump;
mod report;
mod state;
mod store;

/// How long a command has to end so that it counts as ended early.
const EARLY: Duration = Duration::from_millis(150);

/// How long a process has to take in what was written before its output is collected.
const PAUSE_AFTER_WRITE: Duration = Duration::from_millis(100);

const READ_BYTES: usize = 64 * 1024;

/// The kind of a process's input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessStreams {
    /// A terminal of 24 lines and 80 columns.
    Terminal,
    /// Pipes, with nothing to read. Both outputs are merged as they arrive.
    Pipes,
}

/// The output of a terminal since the last call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalOutput {
    /// The output, cut in the middle if it is long.
    pub output: BufferContent,
    /// The exit code, if the process has ended.
    pub exit_code: Option<i32>,
    /// How long output was collected.
    pub wall_time: Duration,
}

impl TerminalOutput {
    /// The output as text. Anything that is not UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output.bytes).into_owned()
    }
}

/// A process that can continue after the call that started it.
#[derive(Debug)]
pub struct Terminal {
    state: Arc<State>,
    kind: ProcessStreams,
    started: Instant,
}

impl Terminal {
    /// Starts a command in a terminal.
    ///
    /// # Errors
    /// When it cannot be started, or there is no terminal for it.
    pub async fn start(command: &Command, kind: ProcessStreams) -> Result<Self, SpawnError> {
        Self::start_heard(command, kind, None).await
    }

    /// The same with a listener that gets all of what the command writes.
    ///
    /// # Errors
    /// When it cannot be started, or there is no terminal for it.
    pub async fn start_heard(
        command: &Command,
        kind: ProcessStreams,
        listening: Listening,
    ) -> Result<Self, SpawnError> {
        let started = Instant::now();
        let (child, streams) = match kind {
            ProcessStreams::Terminal => {
                let (ours, theirs) = pty::open()?;
                let plugs = [theirs.try_clone()?, theirs.try_clone()?, theirs].map(Plug::File);
                (spawner::spawn(command, plugs, Attachment::Terminal).await?, Streams::Terminal(ours))
            }
            ProcessStreams::Pipes => {
                let plugs = [Plug::Nothing, Plug::Pipe, Plug::Pipe];
                let mut child = spawner::spawn(command, plugs, Attachment::Nothing).await?;
                let streams = Streams::Pipes(child.take_stdout(), child.take_stderr());
                (child, streams)
            }
        };
        let state = Arc::new(State::heard(listening));
        // The task ends with the process, which is ended when this terminal is dropped; reports of the end come after
        // that.
        Tasks::of_process().spawn("reading a terminal", pump::pump(Arc::clone(&state), child, streams));
        Ok(Self { state, kind, started })
    }

    /// Waits a moment for the end. If it comes, gives the exit code and the output, which stays for
    /// [`collect`](Self::collect).
    pub async fn ended_early(&self) -> Option<(i32, BufferContent)> {
        let code = self.state.ended_within(EARLY).await?;
        Some((code, self.state.unread()))
    }

    /// Reports output that comes from now on, and the end. One watcher is enough for a terminal.
    ///
    /// A watcher that lags misses output, never the end.
    pub fn watch(&self, reports: mpsc::Sender<TerminalEvent>) {
        self.state.begin_reports();
        let reporting = report::report(Arc::clone(&self.state), self.started, reports);
        Tasks::of_process().spawn("reporting on a terminal", reporting);
    }

    /// Collects output until the process has ended, or for so long.
    pub async fn collect(&self, limit: Duration) -> TerminalOutput {
        self.state.collect(limit).await
    }

    /// The exit code, if the process has ended.
    pub fn exit_code(&self) -> Option<i32> {
        self.state.exit_code()
    }

    /// Ends the process and everything in its group.
    pub fn terminate(&self) {
        self.state.terminate();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.terminate();
    }
}

/// The terminals of a session.
#[derive(Debug, Default)]
pub struct Terminals {
    store: Mutex<Store<Arc<Open>>>,
}

#[derive(Debug)]
struct Open {
    terminal: Terminal,
    call_id: String,
}

/// A number that a terminal will have. It is free again when this is dropped.
#[derive(Debug)]
pub struct Reservation {
    number: u32,
    terminals: Arc<Terminals>,
}

impl Reservation {
    /// The number that is reserved.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.terminals.lock().release(self.number);
    }
}

/// The result of keeping a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keeping {
    /// Another one that was ended, because there were too many.
    pub evicted: Option<u32>,
    /// The number of open terminals now.
    pub n_open: usize,
}

impl Keeping {
    /// Whether there are so many that the model should know.
    pub fn is_crowded(&self) -> bool {
        self.n_open >= TERMINALS_WARN
    }
}

/// The result of writing to a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The output. With an exit code, the terminal is gone.
    pub chunk: TerminalOutput,
    /// The call that started the command.
    pub call_id: String,
}

/// Why a terminal cannot be written to. The text is sent to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TerminalWriteError {
    /// No terminal has this number.
    #[error("write_stdin failed: Unknown process id {0}")]
    Unknown(u32),
    /// The process has pipes, and nothing to read.
    #[error(
        "write_stdin failed: stdin is closed for this session; rerun exec_command with tty=true to keep stdin open"
    )]
    StdinClosed,
}

impl Terminals {
    fn lock(&self) -> MutexGuard<'_, Store<Arc<Open>>> {
        // Every change under the lock is done in one step.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no terminal is open.
    pub fn is_empty(&self) -> bool {
        self.lock().len() == 0
    }

    /// Reserves a number for a command that is about to start.
    pub fn reserve(self: &Arc<Self>) -> Reservation {
        let n_numbers = u64::from(NUMBERS.end - NUMBERS.start);
        let any = || NUMBERS.start + u32::try_from(chance() % n_numbers).unwrap_or_default();
        Reservation { number: self.lock().reserve(any), terminals: Arc::clone(self) }
    }

    /// Keeps a terminal under the number that was reserved for it. `call_id` is the call that started
    /// its command. If there are too many, one of the others is ended.
    #[expect(clippy::needless_pass_by_value, reason = "a reservation is used up")]
    pub fn keep(&self, reservation: Reservation, terminal: Terminal, call_id: String) -> Keeping {
        let open = Arc::new(Open { terminal, call_id });
        let (evicted, n_open) = {
            let mut store = self.lock();
            let evicted = store.insert(reservation.number, open, |it| it.terminal.exit_code().is_some());
            (evicted, store.len())
        };
        let evicted = evicted.map(|(number, open)| {
            open.terminal.terminate();
            number
        });
        Keeping { evicted, n_open }
    }

    /// Writes to a terminal, or only looks if `characters` are empty, and collects output until its
    /// process has ended, or for so long.
    ///
    /// # Errors
    /// When there is no such terminal, or its process cannot read.
    pub async fn write(&self, number: u32, characters: &str, limit: Duration) -> Result<Written, TerminalWriteError> {
        let open = self.lock().touch(number).map(Arc::clone).ok_or(TerminalWriteError::Unknown(number))?;
        let terminal = &open.terminal;
        if !characters.is_empty() {
            if terminal.kind == ProcessStreams::Pipes {
                return Err(TerminalWriteError::StdinClosed);
            }
            terminal.state.write(characters.as_bytes());
            terminal.state.ended_within(PAUSE_AFTER_WRITE).await;
        }
        let chunk = terminal.collect(limit).await;
        if chunk.exit_code.is_some() {
            self.lock().remove(number);
        }
        Ok(Written { chunk, call_id: open.call_id.clone() })
    }

    /// Ends the process of one terminal, if there is one with this number. The terminal stays until its end is read.
    pub fn terminate(&self, number: u32) {
        if let Some(open) = self.lock().touch(number) {
            open.terminal.terminate();
        }
    }

    /// Ends all of them, and waits until they have ended. How many there were.
    pub async fn terminate_all(&self) -> usize {
        let all = self.lock().remove_all();
        for open in &all {
            open.terminal.terminate();
        }
        for open in &all {
            open.terminal.state.when_over().await;
        }
        all.len()
    }
}

/// Some bits of chance.
fn chance() -> u64 {
    // The lower half of a random id has two bits that are fixed, the highest.
    Uuid::new_v4().as_u64_pair().1 & (u64::MAX >> 2)
}
