//! Every session file of a home folder, with its size and time, and no look inside.
//!
//! Folders are dealt to a few threads: with ten thousand files, asking the system for their times
//! is most of the work of a listing.

use std::fs;
use std::fs::DirEntry;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use crate::name;
use crate::name::ARCHIVED;
use crate::name::REQUESTS;
use crate::name::SESSIONS;

/// How many threads walk at most.
const N_THREADS_MAX: usize = 8;

/// From how many folders on more than one thread is worth its start.
const N_FOLDERS_MIN: usize = 16;

/// The nested folders, down to the files.
const LEVELS: [&str; 3] = ["year", "month", "day"];

/// The folder in which a session file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionPlace {
    /// The folder of sessions that are not archived, by date.
    Live,
    /// The folder of archived sessions.
    Archived,
}

/// A session file that the walk found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundSession {
    /// The path relative to the home folder.
    pub relative: String,
    /// The folder it was found in.
    pub place: SessionPlace,
    /// When it was written last, in nanoseconds of Unix time.
    pub modified: i64,
    /// The number of bytes of the file.
    pub size: u64,
}

impl FoundSession {
    /// The name of the file.
    pub fn name(&self) -> &str {
        self.relative.rsplit('/').next().unwrap_or(&self.relative)
    }

    /// The id of its session.
    pub fn id(&self) -> &str {
        name::session_id(self.name()).unwrap_or_default()
    }
}

/// Every session file of a place, in no particular order.
pub fn walk(home: &Path, place: SessionPlace) -> Vec<FoundSession> {
    let folders = folders(home, place);
    let files_of = |folders: &[String]| -> Vec<FoundSession> {
        folders.iter().flat_map(|folder| files(home, folder, place)).collect()
    };
    let n_threads = n_threads();
    if folders.len() < N_FOLDERS_MIN || n_threads < 2 {
        return files_of(&folders);
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = folders
            .chunks(folders.len().div_ceil(n_threads))
            .map(|folders| scope.spawn(|| files_of(folders)))
            .collect();
        // A worker that panicked has found nothing.
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    })
}

/// The folders of session files that cannot be read, and why not. A missing folder has no sessions.
pub fn unreadable(home: &Path) -> Vec<(PathBuf, io::Error)> {
    let mut unreadable = Vec::new();
    let mut look = |folder: &str| match fs::read_dir(home.join(folder)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => unreadable.push((home.join(folder), error)),
        Ok(_) | Err(_) => {}
    };
    look(ARCHIVED);
    let mut folders = vec![SESSIONS.to_owned()];
    look(SESSIONS);
    for _level in LEVELS {
        folders = folders.iter().flat_map(|folder| numbered(home, folder)).collect();
        folders.iter().for_each(|folder| look(folder));
    }
    unreadable
}

/// The records of requests of a home folder, also those whose session file is gone.
pub(crate) fn records(home: &Path) -> Vec<PathBuf> {
    let mut folders = vec![REQUESTS.to_owned()];
    for _level in LEVELS {
        folders = folders.iter().flat_map(|folder| numbered(home, folder)).collect();
    }
    folders.iter().flat_map(|folder| entries(&home.join(folder))).map(|entry| entry.path()).collect()
}

/// A folder that holds session files, or one above such folders.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionFolder {
    /// The path relative to the home folder; empty for the home folder.
    relative: String,
    /// How many levels of numbered folders are between it and the session files; absent for the home folder.
    levels: Option<usize>,
}

#[cfg(target_os = "linux")]
impl SessionFolder {
    /// The home folder.
    pub(crate) fn home() -> Self {
        Self { relative: String::new(), levels: None }
    }

    /// Whether session files are in it.
    pub(crate) fn holds_sessions(&self) -> bool {
        self.levels == Some(0)
    }

    /// The absolute path.
    pub(crate) fn path(&self, home: &Path) -> PathBuf {
        home.join(&self.relative)
    }

    /// The path of something in it, relative to the home folder.
    pub(crate) fn child(&self, name: &str) -> String {
        format!("{}/{name}", self.relative)
    }

    /// Whether a folder of this name in it leads to session files.
    pub(crate) fn takes_folder(&self, name: &str) -> bool {
        match self.levels {
            None => [SESSIONS, ARCHIVED].contains(&name),
            Some(0) => false,
            Some(_) => is_numbered(name),
        }
    }

    /// The folders in it that lead to session files. Those of the home folder need not exist.
    pub(crate) fn folders(&self, home: &Path) -> Vec<Self> {
        let folder = |relative: String, levels| Self { relative, levels: Some(levels) };
        match self.levels {
            None => vec![folder(SESSIONS.to_owned(), LEVELS.len()), folder(ARCHIVED.to_owned(), 0)],
            Some(0) => Vec::new(),
            Some(levels) => {
                numbered(home, &self.relative).into_iter().map(|relative| folder(relative, levels - 1)).collect()
            }
        }
    }
}

/// A session file by its path relative to the home folder; absent if there is none.
#[cfg(target_os = "linux")]
pub(crate) fn at(home: &Path, relative: &str) -> Option<FoundSession> {
    let (folder, name) = relative.rsplit_once('/')?;
    let place = if folder == ARCHIVED { SessionPlace::Archived } else { SessionPlace::Live };
    let metadata = fs::symlink_metadata(home.join(relative)).ok()?;
    found(folder, name, place, &metadata)
}

/// How many threads are worth starting.
pub(crate) fn n_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(N_THREADS_MAX)
}

/// The file of a session, by its id.
///
/// An id says when it was made, so the folder of that day is looked at first, and those of the
/// days around it: file names are in local time.
pub fn by_id(home: &Path, place: SessionPlace, id: &str) -> Option<PathBuf> {
    let is_meant = |entry: &DirEntry| entry.file_name().to_str().and_then(name::session_id) == Some(id);
    let find_in = |folder: &str| entries(&home.join(folder)).into_iter().find(is_meant).map(|entry| entry.path());
    if place == SessionPlace::Live
        && let Some(found) = days_around(id).into_iter().find_map(|day| find_in(&format!("{SESSIONS}/{day}")))
    {
        return Some(found);
    }
    folders(home, place).iter().find_map(|folder| find_in(folder))
}

/// The folders of the day that an id was made on and of those before and behind it.
fn days_around(id: &str) -> Vec<String> {
    let millis = uuid::Uuid::parse_str(id).ok().filter(|id| id.get_version_num() == 7);
    let millis = millis.and_then(|id| i64::try_from(id.as_u128() >> 80).ok());
    let Some(made) = millis.and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok()) else {
        return Vec::new();
    };
    let day = made.to_zoned(jiff::tz::TimeZone::UTC).date();
    let days = [Some(day), day.yesterday().ok(), day.tomorrow().ok()];
    days.into_iter().flatten().map(|day| day.strftime("%Y/%m/%d").to_string()).collect()
}

/// The folders that hold session files.
fn folders(home: &Path, place: SessionPlace) -> Vec<String> {
    if place == SessionPlace::Archived {
        return vec![ARCHIVED.to_owned()];
    }
    let mut folders = vec![SESSIONS.to_owned()];
    for _level in LEVELS {
        folders = folders.iter().flat_map(|folder| numbered(home, folder)).collect();
    }
    folders
}

fn numbered(home: &Path, folder: &str) -> Vec<String> {
    let name = |entry: DirEntry| entry.file_name().into_string().ok();
    let names = entries(&home.join(folder)).into_iter().filter_map(name);
    names.filter(|name| is_numbered(name)).map(|name| format!("{folder}/{name}")).collect()
}

fn is_numbered(name: &str) -> bool {
    name.parse::<u16>().is_ok()
}

fn entries(folder: &Path) -> Vec<DirEntry> {
    fs::read_dir(folder).map(|entries| entries.flatten().collect()).unwrap_or_default()
}

fn files(home: &Path, folder: &str, place: SessionPlace) -> Vec<FoundSession> {
    let Ok(entries) = fs::read_dir(home.join(folder)) else {
        return Vec::new();
    };
    entries.flatten().filter_map(|entry| file(&entry, folder, place)).collect()
}

fn file(entry: &DirEntry, folder: &str, place: SessionPlace) -> Option<FoundSession> {
    let file_name = entry.file_name();
    let file_name = file_name.to_str()?;
    name::session_id(file_name)?;
    found(folder, file_name, place, &entry.metadata().ok()?)
}

fn found(folder: &str, file_name: &str, place: SessionPlace, metadata: &fs::Metadata) -> Option<FoundSession> {
    if !metadata.is_file() {
        return None;
    }
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(FoundSession {
        relative: format!("{folder}/{file_name}"),
        place,
        modified: i64::try_from(modified.as_nanos()).ok()?,
        size: metadata.len(),
    })
}

#[cfg(test)]
mod tests;
