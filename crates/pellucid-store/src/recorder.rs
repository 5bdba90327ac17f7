//! Writing a session file, a line at a time.
//!
//! Until the first message of a person, records wait in memory and there is no file. After that
//! each record is handed to the system before the call returns; it survives the end of this
//! process, though not a power cut: there is no fsync for each line.
//!
//! A file that cannot be written does not stop the conversation. The first failure is kept for
//! the face to tell, and nothing more is written.

use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use pellucid_protocol::event::EventMessage;
use serde::Serialize;

use crate::record::Record;
use crate::record::is_kept;

/// Writes one session file.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    state: State,
    failure: Option<String>,
}

#[derive(Debug)]
enum State {
    /// No file yet; what it will begin with.
    Waiting(Vec<Record>),
    /// Every record is written at once.
    Open(File),
    /// Writing failed, or nobody wants a file.
    Closed,
}

impl Recorder {
    /// A recorder for a new session. The file appears with [`Recorder::persist`].
    pub fn new(path: PathBuf) -> Self {
        Self { path, state: State::Waiting(Vec::new()), failure: None }
    }

    /// A recorder that goes on with a file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn resume(path: PathBuf) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).append(true).open(&path)?;
        if !ends_with_newline(&mut file)? {
            // A line was torn. It stays as it is; the next record begins on a line of its own.
            file.write_all(b"\n")?;
        }
        Ok(Self { path, state: State::Open(file), failure: None })
    }

    /// A recorder that writes nothing.
    pub fn none() -> Self {
        Self { path: PathBuf::new(), state: State::Closed, failure: None }
    }

    /// Where the file is, or will be.
    pub fn path(&self) -> Option<&Path> {
        (!self.path.as_os_str().is_empty()).then_some(self.path.as_path())
    }

    /// Why nothing more is written, if writing failed.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Records an event, if it is one that files keep.
    pub fn event(&mut self, event: &EventMessage) {
        if is_kept(event) {
            self.record(Record::EventMsg(event.clone()));
        }
    }

    /// Records a line.
    pub fn record(&mut self, record: Record) {
        match &mut self.state {
            State::Waiting(records) => records.push(record),
            State::Open(file) => {
                let written = write(file, &record);
                self.check(written);
            }
            State::Closed => {}
        }
    }

    /// Makes the file, with what is waiting.
    pub fn persist(&mut self) {
        if let State::Waiting(records) = &mut self.state {
            let records = std::mem::take(records);
            let opened = open(&self.path, &records);
            match opened {
                Ok(file) => self.state = State::Open(file),
                Err(error) => self.check(Err(error)),
            }
        }
    }

    fn check(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failure = Some(format!("{}: {error}", self.path.display()));
            self.state = State::Closed;
        }
    }
}

/// A line as it is written.
#[derive(Serialize)]
struct Line<'a> {
    timestamp: String,
    #[serde(flatten)]
    record: &'a Record,
}

fn write(file: &mut File, record: &Record) -> io::Result<()> {
    let mut line = serde_json::to_vec(&Line { timestamp: now(), record })?;
    line.push(b'\n');
    file.write_all(&line)
}

fn open(path: &Path, records: &[Record]) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    for record in records {
        write(&mut file, record)?;
    }
    Ok(file)
}

/// The time in UTC, with milliseconds.
pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use pellucid_protocol::item::Item;
    use pellucid_testkit::Workspace;

    use super::*;

    fn item(text: &str) -> Record {
        Record::ResponseItem(Item::text("user", text))
    }

    #[test]
    fn a_file_appears_with_everything_when_it_is_wanted() {
        let files = Workspace::empty();
        let path = files.path("a/b/session.jsonl");
        let mut recorder = Recorder::new(path.clone());
        recorder.record(item("one"));
        recorder.event(&EventMessage::ContextCompacted);
        recorder.event(&EventMessage::ShutdownComplete);
        assert!(!path.exists());
        recorder.persist();
        recorder.record(item("two"));
        recorder.persist();
        let text = files.read("a/b/session.jsonl");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(
            lines[0].starts_with("{\"timestamp\":\"2")
                && lines[0].contains("Z\",\"type\":\"response_item\",\"payload\":{")
        );
        assert!(lines[1].ends_with("\"type\":\"event_msg\",\"payload\":{\"type\":\"context_compacted\"}}"));
    }

    #[test]
    fn a_failure_is_kept_and_nothing_more_is_written() {
        let files = Workspace::new("//- in/the/way\nx\n");
        let mut recorder = Recorder::new(files.path("in/the/way/session.jsonl"));
        recorder.persist();
        recorder.record(item("lost"));
        assert!(recorder.failure().is_some_and(|failure| failure.contains("in/the/way/session.jsonl: ")));
    }
}
