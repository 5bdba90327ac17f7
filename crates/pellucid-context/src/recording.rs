//! What a session recorded, and how its requests are made again.
//!
//! A recording has the items that were added and the digest of every request. It does not have the facts: the caller of a
//! replay gives them, and the first context is assembled again. So a replay finds a pack, a fact or a version of the engine that
//! gives other bytes.

use pellucid_engine::pack::Pack;
use pellucid_engine::request::WireSettings;
use pellucid_protocol::item::Item;
use serde::Deserialize;
use serde::Serialize;

use crate::built::BuiltRequest;
use crate::engine::Engine;
use crate::engine::EngineError;
use pellucid_engine::facts::Facts;

/// The version of the format.
const VERSION: u32 = 1;

/// What a session recorded, as JSON for a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The version of the format, 1.
    pub version: u32,
    /// The name of the pack.
    pub pack: String,
    /// The hash of the pack's files.
    pub pack_sha256: String,
    /// What happened, in order.
    pub steps: Vec<RecordedStep>,
}

/// Something that happened in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum RecordedStep {
    /// An item was added after the first context.
    Item {
        /// The item as it was added, before its output was cut.
        item: Item,
    },
    /// The facts became others.
    Facts,
    /// Turns or recalled texts had to go for a message.
    Shortened {
        /// The message that they made room for.
        next: String,
        /// The summary of the turns, if a model gave one.
        answer: Option<String>,
    },
    /// A request was made.
    Request {
        /// The number of bytes of the body.
        bytes: usize,
        /// The SHA-256 of the body, in hexadecimal digits.
        sha256: String,
    },
}

/// A request that was made again.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// The request, with what the engine makes of it now.
    pub request: BuiltRequest,
    /// The SHA-256 that the recording has.
    pub recorded: String,
}

impl Replayed {
    /// Whether the request has the bytes that were recorded.
    pub fn is_same(&self) -> bool {
        self.request.digest().to_string() == self.recorded
    }
}

/// Why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A newer version wrote the recording.
    #[error("the recording has format {found}, and this version reads {VERSION}")]
    Version {
        /// The version of the recording.
        found: u32,
    },
    /// The recording has more changes of facts than were given.
    #[error("the recording needs the facts of {wanted} states of the session, and {given} were given")]
    Facts {
        /// The states that the recording has: the beginning and each change.
        wanted: usize,
        /// The number of facts that were given.
        given: usize,
    },
    /// The session cannot begin.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Recording {
    pub(crate) fn of(pack: &Pack) -> Self {
        let (name, sha256) = (pack.name.clone(), pack.digest().to_string());
        Self { version: VERSION, pack: name, pack_sha256: sha256, steps: Vec::new() }
    }
}

impl Engine {
    /// Makes every request of a recording again. `facts` are those of the session's beginning, then those after each change.
    ///
    /// ```
    /// use pellucid_context::{Engine, Facts, ModelInfo, SessionId, WireSettings};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (engine, wire) = (Engine::builtin("codex")?, WireSettings::new(SessionId::new("example")));
    /// let facts = Facts::plain("/proj", ModelInfo::named("gpt-5.2-codex"));
    /// let mut session = engine.begin(facts.clone(), wire.clone())?;
    /// session.say("hello");
    /// session.request();
    ///
    /// let again = engine.replay(session.recording(), &[facts], &wire)?;
    /// assert!(again.iter().all(|request| request.is_same()));
    /// let elsewhere = Facts::plain("/other", ModelInfo::named("gpt-5.2-codex"));
    /// assert!(!engine.replay(session.recording(), &[elsewhere], &wire)?[0].is_same());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the recording is of another version, facts are missing, or the session cannot begin.
    pub fn replay(
        &self,
        recording: &Recording,
        facts: &[Facts],
        wire: &WireSettings,
    ) -> Result<Vec<Replayed>, ReplayError> {
        if recording.version != VERSION {
            return Err(ReplayError::Version { found: recording.version });
        }
        let wanted = 1 + recording.steps.iter().filter(|step| **step == RecordedStep::Facts).count();
        let mut states = facts.iter().cloned();
        let (Some(first), true) = (states.next(), facts.len() == wanted) else {
            return Err(ReplayError::Facts { wanted, given: facts.len() });
        };
        let mut session = self.begin(first, wire.clone())?;
        let mut requests = Vec::new();
        for step in &recording.steps {
            match step {
                RecordedStep::Item { item } => session.record_again(item),
                RecordedStep::Facts => {
                    let next = states.next().map(|facts| session.engine().complete(facts));
                    next.into_iter().for_each(|facts| session.take_facts(facts));
                }
                RecordedStep::Shortened { next, answer } => {
                    if let Some(plan) = session.plan(next) {
                        session.shorten(plan, next, answer.as_deref());
                    }
                }
                RecordedStep::Request { sha256, .. } => {
                    requests.push(Replayed { request: session.request(), recorded: sha256.clone() });
                }
            }
        }
        Ok(requests)
    }
}
