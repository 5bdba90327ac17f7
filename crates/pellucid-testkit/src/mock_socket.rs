//! The server's side of a WebSocket: receives messages, sends what the script has, and fails on cue.

use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;

use serde_json::Value;
use tungstenite::Message;
use tungstenite::WebSocket;
use tungstenite::protocol::Role;

/// What a server does with a client that wants a WebSocket.
#[derive(Debug, Clone)]
pub struct MockSocket {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    rounds: VecDeque<Vec<Say>>,
}

/// One action of a server after a message.
#[derive(Debug, Clone)]
pub enum Say {
    /// Sends a value as text.
    Json(Value),
    /// Sends a text unchanged.
    Text(String),
    /// Sends a binary message.
    Binary(Vec<u8>),
    /// Sends a ping, and waits for the client's pong.
    Ping,
    /// Closes the WebSocket properly.
    Close,
    /// Drops the connection without closing it.
    Drop,
}

impl MockSocket {
    /// A connection that answers each message with the next round, then falls silent.
    pub fn open(rounds: impl IntoIterator<Item = Vec<Say>>) -> Self {
        Self { status: 101, headers: Vec::new(), rounds: rounds.into_iter().collect() }
    }

    /// Refuses the connection with this status.
    pub fn refused(status: u16) -> Self {
        Self { status, ..Self::open([]) }
    }

    /// Adds a header to the response of the handshake.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Plays the script until it or the client ends. `hear` is called with every text that comes in.
    pub(crate) fn talk(mut self, stream: &TcpStream, mut hear: impl FnMut(String)) -> io::Result<()> {
        let mut socket = WebSocket::from_raw_socket(stream, Role::Server, None);
        while let Ok(message) = socket.read() {
            let Message::Text(text) = message else { continue };
            hear(text.to_string());
            for say in self.rounds.pop_front().unwrap_or_default() {
                let sent = match say {
                    Say::Json(value) => socket.send(Message::text(value.to_string())),
                    Say::Text(text) => socket.send(Message::text(text)),
                    Say::Binary(bytes) => socket.send(Message::binary(bytes)),
                    Say::Ping => {
                        socket.send(Message::Ping("there?".into())).map_err(io::Error::other)?;
                        while !matches!(socket.read().map_err(io::Error::other)?, Message::Pong(_)) {}
                        hear("pong".to_owned());
                        continue;
                    }
                    Say::Close => socket.close(None).and_then(|()| socket.flush()),
                    Say::Drop => return Ok(()),
                };
                sent.map_err(io::Error::other)?;
            }
        }
        Ok(())
    }
}

/// The head of the response that opens a connection.
pub(crate) fn accepted(key: &str) -> String {
    let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: {accept}\r\n"
    )
}
