//! What is kept of past sessions for sessions to come: what was extracted from each, and the work on it.
//!
//! Times are seconds of Unix time. A *watermark* says up to which time of change something was taken into account.
//!
//! Not here: when work is due (`pellucid-engine`), and where this is kept (`pellucid-store`).

use serde::Deserialize;
use serde::Serialize;

/// What a model extracted from a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extract {
    /// The id of the past session.
    pub session: String,
    /// When the session had last changed.
    pub updated_at: i64,
    /// When the extract was made.
    pub made_at: i64,
    /// Where the session worked.
    pub cwd: String,
    /// What is worth keeping for other tasks.
    pub raw_memory: String,
    /// What happened in the session.
    pub rollout_summary: String,
    /// A few words for the name of a file.
    pub rollout_slug: Option<String>,
}

/// The kind of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// A model extracts from one session. The key is the id of the session.
    Extraction,
    /// An agent merges all extracts. There is one such job.
    Consolidation,
}

impl JobKind {
    /// The word for it in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extraction => "extraction",
            Self::Consolidation => "consolidation",
        }
    }
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// It is due.
    Pending,
    /// A process holds it until its lease ends.
    Running,
    /// It is done.
    Done,
    /// The last attempt failed.
    Failed,
}

impl JobStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Running, Self::Done, Self::Failed];

    /// The word for it in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// A piece of work on memories, which one process at a time may hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// What the job does.
    pub kind: JobKind,
    /// Which of that kind.
    pub key: String,
    /// How far it is.
    pub status: JobStatus,
    /// The session for which a process holds it, or held it last.
    pub worker: Option<String>,
    /// What only the holder knows. A process whose lease ended and was taken over has another one.
    #[serde(skip)]
    pub token: Option<String>,
    /// When it was begun last.
    pub started_at: Option<i64>,
    /// When it ended last.
    pub finished_at: Option<i64>,
    /// Until when the holder has it.
    pub lease_until: Option<i64>,
    /// When it may be tried again after a failure.
    pub retry_at: Option<i64>,
    /// How often it may be tried again.
    pub retries_left: i64,
    /// Why it failed last.
    pub last_error: Option<String>,
    /// The watermark of what it works on.
    pub input: Option<i64>,
    /// The watermark up to which it was done.
    pub done: Option<i64>,
}

impl Job {
    /// Whether a process holds it now.
    pub fn is_held(&self, now: i64) -> bool {
        self.status == JobStatus::Running && self.lease_until.is_some_and(|until| until > now)
    }
}
