//! Notifications about turns.

use pellucid_protocol::event::StepStatus;
use pellucid_protocol::item::Item;
use pellucid_protocol::word_enum;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::types::thread::Turn;
use crate::types::thread::TurnError;

/// A turn was started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnStartedNotification {
    pub thread_id: String,
    /// The turn; `items` is empty.
    pub turn: Turn,
}

/// A turn is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnCompletedNotification {
    pub thread_id: String,
    /// The turn with its final status; `items` is empty.
    pub turn: Turn,
}

/// A turn failed, or a request of it will be retried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ErrorNotification {
    pub error: TurnError,
    /// Whether the request is retried; if not, the turn is over.
    pub will_retry: bool,
    pub thread_id: String,
    pub turn_id: String,
}

/// The diff of the turn's patches changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffUpdatedNotification {
    pub thread_id: String,
    pub turn_id: String,
    /// The unified diff of all patches of the turn so far.
    pub diff: String,
}

/// The model updated its plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnPlanUpdatedNotification {
    pub thread_id: String,
    pub turn_id: String,
    /// Why the plan changed.
    pub explanation: Option<String>,
    pub plan: Vec<TurnPlanStep>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnPlanStep {
    pub step: String,
    /// The progress of the step.
    pub status: TurnPlanStepStatus,
}

word_enum! {
    /// The progress of a step of a plan.
    TurnPlanStepStatus {
        Pending = "pending",
        InProgress = "inProgress",
        Completed = "completed",
    }
}

impl From<StepStatus> for TurnPlanStepStatus {
    fn from(status: StepStatus) -> Self {
        match status {
            StepStatus::Pending => Self::Pending,
            StepStatus::InProgress => Self::InProgress,
            StepStatus::Completed => Self::Completed,
        }
    }
}

/// The provider answers with another model than the one requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelReroutedNotification {
    pub thread_id: String,
    pub turn_id: String,
    /// The model that was requested.
    pub from_model: String,
    /// The model that answers.
    pub to_model: String,
    pub reason: ModelRerouteReason,
}

word_enum! {
    /// Why another model answers.
    ModelRerouteReason {
        /// The provider's safety checks found a risk.
        HighRiskCyberActivity = "highRiskCyberActivity",
    }
}

/// An item of the transcript was recorded, as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RawResponseItemCompletedNotification {
    pub thread_id: String,
    pub turn_id: String,
    pub item: Item,
}
