//! How fast questions may be asked: so many at once, so many a minute.
//!
//! A value that receives events with their times and returns the tasks that may begin. The clock is the caller's.

use std::collections::VecDeque;

/// A minute. A start exactly as old still counts.
const MINUTE_MS: u64 = 60_000;

/// The shortest wait for room.
const WAIT_MIN_MS: u64 = 100;

/// The limits of the rate limiter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// How many may begin within a minute.
    pub tasks_per_minute: f64,
    /// How many may run at once.
    pub tasks_at_once: f64,
    /// The effect of a failure on waiting tasks.
    pub after_failure: AfterFailure,
}

/// The effect of a failure on waiting tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// Waiting tasks are cancelled.
    Cancel,
    /// Waiting tasks begin in turn.
    GoOn,
}

impl Default for Options {
    fn default() -> Self {
        Self { tasks_per_minute: 20.0, tasks_at_once: 5.0, after_failure: AfterFailure::Cancel }
    }
}

/// Options with which tasks would wait without end, or that contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum InvalidOptions {
    /// Nothing could ever begin.
    #[error("{0} requests a minute: at least 1 must be allowed")]
    Rate(f64),
    /// Nothing could ever run.
    #[error("{0} requests at once: at least 1 must be allowed")]
    AtOnce(f64),
    /// More would run at once than may begin in a minute.
    #[error("{at_once} requests at once are more than {per_minute} a minute: allow fewer at once or more a minute")]
    TooManyAtOnce {
        /// How many may run at once.
        at_once: f64,
        /// How many may begin within a minute.
        per_minute: f64,
    },
}

/// The waiting and running tasks, and the times at which the last ones began.
#[derive(Debug)]
pub struct RateLimiter {
    options: Options,
    waiting: VecDeque<usize>,
    n_submitted: usize,
    n_running: usize,
    starts_ms: VecDeque<u64>,
}

/// The tasks that change state now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Now {
    /// Tasks that may begin.
    pub start: Vec<usize>,
    /// Tasks that are cancelled.
    pub cancel: Vec<usize>,
    /// Look again after so long, because too many began within the last minute.
    pub look_again_ms: Option<u64>,
}

impl RateLimiter {
    /// A limiter without waiting tasks.
    ///
    /// # Errors
    /// When nothing could ever run, or more would run at once than may begin within a minute.
    pub fn new(options: Options) -> Result<Self, InvalidOptions> {
        let Options { tasks_per_minute: per_minute, tasks_at_once: at_once, .. } = options;
        // Written so that what is not a number is refused too.
        let is_some = |n: f64| n >= 1.0;
        if !is_some(per_minute) {
            return Err(InvalidOptions::Rate(per_minute));
        }
        if !is_some(at_once) {
            return Err(InvalidOptions::AtOnce(at_once));
        }
        if at_once > per_minute {
            return Err(InvalidOptions::TooManyAtOnce { at_once, per_minute });
        }
        Ok(Self { options, waiting: VecDeque::new(), n_submitted: 0, n_running: 0, starts_ms: VecDeque::new() })
    }

    /// A further task. Its number is the count of those before it.
    pub fn submit(&mut self, now_ms: u64) -> Now {
        self.waiting.push_back(self.n_submitted);
        self.n_submitted += 1;
        self.look(now_ms)
    }

    /// Notes that a task ended.
    pub fn end(&mut self, end: TaskEnd, now_ms: u64) -> Now {
        self.n_running = self.n_running.saturating_sub(1);
        if end == TaskEnd::Failed && self.options.after_failure == AfterFailure::Cancel {
            let cancel: Vec<usize> = self.waiting.drain(..).collect();
            return Now { cancel, ..Now::default() };
        }
        self.look(now_ms)
    }

    /// The tasks that may begin at this time.
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
                self.starts_ms.push_back(now_ms);
                self.n_running += 1;
                now.start.push(task);
            }
        }
        now
    }
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEnd {
    /// The task ended with a result.
    Done,
    /// The task ended with an error.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_options(per_minute: f64, at_once: f64, expected: Result<(), &str>) {
        let options = Options { tasks_per_minute: per_minute, tasks_at_once: at_once, ..Options::default() };
        let found = RateLimiter::new(options).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn options_with_which_nothing_could_run_are_refused() {
        check_options(1.0, 1.0, Ok(()));
        check_options(0.0, 1.0, Err("0 requests a minute: at least 1 must be allowed"));
        check_options(-3.0, -4.0, Err("-3 requests a minute: at least 1 must be allowed"));
        check_options(f64::NAN, 1.0, Err("NaN requests a minute: at least 1 must be allowed"));
        check_options(20.0, 0.0, Err("0 requests at once: at least 1 must be allowed"));
        check_options(20.0, f64::NAN, Err("NaN requests at once: at least 1 must be allowed"));
        check_options(
            2.0,
            5.0,
            Err("5 requests at once are more than 2 a minute: allow fewer at once or more a minute"),
        );
    }

    fn limiter(per_minute: f64, at_once: f64, after_failure: AfterFailure) -> RateLimiter {
        RateLimiter::new(Options { tasks_per_minute: per_minute, tasks_at_once: at_once, after_failure }).unwrap()
    }

    fn start(tasks: &[usize]) -> Now {
        Now { start: tasks.to_vec(), ..Now::default() }
    }

    #[test]
    fn so_many_run_at_once_and_the_next_begins_when_one_ends() {
        let mut limiter = limiter(20.0, 2.0, AfterFailure::GoOn);
        assert_eq!([limiter.submit(0), limiter.submit(0), limiter.submit(0)], [start(&[0]), start(&[1]), start(&[])]);
        assert_eq!(limiter.look(1000), start(&[]));
        assert_eq!(limiter.end(TaskEnd::Done, 1000), start(&[2]));
        assert_eq!(limiter.end(TaskEnd::Failed, 1000), start(&[]));
        assert_eq!(limiter.end(TaskEnd::Done, 1000), start(&[]));
        assert_eq!(limiter.end(TaskEnd::Done, 1000), start(&[]), "an end too many does no harm");
    }

    #[test]
    fn so_many_begin_within_a_minute_and_the_rest_waits() {
        let mut limiter = limiter(2.0, 2.0, AfterFailure::GoOn);
        limiter.submit(0);
        limiter.submit(10_000);
        limiter.end(TaskEnd::Done, 20_000);
        let wait = |ms| Now { look_again_ms: Some(ms), ..Now::default() };
        assert_eq!(limiter.submit(20_000), wait(40_000));
        assert_eq!(limiter.look(59_950), wait(100), "a wait is never too short");
        assert_eq!(limiter.look(60_000), wait(100), "a start exactly a minute ago still counts");
        assert_eq!(limiter.look(60_001), start(&[2]));
    }

    #[test]
    fn a_failure_cancels_those_that_wait_where_that_is_wanted() {
        let mut strict = limiter(9.0, 1.0, AfterFailure::Cancel);
        (0..3).for_each(|_| drop(strict.submit(0)));
        assert_eq!(strict.end(TaskEnd::Failed, 5), Now { cancel: vec![1, 2], ..Now::default() });
        assert_eq!(strict.end(TaskEnd::Failed, 5), Now::default());
        assert_eq!(strict.submit(5), start(&[3]), "later ones may begin");
    }
}
