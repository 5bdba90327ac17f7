//! Texts that were written in a terminal and not sent, one file for each client, in the folder `drafts` of the home.
//!
//! A client holds a lock beside its file as long as it runs. A file whose lock is free was left by a client that ended with
//! text in its composer, by whatever end; the next client in the same folder takes the file over and offers the text.

use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use pellucid_agent::identity::new_turn_id;
use pellucid_config::Config;
use pellucid_tui::composer::draft::Clip;
use pellucid_tui::composer::kept;
use pellucid_tui::composer::kept::KeptDraft;
use serde_json::Value;
use serde_json::json;

/// The folder of the files in the home.
const FOLDER: &str = "drafts";

/// Of a longer text only the beginning is kept.
const TEXT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// A longer file is not read. JSON writes some characters with six bytes.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// So many files of ended clients stay; older ones are removed.
const FILES_MAX: usize = 32;

/// The file of a client's draft.
#[derive(Debug, Default)]
pub struct DraftFile {
    /// Absent if nothing is kept.
    place: Option<DraftPlace>,
    /// Held while there is a file.
    lock: Option<DraftLock>,
    has_failed: bool,
}

/// Where a draft is kept, and for which folder.
#[derive(Debug)]
struct DraftPlace {
    /// The path of the file.
    file: PathBuf,
    /// The folder that the client works in.
    cwd: PathBuf,
}

/// A lock that is free once its holder drops it, also if a process that was just started still has the file open.
#[derive(Debug)]
struct DraftLock(File);

impl Drop for DraftLock {
    fn drop(&mut self) {
        // If this fails, the lock is free when the file is closed.
        let _ = self.0.unlock();
    }
}

/// A file that an ended client left.
#[derive(Debug)]
struct LeftDraft {
    file: PathBuf,
    cwd: PathBuf,
    lock: DraftLock,
    draft: KeptDraft,
}

impl DraftFile {
    /// The file for a client, and the newest text that an ended client left in the same folder. Nothing is kept, and nothing
    /// offered, if messages are not kept.
    pub fn open(config: &Config) -> (Self, Option<KeptDraft>) {
        if !config.terminal.keeps_messages {
            return (Self::default(), None);
        }
        Self::open_in(&config.folders.home.join(FOLDER), &config.folders.cwd)
    }

    fn open_in(folder: &Path, cwd: &Path) -> (Self, Option<KeptDraft>) {
        let mut left = left_in(folder);
        left.sort_by_key(|left| std::cmp::Reverse(left.draft.at));
        let newest = left.iter().position(|left| left.cwd == cwd).map(|at| left.remove(at));
        for old in left.iter().skip(FILES_MAX) {
            remove(&old.file);
        }
        let cwd = cwd.to_owned();
        match newest {
            Some(LeftDraft { file, lock, draft, .. }) => {
                let place = DraftPlace { file, cwd };
                (Self { place: Some(place), lock: Some(lock), has_failed: false }, Some(draft))
            }
            None => {
                let file = folder.join(format!("{}.json", new_turn_id()));
                (Self { place: Some(DraftPlace { file, cwd }), ..Self::default() }, None)
            }
        }
    }

    /// Keeps a text in place of the one before. Nothing is kept of an empty text.
    ///
    /// # Errors
    /// The file cannot be written. Only the first failure is an error.
    pub fn keep(&mut self, clip: &Clip) -> Result<(), String> {
        let Some(place) = &self.place else { return Ok(()) };
        let kept = if clip.text.is_empty() {
            self.lock = None;
            remove(&place.file);
            Ok(())
        } else {
            write(place, &mut self.lock, clip)
        };
        let is_first = !std::mem::replace(&mut self.has_failed, kept.is_err());
        kept.or_else(|error| match is_first {
            true => Err(format!("the draft cannot be kept in {}: {error}", place.file.display())),
            false => Ok(()),
        })
    }
}

fn write(place: &DraftPlace, lock: &mut Option<DraftLock>, clip: &Clip) -> io::Result<()> {
    if lock.is_none() {
        pellucid_files::make_private_folder(place.file.parent().unwrap_or(Path::new(".")))?;
        let file = pellucid_files::append_private(&lock_of(&place.file))?;
        file.lock()?;
        *lock = Some(DraftLock(file));
    }
    let n_bytes = clip.expanded().len() + clip.text.len();
    let is_cut = n_bytes > TEXT_BYTES_MAX;
    let draft = if is_cut { kept::to_json(&beginning(clip)) } else { kept::to_json(clip) };
    let line = json!({ "folder": place.cwd, "ts": Timestamp::now().as_second(), "is_cut": is_cut, "draft": draft });
    pellucid_files::write_private(&place.file, &serde_json::to_vec(&line)?)
}

/// The beginning of a text, with pastes in full.
fn beginning(clip: &Clip) -> Clip {
    let mut text = clip.expanded();
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    Clip::plain(text)
}

fn lock_of(file: &Path) -> PathBuf {
    file.with_extension("lock")
}

/// Removes a file with its lock. A file that cannot be removed is offered once more, and nothing is lost.
fn remove(file: &Path) {
    let _ = std::fs::remove_file(file);
    let _ = std::fs::remove_file(lock_of(file));
}

/// The files that no running client holds.
fn left_in(folder: &Path) -> Vec<LeftDraft> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    files.filter(|path| path.extension().is_some_and(|it| it == "json")).filter_map(left).collect()
}

fn left(file: PathBuf) -> Option<LeftDraft> {
    // Before the text is read, so that no running client changes it.
    let lock = pellucid_files::append_private(&lock_of(&file)).ok()?;
    if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let lock = DraftLock(lock);
    let bytes = pellucid_files::read(&file, FILE_BYTES_MAX).ok()?;
    let line: Value = serde_json::from_slice(&bytes).ok()?;
    let draft = KeptDraft {
        clip: kept::from_json(line.get("draft")?).filter(|clip| !clip.text.is_empty())?,
        at: line.get("ts").and_then(Value::as_i64).unwrap_or_default(),
        is_cut: line.get("is_cut").and_then(Value::as_bool).unwrap_or_default(),
    };
    Some(LeftDraft { cwd: PathBuf::from(line.get("folder")?.as_str()?), file, lock, draft })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn text_of(kept: Option<KeptDraft>) -> Option<String> {
        kept.map(|kept| kept.clip.text)
    }

    #[test]
    fn a_text_that_was_not_sent_is_offered_in_its_folder_after_the_client_has_ended() {
        let home = tempfile::tempdir().unwrap();
        let (folder, work) = (home.path().join(FOLDER), Path::new("/work"));
        let (mut one, kept) = DraftFile::open_in(&folder, work);
        assert_eq!(text_of(kept), None);
        one.keep(&Clip::plain("first\ndraft")).unwrap();
        let file = one.place.as_ref().unwrap().file.clone();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
        assert_eq!(text_of(DraftFile::open_in(&folder, work).1), None, "the client runs");
        drop(one);
        assert_eq!(text_of(DraftFile::open_in(&folder, Path::new("/other")).1), None);
        let (mut two, kept) = DraftFile::open_in(&folder, work);
        assert_eq!(text_of(kept), Some("first\ndraft".to_owned()));
        assert_eq!(text_of(DraftFile::open_in(&folder, work).1), None, "the second client has it");
        two.keep(&Clip::default()).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "what was sent is not kept");
    }

    #[test]
    fn two_clients_in_a_folder_do_not_overwrite_each_other() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(FOLDER);
        let (mut one, _) = DraftFile::open_in(&folder, Path::new("/w"));
        let (mut two, _) = DraftFile::open_in(&folder, Path::new("/w"));
        one.keep(&Clip::plain("one")).unwrap();
        two.keep(&Clip::plain("two")).unwrap();
        drop((one, two));
        let (three, first) = DraftFile::open_in(&folder, Path::new("/w"));
        let (four, second) = DraftFile::open_in(&folder, Path::new("/w"));
        let mut offered = [text_of(first), text_of(second)];
        offered.sort();
        assert_eq!(offered, [Some("one".to_owned()), Some("two".to_owned())]);
        drop((three, four));
    }

    #[test]
    fn a_long_text_is_cut_and_a_damaged_file_is_passed_over() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(FOLDER);
        let (mut file, _) = DraftFile::open_in(&folder, Path::new("/w"));
        file.keep(&Clip::plain("é".repeat(TEXT_BYTES_MAX))).unwrap();
        drop(file);
        let (file, kept) = DraftFile::open_in(&folder, Path::new("/w"));
        let kept = kept.unwrap();
        assert_eq!((kept.clip.text.len(), kept.is_cut), (TEXT_BYTES_MAX, true));
        std::fs::write(&file.place.as_ref().unwrap().file, "{\"folder\": \"/w\", \"dra").unwrap();
        drop(file);
        assert_eq!(DraftFile::open_in(&folder, Path::new("/w")).1, None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_reported_once() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(FOLDER);
        std::fs::write(&folder, "a file in its place").unwrap();
        let (mut file, _) = DraftFile::open_in(&folder, Path::new("/w"));
        assert!(file.keep(&Clip::plain("x")).is_err());
        assert_eq!(file.keep(&Clip::plain("xy")), Ok(()));
    }
}
