//! A recorded conversation under other settings: which requests would have been made.
//!
//! A session is opened as for a client, with the files as they are now, and has the recorded conversation again. Under the
//! recorded settings the requests must come out as they were sent: if they do not, something that they were made of has
//! changed, and nothing is known of other settings either. The caller compares.

use pellucid_protocol::id::SessionId;
use pellucid_store::read::ReadError;

use crate::open;
use crate::open::OpenError;
use crate::open::Opening;
use crate::open::Persistence;
use crate::open::SessionPlan;
use crate::prepare::PrepareError;
use crate::replay::SaidSession;
use crate::session;
use crate::session::RerunVisit;

/// Why it is not known which requests would have been made.
#[derive(Debug, thiserror::Error)]
pub enum RerunError {
    /// The session cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It depends on something that the record does not have.
    #[error("{0}")]
    Unknown(String),
}

impl From<ReadError> for RerunError {
    fn from(error: ReadError) -> Self {
        Self::Open(error.into())
    }
}

impl From<PrepareError> for RerunError {
    fn from(error: PrepareError) -> Self {
        Self::Open(error.into())
    }
}

/// The tools of MCP servers in a conversation that is had again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RerunTools {
    /// The tools that each server listed last.
    Kept,
    /// No tools, as if no server were configured.
    None,
}

/// What is other in a conversation that is had again, besides what the plan says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RerunSettings {
    /// The tools of MCP servers.
    pub tools: RerunTools,
    /// From how many tokens on the history is summarised; absent for the recorded limit.
    pub compact_at: Option<i64>,
}

/// Has a recorded conversation again, in a session with this id that is opened as planned. Nothing is sent or written.
///
/// # Errors
/// When the session cannot be opened, or a request depends on something that the record does not have.
pub fn rerun(
    plan: SessionPlan,
    id: &str,
    said: &SaidSession,
    settings: RerunSettings,
    visit: &mut RerunVisit<'_>,
) -> Result<(), RerunError> {
    let session_id = SessionId::new(id);
    let opening = Opening::New { session_id: Some(session_id.clone()), keep: Persistence::Nothing };
    let setup = open::setup(plan, &opening)?;
    session::rerun(session::Setup { session_id, ..setup }, said, settings, visit)
}
