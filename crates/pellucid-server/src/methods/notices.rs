//! A result together with notifications for all clients.

use crate::types::notification::ServerNotification;

/// A result for the client that asked, and notifications that all clients receive after it.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerWithNotices<R> {
    /// The result for the client that asked.
    pub result: R,
    /// The notifications, in the order in which they are sent.
    pub notices: Vec<ServerNotification>,
}
