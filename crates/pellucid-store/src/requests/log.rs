//! Writing a requests file.
//!
//! The file appears with its first line. Like the session file it has one writer, and a failure
//! does not stop the conversation: it is kept for the face to tell, and nothing more is written.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use crate::lines::Backwards;
use crate::name;
use crate::recorder;
use crate::requests::chain::sha256;
use crate::requests::entry::Entry;
use crate::requests::entry::Link;
use crate::requests::entry::Piece;
use crate::requests::entry::Text;
use crate::requests::parts::Parts;
use crate::sink::Existing;
use crate::sink::FileSink;
use crate::sink::Sink;

/// Writes one requests file.
#[derive(Debug)]
pub struct RequestLog {
    path: PathBuf,
    parts: Parts,
    state: State,
    failure: Option<String>,
}

#[derive(Debug)]
enum State {
    /// Not opened yet.
    Waiting,
    /// Lines are added.
    Open(Open),
    /// Writing failed, or nobody wants a file.
    Closed,
}

#[derive(Debug)]
struct Open {
    sink: FileSink,
    next: u64,
    previous: Option<String>,
}

impl RequestLog {
    /// The log of the session that has this file.
    pub fn new(home: &Path, session_file: &Path) -> Self {
        let path = session_file.file_name().and_then(|it| it.to_str()).and_then(|it| name::requests_path(home, it));
        let state = if path.is_some() { State::Waiting } else { State::Closed };
        Self { path: path.unwrap_or_default(), parts: Parts::new(home), state, failure: None }
    }

    /// A log that writes nothing.
    pub fn none() -> Self {
        Self { path: PathBuf::new(), parts: Parts::new(Path::new("")), state: State::Closed, failure: None }
    }

    /// Whether lines are written.
    pub fn is_open(&self) -> bool {
        !matches!(self.state, State::Closed)
    }

    /// Why nothing more is written, if writing failed.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Keeps a text, by itself if it is long.
    pub fn keep(&mut self, part: &str, text: &str) -> Piece {
        if self.is_open() {
            match self.parts.keep(part, text) {
                Ok(piece) => return piece,
                Err(error) => self.fail(&error),
            }
        }
        Piece { part: part.to_owned(), text: Text::Here { text: String::new() } }
    }

    /// Adds a line and gives its number.
    pub fn write(&mut self, entry: Entry) -> Option<u64> {
        let written = self.append(entry);
        match written {
            Ok(n) => n,
            Err(error) => {
                self.fail(&error);
                None
            }
        }
    }

    fn append(&mut self, entry: Entry) -> io::Result<Option<u64>> {
        if matches!(self.state, State::Waiting) {
            self.state = State::Open(open(&self.path)?);
        }
        let State::Open(open) = &mut self.state else {
            return Ok(None);
        };
        let link = Link { n: open.next, timestamp: recorder::now(), previous: open.previous.clone(), entry };
        let mut line = serde_json::to_vec(&link)?;
        open.previous = Some(sha256(&line));
        open.next += 1;
        line.push(b'\n');
        open.sink.append(&line)?;
        Ok(Some(link.n))
    }

    fn fail(&mut self, error: &io::Error) {
        self.failure = Some(format!("{}: {error}", self.path.display()));
        self.state = State::Closed;
    }
}

/// Goes on behind the last line that can be read.
fn open(path: &Path) -> io::Result<Open> {
    let sink = FileSink::open(path, Existing::Welcome)?;
    let mut lines = Backwards::new(pellucid_files::open(path)?, sink.len());
    while let Some(line) = lines.next_line()? {
        if let Ok(link) = serde_json::from_slice::<Link>(line.bytes) {
            return Ok(Open { sink, next: link.n + 1, previous: Some(sha256(line.bytes)) });
        }
    }
    Ok(Open { sink, next: 0, previous: None })
}
