//! The index beside a record: what one pass through a session found, for the next server that is asked about it.
//!
//! The file `inspect/ID.idx` of the home folder has three parts: a line that says which files it is about, a line with what
//! is known of the session's requests, and a line for each item. It is never believed over the files: if their sizes or times
//! are others than those in the index, the index is extended or made again. It can be deleted at any time.
//!
//! Nothing that the file claims decides how much is read or how much memory is taken: the whole has to fit a limit and its
//! digest, and lists are as long as they are. What does not fit in any way is as good as no index.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::ops::Range;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use pellucid_answers::items::ItemFacts;
use pellucid_answers::items::SessionItem;
use pellucid_engine::digest::Digest;
use pellucid_files::Disk;
use pellucid_files::RealDisk;
use serde::Deserialize;
use serde::Serialize;

use crate::view::SessionFiles;
use crate::view::SessionView;
use crate::view::Stamp;

/// The version of the file's form.
const FORMAT: u32 = 2;

/// How long an index may be.
const BYTES_MAX: u64 = 256 << 20;

/// How long the line about files may be.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// Which files an index is about.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    format: u32,
    /// The version of the program: another one may find something else.
    program: String,
    session: String,
    stamp: Stamp,
    /// The sessions that this one is a copy of, with their files.
    parents: Vec<(String, Option<Stamp>)>,
    /// The SHA-256 of everything behind this line.
    sha256: String,
}

/// An item, as a line of the index has it.
#[derive(Serialize, Deserialize)]
struct ItemLine(
    String,
    Cow<'static, str>,
    Option<Arc<str>>,
    usize,
    Arc<str>,
    Cow<'static, str>,
    Option<String>,
    String,
    usize,
    usize,
    usize,
);

impl ItemLine {
    fn of(item: &SessionItem) -> Self {
        let ItemFacts { digest, kind, role, bytes, part, author, call, preview } = item.facts.as_ref().clone();
        Self(digest.to_string(), kind, role, bytes, part, author, call, preview, item.first, item.last, item.place)
    }

    fn item(self) -> Option<SessionItem> {
        let Self(digest, kind, role, bytes, part, author, call, preview, first, last, place) = self;
        let digest = Digest::read(&digest)?;
        let facts = Arc::new(ItemFacts { digest, kind, role, bytes, part, author, call, preview });
        Some(SessionItem { facts, first, last, place })
    }
}

/// The items of a session: in memory, or in its index, from which pages are read.
#[derive(Debug)]
pub enum IndexedItems {
    /// The items themselves.
    Kept(Vec<SessionItem>),
    /// Their places in the index.
    Stored(StoredItems),
}

/// The places of items in an index. The file is held, so it stays as it was when another takes its name.
#[derive(Debug)]
pub struct StoredItems {
    file: Mutex<File>,
    /// The offsets at which items begin, and the end of the last.
    starts: Vec<u64>,
    n_requests: usize,
}

impl Default for IndexedItems {
    fn default() -> Self {
        Self::Kept(Vec::new())
    }
}

impl IndexedItems {
    /// How many items there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Kept(items) => items.len(),
            Self::Stored(stored) => stored.starts.len() - 1,
        }
    }

    /// Some of the items, as many as there are.
    ///
    /// # Errors
    /// When the index cannot be read, or does not have items where it had them.
    pub fn page(&self, range: Range<usize>) -> io::Result<Vec<SessionItem>> {
        let range = range.start.min(self.len())..range.end.min(self.len());
        match self {
            Self::Kept(items) => Ok(items[range].to_vec()),
            Self::Stored(stored) => stored.page(range),
        }
    }
}

impl StoredItems {
    fn page(&self, range: Range<usize>) -> io::Result<Vec<SessionItem>> {
        let (start, end) = (self.starts[range.start], self.starts[range.end]);
        let mut bytes = Vec::new();
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(start))?;
            (&mut *file).take(end - start).read_to_end(&mut bytes)?;
        }
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, "the index was changed");
        let mut items = Vec::with_capacity(range.len());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let item = serde_json::from_slice::<ItemLine>(line).ok().and_then(ItemLine::item);
            let is_sound = |item: &SessionItem| (1..=item.last).contains(&item.first) && item.last <= self.n_requests;
            items.push(item.filter(is_sound).ok_or_else(wrong)?);
        }
        if items.len() != range.len() {
            return Err(wrong());
        }
        Ok(items)
    }
}

/// The path of the index of a session.
pub fn path(home: &Path, session: &str) -> PathBuf {
    pellucid_store::name::inspect_index(home, session)
}

/// Writes the index of a session, and gives where its items are in it.
///
/// # Errors
/// When it cannot be written, or is too long.
pub fn write(home: &Path, view: &SessionView, stamp: Stamp) -> io::Result<IndexedItems> {
    let mut body = serde_json::to_vec(view)?;
    body.push(b'\n');
    let items = view.items.page(0..usize::MAX)?;
    let mut ends = Vec::with_capacity(items.len() + 1);
    ends.push(body.len() as u64);
    for item in &items {
        serde_json::to_writer(&mut body, &ItemLine::of(item))?;
        body.push(b'\n');
        ends.push(body.len() as u64);
    }
    let head = Head {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        session: view.files.id.clone(),
        stamp,
        parents: view.parents.clone(),
        sha256: Digest::of([&body[..]]).to_string(),
    };
    let mut text = serde_json::to_vec(&head)?;
    text.push(b'\n');
    let start = text.len() as u64;
    text.append(&mut body);
    if text.len() as u64 > BYTES_MAX || start > HEAD_BYTES_MAX as u64 {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the index would be too long"));
    }
    let path = path(home, &view.files.id);
    pellucid_files::make_private_folder(path.parent().unwrap_or(home))?;
    RealDisk.replace(&path, &text)?;
    let file = pellucid_files::open(&path)?;
    if file.metadata()?.len() != text.len() as u64 {
        return Err(io::Error::other("another process has written the index"));
    }
    let starts = ends.into_iter().map(|end| start + end).collect();
    Ok(IndexedItems::Stored(StoredItems { file: Mutex::new(file), starts, n_requests: view.requests.len() }))
}

/// An index that was read.
#[derive(Debug)]
pub struct StoredIndex {
    /// What it says of the session.
    pub view: SessionView,
    /// The files that it is about.
    pub stamp: Stamp,
}

/// Reads the index of a session; absent if there is none that can be used.
pub fn read(home: &Path, files: &SessionFiles) -> Option<StoredIndex> {
    let mut file = pellucid_files::open(&path(home, &files.id)).ok()?;
    let length = file.metadata().ok()?.len();
    if length > BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::new();
    file.by_ref().take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let line_end = |from: usize, within: usize| {
        let within = &bytes[from..bytes.len().min(from.saturating_add(within))];
        within.iter().position(|byte| *byte == b'\n').map(|at| from + at + 1)
    };
    let start = line_end(0, HEAD_BYTES_MAX)?;
    let head: Head = serde_json::from_slice(&bytes[..start]).ok()?;
    let is_ours = head.format == FORMAT && head.program == env!("CARGO_PKG_VERSION") && head.session == files.id;
    if !is_ours || Digest::of([&bytes[start..]]).to_string() != head.sha256 {
        return None;
    }
    let is_same = |(id, stamp): &(String, Option<Stamp>)| SessionFiles::find(home, id).map(|it| it.stamp()) == *stamp;
    if !head.parents.iter().all(is_same) {
        return None;
    }
    let items = line_end(start, usize::MAX)?;
    let mut view: SessionView = serde_json::from_slice(&bytes[start..items]).ok()?;
    if !view.is_sound() || bytes.last() != Some(&b'\n') {
        return None;
    }
    let ends = bytes[items..].iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| items + at + 1);
    let starts = std::iter::once(items).chain(ends).map(|at| at as u64).collect();
    view.items = IndexedItems::Stored(StoredItems { file: Mutex::new(file), starts, n_requests: view.requests.len() });
    view.files = files.clone();
    view.parents = head.parents;
    Some(StoredIndex { view, stamp: head.stamp })
}
