//! `hooks/list`: there are no hooks.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::rpc::RpcError;
use crate::server::Server;

/// The parameters of `hooks/list`.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct HooksListParams {
    /// The folders; if empty, the server's working directory.
    pub cwds: Vec<String>,
    /// The thread whose folder counts, instead of `cwds`.
    pub thread_id: Option<String>,
}

/// The result of `hooks/list`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct HooksListResponse {
    /// An entry for each folder.
    pub data: Vec<HooksListEntry>,
}

/// The hooks of a folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct HooksListEntry {
    pub cwd: String,
    /// The hooks; always empty.
    pub hooks: Vec<Value>,
    /// What the user should know; always empty.
    pub warnings: Vec<String>,
    /// The hooks that could not be read; always empty.
    pub errors: Vec<Value>,
}

/// Answers with an empty entry for each folder.
pub async fn list(server: &Server, params: HooksListParams) -> Result<HooksListResponse, RpcError> {
    let cwds = match &params.thread_id {
        Some(id) => vec![server.loaded(id)?.current().cwd],
        None if params.cwds.is_empty() => vec![server.ground.cwd.to_string_lossy().into_owned()],
        None => params.cwds,
    };
    let empty = |cwd| HooksListEntry { cwd, hooks: Vec::new(), warnings: Vec::new(), errors: Vec::new() };
    Ok(HooksListResponse { data: cwds.into_iter().map(empty).collect() })
}
