//! The server: connected clients, loaded sessions, open questions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::sync::Weak;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use pellucid_agent::crew::NewChild;
use pellucid_agent::crew::Nursery;
use pellucid_agent::identity::ClientIdentity;
use pellucid_exec::sandbox::Sandbox;
use pellucid_model::Transport;
use pellucid_protocol::event::RawItems;
use pellucid_store::index::SessionIndex;
use pellucid_store::query::Page;
use pellucid_store::query::Query;
use pellucid_store::sessions::LocalSessions;
use pellucid_tasks::Tasks;
use pellucid_tasks::contained;
use serde_json::Value;

use crate::call::Answered;
use crate::connection::Connection;
use crate::connection::Queue;
use crate::connection::WAITING_BYTES_MAX;
use crate::loaded::LoadedDescription;
use crate::loaded::LoadedSession;
use crate::methods;
use crate::methods::apps::KeptApps;
use crate::methods::files::Searches;
use crate::newest::live;
use crate::newest::members;
use crate::newest::notice::NewestNotification;
use crate::rpc;
use crate::rpc::Incoming;
use crate::rpc::RequestId;
use crate::rpc::RpcError;
use crate::types::notification::ServerNotification;
use crate::unload::Unloading;
use crate::view::ServerQuestion;
use pellucid_agent::ground::Ground;
use pellucid_agent::shelf::Shelf;

/// How long sessions may take to end when the server ends.
const END_WAIT: Duration = Duration::from_secs(5);

/// One process that serves many clients and sessions.
#[derive(Debug)]
pub struct Server {
    /// What all sessions share.
    pub ground: Ground,
    /// Cache of packs and the model catalogue, shared by sessions.
    pub(crate) shelf: Shelf,
    /// The transport to model providers, with its open connections.
    pub(crate) transport: Transport,
    /// Sessions, the tasks that follow them, and requests that run concurrently.
    pub(crate) tasks: Tasks,
    /// Which threads are loaded, in the order of their last use.
    pub(crate) unloading: Unloading,
    /// The running searches for files.
    pub(crate) searches: Searches,
    /// The sandbox for `command/exec`, made for the first command.
    pub(crate) sandbox: OnceLock<Sandbox>,
    /// How sessions identify themselves to providers; set by the first client.
    identity: OnceLock<ClientIdentity>,
    connections: Mutex<BTreeMap<u64, Arc<Connection>>>,
    n_connections: AtomicU64,
    sessions: Mutex<BTreeMap<String, Arc<LoadedSession>>>,
    questions: Mutex<BTreeMap<i64, Asked>>,
    n_questions: AtomicI64,
    /// The lists of connected apps that clients asked for.
    pub(crate) apps: KeptApps,
    /// The index of stored sessions, opened with the first list. It is kept, so that the next lists look at changed files only.
    index: Mutex<Option<SessionIndex>>,
}

/// A question to clients that has no answer yet.
#[derive(Debug)]
struct Asked {
    session: Arc<LoadedSession>,
    question: ServerQuestion,
}

impl Server {
    /// A server without clients.
    pub fn new(ground: Ground) -> Arc<Self> {
        Arc::new(Self {
            ground,
            shelf: Shelf::default(),
            transport: Transport::default(),
            tasks: Tasks::default(),
            unloading: Unloading::new(),
            searches: Searches::default(),
            sandbox: OnceLock::new(),
            identity: OnceLock::new(),
            connections: Mutex::default(),
            n_connections: AtomicU64::new(0),
            sessions: Mutex::default(),
            questions: Mutex::default(),
            n_questions: AtomicI64::new(0),
            apps: KeptApps::default(),
            index: Mutex::default(),
        })
    }

    /// Adds a client; returns it with the queue of messages for it.
    pub fn connect(&self) -> (Arc<Connection>, Queue) {
        self.connect_within(WAITING_BYTES_MAX)
    }

    /// Adds a client whose queue holds at most `bytes_max` bytes.
    pub(crate) fn connect_within(&self, bytes_max: u32) -> (Arc<Connection>, Queue) {
        let (connection, outgoing) = Connection::new(self.n_connections.fetch_add(1, Ordering::Relaxed), bytes_max);
        let connection = Arc::new(connection);
        held(&self.connections).insert(connection.id, connection.clone());
        (connection, outgoing)
    }

    /// Removes a client. Sessions continue, but a session that waits for an answer which no client can give any more is
    /// interrupted.
    pub async fn disconnect(&self, connection: &Arc<Connection>) {
        held(&self.connections).remove(&connection.id);
        let sessions: Vec<_> = held(&self.sessions).values().cloned().collect();
        for session in sessions {
            self.unfollow(&session, connection).await;
        }
    }

    /// Removes a client from a session, which is interrupted if it waits for an answer that no client can give any more.
    pub(crate) async fn unfollow(&self, session: &Arc<LoadedSession>, connection: &Arc<Connection>) {
        if session.unsubscribe(connection) && self.has_question(session) {
            session.interrupt().await;
        }
    }

    fn has_question(&self, session: &Arc<LoadedSession>) -> bool {
        held(&self.questions).values().any(|asked| Arc::ptr_eq(&asked.session, session))
    }

    /// Handles a message of a client. Requests are handled in the order in which they come.
    pub async fn receive(self: &Arc<Self>, connection: &Arc<Connection>, message: &[u8]) {
        match Incoming::parse(message) {
            Ok(Incoming::Request { id, method, params }) => {
                let is_answered = Answered::default();
                let work =
                    Box::pin(methods::dispatch(self, connection, id.clone(), &method, params, is_answered.clone()));
                self.answer_even_after_a_panic(connection, &id, &is_answered, work).await;
            }
            Ok(Incoming::Notification { method }) => tracing::debug!(method, "a client sent a notification"),
            Ok(Incoming::Response { id, outcome }) => {
                let _is_logged = contained("answer of a client", self.answered(&id, outcome)).await;
            }
            Err(error) => tracing::warn!(%error, "ignored a message of a client"),
        }
    }

    /// Runs the work of a request. If it panics before the request is answered, the client gets an error.
    pub(crate) async fn answer_even_after_a_panic(
        &self,
        connection: &Connection,
        id: &RequestId,
        is_answered: &Answered,
        work: impl Future<Output = ()>,
    ) {
        if let Err(failed) = contained("request", work).await {
            tracing::error!(?id, client = connection.id, "a request failed inside Pellucid");
            if !is_answered.get() {
                connection.send(rpc::refusal(Some(id), &methods::broken(failed))).await;
            }
        }
    }

    /// Asks the clients of a session; the first answer counts.
    pub(crate) async fn ask(&self, session: &Arc<LoadedSession>, question: ServerQuestion) {
        let number = self.n_questions.fetch_add(1, Ordering::Relaxed);
        let clients = session.subscribers();
        if clients.is_empty() {
            let unanswered = RpcError::internal("no client is connected that could answer");
            session.answered(question, Err(unanswered)).await;
            return;
        }
        session.asked(number, members::waits_for(&question.request)).await;
        let id = RequestId::Integer(number);
        let (classic, newest) = (rpc::request(&id, &question.request), members::request(&id, &question.request));
        held(&self.questions).insert(number, Asked { session: session.clone(), question });
        for client in clients {
            session.pass_on(&client, if client.is_newest() { &newest } else { &classic }).await;
        }
    }

    async fn answered(&self, id: &RequestId, outcome: Result<Value, RpcError>) {
        let asked = match id {
            RequestId::Integer(number) => held(&self.questions).remove(number),
            RequestId::String(_) => None,
        };
        match (asked, id) {
            (Some(Asked { session, question }), RequestId::Integer(number)) => {
                session.resolved(*number).await;
                session.answered(question, outcome).await;
            }
            _ => tracing::warn!(?id, "an answer to no open question is ignored"),
        }
    }

    /// Drops the questions of a turn that is over.
    pub(crate) async fn forget_questions(&self, session: &Arc<LoadedSession>) {
        let mut dropped = Vec::new();
        held(&self.questions).retain(|number, asked| {
            let stays = !Arc::ptr_eq(&asked.session, session);
            if !stays {
                dropped.push(*number);
            }
            stays
        });
        for number in dropped {
            session.resolved(number).await;
        }
    }

    /// Sends a notification that concerns no session to all clients.
    pub async fn notify_all(&self, notification: &ServerNotification) {
        let clients: Vec<_> = held(&self.connections).values().cloned().collect();
        let is_alone = clients.len() == 1;
        let (newest, classic): (Vec<_>, Vec<_>) =
            clients.iter().filter(|client| client.wants(notification.method())).partition(|client| client.is_newest());
        if !classic.is_empty() {
            send_to(&classic, is_alone, &rpc::encode(notification)).await;
        }
        if !newest.is_empty() {
            send_to(&newest, is_alone, &crate::newest::notification(self, notification)).await;
        }
    }

    /// Sends a notification to all clients that speak the protocol of today.
    pub(crate) async fn notify_all_newest(&self, notification: &NewestNotification) {
        let clients: Vec<_> = held(&self.connections).values().cloned().collect();
        let is_alone = clients.len() == 1;
        let newest: Vec<_> = clients.iter().filter(|it| it.is_newest() && it.wants(notification.method())).collect();
        let now = jiff::Timestamp::now().as_millisecond();
        send_to(&newest, is_alone, &live::encoded(notification, now).message).await;
    }

    /// How sessions identify themselves to providers; set by the first client.
    pub fn identity(&self) -> Option<&ClientIdentity> {
        self.identity.get()
    }

    /// Keeps the identity that the first client gives.
    pub(crate) fn introduce(&self, identity: ClientIdentity) -> &ClientIdentity {
        self.identity.get_or_init(|| identity)
    }

    /// A loaded session.
    ///
    /// # Errors
    /// If the text is not an id, or the session is not loaded.
    pub(crate) fn loaded(&self, id: &str) -> Result<Arc<LoadedSession>, RpcError> {
        let id = methods::thread::parse_id(id)?;
        self.find_loaded(&id).ok_or_else(|| RpcError::invalid(format!("thread not found: {id}")))
    }

    /// The session with this id, if it is loaded.
    pub(crate) fn find_loaded(&self, id: &str) -> Option<Arc<LoadedSession>> {
        held(&self.sessions).get(id).cloned()
    }

    /// The ids of all loaded sessions in ascending order.
    pub(crate) fn loaded_ids(&self) -> Vec<String> {
        held(&self.sessions).keys().cloned().collect()
    }

    pub(crate) fn add(&self, session: Arc<LoadedSession>) {
        held(&self.sessions).insert(session.about.id.clone(), session);
    }

    /// Removes a session that has ended, unless another one has its id by now.
    pub(crate) fn forget(&self, session: &Arc<LoadedSession>) {
        held(&self.sessions).retain(|_, loaded| !Arc::ptr_eq(loaded, session));
    }

    pub(crate) fn remove(&self, id: &str) -> Option<Arc<LoadedSession>> {
        held(&self.sessions).remove(id)
    }

    /// The stored sessions.
    pub(crate) fn stored_sessions(&self) -> LocalSessions<'static> {
        LocalSessions::new(&self.ground.home)
    }

    /// A page of stored sessions, as new as their files.
    pub(crate) fn list_stored(&self, query: &Query) -> Page {
        let mut index = held(&self.index);
        let index = index.get_or_insert_with(|| SessionIndex::open(&self.ground.home).kept());
        index.refresh(Duration::ZERO, &mut |_| {});
        index.list(query)
    }

    /// Adds an agent that a session started, and notifies all clients of it.
    fn adopt(self: &Arc<Self>, child: NewChild) {
        let described = LoadedDescription::of_child(&child);
        let (loaded, following) =
            LoadedSession::behind(self, child.submissions, child.events, described, RawItems::Hidden);
        for connection in held(&self.connections).values().filter(|it| it.hello().is_some()) {
            loaded.subscribe(connection);
        }
        following.begin(self, &loaded);
    }

    /// Ends all sessions. Their running turns are interrupted and recorded as such.
    pub async fn shut_down(&self) {
        let sessions = std::mem::take(&mut *held(&self.sessions));
        let ends = sessions.values().map(|session| session.shut_down());
        let _ = tokio::time::timeout(END_WAIT, futures_util::future::join_all(ends)).await;
    }
}

/// Sends a message to clients. The server waits for a client only if it has no other one.
async fn send_to(clients: &[&Arc<Connection>], is_alone: bool, message: &Bytes) {
    for client in clients {
        if is_alone {
            client.send(message.clone()).await;
        } else {
            client.send_now(message.clone());
        }
    }
}

/// Adds agents that sessions start to the server.
#[derive(Debug)]
pub(crate) struct Adoption(pub Weak<Server>);

impl Nursery for Adoption {
    fn adopt(&self, child: NewChild) {
        if let Some(server) = self.0.upgrade() {
            server.adopt(child);
        }
    }
}

/// Locks, even if another holder of the lock panicked.
pub(crate) fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
