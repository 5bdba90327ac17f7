//! Streamable HTTP on a loopback address, for clients that know a token.
//!
//! A page of another site can make a browser send requests to a loopback address, and a name of another site can be made
//! to point to it: the SDK checks `Host` and `Origin`. Another user of the machine can connect as well, and does not know
//! the token, which is looked at before anything else.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::Response;
use http::StatusCode;
use http::header;
use http_body_util::combinators::BoxBody;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::rt::TokioTimer;
use hyper_util::service::TowerToHyperService;
use pellucid_protocol::secret::Secret;
use pellucid_tasks::Tasks;
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use sha2::Digest;
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::server::ToolServer;
use crate::standard::Standard;

/// The path of the server.
const PATH: &str = "/mcp";

/// How many connections there may be at once; further ones are closed.
const N_CONNECTIONS_MAX: usize = 64;

/// How long the head of a request may take to arrive.
const ARRIVE_WITHIN: Duration = Duration::from_secs(10);

/// How long the head of a request may be.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// How many headers a request may have.
const N_HEADERS_MAX: usize = 64;

type Body = BoxBody<Bytes, std::convert::Infallible>;

/// A server that listens.
#[derive(Debug)]
pub struct HttpListener {
    listener: TcpListener,
    address: SocketAddr,
    token: Arc<Secret>,
}

impl HttpListener {
    /// Binds the address.
    ///
    /// # Errors
    /// When the address is not a loopback address, or cannot be bound.
    pub async fn bind(address: SocketAddr, token: Secret) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            let why = format!("other machines could reach {}; use a loopback address", address.ip());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, token: Arc::new(token) })
    }

    /// The URL that clients are given.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// The address that was bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `end` is ready, then ends all sessions.
    pub async fn serve(self, server: Arc<ToolServer>, end: impl Future<Output = ()>) {
        let Self { listener, address, token } = self;
        let stop = CancellationToken::new();
        let names = [address.to_string(), format!("localhost:{}", address.port())];
        let mut config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(names.clone())
            .with_allowed_origins(names.map(|name| format!("http://{name}")))
            .enforce_origin_validation();
        config.cancellation_token = stop.clone();
        let served = server.clone();
        let factory = move || Ok(Standard::new(served.clone()));
        let service = StreamableHttpService::new(factory, Arc::new(LocalSessionManager::default()), config);
        let service = TowerToHyperService::new(service);
        let connections = Tasks::default();
        let places = Arc::new(Semaphore::new(N_CONNECTIONS_MAX));
        tokio::pin!(end);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut end => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    if let Ok(place) = places.clone().try_acquire_owned() {
                        let (service, token) = (service.clone(), token.clone());
                        connections.spawn("a connection", async move {
                            connection(stream, service, token).await;
                            drop(place);
                        });
                    }
                }
                // Too many open files: the connections that are there will end.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
        stop.cancel();
        server.shut_down().await;
    }
}

type SdkService = TowerToHyperService<StreamableHttpService<Standard, LocalSessionManager>>;

async fn connection(stream: TcpStream, service: SdkService, token: Arc<Secret>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let refused = refusal(&request, &token);
        let service = service.clone();
        async move {
            match refused {
                Some(response) => Ok(response),
                None => service.call(request).await,
            }
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ARRIVE_WITHIN)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(N_HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // A client that leaves, is slow or speaks another protocol concerns no one else.
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection ended");
    }
}

/// The answer to a request that may not come in.
fn refusal<B>(request: &Request<B>, token: &Secret) -> Option<Response<Body>> {
    let (status, text) = if !knows(request, token) {
        (StatusCode::UNAUTHORIZED, "the server's token is missing or wrong\n")
    } else if request.uri().path() != PATH {
        (StatusCode::NOT_FOUND, "there is no such path; the server is at /mcp\n")
    } else {
        return None;
    };
    let mut response = Response::new(BoxBody::new(text.to_owned()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain; charset=utf-8"));
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
    }
    Some(response)
}

/// Whether a client knows the token. Hashes are compared, so the time says nothing about the token.
fn knows<B>(request: &Request<B>, token: &Secret) -> bool {
    let mut given = request.headers().get_all(header::AUTHORIZATION).into_iter();
    let (Some(given), None) = (given.next(), given.next()) else { return false };
    let Some((scheme, given)) = given.to_str().ok().and_then(|given| given.split_once(' ')) else { return false };
    scheme.eq_ignore_ascii_case("bearer") && Sha256::digest(given.trim()) == Sha256::digest(token.reveal())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, authorization: &[&str], expected: Option<u16>) {
        let mut request = Request::builder().uri(path);
        for value in authorization {
            request = request.header("authorization", *value);
        }
        let refused = refusal(&request.body(()).unwrap(), &Secret::new("right"));
        assert_eq!(refused.map(|response| response.status().as_u16()), expected, "{path} {authorization:?}");
    }

    #[test]
    fn the_token_is_looked_at_before_the_path() {
        check("/mcp", &["Bearer right"], None);
        check("/mcp", &["bearer right"], None);
        check("/mcp", &[], Some(401));
        check("/mcp", &["Bearer wrong"], Some(401));
        check("/mcp", &["Basic right"], Some(401));
        check("/mcp", &["Bearer right", "Bearer right"], Some(401));
        check("/mcp?token=right", &[], Some(401));
        check("/other", &["Bearer right"], Some(404));
        check("/other", &[], Some(401));
    }
}
