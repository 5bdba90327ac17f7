//! The connection to a server over HTTP: its headers, its fixed token and its limits. Tokens of logins are added by
//! `login::bearer`, again for every request.
//!
//! The SDK bounds the events of a stream and nothing else, so answers to messages are read here: bodies and events have the
//! limit that lines of a program have.

mod events;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use http::HeaderMap;
use http::HeaderName;
use http::HeaderValue;
use http::StatusCode;
use http::header;
use reqwest::Response;
use reqwest::Url;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::model::ClientRequest;
use rmcp::model::ErrorData;
use rmcp::model::RequestId;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::WWWAuthenticateParams;
use rmcp::transport::common::http_header::HEADER_LAST_EVENT_ID;
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::transport::streamable_http_client::AuthRequiredError;
use rmcp::transport::streamable_http_client::HttpStatusError;
use rmcp::transport::streamable_http_client::InsufficientScopeError;
use rmcp::transport::streamable_http_client::SseError;
use rmcp::transport::streamable_http_client::StreamableHttpClient;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::streamable_http_client::StreamableHttpPostResponse;
use sse_stream::Sse;

use crate::lines::FAULT;
use crate::login::bearer::Bearer;
use crate::spec::HttpReach;

/// The kinds of answers that servers may give.
const ACCEPTED: &str = "text/event-stream, application/json";

/// How many bytes of the body of a refusal are read.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

type Headers = HashMap<HeaderName, HeaderValue>;
type HttpError = StreamableHttpError<reqwest::Error>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The connection to a server; `max` is the largest answer or event in bytes.
///
/// # Errors
/// If a header of the configuration is not valid.
pub(crate) fn transport(
    client: Bearer<BoundedHttp>,
    reach: &HttpReach,
    max: usize,
) -> Result<StreamableHttpClientTransport<Bearer<BoundedHttp>>, String> {
    let mut headers = HashMap::new();
    for (name, value) in &reach.headers {
        let wrong = || format!("the header `{name}` of its configuration is not valid");
        let key = HeaderName::try_from(name).map_err(|_| wrong())?;
        headers.insert(key, HeaderValue::try_from(value.reveal()).map_err(|_| wrong())?);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(reach.url.as_str()).custom_headers(headers);
    if let Some(token) = &reach.bearer {
        config = config.auth_header(token.reveal());
    }
    config.max_sse_event_size = max;
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Sends messages, and reads no more of an answer than its limit.
#[derive(Debug, Clone)]
pub(crate) struct BoundedHttp {
    client: reqwest::Client,
    max: usize,
}

impl BoundedHttp {
    /// Reads at most `max` bytes of an answer or of an event.
    pub(crate) fn new(client: reqwest::Client, max: usize) -> Self {
        Self { client, max }
    }
}

impl StreamableHttpClient for BoundedHttp {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let mut request = self.client.post(uri.as_ref()).header(header::ACCEPT, ACCEPTED);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            if [header::ACCEPT.as_str(), HEADER_LAST_EVENT_ID, HEADER_SESSION_ID]
                .iter()
                .any(|reserved| name.as_str().eq_ignore_ascii_case(reserved))
            {
                return Err(StreamableHttpError::ReservedHeaderConflict(name.to_string()));
            }
            request = request.header(name, value);
        }
        if let Some(session) = &session {
            request = request.header(HEADER_SESSION_ID, session.as_ref());
        }
        let response = request.json(&message).send().await?;
        Answer { message: &message, had_session: session.is_some(), max: self.max }.of(response).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        _max: usize,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.post_message(uri, message, session, token, headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), HttpError> {
        self.client.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<Events, HttpError> {
        self.get_stream_with_max_sse_event_size(uri, session, last, token, headers, self.max).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
        max: usize,
    ) -> Result<Events, HttpError> {
        self.client.get_stream_with_max_sse_event_size(uri, session, last, token, headers, max).await
    }
}

/// The answer to a message.
#[derive(Debug)]
struct Answer<'a> {
    message: &'a ClientJsonRpcMessage,
    had_session: bool,
    max: usize,
}

impl Answer<'_> {
    async fn of(&self, response: Response) -> Result<StreamableHttpPostResponse, HttpError> {
        let status = response.status();
        if let Some(error) = challenge(&response) {
            return Err(error);
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && self.had_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let kind = text(response.headers(), &header::CONTENT_TYPE);
        let is = |wanted: &str| kind.as_deref().is_some_and(|kind| kind.starts_with(wanted));
        if !status.is_success() {
            return self.refused(response, is("application/json")).await;
        }
        // Some servers answer with an empty body where the protocol wants another status.
        if response.content_length() == Some(0) && self.asks().is_none() {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = text(response.headers(), &HeaderName::from_static("mcp-session-id"));
        if is("text/event-stream") {
            return Ok(StreamableHttpPostResponse::Sse(events::read(response, self.max, self.asks()), session));
        }
        if !is("application/json") {
            return Err(StreamableHttpError::UnexpectedContentType(kind));
        }
        let read = read(response, self.max).await?;
        let Some(asks) = self.asks() else { return Ok(StreamableHttpPostResponse::Accepted) };
        match read {
            Body::TooLarge(size) => Ok(StreamableHttpPostResponse::Json(too_large(&size, self.max, asks), session)),
            Body::Whole(bytes) => match serde_json::from_slice(&bytes) {
                Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
                Err(_) => Err(StreamableHttpError::UnexpectedServerResponse(
                    String::from_utf8_lossy(&bytes[..bytes.len().min(REFUSAL_BYTES_MAX)]).into_owned().into(),
                )),
            },
        }
    }

    /// The request that waits for an answer, if the message is one.
    fn asks(&self) -> Option<RequestId> {
        match self.message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        }
    }

    /// A refusal, which may have an error of the protocol in its body.
    async fn refused(&self, response: Response, is_json: bool) -> Result<StreamableHttpPostResponse, HttpError> {
        let status = response.status();
        let is_failure = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        let retry_after = text(response.headers(), &header::RETRY_AFTER);
        let failure = match is_failure.then(|| HttpStatusError::new(status.as_u16(), retry_after)) {
            Some(failure) if !is_json || status == StatusCode::TOO_MANY_REQUESTS => return Err(failure.into()),
            failure => failure,
        };
        let session = text(response.headers(), &HeaderName::from_static("mcp-session-id"));
        let body = match read(response, REFUSAL_BYTES_MAX).await? {
            Body::Whole(bytes) => bytes,
            Body::TooLarge(_) => Vec::new(),
        };
        let refused = match serde_json::from_slice(&body) {
            Ok(message @ ServerJsonRpcMessage::Error(_)) => Some(message),
            _ => None,
        };
        let is_about_access = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        // A server of an older revision refuses the question about its revisions in many ways.
        if let ClientJsonRpcMessage::Request(request) = self.message
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
            && status.is_client_error()
            && !is_about_access
            && !self.had_session
        {
            let error = match refused {
                Some(ServerJsonRpcMessage::Error(error)) => error.error,
                _ => ErrorData::invalid_request(format!("server/discover is refused with HTTP {status}"), None),
            };
            let error = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(error, None));
        }
        match (refused, failure) {
            (Some(message), _) if is_json && !is_about_access => Ok(StreamableHttpPostResponse::Json(message, session)),
            (_, Some(failure)) => Err(failure.into()),
            (_, None) => {
                let said = format!("HTTP {status}: {}", String::from_utf8_lossy(&body));
                Err(StreamableHttpError::UnexpectedServerResponse(said.into()))
            }
        }
    }
}

/// What a server wants before it answers: a login, or one with more scopes.
fn challenge(response: &Response) -> Option<HttpError> {
    let challenge = text(response.headers(), &header::WWW_AUTHENTICATE)?;
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge))),
        StatusCode::FORBIDDEN => {
            let scope = scope(&challenge, response.url());
            Some(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(challenge, scope)))
        }
        _ => None,
    }
}

fn scope(challenge: &str, url: &Url) -> Option<String> {
    WWWAuthenticateParams::parse(challenge, url).scope
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// A body, if it has no more bytes than its limit.
enum Body {
    Whole(Vec<u8>),
    /// How large it is, in words.
    TooLarge(String),
}

async fn read(mut response: Response, max: usize) -> Result<Body, HttpError> {
    let too_large = match response.content_length() {
        Some(n_bytes) => format!("{n_bytes}"),
        None => format!("more than {max}"),
    };
    if response.content_length().is_some_and(|n_bytes| usize::try_from(n_bytes).is_ok_and(|n_bytes| n_bytes > max)) {
        return Ok(Body::TooLarge(too_large));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if chunk.len() > max - body.len() {
            return Ok(Body::TooLarge(too_large));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Body::Whole(body))
}

/// The answer to a request in place of one that is too large.
fn too_large(size: &str, max: usize, asks: RequestId) -> ServerJsonRpcMessage {
    let what = format!("the answer of the server has {size} bytes, and the limit is {max} bytes (`max_message_bytes`)");
    ServerJsonRpcMessage::error(ErrorData::new(FAULT, what, None), Some(asks))
}
