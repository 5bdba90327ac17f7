//! A tiny HTTP/1.1 server that answers from a script and records its requests.
//!
//! It implements just enough of the protocol for a model client: requests with a known length, replies with a status or
//! as a stream of server-sent events, connections that stay open. It can also fail: cut a reply anywhere, hang up, or
//! fall silent.
//!
//! Each request takes the next reply of the script that is for it, whatever its method and path; one beyond the end
//! gets a 404 that says so.
//!
//! Not here: async code. One thread per connection keeps it independent of the runtime under test.

use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::net::Shutdown;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::thread;
use std::thread::JoinHandle;

use serde_json::Value;
use serde_json::json;

use crate::mock_socket;
use crate::mock_socket::MockSocket;
use crate::prefix_cache;
use crate::prefix_cache::PrefixCache;

/// A running server; it stops when dropped.
#[derive(Debug)]
pub struct MockServer {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    acceptor: Option<JoinHandle<()>>,
}

/// One request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The method, usually `POST`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Name and value, in the order of arrival.
    pub headers: Vec<(String, String)>,
    /// The bytes of the body.
    pub body: Vec<u8>,
    /// The connection of the request, counted from 0.
    pub connection: usize,
}

impl RecordedRequest {
    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// The reply to one request.
#[derive(Debug, Clone)]
pub struct MockReply {
    status: u16,
    headers: Vec<(String, String)>,
    frames: Vec<Vec<u8>>,
    content_type: &'static str,
    ending: Ending,
    only_for: Vec<Condition>,
    made_from: Option<fn(&RecordedRequest) -> MockReply>,
    /// Whether the usage is that of a provider with a cache.
    is_charged: bool,
}

/// The requests that a reply is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    /// Requests with this text in their body.
    With(String),
    /// Requests without this text in their body.
    Without(String),
}

impl Condition {
    fn holds(&self, request: &RecordedRequest) -> bool {
        let has = |text: &str| request.body.windows(text.len()).any(|part| part == text.as_bytes());
        match self {
            Self::With(text) => has(text),
            Self::Without(text) => !has(text),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The whole reply; the connection stays open.
    Whole,
    /// This many bytes of the body, then an end that looks regular.
    Cut(usize),
    /// This many bytes of the body, then an end that breaks the protocol.
    Break(usize),
    /// This many bytes of the body, then silence.
    Hang(usize),
    /// Closes the connection without a status.
    HangUp,
    /// Keeps the connection open without a status.
    Silence,
}

impl MockReply {
    /// A stream of these frames, sent as they are.
    pub fn frames<T: Into<Vec<u8>>>(frames: impl IntoIterator<Item = T>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            frames: frames.into_iter().map(Into::into).collect(),
            content_type: "text/event-stream",
            ending: Ending::Whole,
            only_for: Vec::new(),
            made_from: None,
            is_charged: false,
        }
    }

    /// The same reply with the usage of a provider that caches what it has read: the beginning of the request, in the order
    /// of reading, that an earlier request to the same model had.
    #[must_use]
    pub fn charged(mut self) -> Self {
        self.is_charged = true;
        self
    }

    /// The frames of the reply, for changing its usage.
    pub(crate) fn frames_mut(&mut self) -> &mut Vec<Vec<u8>> {
        &mut self.frames
    }

    /// A reply that depends on the request, for values that no script can know, such as ids.
    pub fn made_from(make: fn(&RecordedRequest) -> Self) -> Self {
        Self { made_from: Some(make), ..Self::frames::<Vec<u8>>([]) }
    }

    /// A stream of these payloads, each as one event.
    pub fn events(payloads: impl IntoIterator<Item = Value>) -> Self {
        Self::frames(payloads.into_iter().map(|payload| frame(&payload)))
    }

    /// A complete response with these items.
    pub fn items(items: impl IntoIterator<Item = Value>) -> Self {
        let mut payloads = vec![json!({ "type": "response.created", "response": { "id": "resp_mock" } })];
        for (index, item) in items.into_iter().enumerate() {
            payloads.push(json!({
                "type": "response.output_item.added",
                "output_index": index,
                "item": announced(&item),
            }));
            payloads.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
        }
        payloads.push(json!({
            "type": "response.completed",
            "response": {
                "id": "resp_mock",
                "usage": { "input_tokens": 100, "output_tokens": 10, "total_tokens": 110 },
            },
        }));
        Self::events(payloads)
    }

    /// A complete response with one message.
    pub fn say(text: &str) -> Self {
        Self::items([json!({
            "type": "message",
            "id": "msg_mock",
            "role": "assistant",
            "content": [{ "type": "output_text", "text": text }],
        })])
    }

    /// A status and a body instead of a stream.
    pub fn status(status: u16, body: &str) -> Self {
        Self { status, content_type: "application/json", ..Self::frames([body]) }
    }

    /// A connection that is closed before any answer.
    pub fn hang_up() -> Self {
        Self { ending: Ending::HangUp, ..Self::frames::<Vec<u8>>([]) }
    }

    /// A connection that stays open without any answer.
    pub fn silence() -> Self {
        Self { ending: Ending::Silence, ..Self::frames::<Vec<u8>>([]) }
    }

    /// Adds a header to the reply.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Replaces the content type of the body.
    #[must_use]
    pub fn content_type(mut self, content_type: &'static str) -> Self {
        self.content_type = content_type;
        self
    }

    /// Ends the body after so many bytes, as if that were all of it.
    #[must_use]
    pub fn cut_after(mut self, n_bytes: usize) -> Self {
        self.ending = Ending::Cut(n_bytes);
        self
    }

    /// Closes the connection after so many bytes of a body that promised more.
    #[must_use]
    pub fn break_after(mut self, n_bytes: usize) -> Self {
        self.ending = Ending::Break(n_bytes);
        self
    }

    /// Falls silent after so many bytes of the body.
    #[must_use]
    pub fn hang_after(mut self, n_bytes: usize) -> Self {
        self.ending = Ending::Hang(n_bytes);
        self
    }

    /// Restricts the reply to requests with this text in their body, where several clients ask at once.
    #[must_use]
    pub fn to_body_with(mut self, text: &str) -> Self {
        self.only_for.push(Condition::With(text.to_owned()));
        self
    }

    /// Restricts the reply to requests without this text in their body.
    #[must_use]
    pub fn to_body_without(mut self, text: &str) -> Self {
        self.only_for.push(Condition::Without(text.to_owned()));
        self
    }

    /// The bytes of the whole body.
    pub fn body(&self) -> Vec<u8> {
        self.frames.concat()
    }

    /// How many bytes the whole body has.
    pub fn body_len(&self) -> usize {
        self.frames.iter().map(Vec::len).sum()
    }
}

#[derive(Debug)]
struct Shared {
    replies: Vec<MockReply>,
    sockets: std::vec::IntoIter<MockSocket>,
    requests: Vec<RecordedRequest>,
    prefix_cache: PrefixCache,
    messages: Vec<String>,
    connections: Vec<(TcpStream, JoinHandle<()>)>,
    stopping: bool,
}

impl Shared {
    /// A reply to a request, with the figures of a provider that caches if the reply asks for them.
    fn charged(&mut self, reply: MockReply, request: &RecordedRequest) -> MockReply {
        if !reply.is_charged {
            return reply;
        }
        prefix_cache::charged(reply, self.prefix_cache.charge(&self.requests, request))
    }
}

impl MockServer {
    /// Starts a server on a free port.
    ///
    /// # Panics
    ///
    /// When the loopback interface has no free port.
    pub fn start(script: impl IntoIterator<Item = MockReply>) -> Self {
        Self::with_sockets(script, [])
    }

    /// Starts a server that also accepts WebSockets, one for each of these scripts.
    ///
    /// # Panics
    ///
    /// When the loopback interface has no free port.
    pub fn with_sockets(
        script: impl IntoIterator<Item = MockReply>,
        sockets: impl IntoIterator<Item = MockSocket>,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback interface has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Mutex::new(Shared {
            replies: script.into_iter().collect(),
            sockets: sockets.into_iter().collect::<Vec<_>>().into_iter(),
            requests: Vec::new(),
            prefix_cache: PrefixCache::default(),
            messages: Vec::new(),
            connections: Vec::new(),
            stopping: false,
        }));
        let acceptor = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self { address, shared, acceptor: Some(acceptor) }
    }

    /// The address without the path of the API, e.g. `http://127.0.0.1:4711/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Adds replies to the script, where they depend on earlier requests.
    pub fn add(&self, replies: impl IntoIterator<Item = MockReply>) {
        lock(&self.shared).replies.extend(replies);
    }

    /// The requests so far, in the order of arrival.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.shared).requests.clone()
    }

    /// The texts that came over WebSockets so far, in the order of arrival.
    pub fn messages(&self) -> Vec<String> {
        lock(&self.shared).messages.clone()
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        lock(&self.shared).stopping = true;
        // The acceptor sleeps in `accept`; a connection wakes it so that it sees the flag.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
        let connections = std::mem::take(&mut lock(&self.shared).connections);
        for (stream, handler) in connections {
            drop(stream.shutdown(Shutdown::Both));
            drop(handler.join());
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, shared: &Arc<Mutex<Shared>>) {
    for connection in 0.. {
        let Ok((stream, _)) = listener.accept() else {
            return;
        };
        let mut guard = lock(shared);
        if guard.stopping {
            return;
        }
        let Ok(kept) = stream.try_clone() else { return };
        let handler = thread::spawn({
            let shared = Arc::clone(shared);
            // Many tests disconnect clients, so errors end the connection quietly.
            move || drop(serve(&stream, connection, &shared))
        });
        guard.connections.push((kept, handler));
    }
}

fn serve(stream: &TcpStream, connection: usize, shared: &Mutex<Shared>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let result = converse(stream, connection, shared);
    stream.shutdown(Shutdown::Both)?;
    result
}

fn converse(stream: &TcpStream, connection: usize, shared: &Mutex<Shared>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader, connection)? {
        if request.header("upgrade").is_some_and(|to| to.eq_ignore_ascii_case("websocket")) {
            if upgrade(stream, request, shared)? {
                return Ok(());
            }
            continue;
        }
        let reply = {
            let mut guard = lock(shared);
            let is_for_it = |reply: &MockReply| reply.only_for.iter().all(|condition| condition.holds(&request));
            let next = guard.replies.iter().position(is_for_it);
            let reply = next.map(|at| guard.replies.remove(at));
            let reply = reply.map(|reply| match reply.made_from {
                Some(make) => MockReply { is_charged: reply.is_charged, ..make(&request) },
                None => reply,
            });
            let reply = reply.map(|reply| guard.charged(reply, &request));
            guard.requests.push(request);
            match reply {
                Some(reply) => reply,
                None => {
                    let message = format!("the script has no reply for request {}", guard.requests.len());
                    MockReply::status(404, &json!({ "error": { "message": message } }).to_string())
                }
            }
        };
        answer(stream, &reply)?;
        match reply.ending {
            Ending::Whole => {}
            Ending::Cut(_) | Ending::Break(_) | Ending::HangUp => return Ok(()),
            Ending::Hang(_) | Ending::Silence => {
                // Reading ends when the client disconnects or the server stops.
                io::copy(&mut reader, &mut io::sink())?;
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Opens a WebSocket and plays its script, or refuses it. A refused connection can be used for further requests.
fn upgrade(mut stream: &TcpStream, request: RecordedRequest, shared: &Mutex<Shared>) -> io::Result<bool> {
    let key = request.header("sec-websocket-key").unwrap_or_default().to_owned();
    let socket = {
        let mut guard = lock(shared);
        guard.requests.push(request);
        guard.sockets.next().unwrap_or_else(|| MockSocket::refused(426))
    };
    if socket.status != 101 {
        answer(stream, &MockReply::status(socket.status, "{\"error\":{\"message\":\"no socket\"}}"))?;
        return Ok(false);
    }
    let mut head = mock_socket::accepted(&key);
    for (name, value) in &socket.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    socket.talk(stream, |text| lock(shared).messages.push(text))?;
    Ok(true)
}

pub(crate) fn read_request(reader: &mut impl BufRead, connection: usize) -> io::Result<Option<RecordedRequest>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let path = words.next().unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    let mut request = RecordedRequest { method, path, headers, body: Vec::new(), connection };
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    request.body = vec![0; length];
    reader.read_exact(&mut request.body)?;
    Ok(Some(request))
}

fn answer(mut stream: &TcpStream, reply: &MockReply) -> io::Result<()> {
    let limit = match reply.ending {
        Ending::Whole => usize::MAX,
        Ending::Cut(limit) | Ending::Break(limit) | Ending::Hang(limit) => limit,
        Ending::HangUp | Ending::Silence => return Ok(()),
    };
    // A body that ends with its connection can be cut without a protocol error at the client.
    let chunked = !matches!(reply.ending, Ending::Cut(_));
    let mut head = format!("HTTP/1.1 {} \r\ncontent-type: {}\r\n", reply.status, reply.content_type);
    head.push_str(if chunked { "transfer-encoding: chunked\r\n" } else { "connection: close\r\n" });
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;

    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut left = limit;
    for frame in &reply.frames {
        let part = &frame[..frame.len().min(left)];
        left -= part.len();
        if part.is_empty() {
            continue;
        }
        parts.push(match chunked {
            true => [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat(),
            false => part.to_vec(),
        });
    }
    if reply.ending == Ending::Whole {
        // Sent together with the last part, so that a client that has read all that matters has the end, too.
        let end = b"0\r\n\r\n";
        match parts.last_mut() {
            Some(last) => last.extend_from_slice(end),
            None => parts.push(end.to_vec()),
        }
    }
    for part in parts {
        stream.write_all(&part)?;
    }
    stream.flush()
}

fn frame(payload: &Value) -> String {
    let kind = payload.get("type").and_then(Value::as_str).unwrap_or("message");
    format!("event: {kind}\ndata: {payload}\n\n")
}

/// The item as it is announced, before its text has come.
fn announced(item: &Value) -> Value {
    let mut item = item.clone();
    match item.get("type").and_then(Value::as_str) {
        Some("message") => item["content"] = json!([]),
        Some("reasoning") => item["summary"] = json!([]),
        _ => {}
    }
    item
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn exchange(stream: &mut TcpStream, body: &str) {
        let request = format!(
            "POST /v1/responses?a=b HTTP/1.1\r\nHost: x\r\nX-Two: 2\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
    }

    fn connect(server: &MockServer) -> TcpStream {
        TcpStream::connect(server.address).unwrap()
    }

    fn read_until(stream: &mut TcpStream, end: &str) -> String {
        let mut text = Vec::new();
        let mut byte = [0];
        while !text.ends_with(end.as_bytes()) && stream.read(&mut byte).unwrap() == 1 {
            text.push(byte[0]);
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn requests_are_remembered_and_connections_stay_open() {
        let server = MockServer::start([MockReply::say("Hello."), MockReply::status(500, "trouble")]);
        let mut stream = connect(&server);
        exchange(&mut stream, "one");
        let text = read_until(&mut stream, "\r\n0\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
        assert!(text.contains("event: response.completed\n"), "{text}");
        exchange(&mut stream, "");
        assert!(read_until(&mut stream, "\r\n0\r\n\r\n").contains("trouble"));

        let requests = server.requests();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0].path, "/v1/responses?a=b");
        assert_eq!(requests[0].body, b"one");
        assert_eq!(requests[0].header("x-two"), Some("2"));
        assert_eq!(requests[1].connection, 0);
    }

    #[test]
    fn a_cut_reply_ends_where_it_was_told() {
        let server = MockServer::start([MockReply::frames(["abc", "def"]).cut_after(4)]);
        let mut stream = connect(&server);
        exchange(&mut stream, "");
        let text = read_until(&mut stream, "never");
        assert!(text.ends_with("\r\n\r\nabcd"), "{text}");
    }

    #[test]
    fn a_silent_server_can_be_stopped() {
        let server = MockServer::start([MockReply::silence()]);
        let mut stream = connect(&server);
        exchange(&mut stream, "");
        while server.requests().is_empty() {
            thread::yield_now();
        }
        drop(server);
        assert_eq!(read_until(&mut stream, "never"), "");
    }

    #[test]
    fn a_reply_can_depend_on_its_request() {
        let echo = |request: &RecordedRequest| MockReply::status(200, &String::from_utf8_lossy(&request.body));
        let server = MockServer::start([MockReply::made_from(echo).to_body_with("an id")]);
        let mut stream = connect(&server);
        exchange(&mut stream, "an id: 7");
        assert!(read_until(&mut stream, "\r\n0\r\n\r\n").contains("an id: 7"));
    }

    #[test]
    fn beyond_the_script_is_a_404() {
        let server = MockServer::start([]);
        let mut stream = connect(&server);
        exchange(&mut stream, "");
        assert!(read_until(&mut stream, "\r\n0\r\n\r\n").starts_with("HTTP/1.1 404 "));
    }
}
