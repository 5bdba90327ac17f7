//! Watching among hostile servers, commands and neighbours: the command sees what its server does, no one else gets through, and memory
//! is bounded. And WebSockets, in both directions.

use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::Shutdown;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use pellucid_testkit::MockServer;
use pellucid_testkit::MockSocket;
use pellucid_testkit::Say;
use serde_json::Value;
use serde_json::json;

use crate::World;
use crate::watch::Watching;
use crate::watch::body;
use crate::watch::world;

/// No exchange of these tests takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// It says that the connection closes, as it does: a client would keep the connection otherwise, and might send the next request
/// before it learns that the server is gone.
const SHORT_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";

const CHAT: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

/// A server that does with every request what a function does with the connection, and tells how it ended.
struct RawServer {
    url: String,
    heads: Receiver<Vec<u8>>,
    /// Whether the other side had closed the connection, for every connection that was waited for.
    ends: Receiver<bool>,
}

type Act = fn(&mut TcpStream) -> std::io::Result<()>;

impl RawServer {
    fn start(act: Act) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (to_heads, heads) = mpsc::channel();
        let (to_ends, ends) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let (to_heads, to_ends) = (to_heads.clone(), to_ends.clone());
                thread::spawn(move || {
                    stream.set_read_timeout(Some(PATIENCE)).unwrap();
                    let Some(head) = read_request(&mut stream) else { return };
                    drop(to_heads.send(head));
                    drop(act(&mut stream));
                    drop(stream.shutdown(Shutdown::Write));
                    let _ = to_ends.send(matches!(stream.read(&mut [0; 9]), Ok(0) | Err(_)));
                });
            }
        });
        Self { url, heads, ends }
    }
}

/// Reads a request with its body; gives the head.
fn read_request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (Vec::new(), 0);
    loop {
        let start = head.len();
        if reader.read_until(b'\n', &mut head).ok()? == 0 {
            return None;
        }
        let line = String::from_utf8_lossy(&head[start..]).to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(head)
}

/// What a client gets: the status, headers that both sides may set, the body, and whether it ended as it should.
#[derive(Debug, PartialEq, Eq)]
struct Got {
    status: String,
    headers: Vec<String>,
    body: Vec<u8>,
    is_whole: bool,
}

fn connect(base: &str) -> (TcpStream, String) {
    let (host, prefix) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    (stream, format!("/{prefix}"))
}

fn post(base: &str, headers: &str, body: &[u8]) -> TcpStream {
    let (mut stream, prefix) = connect(base);
    let length = body.len();
    let head = format!(
        "POST {prefix}/chat/completions HTTP/1.1\r\nhost: x\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    // A server that refuses a request may not read all of it.
    drop(stream.write_all(&[head.as_bytes(), body].concat()));
    stream
}

fn got(stream: TcpStream) -> Got {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = Vec::new();
        let is_line = reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0);
        is_line.then(|| String::from_utf8_lossy(&line).trim_end().to_owned())
    };
    let status = line().unwrap_or_default().split(' ').nth(1).unwrap_or_default().to_owned();
    let headers: Vec<String> = std::iter::from_fn(line).take_while(|line| !line.is_empty()).collect();
    let headers: Vec<String> = headers.into_iter().map(|it| it.to_ascii_lowercase()).collect();
    let value = |name: &str| headers.iter().find_map(|it| it.strip_prefix(name)?.strip_prefix(": "));
    let mut body = Vec::new();
    let is_whole = if value("transfer-encoding") == Some("chunked") {
        read_chunks(&mut reader, &mut body).is_some()
    } else {
        let length = value("content-length").map(|it| it.parse::<u64>().unwrap());
        let read = reader.by_ref().take(length.unwrap_or(u64::MAX)).read_to_end(&mut body);
        read.is_ok() && length.is_none_or(|length| body.len() as u64 == length)
    };
    let about_connection = ["transfer-encoding", "connection", "date", "content-length"];
    let is_kept = |it: &String| !about_connection.iter().any(|name| it.starts_with(name));
    let mut headers: Vec<String> = headers.iter().filter(|it| is_kept(it)).cloned().collect();
    headers.sort();
    Got { status, headers, body, is_whole }
}

/// Reads chunks until the last one; absent if that is missing.
fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> Option<()> {
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        let length = u64::from_str_radix(line.trim(), 16).ok()?;
        let before = body.len() as u64;
        reader.by_ref().take(length).read_to_end(body).ok()?;
        if body.len() as u64 - before < length {
            return None;
        }
        reader.read_line(&mut line).ok()?;
        if length == 0 {
            return Some(());
        }
    }
}

/// A request alone and watched: the command gets the same.
#[track_caller]
fn check_same(world: &World, act: Act) -> (Got, String) {
    let server = RawServer::start(act);
    let alone = got(post(&server.url, "", CHAT.as_bytes()));
    let watching = Watching::start(world, &server.url);
    let watched = got(post(&watching.urls["OPENAI_BASE_URL"], "", CHAT.as_bytes()));
    assert_eq!(watched, alone);
    for _ in 0..2 {
        server.heads.recv_timeout(PATIENCE).unwrap();
    }
    let said = watching.end();
    assert!(said.contains("recorded 1 request in 1 session"), "{said}");
    assert_eq!(server.heads.try_recv().ok(), None, "the server got one request from each");
    (watched, said)
}

#[test]
fn the_command_gets_what_a_hostile_server_sends() {
    let world = world();
    let (got, _) =
        check_same(&world, |stream| stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nten bytes."));
    assert_eq!((got.body.len(), got.is_whole), (10, false), "closed before the end");
    let (got, _) =
        check_same(&world, |stream| stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello and more"));
    assert_eq!((&got.body[..], got.is_whole), (&b"hello"[..], true), "more than was announced");
    let (got, _) = check_same(&world, |stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\ndata: \r\n")
    });
    assert_eq!((&got.body[..], got.is_whole), (&b"data: "[..], false), "closed in the middle of a stream");
    let (got, _) = check_same(&world, |stream| {
        stream.write_all(
            b"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/x\r\ncontent-length: 0\r\n\r\n",
        )
    });
    assert_eq!((got.status.as_str(), &got.headers[..]), ("307", &["location: http://127.0.0.1:1/x".to_owned()][..]));
    let (got, _) = check_same(&world, |stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nset-cookie: b=2\r\nx-odd: \xff\r\ncontent-length: 4\r\n\r\n\xff\xfe\x00\n")
    });
    assert_eq!((&got.body[..], got.headers.len()), (&b"\xff\xfe\x00\n"[..], 3), "what is not text");
    check_same(&world, |stream| stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nuntil the end"));
    check_same(&world, |stream| stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n"));
    check_same(&world, |stream| {
        stream.write_all(b"HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-length: 2\r\n\r\n{}")
    });
}

#[test]
fn a_compressed_answer_is_forwarded_as_it_is_and_its_tokens_are_read() {
    let world = world();
    let (got, _) = check_same(&world, |stream| {
        let answer = json!({
            "id": "c", "choices": [{ "message": { "role": "assistant", "content": "zipped" } }],
            "usage": { "prompt_tokens": 41, "completion_tokens": 2, "total_tokens": 43 },
        });
        let packed = packed(answer.to_string().as_bytes());
        let length = packed.len();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {length}\r\n\r\n")?;
        stream.write_all(&packed)
    });
    assert_eq!(got.headers, ["content-encoding: gzip"]);
    let cost: Value = serde_json::from_slice(&world.run(&["cost", "w", "--json"]).stdout).unwrap();
    assert_eq!((&cost["total"]["uncached"], &cost["total"]["answered"]), (&json!(41), &json!(2)));
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_server_that_breaks_the_protocol_is_the_commands_to_see_and_is_bounded() {
    let world = world();
    let endless: Act = |stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        let line = format!("x-more: {}\r\n", "y".repeat(1000));
        loop {
            stream.write_all(line.as_bytes())?;
        }
    };
    for act in [endless, |stream| stream.write_all(b"SSH-2.0-nothing\r\n\r\n"), |_| Ok(())] {
        let server = RawServer::start(act);
        let watching = Watching::start(&world, &server.url);
        let got = got(post(&watching.urls["OPENAI_BASE_URL"], "", CHAT.as_bytes()));
        assert_eq!(got.status, "502", "{got:?}");
        assert!(got.body.starts_with(b"pellucid watch: there is no answer"), "{got:?}");
        assert!(server.ends.recv_timeout(PATIENCE).unwrap(), "the connection to the server is closed");
        assert!(peak_kb(&watching) < 400_000);
        watching.end();
    }
    let shown = world.run(&["cache", "w", "--json"]);
    assert!(shown.out().contains("\"unknown\""), "{}", shown.out());
}

/// The most memory that `watch` has used so far, in kB.
fn peak_kb(watching: &Watching) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", watching.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[test]
fn a_server_that_never_answers_is_left_when_the_command_leaves() {
    let world = world();
    let server = RawServer::start(|stream| {
        // Until the other side closes the connection.
        stream.read(&mut [0; 9]).map(drop)
    });
    let watching = Watching::start(&world, &server.url);
    let stream = post(&watching.urls["OPENAI_BASE_URL"], "", CHAT.as_bytes());
    server.heads.recv_timeout(PATIENCE).unwrap();
    assert!(server.ends.try_recv().is_err(), "the server is waited for");
    drop(stream);
    assert!(server.ends.recv_timeout(PATIENCE).unwrap());
    // And when the command ends while one waits.
    let waiting = post(&watching.urls["OPENAI_BASE_URL"], "", CHAT.as_bytes());
    server.heads.recv_timeout(PATIENCE).unwrap();
    watching.end();
    assert!(server.ends.recv_timeout(PATIENCE).unwrap());
    drop(waiting);
    assert_eq!(world.run(&["replay", "w"]).status, 0);
}

#[test]
fn a_flood_is_forwarded_and_takes_bounded_memory() {
    const N_PIECES: usize = 160;
    let world = world();
    let server = RawServer::start(|stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
        let piece = [format!("{:x}\r\n", 1 << 20).as_bytes(), &vec![b'['; 1 << 20], b"\r\n"].concat();
        (0..N_PIECES).try_for_each(|_| stream.write_all(&piece))?;
        stream.write_all(b"0\r\n\r\n")
    });
    let watching = Watching::start(&world, &server.url);
    let base = watching.urls["OPENAI_BASE_URL"].clone();
    let got = got(post(&base, "", CHAT.as_bytes()));
    assert_eq!((got.body.len(), got.is_whole), (N_PIECES << 20, true));
    let peak = peak_kb(&watching);
    assert!(peak < 400_000, "{peak} kB");
    watching.end();
}

#[test]
fn bodies_of_any_bytes_reach_the_server_and_the_record() {
    let world = world();
    let server = RawServer::start(|stream| stream.write_all(SHORT_ANSWER));
    let watching = Watching::start(&world, &server.url);
    let base = watching.urls["OPENAI_BASE_URL"].clone();
    let packed = packed(CHAT.as_bytes());
    for (headers, sent) in [("", &b"\xff\xfe not text"[..]), ("content-encoding: gzip\r\n", &packed)] {
        assert_eq!(got(post(&base, headers, sent)).status, "200");
    }
    // A body that is longer than allowed is refused before it is read.
    let (mut stream, prefix) = connect(&base);
    write!(stream, "POST {prefix}/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 999999999999\r\n\r\n").unwrap();
    assert_eq!(got(stream).status, "413");
    // And a head.
    let long = format!("x-long: {}\r\n", "y".repeat(1 << 20));
    let refused = got(post(&base, &long, b"{}"));
    assert!(matches!(refused.status.as_str(), "431" | ""), "{refused:?}");
    let said = watching.end();
    assert!(said.contains("recorded 2 requests in 2 sessions"), "{said}");
    let hex: String = b"\xff\xfe not text".iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((body(&world, "w#1"), body(&world, "w-2#1")), (hex, CHAT.to_owned()));
    assert_eq!(server.heads.try_iter().count(), 2);
}

#[test]
fn headers_reach_the_server_as_the_command_sent_them() {
    let world = world();
    let server = RawServer::start(|stream| stream.write_all(SHORT_ANSWER));
    let watching = Watching::start(&world, &server.url);
    let given = "x-two: a\r\nx-two: b\r\nauthorization: Bearer k\r\nx-odd: \u{e9}\r\n";
    let lines = |head: Vec<u8>| {
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let mut lines: Vec<String> = head.lines().skip(1).map(str::to_owned).collect();
        lines.retain(|line| !line.starts_with("host:") && !line.starts_with("connection:"));
        lines.sort();
        lines
    };
    let base = &watching.urls["OPENAI_BASE_URL"];
    let accepting = format!("accept: text/event-stream\r\n{given}");
    for (alone, watched) in [
        (accepting.as_str(), accepting.as_str()),
        // The one header that is added if it is missing. It has the meaning of none.
        (&format!("accept: */*\r\n{given}"), given),
    ] {
        let head = |url: &str, headers: &str| {
            let got = got(post(url, headers, CHAT.as_bytes()));
            assert_eq!((got.status.as_str(), got.body.as_slice()), ("200", b"{}".as_slice()), "{got:?}");
            server.heads.recv_timeout(PATIENCE).unwrap()
        };
        let alone = head(&server.url, alone);
        assert_eq!(lines(head(base, watched)), lines(alone));
    }
    watching.end();
}

#[test]
fn neighbours_without_the_path_cannot_hold_back_the_command() {
    let world = world();
    let server = RawServer::start(|stream| stream.write_all(SHORT_ANSWER));
    let watching = Watching::start(&world, &server.url);
    let base = watching.urls["OPENAI_BASE_URL"].clone();
    let (host, _) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    // More silent connections than there are seats, and some that have begun a request.
    let mut silent: Vec<TcpStream> = (0..400).map(|_| TcpStream::connect(host).unwrap()).collect();
    for stream in &mut silent {
        drop(stream.write_all(b"POST / HTTP/1.1\r\nhost: "));
    }
    for _ in 0..3 {
        assert_eq!(got(post(&base, "", CHAT.as_bytes())).status, "200");
    }
    let mut first = silent.swap_remove(0);
    first.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(matches!(first.read(&mut [0; 9]), Ok(0) | Err(_)), "the oldest is sent away");
    let port = host.rsplit(':').next().unwrap();
    assert!(TcpStream::connect(format!("[::1]:{port}")).is_err(), "only 127.0.0.1");
    // The path decides, whatever host is named.
    let (mut stream, prefix) = connect(&base);
    write!(stream, "GET {prefix}/models HTTP/1.1\r\nhost: rebound.example\r\nconnection: close\r\n\r\n").unwrap();
    assert_eq!(got(stream).status, "200");
    for path in ["/", "/models", "/..%2f", &prefix.to_uppercase(), &prefix[..prefix.len() - 2]] {
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
        assert_eq!(got(stream).status, "404", "{path}");
    }
    assert_eq!(server.heads.try_iter().count(), 4);
    watching.end();
}

/// A frame of a client: text, masked.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first, 0x80 | 126];
    bytes.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
    bytes.extend([1, 2, 3, 4]);
    bytes.extend(payload.iter().enumerate().map(|(n, byte)| byte ^ [1, 2, 3, 4][n % 4]));
    bytes
}

/// A frame of a server: the first byte, and the payload.
fn read_frame(reader: &mut impl Read) -> (u8, Vec<u8>) {
    let mut head = [0; 2];
    reader.read_exact(&mut head).unwrap();
    let length = match head[1] {
        126 => {
            let mut length = [0; 2];
            reader.read_exact(&mut length).unwrap();
            usize::from(u16::from_be_bytes(length))
        }
        length => usize::from(length),
    };
    let mut payload = vec![0; length];
    reader.read_exact(&mut payload).unwrap();
    (head[0], payload)
}

fn handshake(base: &str) -> (BufReader<TcpStream>, Vec<String>) {
    let (mut stream, prefix) = connect(base);
    write!(
        stream,
        "GET {prefix}/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nauthorization: Bearer k\r\n\r\n"
    )
    .unwrap();
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim_end().is_empty() {
            return (reader, lines);
        }
        lines.push(line.trim_end().to_ascii_lowercase());
    }
}

/// The messages that answer a request.
fn answered(number: usize) -> Vec<Say> {
    let item = json!({
        "type": "message", "id": "m", "role": "assistant", "content": [{ "type": "output_text", "text": format!("answer {number}") }],
    });
    let usage = json!({
        "input_tokens": 100 * number, "input_tokens_details": { "cached_tokens": 10 }, "output_tokens": 7,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 100 * number + 7,
    });
    vec![
        Say::Ping,
        Say::Json(json!({ "type": "response.created", "response": { "id": format!("r{number}") } })),
        Say::Binary(vec![1, 2, 3]),
        Say::Json(json!({ "type": "response.output_item.done", "item": item })),
        Say::Json(json!({ "type": "response.completed", "response": { "id": format!("r{number}"), "usage": usage } })),
    ]
}

#[test]
fn a_web_socket_is_forwarded_both_ways_and_recorded() {
    let world = world();
    let sockets = [MockSocket::open([answered(1), answered(2)]), MockSocket::refused(401)];
    let server = MockServer::with_sockets([], sockets);
    let watching = Watching::start(&world, &server.base_url());
    let base = watching.urls["OPENAI_BASE_URL"].clone();
    let (mut reader, head) = handshake(&base);
    assert!(head[0].contains(" 101 "), "{head:?}");
    // The value of RFC 6455 for this key.
    assert!(head.contains(&"sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=".to_owned()), "{head:?}");
    let ask = |input: &[Value]| json!({ "type": "response.create", "model": "m", "input": input }).to_string();
    let said = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": text });
    let first = ask(&[said("user", "one")]);
    let second = ask(&[said("user", "one"), said("assistant", "answer 1"), said("user", "two")]);
    for sent in [&first, &second] {
        // In two frames, with a ping between them.
        let (one, two) = sent.as_bytes().split_at(10);
        let frames = [frame(0x01, one), frame(0x89, b"alive?"), frame(0x80, two)].concat();
        reader.get_mut().write_all(&frames).unwrap();
        let mut texts = Vec::new();
        loop {
            match read_frame(&mut reader) {
                (0x89, payload) => reader.get_mut().write_all(&frame(0x8a, &payload)).unwrap(),
                (0x81, payload) => texts.push(String::from_utf8(payload).unwrap()),
                (0x82, payload) => assert_eq!(payload, [1, 2, 3]),
                (0x8a, payload) => assert_eq!(payload, b"alive?"),
                other => panic!("{other:?}"),
            }
            if texts.last().is_some_and(|text| text.contains("response.completed")) {
                break;
            }
        }
        assert_eq!(texts.len(), 3);
    }
    reader.get_mut().write_all(&frame(0x88, &1000_u16.to_be_bytes())).unwrap();
    let (_, refused) = handshake(&base);
    assert!(refused[0].contains(" 401 "), "{refused:?}");
    let told = watching.end();
    assert!(told.contains("recorded 2 requests in 1 session"), "{told}");
    assert_eq!(server.messages().iter().filter(|it| *it != "pong").collect::<Vec<_>>(), [&first, &second]);
    assert_eq!((body(&world, "w#1"), body(&world, "w#2")), (first, second));
    let cache: Value = serde_json::from_slice(&world.run(&["cache", "w", "--json"]).stdout).unwrap();
    let read: Vec<&Value> = cache["requests"].as_array().unwrap().iter().map(|row| &row["provider_read"]).collect();
    assert_eq!((read, &cache["breaks"]), (vec![&json!(10), &json!(10)], &json!(0)), "{cache}");
    let cost: Value = serde_json::from_slice(&world.run(&["cost", "w", "--json"]).stdout).unwrap();
    assert_eq!(cost["total"]["answered"], 14);
    assert_eq!(world.run(&["replay", "w"]).status, 0);
    let shown = world.run(&["sessions", "show", "w"]);
    assert!(shown.out().contains("answer 2"), "{}", shown.out());
}
