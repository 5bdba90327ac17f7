//! Sessions of other agents, reconstructed from the files that those agents keep.
//!
//! The files of a folder are read and never changed. What they hold is written in the form of session files into a home folder
//! that lives as long as a command, so that everything that looks at stored sessions looks at these as well. Token counts are what
//! the file says; the bytes of requests are not in the file, so sizes are estimated. A mark in the home folder says so.
//!
//! - [`claude`]: the lines of Claude Code, as values
//! - [`folder`]: the files of a folder that may be sessions
//! - `text`: the lines of a file, each of bounded length
//! - `written`: a conversation in the form of a session file
//!
//! Rollouts of the Codex CLI have the form of our session files already, and are copied.

pub mod claude;
pub mod folder;
mod text;
mod written;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::io::BufWriter;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use pellucid_protocol::item::Item;
use pellucid_protocol::usage::TokenUsage;
use sha2::Digest as _;
use sha2::Sha256;

use self::claude::ClaudeReader;
use self::folder::OtherFile;
use self::text::TextLines;
use crate::name;
use crate::names;
use crate::opened;
use crate::read;
use crate::read::LineReading;
use crate::read::RecordKind;
use crate::record::Record;
use crate::record::SessionMeta;

/// The file that marks a home folder of reconstructed sessions.
const MARK: &str = "reconstructed-sessions";

/// How many bytes of files are read at most, the newest first.
const BYTES_MAX: u64 = 1 << 30;

/// How many sessions are taken at most, the newest first.
const N_SESSIONS_MAX: usize = 2_000;

/// How many lines at the beginning of a file tell whether it is of a session.
const N_LINES_TO_KNOW: usize = 500;

/// How many characters of a title become the name of a session.
const TITLE_CHARS_MAX: usize = 120;

/// A conversation of another agent, as far as its file has it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OtherSession {
    /// The id of the session, a UUID.
    pub id: String,
    /// The session that started this one, if it is of a subagent.
    pub parent: Option<String>,
    /// The agent, such as `claude-code`.
    pub program: &'static str,
    /// The version of the agent.
    pub version: String,
    /// The working directory.
    pub cwd: String,
    /// The branch that was checked out.
    pub branch: Option<String>,
    /// The title that the agent or a person gave to the conversation.
    pub title: Option<String>,
    /// What happened, in the order of the file, each with its time in UTC.
    pub entries: Vec<(String, OtherEntry)>,
}

/// Something that happened in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum OtherEntry {
    /// The settings that hold from here on.
    Settings {
        /// The model that is asked.
        model: String,
        /// The id of the turn.
        turn: String,
        /// Whether a person is asked before calls run.
        asks: bool,
    },
    /// An item of the conversation.
    Item(Item),
    /// A message of a person, which is an item as well.
    Said(String),
    /// A summary took the place of the history.
    Summary(String),
    /// A request was answered.
    Answered(OtherUsage),
}

/// What the provider charged for a request, as the file says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OtherUsage {
    /// The tokens that the provider counted.
    pub usage: TokenUsage,
    /// Input tokens that were written to the provider's cache; absent if the file does not tell.
    pub cache_write: Option<i64>,
    /// How many of these the provider keeps for an hour.
    pub cache_write_1h: Option<i64>,
}

/// Which sessions of a folder are wanted.
#[derive(Debug, Clone, Copy)]
pub enum WantedSessions<'a> {
    /// All of them, as far as the limits allow.
    All,
    /// All, without their items: enough for a list.
    Listed,
    /// Those whose file has this text in its name; all if there is none.
    Named(&'a str),
    /// The one that was used last in this folder.
    LastIn(&'a Path),
}

/// What was reconstructed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reconstruction {
    /// How many sessions there are now.
    pub n_sessions: usize,
    /// What is missing, a sentence each.
    pub missing: Vec<String>,
}

/// The file that a reconstructed session was made from.
pub fn source(home: &Path, id: &str) -> Option<String> {
    let mark = pellucid_files::read_text(&home.join(MARK), pellucid_files::TEXT_BYTES_MAX).ok()?;
    let path = mark.lines().find_map(|line| line.strip_prefix(id)?.strip_prefix('\t'))?;
    Some(path.to_owned())
}

/// Whether a home folder has reconstructed sessions.
pub fn is_marked(home: &Path) -> bool {
    fs::symlink_metadata(home.join(MARK)).is_ok()
}

/// Writes the sessions below a folder, or of one file, into an empty home folder.
///
/// A file that cannot be read is named among what is missing, and does not hold back the others.
///
/// # Errors
/// When the folder cannot be read, or the home folder cannot be written.
pub fn reconstruct(from: &Path, wanted: WantedSessions<'_>, home: &Path) -> io::Result<Reconstruction> {
    let found = folder::files(from)?;
    pellucid_files::write_private(&home.join(MARK), b"")?;
    // Stored sessions name files of wherever they ran.
    opened::mark(home, "reconstructed")?;
    let mut files: Vec<&OtherFile> = found.files.iter().collect();
    if let WantedSessions::Named(text) = wanted {
        let text = text.to_lowercase();
        let is_named = |file: &OtherFile| file.stem().to_lowercase().contains(&text);
        let is_meant = |file: &&OtherFile| is_named(file) || file.path.to_string_lossy().to_lowercase().contains(&text);
        if files.iter().any(|file| is_named(file)) {
            files.retain(is_meant);
        }
    }
    let mut making = Making { home, is_listed: matches!(wanted, WantedSessions::Listed), made: BTreeMap::new() };
    let mut made = Reconstruction { n_sessions: 0, missing: found.missing };
    let (mut n_bytes, mut n_left, mut unread) = (0, 0, Unread::default());
    for file in files {
        if n_bytes > BYTES_MAX || made.n_sessions >= N_SESSIONS_MAX {
            n_left += 1;
            continue;
        }
        n_bytes += file.bytes;
        match making.file(file, &mut unread) {
            Ok(folders) => {
                made.n_sessions += folders.len();
                if let WantedSessions::LastIn(here) = wanted
                    && folders.iter().any(|cwd| Path::new(cwd) == here)
                {
                    break;
                }
            }
            Err(FileFailure::Read(error)) => made.missing.push(format!("{}: {error}", file.path.display())),
            Err(FileFailure::Write(error)) => return Err(error),
        }
    }
    if n_left > 0 {
        made.missing.push(format!(
            "{n_left} older files are left out: at most {N_SESSIONS_MAX} sessions and {BYTES_MAX} bytes are read"
        ));
    }
    made.missing.extend(unread.text());
    let line = |(id, path): (&String, &PathBuf)| format!("{id}\t{}\n", path.display());
    let sources: String = making.made.iter().map(line).collect();
    pellucid_files::write_private(&home.join(MARK), sources.as_bytes())?;
    Ok(made)
}

/// What of the files could not be read.
#[derive(Debug, Default)]
struct Unread {
    n_lines: usize,
    n_files: usize,
    n_copies: usize,
}

impl Unread {
    fn text(&self) -> Vec<String> {
        let lines = format!("{} lines of {} files cannot be read and are left out", self.n_lines, self.n_files);
        let copies = format!("{} sessions have the id of a newer one and are left out", self.n_copies);
        let texts = [(self.n_lines, lines), (self.n_copies, copies)];
        texts.into_iter().filter(|(n, _)| *n > 0).map(|(_, text)| text).collect()
    }
}

/// Why a file did not become a session.
enum FileFailure {
    Read(io::Error),
    Write(io::Error),
}

/// Writes sessions into a home folder.
struct Making<'a> {
    home: &'a Path,
    is_listed: bool,
    /// The file of every session that was written, by its id.
    made: BTreeMap<String, PathBuf>,
}

impl Making<'_> {
    /// Whether a session is new; one that has the id of another is left out.
    fn is_new(&mut self, id: &str, file: &OtherFile) -> bool {
        let is_new = !self.made.contains_key(id);
        if is_new {
            self.made.insert(id.to_owned(), file.path.clone());
        }
        is_new
    }
}

impl Making<'_> {
    /// Reads a file, and writes its sessions. Gives their working directories; none if the file is of no session.
    fn file(&mut self, file: &OtherFile, unread: &mut Unread) -> Result<Vec<String>, FileFailure> {
        let mut lines = TextLines::open(&file.path).map_err(FileFailure::Read)?;
        let mut reader = ClaudeReader::new(file.stem());
        let mut n_lines = 0;
        while let Some(line) = lines.next_line().map_err(FileFailure::Read)? {
            n_lines += 1;
            if n_lines == 1
                && let LineReading::Record(Record::SessionMeta(meta)) = read::read_line(line)
            {
                let first = line.to_vec();
                return self.rollout(file, &meta, &first, lines, unread);
            }
            reader.line(line);
            if n_lines >= N_LINES_TO_KNOW && !reader.is_known() {
                return Ok(Vec::new());
            }
        }
        if !reader.is_known() {
            return Ok(Vec::new());
        }
        unread.add(reader.n_unread() + lines.n_too_long());
        let mut folders = Vec::new();
        for session in reader.finish() {
            if self.is_new(&session.id, file) {
                folders.push(session.cwd.clone());
                self.session(file, &session).map_err(FileFailure::Write)?;
            } else {
                unread.n_copies += 1;
            }
        }
        Ok(folders)
    }

    fn session(&self, file: &OtherFile, session: &OtherSession) -> io::Result<()> {
        let began = session.entries.first().and_then(|(at, _)| at.parse::<Timestamp>().ok()).unwrap_or_default();
        let mut to = self.create(began, &session.id)?;
        written::write(session, self.is_listed, &mut to)?;
        finish(to, file)?;
        let title = session.title.as_deref().map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        if let Some(title) = title.filter(|title| !title.is_empty()) {
            let title: String = title.chars().take(TITLE_CHARS_MAX).collect();
            names::set(self.home, &session.id, &title).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Copies a rollout, whose form is that of a session file.
    fn rollout(
        &mut self,
        file: &OtherFile,
        meta: &SessionMeta,
        first: &[u8],
        mut lines: TextLines,
        unread: &mut Unread,
    ) -> Result<Vec<String>, FileFailure> {
        let named = name::session_id(&file.name()).map(str::to_owned);
        let id = session_id(named.as_deref().unwrap_or(&meta.id), &file.path.to_string_lossy());
        if !self.is_new(&id, file) {
            unread.n_copies += 1;
            return Ok(Vec::new());
        }
        let began = meta.timestamp.parse::<Timestamp>().unwrap_or_default();
        let mut to = self.create(began, &id).map_err(FileFailure::Write)?;
        let write = |to: &mut BufWriter<fs::File>, line: &[u8]| {
            to.write_all(line).and_then(|()| to.write_all(b"\n")).map_err(FileFailure::Write)
        };
        write(&mut to, first)?;
        while let Some(line) = lines.next_line().map_err(FileFailure::Read)? {
            let is_item = matches!(read::split(line), Some((RecordKind::ResponseItem, _)));
            if !(self.is_listed && is_item) {
                write(&mut to, line)?;
            }
        }
        unread.add(lines.n_too_long());
        finish(to, file).map_err(FileFailure::Write)?;
        Ok(vec![meta.cwd.clone()])
    }

    fn create(&self, began: Timestamp, id: &str) -> io::Result<BufWriter<fs::File>> {
        let began = began.to_zoned(jiff::tz::TimeZone::system()).datetime();
        let path = name::path(self.home, began, id);
        if let Some(folder) = path.parent() {
            pellucid_files::make_private_folder(folder)?;
        }
        Ok(BufWriter::with_capacity(256 << 10, pellucid_files::create_private(&path)?))
    }
}

impl Unread {
    fn add(&mut self, n_lines: usize) {
        self.n_lines += n_lines;
        self.n_files += usize::from(n_lines > 0);
    }
}

/// Writes out what waits, and gives the session the time of the file that it came from.
fn finish(to: BufWriter<fs::File>, from: &OtherFile) -> io::Result<()> {
    let file = to.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.set_modified(from.modified)
}

/// An id as it is if it is a UUID, else one made from it and from where it is used.
fn session_id(id: &str, place: &str) -> String {
    if let Ok(id) = uuid::Uuid::parse_str(id) {
        return id.to_string();
    }
    let digest = Sha256::digest(format!("{place}\n{id}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    // The version and variant of an id that a program made up.
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    uuid::Uuid::from_bytes(bytes).to_string()
}
