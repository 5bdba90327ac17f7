//! Threads: start, resume, fork, list, read, archive.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use pellucid_agent::fork::MessageOffsets;
use pellucid_agent::identity;
use pellucid_agent::open::Opening;
use pellucid_agent::open::Persistence;
use pellucid_agent::session::Session;
use pellucid_engine::boundary;
use pellucid_engine::schema::Schema;
use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::Operation;
use pellucid_store::find;
use pellucid_store::lines::Forwards;
use pellucid_store::names;
use pellucid_store::read;
use pellucid_store::read::LineReading;
use pellucid_store::read::SessionFile;
use pellucid_store::read::read_line;
use pellucid_store::record::Record;
use pellucid_store::sessions::Sessions;
use pellucid_store::sessions::StoreError;
use pellucid_store::summary;
use pellucid_store::summary::SessionSummary;
use pellucid_store::walk::SessionPlace;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::call::MethodCall;
use crate::connection::Connection;
use crate::loaded::Busy;
use crate::loaded::LoadedSession;
use crate::methods::turn::ReviewStartResponse;
use crate::methods::warnings::not_accepted;
use crate::open;
use crate::open::Extras;
use crate::open::ThreadOverrides;
use crate::rpc;
use crate::rpc::RpcError;
use crate::server::Server;
use crate::turns;
use crate::types::notification::ServerNotification;
use crate::types::notification::ThreadArchivedNotification;
use crate::types::notification::ThreadNameUpdatedNotification;
use crate::types::notification::ThreadStartedNotification;
use crate::types::notification::ThreadUnarchivedNotification;
use crate::types::settings::AskForApproval;
use crate::types::settings::ReasoningEffort;
use crate::types::settings::SandboxPolicy;
use crate::types::source::SessionSource;
use crate::types::thread::GitInfo;
use crate::types::thread::Thread;
use crate::types::thread::Turn;

/// How many lines of a file are searched for a preview.
const PREVIEW_LINES: usize = 10;

/// An editor puts the text that the user typed after this mark.
const REQUEST_MARK: &str = "## My request for Codex:";

/// The parameters of `thread/start`.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadStartParams {
    /// The settings that differ from the configuration.
    #[serde(flatten)]
    pub overrides: ThreadOverrides,
    /// Whether the thread is not written to a file.
    pub ephemeral: Option<bool>,
    /// Tools that the client runs.
    pub dynamic_tools: Option<Vec<DynamicTool>>,
    /// A field that only tests of the experimental API use.
    pub mock_experimental_field: Option<String>,
    /// Whether the client receives the items of the transcript as the model sees them.
    pub experimental_raw_events: bool,
    /// Whether the session file keeps the events of tools.
    pub persist_extended_history: bool,
}

impl ThreadStartParams {
    /// The first field that needs the experimental capability.
    pub fn experimental(&self) -> Option<&'static str> {
        if self.dynamic_tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
            return Some("thread/start.dynamicTools");
        }
        if self.mock_experimental_field.is_some() {
            return Some("thread/start.mockExperimentalField");
        }
        if self.experimental_raw_events {
            return Some("thread/start.experimentalRawEvents");
        }
        self.persist_extended_history.then_some("thread/start.persistFullHistory")
    }
}

/// The parameters of `thread/resume`.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumeParams {
    pub thread_id: String,
    /// A history to resume instead of a stored one.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Vec<Value>>"))]
    pub history: Option<Vec<Item>>,
    /// The session file to resume instead of `threadId`.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// The settings that differ from the configuration.
    #[serde(flatten)]
    pub overrides: ThreadOverrides,
    /// Whether the session file keeps the events of tools.
    #[serde(default)]
    pub persist_extended_history: bool,
    /// Whether the response has no turns. Of clients of today.
    #[serde(default)]
    #[cfg_attr(test, schemars(skip))]
    pub exclude_turns: bool,
}

impl ThreadResumeParams {
    /// The first field that needs the experimental capability.
    pub fn experimental(&self) -> Option<&'static str> {
        if self.history.as_ref().is_some_and(|items| !items.is_empty()) {
            return Some("thread/resume.history");
        }
        if self.path.is_some() {
            return Some("thread/resume.path");
        }
        self.persist_extended_history.then_some("thread/resume.persistFullHistory")
    }
}

/// The parameters of `thread/fork`.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadForkParams {
    pub thread_id: String,
    /// The session file to fork instead of `threadId`.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// The settings that differ from the configuration.
    #[serde(flatten)]
    pub overrides: ThreadOverrides,
    /// Whether the session file keeps the events of tools.
    #[serde(default)]
    pub persist_extended_history: bool,
    /// Whether the response has no turns. Of clients of today.
    #[serde(default)]
    #[cfg_attr(test, schemars(skip))]
    pub exclude_turns: bool,
    /// Whether the copy is not written to a file. Of clients of today.
    #[serde(default)]
    #[cfg_attr(test, schemars(skip))]
    pub ephemeral: Option<bool>,
    /// The last turn that the copy should have. Of clients of today; refused.
    #[serde(default)]
    #[cfg_attr(test, schemars(skip))]
    pub last_turn_id: Option<String>,
    /// The turn before which the copy should end. Of clients of today; refused.
    #[serde(default)]
    #[cfg_attr(test, schemars(skip))]
    pub before_turn_id: Option<String>,
}

impl ThreadForkParams {
    /// The first field that needs the experimental capability.
    pub fn experimental(&self) -> Option<&'static str> {
        if self.path.is_some() {
            return Some("thread/fork.path");
        }
        self.persist_extended_history.then_some("thread/fork.persistFullHistory")
    }
}

/// Defines results of one form that clients know by several names: a loaded thread and its settings.
macro_rules! opened {
    ($($name:ident: $doc:literal;)+) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, Serialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            pub thread: Thread,
            pub model: String,
            /// The id of the model provider.
            pub model_provider: String,
            /// The thread's working directory.
            pub cwd: String,
            /// When commands and patches need approval.
            pub approval_policy: AskForApproval,
            /// What commands may touch.
            pub sandbox: SandboxPolicy,
            /// The reasoning effort, if one is set.
            pub reasoning_effort: Option<ReasoningEffort>,
        }

        impl Opened for $name {
            fn new(loaded: &LoadedSession, thread: Thread) -> Self {
                let settings = loaded.settings.clone();
                Self {
                    thread,
                    model: settings.model,
                    model_provider: settings.model_provider,
                    cwd: settings.cwd,
                    approval_policy: settings.approval_policy,
                    sandbox: settings.sandbox.into(),
                    reasoning_effort: settings.effort,
                }
            }
        }
    )+};
}

/// A result that describes a loaded thread.
trait Opened: Serialize {
    fn new(loaded: &LoadedSession, thread: Thread) -> Self;
}

opened! {
    ThreadStartResponse: "The answer to `thread/start`.";
    ThreadResumeResponse: "The answer to `thread/resume`.";
    ThreadForkResponse: "The answer to `thread/fork`.";
}

/// Defines parameters of one form that clients know by several names: a thread's id.
macro_rules! of_thread {
    ($($name:ident: $doc:literal;)+) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, Default, Deserialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            pub thread_id: String,
        }
    )+};
}

of_thread! {
    ThreadArchiveParams: "`thread/archive`.";
    ThreadUnarchiveParams: "`thread/unarchive`.";
    ThreadCompactStartParams: "`thread/compact/start`.";
    ThreadBackgroundTerminalsCleanParams: "`thread/backgroundTerminals/clean`.";
}

/// Defines results of one form that clients know by several names: a thread.
macro_rules! with_thread {
    ($($name:ident: $doc:literal;)+) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, Serialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            pub thread: Thread,
        }
    )+};
}

with_thread! {
    ThreadReadResponse: "The answer to `thread/read`.";
    ThreadUnarchiveResponse: "The answer to `thread/unarchive`.";
    ThreadRollbackResponse: "The answer to `thread/rollback`.";
}

crate::types::nothing! {
    ThreadArchiveResponse: "The answer to `thread/archive`.";
    ThreadSetNameResponse: "The answer to `thread/name/set`.";
    ThreadCompactStartResponse: "The answer to `thread/compact/start`.";
    ThreadBackgroundTerminalsCleanResponse: "The answer to `thread/backgroundTerminals/clean`.";
}

/// Handles `thread/start`: opens a new session for the client.
pub async fn start(call: MethodCall<ThreadStartResponse>, mut params: ThreadStartParams) -> Result<(), RpcError> {
    params.overrides.of_today(&call.connection)?;
    let keep = match params.ephemeral {
        Some(true) => Persistence::Nothing,
        _ => keep(params.persist_extended_history),
    };
    let tools = params.dynamic_tools.unwrap_or_default();
    check_tools(&tools)?;
    let raw = if params.experimental_raw_events { RawItems::Shown } else { RawItems::Hidden };
    let opening = Opening::New { session_id: None, keep };
    let extras = Extras { dynamic_tools: tools, raw_items: raw, ..Extras::of(&call.connection) };
    let session = open::open(&call.server, &params.overrides, None, extras, opening)?;
    let about = about_new(&session);
    begin(call, session, about, raw, StartedNotice::Sent).await
}

/// Whether all clients are notified that a loaded thread has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartedNotice {
    Sent,
    Omitted,
}

/// Runs a session for a client and sends the response before any event of the session.
async fn begin<R: Opened>(
    call: MethodCall<R>,
    mut session: Session,
    thread: Thread,
    raw: RawItems,
    started: StartedNotice,
) -> Result<(), RpcError> {
    start_servers(&mut session).await?;
    // A client received the warnings of the server's folder when it connected.
    let is_elsewhere = session.config().folders.cwd != call.server.ground.cwd;
    let warnings = if is_elsewhere { not_accepted(session.config()) } else { Vec::new() };
    let about = Thread { turns: Vec::new(), ..thread.clone() };
    let (loaded, following) = LoadedSession::run(&call.server, session, about, raw);
    loaded.subscribe(&call.connection);
    call.answer(&R::new(&loaded, thread.clone())).await;
    for warning in warnings {
        let warning = ServerNotification::from(warning);
        call.connection.notify(warning.method(), rpc::encode(&warning)).await;
    }
    if started == StartedNotice::Sent {
        call.server.notify_all(&ThreadStartedNotification { thread }.into()).await;
    }
    following.begin(&call.server, &loaded);
    Ok(())
}

/// Starts the MCP servers of a session. Fails if a required server does not start.
async fn start_servers(session: &mut Session) -> Result<(), RpcError> {
    let started = session.start_servers().await;
    started.map_err(|error| RpcError::internal(format!("error creating thread: {error}")))
}

/// Handles `thread/resume`: opens a stored session for the client.
pub async fn resume(call: MethodCall<ThreadResumeResponse>, mut params: ThreadResumeParams) -> Result<(), RpcError> {
    params.overrides.of_today(&call.connection)?;
    let server = call.server.clone();
    let loaded = parse_id(&params.thread_id).ok().and_then(|id| server.find_loaded(&id));
    if let Some(loaded) = loaded {
        return resume_loaded(&call, &params, &loaded).await;
    }
    let keep = keep(params.persist_extended_history);
    if let Some(items) = params.history {
        if items.is_empty() {
            return Err(RpcError::invalid("history must not be empty"));
        }
        let preview = items.iter().find_map(boundary::said_by_person).unwrap_or_default();
        let opening = Opening::History { items, keep };
        let session = open::open(&server, &params.overrides, None, Extras::of(&call.connection), opening)?;
        let thread = Thread { preview, ..about_new(&session) };
        return begin(call, session, thread, RawItems::Hidden, StartedNotice::Omitted).await;
    }
    let file = match &params.path {
        Some(path) => file_at(&server, path)?,
        None => file_of(&server, &parse_id(&params.thread_id)?)?,
    };
    let mut thread = described(&server, &file.path)?;
    if !params.exclude_turns {
        thread.turns = turns_for(&call.connection, &file.path)?;
    }
    let cwd = PathBuf::from(&file.meta.cwd);
    let opening = Opening::Resumed { file: Box::new(file), keep };
    let session = open::open(&server, &params.overrides, Some(&cwd), Extras::of(&call.connection), opening)?;
    thread.cwd = PathBuf::from(&session.facts().settings.cwd);
    thread.model_provider = session.provider_id().to_owned();
    begin(call, session, thread, RawItems::Hidden, StartedNotice::Omitted).await
}

/// Subscribes the client to a loaded thread, whose settings stay as they are.
async fn resume_loaded(
    call: &MethodCall<ThreadResumeResponse>,
    params: &ThreadResumeParams,
    loaded: &Arc<LoadedSession>,
) -> Result<(), RpcError> {
    let id = &loaded.about.id;
    if params.history.is_some() {
        return Err(RpcError::invalid(format!("cannot resume thread {id} with history while it is already running")));
    }
    if let (Some(asked), Some(path)) = (&params.path, &loaded.path)
        && asked != path
    {
        let (asked, path) = (asked.display(), path.display());
        return Err(RpcError::invalid(format!(
            "cannot resume running thread {id} with mismatched path: requested `{asked}`, active `{path}`"
        )));
    }
    let mut thread = stored(&call.server, loaded)?;
    if params.exclude_turns {
        thread.turns.clear();
    } else {
        thread.turns = turns::with_running(thread.turns, loaded.turn_in_progress());
    }
    loaded.subscribe(&call.connection);
    call.answer(&ThreadResumeResponse::new(loaded, thread)).await;
    Ok(())
}

/// Handles `thread/fork`: opens a copy of a session for the client.
pub async fn fork(call: MethodCall<ThreadForkResponse>, mut params: ThreadForkParams) -> Result<(), RpcError> {
    params.overrides.of_today(&call.connection)?;
    if call.connection.is_newest() && (params.last_turn_id.is_some() || params.before_turn_id.is_some()) {
        return Err(RpcError::invalid(
            "a fork always has the whole history; leave out `lastTurnId` and `beforeTurnId`",
        ));
    }
    let file = match &params.path {
        Some(path) => file_at(&call.server, path)?,
        None => file_of(&call.server, &parse_id(&params.thread_id)?)?,
    };
    let extras = Extras::of(&call.connection);
    let keep = match params.ephemeral {
        Some(true) if call.connection.is_newest() => Persistence::Nothing,
        _ => keep(params.persist_extended_history),
    };
    let source = file.path.clone();
    let session = forked(&call.server, &params.overrides, extras, file, keep)?;
    let mut thread = about_new(&session);
    if let Some(path) = session.path() {
        thread.preview = described(&call.server, path)?.preview;
    }
    if !params.exclude_turns && (session.path().is_some() || call.connection.is_newest()) {
        thread.turns = turns_for(&call.connection, session.path().unwrap_or(&source))?;
    }
    begin(call, session, thread, RawItems::Hidden, StartedNotice::Sent).await
}

/// A copy of a thread for a review; the client that asks is subscribed to it.
pub(crate) async fn fork_for_review(
    call: &MethodCall<ReviewStartResponse>,
    parent: &LoadedSession,
) -> Result<Arc<LoadedSession>, RpcError> {
    let file = file_of(&call.server, &parent.about.id)?;
    let extras = Extras::of(&call.connection);
    let mut session = forked(&call.server, &ThreadOverrides::default(), extras, file, Persistence::File)?;
    start_servers(&mut session).await?;
    let about = match session.path() {
        Some(path) => described(&call.server, path)?,
        None => about_new(&session),
    };
    let (loaded, following) = LoadedSession::run(&call.server, session, about.clone(), RawItems::Hidden);
    loaded.subscribe(&call.connection);
    call.server.notify_all(&ThreadStartedNotification { thread: about }.into()).await;
    following.begin(&call.server, &loaded);
    Ok(loaded)
}

/// A copy of a whole session.
pub(crate) fn forked(
    server: &Arc<Server>,
    overrides: &ThreadOverrides,
    extras: Extras,
    file: SessionFile,
    keep: Persistence,
) -> Result<Session, RpcError> {
    let upto = MessageOffsets::read(&file).map_err(|error| RpcError::internal(error.to_string()))?.end;
    let cwd = PathBuf::from(&file.meta.cwd);
    let opening = Opening::Forked { file: Box::new(file), upto, session_id: None, keep };
    open::open(server, overrides, Some(&cwd), extras, opening)
}

/// The parameters of `thread/loaded/list`.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadLoadedListParams {
    /// The last id of the page before.
    pub cursor: Option<String>,
    /// The largest number of ids in a page.
    pub limit: Option<u32>,
}

/// A page of ids.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadLoadedListResponse {
    /// The ids in ascending order.
    pub data: Vec<String>,
    /// The cursor of the next page; `null` after the last one.
    pub next_cursor: Option<String>,
}

/// Lists threads that are loaded.
pub async fn loaded_list(
    server: &Server,
    params: ThreadLoadedListParams,
) -> Result<ThreadLoadedListResponse, RpcError> {
    let cursor = params.cursor.map(|cursor| {
        identity::parse_session_id(&cursor).ok_or_else(|| RpcError::invalid(format!("invalid cursor: {cursor}")))
    });
    let cursor = cursor.transpose()?;
    let mut data = server.loaded_ids();
    data.retain(|id| cursor.as_ref().is_none_or(|cursor| id > cursor));
    let limit = params.limit.map_or(usize::MAX, |limit| usize::try_from(limit.max(1)).unwrap_or(usize::MAX));
    let has_more = data.len() > limit;
    data.truncate(limit);
    let next_cursor = data.last().filter(|_| has_more).cloned();
    Ok(ThreadLoadedListResponse { data, next_cursor })
}

/// The parameters of `thread/read`.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadParams {
    pub thread_id: String,
    /// Whether the response contains the turns.
    #[serde(default)]
    pub include_turns: bool,
}

/// Reads a thread without loading it.
pub async fn read(server: &Server, params: ThreadReadParams) -> Result<ThreadReadResponse, RpcError> {
    let id = parse_id(&params.thread_id)?;
    let loaded = server.find_loaded(&id);
    let path = match &loaded {
        Some(loaded) => loaded.path.clone().filter(|path| path.exists()),
        None => find::by_id(&server.ground.home, &id),
    };
    match (path, loaded) {
        (Some(path), _) => {
            let mut thread = described(server, &path)?;
            if params.include_turns {
                thread.turns = turns_of(&path)?;
            }
            Ok(ThreadReadResponse { thread })
        }
        (None, Some(loaded)) if params.include_turns && loaded.path.is_none() => {
            Err(RpcError::invalid("ephemeral threads do not support includeTurns"))
        }
        (None, Some(_)) if params.include_turns => Err(RpcError::invalid(format!(
            "thread {id} is not materialized yet; includeTurns is unavailable before first user message"
        ))),
        (None, Some(loaded)) => Ok(ThreadReadResponse { thread: loaded.about.clone() }),
        (None, None) => Err(RpcError::invalid(format!("thread not loaded: {id}"))),
    }
}

/// Archives a thread. A loaded thread is shut down first.
pub async fn archive(call: MethodCall<ThreadArchiveResponse>, params: ThreadArchiveParams) -> Result<(), RpcError> {
    let server = &call.server;
    let id = parse_id(&params.thread_id)?;
    file_of(server, &id)?;
    if let Some(loaded) = server.remove(&id) {
        loaded.shut_down().await;
    }
    server.stored_sessions().archive(&id).map_err(|error| RpcError::internal(error.to_string()))?;
    call.answer(&ThreadArchiveResponse {}).await;
    server.notify_all(&ThreadArchivedNotification { thread_id: id }.into()).await;
    Ok(())
}

/// Restores a thread from the archive.
pub async fn unarchive(
    call: MethodCall<ThreadUnarchiveResponse>,
    params: ThreadUnarchiveParams,
) -> Result<(), RpcError> {
    let server = &call.server;
    let id = parse_id(&params.thread_id)?;
    let path = server.stored_sessions().unarchive(&id).map_err(|error| match error {
        StoreError::NotFound { .. } => RpcError::invalid(format!("no archived rollout found for thread id {id}")),
        other => RpcError::internal(other.to_string()),
    })?;
    let thread = described(server, &path)?;
    call.answer(&ThreadUnarchiveResponse { thread }).await;
    server.notify_all(&ThreadUnarchivedNotification { thread_id: id }.into()).await;
    Ok(())
}

/// The parameters of `thread/name/set`.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadSetNameParams {
    pub thread_id: String,
    pub name: String,
}

/// Handles `thread/name/set`: renames a thread.
pub async fn set_name(call: MethodCall<ThreadSetNameResponse>, params: ThreadSetNameParams) -> Result<(), RpcError> {
    let loaded = call.server.loaded(&params.thread_id)?;
    if params.name.trim().is_empty() {
        return Err(RpcError::invalid("thread name must not be empty"));
    }
    if loaded.path.is_none() {
        return Err(RpcError::invalid("Session persistence is disabled; cannot rename thread."));
    }
    let id = &loaded.about.id;
    let name = names::set(&call.server.ground.home, id, &params.name);
    let name = name.map_err(|error| RpcError::internal(error.to_string()))?;
    call.answer(&ThreadSetNameResponse {}).await;
    let event =
        EventMessage::ThreadNameUpdated { thread_id: SessionId::new(id.as_str()), thread_name: Some(name.clone()) };
    loaded.notify_untyped(&Event { id: identity::new_turn_id().to_string(), msg: event }).await;
    let renamed = ThreadNameUpdatedNotification { thread_id: id.clone(), thread_name: Some(name) };
    call.server.notify_all(&renamed.into()).await;
    Ok(())
}

/// Summarises a thread's history.
pub async fn compact(
    call: MethodCall<ThreadCompactStartResponse>,
    params: ThreadCompactStartParams,
) -> Result<(), RpcError> {
    let loaded = call.server.loaded(&params.thread_id)?;
    call.answer(&ThreadCompactStartResponse {}).await;
    loaded.submit(identity::new_turn_id(), Operation::Compact).await;
    Ok(())
}

/// The parameters of `thread/rollback`.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadRollbackParams {
    pub thread_id: String,
    /// How many turns are removed from the end.
    pub num_turns: u32,
}

/// Removes the last turns. The files that those turns changed stay as they are.
pub async fn rollback(call: MethodCall<ThreadRollbackResponse>, params: ThreadRollbackParams) -> Result<(), RpcError> {
    if params.num_turns == 0 {
        return Err(RpcError::invalid("numTurns must be >= 1"));
    }
    let loaded = call.server.loaded(&params.thread_id)?;
    let num_turns = usize::try_from(params.num_turns).unwrap_or(usize::MAX);
    let busy = |Busy| RpcError::invalid("rollback already in progress for this thread");
    loaded.roll_back_for(call, num_turns).await.map_err(busy)
}

/// Ends the background commands of a thread.
pub async fn clean_terminals(
    call: MethodCall<ThreadBackgroundTerminalsCleanResponse>,
    params: ThreadBackgroundTerminalsCleanParams,
) -> Result<(), RpcError> {
    let loaded = call.server.loaded(&params.thread_id)?;
    loaded.submit(identity::new_turn_id(), Operation::CleanBackgroundTerminals).await;
    call.answer(&ThreadBackgroundTerminalsCleanResponse {}).await;
    Ok(())
}

/// Reads the id of a thread.
///
/// # Errors
/// If the text is not an id.
pub(crate) fn parse_id(text: &str) -> Result<String, RpcError> {
    identity::parse_session_id(text)
        .ok_or_else(|| RpcError::invalid(format!("invalid thread id: `{text}` is not a UUID")))
}

/// How much of a thread its session file keeps.
fn keep(is_extended: bool) -> Persistence {
    if is_extended { Persistence::ExtendedFile } else { Persistence::File }
}

pub(crate) fn file_of(server: &Server, id: &str) -> Result<SessionFile, RpcError> {
    let path = find::by_id(&server.ground.home, id);
    let path = path.ok_or_else(|| RpcError::invalid(format!("no rollout found for thread id {id}")))?;
    file_at(server, &path)
}

fn file_at(server: &Server, path: &Path) -> Result<SessionFile, RpcError> {
    let path = server.ground.home.join(path);
    let shown = path.display();
    read::open(&path).map_err(|error| RpcError::invalid(format!("failed to load rollout `{shown}`: {error}")))
}

/// The thread of a session file, without turns.
fn described(server: &Server, path: &Path) -> Result<Thread, RpcError> {
    let home = &server.ground.home;
    let summary = summary::of_file(home, path, SessionPlace::Live);
    let summary = summary.map_err(|error| RpcError::internal(format!("{}: {error}", path.display())))?;
    let mut thread = from_summary(home, summary);
    if let Some(preview) = first_said(path) {
        thread.preview = preview;
    }
    Ok(thread)
}

/// The first words of the user among the first lines of a file, without what an editor puts before them.
fn first_said(path: &Path) -> Option<String> {
    let file = pellucid_files::open(path).ok()?;
    let mut lines = Forwards::new(file, 0, u64::MAX).ok()?;
    for _ in 0..PREVIEW_LINES {
        if let LineReading::Record(Record::ResponseItem(item)) = read_line(lines.next_line().ok()??.bytes)
            && let Some(text) = boundary::said_by_person(&item)
        {
            let said = text.split_once(REQUEST_MARK).map_or(text.as_str(), |(_, said)| said);
            return Some(said.trim().to_owned());
        }
    }
    None
}

/// The turns of a session file, with their times for a client of today.
pub(crate) fn turns_for(connection: &Connection, path: &Path) -> Result<Vec<Turn>, RpcError> {
    if connection.is_newest() { timed_turns_of(path) } else { turns_of(path) }
}

/// The turns of a session file with their times.
pub(crate) fn timed_turns_of(path: &Path) -> Result<Vec<Turn>, RpcError> {
    let failed = |error: std::io::Error| RpcError::internal(format!("{}: {error}", path.display()));
    let file = pellucid_files::open(path).map_err(failed)?;
    let mut lines = Forwards::new(file, 0, u64::MAX).map_err(failed)?;
    let mut builder = turns::Builder::timed();
    while let Some(line) = lines.next_line().map_err(failed)? {
        if let LineReading::Record(record) = read_line(line.bytes) {
            builder.record_at(&record, time_of(line.bytes));
        }
    }
    Ok(builder.finish())
}

/// The time at which a line of a session file was written, in milliseconds of Unix time.
fn time_of(line: &[u8]) -> Option<i64> {
    let rest = line.strip_prefix(b"{\"timestamp\":\"")?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    let time: jiff::Timestamp = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    Some(time.as_millisecond())
}

fn turns_of(path: &Path) -> Result<Vec<Turn>, RpcError> {
    let loaded = read::read(path).map_err(|error| RpcError::internal(error.to_string()))?;
    Ok(turns::rebuild(&loaded.records))
}

/// A loaded thread, with the turns of its session file.
pub(crate) fn stored(server: &Server, loaded: &LoadedSession) -> Result<Thread, RpcError> {
    let Some(path) = loaded.path.as_ref().filter(|path| path.exists()) else {
        return Ok(loaded.about.clone());
    };
    let mut thread = described(server, path)?;
    thread.turns = turns_of(path)?;
    Ok(thread)
}

/// The thread of a session that has just been opened.
fn about_new(session: &Session) -> Thread {
    let now = jiff::Timestamp::now().as_second();
    Thread {
        id: session.id().to_string(),
        preview: String::new(),
        model_provider: session.provider_id().to_owned(),
        created_at: now,
        updated_at: now,
        path: session.path().map(Path::to_owned),
        cwd: PathBuf::from(&session.facts().settings.cwd),
        cli_version: identity::VERSION.to_owned(),
        source: SessionSource::VsCode,
        git_info: None,
        turns: Vec::new(),
    }
}

/// A thread of the list of stored sessions.
pub(crate) fn from_summary(home: &Path, summary: SessionSummary) -> Thread {
    let source = serde_json::from_str(&summary.source).unwrap_or(Value::String(summary.source));
    Thread {
        id: summary.id,
        preview: summary.first_message,
        model_provider: summary.model_provider.unwrap_or_default(),
        created_at: summary.created_at,
        updated_at: summary.updated_at,
        path: Some(home.join(summary.path)),
        cwd: PathBuf::from(summary.cwd),
        cli_version: summary.begun.cli_version,
        source: SessionSource::from_file(&source),
        git_info: summary.begun.git.map(|git| GitInfo {
            sha: git.commit_hash,
            branch: git.branch,
            origin_url: git.repository_url,
        }),
        turns: Vec::new(),
    }
}

/// Checks the tools that a client wants to run.
fn check_tools(tools: &[DynamicTool]) -> Result<(), RpcError> {
    let mut seen = BTreeSet::new();
    for DynamicTool { name, input_schema, .. } in tools {
        let problem = if name.is_empty() {
            "dynamic tool name must not be empty".to_owned()
        } else if name.trim() != name {
            format!("dynamic tool name has leading/trailing whitespace: {name}")
        } else if name == "mcp" || name.starts_with("mcp__") {
            format!("dynamic tool name is reserved: {name}")
        } else if !seen.insert(name) {
            format!("duplicate dynamic tool name: {name}")
        } else if let Err(error) = Schema::read(input_schema) {
            format!("dynamic tool input schema is not supported for {name}: {error}")
        } else {
            continue;
        };
        return Err(RpcError::invalid(problem));
    }
    Ok(())
}
