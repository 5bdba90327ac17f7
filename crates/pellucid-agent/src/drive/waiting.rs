//! What a turn waits for outside of its calls: the model, a pause, servers and what they give, memories; and git beside it.

use std::future::Future;
use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use pellucid_engine::server_input::Given;
use pellucid_engine::server_input::Wanted;
use pellucid_engine::turn::TurnEvent;
use pellucid_model::ProviderSummary;
use pellucid_model::Reply;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_tasks::Task as OwnedTask;
use pellucid_tasks::contained;
use tokio::time::timeout;

use super::Driver;
use crate::memory::Remembered;
use crate::metadata;
use crate::metadata::Repositories;
use crate::session::AskingServers;

/// How long a further request waits for git. Without an answer the header is sent as it was.
const GIT_WAIT: Duration = Duration::from_millis(300);

/// What the turn waits for.
pub(super) enum Waiting {
    Nothing,
    Asking(Pin<Box<dyn Future<Output = Result<Reply, ReplyError>> + Send>>),
    Summarising(Pin<Box<dyn Future<Output = Result<ProviderSummary, ReplyError>> + Send>>),
    Reading(Box<Reply>),
    Pausing(Pin<Box<tokio::time::Sleep>>),
    Remembering(Pin<Box<dyn Future<Output = Remembered> + Send>>),
    Starting(Pin<Box<dyn Future<Output = ()> + Send>>),
    AskingServers(AskingServers),
}

/// Something that happened: an event for the turn, or something that the session needs first.
pub(super) enum Happened {
    Event(TurnEvent),
    Remembered(Box<Remembered>),
    Summarised(ProviderSummary),
    ServersStarted,
    ServersGave(Result<Vec<(Wanted, Given)>, String>),
}

/// What is known of the repository.
pub(super) enum Git {
    NotAsked,
    Asked(OwnedTask<Repositories>),
    Answered(Repositories),
}

impl Driver<'_> {
    /// Asks git about the repository, once in a turn.
    pub(super) fn start_git(&mut self) {
        if matches!(self.git, Git::NotAsked) {
            let setup = &self.session.setup;
            let (git, cwd) = (setup.sources.git.clone(), setup.gathered.facts.settings.cwd.clone());
            self.git =
                Git::Asked(OwnedTask::blocking("asking git", move || metadata::repositories(&git, cwd.as_ref())));
        }
    }
}

impl Waiting {
    /// Waits for what happens next. Never ends if the turn waits for nothing here.
    pub(super) async fn next(&mut self) -> Happened {
        loop {
            match self {
                Self::Nothing => pending::<()>().await,
                Self::Asking(reply) => match contained("asking the model", reply).await.unwrap_or_else(broken) {
                    Ok(reply) => *self = Self::Reading(Box::new(reply)),
                    Err(error) => return self.over(TurnEvent::ReplyFailed(error)),
                },
                Self::Summarising(summary) => {
                    match contained("asking for a summary", summary).await.unwrap_or_else(broken) {
                        Ok(summary) => {
                            *self = Self::Nothing;
                            return Happened::Summarised(summary);
                        }
                        Err(error) => return self.over(TurnEvent::ReplyFailed(error)),
                    }
                }
                Self::Reading(reply) => {
                    match contained("reading a reply", reply.next()).await.unwrap_or_else(|it| Some(broken(it))) {
                        Some(Ok(event @ ReplyEvent::Completed { .. })) => return self.over(TurnEvent::Reply(event)),
                        Some(Ok(event)) => return Happened::Event(TurnEvent::Reply(event)),
                        Some(Err(error)) => return self.over(TurnEvent::ReplyFailed(error)),
                        None => {
                            let error = ReplyError::stream("stream closed before response.completed");
                            return self.over(TurnEvent::ReplyFailed(error));
                        }
                    }
                }
                Self::Pausing(sleep) => {
                    sleep.await;
                    return self.over(TurnEvent::PauseOver);
                }
                Self::Starting(starting) => {
                    starting.await;
                    *self = Self::Nothing;
                    return Happened::ServersStarted;
                }
                Self::AskingServers(asking) => {
                    let gave = contained("asking MCP servers for an input", asking).await;
                    *self = Self::Nothing;
                    return Happened::ServersGave(gave.unwrap_or_else(|failed| Err(failed.to_string())));
                }
                Self::Remembering(remembering) => {
                    let remembered = remembering.await;
                    *self = Self::Nothing;
                    return Happened::Remembered(Box::new(remembered));
                }
            }
        }
    }

    fn over(&mut self, event: TurnEvent) -> Happened {
        *self = Self::Nothing;
        Happened::Event(event)
    }
}

/// A reply that cannot be had because an error of ours ended the work on it. Asking again would fail again.
fn broken<T>(failed: pellucid_tasks::Failed) -> Result<T, ReplyError> {
    Err(ReplyError::new(ReplyErrorKind::Local, failed.to_string()))
}

impl Git {
    /// What is known by now; waits a little if the question is open.
    pub(super) async fn take_answer(&mut self) -> Repositories {
        if let Self::Asked(asked) = self
            && let Ok(answer) = timeout(GIT_WAIT, asked).await
        {
            *self = Self::Answered(answer.unwrap_or_default());
        }
        match self {
            Self::Answered(repositories) => repositories.clone(),
            Self::NotAsked | Self::Asked(_) => Repositories::new(),
        }
    }
}
