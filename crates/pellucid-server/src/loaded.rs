//! A session that is loaded: its door, who follows it, and what clients wait for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;

use bytes::Bytes;
use pellucid_agent::context_events::ContextEvents;
use pellucid_agent::crew::NewChild;
use pellucid_agent::door;
use pellucid_agent::door::Door;
use pellucid_agent::identity;
use pellucid_agent::identity::new_turn_id;
use pellucid_agent::session::Session;
use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::failure::Failure;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_tasks::contained;
use pellucid_tools::queue::Receiver;
use pellucid_tools::queue::Sender;
use serde_json::Value;
use tokio::sync::watch;

use crate::call::Call;
use crate::connection::Connection;
use crate::methods::thread;
use crate::methods::thread::ThreadRollbackResponse;
use crate::methods::turn::TurnInterruptResponse;
use crate::rpc;
use crate::rpc::RpcError;
use crate::server::Server;
use crate::server::held;
use crate::types::notification::ServerNotification;
use crate::types::source::SessionSource;
use crate::types::thread::Thread;
use crate::types::thread::Turn;
use crate::view::ContextNotification;
use crate::view::Outgoing;
use crate::view::Question;
use crate::view::ThreadView;

/// How many requests to interrupt may wait for a turn.
const INTERRUPTS_MAX: usize = 64;

/// A session that is loaded.
#[derive(Debug)]
pub struct Loaded {
    /// What is said of it; what can change is read from its file.
    pub about: Thread,
    /// The response to whoever loads it again.
    pub settings: Settings,
    /// Its file; an ephemeral session has none.
    pub path: Option<PathBuf>,
    submissions: Sender<Submission>,
    context_events: ContextEvents,
    state: Mutex<State>,
    n_subscribers: watch::Sender<usize>,
    /// Whether it has ended.
    end: watch::Receiver<bool>,
}

/// Under which settings a session began.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The model.
    pub model: String,
    /// The provider's id.
    pub model_provider: String,
    /// The working directory.
    pub cwd: String,
    /// When a person is asked.
    pub approval_policy: pellucid_protocol::settings::ApprovalPolicy,
    /// What commands may touch.
    pub sandbox: pellucid_protocol::settings::SandboxPolicy,
    /// How long the model may think.
    pub effort: Option<pellucid_protocol::settings::ReasoningEffort>,
}

#[derive(Debug)]
struct State {
    view: ThreadView,
    subscribers: Vec<Arc<Connection>>,
    /// The turn that runs, or is about to.
    active: Option<TurnId>,
    interrupts: Vec<Call<TurnInterruptResponse>>,
    rollback: Option<Call<ThreadRollbackResponse>>,
}

/// What is known of a session without asking it.
#[derive(Debug)]
pub struct Described {
    /// What is said of it.
    pub about: Thread,
    /// Its settings.
    pub settings: Settings,
    /// Its file, if it has one.
    pub path: Option<PathBuf>,
    /// Whether clients receive events about the parts of its requests.
    pub context_events: ContextEvents,
}

impl Described {
    /// What is known of an agent that a session started.
    pub fn of_child(child: &NewChild) -> Self {
        let now = jiff::Timestamp::now().as_second();
        let about = Thread {
            id: child.id.to_string(),
            preview: String::new(),
            model_provider: child.provider_id.clone(),
            created_at: now,
            updated_at: now,
            path: child.path.clone(),
            cwd: child.cwd.clone(),
            cli_version: identity::VERSION.to_owned(),
            source: SessionSource::from_file(&child.source),
            git_info: None,
            turns: Vec::new(),
        };
        let settings = Settings {
            model: child.model.clone(),
            model_provider: child.provider_id.clone(),
            cwd: child.cwd.to_string_lossy().into_owned(),
            approval_policy: child.approval_policy,
            sandbox: child.sandbox_policy.clone(),
            effort: child.effort,
        };
        Self { about, settings, path: child.path.clone(), context_events: child.context_events.clone() }
    }
}

/// A request that clients wait for is under way already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

impl Loaded {
    /// Runs a session for its clients.
    pub fn run(server: &Server, session: Session, about: Thread, raw: RawItems) -> (Arc<Self>, Following) {
        let facts = session.facts();
        let settings = Settings {
            model: facts.model.slug.clone(),
            model_provider: session.provider_id().to_owned(),
            cwd: facts.cwd.clone(),
            approval_policy: facts.approval_policy,
            sandbox: facts.sandbox_policy.clone(),
            effort: facts.effort,
        };
        let path = session.path().map(ToOwned::to_owned);
        let context_events = session.context_events_switch().clone();
        let (Door { submissions, events }, inside) = door::open(&session);
        server.tasks.spawn("session", async move { drop(door::run(session, inside).await) });
        Self::behind(server, submissions, events, Described { about, settings, path, context_events }, raw)
    }

    /// Takes a session that runs already.
    pub fn behind(
        server: &Server,
        submissions: Sender<Submission>,
        events: Receiver<Event>,
        described: Described,
        raw: RawItems,
    ) -> (Arc<Self>, Following) {
        let Described { about, settings, path, context_events } = described;
        let (ended, end) = watch::channel(false);
        let state = State {
            view: ThreadView::new(about.id.as_str()).with_raw_items(raw),
            subscribers: Vec::new(),
            active: None,
            interrupts: Vec::new(),
            rollback: None,
        };
        let (state, n_subscribers) = (Mutex::new(state), watch::Sender::new(0));
        let loaded = Arc::new(Self { about, settings, path, submissions, context_events, state, n_subscribers, end });
        server.add(loaded.clone());
        (loaded, Following { events, ended })
    }

    /// A client wants to hear of it.
    pub fn subscribe(&self, connection: &Arc<Connection>) {
        let mut state = held(&self.state);
        if !state.subscribers.iter().any(|it| it.id == connection.id) {
            state.subscribers.push(connection.clone());
            self.n_subscribers.send_replace(state.subscribers.len());
            if connection.wants_context_events() {
                self.context_events.join();
            }
        }
    }

    /// A client is gone. Whether nobody is left.
    pub fn unsubscribe(&self, connection: &Arc<Connection>) -> bool {
        let mut state = held(&self.state);
        let n_before = state.subscribers.len();
        state.subscribers.retain(|it| it.id != connection.id);
        self.n_subscribers.send_replace(state.subscribers.len());
        if !state.subscribers.iter().any(|it| it.wants_context_events()) {
            self.context_events.stop();
        }
        n_before > 0 && state.subscribers.is_empty()
    }

    /// Who hears of it.
    pub fn subscribers(&self) -> Vec<Arc<Connection>> {
        held(&self.state).subscribers.clone()
    }

    /// Asks the session to do something.
    pub async fn submit(&self, id: TurnId, operation: Operation) {
        // A session that has ended does nothing more; clients were told.
        let _ended = self.submissions.send(Submission { id, operation }).await;
    }

    /// The turn that runs, or is about to.
    pub fn active_turn(&self) -> Option<TurnId> {
        held(&self.state).active.clone()
    }

    /// What is known of the turn that runs.
    pub fn turn_in_progress(&self) -> Option<Turn> {
        held(&self.state).view.turn_in_progress()
    }

    /// A turn is about to begin, unless one runs.
    pub fn expect_turn(&self, id: &TurnId) {
        held(&self.state).active.get_or_insert_with(|| id.clone());
    }

    /// Interrupts the turn that runs.
    pub async fn interrupt(&self) {
        self.submit(new_turn_id(), Operation::Interrupt).await;
    }

    /// The same for a client, which is answered when the turn is over.
    ///
    /// # Errors
    /// If too many wait for that already, as there is no turn to interrupt.
    pub async fn interrupt_for(&self, call: Call<TurnInterruptResponse>) -> Result<(), Busy> {
        {
            let interrupts = &mut held(&self.state).interrupts;
            if interrupts.len() >= INTERRUPTS_MAX {
                return Err(Busy);
            }
            interrupts.push(call);
        }
        self.interrupt().await;
        Ok(())
    }

    /// Takes turns back for a client, which is answered when they are gone.
    ///
    /// # Errors
    /// If that is being done already.
    pub async fn roll_back_for(&self, call: Call<ThreadRollbackResponse>, num_turns: usize) -> Result<(), Busy> {
        {
            let mut state = held(&self.state);
            if state.rollback.is_some() {
                return Err(Busy);
            }
            state.rollback = Some(call);
        }
        self.submit(new_turn_id(), Operation::ThreadRollback { num_turns }).await;
        Ok(())
    }

    /// A client answers a question, or cannot.
    pub async fn answered(&self, question: Question, outcome: Result<Value, RpcError>) {
        let (operation, told) = held(&self.state).view.answered(question, outcome);
        for outgoing in told {
            // An answer leads to no further question.
            if let Outgoing::Told(notification) = outgoing {
                self.notify(&notification).await;
            }
        }
        self.submit(new_turn_id(), operation).await;
    }

    /// Tells the clients of the session.
    pub async fn notify(&self, notification: &ServerNotification) {
        let message = rpc::encode(notification);
        self.send(notification.method(), &message).await;
    }

    /// Tells the clients of an event under its own name.
    pub async fn notify_untyped(&self, event: &Event) {
        let untyped = held(&self.state).view.untyped(event);
        if let Some(untyped) = untyped {
            self.send(&untyped.method, &rpc::encode(&untyped)).await;
        }
    }

    async fn send(&self, method: &str, message: &Bytes) {
        for client in self.subscribers() {
            self.notify_one(&client, method, message).await;
        }
    }

    async fn notify_one(&self, client: &Connection, method: &str, message: &Bytes) {
        if client.wants(method) {
            self.pass_on(client, message).await;
        }
    }

    /// Sends a message to a client of the session. The session waits for a client that is alone with it, and for no client
    /// that is beside others, also if those join while it waits.
    pub(crate) async fn pass_on(&self, client: &Connection, message: &Bytes) {
        let mut n_subscribers = self.n_subscribers.subscribe();
        tokio::select! {
            biased;
            // The sender is this session's own, so it is there.
            Ok(_) = n_subscribers.wait_for(|n| *n > 1) => client.send_now(message.clone()),
            () = client.send(message.clone()) => {}
        }
    }

    /// Ends the session and waits for that.
    pub async fn shut_down(&self) {
        self.submit(new_turn_id(), Operation::Shutdown).await;
        let mut end = self.end.clone();
        // Whoever would tell is gone when it is over.
        let _ = end.wait_for(|is_over| *is_over).await;
    }
}

/// What a session says, before somebody listens.
#[derive(Debug)]
#[must_use]
pub struct Following {
    events: Receiver<Event>,
    ended: watch::Sender<bool>,
}

impl Following {
    /// Tells the clients of the session from now on.
    pub fn begin(self, server: &Arc<Server>, session: &Arc<Loaded>) {
        server.tasks.spawn("following a session", follow(server.clone(), session.clone(), self.events, self.ended));
    }
}

/// Tells the clients of a session what happens in it, until it ends.
async fn follow(server: Arc<Server>, session: Arc<Loaded>, mut events: Receiver<Event>, ended: watch::Sender<bool>) {
    let mut is_broken = false;
    while !is_broken && let Some(event) = events.recv().await {
        is_broken = contained("following a session", tell(&server, &session, &event)).await.is_err();
    }
    // A session whose events no client takes ends. It can be resumed from its file.
    drop(events);
    server.forget(&session);
    let _is_logged = contained("end of a session", close(&server, &session, is_broken)).await;
    ended.send_replace(true);
}

/// Answers what waits for a session that has ended. If its clients could not receive that, the turn that
/// was running is reported as failed.
async fn close(server: &Arc<Server>, session: &Arc<Loaded>, is_broken: bool) {
    if let Some(turn_id) = session.active_turn().filter(|_| is_broken) {
        tracing::error!(session = session.about.id, "a session is closed inside a turn");
        let error = EventMessage::Error {
            message: door::CLOSED_BY_FAILURE.to_owned(),
            codex_error_info: Some(ErrorInfo::Other),
            failure: Failure::default(),
        };
        let over = EventMessage::TaskComplete { turn_id: turn_id.clone(), last_agent_message: None };
        for msg in [error, over] {
            tell(server, session, &Event { id: turn_id.to_string(), msg }).await;
        }
    }
    server.forget_questions(session);
    answer_interrupts(session).await;
    let rollback = held(&session.state).rollback.take();
    if let Some(call) = rollback {
        let refusal = call.answer_of(Err(&RpcError::internal("the session ended before its turns were taken back")));
        session.pass_on(&call.connection, &refusal).await;
    }
}

async fn answer_interrupts(session: &Arc<Loaded>) {
    let calls = std::mem::take(&mut held(&session.state).interrupts);
    for call in calls {
        session.pass_on(&call.connection, &call.answer_of(Ok(&TurnInterruptResponse {}))).await;
    }
}

async fn tell(server: &Arc<Server>, session: &Arc<Loaded>, event: &Event) {
    let (clients, untyped, told) = {
        let mut state = held(&session.state);
        match &event.msg {
            EventMessage::TaskStarted { turn_id, .. } => state.active = Some(turn_id.clone()),
            EventMessage::TaskComplete { turn_id, .. } | EventMessage::TurnAborted { turn_id, .. }
                if state.active.as_ref() == Some(turn_id) =>
            {
                state.active = None;
            }
            _ => {}
        }
        (state.subscribers.clone(), state.view.untyped(event), state.view.event(event))
    };
    if let Some(untyped) = untyped.filter(|_| !clients.is_empty()) {
        let message = rpc::encode(&untyped);
        for client in &clients {
            session.notify_one(client, &untyped.method, &message).await;
        }
    }
    tell_context(session, &clients, event).await;
    answer_waiting(server, session, event).await;
    for outgoing in told {
        match outgoing {
            Outgoing::Told(notification) if clients.is_empty() => drop(notification),
            Outgoing::Told(notification) if notification.is_for_all() => server.notify_all(&notification).await,
            Outgoing::Told(notification) => session.notify(&notification).await,
            Outgoing::Asked(question) => server.ask(session, *question).await,
        }
    }
    if matches!(event.msg, EventMessage::TaskComplete { .. } | EventMessage::TurnAborted { .. }) {
        server.forget_questions(session);
    }
}

/// Sends the parts of each request to the clients that asked for context events.
async fn tell_context(session: &Loaded, clients: &[Arc<Connection>], event: &Event) {
    let clients: Vec<_> = clients.iter().filter(|client| client.wants_context_events()).collect();
    if clients.is_empty() {
        return;
    }
    if let Some(notification) = ContextNotification::of(&session.about.id, &event.id, &event.msg) {
        let message = rpc::encode(&notification);
        for client in clients {
            session.pass_on(client, &message).await;
        }
    }
}

/// Answers requests whose outcome an event tells.
async fn answer_waiting(server: &Server, session: &Arc<Loaded>, event: &Event) {
    match &event.msg {
        EventMessage::TurnAborted { .. } => answer_interrupts(session).await,
        EventMessage::ThreadRolledBack { .. } => {
            let call = held(&session.state).rollback.take();
            if let Some(call) = call {
                let outcome = thread::stored(server, session).map(|thread| ThreadRollbackResponse { thread });
                session.pass_on(&call.connection, &call.answer_of(outcome.as_ref())).await;
            }
        }
        EventMessage::Error { message, codex_error_info: Some(ErrorInfo::ThreadRollbackFailed), .. } => {
            let call = held(&session.state).rollback.take();
            if let Some(call) = call {
                let refusal = call.answer_of(Err(&RpcError::invalid(message.clone())));
                session.pass_on(&call.connection, &refusal).await;
            }
        }
        _ => {}
    }
}
