//! Memories of past sessions: written in the background of a session, for sessions to come.
//!
//! Both phases belong to one separate session, the worker: its record has every request, before it is sent, so that
//! `replay` proves them like those of any session. It has a file as soon as there is something to ask.
//!
//! - `scope`: whose sessions are read, and the folder of the merged files
//! - `ledger`: which sessions are taken, and what is kept of the work
//! - `worker`: the session that asks
//! - `reading`: the first phase, a request for each old session
//! - `merging`: the second phase, an agent that is confined to the folder of memories
//! - `folder`: the files that it begins with
//! - `forgetting`: takes away what came of a session, for good
//! - `standing`: what a session remembers, for reports
//!
//! Not here: what is decided (`pellucid_engine::memories`), and what a session remembers of itself (`memory`).

mod folder;
mod forgetting;
mod ledger;
mod merging;
mod reading;
mod scope;
mod standing;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use pellucid_config::Config;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::id::SessionId;
use pellucid_tasks::Task;
use serde::Serialize;

pub use self::forgetting::ForgetError;
pub use self::forgetting::Forgetting;
pub use self::forgetting::forget;
pub use self::merging::Merged;
pub use self::reading::ReadSession;
pub use self::reading::SessionReading;
pub use self::scope::MemoriesOf;
pub use self::standing::MemoryStanding;
pub use self::standing::MemoryState;
pub use self::standing::RememberedSession;
pub use self::standing::SentMemory;
use crate::child::StartedBy;
use crate::crew::Crew;
use crate::identity;
use crate::session::Session;
use crate::session::Setup;

/// What came of both phases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoriesOutcome {
    /// The session whose record has the requests; absent if nothing was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<SessionId>,
    /// The sessions that were read, those that changed last first.
    pub read: Vec<ReadSession>,
    /// What came of the second phase.
    pub merged: Merged,
}

/// The work on memories beside a session. It ends with it: whatever drops this breaks it off.
#[derive(Debug)]
pub(crate) struct Background {
    task: Task<()>,
    worker: SessionId,
    has_worker: Arc<AtomicBool>,
    /// Whether the record of the session beside it names the worker.
    is_named: bool,
}

impl Background {
    /// The session whose record has the requests, the first time that this is asked after it was made.
    pub(crate) fn take_worker(&mut self) -> Option<SessionId> {
        let is_new = !self.is_named && self.has_worker.load(Ordering::Relaxed);
        self.is_named |= is_new;
        is_new.then(|| self.worker.clone())
    }

    /// Whether the work is done, and the record of the session names its worker.
    pub(crate) fn is_over(&self) -> bool {
        self.task.is_finished() && (self.is_named || !self.has_worker.load(Ordering::Relaxed))
    }

    /// Breaks it off, and waits until its files are complete.
    pub(crate) async fn break_off(&mut self) {
        self.task.stop().await;
    }
}

/// Begins to work on memories beside a session, if the session and its configuration are for that.
///
/// An agent's session is not, nor is one without a file. One with a limit is not either: what is spent here would be
/// missing there.
pub(crate) fn start(session: &Session) -> Option<Background> {
    let setup = &session.setup;
    let config = &setup.sources.config;
    if !session.log.is_kept() || !writes(setup) {
        return None;
    }
    if config.limits.are_set() {
        tracing::info!("no memories are written beside a session with a limit; `pellucid memory run` writes them");
        return None;
    }
    let pipeline = Pipeline::of(session);
    let (worker, has_worker) = (pipeline.worker.clone(), pipeline.has_worker.clone());
    let task = Task::spawn("writing memories", async move {
        match pipeline.run().await {
            Ok(outcome) => outcome.log(),
            Err(error) => tracing::warn!(%error, "no memories are written"),
        }
    });
    Some(Background { task, worker, has_worker, is_named: false })
}

/// Whether a session that is kept would write memories, were there no limit.
fn writes(setup: &Setup) -> bool {
    let config = &setup.sources.config;
    is_on(config) && config.tools.memories.is_written && matches!(setup.origin, StartedBy::Client(_))
}

/// Works on memories as a session would in its background, and waits for the end.
///
/// # Errors
/// When nothing can be kept.
pub async fn run(session: &Session) -> Result<MemoriesOutcome, String> {
    Pipeline::of(session).run().await
}

/// Whether memories are switched on.
pub fn is_on(config: &Config) -> bool {
    config.features.is_on(Feature::MemoryTool)
}

/// The folder of the memories that sessions of this configuration remember.
pub fn folder(config: &Config) -> PathBuf {
    MemoriesOf::configured(config).folder
}

/// The folder of the memories of all projects.
pub(crate) fn folder_of_all(config: &Config) -> PathBuf {
    MemoriesOf::all(&config.folders.home).folder
}

impl MemoriesOutcome {
    fn log(&self) {
        let worker = self.worker.as_ref().map(ToString::to_string).unwrap_or_default();
        for ReadSession { session, reading } in &self.read {
            match reading {
                SessionReading::Failed { why } => tracing::warn!(session, why, "a past session was not read"),
                SessionReading::Kept | SessionReading::Nothing => {
                    tracing::info!(session, ?reading, "a past session was read");
                }
            }
        }
        match &self.merged {
            Merged::Failed { why } => tracing::warn!(worker, why, "memories were not merged"),
            merged => tracing::info!(worker, ?merged, "memories"),
        }
    }
}

/// Both phases with what they are made of.
#[derive(Debug)]
struct Pipeline {
    /// The session that wants it.
    session: SessionId,
    /// What that session is made of.
    setup: Setup,
    /// The id of the worker, should there be one.
    worker: SessionId,
    /// Whether there is one.
    has_worker: Arc<AtomicBool>,
}

impl Pipeline {
    fn of(session: &Session) -> Self {
        // The crew ends with the session that owns it, so nothing here may own it too.
        let setup = Setup { crew: Crew::default(), ..session.setup.clone() };
        Self { session: session.id().clone(), setup, worker: identity::new_session_id(), has_worker: Arc::default() }
    }

    async fn run(self) -> Result<MemoriesOutcome, String> {
        let mut worker = None;
        let taken = self.take_sessions().await?;
        let read = if taken.is_empty() { Vec::new() } else { self.read(taken, &mut worker).await? };
        let merged = self.merge(worker).await;
        let has_worker = self.has_worker.load(Ordering::Relaxed);
        Ok(MemoriesOutcome { worker: has_worker.then_some(self.worker), read, merged })
    }

    fn config(&self) -> &Config {
        &self.setup.sources.config
    }

    /// The worker, which is made when it is first needed.
    async fn worker<'a>(&self, worker: &'a mut Option<Session>) -> Result<&'a mut Session, String> {
        match worker {
            Some(worker) => Ok(worker),
            None => {
                let (setup, id) = (self.setup.clone(), self.worker.clone());
                let made = blocking(move || worker::open(&setup, id)).await??;
                self.has_worker.store(true, Ordering::Relaxed);
                Ok(worker.insert(made))
            }
        }
    }
}

/// Does something that waits for the disk, beside everything else.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    Task::blocking("reading and writing memories", work).await.map_err(|failed| failed.to_string())
}
