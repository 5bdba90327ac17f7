//! Which loaded threads are unloaded, and when.
//!
//! The server keeps the threads that ran last. A thread that idles for long, or that is the least recently used of too many,
//! is asked to be unloaded; it stays loaded if anything would be lost or interrupted ([`pellucid_agent::door::UnloadBell`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::Weak;
use std::time::Duration;

use tokio::time::Instant;

use crate::loaded::LoadedSession;
use crate::server::Server;
use crate::server::held;
use pellucid_config::config::ThreadSettings;

/// How many threads are asked at once because there are too many. Threads that stay loaded cost little time so.
const ASKED_AT_ONCE: usize = 2;

/// The loaded threads in the order of their last use.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    n_uses: u64,
    by_use: BTreeMap<u64, Used<T>>,
    limits: ThreadSettings,
}

#[derive(Debug)]
struct Used<T> {
    at: Instant,
    thread: T,
}

impl<T: Clone> Recent<T> {
    fn new(limits: ThreadSettings) -> Self {
        Self { n_uses: 0, by_use: BTreeMap::new(), limits }
    }

    /// Notes that a thread is used, which had this number since it was used last. Gives the new number.
    fn used(&mut self, number: u64, thread: T, at: Instant) -> u64 {
        self.by_use.remove(&number);
        self.n_uses += 1;
        self.by_use.insert(self.n_uses, Used { at, thread });
        self.n_uses
    }

    /// Forgets a thread, because it is unloaded or over.
    fn left(&mut self, number: u64) {
        self.by_use.remove(&number);
    }

    /// The threads to ask now: those that idle for too long, and a few if there are too many.
    fn due(&self, now: Instant) -> Vec<T> {
        let idle = self.limits.unload_after;
        let n_over = self.by_use.len().saturating_sub(self.limits.loaded_max).min(ASKED_AT_ONCE);
        let is_due = |(n, used): &(usize, &Used<T>)| {
            *n < n_over || idle.is_some_and(|idle| now.saturating_duration_since(used.at) >= idle)
        };
        self.by_use.values().enumerate().take_while(is_due).map(|(_, used)| used.thread.clone()).collect()
    }

    /// For how long no thread idles too long, at least.
    fn pause(&self, now: Instant) -> Option<Duration> {
        let idle = self.limits.unload_after?;
        let idles_for = self.by_use.values().next().map(|used| now.saturating_duration_since(used.at));
        Some(idle.saturating_sub(idles_for.unwrap_or_default()))
    }
}

/// Unloads the threads of a server.
#[derive(Debug)]
pub(crate) struct Unloading {
    recent: Mutex<Option<Recent<Weak<LoadedSession>>>>,
}

impl Unloading {
    pub(crate) fn new() -> Self {
        Self { recent: Mutex::default() }
    }

    /// Notes that a thread was opened under these settings. They hold for all threads from now on.
    pub(crate) fn opened(&self, server: &Arc<Server>, session: &Arc<LoadedSession>, limits: ThreadSettings) {
        let is_first = {
            let recent = &mut *held(&self.recent);
            let is_first = recent.is_none();
            recent.get_or_insert_with(|| Recent::new(limits)).limits = limits;
            is_first
        };
        if is_first && limits.unload_after.is_some() {
            server.tasks.spawn("unloading idle threads", ask_when_idle(Arc::downgrade(server)));
        }
        self.used(session);
    }

    /// Notes that a thread is used, or idles from now on, and asks threads that should be unloaded.
    pub(crate) fn used(&self, session: &Arc<LoadedSession>) {
        if !session.can_be_unloaded() {
            return;
        }
        let due = {
            let recent = &mut *held(&self.recent);
            let Some(recent) = recent else { return };
            let now = Instant::now();
            session.set_use_number(recent.used(session.use_number(), Arc::downgrade(session), now));
            recent.due(now)
        };
        self.ask(&due);
    }

    /// Forgets a thread, because it is unloaded or over.
    pub(crate) fn left(&self, session: &LoadedSession) {
        if let Some(recent) = &mut *held(&self.recent) {
            recent.left(session.use_number());
        }
    }

    /// How many threads are loaded that could be unloaded.
    #[cfg(test)]
    pub(crate) fn n_loaded(&self) -> usize {
        held(&self.recent).as_ref().map_or(0, |recent| recent.by_use.len())
    }

    fn ask(&self, due: &[Weak<LoadedSession>]) {
        for session in due.iter().filter_map(Weak::upgrade) {
            // A thread that stays loaded is asked again after the others.
            if let Some(recent) = &mut *held(&self.recent) {
                session.set_use_number(recent.used(session.use_number(), Arc::downgrade(&session), Instant::now()));
            }
            session.ask_to_unload();
        }
    }

    fn ask_idle(&self) -> Option<Duration> {
        let now = Instant::now();
        let due = held(&self.recent).as_ref().map(|recent| recent.due(now)).unwrap_or_default();
        self.ask(&due);
        held(&self.recent).as_ref()?.pause(now)
    }
}

/// Asks threads that idle for too long, as long as the server lives.
async fn ask_when_idle(server: Weak<Server>) {
    while let Some(pause) = server.upgrade().and_then(|server| server.unloading.ask_idle()) {
        // At most one round a second, whatever the settings are.
        tokio::time::sleep(pause.max(Duration::from_secs(1))).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of these ids are used every ten seconds; then those are due which are named.
    #[track_caller]
    fn check_due(limits: (usize, Option<u64>), used: &[&'static str], after: u64, expected: &[&str]) {
        let (loaded_max, unload_after) = limits;
        let unload_after = unload_after.map(Duration::from_secs);
        let mut recent = Recent::new(ThreadSettings { loaded_max, unload_after });
        let (start, mut numbers) = (Instant::now(), BTreeMap::new());
        for (n, id) in (0..).zip(used) {
            let number = numbers.get(id).copied().unwrap_or_default();
            numbers.insert(*id, recent.used(number, *id, start + Duration::from_secs(10 * n)));
        }
        let now = start + Duration::from_secs(after);
        assert_eq!(recent.due(now), expected);
    }

    #[test]
    fn those_are_due_that_were_used_least_recently_of_too_many() {
        check_due((2, None), &["a", "b"], 1000, &[]);
        check_due((2, None), &["a", "b", "c"], 1000, &["a"]);
        check_due((2, None), &["a", "b", "a", "c"], 1000, &["b"]);
        check_due((1, None), &["a", "b", "c", "d"], 1000, &["a", "b"]);
    }

    #[test]
    fn those_are_due_that_idle_for_too_long() {
        check_due((9, Some(20)), &["a", "b", "c"], 29, &["a"]);
        check_due((9, Some(20)), &["a", "b", "c"], 30, &["a", "b"]);
        check_due((9, Some(20)), &["a", "b", "a"], 30, &["b"]);
        check_due((9, None), &["a", "b", "a"], 3000, &[]);
    }

    #[test]
    fn no_round_comes_before_a_thread_idles_too_long() {
        let limits = |unload_after| ThreadSettings { loaded_max: 9, unload_after };
        let mut recent = Recent::new(limits(Some(Duration::from_secs(20))));
        let start = Instant::now();
        recent.used(0, "a", start);
        assert_eq!(recent.pause(start + Duration::from_secs(5)), Some(Duration::from_secs(15)));
        assert_eq!(recent.pause(start + Duration::from_secs(50)), Some(Duration::ZERO));
        recent.left(1);
        assert_eq!(recent.pause(start + Duration::from_secs(50)), Some(Duration::from_secs(20)));
        recent.limits = limits(None);
        assert_eq!(recent.pause(start), None);
    }
}
