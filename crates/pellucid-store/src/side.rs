//! Values that Pellucid stores about a session beside its file: one JSON file for each session.
//!
//! Session files belong to a format that other programs read and write, so nothing of ours goes
//! into them. What is here can be lost without losing the conversation.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Map;
use serde_json::Value;

/// How long the file beside a session may be.
const BYTES_MAX: u64 = 256 << 20;

/// The folder in the home folder.
const FOLDER: &str = "session_state";

/// The path of the file beside the session with this id.
pub fn path(home: &Path, id: &str) -> PathBuf {
    home.join(FOLDER).join(format!("{id}.json"))
}

/// The path of the file with the phase of the session with this id. Other programs may write it while the session runs, so
/// it is not among the values that the session writes as a whole.
pub(crate) fn phase_path(home: &Path, id: &str) -> PathBuf {
    home.join(FOLDER).join(format!("{id}.phase.json"))
}

/// Small values that are kept beside a session.
#[derive(Debug, Clone, Default)]
pub struct SideFile {
    path: Option<PathBuf>,
    content: Map<String, Value>,
    failure: Option<String>,
    is_failure_taken: bool,
}

impl SideFile {
    /// Reads the values of the session with this id. An unreadable file counts as a missing one.
    pub fn open(home: &Path, id: &str) -> Self {
        let path = path(home, id);
        let content = pellucid_files::read(&path, BYTES_MAX).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self { path: Some(path), content: content.unwrap_or_default(), ..Self::default() }
    }

    /// The same, to be looked at: nothing is written.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { path: None, ..self }
    }

    /// The value under a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.content.get(name)
    }

    /// Keeps a value under a name. If the file cannot be written, the value is kept for this process only, and
    /// [`SideFile::take_failure`] says so.
    pub fn put(&mut self, name: &str, value: Value) {
        if self.content.get(name) == Some(&value) {
            return;
        }
        self.content.insert(name.to_owned(), value);
        if let Some(path) = &self.path
            && let Err(error) = self.write(path)
        {
            self.failure = Some(format!("{}: {error}", path.display()));
        }
    }

    /// Why values are not kept, the first time that this is asked after a failure.
    pub fn take_failure(&mut self) -> Option<String> {
        let failure = self.failure.take().filter(|_| !self.is_failure_taken)?;
        self.is_failure_taken = true;
        Some(failure)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            pellucid_files::make_private_folder(folder)?;
        }
        pellucid_files::write_private(path, &serde_json::to_vec_pretty(&self.content)?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_kept_is_there_again() {
        let home = tempfile::tempdir().unwrap();
        let mut side = SideFile::open(home.path(), "a");
        assert_eq!(side.get("memory"), None);
        side.put("memory", json!({ "n": 1 }));
        side.put("reinject", json!(2));
        assert_eq!(SideFile::open(home.path(), "a").get("memory"), Some(&json!({ "n": 1 })));
        assert_eq!(SideFile::open(home.path(), "b").get("memory"), None);
        let mut looked_at = SideFile::open(home.path(), "a").read_only();
        looked_at.put("reinject", json!(3));
        assert_eq!(SideFile::open(home.path(), "a").get("reinject"), Some(&json!(2)));
    }

    #[test]
    fn values_that_cannot_be_written_are_reported_once() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(FOLDER), "in the way").unwrap();
        let mut side = SideFile::open(home.path(), "a");
        assert_eq!(side.take_failure(), None);
        side.put("x", json!(1));
        let failure = format!("{}: File exists (os error 17)", path(home.path(), "a").display());
        let failed = side.take_failure();
        assert_eq!((side.get("x"), failed), (Some(&json!(1)), Some(failure)));
        side.put("x", json!(2));
        assert_eq!(side.take_failure(), None);
    }

    #[test]
    fn a_broken_file_is_as_if_it_were_not_there() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join(FOLDER)).unwrap();
        std::fs::write(home.path().join(FOLDER).join("a.json"), "{").unwrap();
        let mut side = SideFile::open(home.path(), "a");
        assert_eq!(side.get("x"), None);
        side.put("x", json!(1));
        assert_eq!(SideFile::open(home.path(), "a").get("x"), Some(&json!(1)));
    }
}
