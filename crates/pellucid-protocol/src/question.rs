//! Questions of the model for the user, and the answers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Serialize;

use crate::id::TurnId;

/// The model asks the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestUserInput {
    /// The id of the tool call that asks.
    pub call_id: String,
    /// The turn that waits for the answers.
    #[serde(default = "no_turn")]
    pub turn_id: TurnId,
    /// The questions, in the order in which they are asked.
    pub questions: Vec<UserQuestion>,
}

fn no_turn() -> TurnId {
    TurnId::new("")
}

/// One question for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserQuestion {
    /// The id by which the answer names its question.
    pub id: String,
    /// A short heading for the question.
    pub header: String,
    /// The text of the question.
    pub question: String,
    /// Whether the user may give an answer that is not among `options`.
    #[serde(rename = "isOther", default)]
    pub is_other: bool,
    /// Whether the client must hide the answer while it is typed.
    #[serde(rename = "isSecret", default)]
    pub is_secret: bool,
    /// The answers to choose from; absent if the answer is free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<UserChoice>>,
}

/// An answer to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserChoice {
    /// The short text of the choice.
    pub label: String,
    /// What follows if the user chooses it.
    pub description: String,
}

/// The user's answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserAnswers {
    /// The answers, by the ids of the questions.
    pub answers: BTreeMap<String, UserAnswer>,
}

/// The user's answer to one question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserAnswer {
    /// The labels that were chosen, and any free text.
    pub answers: Vec<String>,
}
