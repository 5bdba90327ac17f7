//! The address, headers and key of requests to a provider, resolved once.
//!
//! Precedence of the key: the provider's variable, its configured token, the session's key, none. The session's key is
//! only for servers of OpenAI's wires; a server of the Messages wire never gets it.
//!
//! Not here: sending ([`crate::transport`]) and the provider's retry settings, which stay in [`Provider`].

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::HeaderName;
use http::HeaderValue;
use http::header;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use reqwest::Url;

use crate::credentials;
use crate::key_origin::KeyOrigin;
use crate::key_origin::missing_key_advice;
use crate::provider::DEFAULT_BASE_URL;
use crate::provider::LOCAL_SERVERS;
use crate::provider::MESSAGES_BASE_URL;
use crate::provider::non_blank;
use crate::redactor::Redactor;
use pellucid_protocol::secret::Secret;

const ORIGINATOR: HeaderName = HeaderName::from_static("originator");

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const MESSAGES_VERSION: (HeaderName, HeaderValue) =
    (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));

/// A provider as the transport needs it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The address as configured, for messages.
    address: String,
    url: Url,
    headers: HeaderMap,
    token: Option<Secret>,
    key_origin: KeyOrigin,
    /// Why no request can succeed, if that is certain beforehand.
    hindrance: Option<ReplyError>,
    /// Blanks the key, and values of headers and parameters that may be keys.
    redactor: Arc<Redactor>,
    /// The header that carries the key.
    token_header: HeaderName,
    wire: WireApi,
    request_retries: u64,
    idle_timeout: Duration,
}

impl Endpoint {
    /// Resolves a provider's settings.
    ///
    /// # Errors
    ///
    /// When the variable for the key is not set, or the address is invalid.
    pub fn resolve(
        provider: &Provider,
        session_key: Option<Secret>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ReplyError> {
        let address = address(provider);
        let has_written = !secrets(provider, env).is_empty();
        let key_origin = key_origin(provider, session_key.as_ref(), has_written, env);
        let token = token(provider, session_key, env);
        let key = token.iter().flatten().cloned();
        let redactor = Redactor::new(key.chain(secrets(provider, env)));
        let wrong = |why: String| {
            let message = format!("the address `{address}` of provider `{}` {why}", provider.name);
            redactor.error(ReplyError::new(ReplyErrorKind::Local, message))
        };
        let url = Url::parse(&address).map_err(|error| wrong(format!("is not valid: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("must begin with http:// or https://".to_owned()));
        }
        let headers = headers(provider, env);
        Ok(Self {
            url,
            headers,
            token: token?,
            hindrance: hindrance(provider, &key_origin),
            key_origin,
            redactor: Arc::new(redactor),
            token_header: token_header(provider),
            wire: provider.wire_api,
            request_retries: provider.request_retries(),
            idle_timeout: Duration::from_millis(provider.idle_timeout_ms()),
            address,
        })
    }

    /// The address of requests, query included, as configured.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The endpoint, if a request may succeed.
    ///
    /// # Errors
    ///
    /// When it is certain that the provider would refuse a request.
    pub(crate) fn ready(&self) -> Result<&Self, ReplyError> {
        self.hindrance.as_ref().map_or(Ok(self), |error| Err(error.clone()))
    }

    /// Where the key comes from.
    pub(crate) fn key_origin(&self) -> &KeyOrigin {
        &self.key_origin
    }

    /// The server's name and port, for messages.
    pub(crate) fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    pub(crate) fn wire(&self) -> WireApi {
        self.wire
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn request_retries(&self) -> u64 {
        self.request_retries
    }

    pub(crate) fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }

    /// The headers of one request: the provider's, the caller's, and those that the wire needs.
    ///
    /// A provider may replace the user agent and the content type; it cannot replace the headers that identify the
    /// session, `Accept`, or a key that is set otherwise.
    pub(crate) fn request_headers(&self, given: &[(String, String)]) -> HeaderMap {
        let mut headers = self.headers.clone();
        for (name, value) in given {
            let Some((name, value)) = header(name, value) else { continue };
            if (name == header::USER_AGENT || name == ORIGINATOR) && headers.contains_key(&name) {
                continue;
            }
            headers.insert(name, value);
        }
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if !headers.contains_key(header::CONTENT_TYPE) {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if self.wire == WireApi::Messages && !headers.contains_key(MESSAGES_VERSION.0) {
            headers.extend([MESSAGES_VERSION]);
        }
        let scheme = if self.token_header == header::AUTHORIZATION { "Bearer " } else { "" };
        if let Some(token) = &self.token
            && let Ok(mut value) = HeaderValue::from_str(&format!("{scheme}{}", token.reveal()))
        {
            value.set_sensitive(true);
            headers.insert(self.token_header.clone(), value);
        }
        headers
    }

    /// The headers that open a WebSocket: those of a request without the ones about its body.
    pub(crate) fn handshake_headers(&self, given: &[(String, String)]) -> HeaderMap {
        let mut headers = self.request_headers(given);
        for name in [header::ACCEPT, header::CONTENT_TYPE, header::USER_AGENT] {
            headers.remove(name);
        }
        headers
    }

    /// The address of the WebSocket, for messages.
    pub(crate) fn socket_address(&self) -> String {
        self.address.replacen("http", "ws", 1)
    }

    /// Whether a value is the key.
    pub(crate) fn is_key(&self, value: &str) -> bool {
        self.token.as_ref().is_some_and(|token| token.reveal() == value)
    }

    /// Blanks the key and other secrets in texts that are written or shown.
    pub(crate) fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// The endpoint of the same provider that summarises histories.
    pub(crate) fn for_compaction(&self) -> Result<Self, ReplyError> {
        let (path, query) = self.address.split_once('?').map_or((self.address.as_str(), None), |(a, b)| (a, Some(b)));
        let mut address = format!("{path}/compact");
        if let Some(query) = query {
            address.push('?');
            address.push_str(query);
        }
        let url = Url::parse(&address).map_err(|error| self.not_valid(&address, &error.to_string()))?;
        Ok(Self { address, url, ..self.clone() })
    }

    /// The endpoint of the same provider for embedding vectors, beside the wire's path.
    pub(crate) fn for_embeddings(&self) -> Result<Self, ReplyError> {
        let (path, query) = self.address.split_once('?').map_or((self.address.as_str(), None), |(a, b)| (a, Some(b)));
        let wire = match self.wire {
            WireApi::Responses => "/responses",
            WireApi::Chat => "/chat/completions",
            WireApi::Messages => "/messages",
        };
        let base = path.strip_suffix(wire).unwrap_or(path);
        let address = match query {
            Some(query) => format!("{base}/embeddings?{query}"),
            None => format!("{base}/embeddings"),
        };
        let url = Url::parse(&address).map_err(|error| self.not_valid(&address, &error.to_string()))?;
        Ok(Self { address, url, ..self.clone() })
    }

    fn not_valid(&self, address: &str, why: &str) -> ReplyError {
        self.redactor.error(ReplyError::new(ReplyErrorKind::Local, format!("`{address}` is not valid: {why}")))
    }

    /// The hint for a person if no server listens at the address; only for servers of this machine.
    pub(crate) fn refused_hint(&self) -> Option<String> {
        let host = self.url.host_str()?;
        if !matches!(host, "localhost" | "127.0.0.1" | "[::1]") {
            return None;
        }
        let port = self.url.port_or_known_default()?;
        let start = LOCAL_SERVERS.iter().find(|(known, ..)| *known == port).map_or_else(
            || "start the model server there".to_owned(),
            |(_, name, command)| format!("start {name} with `{command}`"),
        );
        Some(format!("nothing listens at {host}:{port}; {start}, or change the provider's base_url"))
    }
}

fn address(provider: &Provider) -> String {
    let (default, path) = match provider.wire_api {
        WireApi::Responses => (DEFAULT_BASE_URL, "responses"),
        WireApi::Chat => (DEFAULT_BASE_URL, "chat/completions"),
        WireApi::Messages => (MESSAGES_BASE_URL, "messages"),
    };
    let base = non_blank(provider.base_url.clone()).unwrap_or_else(|| default.to_owned());
    let mut address = format!("{}/{path}", base.trim_end_matches('/'));
    let mut separator = '?';
    for (key, value) in provider.query_params.iter().flatten() {
        address.push(separator);
        address.push_str(key);
        address.push('=');
        address.push_str(value);
        separator = '&';
    }
    address
}

fn headers(provider: &Provider, env: &dyn Fn(&str) -> Option<String>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in provider.http_headers.iter().flatten() {
        headers.extend(header(name, value));
    }
    for (name, variable) in provider.env_http_headers.iter().flatten() {
        headers.extend(non_blank(env(variable)).and_then(|value| header(name, &value)));
    }
    headers
}

/// The values of headers that come from variables, and of headers and parameters whose names suggest a secret, also as
/// an address spells them.
fn secrets(provider: &Provider, env: &dyn Fn(&str) -> Option<String>) -> Vec<Secret> {
    const MARKS: [&str; 8] = ["auth", "key", "token", "secret", "cookie", "password", "credential", "sig"];
    let is_marked = |name: &str| {
        let name = name.to_ascii_lowercase();
        MARKS.iter().any(|mark| name.contains(mark))
    };
    let from_env = provider.env_http_headers.iter().flatten().filter_map(|(_, variable)| non_blank(env(variable)));
    let written = provider.http_headers.iter().flatten().filter(|(name, _)| is_marked(name));
    let written = written.map(|(_, value)| value.trim_start_matches("Bearer ").to_owned());
    // Any parameter may be a key; only the version of an API is known not to be one.
    let asked = provider.query_params.iter().flatten().filter(|(name, _)| *name != "api-version");
    let asked = asked.flat_map(|(_, value)| [value.clone(), in_address(value)]);
    from_env.chain(written).chain(asked).map(Secret::new).collect()
}

/// A parameter's value as an address spells it.
fn in_address(value: &str) -> String {
    let url = Url::parse(&format!("http://h/?{value}"));
    url.ok().and_then(|url| url.query().map(str::to_owned)).unwrap_or_default()
}

fn header(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        (Ok(name), Ok(value)) => Some((name, value)),
        _ => {
            tracing::warn!(header = name, "a header with an invalid name or value is not sent");
            None
        }
    }
}

fn token(
    provider: &Provider,
    session_key: Option<Secret>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Secret>, ReplyError> {
    if let Some(variable) = &provider.env_key {
        let Some(key) = non_blank(env(variable)) else {
            let mut message = format!("Missing environment variable: `{variable}`.");
            if let Some(instructions) = &provider.env_key_instructions {
                message.push(' ');
                message.push_str(instructions);
            }
            return Err(ReplyError::new(ReplyErrorKind::MissingKey, message));
        };
        return Ok(Some(Secret::new(key)));
    }
    if let Some(token) = &provider.experimental_bearer_token {
        return Ok(Some(token.clone()));
    }
    Ok(session_key.filter(|_| provider.wire_api != WireApi::Messages))
}

/// Where the key that [`token`] returns comes from.
fn key_origin(
    provider: &Provider,
    session_key: Option<&Secret>,
    has_written: bool,
    env: &dyn Fn(&str) -> Option<String>,
) -> KeyOrigin {
    if let Some(variable) = &provider.env_key {
        return KeyOrigin::Variable(variable.clone());
    }
    if provider.experimental_bearer_token.is_some() {
        return KeyOrigin::Written;
    }
    match session_key.filter(|_| provider.wire_api != WireApi::Messages) {
        Some(key) if credentials::variable_key(env).is_some_and(|it| it.reveal() == key.reveal()) => {
            KeyOrigin::Variable(credentials::KEY_VARIABLE.to_owned())
        }
        Some(_) => KeyOrigin::Login,
        None if has_written => KeyOrigin::Settings,
        None => KeyOrigin::Nowhere(provider.wire_api),
    }
}

/// A public provider refuses requests without a key. A server at a configured address may accept them.
fn hindrance(provider: &Provider, key_origin: &KeyOrigin) -> Option<ReplyError> {
    let is_public = non_blank(provider.base_url.clone()).is_none();
    let is_without = matches!(key_origin, KeyOrigin::Nowhere(_));
    (is_public && is_without).then(|| {
        let (name, advice) = (&provider.name, missing_key_advice(provider.wire_api));
        let message = format!("there is no key for the provider `{name}`, so nothing was sent: {advice}");
        ReplyError::new(ReplyErrorKind::MissingKey, message)
    })
}

/// The header that carries the key: a configured bearer token is one on every wire.
fn token_header(provider: &Provider) -> HeaderName {
    let is_bearer = provider.env_key.is_none() && provider.experimental_bearer_token.is_some();
    if provider.wire_api == WireApi::Messages && !is_bearer { API_KEY } else { header::AUTHORIZATION }
}

#[cfg(test)]
mod tests;
