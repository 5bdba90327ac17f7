//! HTTP: sends one request, and receives the head of a response.
//!
//! Connections are kept. What TLS needs (a cryptography provider, the system's certificates) is set up once, and only
//! when an address is `https`. A request is retried after a server's error or an interrupted connection; a status that
//! blames the request is final. A connection that cannot be made is final too if the server never answered this
//! process: then its address or certificate is wrong, or it does not run. A server that answered before may be
//! restarting.
//!
//! Not here: reading the stream of a response ([`crate::model`]), retries once a stream has begun (the turn does them).

use std::collections::BTreeSet;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use jiff::Zoned;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_tasks::Task;
use reqwest::Client;
use reqwest::Response;
use rustls::ClientConfig;
use rustls::RootCertStore;
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::body::Segments;
use crate::budget::Ticket;
use crate::endpoint::Endpoint;
use crate::failure;
use crate::failure::RefusedResponse;
use crate::retry::Backoff;
use crate::sse;
use crate::trouble;

/// The delay before the first retry.
pub const BACKOFF_BASE: Duration = Duration::from_millis(200);

/// How many bytes of a response that is not a reply are read.
const REFUSAL_BYTES_MAX: usize = 1 << 20;

/// How long the rest of a complete reply may take before its connection is closed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a request waits for the rest of the reply before it, to use the same connection. Opening another one takes
/// about as long.
const DRAIN_PATIENCE: Duration = Duration::from_millis(50);

/// How many redirects are followed.
const REDIRECTS_MAX: usize = 10;

/// How often a task yields so that the tasks that own a connection can return it once its response is read.
const HAND_BACK_TURNS: usize = 16;

/// Connections to servers; a process needs one value. Clones share them.
#[derive(Debug, Clone)]
pub struct Transport {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    backoff_base: Duration,
    stream_limits: sse::SseLimits,
    plain: OnceLock<Result<Client, String>>,
    tls: OnceLock<Result<Client, String>>,
    drains: Mutex<Vec<Drain>>,
    /// The servers that have answered.
    answered: Mutex<BTreeSet<String>>,
}

/// A connection that is being made ready for its next use.
#[derive(Debug)]
struct Drain {
    /// The server of the connection.
    origin: String,
    task: Task<()>,
    /// Closed when the connection is ready or was closed.
    over: watch::Receiver<()>,
}

impl Default for Transport {
    fn default() -> Self {
        Self::with_backoff_base(BACKOFF_BASE)
    }
}

impl Transport {
    /// A transport with another delay before the first retry.
    pub fn with_backoff_base(backoff_base: Duration) -> Self {
        Self::with_limits(backoff_base, sse::SseLimits::default())
    }

    /// A transport with other limits for a stream.
    pub fn with_limits(backoff_base: Duration, stream_limits: sse::SseLimits) -> Self {
        let (plain, tls) = (OnceLock::new(), OnceLock::new());
        let (drains, answered) = (Mutex::default(), Mutex::default());
        Self { shared: Arc::new(Shared { backoff_base, stream_limits, plain, tls, drains, answered }) }
    }

    /// The limits of a stream's decoder.
    pub(crate) fn stream_limits(&self) -> sse::SseLimits {
        self.shared.stream_limits
    }

    /// Sends a request, retries it if that may help and `ticket` allows it, and waits for the head of the response.
    pub(crate) async fn send(
        &self,
        endpoint: &Endpoint,
        headers: &HeaderMap,
        body: Vec<Bytes>,
        ticket: &Ticket,
        attempts: &Attempts,
    ) -> Result<Response, ReplyError> {
        let client = self.client(endpoint)?;
        self.drained(endpoint.url()).await;
        let body = Segments::new(body);
        let mut backoff = Backoff::new(self.shared.backoff_base);
        let mut n_retries = 0;
        loop {
            let attempt = self.attempt(client, endpoint, headers.clone(), body.clone(), attempts).await;
            let (error, helps) = match attempt {
                Ok(response) => return Ok(response),
                Err(Failed::Final(error)) => (error, false),
                Err(Failed::Passing(error)) => (error, true),
            };
            let error = endpoint.redactor().error(error);
            if !helps || n_retries >= endpoint.request_retries() {
                return Err(error);
            }
            n_retries += 1;
            tracing::debug!(n_retries, %error, "sending the request again");
            tokio::time::sleep(backoff.delay(n_retries)).await;
            ticket.again()?;
        }
    }

    /// Sends a request once.
    async fn attempt(
        &self,
        client: &Client,
        endpoint: &Endpoint,
        headers: HeaderMap,
        body: Segments,
        attempts: &Attempts,
    ) -> Result<Response, Failed> {
        let mut request = reqwest::Request::new(http::Method::POST, endpoint.url().clone());
        *request.headers_mut() = headers;
        *request.body_mut() = Some(reqwest::Body::wrap(body));
        // The same limit applies to the wait for a response as to silence within a stream, and the same rules for a
        // retry.
        let sent = timeout(endpoint.idle_timeout(), client.execute(request)).await;
        attempts.note(sent.as_ref().ok().and_then(|sent| sent.as_ref().ok()).map(Response::status));
        let Ok(sent) = sent else {
            return Err(Failed::Final(ReplyError::stream("idle timeout waiting for SSE")));
        };
        let response = sent.map_err(|error| {
            let error = self.network_error(endpoint, &error);
            if error.is_unsent() { Failed::Final(error) } else { Failed::Passing(error) }
        })?;
        self.note_answer(endpoint);
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let error = refused(response, endpoint, endpoint.address()).await;
        Err(if status.is_server_error() { Failed::Passing(error) } else { Failed::Final(error) })
    }

    /// Notes that a server answered, whatever the answer was.
    fn note_answer(&self, endpoint: &Endpoint) {
        let mut answered = self.shared.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.insert(origin(endpoint.url()));
    }

    fn network_error(&self, endpoint: &Endpoint, error: &reqwest::Error) -> ReplyError {
        let Some(words) = trouble::unsent(endpoint, error) else {
            return ReplyError::stream(with_causes(error));
        };
        let answered = self.shared.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let error = ReplyError::stream(&words).plainly(words);
        if answered.contains(&origin(endpoint.url())) {
            return error;
        }
        ReplyError { kind: ReplyErrorKind::Unreachable, ..error }
    }

    /// Asks a server once to upgrade to a WebSocket, and waits for the head of the response.
    pub(crate) async fn upgrade(&self, endpoint: &Endpoint, headers: HeaderMap) -> Result<Response, ReplyError> {
        let client = self.client(endpoint)?;
        self.drained(endpoint.url()).await;
        let mut request = reqwest::Request::new(http::Method::GET, endpoint.url().clone());
        *request.headers_mut() = headers;
        match timeout(endpoint.idle_timeout(), client.execute(request)).await {
            Ok(Ok(response)) => {
                self.note_answer(endpoint);
                Ok(response)
            }
            Ok(Err(error)) => Err(self.network_error(endpoint, &error)),
            Err(_) => Err(ReplyError::stream("idle timeout waiting for websocket")),
        }
    }

    /// Reads the few bytes after a complete reply, so that its connection can be used again.
    pub(crate) fn drain(&self, mut response: Response) {
        let origin = origin(response.url());
        let (is_draining, over) = watch::channel(());
        let task = Task::spawn("reading the end of a reply", async move {
            let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
            // A server that keeps sending only loses its connection.
            drop(timeout(DRAIN_TIMEOUT, rest).await);
            hand_back(response).await;
            drop(is_draining);
        });
        let mut drains = self.shared.drains.lock().unwrap_or_else(PoisonError::into_inner);
        drains.retain(|drain| !drain.task.is_finished());
        drains.push(Drain { origin, task, over });
    }

    /// Waits a short time for connections to a server that are almost ready.
    async fn drained(&self, url: &reqwest::Url) {
        let drains: Vec<watch::Receiver<()>> = {
            let drains = self.shared.drains.lock().unwrap_or_else(PoisonError::into_inner);
            if drains.is_empty() {
                return;
            }
            let origin = origin(url);
            drains.iter().filter(|drain| drain.origin == origin).map(|drain| drain.over.clone()).collect()
        };
        let all = async {
            for mut over in drains {
                // Nothing is ever sent: the channel changes by being closed.
                drop(over.changed().await);
            }
        };
        drop(timeout(DRAIN_PATIENCE, all).await);
    }

    /// Sends an ordinary request, once.
    pub(crate) async fn request(
        &self,
        method: http::Method,
        address: &str,
        body: Option<String>,
    ) -> Result<Response, String> {
        let url = reqwest::Url::parse(address).map_err(|error| format!("`{address}` is not valid: {error}"))?;
        let client = self.client_for(&url)?;
        let mut request = reqwest::Request::new(method, url);
        *request.body_mut() = body.map(Into::into);
        client.execute(request).await.map_err(|error| with_causes(&error))
    }

    /// A client that forwards requests of another program to an address. It follows no redirect: that is for the program.
    ///
    /// # Errors
    /// If the address is invalid, or TLS cannot be set up.
    pub fn forwarding_client(address: &str) -> Result<Client, String> {
        let url = reqwest::Url::parse(address).map_err(|error| format!("`{address}` is not valid: {error}"))?;
        if url.scheme() == "https" { tls_client() } else { plain_client() }
    }

    /// A client for other kinds of requests to an address. It follows redirects within the same server only.
    ///
    /// # Errors
    /// If the address is invalid, or TLS cannot be set up.
    pub fn http_client(address: &str) -> Result<Client, String> {
        let url = reqwest::Url::parse(address).map_err(|error| format!("`{address}` is not valid: {error}"))?;
        let following = if url.scheme() == "https" { tls_builder() } else { plain_builder()? };
        build(following.redirect(reqwest::redirect::Policy::custom(|attempt| {
            let is_same = attempt.previous().last().is_some_and(|before| before.origin() == attempt.url().origin());
            let keeps_request = matches!(attempt.status().as_u16(), 307 | 308);
            match attempt.previous().len() {
                0..=REDIRECTS_MAX if is_same && keeps_request => attempt.follow(),
                _ => attempt.stop(),
            }
        })))
    }

    fn client(&self, endpoint: &Endpoint) -> Result<&Client, ReplyError> {
        self.client_for(endpoint.url()).map_err(|message| ReplyError::new(ReplyErrorKind::Local, message))
    }

    fn client_for(&self, url: &reqwest::Url) -> Result<&Client, String> {
        let client = if url.scheme() == "https" {
            self.shared.tls.get_or_init(tls_client)
        } else {
            self.shared.plain.get_or_init(plain_client)
        };
        client.as_ref().map_err(String::clone)
    }
}

/// A client for `http` addresses: it trusts no certificate, so that none has to be read.
fn plain_client() -> Result<Client, String> {
    build(plain_builder()?)
}

fn plain_builder() -> Result<reqwest::ClientBuilder, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("could not set TLS up: {error}"))?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Ok(builder().tls_backend_preconfigured(config))
}

/// A client for `https` addresses that trusts the system's certificates.
fn tls_client() -> Result<Client, String> {
    build(tls_builder())
}

fn tls_builder() -> reqwest::ClientBuilder {
    // Fails only if a provider is installed already, which is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    builder()
}

fn builder() -> reqwest::ClientBuilder {
    Client::builder()
        .tcp_nodelay(true)
        // A body of segments cannot be sent twice, and a key must not be sent to another server.
        .redirect(reqwest::redirect::Policy::none())
}

fn build(builder: reqwest::ClientBuilder) -> Result<Client, String> {
    builder.build().map_err(|error| format!("could not set HTTP up: {}", with_causes(&error)))
}

/// The attempts to send a request: the status of each, in order. Clones are the same list.
#[derive(Debug, Clone, Default)]
pub struct Attempts {
    statuses: Arc<Mutex<Vec<Option<u16>>>>,
}

impl Attempts {
    /// The statuses so far; `None` for an attempt without a response.
    pub fn statuses(&self) -> Vec<Option<u16>> {
        self.statuses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, status: Option<http::StatusCode>) {
        let status = status.map(|status| status.as_u16());
        self.statuses.lock().unwrap_or_else(PoisonError::into_inner).push(status);
    }
}

/// A request that brought no reply.
enum Failed {
    /// A retry would bring the same error.
    Final(ReplyError),
    /// A retry may help.
    Passing(ReplyError),
}

/// The error of a response that is not a reply.
pub(crate) async fn refused(response: Response, endpoint: &Endpoint, address: &str) -> ReplyError {
    let (status, headers) = (response.status(), response.headers().clone());
    let body = refusal_text(response, endpoint.idle_timeout()).await;
    let (address, key) = (Some(address), Some(endpoint.key_origin()));
    failure::refused(&RefusedResponse { status, address, headers: &headers, body: &body, now: &Zoned::now(), key })
}

/// The body of a response that is not a reply, up to the size limit and the idle timeout.
async fn refusal_text(mut response: Response, idle_timeout: Duration) -> String {
    let mut body = Vec::new();
    while body.len() < REFUSAL_BYTES_MAX {
        match timeout(idle_timeout, response.chunk()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            Ok(Ok(None) | Err(_)) | Err(_) => break,
        }
    }
    hand_back(response).await;
    body.truncate(REFUSAL_BYTES_MAX);
    String::from_utf8_lossy(&body).into_owned()
}

/// Drops a response and lets the tasks that own its connection notice that.
async fn hand_back(response: Response) {
    drop(response);
    for _ in 0..HAND_BACK_TURNS {
        yield_now().await;
    }
}

/// The server of an address.
fn origin(url: &reqwest::Url) -> String {
    url.origin().ascii_serialization()
}

/// An error's text with those of its causes, each once.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    for cause in causes(error) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// The causes of an error, from the nearest on.
pub(crate) fn causes(error: &dyn Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |error| {
        // An IO error that wraps another error has only that error's causes.
        let carried = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        carried.map(|carried| carried as &(dyn Error + 'static)).or_else(|| (*error).source())
    })
}

#[cfg(test)]
mod tests {
    use pellucid_protocol::provider::Provider;

    use super::*;

    #[track_caller]
    fn check_clients(base_url: &str, has_plain: bool, has_tls: bool) {
        let provider = Provider { base_url: Some(base_url.to_owned()), ..Provider::default() };
        let endpoint = Endpoint::resolve(&provider, None, &|_| None).unwrap();
        let transport = Transport::default();
        assert!(transport.shared.plain.get().is_none() && transport.shared.tls.get().is_none());
        transport.client(&endpoint).unwrap();
        assert_eq!(transport.shared.plain.get().is_some(), has_plain);
        assert_eq!(transport.shared.tls.get().is_some(), has_tls);
    }

    #[test]
    fn certificates_are_read_for_https_only() {
        check_clients("http://box/v1", true, false);
        check_clients("https://box/v1", false, true);
    }

    #[test]
    fn causes_are_told_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer: middle")]
        struct Outer(#[source] Middle);
        #[derive(Debug, thiserror::Error)]
        #[error("middle")]
        struct Middle(#[source] io::Error);
        let error = Outer(Middle(io::Error::other("inner")));
        assert_eq!(with_causes(&error), "outer: middle: inner");
    }
}
