//! What a face asks of a session.

use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::approval::ReviewDecision;
use crate::dynamic_tool::DynamicToolResponse;
use crate::id::TurnId;
use crate::input::UserInput;
use crate::question::UserAnswers;
use crate::review::ReviewRequest;
use crate::settings::ApprovalPolicy;
use crate::settings::CollaborationMode;
use crate::settings::Personality;
use crate::settings::ReasoningEffort;
use crate::settings::ReasoningSummary;
use crate::settings::SandboxPolicy;

/// An operation with the id under which its events come back.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// The id; a turn started by it has the same.
    pub id: TurnId,
    /// What to do.
    pub operation: Operation,
}

/// What a session can be asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Operation {
    /// Start a turn with this input.
    UserInput {
        /// The input.
        items: Vec<UserInput>,
        /// A JSON schema for the final answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        final_output_json_schema: Option<serde_json::Value>,
    },
    /// Change settings for the turns to come.
    OverrideTurnContext(SettingsChange),
    /// Take the last turns of the person away.
    ThreadRollback {
        /// How many.
        num_turns: usize,
    },
    /// Answer whether a command may run.
    ExecApproval {
        /// Which question: the call, unless the question had an id of its own.
        id: String,
        /// In which turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<TurnId>,
        /// The answer.
        decision: ReviewDecision,
    },
    /// Answer whether a patch may be applied.
    PatchApproval {
        /// The call.
        id: String,
        /// The answer.
        decision: ReviewDecision,
    },
    /// Answer what the model asked.
    #[serde(alias = "request_user_input_response")]
    UserInputAnswer {
        /// The turn in which it asked.
        id: TurnId,
        /// The answers.
        response: UserAnswers,
    },
    /// Answer a call of a tool that this program runs.
    DynamicToolResponse {
        /// The call.
        id: String,
        /// The answer.
        response: DynamicToolResponse,
    },
    /// Have changes reviewed.
    Review {
        /// Which.
        review_request: ReviewRequest,
    },
    /// Summarise the history.
    Compact,
    /// Run a command of the person, in no sandbox.
    RunUserShellCommand {
        /// The command, for their shell.
        command: String,
    },
    /// End the terminals that turns left running.
    CleanBackgroundTerminals,
    /// Bring the work tree back to the last snapshot.
    Undo,
    /// Break the running turn off.
    Interrupt,
    /// End the session.
    Shutdown,
}

/// Settings that change; what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsChange {
    /// The working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// When a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    /// What commands may touch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_policy: Option<SandboxPolicy>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long it may think; a `null` goes back to the model's own.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub effort: Option<Option<ReasoningEffort>>,
    /// How its thoughts are summarised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ReasoningSummary>,
    /// The way of working together, with model and effort of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collaboration_mode: Option<CollaborationMode>,
    /// The tone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality: Option<Personality>,
}

/// Tells a `null` from a missing key.
fn given<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}
