//! Names that people gave to sessions: `session_index.jsonl` of the home folder.
//!
//! Lines are only added. The last line with an id has the session's current name; the last line with a name has the
//! session that the name belongs to. An old name therefore still finds its session until another session gets that
//! name.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::lines::Backwards;
use crate::lines::Forwards;
use crate::sink::Existing;
use crate::sink::FileSink;
use crate::sink::Sink;

const FILE: &str = "session_index.jsonl";

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    id: String,
    thread_name: String,
    updated_at: String,
}

/// The path of the file of names.
pub fn path(home: &Path) -> PathBuf {
    home.join(FILE)
}

/// The id of the session that has this name.
pub fn id_of(home: &Path, name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return None;
    }
    last(home, |line| line.thread_name == name).map(|line| line.id)
}

/// The name of a session.
pub fn name_of(home: &Path, id: &str) -> Option<String> {
    last(home, |line| line.id == id).map(|line| line.thread_name)
}

/// Every session's name, by id.
pub fn all(home: &Path) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let lines = pellucid_files::open(&path(home)).and_then(|file| Forwards::new(file, 0, u64::MAX));
    let Ok(mut lines) = lines else {
        return names;
    };
    while let Ok(Some(line)) = lines.next_line() {
        if let Ok(Line { id, thread_name, .. }) = serde_json::from_slice(line.bytes)
            && !thread_name.trim().is_empty()
        {
            names.insert(id, thread_name.trim().to_owned());
        }
    }
    names
}

/// Why a session cannot be given a name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is blank.
    #[error("Thread name cannot be empty.")]
    Blank,
    /// The file of names cannot be written.
    #[error("{path}: {source}")]
    Io {
        /// The path of that file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

/// Gives a session a name.
///
/// # Errors
/// When the name is blank or cannot be written.
pub fn set(home: &Path, id: &str, name: &str) -> Result<String, NameError> {
    let name = name.trim();
    if name.is_empty() {
        return Err(NameError::Blank);
    }
    let line = Line { id: id.to_owned(), thread_name: name.to_owned(), updated_at: jiff::Timestamp::now().to_string() };
    let path = path(home);
    let written = || -> io::Result<()> {
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        FileSink::open(&path, Existing::Welcome)?.append(&text)
    };
    written().map_err(|source| NameError::Io { path, source })?;
    Ok(line.thread_name)
}

fn last(home: &Path, is_meant: impl Fn(&Line) -> bool) -> Option<Line> {
    let file = pellucid_files::open(&path(home)).ok()?;
    let len = file.metadata().ok()?.len();
    let mut lines = Backwards::new(file, len);
    while let Ok(Some(line)) = lines.next_line() {
        if let Ok(line) = serde_json::from_slice::<Line>(line.bytes)
            && is_meant(&line)
        {
            return Some(line);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use pellucid_testkit::Workspace;

    use super::*;

    #[test]
    fn the_last_line_wins_and_old_names_stay_good() {
        let home = Workspace::empty();
        let home = home.root();
        assert_eq!(id_of(home, "one"), None);
        set(home, "a", " one ").unwrap();
        set(home, "b", "two").unwrap();
        set(home, "a", "three").unwrap();
        let id = |name| id_of(home, name);
        assert_eq!((id("one").as_deref(), id("three").as_deref()), (Some("a"), Some("a")));
        assert_eq!(name_of(home, "a").as_deref(), Some("three"));
        set(home, "b", "one").unwrap();
        assert_eq!(id("one").as_deref(), Some("b"));
        assert_eq!((id("One"), id(" ")), (None, None));
        assert_eq!(all(home), BTreeMap::from([("a".into(), "three".into()), ("b".into(), "one".into())]));
        assert!(matches!(set(home, "a", "  "), Err(NameError::Blank)));
    }
}
