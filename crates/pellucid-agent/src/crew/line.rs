//! What the calls of a turn ask of the crew, with what the session is like in that turn.

use std::path::Path;
use std::sync::Arc;

use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::concat;
use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_store::find;
use pellucid_store::read;
use pellucid_store::read::ReadError;
use pellucid_tools::agents::AgentError;
use pellucid_tools::agents::Agents;
use pellucid_tools::agents::Depth;
use pellucid_tools::agents::Doing;
use tokio::sync::watch;

use super::AgentOpened;
use super::DEPTH_MAX;
use super::Shared;
use super::hire;
use crate::log::Log;
use crate::open;
use crate::open::OpenError;
use crate::open::Opening;
use crate::open::Persistence;
use crate::session::Setup;

/// A session as it is in a turn, for the agents that it starts.
#[derive(Debug)]
pub(super) struct Parent {
    pub setup: Setup,
    /// The base instructions, which come before the conversation.
    pub instructions: String,
    /// Whether the session and its agents have files.
    pub keep: Persistence,
}

/// The line of a session to its agents, if it may have some.
pub(crate) fn line(setup: &Setup, instructions: &[Fragment], log: &Log) -> Option<Arc<dyn Agents>> {
    setup.gathered.facts.settings.features.is_on(Feature::MultiAgent).then(|| {
        let keep = Persistence::like(log.is_kept());
        Arc::new(Parent { setup: setup.clone(), instructions: concat(instructions), keep }) as Arc<dyn Agents>
    })
}

impl Parent {
    fn crew(&self) -> Result<Arc<Shared>, AgentError> {
        self.setup.crew.shared().ok_or(AgentError::Unavailable)
    }

    /// How many agents may be open.
    fn max(&self) -> usize {
        self.setup.sources.config.tools.agents_max
    }

    async fn start(&self, role: Option<&str>, task: Vec<UserInput>) -> Result<SessionId, AgentError> {
        let crew = self.crew()?;
        let setup = hire::setup(self, role, &crew.options)?;
        crew.check_room(self.max())?;
        let session =
            open::begin(setup, Opening::new(self.keep)).map_err(|error| AgentError::Other(error.to_string()))?;
        let (id, path) = (session.id().clone(), session.path().map(Path::to_owned));
        crew.admit(session, AgentOpened::New, path, self.max())?;
        crew.submit(&id, said(task)).await?;
        Ok(id)
    }

    fn open_again(&self, id: &SessionId) -> Result<(), AgentError> {
        let crew = self.crew()?;
        if crew.member(id).is_ok() {
            return Ok(());
        }
        let home = &self.setup.sources.config.folders.home;
        // A session cannot be its own agent: its file has a writer.
        let path = find::by_id(home, id.as_str()).filter(|_| *id != self.setup.session_id);
        let path = path.ok_or_else(|| AgentError::NotFound(id.clone()))?;
        crew.check_room(self.max())?;
        let setup = hire::setup(self, None, &crew.options)?;
        let failed = |error: &dyn std::error::Error| AgentError::Other(format!("{}: {error}", path.display()));
        let file = read::open(&path).map_err(|error| failed(&error))?;
        let opening = Opening::Resumed { file: Box::new(file), keep: self.keep };
        let session = open::begin(setup, opening).map_err(|error| match &error {
            // The message begins with the path already.
            OpenError::Read(ReadError::Unwritable { source, .. }) => failed(source),
            error => failed(error),
        })?;
        crew.admit(session, AgentOpened::Again, Some(path), self.max())?;
        Ok(())
    }
}

fn said(items: Vec<UserInput>) -> Operation {
    Operation::UserInput { items, final_output_json_schema: None }
}

impl Agents for Parent {
    fn depth(&self) -> Depth {
        if self.setup.origin.depth() < DEPTH_MAX { Depth::Left } else { Depth::Reached }
    }

    fn spawn<'a>(&'a self, role: Option<&'a str>, task: Vec<UserInput>) -> Doing<'a, SessionId> {
        Box::pin(self.start(role, task))
    }

    fn send<'a>(&'a self, id: &'a SessionId, message: Vec<UserInput>) -> Doing<'a, TurnId> {
        Box::pin(async move { self.crew()?.submit(id, said(message)).await })
    }

    fn interrupt<'a>(&'a self, id: &'a SessionId) -> Doing<'a, ()> {
        Box::pin(async move { self.crew()?.submit(id, Operation::Interrupt).await.map(|_| ()) })
    }

    fn resume<'a>(&'a self, id: &'a SessionId) -> Doing<'a, ()> {
        Box::pin(async move { self.open_again(id) })
    }

    fn close<'a>(&'a self, id: &'a SessionId) -> Doing<'a, ()> {
        Box::pin(async move { self.crew()?.close(id).await })
    }

    fn status(&self, id: &SessionId) -> watch::Receiver<AgentStatus> {
        let member = self.crew().and_then(|crew| crew.member(id));
        member.map_or_else(|_| watch::channel(AgentStatus::NotFound).1, |member| member.status)
    }
}
