//! Turns: start, steer, interrupt, review.

use std::path::PathBuf;

use pellucid_agent::identity;
use pellucid_engine::review;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::review::ReviewRequest;
use pellucid_protocol::review::ReviewTarget;
use pellucid_protocol::settings;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::call::MethodCall;
use crate::loaded::Busy;
use crate::loaded::LoadedSession;
use crate::methods::thread;
use crate::newest::settings::policy_of_profile;
use crate::rpc::RpcError;
use crate::types::input::UserInput;
use crate::types::item::ThreadItem;
use crate::types::notification::TurnStartedNotification;
use crate::types::settings::AskForApproval;
use crate::types::settings::CollaborationMode;
use crate::types::settings::Personality;
use crate::types::settings::ReasoningEffort;
use crate::types::settings::ReasoningSummary;
use crate::types::settings::SandboxPolicy;
use crate::types::thread::Turn;

/// The parameters of `turn/start`. Settings apply to this turn and to all later ones, except `outputSchema`.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnStartParams {
    pub thread_id: String,
    /// The user's input.
    pub input: Vec<UserInput>,
    /// The working directory.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// When commands and patches need approval.
    #[serde(default)]
    pub approval_policy: Option<AskForApproval>,
    /// What commands may touch.
    #[serde(default)]
    pub sandbox_policy: Option<SandboxPolicy>,
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
    /// A JSON schema for the final answer of this turn.
    #[serde(default, deserialize_with = "pellucid_protocol::number::optional_as_doubles")]
    pub output_schema: Option<Value>,
    /// The collaboration mode, with its settings.
    #[serde(default)]
    pub collaboration_mode: Option<CollaborationMode>,
    /// The id of a permission profile, instead of `sandboxPolicy`. Of clients of today.
    #[serde(default)]
    #[cfg_attr(test, schemars(skip))]
    pub permissions: Option<Value>,
}

impl TurnStartParams {
    /// The first field that needs the experimental capability.
    pub fn experimental(&self) -> Option<&'static str> {
        self.collaboration_mode.is_some().then_some("turn/start.collaborationMode")
    }
}

/// The result of `turn/start`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnStartResponse {
    /// The turn; `items` is empty.
    pub turn: Turn,
}

/// Handles `turn/start`. While a turn runs, the input joins that turn.
pub async fn start(call: MethodCall<TurnStartResponse>, params: TurnStartParams) -> Result<(), RpcError> {
    let loaded = call.server.loaded(&params.thread_id)?;
    let sandbox_policy = params.sandbox_policy.map(TryInto::try_into).transpose();
    let mut sandbox_policy =
        sandbox_policy.map_err(|error| RpcError::invalid(format!("invalid sandbox policy: {error}")))?;
    if call.connection.is_newest() {
        sandbox_policy = with_profile(sandbox_policy, params.permissions)?;
    }
    let change = SettingsChange {
        cwd: params.cwd,
        approval_policy: params.approval_policy,
        sandbox_policy,
        model: params.model,
        effort: params.effort.map(Some),
        summary: params.summary,
        collaboration_mode: params.collaboration_mode,
        personality: params.personality,
    };
    loaded.change_settings(change).await;
    loaded.opened().await;
    if call.connection.is_newest()
        && let Some(active) = loaded.announced_turn()
    {
        return join(&call, &loaded, &active, params.input).await;
    }
    let id = identity::new_turn_id();
    let turn = Turn::in_progress(id.as_str());
    call.answer(&TurnStartResponse { turn: turn.clone() }).await;
    let started = TurnStartedNotification { thread_id: loaded.about.id.clone(), turn }.into();
    let items: Vec<input::UserInput> = params.input.into_iter().map(Into::into).collect();
    // An empty input runs no turn, so no `turn/completed` follows; the Codex CLI does the same.
    if items.is_empty() {
        loaded.notify_classic(&started).await;
    } else {
        loaded.notify(&started).await;
        loaded.expect_turn(&id);
        loaded.submit(id, Operation::UserInput { items, final_output_json_schema: params.output_schema }).await;
    }
    Ok(())
}

/// Adds input to the running turn, whose id the client receives.
async fn join(
    call: &MethodCall<TurnStartResponse>,
    loaded: &LoadedSession,
    active: &str,
    input: Vec<UserInput>,
) -> Result<(), RpcError> {
    call.answer(&TurnStartResponse { turn: Turn::in_progress(active) }).await;
    let items: Vec<input::UserInput> = input.into_iter().map(Into::into).collect();
    if !items.is_empty() {
        let operation = Operation::UserInput { items, final_output_json_schema: None };
        loaded.submit(identity::new_turn_id(), operation).await;
    }
    Ok(())
}

/// The sandbox policy that a client of today gives, as such or as a permission profile.
pub(crate) fn with_profile(
    policy: Option<settings::SandboxPolicy>,
    permissions: Option<Value>,
) -> Result<Option<settings::SandboxPolicy>, RpcError> {
    match permissions {
        None | Some(Value::Null) => Ok(policy),
        Some(_) if policy.is_some() => Err(RpcError::invalid("`permissions` cannot be combined with `sandboxPolicy`")),
        Some(Value::String(id)) => policy_of_profile(&id).map(Some),
        Some(_) => Err(RpcError::invalid("`permissions` must be the id of a permission profile")),
    }
}

/// The parameters of `turn/steer`.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnSteerParams {
    pub thread_id: String,
    /// The user's input.
    pub input: Vec<UserInput>,
    /// The turn that should receive the input; the request is refused if another one runs.
    pub expected_turn_id: String,
}

/// The result of `turn/steer`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnSteerResponse {
    /// The turn that received the input.
    pub turn_id: String,
}

/// Handles `turn/steer`: adds input to the running turn.
pub async fn steer(call: MethodCall<TurnSteerResponse>, params: TurnSteerParams) -> Result<(), RpcError> {
    let loaded = call.server.loaded(&params.thread_id)?;
    if params.expected_turn_id.is_empty() {
        return Err(RpcError::invalid("expectedTurnId must not be empty"));
    }
    if params.input.is_empty() {
        return Err(RpcError::invalid("input must not be empty"));
    }
    let Some(active) = loaded.active_turn() else {
        return Err(RpcError::invalid("no active turn to steer"));
    };
    let expected = &params.expected_turn_id;
    if active.as_str() != expected {
        return Err(RpcError::invalid(format!("expected active turn id `{expected}` but found `{active}`")));
    }
    let items = params.input.into_iter().map(Into::into).collect();
    loaded.submit(identity::new_turn_id(), Operation::UserInput { items, final_output_json_schema: None }).await;
    call.answer(&TurnSteerResponse { turn_id: active.to_string() }).await;
    Ok(())
}

/// The parameters of `turn/interrupt`.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnInterruptParams {
    pub thread_id: String,
    /// The turn to interrupt. It is not compared: the running turn is interrupted.
    pub turn_id: String,
}

crate::types::nothing! {
    TurnInterruptResponse: "The answer to `turn/interrupt`.";
}

/// Interrupts the running turn. The response follows when the turn is over.
pub async fn interrupt(call: MethodCall<TurnInterruptResponse>, params: TurnInterruptParams) -> Result<(), RpcError> {
    let loaded = call.server.loaded(&params.thread_id)?;
    let busy = |Busy| RpcError::invalid("no turn is running, and many interrupts wait for one");
    loaded.interrupt_for(call).await.map_err(busy)
}

/// The parameters of `review/start`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReviewStartParams {
    pub thread_id: String,
    /// The changes to review.
    pub target: ReviewTarget,
    /// Where the review runs; by default in the thread itself.
    #[serde(default)]
    pub delivery: Option<ReviewDelivery>,
}

/// Where a review runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ReviewDelivery {
    /// In the thread itself.
    Inline,
    /// In a copy of the thread.
    Detached,
}

/// The result of `review/start`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReviewStartResponse {
    /// The turn of the review; its item describes what is reviewed.
    pub turn: Turn,
    /// The thread in which the review runs.
    pub review_thread_id: String,
}

/// Handles `review/start`: reviews changes in the thread or in a copy of it.
pub async fn review(call: MethodCall<ReviewStartResponse>, params: ReviewStartParams) -> Result<(), RpcError> {
    let parent = call.server.loaded(&params.thread_id)?;
    let target = checked(params.target)?;
    let loaded = match params.delivery {
        None | Some(ReviewDelivery::Inline) => parent,
        Some(ReviewDelivery::Detached) => thread::fork_for_review(&call, &parent).await?,
    };
    let id = identity::new_turn_id();
    let turn = review_turn(&id, &target);
    let review_thread_id = loaded.about.id.clone();
    call.answer(&ReviewStartResponse { turn: turn.clone(), review_thread_id: review_thread_id.clone() }).await;
    loaded.notify(&TurnStartedNotification { thread_id: review_thread_id, turn }.into()).await;
    loaded.expect_turn(&id);
    let review_request = ReviewRequest { target, user_facing_hint: None };
    loaded.submit(id, Operation::Review { review_request }).await;
    Ok(())
}

/// The target of a review, without surrounding space.
fn checked(target: ReviewTarget) -> Result<ReviewTarget, RpcError> {
    let given = |text: &str, name: &str| {
        let text = text.trim();
        if text.is_empty() { Err(RpcError::invalid(format!("{name} must not be empty"))) } else { Ok(text.to_owned()) }
    };
    Ok(match target {
        ReviewTarget::UncommittedChanges => ReviewTarget::UncommittedChanges,
        ReviewTarget::BaseBranch { branch } => ReviewTarget::BaseBranch { branch: given(&branch, "branch")? },
        ReviewTarget::Commit { sha, title } => {
            let title = title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty());
            ReviewTarget::Commit { sha: given(&sha, "sha")?, title }
        }
        ReviewTarget::Custom { instructions } => {
            ReviewTarget::Custom { instructions: given(&instructions, "instructions")? }
        }
    })
}

fn review_turn(id: &TurnId, target: &ReviewTarget) -> Turn {
    let content = vec![UserInput::Text { text: review::hint(target), text_elements: Vec::new() }];
    let said = ThreadItem::UserMessage { id: id.to_string(), content };
    Turn { items: vec![said], ..Turn::in_progress(id.as_str()) }
}
