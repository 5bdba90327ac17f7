//! A model behind a provider, or the embedded scripted one.
//!
//! Both return the same [`Reply`]: first the events of the response's headers, then those of its stream, up to
//! [`ReplyEvent::Completed`] or the first error. A dropped reply cancels its request.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::HeaderValue;
use http::header::ACCEPT;
use http::header::CONTENT_ENCODING;
use http::header::CONTENT_TYPE;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::usage::TokenUsage;
use reqwest::Response;
use serde::Deserialize;
use tokio::time::Instant;
use tokio::time::timeout;
use tokio::time::timeout_at;

use crate::budget::Budget;
use crate::budget::Ticket;
use crate::compression;
use crate::compression::Compression;
use crate::decoder::Decoder;
use crate::embeddings;
use crate::endpoint::Endpoint;
use crate::overflow;
use crate::recording::Listener;
use crate::recording::Recorder;
use crate::recording::Tape;
use crate::redactor::Redactor;
use crate::response_headers;
use crate::responses;
use crate::script::Played;
use crate::script::Script;
use crate::socket::SocketAsk;
use crate::socket::SocketStream;
use crate::socket::Sockets;
use crate::socket::Way;
use crate::sse;
use crate::transport::Attempts;
use crate::transport::Transport;
use crate::transport::with_causes;
use pellucid_protocol::secret::Secret;

/// The explanation for people when the response is a web page.
const PAGE: &str = "the server answered with a web page in place of a reply; check the provider's base_url";

/// The size limit of a provider's summary in bytes.
const SUMMARY_BYTES_MAX: usize = 64 << 20;

/// A model that can be asked. Clones are the same model.
#[derive(Debug, Clone)]
pub struct Model {
    kind: Kind,
    recorder: Option<Recorder>,
    budget: Budget,
}

#[derive(Debug, Clone)]
enum Kind {
    Http {
        transport: Transport,
        /// Invalid settings are reported by the first request, not before.
        endpoint: Arc<Result<Endpoint, ReplyError>>,
        compression: Compression,
        sockets: Sockets,
    },
    Scripted {
        script: Arc<Script>,
        n_asked: Arc<AtomicUsize>,
        /// How many requests got a reply because it was its turn.
        n_in_turn: Arc<AtomicUsize>,
    },
}

/// A history that the provider summarised.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderSummary {
    /// The items that replace the history.
    pub items: Vec<Item>,
    /// The token usage, if the provider reports it.
    pub usage: Option<TokenUsage>,
}

/// A request to the model.
#[derive(Debug, Default)]
pub struct Ask {
    /// The body in shared segments.
    pub body: Vec<Bytes>,
    /// Headers beyond those of the provider and of the wire.
    pub headers: Vec<(String, String)>,
    /// How the request may go over a WebSocket, if it may.
    pub socket: Option<SocketAsk>,
    /// The ticket that [`Model::admit`] returned; without one the request is admitted when it is sent.
    pub ticket: Option<Ticket>,
    /// Where the attempts to send the request are noted.
    pub attempts: Attempts,
}

impl Model {
    /// A model behind a provider. `session_key` is used if the provider's settings have no key.
    pub fn http(
        transport: Transport,
        provider: &Provider,
        session_key: Option<Secret>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let endpoint = Arc::new(Endpoint::resolve(provider, session_key, env));
        let (compression, sockets) = (Compression::None, Sockets::default());
        let kind = Kind::Http { transport, endpoint, compression, sockets };
        Self { kind, recorder: None, budget: Budget::default() }
    }

    /// The embedded model that plays a script.
    pub fn scripted(script: Script) -> Self {
        let kind = Kind::Scripted { script: Arc::new(script), n_asked: Arc::default(), n_in_turn: Arc::default() };
        Self { kind, recorder: None, budget: Budget::default() }
    }

    /// The same model, limited by a budget.
    #[must_use]
    pub fn within(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// The budget of the model. Clones of a model share what is spent.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Admits a request to a model of this name that has at least `least` tokens.
    ///
    /// # Errors
    ///
    /// When the request cannot be sent: the settings are invalid, there is no key, or a limit is reached.
    pub fn admit(&self, model: &str, least: u64) -> Result<Ticket, ReplyError> {
        if let Kind::Http { endpoint, .. } = &self.kind {
            usable(endpoint)?;
        }
        self.budget.admit(model, least)
    }

    /// The same model, with this compression of request bodies.
    #[must_use]
    pub fn compressing(mut self, how: Compression) -> Self {
        if let Kind::Http { compression, .. } = &mut self.kind {
            *compression = how;
        }
        self
    }

    /// The same model, with its replies recorded on a tape.
    #[must_use]
    pub fn recorded(self, tape: &Tape) -> Self {
        Self { recorder: Some(Recorder::new(tape.clone(), self.redactor())), ..self }
    }

    /// The same model with separate connections, for a session that runs concurrently.
    #[must_use]
    pub fn beside(&self) -> Self {
        let mut model = self.clone();
        if let Kind::Http { sockets, .. } = &mut model.kind {
            *sockets = Sockets::default();
        }
        model
    }

    /// Uses no WebSocket from now on.
    pub fn leave_socket(&self) {
        if let Kind::Http { sockets, .. } = &self.kind {
            sockets.leave();
        }
    }

    /// Closes the connection that is kept for further requests of a turn.
    pub fn end_turn(&self) {
        if let Kind::Http { sockets, .. } = &self.kind {
            sockets.rest();
        }
    }

    /// Blanks the provider's secrets. All texts of servers and connections pass through it before they are shown,
    /// because servers repeat keys that they refuse.
    fn redactor(&self) -> Arc<Redactor> {
        match &self.kind {
            Kind::Http { endpoint, .. } => {
                Result::as_ref(endpoint).map(|endpoint| endpoint.redactor().clone()).unwrap_or_default()
            }
            Kind::Scripted { .. } => Arc::default(),
        }
    }

    /// Whether a value is the key of the requests.
    pub fn is_key(&self, value: &str) -> bool {
        match &self.kind {
            Kind::Http { endpoint, .. } => Result::as_ref(endpoint).is_ok_and(|endpoint| endpoint.is_key(value)),
            Kind::Scripted { .. } => false,
        }
    }

    /// Sends a request and waits until a reply begins.
    ///
    /// # Errors
    ///
    /// When no reply begins: the settings are invalid, the provider refuses, or the connection fails for good.
    pub async fn ask(&self, request: Ask) -> Result<Reply, ReplyError> {
        let redactor = self.redactor();
        let reply = self.begin(request).await;
        let reply = reply.map_err(|error| redactor.error(error)).map(|reply| Reply { redactor, ..reply });
        match (&self.recorder, reply) {
            (None, reply) => reply,
            (Some(recorder), Ok(reply)) => Ok(Reply { listener: Some(recorder.listen()), ..reply }),
            (Some(recorder), Err(error)) => {
                recorder.failed(&error);
                Err(error)
            }
        }
    }

    async fn begin(&self, mut request: Ask) -> Result<Reply, ReplyError> {
        let mut ticket = request.ticket.take().map_or_else(|| self.admit("", 0), Ok)?;
        match self.connect(request, &ticket).await {
            Ok(reply) => Ok(Reply { ticket: Some(ticket), ..reply }),
            Err(error) => {
                ticket.refund();
                Err(error)
            }
        }
    }

    async fn connect(&self, request: Ask, ticket: &Ticket) -> Result<Reply, ReplyError> {
        match &self.kind {
            Kind::Http { transport, endpoint, compression, sockets } => {
                let endpoint = usable(endpoint)?;
                if let Some(ask) =
                    request.socket.as_ref().filter(|_| sockets.are_used() && endpoint.wire() == WireApi::Responses)
                {
                    let way = Way { transport, endpoint, headers: &request.headers };
                    if let Some(stream) = sockets.ask(&way, ask, &request.body).await? {
                        return Ok(Reply::new(endpoint.wire(), stream.head_events(), Source::Socket(Box::new(stream))));
                    }
                }
                let mut headers = endpoint.request_headers(&request.headers);
                let body = compress(*compression, request.body, &mut headers)?;
                let sent = transport.send(endpoint, &headers, body, ticket, &request.attempts).await;
                let response = sent.map_err(|error| overflow::recognised(endpoint.wire(), error))?;
                let events = response_headers::events(response.headers());
                let content_type = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
                let stream = HttpStream {
                    is_page: content_type.is_some_and(|it| it.to_ascii_lowercase().starts_with(b"text/html")),
                    transport: transport.clone(),
                    response,
                    decoder: sse::SseDecoder::with_limits(transport.stream_limits()),
                    idle_timeout: endpoint.idle_timeout(),
                    silent_until: None,
                };
                Ok(Reply::new(endpoint.wire(), events, Source::Http(Box::new(stream))))
            }
            Kind::Scripted { script, n_asked, n_in_turn } => {
                let number = n_asked.fetch_add(1, Ordering::Relaxed) + 1;
                let matching = script.matching(&request.body);
                let turn = match matching {
                    Some(_) => 0,
                    None => n_in_turn.fetch_add(1, Ordering::Relaxed) + 1,
                };
                let Played { events, payloads, error } = script.play(number, turn, matching).await?;
                Ok(Reply::new(
                    WireApi::Responses,
                    events,
                    Source::Scripted { payloads: payloads.into(), error: error.map(Box::new) },
                ))
            }
        }
    }
}

impl Model {
    /// Lets the provider summarise a history, and returns the items that replace it.
    ///
    /// # Errors
    ///
    /// When the provider refuses or its response cannot be read, and when a script has no summary here.
    pub async fn compact(&self, request: Ask) -> Result<ProviderSummary, ReplyError> {
        let summary = self.summarise(request).await.map_err(|error| self.redactor().error(error));
        if let Some(recorder) = &self.recorder {
            recorder.summarised(&summary);
        }
        summary
    }

    async fn summarise(&self, mut request: Ask) -> Result<ProviderSummary, ReplyError> {
        let mut ticket = request.ticket.take().map_or_else(|| self.admit("", 0), Ok)?;
        let (transport, endpoint) = match &self.kind {
            Kind::Http { transport, endpoint, .. } => (transport, endpoint),
            Kind::Scripted { script, n_asked, n_in_turn } => {
                n_asked.fetch_add(1, Ordering::Relaxed);
                let items = script.play_summary(n_in_turn.fetch_add(1, Ordering::Relaxed) + 1).await?;
                return Ok(ProviderSummary { items, usage: None });
            }
        };
        let endpoint = usable(endpoint)?.for_compaction()?;
        let mut headers = endpoint.request_headers(&request.headers);
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        let response = match transport.send(&endpoint, &headers, request.body, &ticket, &request.attempts).await {
            Ok(response) => response,
            Err(error) => {
                ticket.refund();
                return Err(error);
            }
        };
        let body = read_whole(response, endpoint.idle_timeout()).await?;
        let summary: Summary = serde_json::from_slice(&body)
            .map_err(|error| ReplyError::stream(format!("the summary cannot be read: {error}")))?;
        let usage = summary.usage.map(TokenUsage::from);
        if let Some(usage) = &usage {
            ticket.settle(usage, None);
        }
        Ok(ProviderSummary { items: summary.output, usage })
    }
}

fn compress(how: Compression, body: Vec<Bytes>, headers: &mut HeaderMap) -> Result<Vec<Bytes>, ReplyError> {
    match how {
        Compression::None => Ok(body),
        Compression::Zstd => {
            let frame = compression::zstd(&body).map_err(|error| {
                ReplyError::new(ReplyErrorKind::Local, format!("the request cannot be compressed: {error}"))
            })?;
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("zstd"));
            Ok(vec![frame])
        }
    }
}

impl Model {
    /// Asks the provider for the vectors of texts, in their order.
    ///
    /// # Errors
    ///
    /// When the provider refuses or its response cannot be read. The embedded model has no vectors.
    pub async fn embed(
        &self,
        model: &str,
        texts: &[String],
        headers: &[(String, String)],
        attempts: &Attempts,
    ) -> Result<Vec<Vec<f32>>, ReplyError> {
        self.vectors(model, texts, headers, attempts).await.map_err(|error| self.redactor().error(error))
    }

    /// The body of the request for the vectors of texts.
    pub fn vectors_body(model: &str, texts: &[String]) -> Bytes {
        embeddings::body(model, texts)
    }

    async fn vectors(
        &self,
        model: &str,
        texts: &[String],
        headers: &[(String, String)],
        attempts: &Attempts,
    ) -> Result<Vec<Vec<f32>>, ReplyError> {
        let Kind::Http { transport, endpoint, .. } = &self.kind else {
            let message = "the embedded model makes no vectors; write `vectors = \"lexical\"` under [memory]";
            return Err(ReplyError::new(ReplyErrorKind::Local, message));
        };
        let endpoint = usable(endpoint)?.for_embeddings()?;
        let mut headers = endpoint.request_headers(headers);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        // A text has at least one token.
        let ticket = self.admit(model, texts.len() as u64)?;
        let body = vec![embeddings::body(model, texts)];
        let response = transport.send(&endpoint, &headers, body, &ticket, attempts).await?;
        let body = read_whole(response, endpoint.idle_timeout()).await?;
        embeddings::vectors(&body, texts.len()).map_err(|error| ReplyError::new(ReplyErrorKind::InvalidRequest, error))
    }
}

/// The endpoint, if its settings are valid and a request may succeed.
fn usable(endpoint: &Result<Endpoint, ReplyError>) -> Result<&Endpoint, ReplyError> {
    endpoint.as_ref().map_err(ReplyError::clone)?.ready()
}

/// The response of a provider that summarises.
#[derive(Deserialize)]
struct Summary {
    output: Vec<Item>,
    #[serde(default)]
    usage: Option<responses::Usage>,
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
    /// The error to report after all ready events.
    failed: Option<ReplyError>,
    source: Source,
    listener: Option<Listener>,
    redactor: Arc<Redactor>,
    ticket: Option<Ticket>,
    /// The tokens that the provider reports to have written to its cache.
    cache_write: Option<i64>,
}

#[derive(Debug)]
enum Source {
    Http(Box<HttpStream>),
    Socket(Box<SocketStream>),
    Scripted {
        payloads: VecDeque<String>,
        /// The error that ends the reply, unless an event ends it.
        error: Option<Box<ReplyError>>,
    },
    /// The reply is completed or interrupted.
    Over,
}

#[derive(Debug)]
struct HttpStream {
    transport: Transport,
    response: Response,
    decoder: sse::SseDecoder,
    idle_timeout: Duration,
    /// Whether the content type of the response is a web page's.
    is_page: bool,
    /// When the stream counts as silent. Kept across calls, so that a caller who stops waiting and comes back does not
    /// restart the wait.
    silent_until: Option<Instant>,
}

impl Reply {
    fn new(wire: WireApi, events: Vec<ReplyEvent>, source: Source) -> Self {
        let server_model = events.iter().find_map(|event| match event {
            ReplyEvent::ServerModel(model) => Some(model.clone()),
            _ => None,
        });
        Self {
            ready: events.into(),
            decoder: Decoder::new(wire, server_model),
            failed: None,
            source,
            listener: None,
            redactor: Arc::default(),
            ticket: None,
            cache_write: None,
        }
    }

    /// The next event; `None` after [`ReplyEvent::Completed`] or an error.
    ///
    /// A call that is dropped while it waits loses nothing.
    pub async fn next(&mut self) -> Option<Result<ReplyEvent, ReplyError>> {
        let next = self.advance().await.map(|next| next.map_err(|error| self.redactor.error(error)));
        match (&mut self.ticket, &next) {
            (_, Some(Ok(ReplyEvent::CacheWritten(tokens)))) => self.cache_write = Some(*tokens),
            (Some(ticket), Some(Ok(ReplyEvent::Completed { usage: Some(usage), .. }))) => {
                ticket.settle(usage, self.cache_write);
            }
            _ => {}
        }
        if let (Some(listener), Some(next)) = (&mut self.listener, &next) {
            listener.hear(next);
        }
        next
    }

    async fn advance(&mut self) -> Option<Result<ReplyEvent, ReplyError>> {
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
                Source::Socket(stream) => match &mut self.decoder {
                    Decoder::Responses(decoder) => match stream.advance(decoder, &mut self.ready).await {
                        Ok(()) => continue,
                        Err(error) => Err(error),
                    },
                    Decoder::Chat(_) | Decoder::Messages(_) => {
                        Err(ReplyError::new(ReplyErrorKind::Local, "a WebSocket carries the Responses wire only"))
                    }
                },
                Source::Scripted { payloads, error } => match (payloads.pop_front(), error.take()) {
                    (Some(payload), later) => {
                        *error = later;
                        Ok(Some(payload.into_bytes()))
                    }
                    (None, Some(error)) => Err(*error),
                    (None, None) => Ok(None),
                },
                Source::Over => return None,
            };
            match payload {
                Ok(Some(payload)) => self.failed = self.decoder.decode(&payload, &mut self.ready).err(),
                Ok(None) => {
                    let source = std::mem::replace(&mut self.source, Source::Over);
                    let failed = self.decoder.finish(&mut self.ready).err();
                    self.failed = match source {
                        Source::Http(stream) if stream.is_page => failed.map(|error| error.plainly(PAGE)),
                        _ => failed,
                    };
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
        match std::mem::replace(&mut self.source, Source::Over) {
            Source::Http(stream) => stream.transport.drain(stream.response),
            Source::Socket(stream) => stream.keep(),
            Source::Scripted { .. } | Source::Over => {}
        }
    }
}

impl HttpStream {
    /// The data of the next event of the stream, or `None` at its end.
    async fn next_payload(&mut self) -> Result<Option<Vec<u8>>, ReplyError> {
        loop {
            if let Some(payload) = self.decoder.next() {
                // Only events end a silence: keep-alive bytes of a server are not progress.
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
