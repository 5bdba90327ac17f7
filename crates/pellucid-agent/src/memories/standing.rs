//! What a session remembers of other times: for reports.

use pellucid_engine::report::Report;
use pellucid_protocol::word_enum;
use pellucid_store::memories::Memories;
use pellucid_store::memories::MemoriesError;
use serde::Serialize;

use super::scope::MemoriesOf;
use crate::session::Session;

/// The part of a request that has memories: of past sessions, or of the session itself.
const PART: &str = "memory";

word_enum! {
    /// Whether a session remembers.
    MemoryState {
        /// The session neither reads nor writes memories.
        Off = "off",
        /// The session reads memories and writes none.
        ReadOnly = "read-only",
        /// The session reads memories, and writes them for later.
        Writable = "writable",
    }
}

/// Whether a session remembers, and where each memory in a request comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryStanding {
    /// Whether memories are read and written.
    pub state: MemoryState,
    /// Whose sessions are remembered: `project`, `all`, or `session` for a memory of the session itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<&'static str>,
    /// The memories in the request.
    pub sent: Vec<SentMemory>,
}

/// A memory in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentMemory {
    /// The part of the request.
    pub part: &'static str,
    /// The file it was read from, if it was read from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Whose sessions it is of.
    pub scope: &'static str,
    /// The sessions it was made from, the newest first; empty if that is not known.
    pub sessions: Vec<RememberedSession>,
}

/// A session that a memory was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RememberedSession {
    /// The id of the session.
    pub session: String,
    /// When the session had last changed, or began if it is the session itself, in UTC.
    pub date: String,
}

impl MemoryStanding {
    /// What a session remembers, and of which sessions the memories in a request are.
    ///
    /// # Errors
    /// When the database of memories cannot be read.
    pub fn of(session: &Session, report: &Report) -> Result<Self, MemoriesError> {
        let is_sent = report.rows.iter().any(|row| &*row.part == PART);
        if session.has_memory() {
            let scope = "session";
            let own = RememberedSession { session: session.id().to_string(), date: began(session.id().as_str()) };
            let sent = SentMemory { part: PART, file: None, scope, sessions: vec![own] };
            let sent = is_sent.then_some(sent).into_iter().collect();
            return Ok(Self { state: MemoryState::Writable, scope: Some(scope), sent });
        }
        let setup = &session.setup;
        let config = &*setup.sources.config;
        if !super::is_on(config) {
            return Ok(Self { state: MemoryState::Off, scope: None, sent: Vec::new() });
        }
        let state = match super::writes(setup) && !config.limits.are_set() {
            true => MemoryState::Writable,
            false => MemoryState::ReadOnly,
        };
        let scope = config.tools.memories.scope.as_str();
        let mut sent = Vec::new();
        if let Some(memory) = setup.gathered.facts.world.memory.as_ref().filter(|_| is_sent) {
            let of = MemoriesOf::configured(config);
            let memories = Memories::open_existing(&config.folders.home)?;
            let merged = memories.map(|memories| memories.merged(&of.key)).transpose()?.unwrap_or_default();
            let sessions = merged.into_iter().map(|(session, at)| RememberedSession { session, date: date(at) });
            let file = Some(memory.summary.path.clone());
            sent.push(SentMemory { part: PART, file, scope, sessions: sessions.collect() });
        }
        Ok(Self { state, scope: Some(scope), sent })
    }

    /// The same on one line for people; absent where there is nothing to say.
    pub fn line(&self) -> Option<String> {
        let scope = self.scope?;
        let of = |memory: &SentMemory| {
            let n = memory.sessions.len();
            match &memory.sessions[..] {
                [] => "sessions that are not known".to_owned(),
                [one] => format!("session {} of {}", one.session, one.date),
                [newest, ..] => format!("{n} sessions, the newest {} of {}", newest.session, newest.date),
            }
        };
        let sent = match &self.sent[..] {
            [] => "nothing is in this request".to_owned(),
            sent => format!("made from {}", sent.iter().map(of).collect::<Vec<_>>().join("; ")),
        };
        Some(format!("memory is {}, scope {scope}: {sent}", self.state))
    }
}

fn date(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// When a session began, which its id says.
fn began(id: &str) -> String {
    let stamp = uuid::Uuid::parse_str(id).ok().and_then(|id| id.get_timestamp());
    stamp.map_or_else(String::new, |stamp| date(i64::try_from(stamp.to_unix().0).unwrap_or_default()))
}
