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
use hyper_util::rt::TokioIo;
use hyper_util::rt::TokioTimer;
use pellucid_model::Transport;
use pellucid_store::moment::Moment;
use pellucid_tasks::Task;
use pellucid_tasks::Tasks;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::sync::mpsc;

use crate::headers;
use crate::held::HELD_BYTES_MAX;
use crate::held::HeldBytes;
use crate::held::HeldLimit;
use crate::record;
use crate::record::ForwardNote;
use crate::record::RecordPlan;
use crate::record::SentNote;
use crate::record::WatchSummary;
use crate::services::WatchedService;
use crate::sockets;
use crate::strangers::Guest;
use crate::strangers::Strangers;
use crate::tee::AnswerBody;
use crate::tee::AnswerCopy;

/// How many connections there may be at once; further ones wait until one ends.
const N_CONNECTIONS_MAX: usize = 256;

/// How long the head of a request may take to arrive.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// How long the head of a request may be.
const HEAD_BYTES_MAX: usize = 256 << 10;

/// How long a body may be.
const BODY_BYTES_MAX: usize = 256 << 20;

/// How many notes may wait for the record.
const N_NOTES_MAX: usize = 512;

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
pub(crate) struct Inside {
    /// The first part of every path, which only the program knows.
    secret: String,
    services: Vec<ForwardTo>,
    exchanges: AtomicU64,
    notes: mpsc::Sender<ForwardNote>,
    /// The limit of bytes that are held.
    held: HeldLimit,
    /// WebSockets that are being forwarded.
    pub sockets: Tasks,
}

/// A service with the client that forwards to it.
#[derive(Debug)]
pub(crate) struct ForwardTo {
    /// The service, with its address.
    pub service: WatchedService,
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
            held: HeldLimit::new(HELD_BYTES_MAX),
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
        let mut strangers = Strangers::default();
        // A connection is accepted once there is a seat for it. Until then the system keeps it waiting.
        let next = || async {
            let seat = seats.clone().acquire_owned().await;
            listener.accept().await.map(|(stream, _)| (stream, seat))
        };
        let ended = loop {
            tokio::select! {
                ended = &mut end => break ended,
                accepted = next() => match accepted {
                    Ok((stream, seat)) => {
                        let (inside, guest) = (inside.clone(), strangers.come());
                        connections.spawn("watch: connection", async move {
                            tokio::select! {
                                () = connection(stream, inside, guest.clone()) => {}
                                () = guest.sent_away() => {}
                            }
                            guest.settle();
                            drop(seat);
                        });
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

async fn connection(stream: TcpStream, inside: Arc<Inside>, guest: Arc<Guest>) {
    // A small answer must not wait for a larger one.
    drop(stream.set_nodelay(true));
    let service = service_fn(move |request| {
        let (inside, guest) = (inside.clone(), guest.clone());
        async move { Ok::<_, Infallible>(respond(&inside, &guest, request).await) }
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

async fn respond(inside: &Arc<Inside>, guest: &Guest, mut request: Request<Incoming>) -> Response<AnswerBody> {
    let path = request.uri().path_and_query().map_or("/", |it| it.as_str()).to_owned();
    let Some((to, rest)) = inside.destination(&path) else {
        return own(StatusCode::NOT_FOUND, "there is nothing here");
    };
    guest.settle();
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
    let (body, held) = match received(body, inside.held.none()).await {
        Ok(received) => received,
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
    let exchange = inside.next_exchange();
    let mut copy = None;
    if !body.is_empty() {
        copy = inside.note(exchange, to, &rest, (&head.method, &head.headers), (body, held)).await;
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
        return sockets::switched(inside, to, &rest, &head, response, on_upgrade);
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
async fn received(body: Incoming, mut held: HeldBytes) -> Result<(Bytes, HeldBytes), Box<Response<AnswerBody>>> {
    let too_long = || {
        let text = format!("pellucid watch: the body is longer than {BODY_BYTES_MAX} bytes");
        Box::new(own(StatusCode::PAYLOAD_TOO_LARGE, &text))
    };
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(too_long());
    }
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
                return Err(too_long());
            }
            if !held.add(data.len()) {
                let text =
                    format!("pellucid watch: bodies and answers of {HELD_BYTES_MAX} bytes are under way already");
                return Err(Box::new(own(StatusCode::SERVICE_UNAVAILABLE, &text)));
            }
            pieces.push(data);
        }
    }
    let body = match pieces.len() {
        1 => pieces.remove(0),
        _ => pieces.concat().into(),
    };
    Ok((body, held))
}

impl Inside {
    /// The service that a path is for, and the path behind its address.
    fn destination(&self, path: &str) -> Option<(&ForwardTo, String)> {
        let rest = path.strip_prefix('/')?.strip_prefix(self.secret.as_str())?.strip_prefix('/')?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (slot, rest) = rest.split_at(end);
        Some((self.service(slot)?, rest.to_owned()))
    }

    /// The service with a name.
    pub fn service(&self, slot: &str) -> Option<&ForwardTo> {
        self.services.iter().find(|it| it.service.slot == slot)
    }

    /// The number of the next exchange.
    pub fn next_exchange(&self) -> u64 {
        self.exchanges.fetch_add(1, Ordering::Relaxed)
    }

    /// Bytes that are held, none yet.
    pub fn holds(&self) -> HeldBytes {
        self.held.none()
    }

    /// Hands a body to the record. Gives what the copy of its answer is made with.
    pub async fn note(
        &self,
        exchange: u64,
        to: &ForwardTo,
        path: &str,
        (method, headers): (&Method, &HeaderMap),
        (body, held): (Bytes, HeldBytes),
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
            held,
            sent_at,
        };
        self.notes.send(ForwardNote::Sent(Box::new(note))).await.ok()?;
        Some(AnswerCopy::new(exchange, permit, self.holds()))
    }
}
