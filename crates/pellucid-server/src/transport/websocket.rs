//! Many clients over WebSockets on this machine, a message to a text frame.
//!
//! A client must show the server's token: in the header `authorization: Bearer TOKEN`, or as `?token=TOKEN` if it
//! cannot set headers. A connection without the token takes no client's place, and is closed soon.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use futures_util::SinkExt;
use futures_util::StreamExt;
use pellucid_protocol::secret::Secret;
use pellucid_tasks::Task;
use pellucid_tasks::Tasks;
use pellucid_tasks::contained;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::Semaphore;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::ErrorResponse;
use tokio_tungstenite::tungstenite::handshake::server::Request;
use tokio_tungstenite::tungstenite::handshake::server::Response;
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::connection::Connection;
use crate::connection::Queue;
use crate::connection::TOO_SLOW;
use crate::server::Server;
use crate::transport::stdio::MESSAGE_BYTES_MAX;

/// How long no client is accepted after the system refused a connection, which happens when there are too many.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a client that is disconnected may take to read the reason.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// An address at which clients can connect.
#[derive(Debug)]
pub struct WebSocketListener {
    listener: TcpListener,
    token: Secret,
    limits: Limits,
}

/// How much clients without a token can take up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How many clients may be connected at once.
    pub clients_max: usize,
    /// How many clients may be in the handshake at once. When one more comes, the oldest is disconnected.
    pub strangers_max: usize,
    /// How long a handshake may take.
    pub handshake: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { clients_max: 64, strangers_max: 128, handshake: Duration::from_secs(5) }
    }
}

impl WebSocketListener {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the address is taken.
    pub async fn bind(address: SocketAddr, token: Secret) -> io::Result<Self> {
        Self::bind_within(address, token, Limits::default()).await
    }

    pub(crate) async fn bind_within(address: SocketAddr, token: Secret, limits: Limits) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, token, limits })
    }

    /// The address at which the server listens.
    ///
    /// # Errors
    /// When the system does not report it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves clients until the process ends.
    pub async fn serve(self, server: Arc<Server>) {
        let door = Arc::new(Door {
            token: self.token,
            places: Arc::new(Semaphore::new(self.limits.clients_max)),
            clients_max: self.limits.clients_max,
        });
        // Connections that have not shown their token yet, the oldest first.
        let mut strangers: VecDeque<Task<()>> = VecDeque::new();
        let clients = Arc::new(Tasks::default());
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a client could not connect");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            strangers.retain(|stranger| !stranger.is_finished());
            while strangers.len() >= self.limits.strangers_max
                && let Some(oldest) = strangers.pop_front()
            {
                drop(oldest);
            }
            let (server, door, time) = (server.clone(), door.clone(), self.limits.handshake);
            let clients = clients.clone();
            let greeting = Task::spawn("greeting a client", async move {
                match tokio::time::timeout(time, door.greet(stream)).await {
                    // A client that has shown its token gets a separate task, so that it is not disconnected as the
                    // oldest stranger.
                    Ok(Ok((socket, place))) => clients.spawn("serving a client", serve_client(server, socket, place)),
                    Ok(Err(error)) => tracing::debug!(%error, "refused a client"),
                    Err(_) => tracing::debug!("a client did not show its token in time"),
                }
            });
            strangers.push_back(greeting);
        }
    }
}

/// Decides which connections are accepted: it checks tokens and limits.
#[derive(Debug)]
struct Door {
    token: Secret,
    places: Arc<Semaphore>,
    clients_max: usize,
}

/// The permit of a connected client.
type Place = Option<OwnedSemaphorePermit>;

impl Door {
    /// Accepts a client that has shown the token.
    async fn greet(&self, stream: TcpStream) -> Result<(WebSocketStream<TcpStream>, Place), tungstenite::Error> {
        let taken: Mutex<Place> = Mutex::default();
        #[expect(clippy::result_large_err, reason = "the type of the library")]
        let check = |request: &Request, response: Response| match self.place(request) {
            Ok(place) => {
                *taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
                Ok(response)
            }
            Err((status, why)) => {
                let mut refused = ErrorResponse::new(Some(format!("{why}\n")));
                *refused.status_mut() = status;
                Err(refused)
            }
        };
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        let socket = tokio_tungstenite::accept_hdr_async_with_config(stream, check, Some(config)).await?;
        Ok((socket, taken.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    /// A permit for a client, or the reason why the client is refused.
    fn place(&self, request: &Request) -> Result<OwnedSemaphorePermit, (StatusCode, String)> {
        let forbidden = |why: &str| Err((StatusCode::FORBIDDEN, why.to_owned()));
        if request.headers().contains_key("origin") {
            return forbidden("pages of browsers are not served: the request has the header `origin`");
        }
        let host = request.headers().get("host").and_then(|value| value.to_str().ok());
        if !host.is_some_and(is_this_machine) {
            return forbidden("the header `host` does not name a loopback address of this machine");
        }
        if !is_known(request, &self.token) {
            return Err((StatusCode::UNAUTHORIZED, "the server's token is missing or wrong".to_owned()));
        }
        self.places.clone().try_acquire_owned().map_err(|_| {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{} clients are connected, which is the limit", self.clients_max))
        })
    }
}

/// Whether a request with this `Host` header can only have meant this machine. A web page whose name resolves to this
/// machine has another host.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(address, _)| address),
        None => host.split(':').next(),
    };
    name.is_some_and(|name| {
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

async fn serve_client(server: Arc<Server>, socket: WebSocketStream<TcpStream>, place: Place) {
    let (sink, incoming) = socket.split();
    let (connection, outgoing) = server.connect();
    let writer = Task::spawn("writing to a client", write(outgoing, sink));
    let _is_logged = contained("reading from a client", listen(&server, &connection, incoming)).await;
    server.disconnect(&connection).await;
    let is_given_up = connection.is_given_up();
    drop(connection);
    if is_given_up {
        // The client may never read the last message.
        let _ = tokio::time::timeout(LAST_WORDS, writer).await;
    } else {
        let _ = writer.await;
    }
    drop(place);
}

/// Handles the messages of a client until it disconnects or is given up.
async fn listen(
    server: &Arc<Server>,
    connection: &Arc<Connection>,
    mut incoming: impl StreamExt<Item = Result<Message, tungstenite::Error>> + Unpin,
) {
    loop {
        let message = tokio::select! {
            biased;
            () = connection.given_up() => return,
            message = incoming.next() => message,
        };
        match message {
            Some(Ok(Message::Text(text))) => server.receive(connection, text.as_bytes()).await,
            // The library answers pings.
            Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Close(_)) | Err(_)) | None => return,
        }
    }
}

async fn write(mut outgoing: Queue, mut sink: impl SinkExt<Message> + Unpin) {
    while let Some(message) = outgoing.recv().await {
        // Messages are JSON written by this crate, so they are always text.
        let Ok(text) = message.try_into() else { continue };
        if sink.send(Message::Text(text)).await.is_err() {
            while outgoing.recv().await.is_some() {}
            return;
        }
    }
    if outgoing.is_given_up() {
        let why = CloseFrame { code: CloseCode::Policy, reason: TOO_SLOW.into() };
        let _gone = sink.send(Message::Close(Some(why))).await;
    }
    let _gone = sink.close().await;
}

/// Whether a client knows the token. The comparison takes equally long for every wrong token.
fn is_known(request: &Request, token: &Secret) -> bool {
    let header = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let header = header.and_then(|value| value.strip_prefix("Bearer "));
    let query = request.uri().query().unwrap_or_default();
    let query = query.split('&').find_map(|pair| pair.strip_prefix("token="));
    let is_same = |given: &str| {
        let (given, token) = (given.as_bytes(), token.reveal().as_bytes());
        given.len() == token.len() && given.iter().zip(token).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    };
    header.or(query).is_some_and(is_same)
}
