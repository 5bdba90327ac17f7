//! JSON-RPC as the app-server's clients speak it: version 2.0 without the `jsonrpc` member.
//!
//! Only frames and errors are here; what methods mean is in [`crate::methods`].

use bytes::Bytes;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The id that connects a response with its request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    Integer(i64),
    String(String),
}

/// A message of a client.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// The client expects a response.
    Request {
        id: RequestId,
        /// The method to call.
        method: String,
        /// The parameters; absent means the same as `null`.
        params: Option<&'a RawValue>,
    },
    /// The client expects no response.
    Notification {
        /// The method of the notification.
        method: String,
    },
    /// The client answers a request of the server.
    Response {
        id: RequestId,
        /// The result, or the client's error.
        outcome: Result<Value, RpcError>,
    },
}

/// A message that is not JSON-RPC.
#[derive(Debug, thiserror::Error)]
#[error("not a JSON-RPC message: {0}")]
pub struct BadMessage(String);

/// The members that a message may have.
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
    /// If the message is not JSON, or neither a request, a notification nor a response.
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

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// The JSON-RPC error code.
    pub code: i64,
    pub message: String,
    /// Details for programs, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// An error in the request.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self { code: -32600, message: message.into(), data: None }
    }

    /// An error in the server.
    pub fn internal(message: impl Into<String>) -> Self {
        Self { code: -32603, message: message.into(), data: None }
    }

    /// Adds details for programs.
    pub fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }
}

/// A response with a result, encoded.
pub fn response(id: &RequestId, result: &impl Serialize) -> Bytes {
    #[derive(Serialize)]
    struct Response<'a, T> {
        id: &'a RequestId,
        result: &'a T,
    }
    encode(&Response { id, result })
}

/// A response with an error, encoded; without an id if the request's id is unknown.
pub fn refusal(id: Option<&RequestId>, error: &RpcError) -> Bytes {
    #[derive(Serialize)]
    struct Refusal<'a> {
        id: Option<&'a RequestId>,
        error: &'a RpcError,
    }
    encode(&Refusal { id, error })
}

/// Any message, encoded.
pub fn encode(message: &impl Serialize) -> Bytes {
    // The messages are plain data with text keys, which can always be written.
    serde_json::to_vec(message).unwrap_or_default().into()
}

/// A request of the server, encoded.
pub fn request(id: &RequestId, request: &impl Serialize) -> Bytes {
    #[derive(Serialize)]
    struct Request<'a, T> {
        id: &'a RequestId,
        #[serde(flatten)]
        request: &'a T,
    }
    encode(&Request { id, request })
}
