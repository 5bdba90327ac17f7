//! An answer that is also news for others.

use crate::types::notification::ServerNotification;

/// An answer, and what all clients are told after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Told<R> {
    /// The answer.
    pub result: R,
    /// What is told, in this order.
    pub notices: Vec<ServerNotification>,
}
