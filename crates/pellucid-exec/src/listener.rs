//! A receiver that gets a copy of all output of a command, before any of it is dropped.

use std::fmt;
use std::sync::Arc;

/// Gets every byte of both streams, in the order in which they are read.
pub trait OutputListener: fmt::Debug + Send + Sync {
    /// A command wrote this.
    fn wrote(&self, bytes: &[u8]);
}

/// A listener, or none.
pub type Listening = Option<Arc<dyn OutputListener>>;
