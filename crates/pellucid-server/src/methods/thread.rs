//! Threads: begin, go on, copy, list, read, put away.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use pellucid_agent::fork::Places;
use pellucid_agent::identity;
use pellucid_agent::open::Opening;
use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::Operation;
use pellucid_store::find;
use pellucid_store::names;
use pellucid_store::query::Query;
use pellucid_store::query::Sort;
use pellucid_store::read;
use pellucid_store::read::SessionFile;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use pellucid_store::sessions::StoreError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;

use crate::call::Call;
use crate::loaded::Loaded;
use crate::loaded::RawEvents;
use crate::open;
use crate::open::Overrides;
use crate::rpc::RpcError;
use crate::server::Server;
use crate::turns;
use crate::types::Empty;
use crate::types::notification::ServerNotification;
use crate::types::settings::AskForApproval;
use crate::types::settings::Personality;
use crate::types::settings::ReasoningEffort;
use crate::types::settings::SandboxMode;
use crate::types::settings::SandboxPolicy;
use crate::types::thread::GitInfo;
use crate::types::thread::Thread;

/// How many threads a list has, if the client does not say; and at most.
const LIST_LIMIT: usize = 25;
const LIST_LIMIT_MAX: usize = 100;

/// `thread/start`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadStartParams {
    /// What changes against the configuration.
    #[serde(flatten)]
    pub overrides: Overrides,
    /// Whether there is no file of it.
    pub ephemeral: Option<bool>,
    /// Tools that the client runs.
    pub dynamic_tools: Option<Vec<DynamicTool>>,
    /// A field that only tests of gates use.
    pub mock_experimental_field: Option<String>,
    /// Whether the client is told of items as the model sees them.
    pub experimental_raw_events: bool,
    /// Whether the file keeps what tools did.
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

/// `thread/resume`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumeParams {
    /// Which.
    pub thread_id: String,
    /// A history instead of a stored one.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Value>>")]
    pub history: Option<Vec<Item>>,
    /// A file instead of an id.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// What changes against the configuration.
    #[serde(flatten)]
    pub overrides: Overrides,
    /// Whether the file keeps what tools do.
    #[serde(default)]
    pub persist_extended_history: bool,
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

/// `thread/fork`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadForkParams {
    /// Which.
    pub thread_id: String,
    /// A file instead of an id.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// What changes against the configuration.
    #[serde(flatten)]
    pub overrides: Overrides,
    /// Whether the file keeps what tools do.
    #[serde(default)]
    pub persist_extended_history: bool,
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

/// A thread that is loaded, and its settings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadOpenResponse {
    /// The thread.
    pub thread: Thread,
    /// Its model.
    pub model: String,
    /// Who serves it.
    pub model_provider: String,
    /// Where it works.
    pub cwd: String,
    /// When a person is asked.
    pub approval_policy: AskForApproval,
    /// What commands may touch.
    pub sandbox: SandboxPolicy,
    /// How long the model may think.
    pub reasoning_effort: Option<ReasoningEffort>,
}

impl ThreadOpenResponse {
    fn new(loaded: &Loaded, thread: Thread) -> Self {
        let settings = &loaded.settings;
        Self {
            thread,
            model: settings.model.clone(),
            model_provider: settings.model_provider.clone(),
            cwd: settings.cwd.clone(),
            approval_policy: settings.approval_policy,
            sandbox: settings.sandbox.clone().into(),
            reasoning_effort: settings.effort,
        }
    }
}

/// Begins a thread.
pub async fn start(call: Call<ThreadOpenResponse>, params: ThreadStartParams) -> Result<(), RpcError> {
    let keep = match params.ephemeral {
        Some(true) => Keep::Nothing,
        _ => Keep::file(params.persist_extended_history),
    };
    let tools = params.dynamic_tools.unwrap_or_default();
    check_tools(&tools)?;
    let raw = if params.experimental_raw_events { RawEvents::Told } else { RawEvents::NotTold };
    let opening = Opening::New { session_id: None, keep };
    let session = open::open(&call.server, &params.overrides, None, tools, opening)?;
    let about = about_new(&session);
    let loaded = Loaded::run(&call.server, session, about.clone(), raw);
    loaded.subscribe(&call.connection);
    call.answer(&ThreadOpenResponse::new(&loaded, about.clone())).await;
    call.server.notify_all(&ServerNotification::ThreadStarted { thread: about }).await;
    loaded.begin();
    Ok(())
}
