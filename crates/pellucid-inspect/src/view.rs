//! What is known of a session: its requests in one pass through its record, kept until its files change.
//!
//! A session that was looked at before has an index beside its record (`index`). A session that has grown is followed from
//! where it was left.
//!
//! - `gather`: the pass through the record

mod gather;

use std::borrow::Cow;
use std::fs;
use std::fs::Metadata;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::UNIX_EPOCH;

use pellucid_agent::replay::FileSurvey;
use pellucid_answers::figures::RequestFigures;
use pellucid_answers::timeline::TimelineCells;
use pellucid_engine::digest::Digest;
use pellucid_protocol::provider::WireApi;
use pellucid_store::find;
use pellucid_store::name;
use serde::Deserialize;
use serde::Serialize;

use crate::error::ApiError;
use crate::index;
use crate::index::IndexedItems;
use crate::index::StoredIndex;

/// How many sessions are kept.
const N_VIEWS_MAX: usize = 8;

/// How many bytes in front of the end of a file tell whether the file has only grown.
const END_BYTES: u64 = 4096;

/// A session that has grown by this share is written to its index again: one in so many requests.
const SAVED_SHARE: usize = 8;

/// A session that has grown by fewer requests than this is not written to its index again.
const N_NEW_MIN: usize = 16;

/// A session file and its record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFiles {
    /// The id of the session.
    pub id: String,
    /// The session file.
    pub path: PathBuf,
    /// The record; absent for a session file with an unusual name.
    pub record: Option<PathBuf>,
}

impl SessionFiles {
    /// The files of a session.
    pub fn new(home: &Path, id: &str, path: PathBuf) -> Self {
        let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let record = name::requests_path(home, file_name);
        Self { id: id.to_owned(), path, record }
    }

    /// The files of the session with an id, if there is one.
    pub fn find(home: &Path, id: &str) -> Option<Self> {
        Some(Self::new(home, id, find::anywhere(home, id)?))
    }

    /// The sizes and times of the files.
    pub fn stamp(&self) -> Stamp {
        let of = |path: &Path| fs::metadata(path).ok().map(|metadata| FileStamp::of(&metadata));
        Stamp { session: of(&self.path), record: self.record.as_deref().and_then(of) }
    }
}

/// The sizes and times of a session's files, which change when something is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    session: Option<FileStamp>,
    record: Option<FileStamp>,
}

/// The size and time of a file, and its number in its file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FileStamp {
    bytes: u64,
    /// Seconds and nanoseconds since 1970.
    modified: (u64, u32),
    number: u64,
}

impl FileStamp {
    fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        Self {
            bytes: metadata.len(),
            modified: (modified.as_secs(), modified.subsec_nanos()),
            number: number(metadata),
        }
    }

    /// Whether a file with this stamp can have grown from one with the other.
    fn can_extend(&self, before: &Self) -> bool {
        self.number == before.number && self.bytes >= before.bytes
    }
}

#[cfg(unix)]
fn number(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> u64 {
    0
}

impl Stamp {
    /// Whether there is a record.
    pub fn has_record(&self) -> bool {
        self.record.is_some()
    }

    /// Whether files with this stamp can have grown from those with the other.
    fn can_extend(&self, before: &Self) -> bool {
        let is_grown = |now: &Option<FileStamp>, before: &Option<FileStamp>| match (now, before) {
            (Some(now), Some(before)) => now.can_extend(before),
            _ => false,
        };
        is_grown(&self.session, &before.session) && is_grown(&self.record, &before.record)
    }
}

/// The digest of the last bytes of a file that has so many bytes; absent if it cannot be read.
fn end_digest(path: &Path, bytes: u64) -> Option<String> {
    let mut file = pellucid_files::open(path).ok()?;
    let start = bytes.saturating_sub(END_BYTES);
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut end = Vec::new();
    file.take(bytes - start).read_to_end(&mut end).ok()?;
    (end.len() as u64 == bytes - start).then(|| Digest::of([&end[..]]).to_string())
}

/// A request of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ViewedRequest {
    /// The number of the request, from 1.
    pub number: usize,
    /// The number of its line in the session's own record, if that has it.
    pub line: Option<u64>,
    /// Why the bytes are not known, if they are not.
    pub why: Option<String>,
    /// The place of the request's figures; absent for a request that the record does not have.
    pub figures: Option<usize>,
    /// The SHA-256 of the body, as recorded.
    pub sha256: Option<String>,
    /// How many items the request has.
    pub items: u64,
    /// The API format of the body, where its bytes are known.
    pub wire: Option<WireApi>,
    /// The format of the body in a word, as people read it: also those of other programs.
    pub format: Option<Cow<'static, str>>,
    /// The pack of the process that sent it, where the record has it.
    pub pack: Option<String>,
    /// When the first event of the reply came.
    pub first_event_at: Option<String>,
    /// When the reply was complete, or failed.
    pub done_at: Option<String>,
    /// The HTTP status of every attempt.
    pub attempts: Vec<Option<u16>>,
}

/// Something that happened before a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The number of the request.
    pub n: usize,
    /// What happened, in a word.
    pub kind: Cow<'static, str>,
    /// What happened, for people.
    pub text: String,
}

/// What state the record of a session is in.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordState {
    /// The hash of the last line of the record.
    pub anchor: Option<String>,
    /// How many bytes of the session file the last seal covers.
    pub sealed_at: Option<u64>,
    /// Whether secrets are blanked in the record.
    pub is_redacted: bool,
    /// Whether texts are replaced by filler.
    pub is_filled: bool,
    /// Lines of the record that are torn.
    pub torn: Vec<usize>,
    /// Where the chain of the record is broken, if it is.
    pub broken: Option<String>,
}

/// What is known of a session.
#[derive(Debug, Serialize, Deserialize)]
pub struct SessionView {
    /// The files that the view is of.
    #[serde(skip)]
    pub files: SessionFiles,
    /// The sessions that this one is a copy of, with the stamps of their files.
    #[serde(skip)]
    pub parents: Vec<(String, Option<Stamp>)>,
    /// The items of all requests.
    #[serde(skip)]
    pub items: IndexedItems,
    /// What the session file says between its items.
    pub survey: FileSurvey,
    /// The digest of the end of the session file, as it was read.
    end: Option<String>,
    /// How many lines the record has.
    n_lines: usize,
    /// Of how many requests the index has something.
    #[serde(skip)]
    n_saved: usize,
    /// Every request, in order.
    pub requests: Vec<ViewedRequest>,
    /// The figures of the requests that the record has.
    pub figures: Vec<RequestFigures>,
    /// What the requests are made of.
    pub cells: TimelineCells,
    /// What happened between requests.
    pub marks: Vec<Mark>,
    /// Whether there is no record, so that the figures come from token counts of the session file.
    pub is_estimated: bool,
    /// Whether there is a record.
    pub has_record: bool,
    /// How many calls of tools the record has.
    pub n_calls: usize,
    /// How often a summary took the place of the history.
    pub n_compactions: usize,
    /// What state the record is in.
    pub state: RecordState,
    /// The sessions that this one started for a review and the like, by the record.
    pub started: Vec<String>,
}

impl SessionView {
    /// Whether places point to what there is. A view that was stored may have become anything.
    pub fn is_sound(&self) -> bool {
        let figures_of = |it: &ViewedRequest| it.figures.is_none_or(|at| at < self.figures.len());
        let is_numbered = self.requests.iter().zip(1..).all(|(it, number)| it.number == number);
        let bytes: Vec<u64> = self.requests.iter().map(|it| self.figures_of(it).map_or(0, |it| it.bytes)).collect();
        is_numbered && self.requests.iter().all(figures_of) && (self.is_estimated || self.cells.are_of(&bytes))
    }

    /// Whether files with this stamp have only grown since the view was made with the other.
    fn is_extended_by(&self, now: &Stamp, then: &Stamp) -> bool {
        let has_end = |before: &FileStamp| end_digest(&self.files.path, before.bytes) == self.end && self.end.is_some();
        now.can_extend(then) && then.session.as_ref().is_some_and(has_end)
    }

    /// The figures of a request.
    pub fn figures_of(&self, request: &ViewedRequest) -> Option<&RequestFigures> {
        self.figures.get(request.figures?)
    }
}

/// The sessions that were looked at last.
#[derive(Debug, Default)]
pub struct Views {
    /// The one that was used last is at the end.
    kept: Mutex<Vec<(Stamp, Arc<SessionView>)>>,
    /// One session is read at a time.
    reading: Mutex<()>,
}

impl Views {
    /// The view of a session, read again if its files have changed.
    ///
    /// # Errors
    /// When the files cannot be read.
    pub fn get(&self, home: &Path, files: SessionFiles) -> Result<Arc<SessionView>, ApiError> {
        let stamp = files.stamp();
        if let Some(view) = self.known(&files, &stamp) {
            return Ok(view);
        }
        let _one_at_a_time = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(view) = self.known(&files, &stamp) {
            return Ok(view);
        }
        let view = Arc::new(self.look(home, files, stamp)?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(_, it)| it.files.id != view.files.id);
        if kept.len() >= N_VIEWS_MAX {
            kept.remove(0);
        }
        kept.push((stamp, view.clone()));
        Ok(view)
    }

    /// Looks at a session: at its index, and at what the index does not have.
    fn look(&self, home: &Path, files: SessionFiles, stamp: Stamp) -> Result<SessionView, ApiError> {
        let before = match self.take(&files) {
            Some(before) => Some(before),
            None => index::read(home, &files).map(|StoredIndex { mut view, stamp }| {
                view.n_saved = view.requests.len();
                (stamp, view)
            }),
        };
        let before = match before {
            Some((then, view)) if then == stamp => return Ok(view),
            Some((then, view)) if view.is_extended_by(&stamp, &then) => Some(view),
            _ => None,
        };
        let mut view = SessionView::gather(home, files, &stamp, before)?;
        let n_new = view.requests.len().saturating_sub(view.n_saved);
        if (view.n_saved == 0 && n_new > 0) || n_new >= N_NEW_MIN.max(view.n_saved / SAVED_SHARE) {
            // A server that cannot write its index works without it.
            match index::write(home, &view, stamp) {
                Ok(items) => {
                    view.items = items;
                    view.n_saved = view.requests.len();
                }
                Err(error) => tracing::debug!(%error, "the index of the session is not kept"),
            }
        }
        Ok(view)
    }

    /// Forgets a session and its index.
    pub fn throw_away(&self, home: &Path, files: &SessionFiles) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).retain(|(_, view)| view.files != *files);
        if let Err(error) = fs::remove_file(index::path(home, &files.id)) {
            tracing::debug!(%error, "the index of the session stays");
        }
    }

    /// Takes a view of earlier files out, if no other answer has it.
    fn take(&self, files: &SessionFiles) -> Option<(Stamp, SessionView)> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(_, view)| view.files == *files)?;
        let (stamp, view) = kept.remove(at);
        Some((stamp, Arc::into_inner(view)?))
    }

    /// The view of a session, if it is known and its files are as they were.
    pub fn known(&self, files: &SessionFiles, stamp: &Stamp) -> Option<Arc<SessionView>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(it, view)| it == stamp && view.files == *files)?;
        let found = kept.remove(at);
        kept.push(found.clone());
        Some(found.1)
    }
}
