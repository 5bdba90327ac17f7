//! The state of a process in a terminal: its output, its end, its pending input.
//!
//! One task feeds the state from the process ([`pump`](super::pump)); calls and reports wait for a change. The state
//! holds no process, so its waits are tested with a clock that tests move.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::Instant;
use tokio::time::timeout_at;

use super::TerminalOutput;
use super::buffer::BufferContent;
use super::buffer::HeadTail;
use crate::listener::Listening;

/// How much output is kept for the next call, and for the report of the end.
const KEPT_BYTES: usize = 1024 * 1024;

/// How much output waits for a reader of reports that lags.
const UNSENT_BYTES: usize = 1024 * 1024;

/// How long output is collected from streams that stay open after the end.
const DRAIN: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct State {
    inner: Mutex<Inner>,
    changed: Notify,
    listening: Listening,
}

#[derive(Debug)]
pub(super) struct Inner {
    /// Output that no call has returned yet.
    unread: HeadTail,
    /// Everything, for the report of the end.
    transcript: HeadTail,
    /// Output that was not reported yet, if there are reports.
    unsent: Option<VecDeque<u8>>,
    n_unsent_dropped: u64,
    input: VecDeque<u8>,
    exit_code: Option<i32>,
    /// Whether nothing more will be read.
    is_over: bool,
    is_terminated: bool,
}

/// The content of the next report.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    Output(Vec<u8>),
    Ended { exit_code: i32, output: BufferContent, n_dropped: u64 },
}

impl Default for State {
    fn default() -> Self {
        Self::heard(None)
    }
}

impl State {
    /// With nothing written yet.
    pub(super) fn heard(listening: Listening) -> Self {
        let inner = Inner {
            unread: HeadTail::new(KEPT_BYTES),
            transcript: HeadTail::new(KEPT_BYTES),
            unsent: None,
            n_unsent_dropped: 0,
            input: VecDeque::new(),
            exit_code: None,
            is_over: false,
            is_terminated: false,
        };
        Self { inner: Mutex::new(inner), changed: Notify::new(), listening }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // No change under the lock can be left half done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.notify_waiters();
        result
    }

    /// Waits until `found` finds something.
    async fn wait_for<T>(&self, mut found: impl FnMut(&mut Inner) -> Option<T>) -> T {
        loop {
            // Listening begins before looking, so that no change is missed between the two.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let result = found(&mut self.lock());
            if let Some(result) = result {
                return result;
            }
            changed.await;
        }
    }

    // Called by the pump.

    pub(super) fn wrote(&self, bytes: &[u8]) {
        if let Some(listener) = &self.listening {
            listener.wrote(bytes);
        }
        self.change(|inner| {
            inner.unread.push(bytes);
            inner.transcript.push(bytes);
            if let Some(unsent) = &mut inner.unsent {
                let kept = &bytes[..bytes.len().min(UNSENT_BYTES - unsent.len())];
                unsent.extend(kept);
                inner.n_unsent_dropped += (bytes.len() - kept.len()) as u64;
            }
        });
    }

    pub(super) fn exited(&self, code: i32) {
        self.change(|inner| inner.exit_code = Some(code));
    }

    /// No output follows. A process that could not be waited for counts as ended too.
    pub(super) fn over(&self) {
        self.change(|inner| {
            inner.exit_code.get_or_insert(-1);
            inner.is_over = true;
        });
    }

    // Requests to the process.

    pub(super) fn write(&self, bytes: &[u8]) {
        self.change(|inner| inner.input.extend(bytes));
    }

    pub(super) async fn next_input(&self) -> Vec<u8> {
        self.wait_for(|inner| (!inner.input.is_empty()).then(|| inner.input.drain(..).collect())).await
    }

    pub(super) fn terminate(&self) {
        self.change(|inner| inner.is_terminated = true);
    }

    pub(super) async fn terminated(&self) {
        self.wait_for(|inner| inner.is_terminated.then_some(())).await;
    }

    // Queries by calls.

    pub(super) fn exit_code(&self) -> Option<i32> {
        self.lock().exit_code
    }

    /// Waits for the end, then for what was still in the streams.
    pub(super) async fn ended_within(&self, limit: Duration) -> Option<i32> {
        self.ended_by(Instant::now() + limit).await
    }

    /// Waits until there is nothing more to wait for.
    pub(super) async fn when_over(&self) {
        self.wait_for(|inner| inner.is_over.then_some(())).await;
    }

    async fn ended_by(&self, deadline: Instant) -> Option<i32> {
        let ended = self.wait_for(|inner| inner.exit_code);
        let code = timeout_at(deadline, ended).await.ok()?;
        let drained = Instant::now() + DRAIN;
        if timeout_at(drained, self.when_over()).await.is_err() {
            // Output that came at the same moment as the time-out still counts.
            yield_now().await;
        }
        Some(code)
    }

    /// Output that no call has returned yet.
    pub(super) fn unread(&self) -> BufferContent {
        self.lock().unread.kept()
    }

    /// Collects output until the end, or for so long.
    pub(super) async fn collect(&self, limit: Duration) -> TerminalOutput {
        let started = Instant::now();
        let exit_code = self.ended_by(started + limit).await;
        let output = self.lock().unread.take();
        TerminalOutput { output, exit_code, wall_time: started.elapsed() }
    }

    // Reports for watchers.

    /// From now on, output is kept for reports.
    pub(super) fn begin_reports(&self) {
        self.lock().unsent.get_or_insert_default();
    }

    pub(super) async fn news(&self) -> News {
        self.wait_for(|inner| {
            let unsent = inner.unsent.get_or_insert_default();
            if !unsent.is_empty() {
                return Some(News::Output(unsent.drain(..).collect()));
            }
            let exit_code = inner.exit_code.filter(|_| inner.is_over)?;
            Some(News::Ended { exit_code, output: inner.transcript.take(), n_dropped: inner.n_unsent_dropped })
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::time::sleep;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Collects for a second from a process that does `script`: waits, writes, ends.
    async fn check_collect(script: &[(u64, &str)], expected: &str) -> Arc<State> {
        let state = Arc::new(State::default());
        let process = Arc::clone(&state);
        let script: Vec<(u64, String)> = script.iter().map(|(at, what)| (*at, (*what).to_owned())).collect();
        let started = Instant::now();
        let playing = tokio::spawn(async move {
            for (at, what) in script {
                tokio::time::sleep_until(started + ms(at)).await;
                match what.as_str() {
                    "exit" => process.exited(3),
                    "close" => process.over(),
                    words => process.wrote(words.as_bytes()),
                }
            }
        });
        let chunk = state.collect(SECOND).await;
        let shown = format!("{} {:?} {}", chunk.text(), chunk.exit_code, chunk.wall_time.as_millis());
        assert_eq!(shown, expected);
        playing.await.unwrap();
        state
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_process_is_not_waited_for() {
        check_collect(&[(0, "a"), (7, "exit"), (7, "close")], "a Some(3) 7").await;
    }

    #[tokio::test(start_paused = true)]
    async fn open_streams_are_read_for_a_moment_after_the_end() {
        check_collect(&[(0, "a"), (10, "exit"), (30, "b"), (40, "close")], "ab Some(3) 40").await;
        check_collect(&[(0, "a"), (10, "exit"), (30, "b"), (90, "c"), (100, "close")], "ab Some(3) 60").await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_process_is_left_when_time_is_up() {
        let state = check_collect(&[(100, "a"), (1500, "b"), (1600, "exit"), (1600, "close")], "a None 1000").await;
        let chunk = state.collect(SECOND).await;
        assert_eq!((chunk.text().as_str(), chunk.exit_code, chunk.wall_time), ("b", Some(3), Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn an_early_end_is_seen_and_nothing_is_taken() {
        let state = State::default();
        let started = Instant::now();
        assert_eq!(state.ended_within(ms(150)).await, None);
        assert_eq!(started.elapsed(), ms(150));
        state.wrote(b"x");
        state.exited(1);
        state.over();
        assert_eq!(state.ended_within(ms(150)).await, Some(1));
        assert_eq!(state.unread().bytes, b"x");
        assert_eq!(state.collect(SECOND).await.text(), "x");
    }

    #[tokio::test(start_paused = true)]
    async fn reports_begin_when_asked_for_and_the_end_tells_all() {
        let state = State::default();
        state.wrote(b"early ");
        state.begin_reports();
        state.wrote(b"late");
        assert_eq!(state.news().await, News::Output(b"late".to_vec()));
        state.exited(0);
        tokio::select! {
            _ = state.news() => unreachable!("more may come"),
            () = sleep(SECOND) => {}
        }
        state.over();
        let output = BufferContent { bytes: b"early late".to_vec(), n_omitted: 0 };
        assert_eq!(state.news().await, News::Ended { exit_code: 0, output, n_dropped: 0 });
    }

    #[tokio::test]
    async fn a_reader_that_lags_loses_output_but_not_the_end() {
        let state = State::default();
        state.begin_reports();
        state.wrote(&vec![b'x'; UNSENT_BYTES]);
        state.wrote(b"more");
        state.exited(0);
        state.over();
        assert!(matches!(state.news().await, News::Output(bytes) if bytes.len() == UNSENT_BYTES));
        assert!(matches!(state.news().await, News::Ended { n_dropped: 4, .. }));
    }

    #[tokio::test]
    async fn a_process_that_cannot_be_waited_for_has_ended() {
        let state = State::default();
        state.over();
        assert_eq!(state.collect(SECOND).await.exit_code, Some(-1));
    }
}
