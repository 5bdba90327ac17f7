//! Threads and their turns.

use std::path::PathBuf;

use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::word_enum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::item::ThreadItem;
use super::source::SessionSource;

/// A conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// Its id.
    pub id: String,
    /// The first words of the person, mostly.
    pub preview: String,
    /// Who serves its model.
    pub model_provider: String,
    /// When it began, in seconds of Unix time.
    pub created_at: i64,
    /// When it last changed, in seconds of Unix time.
    pub updated_at: i64,
    /// Its file, unless it has none.
    pub path: Option<PathBuf>,
    /// Where it works.
    pub cwd: PathBuf,
    /// The version of the program that began it.
    pub cli_version: String,
    /// Through which face it began.
    pub source: SessionSource,
    /// The repository it began in.
    pub git_info: Option<GitInfo>,
    /// Its turns; only where a method says so.
    pub turns: Vec<Turn>,
}

/// A repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitInfo {
    /// The commit that was checked out.
    pub sha: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// Where it came from.
    pub origin_url: Option<String>,
}

/// A request of a person and all that came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Its id.
    pub id: String,
    /// What happened; only where a method says so.
    pub items: Vec<ThreadItem>,
    /// How it stands.
    pub status: TurnStatus,
    /// Why it failed.
    pub error: Option<TurnError>,
}

impl Turn {
    /// One that runs, with no items.
    pub fn in_progress(id: impl Into<String>) -> Self {
        Self { id: id.into(), items: Vec::new(), status: TurnStatus::InProgress, error: None }
    }
}

word_enum! {
    /// How a turn stands.
    TurnStatus {
        /// It ended by itself.
        Completed = "completed",
        /// It was broken off.
        Interrupted = "interrupted",
        /// It could not go on.
        Failed = "failed",
        /// It runs.
        InProgress = "inProgress",
    }
}

/// Why a turn failed, or why a reply is asked for again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnError {
    /// In words.
    pub message: String,
    /// For programs.
    pub codex_error_info: Option<CodexErrorInfo>,
    /// In more words.
    #[serde(default)]
    pub additional_details: Option<String>,
}

/// Which kind of failure, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CodexErrorInfo {
    /// The prompt is too long.
    ContextWindowExceeded,
    /// A limit of the plan.
    UsageLimitExceeded,
    /// The model is overloaded.
    ServerOverloaded,
    /// The server could not be reached.
    #[serde(rename_all = "camelCase")]
    HttpConnectionFailed {
        /// The status, if one came.
        http_status_code: Option<u16>,
    },
    /// The stream of a reply could not be opened.
    #[serde(rename_all = "camelCase")]
    ResponseStreamConnectionFailed {
        /// The status, if one came.
        http_status_code: Option<u16>,
    },
    /// The server failed.
    InternalServerError,
    /// Not allowed in.
    Unauthorized,
    /// The request was wrong.
    BadRequest,
    /// Turns could not be taken away.
    ThreadRollbackFailed,
    /// The sandbox could not be made.
    SandboxError,
    /// A reply broke off.
    #[serde(rename_all = "camelCase")]
    ResponseStreamDisconnected {
        /// The status, if one came.
        http_status_code: Option<u16>,
    },
    /// Too many attempts.
    #[serde(rename_all = "camelCase")]
    ResponseTooManyFailedAttempts {
        /// The last status.
        http_status_code: Option<u16>,
    },
    /// Anything else.
    Other,
}

impl From<ErrorInfo> for CodexErrorInfo {
    fn from(info: ErrorInfo) -> Self {
        match info {
            ErrorInfo::ContextWindowExceeded => Self::ContextWindowExceeded,
            ErrorInfo::UsageLimitExceeded => Self::UsageLimitExceeded,
            ErrorInfo::ServerOverloaded => Self::ServerOverloaded,
            ErrorInfo::ResponseStreamDisconnected { http_status_code } => {
                Self::ResponseStreamDisconnected { http_status_code }
            }
            ErrorInfo::ResponseTooManyFailedAttempts { http_status_code } => {
                Self::ResponseTooManyFailedAttempts { http_status_code }
            }
            ErrorInfo::InternalServerError => Self::InternalServerError,
            ErrorInfo::Unauthorized => Self::Unauthorized,
            ErrorInfo::BadRequest => Self::BadRequest,
            ErrorInfo::ThreadRollbackFailed => Self::ThreadRollbackFailed,
            ErrorInfo::Other => Self::Other,
        }
    }
}

impl TurnError {
    /// Whether a turn that meets it has failed. A rollback that fails happens beside turns.
    pub fn ends_a_turn(&self) -> bool {
        self.codex_error_info != Some(CodexErrorInfo::ThreadRollbackFailed)
    }
}
