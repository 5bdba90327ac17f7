//! Whether clients of a session want to know what each request is made of.
//!
//! Clients come and go while a session runs, so a session asks before each event. Without a client that wants events, none
//! are made.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

/// A switch for the events about the context of one session. Its clones are the same switch.
#[derive(Debug, Clone, Default)]
pub struct ContextEvents(Arc<Switch>);

#[derive(Debug, Default)]
struct Switch {
    is_on: AtomicBool,
    has_new_reader: AtomicBool,
}

impl ContextEvents {
    /// A client that wants events joins. The next report has all of its rows, as that client does not have those before.
    pub fn join(&self) {
        self.0.has_new_reader.store(true, Ordering::Relaxed);
        self.0.is_on.store(true, Ordering::Relaxed);
    }

    /// The last client that wants events has left.
    pub fn stop(&self) {
        self.0.is_on.store(false, Ordering::Relaxed);
    }

    /// Whether a client wants events.
    pub fn are_wanted(&self) -> bool {
        self.0.is_on.load(Ordering::Relaxed)
    }

    /// Whether a client joined since this was asked last.
    pub(crate) fn take_new_reader(&self) -> bool {
        self.0.has_new_reader.swap(false, Ordering::Relaxed)
    }
}
