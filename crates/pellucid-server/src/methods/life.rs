//! What clients of today do with a loaded thread: let go of it, delete it, change its settings, add to its history, run a
//! command of the user.

use std::path::PathBuf;

use pellucid_agent::identity;
use pellucid_files::RealDisk;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_store::delete::DeleteError;
use pellucid_store::delete::DeletePlan;
use pellucid_store::find;
use pellucid_tasks::Task;
use pellucid_tools::edits::EditLog;
use pellucid_tools::outputs::Outputs;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use super::thread::parse_id;
use super::turn::with_profile;
use crate::call::MethodCall;
use crate::newest::notice::NewestNotification;
use crate::rpc::RpcError;
use crate::types::settings::AskForApproval;
use crate::types::settings::CollaborationMode;
use crate::types::settings::Personality;
use crate::types::settings::ReasoningEffort;
use crate::types::settings::ReasoningSummary;
use crate::types::settings::SandboxPolicy;

/// The parameters of `thread/unsubscribe`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnsubscribeParams {
    pub thread_id: String,
}

/// The result of `thread/unsubscribe`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ThreadUnsubscribeResponse {
    pub status: ThreadUnsubscribeStatus,
}

/// What `thread/unsubscribe` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ThreadUnsubscribeStatus {
    /// The thread is not loaded.
    NotLoaded,
    /// The client did not receive the thread's events.
    NotSubscribed,
    /// The client receives no more events of the thread.
    Unsubscribed,
}

/// Handles `thread/unsubscribe`: the client receives no more events of a thread. The thread stays loaded.
pub async fn unsubscribe(
    call: MethodCall<ThreadUnsubscribeResponse>,
    params: ThreadUnsubscribeParams,
) -> Result<(), RpcError> {
    let id = parse_id(&params.thread_id)?;
    let status = match call.server.find_loaded(&id) {
        None => ThreadUnsubscribeStatus::NotLoaded,
        Some(loaded) if !loaded.is_subscribed(&call.connection) => ThreadUnsubscribeStatus::NotSubscribed,
        Some(loaded) => {
            call.server.unfollow(&loaded, &call.connection).await;
            ThreadUnsubscribeStatus::Unsubscribed
        }
    };
    call.answer(&ThreadUnsubscribeResponse { status }).await;
    Ok(())
}

/// The parameters of `thread/delete`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadDeleteParams {
    pub thread_id: String,
}

crate::types::nothing! {
    ThreadDeleteResponse: "The answer to `thread/delete`.";
    ThreadSettingsUpdateResponse: "The answer to `thread/settings/update`.";
    ThreadInjectItemsResponse: "The answer to `thread/inject_items`.";
    ThreadShellCommandResponse: "The answer to `thread/shellCommand`.";
}

/// Handles `thread/delete`: deletes a thread and everything that is stored for it alone. A loaded thread is shut down
/// first.
pub async fn delete(call: MethodCall<ThreadDeleteResponse>, params: ThreadDeleteParams) -> Result<(), RpcError> {
    let server = &call.server;
    let id = parse_id(&params.thread_id)?;
    let home = server.ground.home.clone();
    let loaded = server.remove(&id);
    if let Some(loaded) = &loaded {
        loaded.shut_down().await;
    }
    let path = find::anywhere(&home, &id);
    if path.is_none() && loaded.is_none() {
        return Err(RpcError::invalid(format!("no rollout found for thread id {id}")));
    }
    if let Some(path) = path {
        let doomed = id.clone();
        let deleted = Task::blocking("deleting a session", move || {
            let beside = |id: &str| -> Vec<PathBuf> {
                let outputs = Outputs::of(&home, id).folder().to_owned();
                vec![outputs, EditLog::of(RealDisk::shared(), &home, id).path().to_owned()]
            };
            DeletePlan::new(&home, &[(doomed, path)], &beside).and_then(DeletePlan::carry_out)
        });
        deleted.await.map_err(|error| RpcError::internal(error.to_string()))?.map_err(|error| match error {
            DeleteError::InUse { .. } => RpcError::invalid(error.to_string()),
            other => RpcError::internal(other.to_string()),
        })?;
    }
    call.answer(&ThreadDeleteResponse {}).await;
    server.notify_all_newest(&NewestNotification::ThreadDeleted { thread_id: id }).await;
    Ok(())
}

/// The parameters of `thread/settings/update`. Settings that are absent stay as they are.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadSettingsUpdateParams {
    pub thread_id: String,
    /// The working directory.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// When commands and patches need approval.
    #[serde(default)]
    pub approval_policy: Option<AskForApproval>,
    /// What commands may touch.
    #[serde(default)]
    pub sandbox_policy: Option<SandboxPolicy>,
    /// The id of a permission profile, instead of `sandboxPolicy`.
    #[serde(default)]
    pub permissions: Option<Value>,
    /// The model's name in requests.
    #[serde(default)]
    pub model: Option<String>,
    /// The reasoning effort of the model.
    #[serde(default)]
    pub effort: Option<ReasoningEffort>,
    /// How reasoning is summarised.
    #[serde(default)]
    pub summary: Option<ReasoningSummary>,
    /// The tone of the model's answers.
    #[serde(default)]
    pub personality: Option<Personality>,
    /// The collaboration mode, with its settings.
    #[serde(default)]
    pub collaboration_mode: Option<CollaborationMode>,
}

/// Handles `thread/settings/update`: changes settings for later turns.
pub async fn update_settings(
    call: MethodCall<ThreadSettingsUpdateResponse>,
    params: ThreadSettingsUpdateParams,
) -> Result<(), RpcError> {
    let loaded = call.server.loaded(&params.thread_id)?;
    let sandbox_policy = params.sandbox_policy.map(TryInto::try_into).transpose();
    let sandbox_policy =
        sandbox_policy.map_err(|error| RpcError::invalid(format!("invalid sandbox policy: {error}")))?;
    let change = SettingsChange {
        cwd: params.cwd,
        approval_policy: params.approval_policy,
        sandbox_policy: with_profile(sandbox_policy, params.permissions)?,
        model: params.model,
        effort: params.effort.map(Some),
        summary: params.summary,
        collaboration_mode: params.collaboration_mode,
        personality: params.personality,
    };
    call.answer(&ThreadSettingsUpdateResponse {}).await;
    loaded.change_settings(change).await;
    Ok(())
}

/// The parameters of `thread/inject_items`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadInjectItemsParams {
    pub thread_id: String,
    /// The items, as requests to models have them.
    pub items: Vec<Value>,
}

/// Handles `thread/inject_items`: adds items to the history that the model sees. During a turn, they wait for its end.
pub async fn inject_items(
    call: MethodCall<ThreadInjectItemsResponse>,
    params: ThreadInjectItemsParams,
) -> Result<(), RpcError> {
    let loaded = call.server.loaded(&params.thread_id)?;
    let items = params.items.into_iter().enumerate().map(|(n, item)| {
        serde_json::from_value::<Item>(item).map_err(|error| RpcError::invalid(format!("items[{n}]: {error}")))
    });
    let items = items.collect::<Result<Vec<_>, _>>()?;
    loaded.opened().await;
    loaded.submit(identity::new_turn_id(), Operation::InjectItems { items }).await;
    call.answer(&ThreadInjectItemsResponse {}).await;
    Ok(())
}

/// The parameters of `thread/shellCommand`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadShellCommandParams {
    pub thread_id: String,
    /// The command line for the user's shell.
    pub command: String,
}

/// Handles `thread/shellCommand`: runs a command of the user, without a sandbox.
pub async fn shell_command(
    call: MethodCall<ThreadShellCommandResponse>,
    params: ThreadShellCommandParams,
) -> Result<(), RpcError> {
    let loaded = call.server.loaded(&params.thread_id)?;
    let command = params.command.trim().to_owned();
    if command.is_empty() {
        return Err(RpcError::invalid("command must not be empty"));
    }
    loaded.opened().await;
    call.answer(&ThreadShellCommandResponse {}).await;
    loaded.submit(identity::new_turn_id(), Operation::RunUserShellCommand { command }).await;
    Ok(())
}
