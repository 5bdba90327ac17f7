//! The agents that a session started, their states, and how many may be open.
//!
//! One crew serves a person's session and all agents below it; the crew belongs to that session and ends with it. Each
//! agent is a separate session with a separate door, and runs in a separate task. A client that wants to show agents
//! gives the crew a [`Nursery`]; without one, the events of agents are dropped.
//!
//! Not here: the tools by which the model controls agents (`line`), and how a new agent is set up (`hire`).

mod hire;
mod line;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::Weak;

use pellucid_config::LoadOptions;
use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::event::Event;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_tools::agents::AgentError;
use pellucid_tools::queue::Receiver;
use pellucid_tools::queue::Sender;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub(crate) use self::line::line;
use crate::context_events::ContextEvents;
use crate::door;
use crate::door::Door;
use crate::door::Inside;
use crate::identity;
use crate::phases::Phases;
use crate::session::Session;

/// How many levels of sessions may be above an agent.
const DEPTH_MAX: usize = 1;

/// Receives the agents that sessions start, for a client that shows them.
pub trait Nursery: Debug + Send + Sync {
    /// Receives an agent before its first submission.
    ///
    /// The implementation must read the agent's events all the time: an agent whose queue of events is full waits, and
    /// an agent whose queue is dropped ends. The call of a tool waits for this function, so it must return at once.
    fn adopt(&self, child: NewChild);
}

/// An agent that was started or opened again, with what a client shows of it.
#[derive(Debug)]
pub struct NewChild {
    /// The id of the agent's session.
    pub id: SessionId,
    /// Whether the agent is new or was opened again.
    pub opened: AgentOpened,
    /// Takes submissions. Dropping this sender does not end the agent.
    pub submissions: Sender<Submission>,
    /// Yields the agent's events, in order.
    pub events: Receiver<Event>,
    /// The agent's session file, if it has one.
    pub path: Option<PathBuf>,
    /// The agent's working folder.
    pub cwd: PathBuf,
    /// The model's name, as the provider knows it.
    pub model: String,
    /// The id of the model's provider.
    pub provider_id: String,
    /// When a person is asked.
    pub approval_policy: ApprovalPolicy,
    /// What commands may touch.
    pub sandbox_policy: SandboxPolicy,
    /// How long the model may think.
    pub effort: Option<ReasoningEffort>,
    /// What started the agent, as session files spell it.
    pub source: Value,
    /// Whether clients receive events about the parts of its requests.
    pub context_events: ContextEvents,
    /// The phases of its work.
    pub phases: Phases,
}

/// How an agent was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentOpened {
    /// The session is new.
    New,
    /// The session was closed and is open again.
    Again,
}

/// The agents of a session. Clones are the same crew.
#[derive(Debug, Clone, Default)]
pub struct Crew {
    share: Share,
}

/// How a session holds its crew.
#[derive(Debug, Clone, Default)]
enum Share {
    /// The session cannot have agents.
    #[default]
    None,
    /// The session owns the crew and ends it.
    Owned(Arc<Shared>),
    /// A session above owns the crew. The reference is weak, because the crew owns the agent that holds it.
    Lent(Weak<Shared>),
}

#[derive(Debug)]
struct Shared {
    /// How the configuration was read; an agent in a role reads it again.
    options: LoadOptions,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    members: BTreeMap<SessionId, Member>,
    /// One for each agent that has not ended, closed ones too.
    tasks: JoinSet<()>,
    nursery: Option<Arc<dyn Nursery>>,
}

/// An agent that is open.
#[derive(Debug, Clone)]
struct Member {
    submissions: Sender<Submission>,
    status: watch::Receiver<AgentStatus>,
}

impl Crew {
    /// A crew for a person's session, whose configuration was read like this.
    pub fn new(options: LoadOptions) -> Self {
        Self { share: Share::Owned(Arc::new(Shared { options, state: Mutex::default() })) }
    }

    /// Sets the nursery that receives agents opened from now on.
    pub fn set_nursery(&self, nursery: Arc<dyn Nursery>) {
        if let Some(shared) = self.shared() {
            shared.state().nursery = Some(nursery);
        }
    }

    /// The same crew for a session that this one starts.
    pub(crate) fn lent(&self) -> Self {
        let share = match &self.share {
            Share::None => Share::None,
            Share::Owned(shared) => Share::Lent(Arc::downgrade(shared)),
            Share::Lent(shared) => Share::Lent(shared.clone()),
        };
        Self { share }
    }

    /// Ends all agents at once, if they are this session's own. What they did so far stays in their files.
    pub(crate) async fn end(&self) {
        if let Share::Owned(shared) = &self.share {
            let mut tasks = {
                let mut state = shared.state();
                state.members.clear();
                std::mem::take(&mut state.tasks)
            };
            tasks.shutdown().await;
        }
    }

    /// Whether no agent is open or still ends.
    pub(crate) fn is_empty(&self) -> bool {
        self.shared().is_none_or(|shared| {
            let mut state = shared.state();
            while state.tasks.try_join_next().is_some() {}
            state.members.is_empty() && state.tasks.is_empty()
        })
    }

    fn shared(&self) -> Option<Arc<Shared>> {
        match &self.share {
            Share::None => None,
            Share::Owned(shared) => Some(shared.clone()),
            Share::Lent(shared) => shared.upgrade(),
        }
    }
}

impl Shared {
    /// Recovers from a poisoned lock: every change is one step, so a panic leaves nothing half done.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses if `max` agents are open.
    fn check_room(&self, max: usize) -> Result<(), AgentError> {
        self.state().check_room(max)
    }

    /// Opens a door to an agent and starts its task.
    fn admit(
        &self,
        session: Session,
        opened: AgentOpened,
        path: Option<PathBuf>,
        max: usize,
    ) -> Result<Member, AgentError> {
        let status = watch::Sender::default();
        let (Door { submissions, events, .. }, inside) = door::open_watched(&session, status.clone());
        let member = Member { submissions: submissions.clone(), status: status.subscribe() };
        let nursery = {
            let mut state = self.state();
            state.check_room(max)?;
            state.members.insert(session.id().clone(), member.clone());
            state.nursery.clone()
        };
        let unheard = match nursery {
            Some(nursery) => {
                let facts = session.facts();
                nursery.adopt(NewChild {
                    id: session.id().clone(),
                    opened,
                    submissions,
                    events,
                    path,
                    cwd: facts.settings.cwd.clone().into(),
                    model: facts.settings.model.slug.clone(),
                    provider_id: session.provider_id().to_owned(),
                    approval_policy: facts.settings.approval_policy,
                    sandbox_policy: facts.settings.sandbox_policy.clone(),
                    effort: facts.settings.effort,
                    source: session.setup.origin.source(),
                    context_events: session.setup.context_events.clone(),
                    phases: session.setup.phases.clone(),
                });
                None
            }
            None => Some(events),
        };
        let mut state = self.state();
        while state.tasks.try_join_next().is_some() {}
        state.tasks.spawn(live(session, inside, unheard, status));
        Ok(member)
    }

    /// An agent that is open.
    fn member(&self, id: &SessionId) -> Result<Member, AgentError> {
        self.state().members.get(id).cloned().ok_or_else(|| AgentError::NotFound(id.clone()))
    }

    /// Sends an operation to an agent. If the agent has ended, the crew forgets it.
    async fn submit(&self, id: &SessionId, operation: Operation) -> Result<TurnId, AgentError> {
        let member = self.member(id)?;
        let submission_id = identity::new_turn_id();
        let submission = Submission { id: submission_id.clone(), operation };
        if member.submissions.send(submission).await.is_err() {
            self.state().members.remove(id);
            return Err(AgentError::Closed(id.clone()));
        }
        Ok(submission_id)
    }

    /// Ends an agent, and waits until its file is complete.
    async fn close(&self, id: &SessionId) -> Result<(), AgentError> {
        let mut member = self.member(id)?;
        self.submit(id, Operation::Shutdown).await?;
        self.state().members.remove(id);
        while member.status.changed().await.is_ok() {}
        Ok(())
    }
}

impl State {
    fn check_room(&self, max: usize) -> Result<(), AgentError> {
        if self.members.len() < max { Ok(()) } else { Err(AgentError::LimitReached(max)) }
    }
}

/// Runs an agent to its end. Its status is final afterwards, even if the session ended early.
async fn live(session: Session, inside: Inside, unheard: Option<Receiver<Event>>, status: watch::Sender<AgentStatus>) {
    let hearing = async {
        if let Some(mut events) = unheard {
            while events.recv().await.is_some() {}
        }
    };
    let (session, ()) = tokio::join!(door::run(session, inside), hearing);
    drop(session);
    status.send_if_modified(|status| {
        let is_open = !status.is_final();
        if is_open {
            *status = AgentStatus::Shutdown;
        }
        is_open
    });
}
