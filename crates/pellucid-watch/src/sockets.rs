//! WebSockets: once both sides have changed the protocol, bytes are forwarded in both directions, and their messages are recorded.

use std::sync::Arc;
use std::sync::Weak;

use http::HeaderMap;
use http::Method;
use http::Response;
use http::StatusCode;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;

use crate::frames::FrameReader;
use crate::held::HeldBytes;
use crate::proxy::ForwardTo;
use crate::proxy::Inside;
use crate::tee::AnswerBody;
use crate::tee::AnswerCopy;

/// How many bytes are forwarded at once.
const PIECE_BYTES: usize = 16 << 10;

/// What a message counts for at least, so that very many short ones are bounded too.
const MESSAGE_BYTES_MIN: usize = 64;

/// Forwards a WebSocket in both directions, once both sides have changed the protocol.
pub fn switched(
    inside: &Arc<Inside>,
    to: &ForwardTo,
    path: &str,
    head: &http::request::Parts,
    response: reqwest::Response,
    on_upgrade: OnUpgrade,
) -> Response<AnswerBody> {
    let mut answer = Response::new(AnswerBody::Own(None));
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *answer.headers_mut() = response.headers().clone();
    let socket = SocketRecord {
        inside: Arc::downgrade(inside),
        slot: to.service.slot.clone(),
        path: path.to_owned(),
        method: head.method.clone(),
        headers: head.headers.clone(),
        asked: None,
        answers: Vec::new(),
        held: inside.holds(),
    };
    inside.sockets.spawn("watch: socket", async move {
        let (Ok(command), Ok(upstream)) = (on_upgrade.await, response.upgrade().await) else {
            return;
        };
        forward_socket(TokioIo::new(command), upstream, socket).await;
    });
    answer
}

/// What of a WebSocket is recorded: every message of the command is a request, what the server sends until the next is its
/// answer.
struct SocketRecord {
    inside: Weak<Inside>,
    slot: String,
    path: String,
    method: Method,
    headers: HeaderMap,
    asked: Option<AnswerCopy>,
    /// The messages of the server since then.
    answers: Vec<Vec<u8>>,
    held: HeldBytes,
}

impl SocketRecord {
    async fn asks(&mut self, message: Vec<u8>) {
        self.settle();
        let Some(inside) = self.inside.upgrade() else {
            return;
        };
        let Some(to) = inside.service(&self.slot) else {
            return;
        };
        let mut held = inside.holds();
        if !held.add(message.len()) {
            return;
        }
        let head = (&self.method, &self.headers);
        self.asked = inside.note(inside.next_exchange(), to, &self.path, head, (message.into(), held)).await;
        if let Some(asked) = &mut self.asked {
            asked.head(StatusCode::SWITCHING_PROTOCOLS.as_u16(), None);
        }
    }

    fn answers(&mut self, message: Vec<u8>) {
        let is_last =
            [&b"\"response.completed\""[..], b"\"response.failed\"", b"\"response.done\"", b"\"response.incomplete\""]
                .iter()
                .any(|kind| memchr::memmem::find(&message, kind).is_some());
        // What nothing asked for, and what is too much to hold, is forwarded only.
        if self.asked.is_some() && self.held.add(message.len().max(MESSAGE_BYTES_MIN)) {
            self.answers.push(message);
        }
        if is_last {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let answers = std::mem::take(&mut self.answers);
        let held = self.held.none();
        let held = std::mem::replace(&mut self.held, held);
        if let Some(mut asked) = self.asked.take()
            && !answers.is_empty()
        {
            asked.messages(answers, held);
        }
    }
}

async fn forward_socket(
    command: impl AsyncRead + AsyncWrite + Unpin,
    upstream: impl AsyncRead + AsyncWrite + Unpin,
    mut record: SocketRecord,
) {
    let (mut from_command, mut to_command) = tokio::io::split(command);
    let (mut from_upstream, mut to_upstream) = tokio::io::split(upstream);
    let (mut asked, mut answered) = (FrameReader::default(), FrameReader::default());
    let (mut one, mut two) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
    loop {
        tokio::select! {
            read = from_command.read(&mut one) => {
                let Ok(n @ 1..) = read else { break };
                if to_upstream.write_all(&one[..n]).await.is_err() || to_upstream.flush().await.is_err() {
                    break;
                }
                for message in asked.push(&one[..n]) {
                    record.asks(message).await;
                }
            }
            read = from_upstream.read(&mut two) => {
                let Ok(n @ 1..) = read else { break };
                if to_command.write_all(&two[..n]).await.is_err() || to_command.flush().await.is_err() {
                    break;
                }
                for message in answered.push(&two[..n]) {
                    record.answers(message);
                }
            }
        }
    }
    record.settle();
    drop((to_upstream.shutdown().await, to_command.shutdown().await));
}
