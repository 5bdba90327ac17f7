//! `thread/goal/*`: threads have no goals, and the answers say so.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::rpc::RpcError;
use crate::server::Server;

/// The parameters of `thread/goal/get`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoalGetParams {
    pub thread_id: String,
}

/// The result of `thread/goal/get`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ThreadGoalGetResponse {
    /// The goal; always `null`.
    pub goal: Option<Value>,
}

/// Answers that there is no goal.
pub async fn get(server: &Server, params: ThreadGoalGetParams) -> Result<ThreadGoalGetResponse, RpcError> {
    server.loaded(&params.thread_id)?;
    Ok(ThreadGoalGetResponse { goal: None })
}

/// The parameters of `thread/goal/set`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoalSetParams {
    pub thread_id: String,
    /// What the thread should reach.
    #[serde(default)]
    pub objective: Option<String>,
}

/// The result of `thread/goal/set`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ThreadGoalSetResponse {
    /// The goal that was set.
    pub goal: Value,
}

/// Handles `thread/goal/set`: refuses.
pub async fn set(server: &Server, params: ThreadGoalSetParams) -> Result<ThreadGoalSetResponse, RpcError> {
    server.loaded(&params.thread_id)?;
    Err(RpcError::invalid("threads have no goals here; hint: send the goal as the input of a turn"))
}

/// The parameters of `thread/goal/clear`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoalClearParams {
    pub thread_id: String,
}

/// The result of `thread/goal/clear`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ThreadGoalClearResponse {
    /// Whether there was a goal; never.
    pub cleared: bool,
}

/// Answers that there was no goal.
pub async fn clear(server: &Server, params: ThreadGoalClearParams) -> Result<ThreadGoalClearResponse, RpcError> {
    server.loaded(&params.thread_id)?;
    Ok(ThreadGoalClearResponse { cleared: false })
}
