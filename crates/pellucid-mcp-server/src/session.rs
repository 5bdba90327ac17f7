//! An open session: its door, the call that it works on, and what happens between calls.

use std::collections::VecDeque;
use std::path::Path;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use pellucid_agent::crew::NewChild;
use pellucid_agent::crew::Nursery;
use pellucid_agent::door;
use pellucid_agent::door::Door;
use pellucid_agent::door::LookQuestion;
use pellucid_agent::door::Receiver;
use pellucid_agent::door::Sender;
use pellucid_agent::identity::new_turn_id;
use pellucid_agent::session::Session;
use pellucid_agent::session::SessionCopy;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_tasks::contained;
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::question::CallQuestion;
use crate::question::CallReply;
use crate::server::ToolServer;

/// How many events that happen between two calls wait for the next one.
const LATE_MAX: usize = 256;

/// A future that callers give.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Who called a tool: receives what happens in the turn, and answers its questions.
pub trait ToolCaller: Send + Sync {
    /// Receives an event of the session.
    fn event<'a>(&'a self, session: &'a CalledSession, event: &'a Event) -> Boxed<'a, ()>;

    /// Sends a question of the session with this id, which came with the event of that id. What is given waits for the
    /// answer.
    fn ask<'a>(
        &'a self,
        session: &'a str,
        event: &'a str,
        question: &'a CallQuestion,
    ) -> Boxed<'a, Boxed<'static, CallReply>>;

    /// Whether what happens between two calls is received with the next call.
    fn hears_late(&self) -> bool {
        false
    }
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEnd {
    /// The turn ended with this message of the model.
    Answer(String),
    /// The turn failed.
    Failed(String),
    /// The turn was interrupted.
    Interrupted,
    /// The session ended before its turn.
    Gone,
}

/// The call that a session works on, or the last one.
struct Call {
    turn: TurnId,
    caller: Arc<dyn ToolCaller>,
    /// Absent once the turn is over.
    over: Option<oneshot::Sender<CallEnd>>,
}

/// An open session.
pub struct CalledSession {
    pub id: String,
    /// The file of the session, if it has one.
    pub path: Option<PathBuf>,
    submissions: Sender<Submission>,
    looks: Sender<LookQuestion>,
    /// Held while a call is worked on. Further calls wait.
    turn: tokio::sync::Mutex<()>,
    call: Mutex<Option<Call>>,
    /// What happened since the last call.
    late: Mutex<VecDeque<Event>>,
    /// Turns `true` when the session has ended.
    end: watch::Receiver<bool>,
}

impl std::fmt::Debug for CalledSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CalledSession").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The events of a session that no task reads yet.
#[must_use]
pub struct CallFeed {
    events: Receiver<Event>,
    agents: mpsc::UnboundedReceiver<NewChild>,
    ended: watch::Sender<bool>,
}

/// Receives the agents of one session.
#[derive(Debug)]
pub struct CalledAgents(mpsc::UnboundedSender<NewChild>);

impl CalledAgents {
    /// A nursery, and what it receives.
    pub fn open() -> (Arc<dyn Nursery>, mpsc::UnboundedReceiver<NewChild>) {
        let (sender, agents) = mpsc::unbounded_channel();
        (Arc::new(Self(sender)), agents)
    }
}

impl Nursery for CalledAgents {
    fn adopt(&self, child: NewChild) {
        // A closed channel means that the session is over; the agent ends with it.
        let _is_over = self.0.send(child);
    }
}

impl CalledSession {
    /// Runs a session for the client.
    pub fn run(
        server: &ToolServer,
        session: Session,
        agents: mpsc::UnboundedReceiver<NewChild>,
    ) -> (Arc<Self>, CallFeed) {
        let id = session.id().to_string();
        let path = session.path().map(Path::to_owned);
        let (Door { submissions, events, looks, .. }, inside) = door::open(&session);
        server.tasks.spawn("session", async move { drop(door::run(session, inside).await) });
        let (ended, end) = watch::channel(false);
        let turn = tokio::sync::Mutex::default();
        let open = Self { id, path, submissions, looks, turn, call: Mutex::default(), late: Mutex::default(), end };
        (Arc::new(open), CallFeed { events, agents, ended })
    }

    fn call(&self) -> MutexGuard<'_, Option<Call>> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn late(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn submit(&self, id: TurnId, operation: Operation) {
        // A session that has ended ignores operations; its call is answered.
        let _ended = self.submissions.send(Submission { id, operation }).await;
    }

    /// Works on a prompt until the turn is over. A prompt that comes while another one is worked on waits. The feed is that
    /// of a session that begins with this prompt.
    pub async fn turn(
        self: &Arc<Self>,
        server: &Arc<ToolServer>,
        feed: Option<CallFeed>,
        (turn, prompt): (TurnId, String),
        caller: Arc<dyn ToolCaller>,
        called_off: &CancellationToken,
    ) -> CallEnd {
        let _alone = tokio::select! {
            biased;
            alone = self.turn.lock() => alone,
            () = called_off.cancelled() => return CallEnd::Interrupted,
        };
        if *self.end.borrow() {
            return CallEnd::Gone;
        }
        let late = std::mem::take(&mut *self.late());
        for event in late {
            caller.event(self, &event).await;
        }
        let (over, mut is_over) = oneshot::channel();
        *self.call() = Some(Call { turn: turn.clone(), caller, over: Some(over) });
        if let Some(feed) = feed {
            feed.begin(server, self);
        }
        let input = Operation::UserInput { items: vec![UserInput::text(&prompt)], final_output_json_schema: None };
        self.submit(turn, input).await;
        tokio::select! {
            end = &mut is_over => return end.unwrap_or(CallEnd::Gone),
            () = called_off.cancelled() => {}
        }
        self.submit(new_turn_id(), Operation::Interrupt).await;
        is_over.await.unwrap_or(CallEnd::Gone)
    }

    /// A copy of the session, to see what it would send next. Absent if the session has ended.
    pub async fn look(&self) -> Option<SessionCopy> {
        let (question, answer) = oneshot::channel();
        self.looks.send(LookQuestion(question)).await.ok()?;
        answer.await.ok()
    }

    /// Ends the session, and waits until it has ended.
    pub async fn shut_down(&self) {
        self.submit(new_turn_id(), Operation::Interrupt).await;
        self.submit(new_turn_id(), Operation::Shutdown).await;
        let mut end = self.end.clone();
        // An error means that the sender is gone, so the session has ended.
        let _ = end.wait_for(|is_over| *is_over).await;
    }

    fn finish(&self, end: CallEnd) {
        let over = self.call().as_mut().and_then(|call| call.over.take());
        // Who called may not wait any more.
        let _ = over.map(|over| over.send(end));
    }

    /// Passes an event on to who called, and notes whether it ends the turn.
    async fn forward(self: &Arc<Self>, server: &Arc<ToolServer>, event: &Event) {
        let caller = {
            let call = self.call();
            let Some(call) = &*call else { return };
            if call.over.is_none() {
                if call.caller.hears_late() {
                    let mut late = self.late();
                    if late.len() >= LATE_MAX {
                        late.pop_front();
                    }
                    late.push_back(event.clone());
                }
                None
            } else {
                Some((call.caller.clone(), call.turn.as_str() == event.id))
            }
        };
        let Some((caller, is_its)) = caller else { return };
        caller.event(self, event).await;
        if let Some(question) = CallQuestion::of(&event.msg) {
            self.ask(server, &*caller, &event.id, question, self.submissions.clone()).await;
        }
        let end = match &event.msg {
            EventMessage::TaskComplete { last_agent_message, .. } => {
                CallEnd::Answer(last_agent_message.clone().unwrap_or_default())
            }
            EventMessage::TurnAborted { .. } => CallEnd::Interrupted,
            EventMessage::Error { message, .. } => CallEnd::Failed(message.clone()),
            _ => return,
        };
        if is_its {
            self.finish(end);
        }
    }

    /// Asks who called, and passes the answer on to who asks. The question is sent before any further event.
    async fn ask(
        &self,
        server: &ToolServer,
        caller: &dyn ToolCaller,
        event: &str,
        question: CallQuestion,
        asker: Sender<Submission>,
    ) {
        let reply = caller.ask(&self.id, event, &question).await;
        server.tasks.spawn("a question for the client", async move {
            let operation = question.operation(reply.await);
            // A session that has ended waits for no answer.
            let _ended = asker.send(Submission { id: new_turn_id(), operation }).await;
        });
    }
}

impl CallFeed {
    /// Begins to pass events on to who called.
    fn begin(self, server: &Arc<ToolServer>, session: &Arc<CalledSession>) {
        let Self { events, agents, ended } = self;
        server.tasks.spawn("following a session", follow(server.clone(), session.clone(), events, ended));
        server.tasks.spawn("following agents", follow_agents(server.clone(), session.clone(), agents));
    }
}

async fn follow(
    server: Arc<ToolServer>,
    session: Arc<CalledSession>,
    mut events: Receiver<Event>,
    ended: watch::Sender<bool>,
) {
    let following = async {
        // What is recorded before the session is ready comes behind the event that says so.
        let mut before = Some(Vec::new());
        while let Some(event) = events.recv().await {
            match &mut before {
                Some(waiting) if !matches!(event.msg, EventMessage::SessionConfigured(_)) => waiting.push(event),
                _ => {
                    session.forward(&server, &event).await;
                    for event in before.take().into_iter().flatten() {
                        session.forward(&server, &event).await;
                    }
                }
            }
        }
    };
    let _is_logged = contained("following a session", following).await;
    // A session whose events no client can receive is ended.
    drop(events);
    server.forget(&session);
    session.finish(CallEnd::Gone);
    ended.send_replace(true);
}

/// Asks the questions of agents in the name of the session. What they say is for the session, which shows it as the outcome
/// of its calls.
async fn follow_agents(
    server: Arc<ToolServer>,
    session: Arc<CalledSession>,
    mut agents: mpsc::UnboundedReceiver<NewChild>,
) {
    while let Some(child) = agents.recv().await {
        let (server, session) = (server.clone(), session.clone());
        server.clone().tasks.spawn("following an agent", async move {
            let NewChild { mut events, submissions, .. } = child;
            while let Some(event) = events.recv().await {
                let Some(question) = CallQuestion::of(&event.msg) else { continue };
                let caller = session.call().as_ref().map(|call| call.caller.clone());
                if let Some(caller) = caller {
                    session.ask(&server, &*caller, &event.id, question, submissions.clone()).await;
                }
            }
        });
    }
}
