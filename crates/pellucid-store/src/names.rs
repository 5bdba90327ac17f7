//! Names that people gave to sessions: `session_index.jsonl` of the home folder.
//!
//! Lines are only added. The last line with an id has the session's current name; the last line with a name has the
//! session that the name belongs to. An old name therefore still finds its session until another session gets that
//! name.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_files::Existing;
use pellucid_files::RealDisk;
use serde::Deserialize;
use serde::Serialize;

use crate::lines::Backwards;
use crate::lines::Forwards;
use crate::sink::FileSink;

const FILE: &str = "session_index.jsonl";

/// How long the file may be to be written again.
const BYTES_MAX: u64 = 1 << 30;

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
pub enum SessionNameError {
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
pub fn set(home: &Path, id: &str, name: &str) -> Result<String, SessionNameError> {
    let name = name.trim();
    if name.is_empty() {
        return Err(SessionNameError::Blank);
    }
    let line = Line { id: id.to_owned(), thread_name: name.to_owned(), updated_at: jiff::Timestamp::now().to_string() };
    let path = path(home);
    let written = || -> io::Result<()> {
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        FileSink::open(RealDisk::shared(), &path, Existing::Welcome)?.append(&text)
    };
    written().map_err(|source| SessionNameError::Io { path, source })?;
    Ok(line.thread_name)
}

/// Removes every name that these sessions were given. Lines of other sessions, and lines that cannot be read, stay.
///
/// # Errors
/// When the file cannot be read or written, or another process is writing it.
pub fn forget(home: &Path, ids: &[String]) -> io::Result<()> {
    let path = path(home);
    let _held = FileSink::open(RealDisk::shared(), &path, Existing::Needed)?;
    let text = pellucid_files::read(&path, BYTES_MAX)?;
    let is_kept = |line: &&[u8]| serde_json::from_slice::<Line>(line).map_or(true, |line| !ids.contains(&line.id));
    let kept: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').filter(is_kept).collect();
    pellucid_files::write_private(&path, &kept.concat())
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
        assert!(matches!(set(home, "a", "  "), Err(SessionNameError::Blank)));
    }

    #[track_caller]
    fn check_names(text: impl AsRef<[u8]>, expected: &[(&str, &str)]) {
        let home = Workspace::empty();
        home.write(FILE, text);
        let expected: BTreeMap<String, String> =
            expected.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned())).collect();
        assert_eq!(all(home.root()), expected);
        for (id, name) in &expected {
            assert_eq!(name_of(home.root(), id).as_ref(), Some(name));
        }
    }

    fn line(id: &str, name: &str) -> String {
        format!("{{\"id\":\"{id}\",\"thread_name\":\"{name}\",\"updated_at\":\"t\"}}\n")
    }

    #[test]
    fn lines_that_cannot_be_read_cost_no_more_than_themselves() {
        check_names("", &[]);
        check_names(
            [line("a", "one"), "garbage\n".into(), "{}\n".into(), line("b", "two")].concat(),
            &[("a", "one"), ("b", "two")],
        );
        check_names([line("a", "one"), line("a", "")].concat().replace("\"t\"", "7"), &[]);
        check_names([b"\xff\xfe\n".as_slice(), line("a", "one").as_bytes(), b"\0"].concat(), &[("a", "one")]);
        let many: String = (0..3000).map(|n| line("a", &format!("name {n} {}", "x".repeat(60)))).collect();
        check_names(&many, &[("a", &format!("name 2999 {}", "x".repeat(60)))]);
    }

    #[test]
    fn a_torn_last_line_is_as_if_it_were_not_there_wherever_it_is_torn() {
        let home = Workspace::empty();
        let (first, last) = (line("a", "one"), line("a", "two"));
        for cut in 0..last.len() {
            home.write(FILE, format!("{first}{}", &last[..cut]));
            let is_whole = cut == last.len() - 1;
            assert_eq!(name_of(home.root(), "a").as_deref(), Some(if is_whole { "two" } else { "one" }), "byte {cut}");
            set(home.root(), "b", "three").unwrap();
            assert_eq!(id_of(home.root(), "three").as_deref(), Some("b"), "byte {cut}");
        }
    }

    #[test]
    fn a_name_is_kept_as_it_was_given_but_for_the_blanks_around_it() {
        let home = Workspace::empty();
        for name in ["\"quoted\"", "two\nlines", "日本", "a\u{0}b", &"x".repeat(100_000)] {
            assert_eq!(set(home.root(), "a", &format!("\t {name}\n")).unwrap(), name);
            assert_eq!(name_of(home.root(), "a").as_deref(), Some(name));
            assert_eq!(id_of(home.root(), name).as_deref(), Some("a"));
        }
        assert_eq!(home.read(FILE).lines().count(), 5);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let home = Workspace::empty();
        home.folder(FILE);
        let error = set(home.root(), "a", "one").unwrap_err().to_string();
        assert_eq!(error, format!("{}: Is a directory (os error 21)", path(home.root()).display()));
        assert_eq!(set(home.root(), "a", "\n").unwrap_err().to_string(), "Thread name cannot be empty.");
        assert_eq!(
            (all(home.root()), id_of(home.root(), "one"), name_of(home.root(), "a")),
            (BTreeMap::new(), None, None)
        );
    }
}
