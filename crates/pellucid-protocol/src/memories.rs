//! Memories of past sessions: the extract of each session, and the jobs that make and merge extracts.
//!
//! Times are seconds of Unix time. A *watermark* is the time of the newest change that a job has taken into account.
//!
//! Not here: when a job is due (`pellucid-engine`), and where jobs are stored (`pellucid-store`).

use serde::Deserialize;
use serde::Serialize;

/// What a model extracted from a past session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extract {
    /// The id of the past session.
    pub session: String,
    /// When the session had last changed.
    pub updated_at: i64,
    /// When the extract was made.
    pub made_at: i64,
    /// The working directory of the session.
    pub cwd: String,
    /// The top folder of the session's project.
    pub project: String,
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
    /// The word for the kind in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extraction => "extraction",
            Self::Consolidation => "consolidation",
        }
    }
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// The job is due.
    Pending,
    /// A process holds the job until its lease ends.
    Running,
    /// The job is done.
    Done,
    /// The last attempt failed.
    Failed,
}

impl JobStatus {
    /// Every state of a job.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Running, Self::Done, Self::Failed];

    /// The word for the state in files.
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
pub struct MemoriesJob {
    /// What the job does.
    pub kind: JobKind,
    /// The key among the jobs of this kind.
    pub key: String,
    /// The state of the job.
    pub status: JobStatus,
    /// The session for which a process holds the job, or held it last.
    pub worker: Option<String>,
    /// A secret of the holder, by which a process notices that its lease ended and another process took the job over.
    #[serde(skip)]
    pub token: Option<String>,
    /// When the job was begun last.
    pub started_at: Option<i64>,
    /// When the job ended last.
    pub finished_at: Option<i64>,
    /// When the lease of the holder ends.
    pub lease_until: Option<i64>,
    /// When the job may be tried again after a failure.
    pub retry_at: Option<i64>,
    /// How often the job may be tried again.
    pub retries_left: i64,
    /// Why the job failed last.
    pub last_error: Option<String>,
    /// The watermark of the input that the job works on.
    pub input: Option<i64>,
    /// The watermark up to which the job is done.
    pub done: Option<i64>,
}

impl MemoriesJob {
    /// Whether a process holds the job now.
    pub fn is_held(&self, now: i64) -> bool {
        self.status == JobStatus::Running && self.lease_until.is_some_and(|until| until > now)
    }
}
