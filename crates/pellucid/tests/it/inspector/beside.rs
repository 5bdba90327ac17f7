//! The page beside a session that runs: it shows the session, ends with it, and does not disturb it.

use std::collections::VecDeque;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::TcpStream;
use std::process::Stdio;
use std::thread;

use pellucid_testkit::LiveTerminal;
use serde_json::Value;
use serde_json::json;

use super::FIXTURE;
use super::client::read_answer;
use crate::World;

const SCRIPT: &str = "[[reply]]\nsay = \"done\"\n";

/// How many connections are made, and how many of them are open at once.
const N_CONNECTIONS: usize = 10_000;
const N_OPEN: usize = 300;

/// The address and the code of a line that names a page.
fn printed(line: &str) -> (String, String) {
    let (_, rest) = line.split_once("http://").unwrap_or_else(|| panic!("{line}"));
    let (address, rest) = rest.split_once("/?code=").unwrap();
    (address.to_owned(), rest[..64].to_owned())
}

/// Exchanges a code and asks for the list of sessions.
fn sessions(address: &str, code: &str) -> Value {
    let ask = |text: String| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        read_answer(stream, false)
    };
    let entered = ask(format!("GET /?code={code} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    let cookie = entered.header("set-cookie").unwrap().split_once(';').unwrap().0.to_owned();
    ask(format!("GET /api/v1/sessions HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\r\n")).json()
}

/// Makes many connections, of which each sends a part of a head, and the last ones stay open.
fn crowd(address: &str) -> VecDeque<TcpStream> {
    let mut open = VecDeque::new();
    for _ in 0..N_CONNECTIONS {
        // A connection that the server has closed cannot be written to, which is as good.
        if let Ok(mut stream) = TcpStream::connect(address) {
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nX: ");
            open.push_back(stream);
        }
        if open.len() > N_OPEN {
            open.pop_front();
        }
    }
    open
}

#[test]
fn ten_thousand_connections_do_not_disturb_the_session_beside_the_page() {
    let world = World::new(FIXTURE);
    world.files.write("work/script.toml", SCRIPT);
    let mut command = world.command(&["app-server", "--inspect", "--script", "script.toml"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut told = String::new();
    BufReader::new(server.stderr.take().unwrap()).read_line(&mut told).unwrap();
    let (address, code) = printed(&told);
    let mut said = server.stdin.take().unwrap();
    let mut heard = BufReader::new(server.stdout.take().unwrap());
    let mut ask = |method: &str, params: Value, end: &str| -> Value {
        writeln!(said, "{}", json!({ "id": method, "method": method, "params": params })).unwrap();
        let mut answer = Value::Null;
        loop {
            let mut line = String::new();
            assert!(heard.read_line(&mut line).unwrap() > 0, "the program ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == method {
                answer = message.clone();
            }
            if message["method"] == end || (end.is_empty() && message["id"] == method) {
                return answer;
            }
        }
    };
    ask("initialize", json!({ "clientInfo": { "name": "test", "version": "1" } }), "");
    let crowded = address.clone();
    let crowd = thread::spawn(move || crowd(&crowded));
    let opened = ask("thread/start", json!({}), "");
    let thread_id = opened["result"]["thread"]["id"].as_str().unwrap().to_owned();
    let input = json!([{ "type": "text", "text": "go" }]);
    let began = ask("turn/start", json!({ "threadId": thread_id, "input": input }), "turn/completed");
    assert!(began["error"].is_null(), "{began}");
    // Places become free once the server sees that clients have left.
    let open = crowd.join().unwrap();
    assert!(!open.is_empty());
    drop(open);
    let is_free = || {
        let mut stream = TcpStream::connect(&address).unwrap();
        let text = format!("GET /api/v1/hello HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let mut first = [0; 1];
        stream.write_all(text.as_bytes()).is_ok() && matches!(stream.read(&mut first), Ok(1))
    };
    while !is_free() {
        thread::yield_now();
    }
    let list = sessions(&address, &code);
    assert_eq!(list["sessions"][0]["id"], *thread_id);
    assert_eq!(list["sessions"][0]["totals"]["requests"], 1);
    drop(said);
    server.wait().unwrap();
    assert!(TcpStream::connect(&address).is_err(), "the page ends with the session");
}

#[test]
fn a_slash_command_serves_the_page_as_long_as_the_client_runs() {
    let world = World::new(FIXTURE);
    world.files.write("work/script.toml", SCRIPT);
    let config = format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", world.files.path("work"));
    world.files.write("home/config.toml", config);
    let mut command = world.command(&["--screen-reader", "--script", "script.toml"]);
    command.env("TERM", "xterm-256color");
    let mut terminal = LiveTerminal::start((400, 24), command);
    terminal.read_until("> ");
    terminal.write(b"go\n");
    terminal.read_until("Answer: done\n");
    terminal.read_until("Ready.\n> ");
    terminal.write(b"/inspect\n");
    let mut written = terminal.read_until("/?code=");
    written += &terminal.read_until("\n");
    let (address, code) = printed(&written);
    let list = sessions(&address, &code);
    let id = list["sessions"][0]["id"].as_str().unwrap();
    assert!(written.contains(&format!("#/s/{id}")), "{written}");
    assert_eq!(list["sessions"][0]["first_message"], "go");
    terminal.write(b"/exit\n");
    let (rest, status) = terminal.wait();
    assert_eq!(status, 0, "{rest}");
    assert!(TcpStream::connect(&address).is_err(), "the page ends with the client");
}
