//! What a face asks of a session.

use serde::Deserialize;
use serde::Serialize;

use crate::id::TurnId;
use crate::input::UserInput;

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
    /// Summarise the history.
    Compact,
    /// Break the running turn off.
    Interrupt,
    /// End the session.
    Shutdown,
}
