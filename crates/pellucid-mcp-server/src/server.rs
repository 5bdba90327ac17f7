//! The open sessions of the process. They live as long as it does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;

use pellucid_agent::ground::Ground;
use pellucid_agent::identity::ClientIdentity;
use pellucid_agent::open::Opening;
use pellucid_agent::open::Persistence;
use pellucid_agent::shelf::Shelf;
use pellucid_model::Transport;
use pellucid_protocol::event::RawItems;
use pellucid_tasks::Task;
use pellucid_tasks::Tasks;

use crate::open;
use crate::open::AskedSettings;
use crate::open::OpenFailure;
use crate::session::CallFeed;
use crate::session::CalledAgents;
use crate::session::CalledSession;

/// How many sessions a process holds.
const SESSIONS_MAX: usize = 1_000;

/// How long sessions may take to end when the client is gone.
pub(crate) const END_WAIT: Duration = Duration::from_secs(5);

/// One process that serves sessions.
#[derive(Debug)]
pub struct ToolServer {
    pub ground: Ground,
    pub(crate) shelf: Shelf,
    pub(crate) transport: Transport,
    /// Sessions, the tasks that follow them, calls, and questions for clients.
    pub(crate) tasks: Tasks,
    sessions: Mutex<BTreeMap<String, Arc<CalledSession>>>,
}

impl ToolServer {
    /// A server without a session.
    pub fn new(ground: Ground) -> Arc<Self> {
        let (shelf, transport, tasks) = (Shelf::default(), Transport::default(), Tasks::default());
        Arc::new(Self { ground, shelf, transport, tasks, sessions: Mutex::default() })
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Arc<CalledSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session with this id, if it is open.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<CalledSession>> {
        self.sessions().get(id).cloned()
    }

    /// Forgets a session that has ended, unless another one has its id by now.
    pub(crate) fn forget(&self, session: &Arc<CalledSession>) {
        self.sessions().retain(|_, open| !Arc::ptr_eq(open, session));
    }

    /// Opens a session for a client.
    pub(crate) async fn open(
        self: &Arc<Self>,
        settings: AskedSettings,
        identity: Option<ClientIdentity>,
        raw_items: RawItems,
    ) -> Result<(Arc<CalledSession>, CallFeed), OpenFailure> {
        if self.sessions().len() >= SESSIONS_MAX {
            let text = format!("the server holds {SESSIONS_MAX} sessions already; start another one");
            return Err(OpenFailure::Session(text));
        }
        let (nursery, agents) = CalledAgents::open();
        let server = self.clone();
        let opened = Task::blocking("opening a session", move || {
            let opening = Opening::New { session_id: None, keep: Persistence::File };
            open::open(&server, settings, identity.as_ref(), raw_items, opening, nursery)
        });
        let session = opened.await.unwrap_or_else(|error| Err(OpenFailure::Session(error.to_string())))?;
        let (session, feed) = CalledSession::run(self, session, agents);
        self.sessions().insert(session.id.clone(), session.clone());
        Ok((session, feed))
    }

    /// Ends all sessions. Their running turns are interrupted and recorded as such.
    pub async fn shut_down(&self) {
        let sessions = std::mem::take(&mut *self.sessions());
        let ends = sessions.values().map(|session| session.shut_down());
        let _ = tokio::time::timeout(END_WAIT, futures_util::future::join_all(ends)).await;
    }
}
