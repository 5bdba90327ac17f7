//! Why a turn failed, for programs: one word and one exit status for each kind.
//!
//! Not here: the kinds of errors of a response, which decide about retries ([`crate::reply`]).

use serde::Deserialize;
use serde::Serialize;

/// The kinds of failure that a program can act on. The words and the numbers are stable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// A failure that no other kind describes.
    #[default]
    Other,
    /// An API key is missing or was rejected.
    Auth,
    /// The account's quota or a limit of the plan is used up.
    Quota,
    /// The context does not fit the model's window.
    Overflow,
    /// A call needed approval, and no person could give it.
    Approval,
    /// The sandbox could not be set up, so a command was not run.
    Sandbox,
    /// A limit that the user has set is reached.
    Budget,
    /// The provider failed, or could not be reached.
    Provider,
}

impl FailureCode {
    /// Every code, in the order of the exit statuses.
    pub const ALL: [Self; 8] = [
        Self::Other,
        Self::Auth,
        Self::Quota,
        Self::Overflow,
        Self::Approval,
        Self::Sandbox,
        Self::Budget,
        Self::Provider,
    ];

    /// The word for the code in events.
    pub fn word(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::Overflow => "overflow",
            Self::Approval => "approval",
            Self::Sandbox => "sandbox",
            Self::Budget => "budget",
            Self::Provider => "provider",
        }
    }

    /// The exit status of a program that ends with this failure.
    pub fn status(self) -> u8 {
        match self {
            Self::Other => 1,
            Self::Auth => 10,
            Self::Quota => 11,
            Self::Overflow => 12,
            Self::Approval => 13,
            Self::Sandbox => 14,
            Self::Budget => 15,
            Self::Provider => 16,
        }
    }
}

/// What is known of a failure beyond its message, whose words other programs expect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure.
    pub code: FailureCode,
    /// The text for people in place of the message: the reason, and what to do about it.
    pub plain: Option<String>,
    /// What ended an answer before it was complete, if the provider said so.
    pub cut: Option<AnswerCut>,
}

/// What ended an answer before it was complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerCut {
    /// The answer reached the largest size that the model writes.
    OutputLimit,
    /// The provider's content filter.
    ContentFilter,
}

impl From<FailureCode> for Failure {
    fn from(code: FailureCode) -> Self {
        Self { code, plain: None, cut: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_notation_and_statuses_differ() {
        for code in FailureCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.word());
        }
        let statuses: Vec<u8> = FailureCode::ALL.map(FailureCode::status).to_vec();
        assert_eq!(statuses, [1, 10, 11, 12, 13, 14, 15, 16]);
    }
}
