//! The door of a session: submissions go in, events come out, in order.
//!
//! Both queues are bounded. If the client does not read events, the session waits; if the client drops its end, the
//! session ends.
//!
//! A session that idles can be unloaded ([`open_unloadable`]): its task ends, its items are dropped, and its queues stay, so
//! that the next submission loads it again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use pellucid_engine::agent_status;
use pellucid_engine::fragment::Origin;
use pellucid_exec::snapshot;
use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawReasoning;
use pellucid_protocol::failure::Failure;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_tasks::contained;
use pellucid_tools::desk::FromTool;
use pellucid_tools::queue;
pub use pellucid_tools::queue::Receiver;
pub use pellucid_tools::queue::Sender;
use tokio::sync::Notify;
use tokio::sync::oneshot;
use tokio::sync::watch;

use crate::child::StartedBy;
use crate::drive;
use crate::ghost;
use crate::log::Log;
use crate::mcp::Owner;
use crate::reshape;
use crate::reshape::ReshapeWish;
use crate::review;
use crate::session::Session;
use crate::session::SessionCopy;
use crate::session::StaysLoaded;
use crate::session::UnloadedItems;

/// How many submissions may wait.
const SUBMISSIONS_MAX: usize = 64;

/// How many events may wait.
const EVENTS_MAX: usize = 256;

/// How many questions about the next request may wait.
const LOOKS_MAX: usize = 4;

/// How many wishes to reshape the history may wait.
const RESHAPES_MAX: usize = 4;

/// The client's end of the door.
#[derive(Debug)]
pub struct Door {
    /// Takes submissions from the client.
    pub submissions: Sender<Submission>,
    /// Yields events to the client.
    pub events: Receiver<Event>,
    /// Takes questions about the next request.
    pub looks: Sender<LookQuestion>,
    /// Takes wishes to reshape the history. They wait for the end of a turn.
    pub reshapes: Sender<ReshapeWish>,
}

/// The question what the session would send next. It is answered with a copy of the session, and changes nothing.
#[derive(Debug)]
pub struct LookQuestion(pub oneshot::Sender<SessionCopy>);

impl LookQuestion {
    fn answer(self, copy: SessionCopy) {
        // A client that asks something else meanwhile does not wait any more.
        let _ = self.0.send(copy);
    }

    /// Answers with a copy of a session that is between two turns.
    pub(crate) fn between_turns(self, session: &mut Session) {
        self.answer(session.copy());
    }

    /// Answers with a copy of a session whose turn runs.
    pub(crate) fn in_turn(self, session: &mut Session) {
        self.answer(session.copy_in_turn());
    }
}

/// The session's end of the door.
#[derive(Debug)]
pub struct Inside {
    pub(crate) submissions: Receiver<Submission>,
    pub(crate) looks: Receiver<LookQuestion>,
    reshapes: Receiver<ReshapeWish>,
    pub(crate) events: EventSender,
    /// Submissions that arrived during a turn and wait for its end.
    pub(crate) waiting: VecDeque<Submission>,
    /// Rings when the session is to be unloaded; absent if the client keeps it loaded.
    bell: Option<UnloadBell>,
}

/// Asks a session to be unloaded as soon as it idles. A session that would lose something stays loaded.
#[derive(Debug, Clone, Default)]
pub struct UnloadBell(Arc<Notify>);

impl UnloadBell {
    /// Asks the session once to be unloaded.
    pub fn ring(&self) {
        self.0.notify_one();
    }
}

/// Waits for a bell; forever, if there is none.
async fn rung(bell: Option<&UnloadBell>) {
    match bell {
        Some(bell) => bell.0.notified().await,
        None => std::future::pending().await,
    }
}

/// A session that does not run any more.
#[derive(Debug)]
pub enum Left {
    /// The session was shut down, failed, or lost its client.
    Ended(Box<Session>),
    /// The session is unloaded, and runs again with its next submission.
    Unloaded(Unloaded),
}

/// A session without its items and without a task, with its end of the door.
#[derive(Debug)]
pub struct Unloaded {
    session: Box<Session>,
    inside: Inside,
    items: UnloadedItems,
}

impl Unloaded {
    /// Whether a submission waits, so that the session has to run.
    pub fn has_submission(&self) -> bool {
        !self.inside.submissions.is_empty()
    }

    /// Loads the session for the submission that waits, and runs it.
    pub fn run(self) -> impl Future<Output = Left> + Send {
        let Self { session, inside, items } = self;
        live(session, inside, Some(items))
    }
}

/// Why a session stopped serving its client.
#[derive(Debug)]
enum Served {
    /// The session was shut down.
    Over,
    /// The session is unloaded.
    Unloaded(UnloadedItems),
}

/// What a session does next.
#[derive(Debug)]
enum Next {
    Submission(Submission),
    /// The client takes no more submissions.
    Over,
    /// The session is to be unloaded.
    Unload,
}

/// Sends events, each followed by its echoes.
#[derive(Debug, Clone)]
pub(crate) struct EventSender {
    sender: Sender<Event>,
    raw: RawReasoning,
    /// The session's status, for agents and commands that wait for it.
    status: watch::Sender<AgentStatus>,
    /// The turn that began and has not ended.
    open_turn: Arc<Mutex<Option<TurnId>>>,
}

/// The client dropped its end of the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientGone;

impl EventSender {
    /// Records an event where session files keep it, then sends it to the client. If a file cannot be written, the
    /// client learns that first.
    pub(crate) async fn send(&self, log: &mut Log, id: &str, msg: EventMessage) -> Result<(), ClientGone> {
        self.send_items(log, id).await?;
        let echoes = msg.echoes(self.raw);
        for msg in std::iter::once(msg).chain(echoes) {
            log.event(&msg);
            self.note_turn(&msg);
            if let Some(status) = agent_status::after(&msg) {
                self.status.send_replace(status);
            }
            for message in log.take_failures() {
                let msg = EventMessage::Warning { message };
                self.sender.send(Event { id: id.to_owned(), msg }).await.map_err(|_gone| ClientGone)?;
            }
            self.sender.send(Event { id: id.to_owned(), msg }).await.map_err(|_gone| ClientGone)?;
        }
        Ok(())
    }

    /// The turn that began and has not ended.
    fn open_turn(&self) -> Option<TurnId> {
        self.open_turn.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_turn(&self, msg: &EventMessage) {
        let open = match msg {
            EventMessage::TaskStarted { turn_id, .. } => Some(turn_id.clone()),
            EventMessage::TaskComplete { .. } | EventMessage::TurnAborted { .. } => None,
            _ => return,
        };
        *self.open_turn.lock().unwrap_or_else(PoisonError::into_inner) = open;
    }

    /// Sends recorded items to clients that want them raw, and requests to those that want to know them.
    async fn send_items(&self, log: &mut Log, id: &str) -> Result<(), ClientGone> {
        for item in log.take_raw() {
            let msg = EventMessage::RawResponseItem { item };
            self.sender.send(Event { id: id.to_owned(), msg }).await.map_err(|_gone| ClientGone)?;
        }
        for request in log.take_noted() {
            let msg = EventMessage::ContextRequestSent(request);
            self.sender.send(Event { id: id.to_owned(), msg }).await.map_err(|_gone| ClientGone)?;
        }
        Ok(())
    }
}

/// What people read when an error inside Pellucid closed their session.
pub const CLOSED_BY_FAILURE: &str =
    "an error inside Pellucid closed this session; resume it to continue from what its file holds";

/// The id of what a session records before its first turn.
const BEFORE_TURNS: &str = "auto-compact-0";

/// Opens a door to a session. The client and [`run`] must be polled at the same time.
pub fn open(session: &Session) -> (Door, Inside) {
    open_watched(session, watch::Sender::default())
}

/// Opens a door whose session reports its status through `status`.
pub(crate) fn open_watched(session: &Session, status: watch::Sender<AgentStatus>) -> (Door, Inside) {
    let (submissions, events, inside) = open_plain(session, status);
    let (looks, asked) = queue::channel(LOOKS_MAX);
    let (reshapes, wished) = queue::channel(RESHAPES_MAX);
    (Door { submissions, events, looks, reshapes }, Inside { looks: asked, reshapes: wished, ..inside })
}

/// Opens a door for submissions and events alone.
fn open_plain(session: &Session, status: watch::Sender<AgentStatus>) -> (Sender<Submission>, Receiver<Event>, Inside) {
    let (submissions, receiver) = queue::channel(SUBMISSIONS_MAX);
    let (sender, events) = queue::channel(EVENTS_MAX);
    let raw = session.setup.raw_reasoning;
    let inside = Inside {
        submissions: receiver,
        looks: queue::closed(),
        reshapes: queue::closed(),
        events: EventSender { sender, raw, status, open_turn: Arc::default() },
        waiting: VecDeque::new(),
        bell: None,
    };
    (submissions, events, inside)
}

/// The client's end of a door to a session that can be unloaded while it idles.
#[derive(Debug)]
pub struct UnloadableDoor {
    /// Takes submissions from the client.
    pub submissions: Sender<Submission>,
    /// Yields events to the client.
    pub events: Receiver<Event>,
    /// Asks the session to be unloaded.
    pub bell: UnloadBell,
}

/// Opens a door to a session that can be unloaded while it idles.
pub fn open_unloadable(session: &Session) -> (UnloadableDoor, Inside) {
    let (submissions, events, inside) = open_plain(session, watch::Sender::default());
    let bell = UnloadBell::default();
    let inside = Inside { bell: Some(bell.clone()), ..inside };
    (UnloadableDoor { submissions, events, bell }, inside)
}

/// Runs a session until it is shut down or its client is gone, and returns it.
pub fn run(session: Session, inside: Inside) -> impl Future<Output = Session> + Send {
    let running = live(Box::new(session), inside, None);
    async move {
        match running.await {
            Left::Ended(session) | Left::Unloaded(Unloaded { session, .. }) => *session,
        }
    }
}

/// Runs a session until it is shut down, unloaded, or its client is gone.
pub fn run_unloadable(session: Session, inside: Inside) -> impl Future<Output = Left> + Send {
    live(Box::new(session), inside, None)
}

/// Session and turn are boxed, so the future of an idle session stays small.
async fn live(mut session: Box<Session>, mut inside: Inside, items: Option<UnloadedItems>) -> Left {
    match contained("session", serve(&mut session, &mut inside, items)).await {
        Ok(Ok(Served::Unloaded(items))) => return Left::Unloaded(Unloaded { session, inside, items }),
        Ok(Ok(Served::Over)) => {}
        Ok(Err(ClientGone)) => tracing::debug!("the session ended because its client is gone"),
        Err(_is_logged) => {
            tracing::error!(session = %session.id(), "a session failed inside Pellucid and was closed");
            // What made the session fail may make this fail too; then the end of the events is all that clients get.
            let _is_logged = contained("end of a session", report_failure(&mut session, &inside)).await;
        }
    }
    session.setup.crew.end().await;
    session.end_memories().await;
    Left::Ended(session)
}

/// Reports that an error of ours ended a session, and its turn if one was running. The state in memory may be half
/// changed, so the session is closed; its file is complete up to the error, as after a crash.
async fn report_failure(session: &mut Session, inside: &Inside) -> Result<(), ClientGone> {
    let turn_id = inside.events.open_turn();
    let id = turn_id.as_ref().map_or("", TurnId::as_str).to_owned();
    let error = EventMessage::Error {
        message: CLOSED_BY_FAILURE.to_owned(),
        codex_error_info: Some(ErrorInfo::Other),
        failure: Failure::default(),
    };
    inside.events.send(&mut session.log, &id, error).await?;
    if let Some(turn_id) = turn_id {
        let over = EventMessage::TaskComplete { turn_id, last_agent_message: None };
        inside.events.send(&mut session.log, &id, over).await?;
    }
    inside.events.send(&mut session.log, &id, EventMessage::ShutdownComplete).await
}

async fn serve(
    session: &mut Session,
    inside: &mut Inside,
    unloaded: Option<UnloadedItems>,
) -> Result<Served, ClientGone> {
    match unloaded {
        Some(items) => {
            let Some(submission) = inside.submissions.recv().await else { return Ok(Served::Over) };
            if !load_for(session, inside, &submission, items).await? {
                return Ok(Served::Over);
            }
            inside.waiting.push_front(submission);
        }
        None => introduce(session, inside).await?,
    }
    Box::pin(serve_submissions(session, inside)).await
}

/// Loads an unloaded session for a submission. Gives whether the session can serve it; if not, clients know why.
async fn load_for(
    session: &mut Session,
    inside: &mut Inside,
    submission: &Submission,
    items: UnloadedItems,
) -> Result<bool, ClientGone> {
    // What ends needs no items.
    if submission.operation == Operation::Shutdown {
        return Ok(true);
    }
    let id = submission.id.as_str();
    match session.load_again(items) {
        Ok(None) => Ok(true),
        Ok(Some(changed)) => {
            inside.events.send(&mut session.log, id, changed).await?;
            Ok(true)
        }
        Err(error) => {
            let error = EventMessage::Error {
                message: format!("the session could not be loaded again: {error}; resume it to continue"),
                codex_error_info: Some(ErrorInfo::Other),
                failure: Failure::default(),
            };
            inside.events.send(&mut session.log, id, error).await?;
            let over = EventMessage::TaskComplete { turn_id: submission.id.clone(), last_agent_message: None };
            inside.events.send(&mut session.log, id, over).await?;
            inside.events.send(&mut session.log, id, EventMessage::ShutdownComplete).await?;
            Ok(false)
        }
    }
}

/// Sends what clients learn of a session before its first turn, and begins what runs beside it.
async fn introduce(session: &mut Session, inside: &mut Inside) -> Result<(), ClientGone> {
    inside.events.send_items(&mut session.log, BEFORE_TURNS).await?;
    let configured = session.configured();
    inside.events.send(&mut session.log, "", configured).await?;
    for notice in session.take_notices() {
        inside.events.send(&mut session.log, "", notice).await?;
    }
    snapshot::remove_left(&session.setup.sources.config.folders.home);
    session.begin_servers();
    session.begin_memories();
    if session.servers.as_ref().is_none_or(|attached| attached.owner == Owner::Parent) {
        let started = EventMessage::McpStartupComplete { ready: Vec::new(), failed: Vec::new(), cancelled: Vec::new() };
        inside.events.send(&mut session.log, "", started).await?;
    }
    Ok(())
}

async fn serve_submissions(session: &mut Session, inside: &mut Inside) -> Result<Served, ClientGone> {
    loop {
        let next = match inside.waiting.pop_front() {
            Some(submission) => Next::Submission(submission),
            None => next(session, inside).await?,
        };
        let Submission { id, operation } = match next {
            Next::Submission(submission) => submission,
            Next::Over => return Ok(Served::Over),
            Next::Unload => match session.unload() {
                Ok(items) => return Ok(Served::Unloaded(items)),
                Err(StaysLoaded(why)) => {
                    tracing::debug!(session = %session.id(), why, "the session stays loaded");
                    continue;
                }
            },
        };
        match operation {
            Operation::UserInput { items, final_output_json_schema } => {
                for warning in session.turn_warnings() {
                    inside.events.send(&mut session.log, id.as_str(), warning).await?;
                }
                let task = drive::Task::Answer;
                let turn = drive::TurnInput { id, task, items, output_schema: final_output_json_schema };
                Box::pin(drive::drive(session, turn, inside)).await?;
            }
            Operation::Compact => {
                let task = drive::Task::Compact;
                let turn = drive::TurnInput { id, task, items: Vec::new(), output_schema: None };
                Box::pin(drive::drive(session, turn, inside)).await?;
            }
            Operation::Review { review_request } => Box::pin(review::run(session, &id, review_request, inside)).await?,
            Operation::RunUserShellCommand { command } => {
                let task = drive::Task::UserCommand(command);
                let turn = drive::TurnInput { id, task, items: Vec::new(), output_schema: None };
                Box::pin(drive::drive(session, turn, inside)).await?;
            }
            Operation::CleanBackgroundTerminals => {
                session.jobs.toolbox.terminals.terminate_all().await;
            }
            Operation::TerminateBackgroundTerminal { process_id } => {
                session.jobs.toolbox.terminals.terminate(process_id);
            }
            Operation::InjectItems { items } => {
                let origin = Origin::Provided { place: "items that a client added".into() };
                for item in &items {
                    session.record(item, &origin);
                }
                inside.events.send_items(&mut session.log, id.as_str()).await?;
            }
            Operation::Undo => Box::pin(ghost::undo(session, &id, inside)).await?,
            Operation::OverrideTurnContext(change) => session.change_settings(change),
            Operation::ThreadRollback { num_turns: 0 } => {
                let error = EventMessage::Error {
                    message: "num_turns must be >= 1".to_owned(),
                    codex_error_info: Some(ErrorInfo::ThreadRollbackFailed),
                    failure: Failure::default(),
                };
                inside.events.send(&mut session.log, id.as_str(), error).await?;
            }
            Operation::ThreadRollback { num_turns } => {
                let figures = session.roll_back(num_turns);
                inside.events.send(&mut session.log, id.as_str(), figures).await?;
                inside.events.send(&mut session.log, id.as_str(), EventMessage::ThreadRolledBack { num_turns }).await?;
            }
            Operation::ExecApproval { .. }
            | Operation::PatchApproval { .. }
            | Operation::UserInputAnswer { .. }
            | Operation::DynamicToolResponse { .. }
            | Operation::ResolveElicitation { .. } => {
                tracing::warn!("an answer to no open question is ignored: no turn is running");
            }
            Operation::Interrupt => {
                if let Some(attached) = &session.servers {
                    attached.servers.cancel_starts();
                }
            }
            Operation::Shutdown => {
                for aside in session.jobs.toolbox.close().await {
                    let warning = EventMessage::Warning { message: aside.to_string() };
                    inside.events.send(&mut session.log, id.as_str(), warning).await?;
                }
                if matches!(session.setup.origin, StartedBy::Client(_)) {
                    pellucid_exec::sandbox::let_go().await;
                }
                session.end_servers().await;
                session.clean_login_snapshots();
                session.setup.crew.end().await;
                session.end_memories().await;
                inside.events.send(&mut session.log, id.as_str(), EventMessage::ShutdownComplete).await?;
                return Ok(Served::Over);
            }
        }
    }
}

/// Waits for the next submission, or for the bell. Meanwhile, sends the events of commands that outlived their turn.
async fn next(session: &mut Session, inside: &mut Inside) -> Result<Next, ClientGone> {
    loop {
        tokio::select! {
            biased;
            submission = inside.submissions.recv() => return Ok(submission.map_or(Next::Over, Next::Submission)),
            Some(question) = inside.looks.recv() => question.between_turns(session),
            Some(wish) = inside.reshapes.recv() => {
                Box::pin(reshape::fulfil(session, wish, inside)).await?;
                if let Some(submission) = inside.waiting.pop_front() {
                    return Ok(Next::Submission(submission));
                }
            }
            message = session.jobs.hear() => outside_of_turns(session, inside, message).await?,
            () = rung(inside.bell.as_ref()) => return Ok(Next::Unload),
        }
    }
}

/// Takes what tools and servers say while no turn of the session itself runs.
pub(crate) async fn outside_of_turns(
    session: &mut Session,
    inside: &Inside,
    message: FromTool,
) -> Result<(), ClientGone> {
    match message {
        FromTool::Event(event) | FromTool::SessionEvent(event) => {
            inside.events.send(&mut session.log, "", event).await?;
        }
        FromTool::Snapshot(commit) => session.record_snapshot(commit),
        FromTool::UserCommandEnded { call_id, record } => {
            session.log_user_command(&call_id);
            session.record_draft(&record);
        }
        // Nothing else is left of a turn that is over. A question that is dropped here is cancelled.
        _ => {}
    }
    Ok(())
}
