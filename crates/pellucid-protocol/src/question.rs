//! Questions of the model to a person, and the answers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Serialize;

use crate::id::TurnId;

/// The model asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestUserInput {
    /// The call that asks.
    pub call_id: String,
    /// In which turn.
    #[serde(default = "no_turn")]
    pub turn_id: TurnId,
    /// What it asks.
    pub questions: Vec<UserQuestion>,
}

fn no_turn() -> TurnId {
    TurnId::new("")
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserQuestion {
    /// By what its answer is known.
    pub id: String,
    /// A word above it.
    pub header: String,
    /// The question itself.
    pub question: String,
    /// Whether a person may say something else.
    #[serde(rename = "isOther", default)]
    pub is_other: bool,
    /// Whether the answer must not be seen.
    #[serde(rename = "isSecret", default)]
    pub is_secret: bool,
    /// What may be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<UserChoice>>,
}

/// Something that may be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserChoice {
    /// In a word or two.
    pub label: String,
    /// What it means.
    pub description: String,
}

/// The answers, by the ids of the questions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserAnswers {
    /// By id.
    pub answers: BTreeMap<String, UserAnswer>,
}

/// The answer to a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserAnswer {
    /// What was chosen, and what was said besides.
    pub answers: Vec<String>,
}
