//! Writing a session file, a line at a time.
//!
//! Until the first message of a person, records wait in memory and there is no file. After that
//! each record is handed to the system before the call returns; it survives the end of this
//! process, though not a power cut: there is no fsync for each line.
//!
//! Lines are hashed as they are written, so that the record of what is sent can seal them.
//!
//! A file that cannot be written does not stop the conversation. The first failure is kept for the client to report,
//! and nothing more is written.

use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use pellucid_files::Disk;
use pellucid_files::Existing;
use pellucid_files::RealDisk;
use pellucid_protocol::event::EventMessage;
use serde::Serialize;

use crate::detail::Detail;
use crate::detail::kept;
use crate::record::Record;
use crate::record::SessionMeta;
use crate::requests::seal::Tally;
use crate::requests::seal::UnsealedPiece;
use crate::sink::FileSink;

/// Writes one session file.
#[derive(Debug)]
pub struct Recorder {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    state: State,
    failure: Option<String>,
    detail: Detail,
    /// Digests of the lines that were written since the last seal.
    tally: Tally,
}

#[derive(Debug)]
enum State {
    /// No file yet; what it will begin with, each with the part that it is sent as.
    Waiting(Vec<(Record, String)>),
    /// Every record is written at once.
    Open(FileSink),
    /// The file is locked by this process and does not change.
    Held(FileSink),
    /// The file is closed until the session is loaded again; it had so many bytes.
    Unloaded(u64),
    /// Writing failed, or the session keeps no file.
    Closed,
}

impl Recorder {
    /// A recorder for a new session. The file appears with [`Recorder::persist`].
    pub fn new(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        Self::with(disk, path, State::Waiting(Vec::new()), 0)
    }

    /// A recorder that appends to an existing file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn resume(disk: Arc<dyn Disk>, path: PathBuf) -> io::Result<Self> {
        let file = FileSink::open(disk.clone(), &path, Existing::Needed)?;
        let len = file.len();
        Ok(Self::with(disk, path, State::Open(file), len))
    }

    /// A recorder that locks a file, so that no other process writes it, and does not change the file.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn hold(disk: Arc<dyn Disk>, path: PathBuf) -> io::Result<Self> {
        let file = FileSink::hold(disk.clone(), &path)?;
        let len = file.len();
        Ok(Self::with(disk, path, State::Held(file), len))
    }

    /// Whether the file is locked without being changed.
    pub fn is_held(&self) -> bool {
        matches!(self.state, State::Held(_))
    }

    /// Leaves the file as it is from now on, until [`Recorder::let_go`]. What is recorded meanwhile is not kept.
    pub fn hold_still(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Closed) {
            State::Open(sink) => State::Held(sink),
            state => state,
        };
    }

    /// Writes the file again that [`Recorder::hold_still`] left as it is.
    pub fn let_go(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Closed) {
            State::Held(sink) => State::Open(sink),
            state => state,
        };
    }

    /// A recorder that writes nothing.
    pub fn none() -> Self {
        Self::with(RealDisk::shared(), PathBuf::new(), State::Closed, 0)
    }

    fn with(disk: Arc<dyn Disk>, path: PathBuf, state: State, len: u64) -> Self {
        Self { disk, path, state, failure: None, detail: Detail::default(), tally: Tally::new(len) }
    }

    /// The disk that the file is on, for the files beside it.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The same, keeping so much of what happens.
    pub fn keeping(self, detail: Detail) -> Self {
        Self { detail, ..self }
    }

    /// How much of what happens is kept.
    pub fn detail(&self) -> Detail {
        self.detail
    }

    /// The path of the file, which may not exist yet; absent if none is kept.
    pub fn path(&self) -> Option<&Path> {
        (!self.path.as_os_str().is_empty()).then_some(self.path.as_path())
    }

    /// How many bytes are written; absent while nothing is, or can be.
    pub fn len(&self) -> Option<u64> {
        match &self.state {
            State::Open(sink) => Some(sink.len()),
            State::Held(file) => Some(file.len()),
            State::Unloaded(len) => Some(*len),
            State::Waiting(_) | State::Closed => None,
        }
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.len().is_none_or(|len| len == 0)
    }

    /// Why nothing more is written, if writing failed.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Records an event, if it is one that files keep.
    pub fn event(&mut self, event: &EventMessage) {
        if let Some(event) = kept(event, self.detail) {
            self.record(Record::EventMsg(event.into_owned()));
        }
    }

    /// Appends a line to the file.
    pub fn record(&mut self, record: Record) {
        self.record_part(record, "");
    }

    /// Records a line that is sent as this part.
    pub fn record_part(&mut self, record: Record, part: &str) {
        match &mut self.state {
            State::Waiting(records) => records.push((record, part.to_owned())),
            State::Open(_) => match line(&record) {
                Ok(line) => self.append(&line, part),
                Err(error) => self.check(Err(error)),
            },
            State::Held(_) | State::Unloaded(_) | State::Closed => {}
        }
    }

    /// Whether every record is in the file.
    pub fn is_written(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// What the first line of a file will say that does not exist yet, without the instructions; what else the file would begin
    /// with is dropped. Absent if there is a file, or none is kept.
    pub fn take_head(&mut self) -> Option<Box<SessionMeta>> {
        let State::Waiting(records) = &mut self.state else { return None };
        match std::mem::take(records).into_iter().next() {
            Some((Record::SessionMeta(mut meta), _)) => {
                meta.base_instructions = None;
                Some(meta)
            }
            _ => None,
        }
    }

    /// Has the first line of a file that does not exist yet say again what [`Recorder::take_head`] gave, with the
    /// instructions that it has now.
    pub fn put_head(&mut self, head: Box<SessionMeta>) {
        if let State::Waiting(records) = &mut self.state
            && let Some((Record::SessionMeta(meta), _)) = records.first_mut()
        {
            let base_instructions = meta.base_instructions.take();
            **meta = SessionMeta { base_instructions, ..*head };
        }
    }

    /// How many records wait for the file to appear; absent if it is there, or none is kept.
    pub fn n_waiting(&self) -> Option<usize> {
        match &self.state {
            State::Waiting(records) => Some(records.len()),
            _ => None,
        }
    }

    /// Closes the file of a session that is unloaded. Nothing may be recorded until [`Recorder::load_again`].
    pub fn unload(&mut self) {
        if let State::Open(sink) = &self.state {
            self.state = State::Unloaded(sink.len());
        }
    }

    /// Opens the file of a session again that was unloaded. Gives whether the file is as long as it was.
    ///
    /// # Errors
    /// When the file cannot be opened, or another process writes it.
    pub fn load_again(&mut self) -> io::Result<bool> {
        let State::Unloaded(len) = self.state else { return Ok(true) };
        let sink = FileSink::open(self.disk.clone(), &self.path, Existing::Needed)?;
        let is_same = sink.len() == len;
        self.tally = Tally::new(sink.len());
        self.state = State::Open(sink);
        Ok(is_same)
    }

    fn append(&mut self, line: &[u8], part: &str) {
        if let State::Open(sink) = &mut self.state {
            let written = sink.append(line);
            if written.is_ok() {
                self.tally.add(line, part);
            }
            self.check(written);
        }
    }

    /// How many bytes were written and have no seal yet.
    pub fn unsealed(&self) -> u64 {
        self.tally.len()
    }

    /// Gives what was written and has no seal yet.
    pub fn take_unsealed(&mut self) -> Option<UnsealedPiece> {
        self.tally.take()
    }

    /// Appends the payload of a line of another file, byte for byte.
    pub fn copy(&mut self, kind: crate::read::RecordKind, payload: &[u8]) {
        let head = format!("{{\"timestamp\":\"{}\",\"type\":\"{}\",\"payload\":", now(), kind.as_str());
        self.append(&[head.as_bytes(), payload, b"}\n"].concat(), "");
    }

    /// Makes the file, with what is waiting.
    pub fn persist(&mut self) {
        if let State::Waiting(records) = &mut self.state {
            let records = std::mem::take(records);
            match FileSink::open(self.disk.clone(), &self.path, Existing::Welcome) {
                Ok(sink) => {
                    self.tally = Tally::new(sink.len());
                    self.state = State::Open(sink);
                }
                Err(error) => self.check(Err(error)),
            }
            for (record, part) in records {
                self.record_part(record, &part);
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

/// A line in the order of keys of the format.
#[derive(Serialize)]
struct Line<'a> {
    timestamp: String,
    #[serde(flatten)]
    record: &'a Record,
}

fn line(record: &Record) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&Line { timestamp: now(), record })?;
    line.push(b'\n');
    Ok(line)
}

/// The time in UTC, with milliseconds.
pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
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
    fn a_held_file_stays_as_it_is() {
        let files = Workspace::empty();
        let path = files.write("session.jsonl", "{}\n");
        let mut recorder = Recorder::hold(RealDisk::shared(), path.clone()).unwrap();
        recorder.record(item("one"));
        recorder.persist();
        assert_eq!((recorder.len(), recorder.is_held(), recorder.take_unsealed()), (Some(3), true, None));
        assert!(Recorder::resume(RealDisk::shared(), path).is_err(), "another writer waits");
        assert_eq!(files.read("session.jsonl"), "{}\n");
    }

    #[test]
    fn a_file_that_is_held_still_for_a_while_misses_what_was_recorded_then() {
        let files = Workspace::empty();
        let path = files.path("session.jsonl");
        let mut recorder = Recorder::new(RealDisk::shared(), path.clone());
        recorder.persist();
        recorder.record(item("one"));
        let written = std::fs::read(&path).unwrap();
        recorder.hold_still();
        recorder.record(item("two"));
        assert_eq!((recorder.is_held(), std::fs::read(&path).unwrap()), (true, written));
        recorder.let_go();
        recorder.record(item("three"));
        let text = std::fs::read_to_string(&path).unwrap();
        let has = |word: &str| text.contains(word);
        assert_eq!((recorder.is_held(), has("one"), has("two"), has("three")), (false, true, false, true));
    }

    #[test]
    fn an_unloaded_file_is_free_for_others_and_says_whether_they_wrote() {
        let files = Workspace::new("//- session.jsonl\n{}\n");
        let path = files.path("session.jsonl");
        let mut recorder = Recorder::resume(RealDisk::shared(), path.clone()).unwrap();
        recorder.unload();
        assert_eq!((recorder.len(), recorder.is_written()), (Some(3), false));
        assert!(recorder.load_again().unwrap());
        recorder.record(item("one"));
        drop(recorder.take_unsealed());
        recorder.unload();
        let mut other = Recorder::resume(RealDisk::shared(), path.clone()).unwrap();
        other.record(item("two"));
        assert!(recorder.load_again().is_err(), "another writer has the file");
        drop(other);
        assert!(!recorder.load_again().unwrap());
        recorder.record(item("three"));
        let text = files.read("session.jsonl");
        assert_eq!(["one", "two", "three"].map(|it| text.matches(it).count()), [1, 1, 1]);
        let sealed = recorder.take_unsealed().unwrap();
        assert_eq!(text[usize::try_from(sealed.from).unwrap()..].matches("three").count(), 1);
        assert!(!text[usize::try_from(sealed.from).unwrap()..].contains("two"));
    }

    #[test]
    fn a_file_appears_with_everything_when_it_is_wanted() {
        let files = Workspace::empty();
        let path = files.path("a/b/session.jsonl");
        let mut recorder = Recorder::new(RealDisk::shared(), path.clone());
        recorder.record(item("one"));
        recorder.event(&EventMessage::ContextCompacted);
        recorder.event(&EventMessage::ShutdownComplete);
        assert!(!path.exists());
        recorder.persist();
        recorder.record(item("two"));
        recorder.persist();
        let text = files.read("a/b/session.jsonl");
        assert_eq!(recorder.len(), Some(text.len() as u64));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        let rest: Vec<&str> = lines.iter().map(|line| line.split_once("Z\",").unwrap().1).collect();
        let said = |text: &str| {
            let content = format!(r#"[{{"type":"input_text","text":"{text}"}}]"#);
            format!(r#""type":"response_item","payload":{{"type":"message","role":"user","content":{content}}}}}"#)
        };
        let compacted = r#""type":"event_msg","payload":{"type":"context_compacted"}}"#.to_owned();
        assert_eq!(rest, [said("one"), compacted, said("two")]);
        for line in lines {
            let time = line.strip_prefix("{\"timestamp\":\"").and_then(|it| it.split('"').next()).unwrap();
            assert_eq!(crate::moment::Moment::parse(time).map(|it| it.to_string()).as_deref(), Some(time));
        }
    }

    #[test]
    fn a_failure_is_kept_and_nothing_more_is_written() {
        let files = Workspace::new("//- in/the/way\nx\n");
        let mut recorder = Recorder::new(RealDisk::shared(), files.path("in/the/way/session.jsonl"));
        recorder.persist();
        recorder.record(item("lost"));
        let failure = format!("{}: File exists (os error 17)", files.path("in/the/way/session.jsonl").display());
        assert_eq!(recorder.failure(), Some(failure.as_str()));
    }

    #[test]
    fn a_file_has_one_writer() {
        let files = Workspace::new("//- session.jsonl\n{}\n");
        let path = files.path("session.jsonl");
        let first = Recorder::resume(RealDisk::shared(), path.clone()).unwrap();
        let second = Recorder::resume(RealDisk::shared(), path.clone()).unwrap_err();
        assert_eq!(second.to_string(), "another process is writing to this session");
        drop(first);
        Recorder::resume(RealDisk::shared(), path).unwrap();
    }
}
