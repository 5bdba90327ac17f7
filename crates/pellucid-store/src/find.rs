//! Which session file is meant: by id, or the newest of a folder.

use std::fs;
use std::fs::DirEntry;
use std::io::BufRead;
use std::io::BufReader;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::name;
use crate::name::SESSIONS;
use crate::read;
use crate::record::Record;

/// How many lines of a file are read to learn where its session last worked.
const HEAD_LINES_MAX: usize = 64;

/// Which sessions are looked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// Only those that worked in this folder.
    pub cwd: Option<&'a Path>,
    /// Only those of this provider.
    pub provider: Option<&'a str>,
}

/// The file of the session with this id.
pub fn by_id(home: &Path, id: &str) -> Option<PathBuf> {
    files(home).into_iter().find(|file| file.id == id).map(|file| file.path)
}

/// The file that was written last among those that are wanted.
pub fn newest(home: &Path, wanted: Wanted<'_>) -> Option<PathBuf> {
    let mut files = files(home);
    files.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.path.cmp(&a.path)));
    files.into_iter().map(|file| file.path).find(|path| is_wanted(path, wanted))
}

struct SessionFile {
    path: PathBuf,
    id: String,
    modified: SystemTime,
}

/// Every session file: three levels of folders by date.
fn files(home: &Path) -> Vec<SessionFile> {
    let mut folders = vec![home.join(SESSIONS)];
    for _level in ["year", "month", "day"] {
        folders = folders.iter().flat_map(|folder| entries(folder)).map(|entry| entry.path()).collect();
    }
    let files = folders.iter().flat_map(|folder| entries(folder));
    files.filter_map(|entry| session_file(&entry)).collect()
}

fn entries(folder: &Path) -> Vec<DirEntry> {
    fs::read_dir(folder).map(|entries| entries.flatten().collect()).unwrap_or_default()
}

fn session_file(entry: &DirEntry) -> Option<SessionFile> {
    let name = entry.file_name();
    let id = name::session_id(name.to_str()?)?.to_owned();
    let modified = entry.metadata().ok()?.modified().ok()?;
    Some(SessionFile { path: entry.path(), id, modified })
}

fn is_wanted(path: &Path, wanted: Wanted<'_>) -> bool {
    if wanted.cwd.is_none() && wanted.provider.is_none() {
        return true;
    }
    let Some(head) = head(path) else {
        return false;
    };
    let fits_provider = wanted.provider.is_none_or(|provider| head.provider.as_deref() == Some(provider));
    fits_provider && wanted.cwd.is_none_or(|cwd| is_same_folder(Path::new(&head.cwd), cwd))
}

struct Head {
    cwd: String,
    provider: Option<String>,
}

/// What the first lines of a file say.
fn head(path: &Path) -> Option<Head> {
    let file = BufReader::new(fs::File::open(path).ok()?);
    let mut head = None;
    for line in file.split(b'\n').take(HEAD_LINES_MAX) {
        let (records, _) = read::parse(&line.ok()?);
        match records.into_iter().next() {
            Some(Record::SessionMeta(meta)) if head.is_none() => {
                head = Some(Head { cwd: meta.cwd, provider: meta.model_provider });
            }
            Some(Record::TurnContext(context)) => {
                return head.map(|head| Head { cwd: context.cwd, ..head });
            }
            _ => {}
        }
    }
    head
}

fn is_same_folder(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
