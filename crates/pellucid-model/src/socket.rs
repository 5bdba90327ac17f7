//! Requests over a WebSocket that stays open for a turn.
//!
//! The server remembers requests and responses, so a request that only extends the one before is sent as the added
//! items. The handshake is an ordinary request of the HTTP client: certificates, proxies and headers are the same. If a
//! server refuses to upgrade, or the turn gives up on the WebSocket, HTTP is used from then on.
//!
//! - `frame`: decodes a frame of the server
//! - `message`: what is sent
//!
//! Not here: whether a session may use it (`pellucid-agent`), when to give up (the turn).

mod frame;
mod message;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::SinkExt;
use futures_util::StreamExt;
use http::HeaderMap;
use http::HeaderValue;
use http::StatusCode;
use http::header;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::reply::Via;
use reqwest::Upgraded;
use tokio::time::Instant;
use tokio::time::timeout;
use tokio::time::timeout_at;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::endpoint::Endpoint;
use crate::response_headers;
use crate::responses;
use crate::transport;
use crate::transport::Transport;
use crate::transport::with_causes;

/// How a request may go over a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketAsk {
    /// The version of the protocol.
    pub version: SocketVersion,
    /// The turn: each turn gets a separate connection.
    pub turn: Arc<str>,
    /// The request's number among those of the session, if later requests may extend it.
    pub number: Option<u64>,
    /// The part of the request that the server may know.
    pub known: Option<KnownPrefix>,
    /// Whether the server should send timing metrics.
    pub wants_timings: bool,
}

/// The versions of the WebSocket protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketVersion {
    /// A response that ended as appendable is extended.
    V1,
    /// A request names the response that it extends.
    V2,
}

impl SocketVersion {
    /// The header that announces the version in the handshake.
    fn beta_header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::V1 => "responses_websockets=2026-02-04",
            Self::V2 => "responses_websockets=2026-02-06",
        })
    }
}

/// The part of a request that a server knows from an earlier request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownPrefix {
    /// The number of the earlier request.
    pub number: u64,
    /// How many bytes of the items the server knows, if it returned `n_returned` items.
    pub bytes: usize,
    /// How many items the server must have returned.
    pub n_returned: usize,
}

/// The destination of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way<'a> {
    pub transport: &'a Transport,
    pub endpoint: &'a Endpoint,
    pub headers: &'a [(String, String)],
}

/// The WebSockets of a session: at most one waits for its next request. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sockets {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    is_left: AtomicBool,
    idle: Mutex<Option<Box<Idle>>>,
}

/// An open connection whose last response is complete, or that has not been used.
#[derive(Debug)]
struct Idle {
    socket: WebSocketStream<Upgraded>,
    version: SocketVersion,
    turn: Arc<str>,
    /// The events of the handshake's headers.
    head_events: Vec<ReplyEvent>,
    last: Option<Answered>,
}

/// The last response of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answered {
    number: u64,
    response_id: String,
    n_returned: usize,
    is_appendable: bool,
}

impl Sockets {
    pub(crate) fn are_used(&self) -> bool {
        !self.shared.is_left.load(Ordering::Relaxed)
    }

    /// Uses no WebSocket from now on.
    pub(crate) fn leave(&self) {
        self.shared.is_left.store(true, Ordering::Relaxed);
        self.rest();
    }

    /// Closes the idle connection, if there is one.
    pub(crate) fn rest(&self) {
        drop(self.idle().take());
    }

    /// Sends a request. Returns `None` if the server does not accept WebSockets.
    pub(crate) async fn ask(
        &self,
        way: &Way<'_>,
        ask: &SocketAsk,
        body: &[Bytes],
    ) -> Result<Option<SocketStream>, ReplyError> {
        let over_socket = |error| ReplyError { via: Via::WebSocket, ..error };
        let waiting = self.idle().take().filter(|idle| idle.turn == ask.turn && idle.version == ask.version);
        let mut connection = match waiting {
            Some(idle) => idle,
            None => match connect(way, ask).await.map_err(over_socket)? {
                Some(idle) => idle,
                None => {
                    self.leave();
                    return Ok(None);
                }
            },
        };
        let text = message::text(body, ask, connection.last.take().as_ref())?;
        let idle_timeout = way.endpoint.idle_timeout();
        match timeout(idle_timeout, connection.socket.send(Message::Text(text))).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(over_socket(ReplyError::stream(with_causes(&error)))),
            Err(_) => return Err(over_socket(ReplyError::stream("idle timeout waiting for websocket"))),
        }
        Ok(Some(SocketStream {
            sockets: self.clone(),
            connection,
            number: ask.number,
            n_returned: 0,
            answered: None,
            idle_timeout,
            silent_until: None,
        }))
    }

    fn idle(&self) -> MutexGuard<'_, Option<Box<Idle>>> {
        self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a connection, unless the server refuses WebSockets.
async fn connect(way: &Way<'_>, ask: &SocketAsk) -> Result<Option<Box<Idle>>, ReplyError> {
    let key = generate_key();
    let mut headers = way.endpoint.handshake_headers(way.headers);
    set_upgrade_headers(&mut headers, &key, ask)?;
    let response = way.transport.upgrade(way.endpoint, headers).await?;
    match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => {}
        StatusCode::UPGRADE_REQUIRED => return Ok(None),
        _ => {
            let address = way.endpoint.socket_address();
            return Err(transport::refused(response, way.endpoint, &address).await);
        }
    }
    let accepted = response.headers().get(header::SEC_WEBSOCKET_ACCEPT);
    if accepted.is_none_or(|accepted| accepted.as_bytes() != derive_accept_key(key.as_bytes()).as_bytes()) {
        return Err(ReplyError::stream("the server's answer is not that of a websocket"));
    }
    let head_events = response_headers::events(response.headers());
    // Over a WebSocket, events report the rate limits.
    let head_events = head_events.into_iter().filter(|event| !matches!(event, ReplyEvent::RateLimits(_))).collect();
    let upgraded = response.upgrade().await.map_err(|error| ReplyError::stream(with_causes(&error)))?;
    let limit = way.transport.stream_limits().event_bytes_max;
    let config = WebSocketConfig::default().max_message_size(Some(limit)).max_frame_size(Some(limit));
    let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
    let (version, turn) = (ask.version, Arc::clone(&ask.turn));
    Ok(Some(Box::new(Idle { socket, version, turn, head_events, last: None })))
}

fn set_upgrade_headers(headers: &mut HeaderMap, key: &str, ask: &SocketAsk) -> Result<(), ReplyError> {
    let key = HeaderValue::from_str(key).map_err(|error| ReplyError::stream(with_causes(&error)))?;
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    headers.insert(header::SEC_WEBSOCKET_KEY, key);
    headers.insert("openai-beta", ask.version.beta_header());
    if ask.wants_timings {
        headers.insert("x-responsesapi-include-timing-metrics", HeaderValue::from_static("true"));
    }
    Ok(())
}

/// A reply that comes in over a WebSocket.
#[derive(Debug)]
pub(crate) struct SocketStream {
    sockets: Sockets,
    connection: Box<Idle>,
    number: Option<u64>,
    n_returned: usize,
    answered: Option<Answered>,
    idle_timeout: Duration,
    /// When the stream counts as silent, kept across calls.
    silent_until: Option<Instant>,
}

impl SocketStream {
    /// The events of the handshake's headers, which apply to every reply of the connection.
    pub(crate) fn head_events(&self) -> Vec<ReplyEvent> {
        self.connection.head_events.clone()
    }

    /// Waits for a frame and appends its events. After an error the connection is unusable.
    pub(crate) async fn advance(
        &mut self,
        decoder: &mut responses::ResponsesDecoder,
        events: &mut VecDeque<ReplyEvent>,
    ) -> Result<(), ReplyError> {
        let n_before = events.len();
        let frame = match self.next_frame().await {
            Ok(frame) => frame::read(&frame, decoder, events),
            Err(error) => Err(error),
        };
        if let Err(error) = frame {
            // Closes as far as possible without waiting: if the caller stops waiting, the error must not be lost.
            drop(self.connection.socket.close(None).now_or_never());
            return Err(ReplyError { via: Via::WebSocket, ..error });
        }
        for event in events.iter().skip(n_before) {
            match event {
                ReplyEvent::ItemDone(_) => self.n_returned += 1,
                ReplyEvent::Completed { response_id, .. } => {
                    let (n_returned, is_appendable) = (self.n_returned, decoder.is_appendable());
                    let response_id = response_id.clone();
                    self.answered =
                        self.number.map(|number| Answered { number, response_id, n_returned, is_appendable });
                }
                _ => {}
            }
        }
        Ok(())
    }

    async fn next_frame(&mut self) -> Result<Bytes, ReplyError> {
        loop {
            let silent_until = *self.silent_until.get_or_insert_with(|| Instant::now() + self.idle_timeout);
            match timeout_at(silent_until, self.connection.socket.next()).await {
                Ok(Some(Ok(Message::Text(text)))) => {
                    self.silent_until = None;
                    return Ok(text.into());
                }
                Ok(Some(Ok(Message::Binary(_)))) => {
                    return Err(ReplyError::stream("unexpected binary websocket event"));
                }
                Ok(Some(Ok(Message::Close(_)))) => {
                    return Err(ReplyError::stream("websocket closed by server before response.completed"));
                }
                // The library answers pings; neither pings nor pongs end a silence.
                Ok(Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)))) => {}
                Ok(Some(Err(error))) => return Err(ReplyError::stream(with_causes(&error))),
                Ok(None) => return Err(ReplyError::stream("stream closed before response.completed")),
                Err(_) => return Err(ReplyError::stream("idle timeout waiting for websocket")),
            }
        }
    }

    /// Keeps the connection of a complete reply for the next request of its turn.
    pub(crate) fn keep(self) {
        if !self.sockets.are_used() {
            return;
        }
        let mut connection = self.connection;
        connection.last = self.answered;
        *self.sockets.idle() = Some(connection);
    }
}

#[cfg(test)]
mod tests;
