//! `history.jsonl`: the messages that were sent from a terminal, one on each line.

use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::Deserialize;
use serde::Serialize;

/// The name of the file in the home folder.
const FILE: &str = "history.jsonl";

/// A longer file is not read.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct HistoryLine {
    session_id: String,
    /// Seconds since 1970.
    ts: i64,
    text: String,
}

/// The file of messages, as it was when the client began.
#[derive(Debug)]
pub struct HistoryFile {
    path: PathBuf,
    /// The texts at the start, oldest first; read when one is asked for.
    texts: Option<Vec<Option<String>>>,
    is_kept: bool,
    bytes_max: Option<u64>,
}

impl HistoryFile {
    /// The file of a home folder. `is_kept` is false if messages are not to be written.
    pub fn new(home: &Path, is_kept: bool, bytes_max: Option<u64>) -> Self {
        Self { path: home.join(FILE), texts: None, is_kept, bytes_max }
    }

    /// How many messages the file has.
    pub fn n_stored(&self) -> usize {
        let bytes = pellucid_files::read(&self.path, BYTES_MAX).unwrap_or_default();
        bytes.iter().filter(|byte| **byte == b'\n').count()
    }

    /// A message by its place, 0 for the oldest. Absent if the line cannot be read.
    pub fn text(&mut self, at: usize) -> Option<String> {
        let path = &self.path;
        let texts = self.texts.get_or_insert_with(|| {
            let bytes = pellucid_files::read(path, BYTES_MAX).unwrap_or_default();
            let text = |line: &[u8]| serde_json::from_slice::<HistoryLine>(line).ok().map(|line| line.text);
            bytes.split(|byte| *byte == b'\n').map(text).collect()
        });
        texts.get(at)?.clone()
    }

    /// Appends a message.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, session_id: &str, text: &str) -> std::io::Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        // What is recalled by its place was there at the start.
        self.text(0);
        let line =
            HistoryLine { session_id: session_id.to_owned(), ts: Timestamp::now().as_second(), text: text.to_owned() };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        let mut file = pellucid_files::append_private(&self.path)?;
        file.lock()?;
        file.write_all(&bytes)?;
        self.trim(bytes.len())
    }

    /// Drops the oldest lines of a file that is longer than it may be.
    fn trim(&self, newest: usize) -> std::io::Result<()> {
        let Some(bytes_max) = self.bytes_max else {
            return Ok(());
        };
        let bytes = pellucid_files::read(&self.path, BYTES_MAX)?;
        let n_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if n_bytes <= bytes_max {
            return Ok(());
        }
        let kept_max = usize::try_from(bytes_max / 10 * 8).unwrap_or(usize::MAX).max(newest);
        let mut rest = bytes.as_slice();
        while rest.len() > kept_max {
            let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
            rest = &rest[end..];
        }
        pellucid_files::write_private(&self.path, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_appended_and_found_by_their_place_at_the_start() {
        let home = tempfile::tempdir().unwrap();
        let mut history = HistoryFile::new(home.path(), true, None);
        assert_eq!(history.n_stored(), 0);
        history.add("s", "one\ntwo").unwrap();
        history.add("s", "three").unwrap();
        let mut later = HistoryFile::new(home.path(), true, None);
        assert_eq!(later.n_stored(), 2);
        assert_eq!(later.text(0).as_deref(), Some("one\ntwo"));
        later.add("t", "four").unwrap();
        assert_eq!((later.text(1).as_deref(), later.text(2)), (Some("three"), None));
    }

    #[test]
    fn nothing_is_kept_if_that_is_switched_off_and_old_lines_go() {
        let home = tempfile::tempdir().unwrap();
        HistoryFile::new(home.path(), false, None).add("s", "x").unwrap();
        assert!(!home.path().join(FILE).exists());
        let mut history = HistoryFile::new(home.path(), true, Some(200));
        for n in 0..20 {
            history.add("s", &format!("message {n}")).unwrap();
        }
        let mut later = HistoryFile::new(home.path(), true, None);
        let n = later.n_stored();
        assert!((1..5).contains(&n), "{n}");
        assert_eq!(later.text(n - 1).as_deref(), Some("message 19"));
    }
}
