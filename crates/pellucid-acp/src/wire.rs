//! The lines of the protocol: JSON-RPC 2.0, a message to a line.
//!
//! The messages are the SDK's types. Its connection is not used: its queues are not bounded, and its errors quote what the
//! client sent.

use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::ErrorCode;
use agent_client_protocol::v1::schema::RequestId;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::json;

/// A line of the client.
#[derive(Debug, PartialEq)]
pub enum AcpLine {
    /// The client asks for something.
    Request {
        /// The id that the answer has to repeat.
        id: RequestId,
        /// What is asked for.
        method: String,
        /// The parameters, `null` if there are none.
        params: Value,
    },
    /// The client reports something.
    Notification {
        /// The name of what is reported.
        method: String,
        /// The parameters, `null` if there are none.
        params: Value,
    },
    /// The client answers.
    Response {
        /// The id of the request that is answered.
        id: RequestId,
        /// The result, or why there is none.
        outcome: Result<Value, Error>,
    },
    /// The line is no message. The error goes back to the client.
    Wrong {
        /// The id of the message, as far as there is one.
        id: RequestId,
        /// What is wrong.
        error: Error,
    },
    /// The line is an answer that cannot be read. No answer follows an answer.
    Ignored,
}

/// Reads a line.
pub fn parse(line: &[u8]) -> AcpLine {
    let wrong = |id, error| AcpLine::Wrong { id, error };
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(error) => {
            let text = format!("the line is not JSON: character {}", error.column());
            return wrong(RequestId::Null, refusal(ErrorCode::ParseError, text));
        }
    };
    let Value::Object(mut message) = message else {
        let text = "a message is one JSON object to a line; lists of messages are not supported";
        return wrong(RequestId::Null, refusal(ErrorCode::InvalidRequest, text));
    };
    let id = message.remove("id").map(serde_json::from_value::<RequestId>);
    let (Ok(known), has_id) = (id.clone_ok(), id.is_some()) else {
        let text = "`id` must be a number, a text or null";
        return wrong(RequestId::Null, refusal(ErrorCode::InvalidRequest, text));
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        let text = "`jsonrpc` must be \"2.0\"";
        return wrong(known, refusal(ErrorCode::InvalidRequest, text));
    }
    match message.remove("method") {
        Some(Value::String(method)) => {
            let params = message.remove("params").unwrap_or_default();
            if has_id {
                AcpLine::Request { id: known, method, params }
            } else {
                AcpLine::Notification { method, params }
            }
        }
        Some(_) => wrong(known, refusal(ErrorCode::InvalidRequest, "`method` must be a text")),
        None => match (message.remove("result"), message.remove("error")) {
            (Some(result), None) if has_id => AcpLine::Response { id: known, outcome: Ok(result) },
            (None, Some(error)) if has_id => {
                let error = serde_json::from_value(error).unwrap_or_else(|_| Error::internal_error());
                AcpLine::Response { id: known, outcome: Err(error) }
            }
            (None, None) => wrong(known, refusal(ErrorCode::InvalidRequest, "the message has no `method`")),
            _ => AcpLine::Ignored,
        },
    }
}

/// The id that was read; that of a message without one is null.
trait CloneOk {
    fn clone_ok(&self) -> Result<RequestId, ()>;
}

impl CloneOk for Option<Result<RequestId, serde_json::Error>> {
    fn clone_ok(&self) -> Result<RequestId, ()> {
        match self {
            None => Ok(RequestId::Null),
            Some(Ok(id)) => Ok(id.clone()),
            Some(Err(_)) => Err(()),
        }
    }
}

/// Reads parameters.
///
/// # Errors
/// If they lack something or have something of another kind; the error names it.
pub fn params<P: DeserializeOwned>(method: &str, params: Value) -> Result<P, Error> {
    // Several requests may come without any.
    let params = if params.is_null() { json!({}) } else { params };
    serde_json::from_value(params).map_err(|error| invalid(format!("{method}: {error}")))
}

/// An error with a text for people.
pub fn refusal(code: ErrorCode, text: impl Into<String>) -> Error {
    Error::new(code.into(), text)
}

/// The parameters name something that does not exist, or that cannot be used.
pub fn invalid(text: impl Into<String>) -> Error {
    refusal(ErrorCode::InvalidParams, text)
}

/// The request cannot be carried out in the state that things are in.
pub fn not_now(text: impl Into<String>) -> Error {
    refusal(ErrorCode::InvalidRequest, text)
}

/// Something failed on this side.
pub fn failed(text: impl Into<String>) -> Error {
    refusal(ErrorCode::InternalError, text)
}

/// The line of an answer.
pub fn answer<R: Serialize>(id: &RequestId, outcome: Result<&R, &Error>) -> Bytes {
    match outcome {
        Ok(result) => line(&json!({ "jsonrpc": "2.0", "id": id, "result": result })),
        Err(error) => line(&json!({ "jsonrpc": "2.0", "id": id, "error": error })),
    }
}

/// The line of a request to the client.
pub fn request<P: Serialize>(id: i64, method: &str, params: &P) -> Bytes {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// The line of a notification.
pub fn notification<P: Serialize>(method: &str, params: &P) -> Bytes {
    line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

fn line(message: &Value) -> Bytes {
    let mut line = message.to_string();
    line.push('\n');
    line.into()
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &Expect) {
        expected.assert_eq(&match parse(line.as_bytes()) {
            AcpLine::Wrong { id, error } => format!("{id}: {} {}", i32::from(error.code), error.message),
            other => format!("{other:?}"),
        });
    }

    #[test]
    fn messages_are_told_apart() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
            &expect![[r#"Request { id: Number(1), method: "a", params: Null }"#]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":null,"method":"a","params":[]}"#,
            &expect![[r#"Request { id: Null, method: "a", params: Array [] }"#]],
        );
        check(
            r#"{"jsonrpc":"2.0","method":"a","params":{}}"#,
            &expect![[r#"Notification { method: "a", params: Object {} }"#]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":"x","result":null}"#,
            &expect![[r#"Response { id: Str("x"), outcome: Ok(Null) }"#]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#,
            &expect![[
                r#"Response { id: Number(1), outcome: Err(Error { code: -1: Unknown error, message: "no", data: None }) }"#
            ]],
        );
    }

    #[test]
    fn what_is_no_message_is_refused_without_a_word_of_it() {
        check("{secret", &expect!["null: -32700 the line is not JSON: character 2"]);
        check(
            "[]",
            &expect!["null: -32600 a message is one JSON object to a line; lists of messages are not supported"],
        );
        check(
            r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#,
            &expect!["null: -32600 `id` must be a number, a text or null"],
        );
        check(r#"{"id":7,"method":"a"}"#, &expect![[r#"7: -32600 `jsonrpc` must be "2.0""#]]);
        check(r#"{"jsonrpc":"2.0","id":7,"method":1}"#, &expect!["7: -32600 `method` must be a text"]);
        check(r#"{"jsonrpc":"2.0","id":7}"#, &expect!["7: -32600 the message has no `method`"]);
        check(r#"{"jsonrpc":"2.0","id":7,"result":1,"error":1}"#, &expect!["Ignored"]);
        check(r#"{"jsonrpc":"2.0","result":1}"#, &expect!["Ignored"]);
    }
}
