//! Why a request to a server failed, in sentences for people. The SDK's errors are for programmers.

use std::error::Error;
use std::io;

use rmcp::model::ErrorData;
use rmcp::service::ClientInitializeError;
use rmcp::service::ServiceError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::lines::FAULT;
use crate::login::LoginError;

/// How many characters of what a server says are repeated.
const SAID_MAX: usize = 400;

/// What people read about a server that has ended.
const ENDED: &str = "the server ended, or closed the connection, before it answered";

/// Why a request failed.
pub(crate) fn of_request(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => refused(error),
        ServiceError::TransportSend(error) => of_transport(error),
        ServiceError::TransportClosed => ENDED.to_owned(),
        // The words of the reference, which users and models know.
        ServiceError::UnexpectedResponse => "Unexpected response type".to_owned(),
        ServiceError::Cancelled { reason: Some(reason) } => {
            format!("the request was cancelled: {}", shortened(reason))
        }
        ServiceError::Cancelled { reason: None } => "the request was cancelled".to_owned(),
        ServiceError::Timeout { timeout } => format!("the server did not answer within {timeout:?}"),
        ServiceError::InputRequiredRoundsExceeded { max_rounds } => {
            format!("the server asked for more input {max_rounds} times and did not answer; that is the limit")
        }
        _ => "the connection to the server failed".to_owned(),
    }
}

/// Why a server could not be greeted.
pub(crate) fn of_greeting(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            "the server answered `initialize` with something else".to_owned()
        }
        ClientInitializeError::ConflictInitResponseId(expected, got)
        | ClientInitializeError::UncorrelatedErrorResponse { expected, received: got } => {
            format!("the server answered a request that was not sent: its answer has the id {got}, not {expected}")
        }
        ClientInitializeError::ConnectionClosed(_) => ENDED.to_owned(),
        ClientInitializeError::TransportError { error, .. } => of_transport(error),
        ClientInitializeError::JsonRpcError(error) => refused(error),
        ClientInitializeError::NoCompatibleProtocolVersion { client_supported, server_supported } => {
            let names = |versions: &[rmcp::model::ProtocolVersion]| {
                let names: Vec<&str> = versions.iter().map(rmcp::model::ProtocolVersion::as_str).collect();
                if names.is_empty() { "none".to_owned() } else { shortened(&names.join(", ")) }
            };
            let (ours, its) = (names(client_supported), names(server_supported));
            format!(
                "the server speaks no revision of MCP that was asked for: it speaks {its}, and {ours} was asked for"
            )
        }
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
            format!("{}; and before, to `server/discover`: {}", of_greeting(fallback), of_greeting(discover))
        }
        ClientInitializeError::Cancelled => "the start was cancelled".to_owned(),
        _ => "the connection to the server failed".to_owned(),
    }
}

/// An error that a server answered with, or one that this client made of its answer.
fn refused(error: &ErrorData) -> String {
    if error.code == FAULT { error.message.to_string() } else { format!("Mcp error: {error}") }
}

fn of_transport(error: &DynamicTransportError) -> String {
    let error = error.error.as_ref();
    if let Some(error) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        return of_http(error);
    }
    match error.downcast_ref::<io::Error>() {
        // The end of a server is noticed by writing to it or by reading from it.
        Some(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected) => {
            ENDED.to_owned()
        }
        Some(error) => format!("the server cannot be written to: {error}"),
        None => "the connection to the server failed".to_owned(),
    }
}

fn of_http(error: &StreamableHttpError<reqwest::Error>) -> String {
    match error {
        StreamableHttpError::Client(error) => of_client(error),
        StreamableHttpError::Sse(error) => format!("the event stream of the server cannot be read: {error}"),
        StreamableHttpError::Io(error) if error.get_ref().is_some_and(<dyn Error + Send + Sync>::is::<LoginError>) => {
            error.to_string()
        }
        StreamableHttpError::Io(error) => format!("the server cannot be read: {error}"),
        StreamableHttpError::HttpStatus(status) => format!("the server answered with HTTP {}", status.status),
        StreamableHttpError::UnexpectedEndOfStream => "the server's answer ended too early".to_owned(),
        StreamableHttpError::UnexpectedServerResponse(said) => {
            format!("the server's answer is no MCP message: {}", shortened(said))
        }
        StreamableHttpError::UnexpectedContentType(Some(kind)) => {
            format!("the server answered with `{}`, not with JSON or events", shortened(kind))
        }
        StreamableHttpError::UnexpectedContentType(None) => "the server answered without a content type".to_owned(),
        StreamableHttpError::Deserialize(error) => format!("the server's answer cannot be read: {error}"),
        StreamableHttpError::MissingSessionIdInResponse => "the server gave no session id".to_owned(),
        StreamableHttpError::AuthRequired(_) => "the server wants a login".to_owned(),
        StreamableHttpError::InsufficientScope(error) => match error.get_required_scope() {
            Some(scope) => format!("the token may not do this; the server wants the scope {}", shortened(scope)),
            None => "the token may not do this".to_owned(),
        },
        StreamableHttpError::ReservedHeaderConflict(name) => {
            format!("the header `{name}` of the configuration is one that the protocol sets")
        }
        StreamableHttpError::SessionExpired => "the server has forgotten the connection".to_owned(),
        StreamableHttpError::SessionRecoveryTimeout => {
            "the server has forgotten the connection, and did not open another one in time".to_owned()
        }
        StreamableHttpError::ReinitializationFailed(error) => {
            format!("the server has forgotten the connection, and refused another one: {}", refused(error))
        }
        StreamableHttpError::ServerDoesNotSupportSse => "the server sends no events".to_owned(),
        StreamableHttpError::ControlRequestTimeout => "the server did not take a message in time".to_owned(),
        _ => "the connection to the server was closed".to_owned(),
    }
}

/// What kept the HTTP client from getting an answer: the innermost cause, which names the failure itself.
fn of_client(error: &reqwest::Error) -> String {
    let what = if error.is_timeout() {
        "the server did not answer in time"
    } else if error.is_connect() {
        "the server cannot be reached"
    } else if error.is_redirect() {
        "the server sends requests elsewhere"
    } else if let Some(status) = error.status() {
        return format!("the server answered with HTTP {}", status.as_u16());
    } else {
        "the connection to the server failed"
    };
    let mut cause: &(dyn Error + 'static) = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    // The outermost error repeats the address, which may have secrets in its query.
    if cause.is::<reqwest::Error>() { what.to_owned() } else { format!("{what}: {}", shortened(&cause.to_string())) }
}

/// The beginning of a text of the server.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(SAID_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
