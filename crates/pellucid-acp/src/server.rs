//! The server: one client, its open sessions, its requests that are not answered.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::time::Duration;

use agent_client_protocol::v1::schema::CancelNotification;
use agent_client_protocol::v1::schema::CancelRequestNotification;
use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::ErrorCode;
use agent_client_protocol::v1::schema::InitializeRequest;
use agent_client_protocol::v1::schema::RequestId;
use pellucid_agent::ground::Ground;
use pellucid_agent::identity::ClientIdentity;
use pellucid_agent::pipe::LineRead;
use pellucid_agent::pipe::read_line;
use pellucid_agent::shelf::Shelf;
use pellucid_model::Transport;
use pellucid_tasks::Task;
use pellucid_tasks::Tasks;
use pellucid_tasks::contained;
use serde_json::Value;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::BufReader;
use tokio::sync::oneshot;

use crate::connection;
use crate::connection::AcpConnection;
use crate::connection::LANE_BYTES_MAX;
use crate::connection::LineQueue;
use crate::methods;
use crate::methods::Answer;
use crate::open::Opener;
use crate::session::OpenSession;
use crate::view::Shown;
use crate::wire;
use crate::wire::AcpLine;
use crate::wire::invalid;
use crate::wire::not_now;
use crate::wire::refusal;

/// The size limit of a line in bytes.
pub const LINE_BYTES_MAX: usize = 64 << 20;

/// How long sessions may take to end when the client is gone.
const END_WAIT: Duration = Duration::from_secs(5);

/// How many requests may wait for their answers.
const REQUESTS_MAX: usize = 1024;

/// One process that serves one client.
#[derive(Debug)]
pub struct AcpServer {
    pub ground: Arc<Ground>,
    shelf: Arc<Shelf>,
    transport: Transport,
    pub(crate) connection: AcpConnection,
    /// Sessions, the tasks that follow them, requests that take long, and questions for the client.
    pub(crate) tasks: Tasks,
    identity: OnceLock<ClientIdentity>,
    sessions: Mutex<BTreeMap<String, Arc<OpenSession>>>,
    /// The requests that take long, by their ids as text, with what calls them off.
    requests: Mutex<BTreeMap<String, oneshot::Sender<()>>>,
}

impl AcpServer {
    /// A server without a session.
    pub fn new(ground: Ground) -> (Arc<Self>, LineQueue) {
        Self::within(ground, LANE_BYTES_MAX)
    }

    /// The same with so much room for each session's lines.
    pub fn within(ground: Ground, bytes_max: u32) -> (Arc<Self>, LineQueue) {
        let (connection, queue) = AcpConnection::new(bytes_max);
        let server = Self {
            ground: Arc::new(ground),
            shelf: Arc::default(),
            transport: Transport::default(),
            connection,
            tasks: Tasks::default(),
            identity: OnceLock::new(),
            sessions: Mutex::default(),
            requests: Mutex::default(),
        };
        (Arc::new(server), queue)
    }

    /// What sessions are opened with.
    pub(crate) fn opener(&self) -> Opener {
        let hello = self.connection.hello();
        let switches = hello.and_then(|hello| hello.session.as_ref()?.config_options.as_ref()?.boolean.as_ref());
        Opener {
            ground: self.ground.clone(),
            shelf: self.shelf.clone(),
            transport: self.transport.clone(),
            identity: self.identity.get().cloned(),
            has_switches: switches.is_some(),
            has_pages: self.has_pages(),
        }
    }

    /// What the client shows beside the conversation.
    pub(crate) fn shown(&self, raw_reasoning: bool) -> Shown {
        let session = self.connection.hello().and_then(|hello| hello.session.as_ref());
        Shown {
            notices: session.is_some_and(|session| session.notices.is_some()),
            compaction: session.is_some_and(|session| session.compaction.is_some()),
            raw_reasoning,
        }
    }

    /// Whether the client shows forms.
    pub(crate) fn has_forms(&self) -> bool {
        self.connection.hello().and_then(|hello| hello.elicitation.as_ref()?.form.as_ref()).is_some()
    }

    /// Whether the client shows addresses to open.
    pub(crate) fn has_pages(&self) -> bool {
        self.connection.hello().and_then(|hello| hello.elicitation.as_ref()?.url.as_ref()).is_some()
    }

    /// Keeps who the client is and what it can do.
    pub(crate) fn introduce(&self, hello: &InitializeRequest) -> Result<(), Error> {
        if !self.connection.introduce(hello.client_capabilities.clone()) {
            return Err(not_now("initialize was answered already"));
        }
        if let Some(client) = &hello.client_info {
            let identity = ClientIdentity::of_client(&client.name, &client.version, &self.ground.env);
            // The first introduction is kept, and there is no second one.
            let _ = self.identity.set(identity);
        }
        Ok(())
    }

    /// An open session.
    pub(crate) fn session(&self, id: &str) -> Result<Arc<OpenSession>, Error> {
        let missing = || {
            let text = format!("there is no open session {id}; session/load or session/resume opens a stored one");
            refusal(ErrorCode::ResourceNotFound, text)
        };
        self.find(id).ok_or_else(missing)
    }

    /// The session with this id, if it is open.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<OpenSession>> {
        held(&self.sessions).get(id).cloned()
    }

    pub(crate) fn add(&self, session: Arc<OpenSession>) {
        held(&self.sessions).insert(session.id.clone(), session);
    }

    pub(crate) fn take(&self, id: &str) -> Option<Arc<OpenSession>> {
        held(&self.sessions).remove(id)
    }

    /// Forgets a session that has ended, unless another one has its id by now.
    pub(crate) fn forget(&self, session: &Arc<OpenSession>) {
        held(&self.sessions).retain(|_, open| !Arc::ptr_eq(open, session));
    }

    /// Handles a line of the client. Lines are handled in the order in which they come; what takes long runs beside them.
    pub async fn receive(self: &Arc<Self>, line: &[u8]) {
        match wire::parse(line) {
            AcpLine::Request { id, method, params } => self.request(id, &method, params).await,
            AcpLine::Notification { method, params } => self.notified(&method, params).await,
            AcpLine::Response { id, outcome } => self.connection.answered(&id, outcome),
            AcpLine::Wrong { id, error } => self.connection.lane.answer::<Value>(&id, Err(&error)).await,
            AcpLine::Ignored => tracing::warn!("an answer that cannot be read is ignored"),
        }
    }

    async fn request(self: &Arc<Self>, id: RequestId, method: &str, params: Value) {
        if self.connection.hello().is_none() && method != "initialize" {
            let error = not_now(format!("{method} before initialize; send initialize first"));
            return self.connection.lane.answer::<Value>(&id, Err(&error)).await;
        }
        let answer = match contained("request", methods::dispatch(self, &id, method, params)).await {
            Ok(answer) => answer,
            Err(_is_logged) => Answer::Now(Err(broken())),
        };
        match answer {
            Answer::Now(outcome) => self.connection.lane.answer(&id, outcome.as_ref()).await,
            Answer::Given => {}
            Answer::Later(work) => self.run(id, work),
        }
    }

    /// Runs a request that takes long. The client can call it off.
    fn run(self: &Arc<Self>, id: RequestId, work: methods::LongWork) {
        let (call_off, called_off) = oneshot::channel();
        let key = id.to_string();
        let is_full = {
            let mut requests = held(&self.requests);
            let is_full = requests.len() >= REQUESTS_MAX;
            if !is_full {
                requests.insert(key.clone(), call_off);
            }
            is_full
        };
        let server = self.clone();
        self.tasks.spawn("a request", async move {
            if is_full {
                let error = not_now(format!("{REQUESTS_MAX} requests wait for their answers already"));
                return server.connection.lane.answer::<Value>(&id, Err(&error)).await;
            }
            let after = tokio::select! {
                biased;
                Ok(()) = called_off => Err(refusal(ErrorCode::RequestCancelled, "the client cancelled the request")),
                done = contained("a request", work) => done.unwrap_or_else(|_is_logged| Err(broken())),
            };
            held(&server.requests).remove(&key);
            match after {
                Ok(done) => {
                    server.connection.lane.answer(&id, Ok(&done.result)).await;
                    if let Some(after) = done.after {
                        let _is_logged = contained("after a request", after).await;
                    }
                }
                Err(error) => server.connection.lane.answer::<Value>(&id, Err(&error)).await,
            }
        });
    }

    async fn notified(&self, method: &str, params: Value) {
        match method {
            "session/cancel" => match wire::params::<CancelNotification>(method, params) {
                Ok(cancel) => match self.find(&cancel.session_id.0) {
                    Some(session) => session.cancel().await,
                    None => tracing::warn!("a session that is not open is cancelled"),
                },
                Err(error) => tracing::warn!(error.message, "a notification cannot be read"),
            },
            "$/cancel_request" => match wire::params::<CancelRequestNotification>(method, params) {
                Ok(cancel) => self.call_off(&cancel.request_id).await,
                Err(error) => tracing::warn!(error.message, "a notification cannot be read"),
            },
            _ => tracing::debug!(method, "an unknown notification is ignored"),
        }
    }

    /// Calls a request off, if it is not answered.
    async fn call_off(&self, id: &RequestId) {
        let waiting = held(&self.requests).remove(&id.to_string());
        if let Some(call_off) = waiting {
            // The request may have been answered meanwhile.
            let _ = call_off.send(());
            return;
        }
        let sessions: Vec<_> = held(&self.sessions).values().cloned().collect();
        for session in sessions.iter().filter(|session| session.works_on(id)) {
            session.cancel().await;
        }
    }

    /// Ends all sessions. Their running turns are interrupted and recorded as such.
    pub async fn shut_down(&self) {
        self.connection.close();
        let sessions = std::mem::take(&mut *held(&self.sessions));
        let ends = sessions.values().map(|session| session.shut_down());
        let _ = tokio::time::timeout(END_WAIT, futures_util::future::join_all(ends)).await;
    }
}

fn broken() -> Error {
    wire::failed("an error inside Pellucid ended this request; RUST_LOG=debug shows what it says")
}

/// Serves the client until it closes its end, then ends all sessions. Lines that are too long are refused.
///
/// # Errors
/// When the client's end cannot be read.
pub async fn serve(
    (server, queue): (Arc<AcpServer>, LineQueue),
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    end: impl Future<Output = ()>,
) -> io::Result<()> {
    let writer = Task::spawn("writing to the client", connection::write(queue, output));
    let mut lines = BufReader::new(input);
    let mut line = Vec::new();
    tokio::pin!(end);
    let ended = loop {
        let read = tokio::select! {
            biased;
            () = &mut end => break Ok(()),
            read = read_line(&mut lines, &mut line, LINE_BYTES_MAX) => read,
        };
        match read {
            Ok(LineRead::Line) if line.trim_ascii().is_empty() => {}
            Ok(LineRead::Line) => server.receive(&line).await,
            Ok(LineRead::TooLong) => {
                let error = invalid(format!("a line is longer than {LINE_BYTES_MAX} bytes"));
                server.connection.lane.answer::<Value>(&RequestId::Null, Err(&error)).await;
            }
            Ok(LineRead::End) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    server.shut_down().await;
    server.connection.finish();
    // The last lines are written; if the client has stopped reading, it has closed the pipe.
    let _ = tokio::time::timeout(END_WAIT, writer).await;
    ended
}

/// Locks, even if another holder of the lock panicked.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
