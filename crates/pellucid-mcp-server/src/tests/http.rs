//! The same over HTTP.

use pellucid_protocol::secret::Secret;
use pellucid_testkit::Workspace;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::server;
use crate::listen::HttpListener;

/// Sends a request on a separate connection, and gives the status and the body.
async fn post(listener: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(listener).await.unwrap();
    let mut head = format!("POST /mcp HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

#[tokio::test]
async fn a_client_needs_the_token_the_right_host_and_no_other_origin() {
    let home = Workspace::empty();
    let listener = HttpListener::bind("127.0.0.1:0".parse().unwrap(), Secret::new("right")).await.unwrap();
    let at = listener.address().to_string();
    let (end, ended) = oneshot::channel::<()>();
    let served = tokio::spawn(listener.serve(server(&home, "[[reply]]\nsay = \"One.\"\n"), async move {
        let _ = ended.await;
    }));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "probe", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": "pellucid", "arguments": { "prompt": "Hi" }, "_meta": meta },
    });
    let call = call.to_string();
    let usual = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "pellucid"),
    ];
    let token = ("authorization", "Bearer right");
    let origin = format!("http://{at}");
    let with = |more: &[(&'static str, &str)]| -> Vec<(String, String)> {
        usual.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    for (more, expected) in [
        (vec![("host", at.as_str())], 401),
        (vec![("host", at.as_str()), ("authorization", "Bearer wrong")], 401),
        (vec![("host", "evil.example"), token], 403),
        (vec![("host", at.as_str()), token, ("origin", "http://evil.example")], 403),
        (vec![("host", at.as_str()), token, ("origin", "null")], 403),
        (vec![("host", at.as_str()), token, ("origin", origin.as_str())], 200),
        (vec![("host", at.as_str()), token], 200),
    ] {
        let headers = with(&more);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let (status, answer) = post(&at, &headers, &call).await;
        assert_eq!(status, expected, "{more:?}: {answer}");
        if expected == 200 && more.len() == 3 {
            assert!(answer.contains(r#""content":"One.""#), "{answer}");
        }
    }
    end.send(()).unwrap();
    served.await.unwrap();
}

#[tokio::test]
async fn other_machines_cannot_reach_it() {
    let bound = HttpListener::bind("0.0.0.0:0".parse().unwrap(), Secret::new("right")).await;
    assert!(bound.is_err_and(|error| error.to_string().contains("use a loopback address")));
}
