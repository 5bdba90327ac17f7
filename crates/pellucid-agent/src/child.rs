//! A session that another session starts: a reviewer, or an agent that works for it.
//!
//! The session has its own file and its own door; the session that starts it is its client.

use pellucid_engine::turn::questions::Audience;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::id::SessionId;
use serde_json::Value;
use serde_json::json;

use crate::identity;
use crate::mcp::Attached;
use crate::open;
use crate::open::OpenError;
use crate::open::Opening;
use crate::open::Persistence;
use crate::session::Session;
use crate::session::Setup;

/// The client that has no person to ask: it runs a prompt and ends.
const UNATTENDED: &str = "exec";

/// The client or session that started a session.
#[derive(Debug, Clone, PartialEq)]
pub enum StartedBy {
    /// A person, through a client of this name.
    Client(&'static str),
    /// A session that wants a review.
    Review,
    /// A session in whose background memories of past sessions are written.
    Memories,
    /// A session that wants work done.
    Spawned {
        /// The session that wants it.
        parent: SessionId,
        /// How many sessions are above this one.
        depth: usize,
    },
}

impl StartedBy {
    /// The value in session files.
    pub fn source(&self) -> Value {
        match self {
            Self::Client(name) => Value::from(*name),
            Self::Review => json!({ "subagent": "review" }),
            Self::Memories => json!({ "subagent": "memory_consolidation" }),
            Self::Spawned { parent, depth } => {
                json!({ "subagent": { "thread_spawn": { "parent_thread_id": parent, "depth": depth } } })
            }
        }
    }

    /// How many sessions are above a session of this origin and started it for their work.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Client(_) | Self::Review | Self::Memories => 0,
            Self::Spawned { depth, .. } => *depth,
        }
    }

    /// Who can answer the questions of a session of this origin. Those of a reviewer and of an agent go to the client that
    /// follows the session they work for.
    pub(crate) fn audience(&self) -> Audience {
        match self {
            Self::Client(UNATTENDED) | Self::Memories => Audience::Absent,
            Self::Client(_) | Self::Review | Self::Spawned { .. } => Audience::Client,
        }
    }

    /// The value of the header in requests; a person's session has none.
    pub fn header(&self) -> Option<&'static str> {
        match self {
            Self::Client(_) => None,
            Self::Review => Some("review"),
            Self::Memories => Some("memory_consolidation"),
            Self::Spawned { .. } => Some("collab_spawn"),
        }
    }
}

/// A new session with what its parent is made of, changed as its purpose asks for it. Clients that want events about the
/// context of its parent are sent its own too.
///
/// # Errors
/// The session cannot be opened.
pub(crate) fn open(parent: &Session, origin: StartedBy, change: impl FnOnce(&mut Setup)) -> Result<Session, OpenError> {
    let mut setup = Setup {
        session_id: identity::new_session_id(),
        origin,
        notices: Vec::new(),
        raw_items: RawItems::Hidden,
        crew: parent.setup.crew.lent(),
        ..parent.setup.clone()
    };
    setup.gathered.facts.world.recorded_instructions = None;
    setup.gathered.facts.world.recorded_fragments = Vec::new();
    change(&mut setup);
    let mut session = open::begin(setup, Opening::new(Persistence::like(parent.log.is_kept())))?;
    session.use_servers(parent.servers.as_ref().map(Attached::lent));
    Ok(session)
}
