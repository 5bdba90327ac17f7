//! A model that can be asked: behind a server, or embedded and scripted.
//!
//! Both give the same [`Reply`]: first what the response's headers say, then what its stream says,
//! up to [`ReplyEvent::Completed`] or the first error. A dropped reply cancels its request.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::HeaderValue;
use http::header::ACCEPT;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use reqwest::Response;
use serde::Deserialize;
use tokio::time::Instant;
use tokio::time::timeout;
use tokio::time::timeout_at;

use crate::decoder::Decoder;
use crate::endpoint::Endpoint;
use crate::overflow;
use crate::response_headers;
use crate::script::Script;
use crate::sse;
use crate::transport::Transport;
use crate::transport::with_causes;
use pellucid_protocol::secret::Secret;

/// How long a provider's summary may be.
const SUMMARY_BYTES_MAX: usize = 64 << 20;

/// A model that can be asked. Clones are the same model.
#[derive(Debug, Clone)]
pub struct Model {
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Http {
        transport: Transport,
        /// Settings that do not work are told when somebody asks, not before.
        endpoint: Arc<Result<Endpoint, ReplyError>>,
    },
    Scripted {
        script: Arc<Script>,
        n_asked: Arc<AtomicUsize>,
    },
}

/// One request.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// The body in shared segments.
    pub body: Vec<Bytes>,
    /// Headers beyond those of the provider and of the wire.
    pub headers: Vec<(String, String)>,
}

impl Model {
    /// The model behind a provider. `session_key` is used where the provider brings no key.
    pub fn http(
        transport: Transport,
        provider: &Provider,
        session_key: Option<Secret>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let endpoint = Arc::new(Endpoint::resolve(provider, session_key, env));
        Self { kind: Kind::Http { transport, endpoint } }
    }

    /// The embedded model that plays a script.
    pub fn scripted(script: Script) -> Self {
        Self { kind: Kind::Scripted { script: Arc::new(script), n_asked: Arc::default() } }
    }

    /// Sends a request and waits until a reply begins.
    ///
    /// # Errors
    ///
    /// When none does: the settings do not work, the server refuses, the connection fails for good.
    pub async fn ask(&self, request: Ask) -> Result<Reply, ReplyError> {
        match &self.kind {
            Kind::Http { transport, endpoint } => {
                let endpoint = Result::as_ref(endpoint).map_err(ReplyError::clone)?;
                let headers = endpoint.request_headers(&request.headers);
                let sent = transport.send(endpoint, &headers, request.body).await;
                let response = sent.map_err(|error| overflow::recognised(endpoint.wire(), error))?;
                let events = response_headers::events(response.headers());
                let stream = HttpStream {
                    transport: transport.clone(),
                    response,
                    decoder: sse::Decoder::default(),
                    idle_timeout: endpoint.idle_timeout(),
                    silent_until: None,
                };
                Ok(Reply::new(endpoint.wire(), events, Source::Http(Box::new(stream))))
            }
            Kind::Scripted { script, n_asked } => {
                let number = n_asked.fetch_add(1, Ordering::Relaxed) + 1;
                let payloads = script.play(number).await?;
                let events = response_headers::events(&HeaderMap::new());
                Ok(Reply::new(WireApi::Responses, events, Source::Scripted(payloads.into())))
            }
        }
    }
}

impl Model {
    /// Has the provider summarise a history, and gives the items that take its place.
    ///
    /// # Errors
    ///
    /// When the provider refuses or answers something else, and for the embedded model, which
    /// cannot summarise.
    pub async fn compact(&self, request: Ask) -> Result<Vec<Item>, ReplyError> {
        let Kind::Http { transport, endpoint } = &self.kind else {
            return Err(ReplyError::new(ReplyErrorKind::Local, "the embedded model has no summaries of its own"));
        };
        let endpoint = Result::as_ref(endpoint).map_err(ReplyError::clone)?.for_compaction()?;
        let mut headers = endpoint.request_headers(&request.headers);
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        let response = transport.send(&endpoint, &headers, request.body).await?;
        let body = read_whole(response, endpoint.idle_timeout()).await?;
        let summary: Summary = serde_json::from_slice(&body)
            .map_err(|error| ReplyError::stream(format!("the summary cannot be read: {error}")))?;
        Ok(summary.output)
    }
}

/// The answer of a provider that summarises.
#[derive(Deserialize)]
struct Summary {
    output: Vec<Item>,
}

async fn read_whole(mut response: Response, idle_timeout: Duration) -> Result<Vec<u8>, ReplyError> {
    let mut body = Vec::new();
    loop {
        match timeout(idle_timeout, response.chunk()).await {
            Ok(Ok(Some(chunk))) if body.len() + chunk.len() <= SUMMARY_BYTES_MAX => body.extend_from_slice(&chunk),
            Ok(Ok(Some(_))) => return Err(ReplyError::stream("the summary is too long")),
            Ok(Ok(None)) => return Ok(body),
            Ok(Err(error)) => return Err(ReplyError::stream(with_causes(&error))),
            Err(_) => return Err(ReplyError::stream("idle timeout waiting for the summary")),
        }
    }
}

/// A reply that is coming in.
#[derive(Debug)]
pub struct Reply {
    ready: VecDeque<ReplyEvent>,
    decoder: Decoder,
    /// What the stream reported after all that is ready.
    failed: Option<ReplyError>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Http(Box<HttpStream>),
    Scripted(VecDeque<String>),
    /// Completed or broken off.
    Over,
}

#[derive(Debug)]
struct HttpStream {
    transport: Transport,
    response: Response,
    decoder: sse::Decoder,
    idle_timeout: Duration,
    /// When the stream counts as silent. Kept across calls, so that a caller who stops waiting and
    /// comes back does not start the wait anew.
    silent_until: Option<Instant>,
}

impl Reply {
    fn new(wire: WireApi, events: Vec<ReplyEvent>, source: Source) -> Self {
        let server_model = events.iter().find_map(|event| match event {
            ReplyEvent::ServerModel(model) => Some(model.clone()),
            _ => None,
        });
        Self { ready: events.into(), decoder: Decoder::new(wire, server_model), failed: None, source }
    }

    /// The next event; nothing after [`ReplyEvent::Completed`] or an error.
    ///
    /// A call that is dropped while it waits loses nothing.
    pub async fn next(&mut self) -> Option<Result<ReplyEvent, ReplyError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if matches!(event, ReplyEvent::Completed { .. }) {
                    self.close();
                }
                return Some(Ok(event));
            }
            if let Some(error) = self.failed.take() {
                self.source = Source::Over;
                return Some(Err(error));
            }
            let payload = match &mut self.source {
                Source::Http(stream) => stream.next_payload().await,
                Source::Scripted(payloads) => Ok(payloads.pop_front().map(String::into_bytes)),
                Source::Over => return None,
            };
            match payload {
                Ok(Some(payload)) => self.failed = self.decoder.decode(&payload, &mut self.ready).err(),
                Ok(None) => {
                    self.source = Source::Over;
                    self.failed = self.decoder.finish(&mut self.ready).err();
                }
                Err(error) => {
                    self.source = Source::Over;
                    return Some(Err(error));
                }
            }
        }
    }

    fn close(&mut self) {
        self.ready.clear();
        if let Source::Http(stream) = std::mem::replace(&mut self.source, Source::Over) {
            stream.transport.drain(stream.response);
        }
    }
}

impl HttpStream {
    /// The data of the next event of the stream, or nothing at its end.
    async fn next_payload(&mut self) -> Result<Option<Vec<u8>>, ReplyError> {
        loop {
            if let Some(payload) = self.decoder.next() {
                // Only events end a silence: a server that merely keeps the connection alive is
                // not getting anywhere.
                self.silent_until = None;
                return payload.map(Some).map_err(ReplyError::stream);
            }
            let silent_until = *self.silent_until.get_or_insert_with(|| Instant::now() + self.idle_timeout);
            match timeout_at(silent_until, self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => self.decoder.push(&chunk),
                Ok(Ok(None)) => return Ok(None),
                Ok(Err(error)) => {
                    let text = with_causes(&error);
                    return Err(ReplyError::stream(format_args!("Transport error: network error: {text}")));
                }
                Err(_) => return Err(ReplyError::stream("idle timeout waiting for SSE")),
            }
        }
    }
}

#[cfg(test)]
mod tests;
