//! What patches did to files, kept beside the session so that it can be undone exactly.
//!
//! A session file holds the text of each patch, not the files that the patch found. Here are the missing bytes: for every
//! file of an applied patch the part of its text that the patch took away, with digests of the whole text before and after.
//! One file for each session, `edits/SESSION.jsonl` in the home folder, readable by the user alone. An undo and a redo are
//! lines of the same file, so what is undone now follows from reading it.
//!
//! Not here: which edits are undone, and writing files.

use std::collections::BTreeSet;
use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use pellucid_files::Disk;
use pellucid_patch::FoundText;
use pellucid_patch::TextChange;
use serde::Deserialize;
use serde::Serialize;
use sha2::Digest;
use sha2::Sha256;

use crate::outputs::file_name;

/// The folder in the home folder.
const FOLDER: &str = "edits";

/// How many bytes the file of a session may have. Beyond that, edits are noted without the text that was taken away.
const BYTES_MAX: u64 = 256 << 20;

/// The edits of a session.
#[derive(Debug)]
pub struct EditLog {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// Held while a line is written, so that lines of calls that run together do not mix.
    writing: Mutex<()>,
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EditLine {
    /// A patch was applied.
    Patch(PatchEdits),
    /// Patches were undone.
    Undo(UndoneEdits),
    /// The last undo was undone.
    Redo,
}

/// The files of one applied patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchEdits {
    /// The turn that applied the patch.
    pub turn: String,
    /// The call that applied the patch.
    pub call: String,
    /// The files that the patch wrote or removed.
    pub files: Vec<FileEdit>,
}

/// One file of an applied patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEdit {
    /// The absolute path, as the patch named the file.
    pub path: PathBuf,
    /// The path that was written, with links followed.
    pub target: PathBuf,
    /// What the patch found.
    pub before: EarlierText,
    /// Whether the file that the patch found may be run as a program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_executable: bool,
    /// The digest of the text after the patch; absent if the patch left no file.
    pub after: Option<String>,
}

/// What a patch found at a path, as far as it cannot be had from the text after the patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "was", rename_all = "snake_case")]
pub enum EarlierText {
    /// There was no file.
    Nothing,
    /// There was a file with this text.
    Whole {
        /// All of the text.
        text: String,
    },
    /// There was a file that differed between its beginning and its end.
    Between {
        /// How many bytes at the beginning are the same before and after.
        start: usize,
        /// How many bytes at the end are the same before and after.
        end: usize,
        /// The text between these, before the patch.
        text: String,
        /// The digest of the whole text before the patch.
        sha256: String,
    },
    /// There was something that is not kept: no text, or more than is kept of a session.
    NotKept,
}

/// An undo, with what is needed to redo it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoneEdits {
    /// The calls whose patches were undone.
    pub calls: BTreeSet<String>,
    /// The files that the undo wrote or removed.
    pub files: Vec<UndoneFile>,
    /// How many turns were removed from the conversation.
    #[serde(default)]
    pub turns: usize,
}

/// A file that an undo changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoneFile {
    /// The absolute path, as the patch named the file.
    pub path: PathBuf,
    /// The path that was written, with links followed.
    pub target: PathBuf,
    /// The text that the undo replaced; absent if there was no file.
    pub replaced: Option<String>,
    /// The text that the undo wrote; absent if it removed the file.
    pub written: Option<String>,
    /// Whether a file that appears by an undo or a redo may be run as a program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_executable: bool,
}

impl EditLog {
    /// The edits of the session with this id, on the disk of its session file.
    pub fn of(disk: Arc<dyn Disk>, home: &Path, session: &str) -> Arc<Self> {
        let path = home.join(FOLDER).join(format!("{}.jsonl", file_name(session)));
        Arc::new(Self { disk, path, writing: Mutex::new(()) })
    }

    /// The file of the edits, whether it exists or not.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every line that can be read, in order; a line that was interrupted is left out.
    ///
    /// # Errors
    /// If there is a file and it cannot be read.
    pub fn read(&self) -> io::Result<Vec<EditLine>> {
        let file = match pellucid_files::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        // The limit leaves room for the last line.
        let lines = BufReader::new(file.take(BYTES_MAX.saturating_mul(2))).split(b'\n');
        lines.filter_map(|line| line.map(|line| serde_json::from_slice(&line).ok()).transpose()).collect()
    }

    /// Adds a line.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&self, line: &EditLine) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = serde_json::to_vec(line)?;
        let kept = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        let is_over = kept.saturating_add(bytes.len() as u64) >= BYTES_MAX;
        if let (true, EditLine::Patch(edits)) = (is_over, line) {
            bytes = serde_json::to_vec(&EditLine::Patch(edits.without_texts()))?;
        }
        bytes.push(b'\n');
        pellucid_files::add_line(&*self.disk, &self.path, &bytes)
    }

    /// Notes an applied patch. The patch was applied even if this fails; then the error is a warning for the user.
    ///
    /// # Errors
    /// The patch cannot be undone.
    pub(crate) fn applied(&self, turn: &str, call: &str, changes: &[TextChange]) -> Result<(), String> {
        let files = changes.iter().map(FileEdit::of).collect();
        let edits = PatchEdits { turn: turn.to_owned(), call: call.to_owned(), files };
        let path = self.path.display();
        self.add(&EditLine::Patch(edits)).map_err(|error| format!("this patch cannot be undone: {path}: {error}"))
    }
}

impl PatchEdits {
    fn without_texts(&self) -> Self {
        let mut edits = self.clone();
        for file in &mut edits.files {
            if file.before != EarlierText::Nothing {
                file.before = EarlierText::NotKept;
            }
        }
        edits
    }
}

impl FileEdit {
    fn of(change: &TextChange) -> Self {
        let after = change.after.as_deref();
        let before = match (&change.before, after) {
            (FoundText::Nothing, _) => EarlierText::Nothing,
            (FoundText::NotText, _) => EarlierText::NotKept,
            (FoundText::Text(text), Some(after)) => EarlierText::between(text, after),
            (FoundText::Text(text), None) => EarlierText::Whole { text: text.as_ref().clone() },
        };
        let (path, target) = (change.path.clone(), change.target.clone());
        Self { path, target, before, was_executable: change.was_executable, after: after.map(|text| digest(text)) }
    }
}

impl EarlierText {
    /// The part of a text that is not in the text after.
    fn between(before: &str, after: &str) -> Self {
        let mut start = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
        while !(before.is_char_boundary(start) && after.is_char_boundary(start)) {
            start -= 1;
        }
        let (rest, new_rest) = (&before[start..], &after[start..]);
        let mut end = rest.bytes().rev().zip(new_rest.bytes().rev()).take_while(|(one, other)| one == other).count();
        while !(rest.is_char_boundary(rest.len() - end) && new_rest.is_char_boundary(new_rest.len() - end)) {
            end -= 1;
        }
        Self::Between { start, end, text: rest[..rest.len() - end].to_owned(), sha256: digest(before) }
    }

    /// The whole text before a patch, from the text after it. The outer absence means that the text is not kept or does
    /// not have its digest, the inner one that there was no file.
    pub fn restored(&self, after: Option<&str>) -> Option<Option<String>> {
        match self {
            Self::Nothing => Some(None),
            Self::Whole { text } => Some(Some(text.clone())),
            Self::NotKept => None,
            Self::Between { start, end, text, sha256 } => {
                let after = after?;
                let tail = after.len().checked_sub(*end).filter(|tail| tail >= start)?;
                let whole = [after.get(..*start)?, text, after.get(tail..)?].concat();
                (digest(&whole) == *sha256).then_some(Some(whole))
            }
        }
    }
}

/// The SHA-256 of a text in hexadecimal digits.
pub fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use pellucid_files::RealDisk;
    use pellucid_testkit::DiskFault;
    use pellucid_testkit::FaultyDisk;

    use super::*;

    #[track_caller]
    fn check_restored(before: &str, after: &str, kept: &str) {
        let earlier = EarlierText::between(before, after);
        let EarlierText::Between { text, .. } = &earlier else { panic!("{earlier:?}") };
        assert_eq!(text, kept);
        assert_eq!(earlier.restored(Some(after)), Some(Some(before.to_owned())));
        assert_eq!(earlier.restored(None), None);
    }

    #[test]
    fn the_text_before_is_what_a_patch_took_away_within_the_text_after() {
        check_restored("one two three", "one 2 three", "two");
        check_restored("same", "same", "");
        check_restored("aaa", "aa", "a");
        check_restored("", "new", "");
        check_restored("old", "", "old");
        check_restored("xé", "xè", "é");
        check_restored("é", "\u{a9}", "é");
        let earlier = EarlierText::between("one two three", "one 2 three");
        assert_eq!(earlier.restored(Some("one 2 threesome")), None);
    }

    #[test]
    fn lines_are_there_again_and_an_interrupted_one_is_left_out() {
        let home = tempfile::tempdir().unwrap();
        let log = EditLog::of(RealDisk::shared(), home.path(), "s");
        assert_eq!(log.read().unwrap(), []);
        let change = TextChange {
            path: "/w/a".into(),
            target: "/w/a".into(),
            before: FoundText::Nothing,
            was_executable: false,
            after: Some(Arc::new("x".to_owned())),
        };
        log.applied("t", "c", &[change]).unwrap();
        log.add(&EditLine::Redo).unwrap();
        let path = home.path().join("edits/s.jsonl");
        let text = pellucid_files::read_text(&path, 1 << 20).unwrap();
        pellucid_files::write_private(&path, format!("{text}{{\"type\":\"re").as_bytes()).unwrap();
        let lines = EditLog::of(RealDisk::shared(), home.path(), "s").read().unwrap();
        let file = FileEdit {
            path: "/w/a".into(),
            target: "/w/a".into(),
            before: EarlierText::Nothing,
            was_executable: false,
            after: Some(digest("x")),
        };
        let patch = PatchEdits { turn: "t".to_owned(), call: "c".to_owned(), files: vec![file] };
        assert_eq!(lines, [EditLine::Patch(patch), EditLine::Redo]);
    }

    #[test]
    fn a_line_that_a_full_disk_cut_does_not_cost_the_next_one() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("edits/s.jsonl");
        // The file is opened and half of the line is written.
        let full = EditLog::of(FaultyDisk::new(1, DiskFault::Full), home.path(), "s");
        let expected = format!("this patch cannot be undone: {}: no storage space", path.display());
        assert_eq!(full.applied("t", "c", &[]), Err(expected));
        let log = EditLog::of(RealDisk::shared(), home.path(), "s");
        log.add(&EditLine::Redo).unwrap();
        assert_eq!(log.read().unwrap(), [EditLine::Redo]);
    }

    #[cfg(unix)]
    #[test]
    fn edits_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        EditLog::of(RealDisk::shared(), home.path(), "s").add(&EditLine::Redo).unwrap();
        let mode = |path: &str| std::fs::metadata(home.path().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("edits"), mode("edits/s.jsonl")), (0o700, 0o600));
    }
}
