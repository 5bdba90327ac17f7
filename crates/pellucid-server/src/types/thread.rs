//! Threads and their turns.

use std::path::PathBuf;

use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::word_enum;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::item::ThreadItem;
use super::source::SessionSource;

/// A thread: one session with its turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    pub id: String,
    /// Usually the first words of the user.
    pub preview: String,
    /// The id of the model provider.
    pub model_provider: String,
    /// When the thread was started, in seconds of Unix time.
    pub created_at: i64,
    /// When the thread last changed, in seconds of Unix time.
    pub updated_at: i64,
    /// The session file; `null` for an ephemeral thread.
    pub path: Option<PathBuf>,
    /// The thread's working directory.
    pub cwd: PathBuf,
    /// The version of the program that started the thread.
    pub cli_version: String,
    /// The kind of client that started the thread.
    pub source: SessionSource,
    /// The git repository in which the thread was started.
    pub git_info: Option<GitInfo>,
    /// The turns; empty unless the method's documentation says otherwise.
    pub turns: Vec<Turn>,
}

/// The state of a git repository when a thread was started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GitInfo {
    /// The commit that was checked out.
    pub sha: Option<String>,
    pub branch: Option<String>,
    /// The address of the remote `origin`.
    pub origin_url: Option<String>,
}

/// A request of the user and everything that followed from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    pub id: String,
    /// The items; empty unless the method's documentation says otherwise.
    pub items: Vec<ThreadItem>,
    pub status: TurnStatus,
    /// Why the turn failed; present only with the status `failed`.
    pub error: Option<TurnError>,
    /// The times of the turn, for clients of today.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(skip))]
    pub times: Option<TurnTimes>,
}

/// The times of a turn that its session file has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnTimes {
    /// When the turn began, in seconds of Unix time.
    pub started_at: Option<i64>,
    /// When the turn ended, in seconds of Unix time.
    pub completed_at: Option<i64>,
    /// How long the turn took, in milliseconds.
    pub duration_ms: Option<i64>,
    /// Which items of the turn are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_view: Option<TurnItemsView>,
    /// When each item was recorded, in milliseconds of Unix time. It becomes a member of the items.
    pub item_times: Vec<Option<i64>>,
}

/// Which items of a turn are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum TurnItemsView {
    /// The turn has no items here.
    NotLoaded,
    /// The first input and the last answer.
    Summary,
    /// All of them.
    Full,
}

impl Turn {
    /// A running turn without items.
    pub fn in_progress(id: impl Into<String>) -> Self {
        Self { id: id.into(), items: Vec::new(), status: TurnStatus::InProgress, error: None, times: None }
    }
}

word_enum! {
    /// The state of a turn.
    TurnStatus {
        /// The turn ended normally.
        Completed = "completed",
        /// The user interrupted the turn.
        Interrupted = "interrupted",
        /// The turn ended with an error.
        Failed = "failed",
        InProgress = "inProgress",
    }
}

/// Why a turn failed, or why a request is retried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnError {
    /// The error as text for people.
    pub message: String,
    /// The kind of error, for programs.
    pub codex_error_info: Option<CodexErrorInfo>,
    /// Details of the error, as the provider sent them.
    #[serde(default)]
    pub additional_details: Option<String>,
}

/// The kind of error, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CodexErrorInfo {
    /// The request does not fit into the context window.
    ContextWindowExceeded,
    /// The account reached a limit of its plan.
    UsageLimitExceeded,
    /// The provider is overloaded.
    ServerOverloaded,
    /// The provider could not be reached.
    #[serde(rename_all = "camelCase")]
    HttpConnectionFailed {
        /// The HTTP status, if the provider sent one.
        http_status_code: Option<u16>,
    },
    /// The response stream could not be opened.
    #[serde(rename_all = "camelCase")]
    ResponseStreamConnectionFailed {
        /// The HTTP status, if the provider sent one.
        http_status_code: Option<u16>,
    },
    /// The provider reported an internal error.
    InternalServerError,
    /// The provider rejected the credentials, or none are configured.
    Unauthorized,
    /// The provider rejected the request as invalid.
    BadRequest,
    /// Turns could not be rolled back.
    ThreadRollbackFailed,
    /// The sandbox could not be set up.
    SandboxError,
    /// The response stream was interrupted.
    #[serde(rename_all = "camelCase")]
    ResponseStreamDisconnected {
        /// The HTTP status, if the provider sent one.
        http_status_code: Option<u16>,
    },
    /// The request failed as often as it may be retried.
    #[serde(rename_all = "camelCase")]
    ResponseTooManyFailedAttempts {
        /// The HTTP status of the last attempt.
        http_status_code: Option<u16>,
    },
    /// Any other kind of error.
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
    /// Whether the error ends a turn. A rollback that fails does not, because it happens outside of turns.
    pub fn ends_a_turn(&self) -> bool {
        self.codex_error_info != Some(CodexErrorInfo::ThreadRollbackFailed)
    }
}
