//! `fuzzyFileSearch`, its search sessions, and `gitDiffToRemote`.
//!
//! Not here: walking folders and scoring names (`search`).

mod git_diff;
mod search;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::Weak;

use pellucid_tasks::Task;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use tokio::sync::watch;

use crate::rpc::RpcError;
use crate::server::Server;
use crate::server::held;
use crate::types::notification::FuzzyFileSearchResult;
use crate::types::notification::FuzzyFileSearchSessionCompletedNotification;
use crate::types::notification::FuzzyFileSearchSessionUpdatedNotification;
use crate::types::notification::ServerNotification;

pub use git_diff::GitDiffToRemoteParams;
pub use git_diff::GitDiffToRemoteResponse;
pub use git_diff::git_diff_to_remote;
use search::Files;
use search::Root;
use search::Stop;

/// How many search sessions may be open at once.
const SESSIONS_MAX: usize = 64;

/// The parameters of `fuzzyFileSearch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchParams {
    /// The characters that a path must contain in this order.
    pub query: String,
    /// The folders to search.
    pub roots: Vec<String>,
    /// A new search cancels the running search with the same token.
    #[serde(default)]
    pub cancellation_token: Option<String>,
}

/// The result of `fuzzyFileSearch`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FuzzyFileSearchResponse {
    /// The files that match best, the best first.
    pub files: Vec<FuzzyFileSearchResult>,
}

/// The parameters of `fuzzyFileSearch/sessionStart`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionStartParams {
    /// The client's name for the session.
    pub session_id: String,
    /// The folders to search.
    pub roots: Vec<String>,
}

impl FuzzyFileSearchSessionStartParams {
    /// The whole method is experimental.
    pub fn experimental(&self) -> Option<&'static str> {
        Some("fuzzyFileSearch/sessionStart")
    }
}

/// The parameters of `fuzzyFileSearch/sessionUpdate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionUpdateParams {
    pub session_id: String,
    /// The characters that a path must contain in this order.
    pub query: String,
}

impl FuzzyFileSearchSessionUpdateParams {
    /// The whole method is experimental.
    pub fn experimental(&self) -> Option<&'static str> {
        Some("fuzzyFileSearch/sessionUpdate")
    }
}

/// The parameters of `fuzzyFileSearch/sessionStop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionStopParams {
    pub session_id: String,
}

impl FuzzyFileSearchSessionStopParams {
    /// The whole method is experimental.
    pub fn experimental(&self) -> Option<&'static str> {
        Some("fuzzyFileSearch/sessionStop")
    }
}

/// The result of `fuzzyFileSearch/sessionStart`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FuzzyFileSearchSessionStartResponse {}

/// The result of `fuzzyFileSearch/sessionUpdate`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FuzzyFileSearchSessionUpdateResponse {}

/// The result of `fuzzyFileSearch/sessionStop`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FuzzyFileSearchSessionStopResponse {}

/// The running searches and search sessions.
#[derive(Debug, Default)]
pub struct Searches {
    by_token: Mutex<BTreeMap<String, Stop>>,
    sessions: Mutex<BTreeMap<String, Session>>,
}

/// A search session: it lists its files once and then waits for queries.
#[derive(Debug)]
struct Session {
    queries: watch::Sender<String>,
    stop: Stop,
    _task: Task<()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop.now();
    }
}

/// Handles `fuzzyFileSearch`.
///
/// # Errors
/// When the search panics.
pub async fn fuzzy_file_search(
    server: &Server,
    params: FuzzyFileSearchParams,
) -> Result<FuzzyFileSearchResponse, RpcError> {
    let FuzzyFileSearchParams { query, roots, cancellation_token } = params;
    let stop = Stop::default();
    if let Some(token) = &cancellation_token
        && let Some(earlier) = held(&server.searches.by_token).insert(token.clone(), stop.clone())
    {
        earlier.now();
    }
    let roots = absolute(server, roots);
    let work = {
        let stop = stop.clone();
        move || Files::walk(&roots, &stop).best(&query, &stop)
    };
    let files = Task::blocking("searching files", work).await;
    if let Some(token) = cancellation_token {
        let mut by_token = held(&server.searches.by_token);
        if by_token.get(&token).is_some_and(|latest| latest.is(&stop)) {
            by_token.remove(&token);
        }
    }
    let files = files.map_err(super::broken)?;
    Ok(FuzzyFileSearchResponse { files })
}

/// The files below a folder whose paths match a query best, the best first. Other clients of this program search so too.
///
/// Blocks until the folder is walked.
pub fn best_files(folder: &std::path::Path, query: &str) -> Vec<String> {
    let root = Root { path: folder.to_owned(), shown: folder.to_string_lossy().into_owned() };
    let stop = Stop::default();
    Files::walk(&[root], &stop).best(query, &stop).into_iter().map(|file| file.path).collect()
}

/// Handles `fuzzyFileSearch/sessionStart`. An open session of the same name is ended.
///
/// # Errors
/// When the name or the folders are empty, or too many sessions are open.
pub async fn session_start(
    server: &Arc<Server>,
    params: FuzzyFileSearchSessionStartParams,
) -> Result<FuzzyFileSearchSessionStartResponse, RpcError> {
    let FuzzyFileSearchSessionStartParams { session_id, roots } = params;
    if session_id.is_empty() {
        return Err(RpcError::invalid("sessionId must not be empty"));
    }
    if roots.is_empty() {
        let message = "failed to start fuzzy file search session: at least one search directory is required";
        return Err(RpcError::internal(message));
    }
    let roots = absolute(server, roots);
    let (queries, heard) = watch::channel(String::new());
    let stop = Stop::default();
    {
        let mut sessions = held(&server.searches.sessions);
        if sessions.len() >= SESSIONS_MAX && !sessions.contains_key(&session_id) {
            let message = format!("{SESSIONS_MAX} searches are open; stop one with fuzzyFileSearch/sessionStop");
            return Err(RpcError::invalid(message));
        }
        let searching = run(Arc::downgrade(server), session_id.clone(), roots, heard, stop.clone());
        let task = Task::spawn("searching files", searching);
        sessions.insert(session_id, Session { queries, stop, _task: task });
    }
    Ok(FuzzyFileSearchSessionStartResponse {})
}

/// Handles `fuzzyFileSearch/sessionUpdate`.
///
/// # Errors
/// When no open session has this name.
pub async fn session_update(
    server: &Server,
    params: FuzzyFileSearchSessionUpdateParams,
) -> Result<FuzzyFileSearchSessionUpdateResponse, RpcError> {
    let FuzzyFileSearchSessionUpdateParams { session_id, query } = params;
    match held(&server.searches.sessions).get(&session_id) {
        Some(session) => {
            session.queries.send_replace(query);
            Ok(FuzzyFileSearchSessionUpdateResponse {})
        }
        None => Err(RpcError::invalid(format!("fuzzy file search session not found: {session_id}"))),
    }
}

/// Handles `fuzzyFileSearch/sessionStop`. An unknown session counts as stopped.
///
/// # Errors
/// Never.
pub async fn session_stop(
    server: &Server,
    params: FuzzyFileSearchSessionStopParams,
) -> Result<FuzzyFileSearchSessionStopResponse, RpcError> {
    held(&server.searches.sessions).remove(&params.session_id);
    Ok(FuzzyFileSearchSessionStopResponse {})
}

/// Ends a session whose search panicked: clients get its completion, and its name is unknown from then on.
async fn failed(server: &Weak<Server>, session_id: String) {
    if let Some(server) = server.upgrade() {
        let completed = FuzzyFileSearchSessionCompletedNotification { session_id: session_id.clone() };
        server.notify_all(&ServerNotification::from(completed)).await;
        held(&server.searches.sessions).remove(&session_id);
    }
}

/// Finds the files of a session once, and then answers the latest query until the session is stopped.
async fn run(
    server: Weak<Server>,
    session_id: String,
    roots: Vec<Root>,
    mut heard: watch::Receiver<String>,
    stop: Stop,
) {
    let walk = {
        let stop = stop.clone();
        move || Arc::new(Files::walk(&roots, &stop))
    };
    let Ok(files) = Task::blocking("searching files", walk).await else { return failed(&server, session_id).await };
    loop {
        let query = heard.borrow_and_update().clone();
        let best = {
            let (files, query, stop) = (files.clone(), query.clone(), stop.clone());
            move || files.best(&query, &stop)
        };
        let Ok(found) = Task::blocking("searching files", best).await else { return failed(&server, session_id).await };
        let Some(server) = server.upgrade().filter(|_| !stop.is_set()) else { return };
        // The result of a query that a newer one has replaced is not sent.
        if matches!(heard.has_changed(), Ok(false)) {
            let updated =
                FuzzyFileSearchSessionUpdatedNotification { session_id: session_id.clone(), query, files: found };
            let completed = FuzzyFileSearchSessionCompletedNotification { session_id: session_id.clone() };
            server.notify_all(&ServerNotification::from(updated)).await;
            server.notify_all(&ServerNotification::from(completed)).await;
        }
        drop(server);
        if heard.changed().await.is_err() {
            return;
        }
    }
}

fn absolute(server: &Server, roots: Vec<String>) -> Vec<Root> {
    let root = |shown: String| Root { path: server.ground.cwd.join(&shown), shown };
    roots.into_iter().map(root).collect()
}

#[cfg(test)]
mod tests;
