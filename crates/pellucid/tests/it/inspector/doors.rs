//! Who gets in, and what a client may take.

use std::io::Read;
use std::io::Write;

use super::client::Inspector;
use super::client::read_answer;
use super::world;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

#[test]
fn the_code_works_once_and_nothing_else_opens_the_doors() {
    let (world, _) = world("responses");
    let mut inspector = Inspector::start(&world, &[]);
    let address = inspector.address.clone();
    let ask = |extra: &str| inspector.raw(&format!("GET /api/v1/hello HTTP/1.1\r\n{extra}\r\n")).refusal();
    let forbidden = || (403, "forbidden".to_owned());
    assert_eq!(ask(&format!("Host: {address}\r\n")), forbidden(), "without a cookie");
    assert_eq!(ask(&format!("Host: {address}\r\nCookie: pellucid=1\r\n")), forbidden());
    let wrong = inspector.raw(&format!("GET /?code={} HTTP/1.1\r\nHost: {address}\r\n\r\n", "0".repeat(64)));
    assert_eq!(wrong.refusal(), forbidden());
    let exchanged = inspector.exchange();
    let cookie = exchanged.header("set-cookie").unwrap().to_owned();
    assert_eq!(inspector.exchange().refusal(), forbidden(), "a second use");
    let (pair, rest) = cookie.split_once(';').unwrap();
    assert_eq!(rest, " HttpOnly; SameSite=Strict; Path=/");
    inspector.cookie = pair.to_owned();
    assert_eq!(inspector.api("hello").status, 200);
    for headers in [
        [("Origin", "http://evil.example")],
        [("Origin", "null")],
        [("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "same-site")],
    ] {
        assert_eq!(inspector.get_with("/api/v1/hello", &headers).refusal(), forbidden(), "{headers:?}");
        assert_eq!(inspector.get_with("/nothing", &headers).refusal(), forbidden(), "before the path is looked at");
    }
    for host in ["localhost", "evil.example", "127.0.0.1", ""] {
        let text = format!("GET /api/v1/hello HTTP/1.1\r\nHost: {host}\r\nCookie: {pair}\r\n\r\n");
        assert_eq!(inspector.raw(&text).refusal(), forbidden(), "{host}");
    }
    let origin = format!("http://{address}");
    let ours = [("Origin", origin.as_str()), ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(inspector.get_with("/api/v1/hello", &ours).status, 200);
}

#[test]
fn every_answer_keeps_the_browser_closed() {
    let (world, id) = world("responses");
    let inspector = Inspector::open(&world, &[]);
    let refused = inspector.raw("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    let answers = [
        ("refused", refused),
        ("page", inspector.get("/")),
        ("api", inspector.api("hello")),
        ("nothing", inspector.get("/nothing")),
        ("body", inspector.api(&format!("sessions/{id}/requests/1/body"))),
    ];
    for (what, answer) in answers {
        let expected = [
            ("content-security-policy", POLICY),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ];
        for (name, value) in expected {
            assert_eq!(answer.header(name), Some(value), "{what}: {name}");
        }
        let cors: Vec<_> = answer.headers.iter().filter(|(name, _)| name.starts_with("access-control")).collect();
        assert!(cors.is_empty(), "{what}: {cors:?}");
    }
}

#[test]
fn methods_and_paths_that_there_are_not_are_refused() {
    let (world, id) = world("responses");
    let inspector = Inspector::open(&world, &[]);
    for method in ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECTED"] {
        assert_eq!(inspector.send(method, "/api/v1/hello", &[], "").status, 405, "{method}");
    }
    assert_eq!(inspector.send("POST", "/api/v1/hello", &[], "").refusal(), (405, "method_not_allowed".to_owned()));
    assert_eq!(inspector.send("HEAD", "/api/v1/hello", &[], "").status, 200);
    for path in [
        "/../../etc/passwd",
        "/page/../index.html",
        "/page/..%2findex.html",
        "/page/%2e%2e/Cargo.toml",
        "/api/v1/sessions/..",
        "/api/v1/sessions/..%2f..%2fetc",
        "/api/v1/sessions/%2e%2e",
        "/api/v1/sessions/no-such-session",
        "/api/v1/sessions/019a0000",
        "/api/v1/nothing",
        "/favicon.ico",
    ] {
        assert_eq!(inspector.get(path).refusal(), (404, "not_found".to_owned()), "{path}");
    }
    let bad = |path: &str| assert_eq!(inspector.api(path).refusal(), (400, "bad_request".to_owned()), "{path}");
    bad("hello?x=1");
    bad("diff?a=now&b=file:/etc/passwd");
    bad(&format!("sessions/{id}/timeline?by=colour"));
    bad(&format!("sessions/{id}/timeline?from=%ff"));
    assert_eq!(inspector.api(&format!("sessions/{id}/requests/99")).refusal(), (404, "not_found".to_owned()));
    assert_eq!(inspector.api(&format!("sessions/{id}/requests/0")).refusal(), (404, "not_found".to_owned()));
}

#[test]
fn long_heads_and_many_connections_are_bounded() {
    let (world, _) = world("responses");
    let inspector = Inspector::open(&world, &[]);
    let mut stream = inspector.connect();
    let long = format!("GET / HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n", inspector.address, "x".repeat(1 << 20));
    // The server may close the connection before it has read everything.
    let _ = stream.write_all(long.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 431 "), "{}", String::from_utf8_lossy(&answer));
    let mut open: Vec<_> = (0..200).map(|_| inspector.connect()).collect();
    let is_refused = |stream: &mut std::net::TcpStream| {
        let _ = stream.write_all(format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", inspector.address).as_bytes());
        let mut first = [0; 1];
        !matches!(stream.read(&mut first), Ok(1))
    };
    let n_refused = open.iter_mut().map(is_refused).filter(|it| *it).count();
    assert!((136..200).contains(&n_refused), "{n_refused} of 200 connections were refused");
    drop(open);
    // Places become free as soon as the server sees that clients have left.
    let is_answered = || {
        let mut stream = inspector.connect();
        let text = format!(
            "GET /api/v1/hello HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
            inspector.address, inspector.cookie
        );
        let mut first = [0; 1];
        stream.write_all(text.as_bytes()).is_ok() && matches!(stream.read(&mut first), Ok(1))
    };
    let began = std::time::Instant::now();
    while !is_answered() {
        assert!(began.elapsed().as_secs() < 30, "no place became free");
        std::thread::yield_now();
    }
}

#[test]
fn a_client_that_does_not_read_holds_back_no_other() {
    let (world, id) = world("responses");
    let inspector = Inspector::open(&world, &[]);
    let slow = inspector.connect();
    for _ in 0..20 {
        let text = format!(
            "GET /api/v1/sessions/{id}/requests/1/body HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
            inspector.address, inspector.cookie
        );
        (&slow).write_all(text.as_bytes()).unwrap();
    }
    assert_eq!(inspector.api("hello").status, 200);
    assert_eq!(read_answer(slow, false).status, 200);
}
