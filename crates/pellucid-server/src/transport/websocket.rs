//! Many clients over WebSockets on this machine, a message to a text frame.
//!
//! A client has to know the token that the server printed when it began: in the header
//! `authorization: Bearer TOKEN`, or as `?token=TOKEN` for pages, which cannot set headers.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::SinkExt;
use futures_util::StreamExt;
use pellucid_protocol::secret::Secret;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::ErrorResponse;
use tokio_tungstenite::tungstenite::handshake::server::Request;
use tokio_tungstenite::tungstenite::handshake::server::Response;
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::server::Server;
use crate::transport::stdio::MESSAGE_BYTES_MAX;

/// How many clients may be connected at once.
const CLIENTS_MAX: usize = 64;

/// A place where clients can connect.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    token: Secret,
}

impl Listener {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the address is taken.
    pub async fn bind(address: SocketAddr, token: Secret) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, token })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves clients until the process ends.
    ///
    /// # Errors
    /// When nobody can connect any more.
    pub async fn serve(self, server: Arc<Server>) -> io::Result<()> {
        let token = Arc::new(self.token);
        let places = Arc::new(tokio::sync::Semaphore::new(CLIENTS_MAX));
        loop {
            // Those that come when all places are taken wait until one is free.
            let Ok(place) = places.clone().acquire_owned().await else { return Ok(()) };
            let (stream, _) = self.listener.accept().await?;
            let (server, token) = (server.clone(), token.clone());
            tokio::spawn(async move {
                if let Err(error) = serve_client(server, stream, &token).await {
                    tracing::debug!(%error, "a client did not get in");
                }
                drop(place);
            });
        }
    }
}

async fn serve_client(
    server: Arc<Server>,
    stream: TcpStream,
    token: &Secret,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    #[expect(clippy::result_large_err, reason = "the type of the library")]
    let check = |request: &Request, response: Response| {
        if is_known(request, token) {
            return Ok(response);
        }
        let mut refused =
            ErrorResponse::new(Some("the token that the server printed is missing or wrong\n".to_owned()));
        *refused.status_mut() = StatusCode::UNAUTHORIZED;
        Err(refused)
    };
    let config =
        WebSocketConfig::default().max_message_size(Some(MESSAGE_BYTES_MAX)).max_frame_size(Some(MESSAGE_BYTES_MAX));
    let socket = tokio_tungstenite::accept_hdr_async_with_config(stream, check, Some(config)).await?;
    let (sink, mut incoming) = socket.split();
    let (connection, outgoing) = server.connect();
    let writer = tokio::spawn(write(outgoing, sink));
    while let Some(Ok(message)) = incoming.next().await {
        match message {
            Message::Text(text) => server.receive(&connection, text.as_bytes()).await,
            Message::Close(_) => break,
            // Pings are answered by the library.
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    }
    server.disconnect(&connection).await;
    drop(connection);
    let _ = writer.await;
    Ok(())
}

async fn write(mut outgoing: mpsc::Receiver<Bytes>, mut sink: impl SinkExt<Message> + Unpin) {
    while let Some(message) = outgoing.recv().await {
        // Messages are JSON of our own making.
        let Ok(text) = message.try_into() else { continue };
        if sink.send(Message::Text(text)).await.is_err() {
            while outgoing.recv().await.is_some() {}
            return;
        }
    }
    let _gone = sink.close().await;
}

/// Whether a client knows the token. It takes as long whatever is wrong with it.
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
