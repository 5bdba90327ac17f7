//! The server between a program and the servers of its models.
//!
//! It listens on a loopback address, behind a path that only the program knows. What comes is forwarded: method, path, query,
//! headers and body as they are, but for headers that are about one connection. Answers are streamed as they come.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::Method;
use http::Request;
use http::Response;
use http::StatusCode;
use http::header;
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use hyper_util::rt::TokioTimer;
use pellucid_model::Transport;
use pellucid_store::moment::Moment;
use pellucid_tasks::Task;
use pellucid_tasks::Tasks;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::sync::mpsc;

use crate::frames::FrameReader;
use crate::headers;
use crate::record;
use crate::record::ForwardNote;
use crate::record::RecordPlan;
use crate::record::SentNote;
use crate::record::WatchSummary;
use crate::services::WatchedService;
use crate::tee::AnswerBody;
use crate::tee::AnswerCopy;

/// How many connections there may be at once; further ones are closed.
const N_CONNECTIONS_MAX: usize = 256;

/// How long the head of a request may take to arrive.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// How long the head of a request may be.
const HEAD_BYTES_MAX: usize = 256 << 10;

/// How long a body may be.
const BODY_BYTES_MAX: usize = 256 << 20;

/// How many notes may wait for the record.
const N_NOTES_MAX: usize = 512;

/// How many bytes of a WebSocket are forwarded at once.
const PIECE_BYTES: usize = 16 << 10;

/// What a server is made from.
#[derive(Debug)]
pub struct WatchPlan {
    /// The services that requests are forwarded to.
    pub services: Vec<WatchedService>,
    /// The port to listen on; 0 is any free port.
    pub port: u16,
    /// What recording needs to know.
    pub record: RecordPlan,
}

/// A server that listens. It is ready once this value exists.
#[derive(Debug)]
pub struct WatchServer {
    listener: TcpListener,
    inside: Arc<Inside>,
    recording: Task<WatchSummary>,
    base: String,
}

/// What connections share.
#[derive(Debug)]
struct Inside {
    /// The first part of every path, which only the program knows.
    secret: String,
    services: Vec<ForwardTo>,
    exchanges: AtomicU64,
    notes: mpsc::Sender<ForwardNote>,
    /// WebSockets that are being forwarded.
    sockets: Tasks,
}

#[derive(Debug)]
struct ForwardTo {
    service: WatchedService,
    client: Result<reqwest::Client, String>,
}

impl WatchServer {
    /// Binds the address. Must be called inside of a runtime.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub fn bind(plan: WatchPlan) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, plan.port)))?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let secret = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        let base = format!("http://{address}/{secret}");
        let forward_to = |service: WatchedService| {
            let client = Transport::forwarding_client(&service.upstream);
            ForwardTo { service, client }
        };
        let (notes, to_record) = mpsc::channel(N_NOTES_MAX);
        let inside = Inside {
            secret,
            services: plan.services.into_iter().map(forward_to).collect(),
            exchanges: AtomicU64::new(0),
            notes,
            sockets: Tasks::default(),
        };
        let record = plan.record;
        let recording = Task::blocking("watch: record", move || record::record(record, to_record));
        Ok(Self { listener, inside: Arc::new(inside), recording, base })
    }

    /// The variables of the program, with their values.
    pub fn variables(&self) -> Vec<(String, String)> {
        let services = self.inside.services.iter().map(|it| &it.service);
        services.map(|it| (it.variable.clone(), format!("{}/{}", self.base, it.slot))).collect()
    }

    /// Serves until `end` is over, then waits for the record. Connections that are open then are closed.
    pub async fn serve_until<T>(self, end: impl Future<Output = T>) -> (T, WatchSummary) {
        let Self { listener, inside, recording, .. } = self;
        let connections = Tasks::default();
        let mut end = pin!(end);
        let seats = Arc::new(Semaphore::new(N_CONNECTIONS_MAX));
        let ended = loop {
            tokio::select! {
                ended = &mut end => break ended,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        if let Ok(seat) = seats.clone().try_acquire_owned() {
                            let inside = inside.clone();
                            connections.spawn("watch: connection", async move {
                                connection(stream, inside).await;
                                drop(seat);
                            });
                        }
                    }
                    // Too many open files: the connections that are there will end.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                },
            }
        };
        // The answers that are under way are noted as interrupted when their connections are dropped.
        drop((listener, connections));
        drop(inside);
        let summary = recording.await.unwrap_or_else(|failed| {
            let failures = vec![format!("recording failed: {failed}")];
            WatchSummary { failures, ..WatchSummary::default() }
        });
        (ended, summary)
    }
}

async fn connection(stream: TcpStream, inside: Arc<Inside>) {
    // A small answer must not wait for a larger one.
    drop(stream.set_nodelay(true));
    let service = service_fn(move |request| {
        let inside = inside.clone();
        async move { Ok::<_, Infallible>(respond(&inside, request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection of the watched program ended");
    }
}

/// An answer of ours.
fn own(status: StatusCode, text: &str) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::Own(Some(Bytes::from(format!("{text}\n")))));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

async fn respond(inside: &Arc<Inside>, mut request: Request<Incoming>) -> Response<AnswerBody> {
    let path = request.uri().path_and_query().map_or("/", |it| it.as_str()).to_owned();
    let Some((to, rest)) = inside.destination(&path) else {
        return own(StatusCode::NOT_FOUND, "there is nothing here");
    };
    let client = match &to.client {
        Ok(client) => client,
        Err(error) => return own(StatusCode::BAD_GATEWAY, &format!("pellucid watch: {error}")),
    };
    let Ok(url) = reqwest::Url::parse(&format!("{}{rest}", to.service.upstream)) else {
        return own(StatusCode::BAD_REQUEST, "pellucid watch: the path cannot be forwarded");
    };
    let is_upgrade = headers::wants_upgrade(request.headers());
    let on_upgrade = is_upgrade.then(|| hyper::upgrade::on(&mut request));
    let (head, body) = request.into_parts();
    let body = match received(body).await {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let mut sent = reqwest::Request::new(head.method.clone(), url);
    let mut given = headers::forwarded(&head.headers);
    given.remove(header::HOST);
    if is_upgrade {
        for name in [header::CONNECTION, header::UPGRADE] {
            given.extend(head.headers.get(&name).map(|value| (name, value.clone())));
        }
    }
    *sent.headers_mut() = given;
    if !body.is_empty() || head.method == Method::POST || head.method == Method::PUT {
        *sent.body_mut() = Some(body.clone().into());
    }
    let exchange = inside.exchanges.fetch_add(1, Ordering::Relaxed);
    let mut copy = None;
    if !body.is_empty() {
        copy = inside.note(exchange, to, &rest, &head.method, &head.headers, body).await;
    }
    let response = match client.execute(sent).await {
        Ok(response) => response,
        Err(error) => {
            if let Some(copy) = &mut copy {
                copy.fail("unreachable");
            }
            return own(StatusCode::BAD_GATEWAY, &format!("pellucid watch: {}", plain(&error)));
        }
    };
    if let (StatusCode::SWITCHING_PROTOCOLS, Some(on_upgrade)) = (response.status(), on_upgrade) {
        return switched(inside, to, &rest, &head, response, on_upgrade);
    }
    let encoding = response.headers().get(header::CONTENT_ENCODING).and_then(|it| it.to_str().ok()).map(str::to_owned);
    if let Some(copy) = &mut copy {
        copy.head(response.status().as_u16(), encoding);
    }
    let response: Response<reqwest::Body> = response.into();
    let (head, body) = response.into_parts();
    let mut answer = Response::new(AnswerBody::Forwarded(body, copy));
    *answer.status_mut() = head.status;
    *answer.headers_mut() = headers::forwarded(&head.headers);
    answer
}

/// Why there is no answer, without the address of the request, whose query may have a key.
fn plain(error: &reqwest::Error) -> String {
    let mut text =
        if error.is_connect() { "the upstream server cannot be reached" } else { "there is no answer" }.to_owned();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) && !words.contains("://") {
            text += &format!(": {words}");
        }
        cause = error.source();
    }
    text
}

/// The body of a request.
async fn received(body: Incoming) -> Result<Bytes, Box<Response<AnswerBody>>> {
    let mut body = pin!(body);
    let mut pieces: Vec<Bytes> = Vec::new();
    let mut n_bytes = 0;
    while let Some(frame) = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(frame) = frame else {
            return Err(Box::new(own(StatusCode::BAD_REQUEST, "pellucid watch: the body ended early")));
        };
        if let Ok(data) = frame.into_data() {
            n_bytes += data.len();
            if n_bytes > BODY_BYTES_MAX {
                let text = format!("pellucid watch: the body is longer than {BODY_BYTES_MAX} bytes");
                return Err(Box::new(own(StatusCode::PAYLOAD_TOO_LARGE, &text)));
            }
            pieces.push(data);
        }
    }
    Ok(match pieces.len() {
        1 => pieces.remove(0),
        _ => pieces.concat().into(),
    })
}

impl Inside {
    /// The service that a path is for, and the path behind its address.
    fn destination(&self, path: &str) -> Option<(&ForwardTo, String)> {
        let rest = path.strip_prefix('/')?.strip_prefix(self.secret.as_str())?.strip_prefix('/')?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (slot, rest) = rest.split_at(end);
        let to = self.services.iter().find(|it| it.service.slot == slot)?;
        Some((to, rest.to_owned()))
    }

    /// Hands a body to the record. Gives what the copy of its answer is made with.
    async fn note(
        &self,
        exchange: u64,
        to: &ForwardTo,
        path: &str,
        method: &Method,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Option<AnswerCopy> {
        let sent_at = Moment::now();
        let permit = self.notes.clone().reserve_owned().await.ok()?;
        let encoding = headers.get(header::CONTENT_ENCODING).and_then(|it| it.to_str().ok()).map(str::to_owned);
        let note = SentNote {
            exchange,
            slot: to.service.slot.clone(),
            upstream: to.service.upstream.clone(),
            method: method.to_string(),
            path: path.to_owned(),
            headers: headers::kept(headers),
            encoding,
            body,
            sent_at,
        };
        self.notes.send(ForwardNote::Sent(Box::new(note))).await.ok()?;
        Some(AnswerCopy::new(exchange, permit))
    }
}

/// Forwards a WebSocket in both directions, once both sides have changed the protocol.
fn switched(
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
    inside: std::sync::Weak<Inside>,
    slot: String,
    path: String,
    method: Method,
    headers: HeaderMap,
    asked: Option<AnswerCopy>,
    answers: Vec<Vec<u8>>,
}

impl SocketRecord {
    async fn asks(&mut self, message: Vec<u8>) {
        self.settle();
        let Some(inside) = self.inside.upgrade() else {
            return;
        };
        let Some(to) = inside.services.iter().find(|it| it.service.slot == self.slot) else {
            return;
        };
        let exchange = inside.exchanges.fetch_add(1, Ordering::Relaxed);
        self.asked = inside.note(exchange, to, &self.path, &self.method, &self.headers, message.into()).await;
        if let Some(asked) = &mut self.asked {
            asked.head(StatusCode::SWITCHING_PROTOCOLS.as_u16(), None);
        }
    }

    fn answers(&mut self, message: Vec<u8>) {
        let is_last =
            [&b"\"response.completed\""[..], b"\"response.failed\"", b"\"response.done\"", b"\"response.incomplete\""]
                .iter()
                .any(|kind| memchr::memmem::find(&message, kind).is_some());
        self.answers.push(message);
        if is_last {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let answers = std::mem::take(&mut self.answers);
        if let Some(mut asked) = self.asked.take()
            && !answers.is_empty()
        {
            asked.messages(answers);
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
