//! A session that another one starts: a reviewer, or an agent that works for it.
//!
//! It has a file of its own and a door of its own; the one that starts it is its face.

use pellucid_protocol::event::RawItems;
use pellucid_protocol::id::SessionId;
use pellucid_store::name;
use pellucid_store::recorder::Recorder;
use pellucid_store::side::Side;
use serde_json::Value;
use serde_json::json;

use crate::identity;
use crate::mcp::Attached;
use crate::session::Session;
use crate::session::Setup;

/// Who started a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// A person, through a face of this name.
    Face(&'static str),
    /// A session that wants a review.
    Review,
    /// A session in whose background memories of past sessions are written.
    Memories,
    /// A session that wants work done.
    Spawned {
        /// That session.
        parent: SessionId,
        /// How many sessions stand above this one.
        depth: usize,
    },
}

impl Origin {
    /// As session files say it.
    pub fn source(&self) -> Value {
        match self {
            Self::Face(name) => Value::from(*name),
            Self::Review => json!({ "subagent": "review" }),
            Self::Memories => json!({ "subagent": "memory_consolidation" }),
            Self::Spawned { parent, depth } => {
                json!({ "subagent": { "thread_spawn": { "parent_thread_id": parent, "depth": depth } } })
            }
        }
    }

    /// How many sessions stand above one of this origin and started it for their work.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Face(_) | Self::Review | Self::Memories => 0,
            Self::Spawned { depth, .. } => *depth,
        }
    }

    /// As requests say it; a person's session says nothing.
    pub fn header(&self) -> Option<&'static str> {
        match self {
            Self::Face(_) => None,
            Self::Review => Some("review"),
            Self::Memories => Some("memory_consolidation"),
            Self::Spawned { .. } => Some("collab_spawn"),
        }
    }
}

/// A new session with what its parent is made of, changed as its purpose asks for it. Clients that want events about the
/// context of its parent are sent its own too.
pub(crate) fn open(parent: &Session, origin: Origin, change: impl FnOnce(&mut Setup)) -> Session {
    let id: SessionId = identity::new_session_id();
    let mut setup = Setup {
        session_id: id.clone(),
        origin,
        notices: Vec::new(),
        raw_items: RawItems::Hidden,
        side: Side::default(),
        crew: parent.setup.crew.lent(),
        ..parent.setup.clone()
    };
    setup.gathered.facts.recorded_instructions = None;
    setup.gathered.facts.recorded_fragments = Vec::new();
    change(&mut setup);
    let home = &setup.sources.config.folders.home;
    let recorder = if parent.log.is_kept() {
        Recorder::new(name::path(home, jiff::Zoned::now().datetime(), id.as_str()))
    } else {
        Recorder::none()
    };
    let mut session = Session::new(setup, recorder);
    session.use_servers(parent.servers.as_ref().map(Attached::lent));
    session
}
