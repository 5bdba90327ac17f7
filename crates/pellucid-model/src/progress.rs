//! How far a streamed reply has come, for formats whose server says why it stopped.

use pellucid_protocol::reply::ReplyError;

/// How far a stream has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing has come.
    #[default]
    Waiting,
    /// The reply has begun.
    Begun,
    /// The server said why it stopped; figures may follow.
    Stopped,
    /// The reply is complete, and nothing that follows counts.
    Completed,
}

impl Progress {
    /// Whether a reply whose stream ended now is still to be completed.
    ///
    /// # Errors
    ///
    /// When the server did not say why it stopped: the stream ended before the field or event of this name.
    pub(crate) fn at_end(self, awaited: &str) -> Result<bool, ReplyError> {
        match self {
            Self::Stopped => Ok(true),
            Self::Completed => Ok(false),
            Self::Waiting | Self::Begun => Err(ReplyError::stream(format!("stream closed before {awaited}"))),
        }
    }
}
