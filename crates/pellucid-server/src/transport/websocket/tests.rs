//! Which connections are accepted, and what refused connections can take up.

use std::net::SocketAddr;

use expect_test::Expect;
use expect_test::expect;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderName;

use super::*;
use crate::tests::ground;

/// A server with the token `right`.
struct Running {
    address: SocketAddr,
    _home: Workspace,
}

impl Running {
    async fn start(limits: Limits) -> Self {
        let home = Workspace::empty();
        let server = Server::new(ground(&home, "[[reply]]\nsay = \"x\"\n"));
        let loopback = "127.0.0.1:0".parse().unwrap();
        let listener = WebSocketListener::bind_within(loopback, Secret::new("right"), limits).await.unwrap();
        let address = listener.address().unwrap();
        tokio::spawn(listener.serve(server));
        Self { address, _home: home }
    }

    /// A connection that sends nothing.
    async fn stranger(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn connect(
        &self,
        query: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<WebSocketStream<TcpStream>, Error> {
        let mut request = format!("ws://{}/{query}", self.address).into_client_request()?;
        for (name, value) in headers {
            request.headers_mut().insert(HeaderName::from_static(name), value.parse().unwrap());
        }
        let (socket, _) = tokio_tungstenite::client_async(request, self.stranger().await).await?;
        Ok(socket)
    }
}

const RIGHT: (&str, &str) = ("authorization", "Bearer right");

/// Sends `initialize` and waits for the response.
async fn greet(mut socket: WebSocketStream<TcpStream>) -> WebSocketStream<TcpStream> {
    let hello = json!({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}});
    socket.send(Message::text(hello.to_string())).await.unwrap();
    let answer = socket.next().await.unwrap().unwrap();
    let answer: Value = serde_json::from_str(answer.to_text().unwrap()).unwrap();
    assert!(answer["result"]["userAgent"].as_str().unwrap().starts_with("test/"), "{answer}");
    socket
}

async fn check(query: &str, headers: &[(&'static str, &str)], expected: &Expect) {
    let running = Running::start(Limits::default()).await;
    let outcome = match running.connect(query, headers).await {
        Ok(socket) => {
            drop(greet(socket).await);
            "in".to_owned()
        }
        Err(Error::Http(response)) => {
            let why = String::from_utf8(response.body().clone().unwrap_or_default()).unwrap();
            format!("{} {}", response.status().as_u16(), why.trim_end())
        }
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&outcome);
}

#[tokio::test]
async fn a_client_needs_the_token() {
    check("", &[RIGHT], &expect!["in"]).await;
    check("?token=right", &[], &expect!["in"]).await;
    let wrong = expect!["401 the server's token is missing or wrong"];
    check("", &[], &wrong).await;
    check("?token=wrong", &[], &wrong).await;
    check("?token=", &[], &wrong).await;
    check("", &[("authorization", "Bearer wrong")], &wrong).await;
}

#[tokio::test]
async fn a_page_does_not_get_in_even_with_the_token() {
    let page = expect!["403 pages of browsers are not served: the request has the header `origin`"];
    check("", &[RIGHT, ("origin", "https://example.org")], &page).await;
    check("", &[RIGHT, ("origin", "null")], &page).await;
    let elsewhere = expect!["403 the header `host` does not name a loopback address of this machine"];
    check("", &[RIGHT, ("host", "example.org")], &elsewhere).await;
    check("", &[RIGHT, ("host", "127.0.0.1.example.org:80")], &elsewhere).await;
    check("", &[RIGHT, ("host", "10.0.0.1")], &elsewhere).await;
    check("", &[RIGHT, ("host", "localhost:9")], &expect!["in"]).await;
    check("", &[RIGHT, ("host", "[::1]:9")], &expect!["in"]).await;
}

#[tokio::test]
async fn those_who_say_nothing_or_half_of_it_keep_nobody_out() {
    let running = Running::start(Limits::default()).await;
    let mut strangers = Vec::new();
    for n in 0..80 {
        let mut stranger = running.stranger().await;
        if n % 2 == 0 {
            stranger.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n").await.unwrap();
        }
        strangers.push(stranger);
    }
    drop(greet(running.connect("", &[RIGHT]).await.unwrap()).await);
    drop(strangers);
}

#[tokio::test]
async fn the_oldest_stranger_makes_room() {
    let running = Running::start(Limits { strangers_max: 2, ..Limits::default() }).await;
    let mut oldest = running.stranger().await;
    let _second = running.stranger().await;
    drop(greet(running.connect("", &[RIGHT]).await.unwrap()).await);
    // The connection is closed without a byte.
    assert_eq!(oldest.read(&mut [0; 8]).await.unwrap_or_default(), 0);
}

#[tokio::test]
async fn a_stranger_is_let_go_after_a_while() {
    let running = Running::start(Limits { handshake: Duration::from_millis(1), ..Limits::default() }).await;
    let mut stranger = running.stranger().await;
    assert_eq!(stranger.read(&mut [0; 8]).await.unwrap_or_default(), 0);
}

#[tokio::test]
async fn a_client_too_many_is_told_so_and_gets_in_when_another_leaves() {
    let running = Running::start(Limits { clients_max: 1, ..Limits::default() }).await;
    let mut first = greet(running.connect("", &[RIGHT]).await.unwrap()).await;
    let refused = running.connect("", &[RIGHT]).await.unwrap_err();
    let Error::Http(refused) = refused else { panic!("{refused}") };
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    first.close(None).await.unwrap();
    while first.next().await.is_some() {}
    // Its place becomes free shortly after the client was disconnected.
    loop {
        match running.connect("", &[RIGHT]).await {
            Ok(socket) => break drop(greet(socket).await),
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn a_client_that_is_given_up_can_read_why() {
    let (connection, queue) = Connection::new(0, 100);
    connection.send_now("{}".into());
    connection.send_now("x".repeat(50).into());
    let written = Arc::new(Mutex::new(Vec::new()));
    let sink = futures_util::sink::unfold(written.clone(), |written, message: Message| async move {
        written.lock().unwrap().push(message);
        Ok::<_, Error>(written)
    });
    write(queue, Box::pin(sink)).await;
    let why = CloseFrame { code: CloseCode::Policy, reason: TOO_SLOW.into() };
    assert_eq!(*written.lock().unwrap(), [Message::Close(Some(why))]);
}
