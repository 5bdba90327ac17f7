//! `thread/list`: the stored threads, page by page.

use std::path::Path;
use std::path::PathBuf;

use pellucid_agent::open::SCRIPTED;
use pellucid_store::query::Cursor;
use pellucid_store::query::Query;
use pellucid_store::query::Sort;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use super::thread::from_summary;
use crate::open::ThreadOverrides;
use crate::rpc::RpcError;
use crate::server::Server;
use crate::types::source::SessionSource;
use crate::types::source::SubAgentSource;
use crate::types::thread::Thread;

/// How many threads a page has if the client does not set `limit`; and at most.
const LIST_LIMIT: usize = 25;
const LIST_LIMIT_MAX: usize = 100;

/// The parameters of `thread/list`.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadListParams {
    /// The `nextCursor` of the page before.
    pub cursor: Option<String>,
    /// The largest number of threads in a page.
    pub limit: Option<u32>,
    /// The time by which the threads are ordered.
    pub sort_key: Option<ThreadSortKey>,
    /// Only threads of these providers; `null` means the configured one, an empty list all.
    pub model_providers: Option<Vec<String>>,
    /// Only threads that these kinds of clients started.
    pub source_kinds: Option<Vec<ThreadSourceKind>>,
    /// Whether archived threads are listed instead of the others.
    pub archived: Option<bool>,
    /// Only threads of this working directory; clients of today may name several.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub cwd: Option<OneOrMany>,
    /// Only threads whose title has this text. Of clients of today.
    #[cfg_attr(test, schemars(skip))]
    pub search_term: Option<String>,
    /// The direction of the order. Of clients of today.
    #[cfg_attr(test, schemars(skip))]
    pub sort_direction: Option<Value>,
}

/// One folder, or several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// The time by which threads are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ThreadSortKey {
    /// When the thread was started.
    CreatedAt,
    /// When the thread was written last.
    UpdatedAt,
}

/// The kind of client that started a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ThreadSourceKind {
    /// The terminal user interface.
    Cli,
    /// An editor, or any other client of the app-server.
    #[serde(rename = "vscode")]
    VsCode,
    /// `pellucid exec`, for scripts.
    Exec,
    /// The program as an MCP server.
    AppServer,
    /// Any agent that a thread started.
    SubAgent,
    /// An agent that reviews changes.
    SubAgentReview,
    /// An agent that summarises a history.
    SubAgentCompact,
    /// An agent that another thread started.
    SubAgentThreadSpawn,
    /// Any other kind of agent.
    SubAgentOther,
    /// A source that this version does not know.
    Unknown,
}

impl ThreadSourceKind {
    /// Whether a thread has this source.
    fn takes(self, source: &SessionSource) -> bool {
        matches!(
            (self, source),
            (Self::Cli, SessionSource::Cli)
                | (Self::VsCode, SessionSource::VsCode)
                | (Self::Exec, SessionSource::Exec)
                | (Self::AppServer, SessionSource::AppServer)
                | (Self::SubAgent, SessionSource::SubAgent(_))
                | (Self::SubAgentReview, SessionSource::SubAgent(SubAgentSource::Review))
                | (Self::SubAgentCompact, SessionSource::SubAgent(SubAgentSource::Compact))
                | (Self::SubAgentThreadSpawn, SessionSource::SubAgent(SubAgentSource::ThreadSpawn { .. }))
                | (Self::SubAgentOther, SessionSource::SubAgent(SubAgentSource::Other(_)))
                | (Self::Unknown, SessionSource::Unknown)
        )
    }

    /// The source's word in session files, if it has one.
    fn word(self) -> Option<&'static str> {
        match self {
            Self::Cli => Some("cli"),
            Self::VsCode => Some("vscode"),
            Self::Exec => Some("exec"),
            Self::AppServer => Some("mcp"),
            _ => None,
        }
    }
}

/// A page of threads.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadListResponse {
    pub data: Vec<Thread>,
    /// The cursor of the next page; `null` after the last one.
    pub next_cursor: Option<String>,
}

/// Handles `thread/list`: lists stored threads.
pub async fn list(server: &Server, params: ThreadListParams) -> Result<ThreadListResponse, RpcError> {
    let cursor = params
        .cursor
        .as_deref()
        .map(|cursor| cursor.parse::<Cursor>().map_err(|_| RpcError::invalid(format!("invalid cursor: {cursor}"))));
    if params.sort_direction.is_some_and(|direction| direction == "asc") {
        return Err(RpcError::invalid("threads are listed with the newest first; leave out `sortDirection`"));
    }
    let cwds = match params.cwd {
        None => Vec::new(),
        Some(OneOrMany::One(cwd)) => vec![cwd],
        Some(OneOrMany::Many(cwds)) => cwds,
    };
    let kinds = params.source_kinds.filter(|kinds| !kinds.is_empty());
    let kinds = kinds.unwrap_or_else(|| vec![ThreadSourceKind::Cli, ThreadSourceKind::VsCode]);
    let words: Option<Vec<&str>> = kinds.iter().map(|kind| kind.word()).collect();
    let default_provider = match &server.ground.script {
        Some(_) => SCRIPTED.to_owned(),
        None => {
            let (config, _) = ThreadOverrides::default().config(server, None)?;
            config.model.provider_id.clone()
        }
    };
    let limit = params.limit.map_or(LIST_LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let limit = limit.clamp(1, LIST_LIMIT_MAX);
    let mut query = Query {
        archived: params.archived.unwrap_or(false),
        sources: words.into_iter().flatten().map(str::to_owned).collect(),
        providers: params.model_providers.unwrap_or_else(|| vec![default_provider.clone()]),
        default_provider: Some(default_provider),
        cwd: match cwds.as_slice() {
            [one] => Some(PathBuf::from(one)),
            _ => None,
        },
        search: params.search_term.filter(|term| !term.trim().is_empty()),
        sort: match params.sort_key {
            Some(ThreadSortKey::UpdatedAt) => Sort::Updated,
            Some(ThreadSortKey::CreatedAt) | None => Sort::Created,
        },
        cursor: cursor.transpose()?,
        limit,
    };
    let mut data: Vec<Thread> = Vec::new();
    // Some kinds have no word in files and are filtered one by one, so one page may need several pages of the store.
    loop {
        let page = server.list_stored(&query);
        for summary in page.sessions {
            let thread = from_summary(&server.ground.home, summary);
            let is_here = cwds.len() < 2 || cwds.iter().any(|cwd| thread.cwd == Path::new(cwd));
            if is_here && kinds.iter().any(|kind| kind.takes(&thread.source)) {
                data.push(thread);
            }
        }
        match page.next {
            Some(next) if data.len() < limit => query.cursor = Some(next),
            next => {
                let mut next_cursor = next;
                if data.len() > limit {
                    data.truncate(limit);
                    next_cursor = data.last().map(|last| Cursor {
                        seconds: if query.sort == Sort::Created { last.created_at } else { last.updated_at },
                        id: last.id.clone(),
                    });
                }
                return Ok(ThreadListResponse { data, next_cursor: next_cursor.map(|next| next.to_string()) });
            }
        }
    }
}
