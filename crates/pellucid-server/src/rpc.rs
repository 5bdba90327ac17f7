//! JSON-RPC as the app-server's clients speak it: version 2.0 without the `jsonrpc` member.
//!
//! Only frames and errors are here; what methods mean is in [`crate::methods`].

use bytes::Bytes;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// What connects an answer with its question.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    /// A number.
    Integer(i64),
    /// A text.
    String(String),
}

/// A message of a client.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// It wants an answer.
    Request {
        /// Which.
        id: RequestId,
        /// What it wants.
        method: String,
        /// With what; absent is as good as `null`.
        params: Option<&'a RawValue>,
    },
    /// It wants none.
    Notification {
        /// What it tells.
        method: String,
    },
    /// It answers a question of ours.
    Response {
        /// Which.
        id: RequestId,
        /// What it answers.
        outcome: Result<Value, RpcError>,
    },
}

/// A message that is none.
#[derive(Debug, thiserror::Error)]
#[error("not a JSON-RPC message: {0}")]
pub struct BadMessage(String);

/// What any message may have.
#[derive(Deserialize)]
struct Members<'a> {
    id: Option<RequestId>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<RpcError>,
}

impl<'a> Incoming<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// If it is no JSON, or neither question nor answer.
    pub fn parse(text: &'a [u8]) -> Result<Self, BadMessage> {
        let bad = |error: serde_json::Error| BadMessage(error.to_string());
        let members: Members<'a> = serde_json::from_slice(text).map_err(bad)?;
        match members {
            Members { id: Some(id), method: Some(method), params, .. } => Ok(Self::Request { id, method, params }),
            Members { id: None, method: Some(method), .. } => Ok(Self::Notification { method }),
            Members { id: Some(id), error: Some(error), .. } => Ok(Self::Response { id, outcome: Err(error) }),
            Members { id: Some(id), result: Some(result), .. } => {
                let result = serde_json::from_str(result.get()).map_err(bad)?;
                Ok(Self::Response { id, outcome: Ok(result) })
            }
            _ => Err(BadMessage("it has neither a method nor an id with a result or an error".to_owned())),
        }
    }
}

/// Why a request is not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// Which kind.
    pub code: i64,
    /// In words.
    pub message: String,
    /// For programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// Something is wrong with the request.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self { code: -32600, message: message.into(), data: None }
    }

    /// Something is wrong here.
    pub fn internal(message: impl Into<String>) -> Self {
        Self { code: -32603, message: message.into(), data: None }
    }

    /// The same with something for programs.
    pub fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }
}

/// An answer as bytes.
pub fn response(id: &RequestId, result: &impl Serialize) -> Bytes {
    #[derive(Serialize)]
    struct Response<'a, T> {
        id: &'a RequestId,
        result: &'a T,
    }
    encode(&Response { id, result })
}

/// A refusal as bytes; without an id when it is not known which request is meant.
pub fn refusal(id: Option<&RequestId>, error: &RpcError) -> Bytes {
    #[derive(Serialize)]
    struct Refusal<'a> {
        id: Option<&'a RequestId>,
        error: &'a RpcError,
    }
    encode(&Refusal { id, error })
}

/// Any message as bytes.
pub fn encode(message: &impl Serialize) -> Bytes {
    // Our messages are plain data with text keys, which always can be written.
    serde_json::to_vec(message).unwrap_or_default().into()
}

/// A request of ours as bytes.
pub fn request(id: &RequestId, request: &impl Serialize) -> Bytes {
    #[derive(Serialize)]
    struct Request<'a, T> {
        id: &'a RequestId,
        #[serde(flatten)]
        request: &'a T,
    }
    encode(&Request { id, request })
}
