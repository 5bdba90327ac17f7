//! An open session: its door, what its client has received, the prompt that it works on.

use std::path::Path;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use agent_client_protocol::v1::schema::ContentBlock;
use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::NoticeSeverity;
use agent_client_protocol::v1::schema::RequestId;
use agent_client_protocol::v1::schema::SessionId;
use agent_client_protocol::v1::schema::SessionNotification;
use agent_client_protocol::v1::schema::SessionUpdate;
use pellucid_agent::door;
use pellucid_agent::door::Door;
use pellucid_agent::door::Receiver;
use pellucid_agent::door::Sender;
use pellucid_agent::identity::new_turn_id;
use pellucid_agent::session::server_input::ListingPrompts;
use pellucid_engine::facts::LoadedImage;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::mcp::McpServerStatus;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_tasks::Task;
use pellucid_tasks::contained;
use pellucid_workspace::images::load_image;
use tokio::sync::watch;

use crate::ask::Askable;
use crate::ask::ClientQuestion;
use crate::ask::SessionQuestion;
use crate::connection::Lane;
use crate::open::ClientPlace;
use crate::open::Opened;
use crate::options::Choices;
use crate::options::Offer;
use crate::server::AcpServer;
use crate::view::Outgoing;
use crate::view::Shown;
use crate::view::Texts;
use crate::view::TurnEnd;
use crate::view::TurnFault;
use crate::view::View;
use crate::view::Wanted;
use crate::wire;
use crate::wire::not_now;

/// How large a file may be whose texts before and after a patch are shown whole.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Asks the MCP servers of a session what they offer.
type AskServers = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Vec<McpServerStatus>> + Send>> + Send + Sync>;

/// An open session.
pub struct OpenSession {
    pub id: String,
    pub place: ClientPlace,
    /// The way to the client that this session waits for.
    pub lane: Lane,
    /// The file of the session, once it is written.
    pub path: Option<PathBuf>,
    submissions: Sender<Submission>,
    servers: Option<AskServers>,
    state: Mutex<State>,
    /// Turns `true` when the session has ended.
    end: watch::Receiver<bool>,
}

impl std::fmt::Debug for OpenSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenSession").field("id", &self.id).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct State {
    view: View,
    offer: Offer,
    choices: Choices,
    prompt: Option<Prompt>,
    /// Whether a prompt was sent since the session was opened.
    has_prompt: bool,
}

/// A prompt that is not answered.
#[derive(Debug)]
struct Prompt {
    id: RequestId,
    turn: TurnId,
    has_begun: bool,
    is_cancelled: bool,
}

/// The events of a session that no task reads yet.
#[derive(Debug)]
#[must_use]
pub struct EventFeed {
    events: Receiver<Event>,
    ended: watch::Sender<bool>,
    notes: Vec<String>,
}

/// Until the prompts of a session's servers are known; absent if it has no servers.
pub type PromptsFeed = Option<ListingPrompts>;

impl OpenSession {
    /// Runs a session for the client.
    pub fn run(
        server: &AcpServer,
        opened: Opened,
        place: ClientPlace,
        shown: Shown,
    ) -> (Arc<Self>, EventFeed, PromptsFeed) {
        let Opened { session, offer, choices, notes } = opened;
        let id = session.id().to_string();
        let path = session.path().map(Path::to_owned);
        let servers = session.servers().map(|servers| -> AskServers {
            Box::new(move || {
                let servers = servers.clone();
                Box::pin(async move { servers.status().await })
            })
        });
        let prompts = session.server_prompts();
        let (Door { submissions, events, .. }, inside) = door::open(&session);
        // Outside of the block, which would keep a second place for the session.
        let running = door::run(session, inside);
        server.tasks.spawn("session", async move { drop(running.await) });
        let (ended, end) = watch::channel(false);
        let state = State { view: View::new(shown), offer, choices, prompt: None, has_prompt: false };
        let lane = server.connection.lane.beside();
        let open = Self { id, place, lane, path, submissions, servers, state: Mutex::new(state), end };
        (Arc::new(open), EventFeed { events, ended, notes }, prompts)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits an operation under a new id.
    pub async fn submit(&self, operation: Operation) {
        self.submit_as(new_turn_id(), operation).await;
    }

    async fn submit_as(&self, id: TurnId, operation: Operation) {
        // A session that has ended ignores operations; its prompt was answered.
        let _ended = self.submissions.send(Submission { id, operation }).await;
    }

    /// What can be chosen, and what is chosen.
    pub fn chosen(&self) -> (Offer, Choices) {
        let state = self.state();
        (state.offer.clone(), state.choices.clone())
    }

    /// Keeps what is chosen from now on.
    pub fn choose(&self, choices: Choices) {
        self.state().choices = choices;
    }

    /// The tokens in the model's window, as far as they are known.
    pub fn usage(&self) -> Option<agent_client_protocol::v1::schema::Usage> {
        self.state().view.usage().cloned()
    }

    /// Whether a prompt is being worked on.
    pub fn is_busy(&self) -> bool {
        self.state().prompt.is_some()
    }

    /// Whether the session has ended.
    pub fn has_ended(&self) -> bool {
        *self.end.borrow()
    }

    /// What the session's MCP servers offer.
    pub async fn servers(&self) -> Vec<McpServerStatus> {
        match &self.servers {
            Some(ask) => ask().await,
            None => Vec::new(),
        }
    }

    /// Begins to work on a prompt. Gives whether it is the first one.
    ///
    /// # Errors
    /// If the session works on another one.
    pub fn begin_prompt(&self, id: &RequestId) -> Result<(TurnId, bool), Error> {
        let mut state = self.state();
        if state.prompt.is_some() {
            return Err(not_now(format!("session {} works on another prompt; cancel it or wait for its end", self.id)));
        }
        let turn = new_turn_id();
        state.prompt = Some(Prompt { id: id.clone(), turn: turn.clone(), has_begun: false, is_cancelled: false });
        Ok((turn, !std::mem::replace(&mut state.has_prompt, true)))
    }

    /// Gives the prompt up, because nothing was submitted for it.
    pub fn drop_prompt(&self) {
        self.state().prompt = None;
    }

    /// Submits what a prompt means.
    pub async fn work_on(&self, turn: TurnId, operation: Operation) {
        self.submit_as(turn, operation).await;
    }

    /// Interrupts the turn of the prompt, if there is one.
    pub async fn cancel(&self) {
        let has_prompt = match &mut self.state().prompt {
            Some(prompt) => {
                prompt.is_cancelled = true;
                true
            }
            None => false,
        };
        if has_prompt {
            self.submit(Operation::Interrupt).await;
        }
    }

    /// Whether a prompt with this id is being worked on.
    pub fn works_on(&self, id: &RequestId) -> bool {
        self.state().prompt.as_ref().is_some_and(|prompt| prompt.id == *id)
    }

    /// Ends the session, and waits until it has ended.
    pub async fn shut_down(&self) {
        self.cancel().await;
        self.submit(Operation::Shutdown).await;
        let mut end = self.end.clone();
        // An error means that the sender is gone, so the session has ended.
        let _ = end.wait_for(|is_over| *is_over).await;
    }

    /// Sends an update.
    pub async fn update(&self, update: SessionUpdate) {
        let update = SessionNotification::new(SessionId::new(self.id.as_str()), update);
        self.lane.send(wire::notification("session/update", &update)).await;
    }

    /// Sends a notice, in the way in which the client shows notices.
    pub async fn note(&self, severity: NoticeSeverity, text: String) {
        let noted = self.state().view.note(severity, text, None);
        for outgoing in noted {
            if let Outgoing::Update(update) = outgoing {
                self.update(update).await;
            }
        }
    }

    /// Sends a text as a message of the agent.
    pub async fn say(&self, text: &str) {
        let id = new_turn_id().to_string();
        self.update(SessionUpdate::AgentMessageChunk(crate::view::chunk(text, &id))).await;
    }

    /// Answers the prompt.
    async fn answer(&self, prompt: &Prompt, end: TurnEnd) {
        let answer = end.answer(prompt.is_cancelled);
        self.lane.answer(&prompt.id, answer.as_ref()).await;
    }
}

impl EventFeed {
    /// Begins to send the client what the events mean.
    pub fn begin(self, server: &Arc<AcpServer>, session: &Arc<OpenSession>) {
        server.tasks.spawn("following a session", follow(server.clone(), session.clone(), self));
    }
}

async fn follow(server: Arc<AcpServer>, session: Arc<OpenSession>, following: EventFeed) {
    let EventFeed { mut events, ended, notes } = following;
    for note in notes {
        session.note(NoticeSeverity::Warning, note).await;
    }
    let mut is_broken = false;
    while !is_broken && let Some(event) = events.recv().await {
        is_broken = contained("following a session", forward(&server, &session, &event)).await.is_err();
    }
    // A session whose events no client can receive is ended. It can be loaded from its file.
    drop(events);
    server.forget(&session);
    let prompt = session.state().prompt.take();
    if let Some(prompt) = prompt {
        let fault = TurnFault::other("the session ended before the prompt was answered");
        session.answer(&prompt, TurnEnd::completed(prompt.turn.as_str(), Some(fault))).await;
    }
    ended.send_replace(true);
}

async fn forward(server: &Arc<AcpServer>, session: &Arc<OpenSession>, event: &Event) {
    let wanted = session.state().view.wants(&event.msg);
    let texts = read(wanted).await;
    let outgoing = {
        let mut state = session.state();
        let mut outgoing = state.view.event(event, &texts);
        if let State { prompt: Some(prompt), view, .. } = &mut *state
            && prompt.turn.as_str() == event.id
        {
            match &event.msg {
                EventMessage::TaskStarted { .. } => prompt.has_begun = true,
                // What begins no turn fails without an end of one.
                EventMessage::Error { .. } if !prompt.has_begun => {
                    outgoing.push(Outgoing::Over(TurnEnd::completed(&event.id, view.fault())));
                }
                _ => {}
            }
        }
        outgoing
    };
    for outgoing in outgoing {
        match outgoing {
            Outgoing::Update(update) => session.update(update).await,
            Outgoing::Question(question) => ask(server, session, QuestionOwner::Session, question),
            Outgoing::Over(end) => {
                let prompt = {
                    let mut state = session.state();
                    let is_its = state.prompt.as_ref().is_some_and(|prompt| prompt.turn.as_str() == end.turn);
                    if is_its { state.prompt.take() } else { None }
                };
                if let Some(prompt) = prompt {
                    session.answer(&prompt, end).await;
                }
            }
        }
    }
}

/// Who asks the client something.
#[derive(Debug)]
pub enum QuestionOwner {
    /// The session itself.
    Session,
    /// An agent of the session, which takes the answer.
    Agent(Sender<Submission>),
}

/// Asks the client, and passes its answer on to who asked.
pub fn ask(server: &Arc<AcpServer>, session: &Arc<OpenSession>, asker: QuestionOwner, question: SessionQuestion) {
    let (server, session) = (server.clone(), session.clone());
    server.clone().tasks.spawn("a question for the client", async move {
        let rules = server.ground.home.join("rules/default.rules");
        let askable = Askable { session: &session.id, has_forms: server.has_forms(), rules: &rules };
        let outcome = match question.asked(askable) {
            ClientQuestion::Permission(request) => {
                Some(server.connection.ask(&session.lane, "session/request_permission", &request).await)
            }
            ClientQuestion::Form(request) => {
                Some(server.connection.ask(&session.lane, "elicitation/create", &request).await)
            }
            ClientQuestion::Nothing => None,
        };
        let operation = question.operation(outcome.as_ref());
        if let QuestionOwner::Agent(submissions) = asker {
            // An agent that has ended waits for no answer.
            let _ended = submissions.send(Submission { id: new_turn_id(), operation }).await;
            return;
        }
        if let Some((call, decision)) = question.decision(outcome.as_ref()) {
            let outgoing = session.state().view.decided(call, &decision);
            for outgoing in outgoing {
                if let Outgoing::Update(update) = outgoing {
                    session.update(update).await;
                }
            }
        }
        session.submit(operation).await;
    });
}

/// The texts of files that can be shown whole; images are data URLs.
pub async fn read(wanted: Vec<Wanted>) -> Texts {
    if wanted.is_empty() {
        return Texts::new();
    }
    let texts = Task::blocking("reading files", move || {
        let text = |wanted: Wanted| match wanted {
            Wanted::Text(path) => {
                let text = pellucid_files::read_text(&path, TEXT_BYTES_MAX).ok()?;
                Some((path, text))
            }
            Wanted::Image(path) => match load_image(&path) {
                LoadedImage::Ready { data_url, .. } => Some((path, data_url)),
                _ => None,
            },
        };
        wanted.into_iter().filter_map(text).collect()
    });
    // A file that cannot be read is shown by its difference alone.
    texts.await.unwrap_or_default()
}

/// The text of the first part of a prompt.
pub fn first_text(prompt: &[ContentBlock]) -> Option<&str> {
    prompt.iter().find_map(|block| match block {
        ContentBlock::Text(text) if !text.text.trim().is_empty() => Some(text.text.as_str()),
        _ => None,
    })
}
