//! How fast questions may be asked: so many at once, so many a minute.
//!
//! A value that is told what happens and when, and says what may begin. The clock is the caller's.

use std::collections::VecDeque;

/// A minute. A start exactly as old still counts.
const MINUTE_MS: u64 = 60_000;

/// The shortest wait for room.
const WAIT_MIN_MS: u64 = 100;

/// How fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// How many may begin within a minute.
    pub tasks_per_minute: f64,
    /// How many may run at once.
    pub tasks_at_once: f64,
    /// What a failure does to those that wait.
    pub after_failure: AfterFailure,
}

/// What a failure does to those that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// They are canceled.
    Cancel,
    /// They go on.
    GoOn,
}

impl Default for Options {
    fn default() -> Self {
        Self { tasks_per_minute: 20.0, tasks_at_once: 5.0, after_failure: AfterFailure::Cancel }
    }
}

/// More would run at once than may begin in a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more tasks may run at once than may begin within a minute")]
pub struct TooManyAtOnce;

/// Who waits, who runs, and when the last ones began.
#[derive(Debug)]
pub struct RateLimiter {
    options: Options,
    waiting: VecDeque<usize>,
    n_submitted: usize,
    n_running: usize,
    starts_ms: VecDeque<u64>,
    /// How many wait, after each change.
    lengths: Vec<usize>,
}

/// What may happen now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Now {
    /// These may begin.
    pub start: Vec<usize>,
    /// These will not.
    pub cancel: Vec<usize>,
    /// Look again after so long, because too many began within the last minute.
    pub look_again_ms: Option<u64>,
}

impl RateLimiter {
    /// A limiter that nobody waits for.
    ///
    /// # Errors
    /// When the options contradict each other.
    pub fn new(options: Options) -> Result<Self, TooManyAtOnce> {
        if options.tasks_at_once > options.tasks_per_minute {
            return Err(TooManyAtOnce);
        }
        Ok(Self {
            options,
            waiting: VecDeque::new(),
            n_submitted: 0,
            n_running: 0,
            starts_ms: VecDeque::new(),
            lengths: Vec::new(),
        })
    }

    /// A further task. Its number is the count of those before it.
    pub fn submit(&mut self, now_ms: u64) -> Now {
        self.waiting.push_back(self.n_submitted);
        self.n_submitted += 1;
        self.lengths.push(self.waiting.len());
        self.look(now_ms)
    }

    /// A task ended.
    pub fn end(&mut self, end: End, now_ms: u64) -> Now {
        self.n_running = self.n_running.saturating_sub(1);
        if end == End::Failed && self.options.after_failure == AfterFailure::Cancel {
            let cancel: Vec<usize> = self.waiting.drain(..).collect();
            if !cancel.is_empty() {
                self.lengths.push(0);
            }
            return Now { cancel, ..Now::default() };
        }
        self.look(now_ms)
    }

    /// What may begin now.
    pub fn look(&mut self, now_ms: u64) -> Now {
        let mut now = Now::default();
        while !self.waiting.is_empty() && (self.n_running as f64) < self.options.tasks_at_once {
            while self.starts_ms.front().is_some_and(|start| now_ms - start > MINUTE_MS) {
                self.starts_ms.pop_front();
            }
            if self.starts_ms.len() as f64 >= self.options.tasks_per_minute {
                let age = self.starts_ms.front().map_or(0, |start| now_ms - start);
                now.look_again_ms = Some((MINUTE_MS - age).max(WAIT_MIN_MS));
                break;
            }
            if let Some(task) = self.waiting.pop_front() {
                self.lengths.push(self.waiting.len());
                self.starts_ms.push_back(now_ms);
                self.n_running += 1;
                now.start.push(task);
            }
        }
        now
    }

    /// How many waited, after each change so far.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Well.
    Done,
    /// Not well.
    Failed,
}
