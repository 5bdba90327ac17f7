//! `thread/backgroundTerminals/list` and `…/terminate`: commands whose terminals are open.

use pellucid_agent::identity;
use pellucid_protocol::operation::Operation;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::paging::page;
use crate::call::MethodCall;
use crate::newest::live::ThreadBackgroundTerminal;
use crate::rpc::RpcError;
use crate::server::Server;

/// The parameters of `thread/backgroundTerminals/list`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadBackgroundTerminalsListParams {
    pub thread_id: String,
    /// The `nextCursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
    /// The largest number of terminals in a page.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// A page of terminals.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadBackgroundTerminalsListResponse {
    pub data: Vec<ThreadBackgroundTerminal>,
    /// The cursor of the next page; `null` after the last one.
    pub next_cursor: Option<String>,
}

/// Lists the terminals that are open.
pub async fn list(
    server: &Server,
    params: ThreadBackgroundTerminalsListParams,
) -> Result<ThreadBackgroundTerminalsListResponse, RpcError> {
    let terminals = server.loaded(&params.thread_id)?.terminals();
    let page = page(terminals, params.cursor.as_deref(), params.limit, "terminals")?;
    Ok(ThreadBackgroundTerminalsListResponse { data: page.entries, next_cursor: page.next_cursor })
}

/// The parameters of `thread/backgroundTerminals/terminate`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadBackgroundTerminalsTerminateParams {
    pub thread_id: String,
    /// The number of the terminal.
    pub process_id: String,
}

/// The result of `thread/backgroundTerminals/terminate`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ThreadBackgroundTerminalsTerminateResponse {
    /// Whether there was such a terminal.
    pub terminated: bool,
}

/// Handles `thread/backgroundTerminals/terminate`: ends the command of a terminal.
pub async fn terminate(
    call: MethodCall<ThreadBackgroundTerminalsTerminateResponse>,
    params: ThreadBackgroundTerminalsTerminateParams,
) -> Result<(), RpcError> {
    let loaded = call.server.loaded(&params.thread_id)?;
    let is_open = loaded.terminals().iter().any(|terminal| terminal.process_id == params.process_id);
    let process_id = params.process_id.parse().ok().filter(|_| is_open);
    if let Some(process_id) = process_id {
        loaded.submit(identity::new_turn_id(), Operation::TerminateBackgroundTerminal { process_id }).await;
    }
    call.answer(&ThreadBackgroundTerminalsTerminateResponse { terminated: process_id.is_some() }).await;
    Ok(())
}
