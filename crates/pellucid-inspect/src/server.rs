//! Listens on a loopback address, limits what a connection may take, and ends by itself.

use std::io;
use std::net::IpAddr;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderName;
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
use pellucid_store::redact::Redactor;
use pellucid_tasks::Task;
use pellucid_tasks::Tasks;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio::time::sleep_until;
use tokio::time::timeout;

use crate::answer::Answers;
pub use crate::answer::StartedFor;
use crate::doors::Doors;
use crate::doors::Passage;
use crate::error::ApiError;
use crate::error::ErrorCode;
use crate::events;
use crate::paced::Paced;
use crate::questions::Questions;
use crate::reply::Reply;
use crate::reply::ReplyBody;
use crate::route::Asked;
use crate::route::route;

/// How many connections there may be at once; further ones are closed.
const N_CONNECTIONS_MAX: usize = 64;

/// How many answers are made at once; further ones wait. Each may hold a long session.
const N_ANSWERS_MAX: usize = 2;

/// How many threads answers and followed records need. Each keeps memory that it was given once, so more are not of use.
pub const N_THREADS_MAX: usize = N_ANSWERS_MAX + 1;

/// How long an answer may wait to be made.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// How long a request may take to arrive.
const ARRIVE_WITHIN: Duration = Duration::from_secs(10);

/// How long a client may read nothing of an answer.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// How long the head of a request may be.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// How many headers a request may have.
const N_HEADERS_MAX: usize = 64;

/// How long the body of a request may be.
const BODY_BYTES_MAX: usize = 16 << 10;

/// The server ends this long after its last client has left.
const LEFT_FOR: Duration = Duration::from_secs(30 * 60);

/// What a server is made from.
pub struct InspectorPlan {
    /// The home folder.
    pub home: PathBuf,
    /// The address to listen on. It has to be a loopback address; port 0 is any free port.
    pub address: SocketAddr,
    /// What the server is started for.
    pub started_for: StartedFor,
    /// The program that answers questions.
    pub questions: Arc<dyn Questions>,
    /// Knows what is hidden until it is asked for.
    pub redactor: Redactor,
}

impl std::fmt::Debug for InspectorPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InspectorPlan").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Inspector {
    listener: std::net::TcpListener,
    url: String,
    inside: Arc<Inside>,
}

/// What connections share.
#[derive(Debug)]
struct Inside {
    doors: Doors,
    home: PathBuf,
    answers: Answers,
    permits: Arc<Semaphore>,
    /// Follows records for clients that are connected.
    followers: Tasks,
    presence: Mutex<Presence>,
}

/// Who is there.
#[derive(Debug)]
struct Presence {
    n_connections: usize,
    /// When the last client left, or the server began.
    since: Instant,
}

impl Inspector {
    /// Binds the address. The server answers once it is served.
    ///
    /// # Errors
    /// When the address is not a loopback address, or cannot be bound.
    pub fn bind(plan: InspectorPlan) -> io::Result<Self> {
        let InspectorPlan { home, address, started_for, questions, redactor } = plan;
        if !is_loopback(address.ip()) {
            let why = format!("{} is not 127.0.0.1 or ::1; the inspector listens on no other address", address.ip());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (doors, code) = Doors::new(address);
        let place = match (&started_for.session, started_for.request) {
            (Some(session), Some(request)) => format!("#/s/{session}/r/{request}"),
            (Some(session), None) => format!("#/s/{session}"),
            (None, _) if started_for.is_live => "#/live".to_owned(),
            (None, _) => String::new(),
        };
        let url = format!("http://{address}/?code={code}{place}");
        let inside = Inside {
            doors,
            home: home.clone(),
            answers: Answers::new(home, started_for, questions, redactor),
            permits: Arc::new(Semaphore::new(N_ANSWERS_MAX)),
            followers: Tasks::default(),
            presence: Mutex::new(Presence { n_connections: 0, since: Instant::now() }),
        };
        Ok(Self { listener, url, inside: Arc::new(inside) })
    }

    /// The address that a person opens. It works once.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Serves until the last client has been gone for a while. Dropping the future ends all connections.
    ///
    /// # Errors
    /// When the listener cannot be used.
    pub async fn serve(self) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let connections = Tasks::default();
        loop {
            let left = self.inside.left_at();
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = sleep_until(left.unwrap_or_else(far)) => {
                    match self.inside.left_at() {
                        Some(left) if left <= Instant::now() => return Ok(()),
                        _ => continue,
                    }
                }
            };
            match accepted {
                Ok((stream, _)) => {
                    if let Some(seat) = Seat::take(&self.inside) {
                        connections.spawn("inspector: connection", connection(stream, seat));
                    }
                }
                // Too many open files: the connections that are there will end.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

/// A time that does not come.
fn far() -> Instant {
    Instant::now() + Duration::from_secs(24 * 60 * 60)
}

fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address == std::net::Ipv4Addr::LOCALHOST,
        IpAddr::V6(address) => address == std::net::Ipv6Addr::LOCALHOST,
    }
}

impl Inside {
    /// When the server ends if no client comes; absent while one is there.
    fn left_at(&self) -> Option<Instant> {
        let presence = self.presence.lock().unwrap_or_else(PoisonError::into_inner);
        (presence.n_connections == 0).then(|| presence.since + LEFT_FOR)
    }
}

/// The place of a connection. It is free again when this is dropped.
struct Seat {
    inside: Arc<Inside>,
}

impl Seat {
    /// A place, if there is one.
    fn take(inside: &Arc<Inside>) -> Option<Self> {
        let mut presence = inside.presence.lock().unwrap_or_else(PoisonError::into_inner);
        if presence.n_connections >= N_CONNECTIONS_MAX {
            return None;
        }
        presence.n_connections += 1;
        Some(Self { inside: inside.clone() })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut presence = self.inside.presence.lock().unwrap_or_else(PoisonError::into_inner);
        presence.n_connections -= 1;
        presence.since = Instant::now();
    }
}

async fn connection(stream: TcpStream, seat: Seat) {
    let inside = seat.inside.clone();
    let service = service_fn(move |request| {
        let inside = inside.clone();
        async move { Ok::<_, std::convert::Infallible>(respond(inside, request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ARRIVE_WITHIN)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(N_HEADERS_MAX)
        .serve_connection(TokioIo::new(Paced::new(stream, READ_WITHIN)), service);
    // A client that leaves, is slow or speaks another protocol concerns no one else.
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection of the inspector ended");
    }
    drop(seat);
}

/// The answer to a request, whatever it is.
async fn respond(inside: Arc<Inside>, request: Request<Incoming>) -> Response<ReplyBody> {
    let (head, body) = request.into_parts();
    let is_head = head.method == Method::HEAD;
    let reply = match inside.doors.judge(&head) {
        Passage::Refused(why) => ApiError::new(ErrorCode::Forbidden, why).reply(),
        Passage::Exchange { cookie } => Reply::bytes("text/plain; charset=utf-8", Bytes::new())
            .with_status(StatusCode::SEE_OTHER)
            .with(header::LOCATION, "/")
            .with(header::SET_COOKIE, &cookie),
        Passage::Enter => match route(&head.method, head.uri.path(), head.uri.query().unwrap_or_default()) {
            Err(error) => error.reply(),
            Ok(route) => match &route.asked {
                Asked::Events { session } => follow(&inside, session.clone(), &head.headers).await,
                _ => {
                    let range = head.headers.get(header::RANGE).map(|it| it.to_str().unwrap_or("?").to_owned());
                    match received(body).await {
                        Ok(body) => answered(inside, route, body, range).await,
                        Err(error) => error.reply(),
                    }
                }
            },
        },
    };
    let reply = if is_head { reply.without_body() } else { reply };
    reply.into_response()
}

/// Makes an answer on a thread that may wait for the disk.
async fn answered(inside: Arc<Inside>, route: crate::route::Route, body: Vec<u8>, range: Option<String>) -> Reply {
    let work = async {
        let permit = inside.permits.clone().acquire_owned().await;
        let answers = inside.clone();
        Task::blocking("inspector: answer", move || {
            // Work that has begun cannot be stopped, so it keeps its place until it ends.
            let _permit = permit;
            answers.answers.answer(&route, &body, range.as_deref())
        })
        .await
    };
    match timeout(WAIT_MAX, work).await {
        Ok(Ok(reply)) => reply,
        Ok(Err(failed)) => ApiError::internal("answering", &failed).reply(),
        Err(_) => ApiError::new(ErrorCode::Busy, "the answer takes too long").reply(),
    }
}

/// The body of a request, which is short.
async fn received(body: Incoming) -> Result<Vec<u8>, ApiError> {
    let read = async {
        let mut body = pin!(body);
        let mut bytes = Vec::new();
        while let Some(frame) = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await {
            let frame = frame.map_err(|_| ApiError::bad("the body cannot be read"))?;
            if let Some(data) = frame.data_ref() {
                if bytes.len() + data.len() > BODY_BYTES_MAX {
                    return Err(ApiError::new(ErrorCode::TooLarge, "the body is too long"));
                }
                bytes.extend_from_slice(data);
            }
        }
        Ok(bytes)
    };
    match timeout(ARRIVE_WITHIN, read).await {
        Ok(read) => read,
        Err(_) => Err(ApiError::bad("the body does not arrive")),
    }
}

/// Begins to follow a session for a client.
async fn follow(inside: &Arc<Inside>, session: String, headers: &http::HeaderMap) -> Reply {
    let last = headers.get(HeaderName::from_static("last-event-id")).and_then(|it| it.to_str().ok()?.parse().ok());
    let finding = inside.clone();
    let files = match Task::blocking("inspector: find a session", move || finding.answers.session(&session)).await {
        Ok(Ok(files)) => files,
        Ok(Err(error)) => return error.reply(),
        Err(failed) => return ApiError::internal("finding the session", &failed).reply(),
    };
    let (to, pieces) = mpsc::channel(events::N_WAITING_MAX);
    inside.followers.spawn("inspector: follow", events::follow(inside.home.clone(), files, last, to));
    Reply::pieces("text/event-stream; charset=utf-8", pieces)
}

#[cfg(test)]
mod tests {
    use pellucid_testkit::Workspace;

    use super::*;
    use crate::questions::NoAnswer;
    use crate::questions::Question;

    struct NoQuestions;

    impl Questions for NoQuestions {
        fn ask(&self, _: &Question) -> Result<Vec<u8>, NoAnswer> {
            Err(NoAnswer::Failed("nothing is asked".to_owned()))
        }
    }

    fn inspector(address: &str) -> io::Result<Inspector> {
        let home = Workspace::new("//- a\n");
        Inspector::bind(InspectorPlan {
            home: home.path(""),
            address: address.parse().unwrap(),
            started_for: StartedFor::default(),
            questions: Arc::new(NoQuestions),
            redactor: Redactor::new([]),
        })
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_ends_half_an_hour_after_its_last_client_has_left() {
        let began = Instant::now();
        inspector("127.0.0.1:0").unwrap().serve().await.unwrap();
        assert_eq!(began.elapsed().as_secs(), LEFT_FOR.as_secs());

        let inside = inspector("127.0.0.1:0").unwrap().inside;
        assert_eq!(inside.left_at(), Some(Instant::now() + LEFT_FOR));
        let [first, second] = [Seat::take(&inside), Seat::take(&inside)];
        assert_eq!(inside.left_at(), None);
        drop(first);
        tokio::time::advance(Duration::from_secs(600)).await;
        assert_eq!(inside.left_at(), None, "one client is still there");
        drop(second);
        assert_eq!(inside.left_at(), Some(Instant::now() + LEFT_FOR));
    }

    #[tokio::test]
    async fn places_are_bounded_and_become_free_again() {
        let inside = inspector("127.0.0.1:0").unwrap().inside;
        let seats: Vec<Seat> = std::iter::from_fn(|| Seat::take(&inside)).collect();
        assert_eq!(seats.len(), N_CONNECTIONS_MAX);
        drop(seats);
        assert!(Seat::take(&inside).is_some());
    }

    #[test]
    fn only_loopback_addresses_are_listened_on() {
        for address in ["0.0.0.0:0", "127.0.0.2:0", "[::]:0"] {
            assert_eq!(inspector(address).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{address}");
        }
    }
}
