//! The page of this computer to which the browser returns after a login.
//!
//! It answers `GET /callback` on the loopback interface. Any local program can reach it, so a request without the state
//! of this login changes nothing, requests are bounded in number, size and time, and the page repeats nothing.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use pellucid_tasks::Tasks;
use reqwest::Url;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::sync::mpsc;

/// The path to which the browser returns.
const PATH: &str = "/callback";

/// A longer head of a request is refused.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// How long a request may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many requests may be open.
const N_OPEN_MAX: usize = 16;

/// The page, before the browser has asked for it.
#[derive(Debug)]
pub(super) struct CallbackPage {
    listener: TcpListener,
    port: u16,
}

/// What the browser brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Return {
    /// The address with the code.
    Code(String),
    /// The authorization server's error.
    Refused(String),
}

/// What an address that should be that of the page means for a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The login has ended, well or not.
    Ended(Return),
    /// The state is not that of this login.
    OtherLogin,
    /// The address is not that of the page.
    OtherPage,
}

/// The meaning of an address, given whole or as the target of a request.
pub(super) fn meaning(address: &str, state: &str) -> Meaning {
    let base = "http://127.0.0.1".parse::<Url>();
    let Ok(url) = base.and_then(|base| base.join(address.trim())) else { return Meaning::OtherPage };
    if url.path() != PATH {
        return Meaning::OtherPage;
    }
    let member = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    if !member("state").is_some_and(|given| is_equal(given.as_bytes(), state.as_bytes())) {
        return Meaning::OtherLogin;
    }
    match (member("error"), member("code")) {
        (None, Some(_)) => Meaning::Ended(Return::Code(url.into())),
        (Some(error), _) => {
            let description = member("error_description").map(|it| format!(": {it}")).unwrap_or_default();
            Meaning::Ended(Return::Refused(format!("{error}{description}")))
        }
        (None, None) => Meaning::OtherPage,
    }
}

/// Compares in a time that does not depend on where the bytes differ.
fn is_equal(given: &[u8], expected: &[u8]) -> bool {
    given.len() == expected.len() && given.iter().zip(expected).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

impl CallbackPage {
    /// Begins to listen on a port of this computer, or on any free one.
    pub(super) async fn listen(port: Option<u16>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or_default())).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// The address of the page.
    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits until the browser returns from the login with this state.
    pub(super) async fn returned(self, state: &str) -> io::Result<Return> {
        let (tasks, open) = (Tasks::default(), Arc::new(Semaphore::new(N_OPEN_MAX)));
        let (send, mut received) = mpsc::channel(1);
        loop {
            let stream = tokio::select! {
                biased;
                Some(returned) = received.recv() => return Ok(returned),
                accepted = self.listener.accept() => accepted?.0,
            };
            // A connection beyond the limit is closed.
            let Ok(permit) = open.clone().try_acquire_owned() else { continue };
            let (state, send) = (state.to_owned(), send.clone());
            tasks.spawn("answering the browser after a login", async move {
                let _counts_as_open = permit;
                if let Ok(Ok(Some(returned))) = tokio::time::timeout(PATIENCE, answer(stream, &state)).await {
                    // Another request has brought the end already.
                    let _ = send.try_send(returned);
                }
            });
        }
    }
}

/// Answers one request.
async fn answer(mut stream: TcpStream, state: &str) -> io::Result<Option<Return>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > HEAD_BYTES_MAX || stream.read_buf(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = std::str::from_utf8(line).unwrap_or_default().split(' ');
    let meaning = match (words.next(), words.next()) {
        (Some("GET"), Some(target)) if target.starts_with('/') => meaning(target, state),
        _ => Meaning::OtherPage,
    };
    let (status, text) = match &meaning {
        Meaning::Ended(Return::Code(_)) => ("200 OK", "The login is complete. You can close this page."),
        Meaning::Ended(Return::Refused(_)) => ("400 Bad Request", "The login failed. The terminal says why."),
        Meaning::OtherLogin => ("400 Bad Request", "This page belongs to another login."),
        Meaning::OtherPage => ("404 Not Found", "There is nothing here."),
    };
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Pellucid</title><p>{text}</p></html>\n"
    );
    let reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'\r\n\r\n{page}",
        page.len()
    );
    // The login counts, even if the browser does not read the page.
    let _ = stream.write_all(reply.as_bytes()).await;
    let _ = stream.shutdown().await;
    Ok(match meaning {
        Meaning::Ended(returned) => Some(returned),
        Meaning::OtherLogin | Meaning::OtherPage => None,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn only_the_state_of_a_login_ends_the_login() {
        let addresses = [
            "/callback?code=c&state=s",
            " http://127.0.0.1:1/callback?state=s&code=c&iss=http%3A%2F%2Fas \n",
            "/callback?code=c&state=t",
            "/callback?code=c",
            "/callback?error=access_denied&error_description=no%20thanks&state=s",
            "/callback?error=access_denied",
            "/callback?state=s",
            "/favicon.ico",
            "http://[",
        ];
        let meanings: Vec<_> = addresses.iter().map(|it| format!("{:?}\n", meaning(it, "s"))).collect();
        expect![[r#"
            Ended(Code("http://127.0.0.1/callback?code=c&state=s"))
            Ended(Code("http://127.0.0.1:1/callback?state=s&code=c&iss=http%3A%2F%2Fas"))
            OtherLogin
            OtherLogin
            Ended(Refused("access_denied: no thanks"))
            OtherLogin
            OtherPage
            OtherPage
            OtherPage
        "#]]
        .assert_eq(&meanings.concat());
    }

    async fn ask(address: &str, request: &str) -> String {
        let place = address.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
        let mut stream = TcpStream::connect(place).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        reply.lines().next().unwrap_or_default().to_owned()
    }

    #[tokio::test]
    async fn the_page_waits_for_the_login_among_other_requests() {
        let page = CallbackPage::listen(None).await.unwrap();
        let address = page.address();
        let asking = async {
            // A browser opens connections in advance that carry nothing.
            let _idle = TcpStream::connect(address.trim_start_matches("http://").trim_end_matches(PATH)).await.unwrap();
            let mut replies = Vec::new();
            for request in [
                "POST /callback?code=c&state=s HTTP/1.1\r\n\r\n",
                "GET /callback?code=c&state=wrong HTTP/1.1\r\n\r\n",
                "GET /callback?code=c&state=s HTTP/1.1\r\nHost: x\r\n\r\n",
            ] {
                replies.push(ask(&address, request).await);
            }
            replies
        };
        let (returned, replies) = tokio::join!(page.returned("s"), asking);
        assert_eq!(returned.unwrap(), Return::Code("http://127.0.0.1/callback?code=c&state=s".to_owned()));
        assert_eq!(replies, ["HTTP/1.1 404 Not Found", "HTTP/1.1 400 Bad Request", "HTTP/1.1 200 OK"]);
    }
}
