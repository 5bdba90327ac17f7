//! The index: a list of sessions that is quick to ask.
//!
//! The index is a separate SQLite database in the home folder. The reference keeps one there too, for itself: it
//! deletes databases of other versions at start, checks the sums of its migrations and writes rows as it goes, so
//! sharing it would tie us to one of its versions and two programs to one lock. Both programs share the files, and
//! the files always win: every row can be rebuilt from its file.
//!
//! Before a list is given, the times and sizes of all files are compared with the rows, and what
//! changed is read again. A database that is broken is made again. One that cannot be written,
//! because it is locked or read-only, is read, and what changed since is kept in memory. When
//! nothing helps, lists come from the files. A program that stays keeps its index ([`SessionIndex::kept`]) and looks at
//! those files only that the kernel reports as changed.
//!
//! - `table`: the tables and their statements
//! - `watch`: the files that changed since the last look
//! - [`first_tools`]: the tools that a session was begun with, which the files do not replace
//!
//! Not here: what a row says (`summary`), what can be asked (`query`).

pub mod first_tools;
mod table;
#[cfg(target_os = "linux")]
mod watch;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;
use std::time::UNIX_EPOCH;

use rusqlite::Connection;
use rusqlite::ErrorCode;
use rusqlite::OpenFlags;

use self::table::FILES;
use self::table::NAMES;
use self::table::Update;

use crate::names;
use crate::query::Page;
use crate::query::Query;
use crate::summary;
use crate::summary::SessionSummary;
use crate::walk;
use crate::walk::FoundSession;
use crate::walk::SessionPlace;

/// The database's name in the home folder.
pub const FILE: &str = "pellucid_index.sqlite";

/// How long a lock of another process is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);

/// How many files are read between two reports of progress.
const BATCH: usize = 1000;

/// How far a long piece of work has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Files that were read.
    pub done: usize,
    /// Files that have to be.
    pub total: usize,
}

/// A list of sessions that is quick to ask.
#[derive(Debug)]
pub struct SessionIndex {
    home: PathBuf,
    rows: Rows,
    warnings: Vec<String>,
    refreshed: Option<Instant>,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux reports changes"))]
    watching: Watching,
}

/// Whether changes of files are reported by the kernel.
#[derive(Debug)]
enum Watching {
    /// Every refresh looks at all files.
    Never,
    /// The next refresh looks at all files and begins to watch them, where that is possible.
    Next,
    /// The kernel reports changes; `names` is the stamp of the file of names at the last refresh.
    #[cfg(target_os = "linux")]
    Now { watch: watch::FolderWatch, names: i64 },
}

/// The source of the rows.
#[derive(Debug)]
enum Rows {
    /// The rows are in the index database.
    Database(Connection),
    /// In memory, because the database is of no use or cannot be written.
    Memory(Vec<SessionSummary>),
}

/// Session files, and a stamp that changes when one of them does.
#[derive(Debug)]
struct Files {
    /// In the order of paths.
    found: Vec<FoundSession>,
    stamp: i64,
}

impl SessionIndex {
    /// Opens the index of a home folder. It is created if it does not exist.
    pub fn open(home: &Path) -> Self {
        let mut warnings = Vec::new();
        let opened = open_database(home).or_else(|error| match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                warnings.push(format!("the session index was corrupt and is rebuilt: {error}"));
                remove(home);
                open_database(home)
            }
            _ => Err(error),
        });
        let rows = match opened {
            Ok(connection) => Rows::Database(connection),
            Err(error) => {
                if home.exists() {
                    warnings.push(format!("no session index is available, so all session files are read: {error}"));
                }
                Rows::Memory(Vec::new())
            }
        };
        Self { home: home.to_owned(), rows, warnings, refreshed: None, watching: Watching::Never }
    }

    /// A list that is kept in memory, for programs that must not write into the home folder.
    pub fn in_memory(home: &Path) -> Self {
        let rows = Rows::Memory(Vec::new());
        Self { home: home.to_owned(), rows, warnings: Vec::new(), refreshed: None, watching: Watching::Never }
    }

    /// An index for a program that stays: after its first refresh it looks only at files that changed.
    #[must_use]
    pub fn kept(self) -> Self {
        Self { watching: Watching::Next, ..self }
    }

    /// Whether the database of a home folder is whole, without changing it; absent if there is none.
    pub fn look(home: &Path) -> Option<Result<(), String>> {
        let path = home.join(FILE);
        match path.symlink_metadata() {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Some(Err("it is not a regular file".to_owned())),
            Err(_) => return None,
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(path, flags);
        let looked = opened.map_err(|error| error.to_string()).and_then(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT).map_err(|error| error.to_string())?;
            table::check(&connection)
        });
        Some(looked)
    }

    /// Warnings for the user. Each warning is returned once.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Brings the index up to date with the files, unless that was done so recently.
    pub fn refresh(&mut self, older_than: Duration, progress: &mut dyn FnMut(Progress)) {
        if self.refreshed.is_some_and(|refreshed| refreshed.elapsed() < older_than) {
            return;
        }
        #[cfg(target_os = "linux")]
        if self.refresh_reported() {
            self.refreshed = Some(Instant::now());
            return;
        }
        self.watch();
        let mut files = files(&self.home);
        if let Rows::Database(connection) = &mut self.rows {
            match refresh_database(connection, &self.home, &mut files, progress) {
                Ok(()) => {
                    self.refreshed = Some(Instant::now());
                    return;
                }
                Err(Trouble::Unwritable { error, rows }) => {
                    self.warnings.push(format!("the session index cannot be written: {error}"));
                    self.rows = Rows::Memory(rows);
                }
                Err(Trouble::Broken(error)) => {
                    self.warnings.push(format!("the session index was corrupt and is rebuilt: {error}"));
                    self.rows = Rows::Memory(Vec::new());
                    remove(&self.home);
                    if let Ok(mut connection) = open_database(&self.home)
                        && refresh_database(&mut connection, &self.home, &mut files, progress).is_ok()
                    {
                        self.rows = Rows::Database(connection);
                        self.refreshed = Some(Instant::now());
                        return;
                    }
                }
            }
        }
        if let Rows::Memory(rows) = &mut self.rows {
            refresh_memory(rows, &self.home, files, progress);
        }
        self.refreshed = Some(Instant::now());
    }

    /// Begins to watch, before the files are looked at, so that no change is between the two.
    fn watch(&mut self) {
        #[cfg(target_os = "linux")]
        if !matches!(self.watching, Watching::Never) {
            let names = names_stamp(&self.home);
            let begun = watch::FolderWatch::begin(&self.home).map(|watch| Watching::Now { watch, names });
            self.watching = begun.unwrap_or(Watching::Next);
        }
    }

    /// Brings the index up to date with what the kernel reported; false if all files have to be looked at.
    #[cfg(target_os = "linux")]
    fn refresh_reported(&mut self) -> bool {
        let Watching::Now { watch, names } = &mut self.watching else { return false };
        let watch::Changes::Files(changed) = watch.changes() else { return false };
        let names_now = names_stamp(&self.home);
        if changed.is_empty() && *names == names_now {
            return true;
        }
        let Rows::Database(connection) = &mut self.rows else { return false };
        let is_done = refresh_some(connection, &self.home, &changed, names_now).is_ok_and(|is_done| is_done);
        *names = names_now;
        is_done
    }

    /// A page of sessions, as the index knows them.
    pub fn list(&mut self, query: &Query) -> Page {
        let rows = match &self.rows {
            Rows::Memory(rows) => return query.page(rows.iter().cloned()),
            Rows::Database(connection) => table::page(connection, query),
        };
        match rows {
            Ok(page) => page,
            Err(error) => {
                self.warnings.push(format!("the session index cannot be read: {error}"));
                let mut rows = Vec::new();
                refresh_memory(&mut rows, &self.home, files(&self.home), &mut |_| {});
                let page = query.page(rows.iter().cloned());
                self.rows = Rows::Memory(rows);
                page
            }
        }
    }
}

/// Takes the database away. Nothing is lost with it.
pub fn remove(home: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        // A missing file need not be removed; an error shows when the database is opened again.
        let _ = fs::remove_file(home.join(format!("{FILE}{suffix}")));
    }
}

fn open_database(home: &Path) -> rusqlite::Result<Connection> {
    let path = home.join(FILE);
    make_private(&path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    table::prepare(&connection)?;
    Ok(connection)
}

/// Makes an empty file that only its owner may read: rows hold what people said. SQLite gives the
/// files beside it the same rights.
fn make_private(path: &Path) {
    // An existing file is not changed; other errors show when the database is opened.
    let _ = pellucid_files::create_private(path);
}

/// All session files of a home folder.
fn files(home: &Path) -> Files {
    let mut found = walk::walk(home, SessionPlace::Live);
    found.extend(walk::walk(home, SessionPlace::Archived));
    // In any order the sum is the same.
    let stamp =
        found.iter().fold(0_u64, |sum, file| sum.wrapping_add(state_of(&file.relative, file.modified, file.size)));
    Files { found, stamp: stamp.cast_signed() }
}

/// A hash of path, time and size, which differs when the file changed.
fn state_of(path: &str, modified: i64, size: u64) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    let numbers = [modified.cast_unsigned(), size];
    let (words, rest) = path.as_bytes().as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    for number in words.chain(rest.iter().copied().map(u64::from)).chain(numbers) {
        state = (state ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state ^= state >> 29;
    }
    state
}

/// Why a database cannot be brought up to date.
#[derive(Debug)]
enum Trouble {
    /// The database can be read but not written; `rows` are the current rows.
    Unwritable { error: rusqlite::Error, rows: Vec<SessionSummary> },
    /// The database cannot be read.
    Broken(rusqlite::Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(error)
    }
}

fn refresh_database(
    connection: &mut Connection,
    home: &Path,
    files: &mut Files,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), Trouble> {
    let names_stamp = names_stamp(home);
    let (is_same, has_names) =
        (table::stamp(connection, FILES)? == files.stamp, table::stamp(connection, NAMES)? == names_stamp);
    if is_same && has_names {
        return Ok(());
    }
    let (changed, gone) = compare(connection, &mut files.found)?;
    let fresh = summarise_all(home, &changed, progress);
    let update = Update {
        fresh: &fresh,
        gone: &gone,
        names: (!has_names).then(|| names::all(home)),
        stamps: [(FILES, files.stamp), (NAMES, names_stamp)],
        before: None,
    };
    let written = table::write(connection, &update).map(|_| ());
    written.or_else(|error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Err(Trouble::Broken(error)),
        _ => {
            let replaced: BTreeSet<&str> =
                fresh.iter().map(|it| it.path.as_str()).chain(gone.iter().map(String::as_str)).collect();
            let mut rows = table::all(connection)?;
            rows.retain(|row| !replaced.contains(row.path.as_str()));
            rows.extend(fresh);
            name_all(&mut rows, home);
            Err(Trouble::Unwritable { error, rows })
        }
    })
}

/// Brings the rows of these files up to date, and the names; false if another process changed the rows meanwhile.
#[cfg(target_os = "linux")]
fn refresh_some(
    connection: &mut Connection,
    home: &Path,
    paths: &BTreeSet<String>,
    names_stamp: i64,
) -> rusqlite::Result<bool> {
    let before = table::stamp(connection, FILES)?;
    let has_names = table::stamp(connection, NAMES)? == names_stamp;
    let mut stamp = before.cast_unsigned();
    let (mut changed, mut gone) = (Vec::new(), Vec::new());
    for path in paths {
        let row = table::state(connection, path)?;
        let file = walk::at(home, path);
        let now = file.as_ref().map(|file| (file.modified, file.size));
        if now == row.as_ref().map(|row| (row.modified, row.size)) {
            continue;
        }
        if let Some(row) = row {
            stamp = stamp.wrapping_sub(state_of(&row.path, row.modified, row.size));
            if file.is_none() {
                gone.push(row.path);
            }
        }
        if let Some(file) = file {
            stamp = stamp.wrapping_add(state_of(&file.relative, file.modified, file.size));
            changed.push(file);
        }
    }
    if changed.is_empty() && gone.is_empty() && has_names {
        return Ok(true);
    }
    let fresh = summarise_all(home, &changed, &mut |_| {});
    let update = Update {
        fresh: &fresh,
        gone: &gone,
        names: (!has_names).then(|| names::all(home)),
        stamps: [(FILES, stamp.cast_signed()), (NAMES, names_stamp)],
        before: Some(before),
    };
    table::write(connection, &update)
}

/// Files whose rows have to be made, and paths of rows whose files are gone.
fn compare(connection: &Connection, found: &mut [FoundSession]) -> rusqlite::Result<(Vec<FoundSession>, Vec<String>)> {
    found.sort_unstable_by(|a, b| a.relative.cmp(&b.relative));
    let mut known = table::states(connection)?.into_iter().peekable();
    let (mut changed, mut gone) = (Vec::new(), Vec::new());
    for file in found {
        while let Some(row) = known.next_if(|row| row.path < file.relative) {
            gone.push(row.path);
        }
        match known.next_if(|row| row.path == file.relative) {
            Some(row) if (row.modified, row.size) == (file.modified, file.size) => {}
            _ => changed.push(file.clone()),
        }
    }
    gone.extend(known.map(|row| row.path));
    Ok((changed, gone))
}

/// A stamp of the file of names, which differs when that file changed.
fn names_stamp(home: &Path) -> i64 {
    let modified = fs::metadata(names::path(home)).and_then(|metadata| metadata.modified()).ok();
    let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

fn refresh_memory(rows: &mut Vec<SessionSummary>, home: &Path, mut files: Files, progress: &mut dyn FnMut(Progress)) {
    files.found.sort_unstable_by(|a, b| a.relative.cmp(&b.relative));
    rows.sort_by(|a, b| a.path.cmp(&b.path));
    let mut known = std::mem::take(rows).into_iter().peekable();
    let mut changed = Vec::new();
    for file in files.found {
        while known.next_if(|row| row.path < file.relative).is_some() {}
        match known.next_if(|row| row.path == file.relative) {
            Some(row) if (row.modified, row.size) == (file.modified, file.size) => rows.push(row),
            _ => changed.push(file),
        }
    }
    rows.extend(summarise_all(home, &changed, progress));
    name_all(rows, home);
}

fn name_all(rows: &mut [SessionSummary], home: &Path) {
    let names = names::all(home);
    for row in rows {
        row.name = names.get(&row.id).cloned();
    }
}

/// Reads files with a few threads.
fn summarise_all(home: &Path, files: &[FoundSession], progress: &mut dyn FnMut(Progress)) -> Vec<SessionSummary> {
    let total = files.len();
    let n_threads = walk::n_threads();
    let mut summaries = Vec::with_capacity(total);
    for batch in files.chunks(BATCH) {
        if total > BATCH {
            progress(Progress { done: summaries.len(), total });
        }
        let read = |files: &[FoundSession]| -> Vec<SessionSummary> {
            files.iter().map(|file| summary::summarise(home, file)).collect()
        };
        if batch.len() < 2 * n_threads {
            summaries.extend(read(batch));
            continue;
        }
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                batch.chunks(batch.len().div_ceil(n_threads)).map(|files| scope.spawn(|| read(files))).collect();
            for worker in workers {
                // Files of a worker that panicked are read again the next time.
                summaries.extend(worker.join().unwrap_or_default());
            }
        });
    }
    if total > BATCH {
        progress(Progress { done: total, total });
    }
    summaries
}

#[cfg(test)]
mod tests;
