//! The messages of a server that is a program: a line each, of a limited length.
//!
//! What cannot be a message ends the request that it was for, at once: a line that is too long, or that is no JSON-RPC
//! message. The request is the one whose id the line has; a line without an id belongs to the call that is open, if that is
//! the only request. Lines before the first call are passed over, because programs print what they like when they start.

mod scan;

use std::collections::BTreeMap;
use std::io;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::model::ClientNotification;
use rmcp::model::ClientRequest;
use rmcp::model::ErrorCode;
use rmcp::model::ErrorData;
use rmcp::model::NumberOrString;
use rmcp::model::RequestId;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::AsyncBufReadExt;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;
use tokio::io::BufReader;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio::time::sleep_until;

use self::scan::IdScan;

/// The code of errors that this client makes for an answer that cannot be used. No server can send it.
pub(crate) const FAULT: ErrorCode = ErrorCode(i32::MIN);

/// How long the rest of a line that is too long is counted before its size is reported as "more than".
const COUNTING: Duration = Duration::from_secs(1);

/// How many bytes are read at a time.
const READ: usize = 64 * 1024;

/// How much of a line that is no message is quoted.
const QUOTED: usize = 80;

/// The messages to and from a program.
pub(crate) struct Lines<R, W> {
    input: BufReader<R>,
    output: Arc<Mutex<Option<W>>>,
    max: usize,
    line: Vec<u8>,
    /// The line that is passed over, because it is too long.
    passing: Option<Passing>,
    /// The requests that have no answer yet.
    open: BTreeMap<i64, Kind>,
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The start of the server: a line without an id does not end it.
    Start,
    /// Anything else that a server is asked.
    Call,
}

/// A line that is too long.
#[derive(Debug)]
struct Passing {
    bytes: usize,
    scan: IdScan,
    /// When its size is reported, unless it ends before.
    until: Instant,
    is_reported: bool,
}

/// What was read.
enum Read {
    Line,
    TooLong { bytes: usize, is_whole: bool, id: Option<i64> },
    End,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    /// Messages through these pipes; `max` is the largest one in bytes.
    pub(crate) fn new(input: R, output: W, max: usize) -> Self {
        Self {
            input: BufReader::with_capacity(READ, input),
            output: Arc::new(Mutex::new(Some(output))),
            max,
            line: Vec::new(),
            passing: None,
            open: BTreeMap::new(),
        }
    }

    /// Reads up to the end of a line. A future that is dropped leaves what it read for the next one.
    async fn read(&mut self) -> io::Result<Read> {
        loop {
            let bytes = match self.passing.as_ref().filter(|passing| !passing.is_reported) {
                None => self.input.fill_buf().await?,
                Some(passing) => tokio::select! {
                    biased;
                    () = sleep_until(passing.until) => {
                        let too_long = Read::TooLong { bytes: passing.bytes, is_whole: false, id: passing.scan.id() };
                        self.passing.iter_mut().for_each(|passing| passing.is_reported = true);
                        return Ok(too_long);
                    }
                    bytes = self.input.fill_buf() => bytes?,
                },
            };
            if bytes.is_empty() {
                return Ok(Read::End);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let (piece, n) = (&bytes[..end.unwrap_or(bytes.len())], end.map_or(bytes.len(), |at| at + 1));
            if self.passing.is_none() && self.line.len() + piece.len() > self.max {
                let mut scan = IdScan::default();
                scan.pass(&self.line);
                let (bytes, until) = (self.line.len(), Instant::now() + COUNTING);
                self.passing = Some(Passing { bytes, scan, until, is_reported: false });
                self.line = Vec::new();
            }
            match &mut self.passing {
                Some(passing) => {
                    passing.bytes += piece.len();
                    passing.scan.pass(piece);
                }
                None => self.line.extend_from_slice(piece),
            }
            self.input.consume(n);
            if end.is_none() {
                continue;
            }
            match self.passing.take() {
                Some(passing) if passing.is_reported => {}
                Some(Passing { bytes, scan, .. }) => {
                    return Ok(Read::TooLong { bytes, is_whole: true, id: scan.id() });
                }
                None => return Ok(Read::Line),
            }
        }
    }

    /// The message of the line that was read; none if the line is passed over.
    async fn message(&mut self) -> Option<ServerJsonRpcMessage> {
        let line = std::mem::take(&mut self.line);
        let text = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line).trim_ascii();
        if text.is_empty() {
            return None;
        }
        let Ok(mut message) = serde_json::from_slice::<ServerJsonRpcMessage>(text) else {
            return self.no_message(text).await;
        };
        match &mut message {
            ServerJsonRpcMessage::Response(response) => self.close(&response.id),
            ServerJsonRpcMessage::Error(error) => {
                if error.error.code == FAULT {
                    error.error.code = ErrorCode::INTERNAL_ERROR;
                }
                // An error without an id says that the server could not read the request.
                if error.id.is_none() {
                    error.id = self.meant(None);
                }
                if let Some(id) = error.id.clone() {
                    self.close(&id);
                }
            }
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => {}
        }
        Some(message)
    }

    /// Ends the request that a line was for, which is no message.
    async fn no_message(&mut self, text: &[u8]) -> Option<ServerJsonRpcMessage> {
        if let Ok(Value::Object(other)) = serde_json::from_slice(text)
            && other.contains_key("method")
        {
            tracing::debug!("a message of an MCP server has a method or parameters that cannot be read");
            if let Some(id) = other.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok()) {
                let refusal = ErrorData::invalid_request("the request cannot be read", None);
                // A server that does not read will not miss the refusal.
                let _sent = self.send(ClientJsonRpcMessage::error(refusal, Some(id))).await;
            }
            return None;
        }
        let (bytes, quoted) = (text.len(), quoted(text));
        self.fault(
            IdScan::id_of(text),
            &format!("the server sent a line that is no MCP message ({bytes} bytes): {quoted}"),
        )
    }

    /// Fails the request that something was for.
    fn fault(&mut self, id: Option<i64>, what: &str) -> Option<ServerJsonRpcMessage> {
        let Some(id) = self.meant(id) else {
            tracing::warn!("an MCP server: {what}");
            return None;
        };
        self.close(&id);
        Some(ServerJsonRpcMessage::error(ErrorData::new(FAULT, what.to_owned(), None), Some(id)))
    }

    /// The request that a line is for, by the id in it.
    fn meant(&self, id: Option<i64>) -> Option<RequestId> {
        let id = match id {
            Some(id) => self.open.contains_key(&id).then_some(id),
            None => match self.open.first_key_value() {
                Some((id, Kind::Call)) if self.open.len() == 1 => Some(*id),
                _ => None,
            },
        };
        id.map(NumberOrString::Number)
    }

    fn close(&mut self, id: &RequestId) {
        let id = match id {
            NumberOrString::Number(id) => Some(*id),
            NumberOrString::String(text) => text.parse().ok(),
        };
        if let Some(id) = id {
            self.open.remove(&id);
        }
    }

    /// Notes what a message of ours opens or closes.
    fn note(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                let kind = match &request.request {
                    ClientRequest::InitializeRequest(_)
                    | ClientRequest::DiscoverRequest(_)
                    | ClientRequest::ListToolsRequest(_) => Kind::Start,
                    _ => Kind::Call,
                };
                if let NumberOrString::Number(id) = request.id {
                    self.open.insert(id, kind);
                }
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.close(id);
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => {}
        }
    }
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Transport<RoleClient> for Lines<R, W> {
    type Error = io::Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.note(&message);
        let output = self.output.clone();
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut output = output.lock().await;
            let output = output.as_mut().ok_or(ErrorKind::NotConnected)?;
            output.write_all(&line).await?;
            output.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = match self.read().await {
                Ok(Read::Line) => self.message().await,
                Ok(Read::TooLong { bytes, is_whole, id }) => {
                    let more = if is_whole { "" } else { "more than " };
                    let max = self.max;
                    let what = format!(
                        "the answer of the server has {more}{bytes} bytes, and the limit is {max} bytes \
                         (`max_message_bytes`)"
                    );
                    self.fault(id, &what)
                }
                Ok(Read::End) => return None,
                Err(error) => {
                    tracing::debug!(%error, "the output of an MCP server cannot be read");
                    return None;
                }
            };
            if message.is_some() {
                return message;
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.output.lock().await.take());
        Ok(())
    }
}

/// The beginning of a line, in one line.
fn quoted(text: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&text[..text.len().min(QUOTED)]);
    let shown = format!("{shown:?}");
    if text.len() > QUOTED { format!("{shown}…") } else { shown }
}
