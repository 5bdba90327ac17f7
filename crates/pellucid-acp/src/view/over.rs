//! How a turn ended, and what the client is answered.

use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::ErrorCode;
use agent_client_protocol::v1::schema::Meta;
use agent_client_protocol::v1::schema::PromptResponse;
use agent_client_protocol::v1::schema::StopReason;
use agent_client_protocol::v1::schema::Usage;
use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::failure::AnswerCut;
use pellucid_protocol::failure::Failure;
use pellucid_protocol::failure::FailureCode;
use serde_json::json;

use crate::view::META;

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFault {
    text: String,
    code: FailureCode,
    info: Option<ErrorInfo>,
    cut: Option<AnswerCut>,
}

impl TurnFault {
    /// The fault of an event.
    pub fn new(message: &str, info: Option<ErrorInfo>, failure: &Failure) -> Self {
        let text = failure.plain.clone().unwrap_or_else(|| message.to_owned());
        Self { text, code: failure.code, info, cut: failure.cut }
    }

    /// A fault without further facts.
    pub fn other(text: &str) -> Self {
        Self { text: text.to_owned(), code: FailureCode::Other, info: None, cut: None }
    }

    /// The reason to stop, if the protocol has one for this fault.
    fn stop_reason(&self) -> Option<StopReason> {
        match (self.cut, self.code) {
            (Some(AnswerCut::OutputLimit), _) => Some(StopReason::MaxTokens),
            (Some(AnswerCut::ContentFilter), _) => Some(StopReason::Refusal),
            (None, FailureCode::Budget) => Some(StopReason::MaxTurnRequests),
            (None, _) => None,
        }
    }

    /// The error for the client.
    pub fn error(&self) -> Error {
        let is_login = self.code == FailureCode::Auth || self.info == Some(ErrorInfo::Unauthorized);
        let code = if is_login { ErrorCode::AuthRequired } else { ErrorCode::InternalError };
        Error::new(code.into(), self.text.clone()).data(json!({ "code": self.code.word() }))
    }
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// The turn that is over.
    pub turn: String,
    /// Whether the turn was interrupted.
    pub is_cancelled: bool,
    /// Why the turn failed, if it did.
    pub fault: Option<TurnFault>,
    /// The tokens of the session.
    pub usage: Option<Usage>,
    /// The requests that the turn sent.
    pub meta: Option<Meta>,
}

impl TurnEnd {
    /// A turn that came to its end.
    pub fn completed(turn: &str, fault: Option<TurnFault>) -> Self {
        Self { turn: turn.to_owned(), is_cancelled: false, fault, usage: None, meta: None }
    }

    /// A turn that was interrupted.
    pub fn cancelled(turn: &str, _fault: Option<TurnFault>) -> Self {
        Self { turn: turn.to_owned(), is_cancelled: true, fault: None, usage: None, meta: None }
    }

    /// The answer to the prompt that began the turn. A cancelled prompt ends as such, whatever came between.
    ///
    /// # Errors
    /// The turn failed for a reason that the protocol has no word for.
    pub fn answer(mut self, was_cancelled: bool) -> Result<PromptResponse, Error> {
        let reason = match &self.fault {
            _ if self.is_cancelled || was_cancelled => StopReason::Cancelled,
            None => StopReason::EndTurn,
            Some(fault) => match fault.stop_reason() {
                Some(reason) => {
                    let why = json!({ "code": fault.code.word(), "message": fault.text });
                    if let Some(own) = self.meta.as_mut().and_then(|meta| meta.get_mut(META)) {
                        own["why"] = why;
                    }
                    reason
                }
                None => {
                    let mut error = fault.error();
                    let own = self.meta.as_ref().and_then(|meta| meta.get(META));
                    if let (Some(data), Some(own)) = (&mut error.data, own) {
                        data[META] = own.clone();
                    }
                    return Err(error);
                }
            },
        };
        Ok(PromptResponse::new(reason).usage(self.usage).meta(self.meta))
    }
}
