//! Writing a requests file.
//!
//! The file appears with its first line. Like the session file it has one writer, and a failure does not stop the
//! conversation: it is kept for the client to report, and nothing more is written.
//!
//! A seal begins where the last one ends. If the session file has lines in between which this process did not write,
//! they are read and get a separate seal, marked as foreign: another program wrote them, or a process ended before
//! it could seal them.

use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use memchr::memmem;
use pellucid_files::Disk;
use pellucid_files::Existing;
use pellucid_files::RealDisk;

use crate::lines::Backwards;
use crate::lines::Forwards;
use crate::name;
use crate::recorder;
use crate::requests::anchors;
use crate::requests::anchors::Anchor;
use crate::requests::chain::sha256;
use crate::requests::entry::ChainLink;
use crate::requests::entry::FORMAT_WITH_SEALS;
use crate::requests::entry::LogEntry;
use crate::requests::entry::Sealed;
use crate::requests::entry::StoredPiece;
use crate::requests::entry::StoredText;
use crate::requests::parts::PartStore;
use crate::requests::seal;
use crate::requests::seal::LineMark;
use crate::requests::seal::PIECE_BYTES;
use crate::requests::seal::Tally;
use crate::sink::FileSink;

/// Writes one requests file.
#[derive(Debug)]
pub struct RequestLog {
    disk: Arc<dyn Disk>,
    home: PathBuf,
    session_file: PathBuf,
    path: PathBuf,
    parts: PartStore,
    state: State,
    failure: Option<String>,
    /// Why the last hash is not kept beside the record, if that cannot be written.
    anchor_failure: Option<String>,
}

#[derive(Debug)]
enum State {
    /// The file is not opened yet.
    Waiting,
    /// The file is open and lines are appended.
    Open(Open),
    /// Writing failed, or the session keeps no record.
    Closed,
}

#[derive(Debug)]
struct Open {
    sink: FileSink,
    next: u64,
    previous: Option<String>,
    seal: Option<LastSeal>,
}

/// The last seal of a record.
#[derive(Debug, Clone)]
struct LastSeal {
    /// How many bytes of the session file are sealed.
    at: u64,
    /// The hash of its line.
    hash: String,
    /// The short digest of the last line that it seals.
    mark: Option<LineMark>,
}

impl LastSeal {
    fn new(sealed: &Sealed, hash: String) -> Self {
        let mark = seal::lines(&sealed.lines).and_then(|lines| lines.last().map(|(_, mark)| *mark));
        Self { at: sealed.at, hash, mark }
    }
}

impl RequestLog {
    /// The log of the session that has this file, on the same disk.
    pub fn new(disk: Arc<dyn Disk>, home: &Path, session_file: &Path) -> Self {
        let path = session_file.file_name().and_then(|it| it.to_str()).and_then(|it| name::requests_path(home, it));
        let state = if path.is_some() { State::Waiting } else { State::Closed };
        Self {
            disk,
            home: home.to_owned(),
            session_file: session_file.to_owned(),
            path: path.unwrap_or_default(),
            parts: PartStore::new(home),
            state,
            failure: None,
            anchor_failure: None,
        }
    }

    /// A log that writes nothing.
    pub fn none() -> Self {
        Self {
            disk: RealDisk::shared(),
            home: PathBuf::new(),
            session_file: PathBuf::new(),
            path: PathBuf::new(),
            parts: PartStore::new(Path::new("")),
            state: State::Closed,
            failure: None,
            anchor_failure: None,
        }
    }

    /// Closes the file of a session that is unloaded. The next line opens it again behind its last line,
    /// which another process may have written.
    pub fn unload(&mut self) {
        if matches!(self.state, State::Open(_)) {
            self.state = State::Waiting;
        }
    }

    /// Whether lines are written.
    pub fn is_open(&self) -> bool {
        !matches!(self.state, State::Closed)
    }

    /// The hash of the last line, if there is one and the file is open.
    pub fn last_hash(&self) -> Option<&str> {
        match &self.state {
            State::Open(open) => open.previous.as_deref(),
            State::Waiting | State::Closed => None,
        }
    }

    /// Why nothing more is written, or why the last hash is not kept, if writing failed.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref().or(self.anchor_failure.as_deref())
    }

    /// Keeps a text, by itself if it is long.
    pub fn keep(&mut self, part: &str, text: &str) -> StoredPiece {
        if self.is_open() {
            match self.parts.keep(&*self.disk, part, text) {
                Ok(piece) => return piece,
                Err(error) => self.fail(&error),
            }
        }
        StoredPiece { part: part.to_owned(), text: StoredText::Here { text: String::new() } }
    }

    /// Appends a line and returns its number.
    pub fn write(&mut self, entry: LogEntry) -> Option<u64> {
        let written = self.append(entry);
        match written {
            Ok(n) => n,
            Err(error) => {
                self.fail(&error);
                None
            }
        }
    }

    /// Seals a piece of the session file that this process wrote, and before it what others wrote. The hash of the seal
    /// is also kept for the whole home folder.
    pub fn seal(&mut self, piece: seal::UnsealedPiece, turn: Option<String>) {
        if let Err(error) = self.append_seals(piece, turn) {
            self.fail(&error);
        }
    }

    fn append_seals(&mut self, piece: seal::UnsealedPiece, turn: Option<String>) -> io::Result<()> {
        let Some(last) = self.opened()?.map(|open| open.seal.clone()) else {
            return Ok(());
        };
        for piece in foreign(&self.session_file, last.as_ref(), piece.from)? {
            self.append_seal(piece, None, true)?;
        }
        let anchor = self.append_seal(piece, turn, false)?;
        let session = self.session_file.file_name().and_then(|name| name.to_str()).and_then(name::session_id);
        if let (Some(session), Some((n, sha256))) = (session, anchor)
            && self.anchor_failure.is_none()
            && let Err(error) =
                anchors::append(&*self.disk, &self.home, &Anchor { session: session.to_owned(), n, sha256 })
        {
            self.anchor_failure = Some(format!("{}: {error}", self.home.join(anchors::FILE).display()));
        }
        Ok(())
    }

    fn append_seal(
        &mut self,
        piece: seal::UnsealedPiece,
        turn: Option<String>,
        foreign: bool,
    ) -> io::Result<Option<(u64, String)>> {
        let Some(open) = self.opened()? else {
            return Ok(None);
        };
        let before = open.seal.as_ref().map(|seal| seal.hash.clone());
        let seal::UnsealedPiece { from, at, sha256, names, lines } = piece;
        let sealed = Sealed { from, at, sha256, before, turn, foreign, names, lines };
        let n = self.append(LogEntry::Sealed(sealed.clone()))?;
        let State::Open(open) = &mut self.state else {
            return Ok(None);
        };
        let hash = open.previous.clone();
        open.seal = hash.clone().map(|hash| LastSeal::new(&sealed, hash));
        Ok(n.zip(hash))
    }

    fn opened(&mut self) -> io::Result<Option<&mut Open>> {
        if matches!(self.state, State::Waiting) {
            self.state = State::Open(open(self.disk.clone(), &self.path)?);
        }
        Ok(match &mut self.state {
            State::Open(open) => Some(open),
            State::Waiting | State::Closed => None,
        })
    }

    fn append(&mut self, entry: LogEntry) -> io::Result<Option<u64>> {
        let Some(open) = self.opened()? else {
            return Ok(None);
        };
        let link = ChainLink { n: open.next, timestamp: recorder::now(), previous: open.previous.clone(), entry };
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

/// Opens the record behind its last line that can be read, and looks for the last seal.
fn open(disk: Arc<dyn Disk>, path: &Path) -> io::Result<Open> {
    let sink = FileSink::open(disk, path, Existing::Welcome)?;
    let mut lines = Backwards::new(pellucid_files::open(path)?, sink.len());
    let mut open = Open { sink, next: 0, previous: None, seal: None };
    while let Some(line) = lines.next_line()? {
        if open.previous.is_some() && !may_end_search(line.bytes) {
            continue;
        }
        let Ok(link) = serde_json::from_slice::<ChainLink>(line.bytes) else {
            continue;
        };
        let hash = sha256(line.bytes);
        if open.previous.is_none() {
            (open.next, open.previous) = (link.n + 1, Some(hash.clone()));
        }
        match &link.entry {
            LogEntry::Sealed(sealed) => {
                open.seal = Some(LastSeal::new(sealed, hash));
                break;
            }
            // Before this nothing was sealed.
            LogEntry::Opened(opened) if opened.format < FORMAT_WITH_SEALS => break,
            _ => {}
        }
    }
    Ok(open)
}

/// Whether a line can be a seal, or end the search for one. Other lines need not be parsed.
fn may_end_search(line: &[u8]) -> bool {
    /// So far behind the start a line names its kind: behind its number, time and the hash of the line before.
    const HEAD_BYTES: usize = 256;
    let head = &line[..line.len().min(HEAD_BYTES)];
    [b"\"kind\":\"sealed\"".as_slice(), b"\"kind\":\"opened\""].iter().any(|kind| memmem::find(head, kind).is_some())
}

/// The pieces between the last seal and an offset, which others wrote.
fn foreign(session_file: &Path, last: Option<&LastSeal>, upto: u64) -> io::Result<Vec<seal::UnsealedPiece>> {
    let from = last.map_or(0, |last| last.at);
    if from >= upto {
        return Ok(Vec::new());
    }
    // If the file was changed since it was sealed, its offsets moved. The seals report that change already.
    if let Some(last) = last {
        let mut sealed = Backwards::new(pellucid_files::open(session_file)?, last.at);
        let mark = sealed.next_line()?.filter(|line| line.is_whole).map(|line| mark(line.bytes));
        if mark != last.mark {
            return Ok(Vec::new());
        }
    }
    let mut lines = Forwards::new(pellucid_files::open(session_file)?, from, upto)?;
    let (mut tally, mut pieces) = (Tally::new(from), Vec::new());
    let mut whole = Vec::new();
    while let Some(line) = lines.next_line()? {
        whole.clear();
        whole.extend_from_slice(line.bytes);
        if line.is_whole {
            whole.push(b'\n');
        }
        tally.add(&whole, "");
        if tally.len() >= PIECE_BYTES {
            pieces.extend(tally.take());
        }
    }
    pieces.extend(tally.take());
    Ok(pieces)
}

fn mark(line: &[u8]) -> LineMark {
    LineMark::of(&[line, b"\n"].concat())
}

#[cfg(test)]
mod tests;
