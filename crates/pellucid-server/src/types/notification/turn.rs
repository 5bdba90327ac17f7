//! What clients are told of turns.

use pellucid_protocol::event::StepStatus;
use pellucid_protocol::item::Item;
use pellucid_protocol::word_enum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::types::thread::Turn;
use crate::types::thread::TurnError;

/// A turn began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartedNotification {
    /// In which thread.
    pub thread_id: String,
    /// It, without items.
    pub turn: Turn,
}

/// A turn is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnCompletedNotification {
    /// In which thread.
    pub thread_id: String,
    /// It, without items.
    pub turn: Turn,
}

/// Something failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorNotification {
    /// What.
    pub error: TurnError,
    /// Whether it is tried again; else the turn is over.
    pub will_retry: bool,
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
}

/// What the turn's patches changed so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffUpdatedNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// All of it.
    pub diff: String,
}

/// A new state of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnPlanUpdatedNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// Why it changed.
    pub explanation: Option<String>,
    /// Its steps.
    pub plan: Vec<TurnPlanStep>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnPlanStep {
    /// What to do.
    pub step: String,
    /// How far it is.
    pub status: TurnPlanStepStatus,
}

word_enum! {
    /// How far a step is.
    TurnPlanStepStatus {
        /// Not begun.
        Pending = "pending",
        /// Being done.
        InProgress = "inProgress",
        /// Done.
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

/// Another model answers than was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelReroutedNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// The one that was asked.
    pub from_model: String,
    /// The one that answers.
    pub to_model: String,
    /// Why.
    pub reason: ModelRerouteReason,
}

word_enum! {
    /// Why another model answers.
    ModelRerouteReason {
        /// The server's safety checks.
        HighRiskCyberActivity = "highRiskCyberActivity",
    }
}

/// An item of the transcript was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RawResponseItemCompletedNotification {
    /// In which thread.
    pub thread_id: String,
    /// In which turn.
    pub turn_id: String,
    /// The item.
    pub item: Item,
}
