//! A running inspector, and a client that writes HTTP by hand, so that it can also write what no browser would.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::TcpStream;
use std::process::Child;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::World;

/// No answer takes this long; a test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// An inspector that runs beside a test.
pub struct Inspector {
    child: Child,
    /// `127.0.0.1:PORT`
    pub address: String,
    /// The code of the printed address.
    pub code: String,
    /// What follows `#` in the printed address.
    pub fragment: String,
    /// The cookie, once the code is exchanged.
    pub cookie: String,
}

/// An answer.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The code of a refusal.
    #[track_caller]
    pub fn refusal(&self) -> (u16, String) {
        (self.status, self.json()["error"]["code"].as_str().unwrap_or_default().to_owned())
    }
}

impl Inspector {
    /// Starts the program and reads the address that it prints.
    pub fn start(world: &World, args: &[&str]) -> Self {
        Self::start_with(world, args, &[])
    }

    fn start_with(world: &World, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let args: Vec<&str> = ["inspect"].iter().chain(args).copied().collect();
        let mut command = world.command(&args);
        let mut child = command.envs(variables.iter().copied()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim_end().strip_prefix("http://").unwrap_or_else(|| panic!("{line}"));
        let (address, rest) = rest.split_once("/?code=").unwrap();
        let (code, fragment) = rest.split_once('#').unwrap_or((rest, ""));
        let [address, code, fragment] = [address, code, fragment].map(str::to_owned);
        Self { child, address, code, fragment, cookie: String::new() }
    }

    /// Starts the program and comes in.
    pub fn open(world: &World, args: &[&str]) -> Self {
        Self::open_with(world, args, &[])
    }

    /// Starts the program with these variables and comes in.
    pub fn open_with(world: &World, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut inspector = Self::start_with(world, args, variables);
        let answer = inspector.exchange();
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
        let cookie = answer.header("set-cookie").unwrap();
        inspector.cookie = cookie.split_once(';').unwrap().0.to_owned();
        inspector
    }

    /// Exchanges the code.
    pub fn exchange(&self) -> Answer {
        self.raw(&format!("GET /?code={} HTTP/1.1\r\nHost: {}\r\n\r\n", self.code, self.address))
    }

    /// Asks with the cookie.
    pub fn get(&self, path: &str) -> Answer {
        self.get_with(path, &[])
    }

    /// Asks with the cookie and further headers.
    pub fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("GET", path, headers, "")
    }

    /// Asks the interface with the cookie.
    pub fn api(&self, path: &str) -> Answer {
        self.get(&format!("/api/v1/{path}"))
    }

    /// Sends a request with the cookie.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let (address, cookie, length) = (&self.address, &self.cookie, body.len());
        self.raw(&format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        ))
    }

    /// Sends bytes and reads one answer.
    pub fn raw(&self, text: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).unwrap();
        read_answer(stream, text.starts_with("HEAD"))
    }

    /// How many bytes the program has read so far, from files and connections.
    #[cfg(target_os = "linux")]
    pub fn bytes_read(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/io", self.child.id())).unwrap();
        text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Reads an answer of a connection.
pub fn read_answer(stream: TcpStream, is_head: bool) -> Answer {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 {
            break;
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").map_or("0", |(_, value)| value);
    let mut body = vec![0; if is_head { 0 } else { length.parse().unwrap() }];
    reader.read_exact(&mut body).unwrap();
    Answer { status, headers, body }
}

/// The texts of `count` server-sent events, each with its lines.
pub fn read_events(stream: TcpStream, count: usize) -> Vec<String> {
    let mut reader = BufReader::new(stream);
    let (mut events, mut event) = (Vec::new(), String::new());
    while events.len() < count {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the stream ended after {events:?}");
        let is_field = ["event: ", "id: ", "data: "].iter().any(|field| line.starts_with(field));
        match line.trim_end() {
            "" if !event.is_empty() => events.push(std::mem::take(&mut event)),
            _ if is_field => event += &line,
            _ => {}
        }
    }
    events
}
