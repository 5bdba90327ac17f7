//! Whether clients of a session want to know what each request is made of.
//!
//! Clients come and go while a session runs, so a session asks before each event. Without a client that wants events, none
//! are made.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

/// A switch for the events about the context of one session. Its clones are the same switch.
#[derive(Debug, Clone, Default)]
pub struct ContextEvents {
    switch: Arc<Switch>,
    /// How many clients had joined when the session asked last.
    n_seen: usize,
}

#[derive(Debug, Default)]
struct Switch {
    is_on: AtomicBool,
    has_usage_reader: AtomicBool,
    has_request_reader: AtomicBool,
    n_joined: AtomicUsize,
}

impl ContextEvents {
    /// A client that wants events joins. The next report has all of its rows, as that client does not have those before.
    pub fn join(&self) {
        self.switch.n_joined.fetch_add(1, Ordering::Relaxed);
        self.switch.is_on.store(true, Ordering::Relaxed);
    }

    /// A client joins that wants to know what each request cost, and nothing else.
    pub fn join_for_usage(&self) {
        self.switch.has_usage_reader.store(true, Ordering::Relaxed);
    }

    /// A client joins that wants to know each request with its digest. Sessions that this one opens from now on report theirs.
    pub fn join_for_requests(&self) {
        self.switch.has_request_reader.store(true, Ordering::Relaxed);
    }

    /// Whether a client wants to know each request with its digest.
    pub(crate) fn are_requests_wanted(&self) -> bool {
        self.switch.has_request_reader.load(Ordering::Relaxed)
    }

    /// Whether a client wants to know what each request cost.
    pub fn is_usage_wanted(&self) -> bool {
        self.are_wanted() || self.switch.has_usage_reader.load(Ordering::Relaxed)
    }

    /// The last client that wants events has left.
    pub fn stop(&self) {
        self.switch.is_on.store(false, Ordering::Relaxed);
    }

    /// Whether a client wants events.
    pub fn are_wanted(&self) -> bool {
        self.switch.is_on.load(Ordering::Relaxed)
    }

    /// Whether a client joined since this session asked last. Each session that has the switch asks for itself.
    pub(crate) fn take_new_reader(&mut self) -> bool {
        let n_joined = self.switch.n_joined.load(Ordering::Relaxed);
        std::mem::replace(&mut self.n_seen, n_joined) != n_joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_hears_once_of_a_client_that_joined() {
        let mut session = ContextEvents::default();
        let mut reviewer = session.clone();
        assert!(!session.take_new_reader() && !session.are_wanted());
        session.join();
        assert!(reviewer.take_new_reader() && session.take_new_reader() && reviewer.are_wanted());
        assert!(!reviewer.take_new_reader() && !session.take_new_reader());
    }
}
