//! A loaded session: its handle, the clients that follow it, and requests that wait for its events.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::Weak;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use pellucid_agent::context_events::ContextEvents;
use pellucid_agent::crew::NewChild;
use pellucid_agent::door;
use pellucid_agent::door::Left;
use pellucid_agent::door::UnloadBell;
use pellucid_agent::door::UnloadableDoor;
use pellucid_agent::door::Unloaded;
use pellucid_agent::identity;
use pellucid_agent::identity::new_turn_id;
use pellucid_agent::phases::Phases;
use pellucid_agent::session::Session;
use pellucid_agent::session::mcp::ServerSwitch;
use pellucid_config::mcp::McpServer;
use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::failure::Failure;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::operation::Submission;
use pellucid_tasks::contained;
use pellucid_tools::queue::Receiver;
use pellucid_tools::queue::Sender;
use serde_json::Value;
use tokio::sync::watch;

use crate::call::MethodCall;
use crate::connection::Connection;
use crate::methods::thread;
use crate::methods::thread::ThreadRollbackResponse;
use crate::methods::turn::TurnInterruptResponse;
use crate::newest::live;
use crate::newest::live::Live;
use crate::newest::live::NewestMessage;
use crate::newest::live::ThreadBackgroundTerminal;
use crate::newest::notice::NewestNotification;
use crate::newest::notice::ThreadActiveFlag;
use crate::newest::notice::ThreadStatus;
use crate::newest::settings::CurrentSettings;
use crate::newest::settings::Ways;
use crate::rpc;
use crate::rpc::RpcError;
use crate::server::Server;
use crate::server::held;
use crate::types::notification::ServerNotification;
use crate::types::notification::TurnStartedNotification;
use crate::types::source::SessionSource;
use crate::types::thread::Thread;
use crate::types::thread::Turn;
use crate::view::ContextNotification;
use crate::view::Outgoing;
use crate::view::ServerQuestion;
use crate::view::ThreadView;

/// How many interrupt requests may wait for the end of one turn.
const INTERRUPTS_MAX: usize = 64;

/// A loaded session.
#[derive(Debug)]
pub struct LoadedSession {
    /// What clients are shown of the session; what can change is read from its file.
    pub about: Thread,
    /// The settings in the response to a client that loads the session again.
    pub settings: StartSettings,
    /// The session's file; an ephemeral session has none.
    pub path: Option<PathBuf>,
    /// The phases of the session's work.
    pub phases: Phases,
    /// The paths of the instruction files in the session's context.
    pub instruction_sources: Vec<String>,
    submissions: Sender<Submission>,
    context_events: ContextEvents,
    servers: ServerSwitch,
    state: Mutex<State>,
    n_subscribers: watch::Sender<usize>,
    /// Whether clients have received what the session recorded before its first turn.
    is_opened: watch::Sender<bool>,
    /// Turns `true` when the session has ended.
    end: watch::Receiver<bool>,
    seat: Seat,
}

/// Where a session is: its task runs, or what is left of the unloaded session waits here.
#[derive(Debug, Default)]
struct Seat {
    /// Asks the session to be unloaded; absent for a session that stays loaded.
    bell: Option<UnloadBell>,
    unloaded: Mutex<Option<Box<Unloaded>>>,
    /// The number of the last use among those of all threads.
    use_number: AtomicU64,
    server: Weak<Server>,
    /// The session that sits here.
    session: Weak<LoadedSession>,
}

/// The settings with which a session was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct StartSettings {
    pub model: String,
    pub model_provider: String,
    pub cwd: String,
    /// When commands and patches need approval.
    pub approval_policy: pellucid_protocol::settings::ApprovalPolicy,
    /// What commands may touch.
    pub sandbox: pellucid_protocol::settings::SandboxPolicy,
    /// The reasoning effort, if one is set.
    pub effort: Option<pellucid_protocol::settings::ReasoningEffort>,
}

#[derive(Debug)]
struct State {
    view: ThreadView,
    /// What only clients of today receive.
    live: Live,
    /// The settings as they are now.
    current: CurrentSettings,
    subscribers: Vec<Arc<Connection>>,
    /// The turn that runs or is about to begin.
    active: Option<TurnId>,
    interrupts: Vec<MethodCall<TurnInterruptResponse>>,
    rollback: Option<MethodCall<ThreadRollbackResponse>>,
}

/// What is known of a session without asking it.
#[derive(Debug)]
pub struct LoadedDescription {
    /// What clients are shown of the session.
    pub about: Thread,
    pub settings: StartSettings,
    /// The session's file, if it has one.
    pub path: Option<PathBuf>,
    /// Whether clients receive context events of the session.
    pub context_events: ContextEvents,
    /// The phases of the session's work.
    pub phases: Phases,
    /// Through this the session can be given other MCP servers.
    pub servers: ServerSwitch,
    /// The settings that a client can change, beside `settings`.
    pub ways: Ways,
    /// The paths of the instruction files in the session's context.
    pub instruction_sources: Vec<String>,
}

impl LoadedDescription {
    /// Describes an agent that a session started.
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
        let settings = StartSettings {
            model: child.model.clone(),
            model_provider: child.provider_id.clone(),
            cwd: child.cwd.to_string_lossy().into_owned(),
            approval_policy: child.approval_policy,
            sandbox: child.sandbox_policy.clone(),
            effort: child.effort,
        };
        let (context_events, phases) = (child.context_events.clone(), child.phases.clone());
        let servers = ServerSwitch::default();
        let (path, ways, instruction_sources) = (child.path.clone(), Ways::default(), Vec::new());
        Self { about, settings, path, context_events, phases, servers, ways, instruction_sources }
    }
}

/// A request of this kind is under way already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

impl LoadedSession {
    /// Runs a session for its clients.
    pub fn run(server: &Arc<Server>, session: Session, about: Thread, raw: RawItems) -> (Arc<Self>, Following) {
        let facts = session.facts();
        let settings = StartSettings {
            model: facts.settings.model.slug.clone(),
            model_provider: session.provider_id().to_owned(),
            cwd: facts.settings.cwd.clone(),
            approval_policy: facts.settings.approval_policy,
            sandbox: facts.settings.sandbox_policy.clone(),
            effort: facts.settings.effort,
        };
        let ways = Ways {
            summary: Some(facts.settings.summary),
            personality: facts.settings.personality,
            mode: Some(facts.settings.collaboration_mode.clone()),
        };
        let documents = facts.world.home_document.iter().chain(&facts.world.project_documents);
        let instruction_sources = documents.map(|document| document.path.clone()).collect();
        let path = session.path().map(ToOwned::to_owned);
        let context_events = session.context_events_switch().clone();
        let (phases, servers) = (session.phases().clone(), session.server_switch().clone());
        let (UnloadableDoor { submissions, events, bell }, inside) = door::open_unloadable(&session);
        let limits = session.config().servers.threads;
        let described =
            LoadedDescription { about, settings, path, context_events, phases, servers, ways, instruction_sources };
        let (loaded, following) = Self::seated(server, submissions, events, described, raw, Some(bell));
        loaded.is_opened.send_replace(false);
        loaded.stay(server, door::run_unloadable(session, inside));
        server.unloading.opened(server, &loaded, limits);
        (loaded, following)
    }

    /// Runs the session until it ends or is unloaded.
    fn stay(self: &Arc<Self>, server: &Arc<Server>, running: impl Future<Output = Left> + Send + 'static) {
        let (seat, host) = (Arc::downgrade(self), Arc::downgrade(server));
        server.tasks.spawn("session", async move {
            match (running.await, seat.upgrade(), host.upgrade()) {
                (Left::Unloaded(unloaded), Some(loaded), Some(server)) => {
                    server.unloading.left(&loaded);
                    *held(&loaded.seat.unloaded) = Some(Box::new(unloaded));
                    // A submission that came meanwhile did not find the unloaded session.
                    if held(&loaded.seat.unloaded).as_ref().is_some_and(|unloaded| unloaded.has_submission()) {
                        loaded.load_again();
                    }
                }
                (left, ..) => drop(left),
            }
        });
    }

    /// Runs the session again, if it is unloaded.
    fn load_again(&self) {
        let Some(unloaded) = held(&self.seat.unloaded).take() else { return };
        if let (Some(server), Some(loaded)) = (self.seat.server.upgrade(), self.seat.session.upgrade()) {
            loaded.stay(&server, unloaded.run());
            server.unloading.used(&loaded);
        }
    }

    /// Whether the session can be unloaded at all: agents of other sessions stay.
    pub(crate) fn can_be_unloaded(&self) -> bool {
        self.seat.bell.is_some()
    }

    /// Asks the session to be unloaded, unless a turn runs or is about to begin.
    pub(crate) fn ask_to_unload(&self) {
        if let Some(bell) = self.seat.bell.as_ref().filter(|_| self.active_turn().is_none()) {
            bell.ring();
        }
    }

    /// The number of the last use among those of all threads.
    pub(crate) fn use_number(&self) -> u64 {
        self.seat.use_number.load(Ordering::Relaxed)
    }

    /// Sets the number of the last use.
    pub(crate) fn set_use_number(&self, number: u64) {
        self.seat.use_number.store(number, Ordering::Relaxed);
    }

    /// Whether the session is unloaded.
    #[cfg(test)]
    pub(crate) fn is_unloaded(&self) -> bool {
        held(&self.seat.unloaded).is_some()
    }

    /// Follows a session that runs already.
    pub fn behind(
        server: &Arc<Server>,
        submissions: Sender<Submission>,
        events: Receiver<Event>,
        described: LoadedDescription,
        raw: RawItems,
    ) -> (Arc<Self>, Following) {
        Self::seated(server, submissions, events, described, raw, None)
    }

    fn seated(
        server: &Arc<Server>,
        submissions: Sender<Submission>,
        events: Receiver<Event>,
        described: LoadedDescription,
        raw: RawItems,
        bell: Option<UnloadBell>,
    ) -> (Arc<Self>, Following) {
        let LoadedDescription { about, settings, path, context_events, phases, servers, ways, instruction_sources } =
            described;
        let (ended, end) = watch::channel(false);
        let state = State {
            view: ThreadView::new(about.id.as_str()).with_raw_items(raw),
            live: Live::new(&about.id),
            current: CurrentSettings::new(&settings, ways),
            subscribers: Vec::new(),
            active: None,
            interrupts: Vec::new(),
            rollback: None,
        };
        let (state, n_subscribers) = (Mutex::new(state), watch::Sender::new(0));
        let is_opened = watch::Sender::new(true);
        let loaded = Arc::new_cyclic(|session| Self {
            about,
            settings,
            path,
            phases,
            instruction_sources,
            submissions,
            context_events,
            servers,
            state,
            n_subscribers,
            is_opened,
            end,
            seat: Seat { bell, server: Arc::downgrade(server), session: session.clone(), ..Seat::default() },
        });
        server.add(loaded.clone());
        (loaded, Following { events, ended })
    }

    /// Waits until clients have received what the session recorded before its first turn, so that no turn overtakes it.
    pub async fn opened(&self) {
        // The session holds the sender, so this cannot fail.
        let _ = self.is_opened.subscribe().wait_for(|is_opened| *is_opened).await;
    }

    /// Subscribes a client to the session's events.
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

    /// Whether a client receives the session's events.
    pub fn is_subscribed(&self, connection: &Connection) -> bool {
        held(&self.state).subscribers.iter().any(|it| it.id == connection.id)
    }

    /// What the session does, for clients of today.
    pub fn status(&self) -> Value {
        serde_json::to_value(held(&self.state).live.status()).unwrap_or_default()
    }

    /// The settings as they are now.
    pub fn current(&self) -> CurrentSettings {
        held(&self.state).current.clone()
    }

    /// The turn that clients of today know of and that is not over.
    pub fn announced_turn(&self) -> Option<String> {
        held(&self.state).live.turn_id()
    }

    /// The commands whose terminals are open.
    pub fn terminals(&self) -> Vec<ThreadBackgroundTerminal> {
        held(&self.state).live.terminals()
    }

    /// Changes settings for later turns. Clients of today are notified if `change` has any.
    pub async fn change_settings(&self, change: SettingsChange) {
        if change == SettingsChange::default() {
            return;
        }
        let settings = {
            let mut state = held(&self.state);
            let before = state.current.clone();
            state.current.apply(&change);
            (state.current != before).then(|| state.current.shown())
        };
        self.submit(new_turn_id(), Operation::OverrideTurnContext(change)).await;
        if let Some(thread_settings) = settings {
            let thread_id = self.about.id.clone();
            self.notify_newest(&NewestNotification::ThreadSettingsUpdated { thread_id, thread_settings }).await;
        }
    }

    /// Notes a question to clients, and notifies clients of today of what the session waits for.
    pub(crate) async fn asked(&self, number: i64, flag: Option<ThreadActiveFlag>) {
        let notification = held(&self.state).live.asked(number, flag);
        if let Some(notification) = notification {
            self.notify_newest(&notification).await;
        }
    }

    /// Notifies clients of today that a question needs no answer any more.
    pub(crate) async fn resolved(&self, number: i64) {
        let notifications = held(&self.state).live.resolved(number);
        for notification in &notifications {
            self.notify_newest(notification).await;
        }
    }

    /// Sends a notification to those clients of the session that speak the protocol of today.
    pub(crate) async fn notify_newest(&self, notification: &NewestNotification) {
        let clients = self.subscribers();
        if clients.iter().any(|client| client.is_newest()) {
            self.send_newest(&clients, &[live::encoded(notification, now())]).await;
        }
    }

    async fn send_newest(&self, clients: &[Arc<Connection>], messages: &[NewestMessage]) {
        for client in clients.iter().filter(|client| client.is_newest()) {
            for NewestMessage { method, message } in messages {
                self.notify_one(client, method, message).await;
            }
        }
    }

    /// Removes a client. Returns whether no client is left.
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

    /// The clients that receive the session's events.
    pub fn subscribers(&self) -> Vec<Arc<Connection>> {
        held(&self.state).subscribers.clone()
    }

    /// Submits an operation to the session.
    pub async fn submit(&self, id: TurnId, operation: Operation) {
        // A session that has ended ignores operations; its clients have been notified of the end.
        let _ended = self.submissions.send(Submission { id, operation }).await;
        self.load_again();
    }

    /// Gives the session these MCP servers from its next turn on.
    pub fn use_servers(&self, servers: BTreeMap<String, McpServer>) {
        self.servers.use_next(servers);
    }

    /// The turn that runs or is about to begin.
    pub fn active_turn(&self) -> Option<TurnId> {
        held(&self.state).active.clone()
    }

    /// The running turn with its items so far.
    pub fn turn_in_progress(&self) -> Option<Turn> {
        held(&self.state).view.turn_in_progress()
    }

    /// Marks a turn as about to begin, unless one runs.
    pub fn expect_turn(&self, id: &TurnId) {
        held(&self.state).active.get_or_insert_with(|| id.clone());
    }

    /// Interrupts the running turn.
    pub async fn interrupt(&self) {
        self.submit(new_turn_id(), Operation::Interrupt).await;
    }

    /// Interrupts the running turn for a client, which receives its response when the turn is over.
    ///
    /// # Errors
    /// If too many requests wait already, because there is no turn to interrupt.
    pub async fn interrupt_for(&self, call: MethodCall<TurnInterruptResponse>) -> Result<(), Busy> {
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

    /// Removes the last turns for a client, which receives its response when they are removed.
    ///
    /// # Errors
    /// If another rollback is under way.
    pub async fn roll_back_for(&self, call: MethodCall<ThreadRollbackResponse>, num_turns: usize) -> Result<(), Busy> {
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

    /// Passes a client's answer to a question on to the session; an error counts as "no answer".
    pub async fn answered(&self, question: ServerQuestion, outcome: Result<Value, RpcError>) {
        let (operation, messages) = held(&self.state).view.answered(question, outcome);
        for outgoing in messages {
            // An answer leads to no further question, so all outgoing messages are notifications.
            if let Outgoing::Notification(notification) = outgoing {
                self.notify(&notification).await;
            }
        }
        self.submit(new_turn_id(), operation).await;
    }

    /// Sends a notification to the clients of the session.
    pub async fn notify(&self, notification: &ServerNotification) {
        let (clients, newest) = self.noted(notification);
        if clients.iter().any(|client| !client.is_newest()) {
            let message = rpc::encode(notification);
            self.send(notification.method(), &message).await;
        }
        self.send_newest(&clients, &newest).await;
    }

    /// Sends a notification to the clients that speak the protocol of 0.104.0 only.
    pub async fn notify_classic(&self, notification: &ServerNotification) {
        self.send(notification.method(), &rpc::encode(notification)).await;
    }

    /// Notes a notification. Returns the clients of the session, and what those of today receive.
    fn noted(&self, notification: &ServerNotification) -> (Vec<Arc<Connection>>, Vec<NewestMessage>) {
        let mut state = held(&self.state);
        let clients = state.subscribers.clone();
        let is_wanted = clients.iter().any(|client| client.is_newest());
        let newest = state.live.notified(notification, now(), is_wanted);
        (clients, newest)
    }

    /// Sends an event under its protocol version 1 name to the clients of the session.
    pub async fn notify_untyped(&self, event: &Event) {
        let untyped = held(&self.state).view.untyped(event);
        if let Some(untyped) = untyped {
            self.send(&untyped.method, &rpc::encode(&untyped)).await;
        }
    }

    /// Sends a message to the clients that speak the protocol of 0.104.0.
    async fn send(&self, method: &str, message: &Bytes) {
        for client in self.subscribers().into_iter().filter(|client| !client.is_newest()) {
            self.notify_one(&client, method, message).await;
        }
    }

    async fn notify_one(&self, client: &Connection, method: &str, message: &Bytes) {
        if client.wants(method) {
            self.pass_on(client, message).await;
        }
    }

    /// Sends a message to a client of the session. The session waits for the client only while it is the session's only
    /// client; if another one joins meanwhile, the session stops waiting.
    pub(crate) async fn pass_on(&self, client: &Connection, message: &Bytes) {
        let mut n_subscribers = self.n_subscribers.subscribe();
        tokio::select! {
            biased;
            // The session owns the sender, so waiting cannot fail.
            Ok(_) = n_subscribers.wait_for(|n| *n > 1) => client.send_now(message.clone()),
            () = client.send(message.clone()) => {}
        }
    }

    /// Ends the session and waits until it has ended.
    pub async fn shut_down(&self) {
        self.submit(new_turn_id(), Operation::Shutdown).await;
        let mut end = self.end.clone();
        // An error means that the sender is gone, so the session has ended.
        let _ = end.wait_for(|is_over| *is_over).await;
    }
}

/// The events of a session that no task reads yet.
#[derive(Debug)]
#[must_use]
pub struct Following {
    events: Receiver<Event>,
    ended: watch::Sender<bool>,
}

impl Following {
    /// Begins to forward the events to the session's clients.
    pub fn begin(self, server: &Arc<Server>, session: &Arc<LoadedSession>) {
        server.tasks.spawn("following a session", follow(server.clone(), session.clone(), self.events, self.ended));
    }
}

/// Forwards the events of a session to its clients until the session ends.
async fn follow(
    server: Arc<Server>,
    session: Arc<LoadedSession>,
    mut events: Receiver<Event>,
    ended: watch::Sender<bool>,
) {
    let mut is_broken = false;
    while !is_broken && let Some(event) = events.recv().await {
        is_broken = contained("following a session", forward(&server, &session, &event)).await.is_err();
        if matches!(event.msg, EventMessage::SessionConfigured(_)) {
            session.is_opened.send_replace(true);
        }
    }
    session.is_opened.send_replace(true);
    // A session whose events no client can receive is ended. It can be resumed from its file.
    drop(events);
    server.forget(&session);
    server.unloading.left(&session);
    let _is_logged = contained("end of a session", close(&server, &session, is_broken)).await;
    ended.send_replace(true);
}

/// Answers the requests that wait for a session which has ended. If its clients could not receive events, the running
/// turn is reported as failed.
async fn close(server: &Arc<Server>, session: &Arc<LoadedSession>, is_broken: bool) {
    if let Some(turn_id) = session.active_turn().filter(|_| is_broken) {
        tracing::error!(session = session.about.id, "a session was closed during a turn");
        let error = EventMessage::Error {
            message: door::CLOSED_BY_FAILURE.to_owned(),
            codex_error_info: Some(ErrorInfo::Other),
            failure: Failure::default(),
        };
        let over = EventMessage::TaskComplete { turn_id: turn_id.clone(), last_agent_message: None };
        for msg in [error, over] {
            forward(server, session, &Event { id: turn_id.to_string(), msg }).await;
        }
    }
    server.forget_questions(session).await;
    let thread_id = session.about.id.clone();
    let status = ThreadStatus::NotLoaded;
    session.notify_newest(&NewestNotification::ThreadStatusChanged { thread_id: thread_id.clone(), status }).await;
    session.notify_newest(&NewestNotification::ThreadClosed { thread_id }).await;
    answer_interrupts(session).await;
    let rollback = held(&session.state).rollback.take();
    if let Some(call) = rollback {
        let refusal = call.answer_of(Err(&RpcError::internal("the session ended before its turns were rolled back")));
        session.pass_on(&call.connection, &refusal).await;
    }
}

async fn answer_interrupts(session: &Arc<LoadedSession>) {
    let calls = std::mem::take(&mut held(&session.state).interrupts);
    for call in calls {
        session.pass_on(&call.connection, &call.answer_of(Ok(&TurnInterruptResponse {}))).await;
    }
}

async fn forward(server: &Arc<Server>, session: &Arc<LoadedSession>, event: &Event) {
    let (clients, untyped, messages) = {
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
        for client in clients.iter().filter(|client| !client.is_newest()) {
            session.notify_one(client, &untyped.method, &message).await;
        }
    }
    tell_newest(session, &clients, event).await;
    send_context(session, &clients, event).await;
    answer_waiting(server, session, event).await;
    for outgoing in messages {
        match outgoing {
            // No client listens, but the state that later clients see must be right.
            Outgoing::Notification(notification) if clients.is_empty() => drop(session.noted(&notification)),
            Outgoing::Notification(notification) if notification.is_for_all() => server.notify_all(&notification).await,
            Outgoing::Notification(notification) => session.notify(&notification).await,
            Outgoing::Asked(question) => server.ask(session, *question).await,
        }
    }
    if matches!(event.msg, EventMessage::TaskComplete { .. } | EventMessage::TurnAborted { .. }) {
        server.forget_questions(session).await;
        server.unloading.used(session);
    }
}

/// Sends clients of today the notifications that 0.104.0 does not have.
async fn tell_newest(session: &LoadedSession, clients: &[Arc<Connection>], event: &Event) {
    let notification = held(&session.state).live.event(&event.msg);
    if let Some(notification) = notification {
        session.notify_newest(&notification).await;
    }
    // A turn that no request began, such as a summary, is announced to clients of today alone. The turn is the event's,
    // because a reviewer that works in a turn has other turns.
    let is_start = matches!(event.msg, EventMessage::TaskStarted { .. }) && !event.id.is_empty();
    if is_start && !held(&session.state).live.knows(&event.id) {
        let (thread_id, turn) = (session.about.id.clone(), Turn::in_progress(event.id.as_str()));
        let (_, newest) = session.noted(&TurnStartedNotification { thread_id, turn }.into());
        session.send_newest(clients, &newest).await;
    }
}

/// Now, in milliseconds of Unix time.
fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Sends the parts of each request to the clients that asked for context events.
async fn send_context(session: &LoadedSession, clients: &[Arc<Connection>], event: &Event) {
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

/// Answers the requests whose outcome this event reports.
async fn answer_waiting(server: &Server, session: &Arc<LoadedSession>, event: &Event) {
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
