//! The operations that clients submit to a session.

use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::approval::ReviewDecision;
use crate::dynamic_tool::DynamicToolResponse;
use crate::elicitation::ElicitationAction;
use crate::elicitation::ElicitationId;
use crate::id::TurnId;
use crate::input::UserInput;
use crate::item::Item;
use crate::question::UserAnswers;
use crate::review::ReviewRequest;
use crate::settings::ApprovalPolicy;
use crate::settings::CollaborationMode;
use crate::settings::Personality;
use crate::settings::ReasoningEffort;
use crate::settings::ReasoningSummary;
use crate::settings::SandboxPolicy;

/// An operation with the id that its events carry.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// The id of the submission; a turn that it starts has the same.
    pub id: TurnId,
    /// The operation to run.
    pub operation: Operation,
}

/// The operations of a session.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Operation {
    /// Start a turn with this input.
    UserInput {
        items: Vec<UserInput>,
        /// A JSON schema for the final answer of the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        final_output_json_schema: Option<serde_json::Value>,
    },
    /// Change settings for this and later turns.
    OverrideTurnContext(SettingsChange),
    /// Remove the last turns of the user.
    ThreadRollback { num_turns: usize },
    /// Answer whether a command may run.
    ExecApproval {
        /// The id of the question: the call's, unless the question has a separate id.
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<TurnId>,
        decision: ReviewDecision,
    },
    /// Answer whether a patch may be applied.
    PatchApproval {
        /// The id of the tool call.
        id: String,
        decision: ReviewDecision,
    },
    /// Answer the model's questions.
    #[serde(alias = "request_user_input_response")]
    UserInputAnswer {
        /// The turn in which the model asked.
        id: TurnId,
        response: UserAnswers,
    },
    /// Answer a call of a client's tool.
    DynamicToolResponse {
        /// The id of the tool call.
        id: String,
        response: DynamicToolResponse,
    },
    /// Answer the question of an MCP server.
    ResolveElicitation {
        /// The server that asked, by its name in the configuration.
        server_name: String,
        /// The id of the question.
        request_id: ElicitationId,
        decision: ElicitationAction,
        /// The values that the server wants; only if the person accepts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<serde_json::Value>,
    },
    /// Review changes of the work tree.
    Review {
        /// What is reviewed.
        review_request: ReviewRequest,
    },
    /// Summarise the history now.
    Compact,
    /// Run a command of the user, without a sandbox.
    RunUserShellCommand {
        /// The command line for the user's shell.
        command: String,
    },
    /// End the background commands that turns left running.
    CleanBackgroundTerminals,
    /// End one background command.
    TerminateBackgroundTerminal {
        /// The number of its terminal.
        process_id: u32,
    },
    /// Add items to the history. During a turn, they wait for its end.
    InjectItems {
        /// The items, as requests have them.
        items: Vec<Item>,
    },
    /// Restore the work tree to the last snapshot.
    Undo,
    /// Interrupt the running turn.
    Interrupt,
    /// End the session and its running turn.
    Shutdown,
}

/// Settings to change; absent ones stay as they are.
#[expect(missing_docs, reason = "the names are those of the format and say what they hold")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// When commands and patches need approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    /// What commands may touch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_policy: Option<SandboxPolicy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The reasoning effort; `null` returns to the model's default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub effort: Option<Option<ReasoningEffort>>,
    /// How reasoning is summarised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ReasoningSummary>,
    /// The collaboration mode, which sets model and effort too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collaboration_mode: Option<CollaborationMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality: Option<Personality>,
}

/// Distinguishes `null` from a missing key.
fn given<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}
