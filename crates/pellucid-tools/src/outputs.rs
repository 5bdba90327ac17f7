//! The whole output of commands, in files beside the session.
//!
//! A session file and the model get a long output with its middle cut out. Here all of it is kept, one file for each call:
//! `outputs/SESSION/CALL.txt` in the home folder, readable by the user alone. A file holds at most 64 MiB and a session
//! 1 GiB; where that is less than a command wrote, an empty file `CALL.cut` is beside its text. Short outputs are in
//! the session file as they are and get no file.

use std::fs;
use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use pellucid_exec::listener::Listening;
use pellucid_exec::listener::OutputListener;
use sha2::Digest;
use sha2::Sha256;

/// The folder in the home folder.
const FOLDER: &str = "outputs";

/// The ends of the names of files: a whole text, and the mark of one that is not whole.
const WHOLE: &str = ".txt";
const CUT: &str = ".cut";

/// From how many bytes an output gets a file. What is shorter is cut only by limits that are very small.
const BYTES_MIN: usize = 4 << 10;

/// How many bytes of an output are kept, and of all of a session.
const CALL_BYTES_MAX: u64 = 64 << 20;
const SESSION_BYTES_MAX: u64 = 1 << 30;

/// How long a call's id may be to be a file's name.
const NAME_BYTES_MAX: usize = 100;

/// The outputs of a session.
#[derive(Debug)]
pub struct Outputs {
    folder: PathBuf,
    /// How many bytes may still be kept. Known once something is.
    room: OnceLock<AtomicU64>,
}

impl Outputs {
    /// The outputs of the session with this id.
    pub fn of(home: &Path, session: &str) -> Arc<Self> {
        Arc::new(Self { folder: home.join(FOLDER).join(file_name(session)), room: OnceLock::new() })
    }

    /// The folder of the outputs, which may not exist.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps what a call's command writes. An output that is cut to fewer than `limit` bytes is kept too, however short.
    pub(crate) fn listen(self: &Arc<Self>, call_id: &str, limit: usize) -> Listening {
        Some(Arc::new(Output {
            outputs: Arc::clone(self),
            call: file_name(call_id),
            from: limit.min(BYTES_MIN),
            state: Mutex::new(State::Short(Vec::new())),
        }))
    }

    /// The outputs that are kept, by their calls: how many bytes, and whether those are all.
    ///
    /// # Errors
    /// If the folder exists and cannot be read.
    pub fn list(&self) -> io::Result<Vec<KeptOutput>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut all = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(call) = name.strip_suffix(WHOLE) else { continue };
            let is_whole = !self.path(call, CUT).exists();
            let bytes = entry.metadata()?.len();
            all.push(KeptOutput { call: call.to_owned(), bytes, is_whole });
        }
        all.sort_by(|one, other| one.call.cmp(&other.call));
        Ok(all)
    }

    /// The output of a call, to be read.
    ///
    /// # Errors
    /// If no output of this call is kept.
    pub fn open(&self, call_id: &str) -> io::Result<File> {
        pellucid_files::open(&self.path(&file_name(call_id), WHOLE))
    }

    /// Whether all of what a call wrote is kept, if something is.
    pub fn is_whole(&self, call_id: &str) -> bool {
        !self.path(&file_name(call_id), CUT).exists()
    }

    fn path(&self, call: &str, end: &str) -> PathBuf {
        self.folder.join(format!("{call}{end}"))
    }

    /// Takes up to so many bytes of what may still be kept.
    fn take_room(&self, wanted: u64) -> u64 {
        let room = self.room.get_or_init(|| {
            let kept: u64 = self.list().unwrap_or_default().iter().map(|it| it.bytes).sum();
            AtomicU64::new(SESSION_BYTES_MAX.saturating_sub(kept))
        });
        let taken = room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(wanted)));
        taken.unwrap_or_default().min(wanted)
    }
}

/// An output that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptOutput {
    /// The call's id, as its file is called.
    pub call: String,
    /// How many bytes are kept.
    pub bytes: u64,
    /// Whether the whole output is kept.
    pub is_whole: bool,
}

/// The output of one call while it comes.
#[derive(Debug)]
struct Output {
    outputs: Arc<Outputs>,
    call: String,
    from: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// Too short for a file so far.
    Short(Vec<u8>),
    /// In a file that has so many bytes.
    Kept(File, u64),
    /// Nothing more is kept.
    Full,
}

impl Output {
    fn keep(&self, state: &mut State, bytes: &[u8]) -> io::Result<()> {
        match state {
            State::Short(begin) => {
                begin.extend_from_slice(bytes);
                if begin.len() < self.from {
                    return Ok(());
                }
                pellucid_files::make_private_folder(&self.outputs.folder)?;
                // A call that is repeated, as after an approval, begins again.
                let file = pellucid_files::create_or_empty_private(&self.outputs.path(&self.call, WHOLE))?;
                let begin = std::mem::take(begin);
                *state = State::Kept(file, 0);
                self.keep(state, &begin)
            }
            State::Kept(file, n_bytes) => {
                let wanted = (bytes.len() as u64).min(CALL_BYTES_MAX - *n_bytes);
                let granted = self.outputs.take_room(wanted);
                file.write_all(&bytes[..usize::try_from(granted).unwrap_or(usize::MAX).min(bytes.len())])?;
                *n_bytes += granted;
                if granted < bytes.len() as u64 {
                    pellucid_files::create_or_empty_private(&self.outputs.path(&self.call, CUT))?;
                    *state = State::Full;
                }
                Ok(())
            }
            State::Full => Ok(()),
        }
    }
}

impl OutputListener for Output {
    fn wrote(&self, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.keep(&mut state, bytes) {
            tracing::warn!(%error, call = self.call, "the whole output of a call is not kept");
            *state = State::Full;
        }
    }
}

/// A file name for an id: the id itself if it is a valid name, else a digest of it.
pub(crate) fn file_name(id: &str) -> String {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-');
    if !id.is_empty() && id.len() <= NAME_BYTES_MAX && id.bytes().all(is_plain) {
        return id.to_owned();
    }
    Sha256::digest(id).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn text(outputs: &Outputs, call: &str) -> String {
        let mut text = String::new();
        outputs.open(call).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_long_output_is_kept_whole_and_a_short_one_is_not() {
        let home = tempfile::tempdir().unwrap();
        let outputs = Outputs::of(home.path(), "s");
        let long = outputs.listen("call/1", usize::MAX).unwrap();
        for _ in 0..3 {
            long.wrote(&[b'x'; 3000]);
        }
        outputs.listen("short", usize::MAX).unwrap().wrote(b"short");
        outputs.listen("limited", 3).unwrap().wrote(b"short");
        assert_eq!(text(&outputs, "call/1"), "x".repeat(9000));
        assert_eq!(text(&outputs, "limited"), "short");
        assert!(outputs.open("short").is_err());
        let kept: Vec<_> = outputs.list().unwrap().into_iter().map(|it| (it.bytes, it.is_whole)).collect();
        assert_eq!(kept, [(9000, true), (5, true)]);
    }

    #[test]
    fn a_session_has_so_much_room() {
        let home = tempfile::tempdir().unwrap();
        let outputs = Outputs::of(home.path(), "s");
        outputs.room.set(AtomicU64::new(5000)).unwrap();
        let output = outputs.listen("a", usize::MAX).unwrap();
        output.wrote(&[b'x'; 4500]);
        output.wrote(&[b'y'; 4500]);
        output.wrote(b"more");
        assert_eq!(text(&outputs, "a"), "x".repeat(4500) + &"y".repeat(500));
        assert_eq!(outputs.list().unwrap(), [KeptOutput { call: "a".to_owned(), bytes: 5000, is_whole: false }]);
    }

    #[cfg(unix)]
    #[test]
    fn outputs_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let outputs = Outputs::of(home.path(), "s");
        outputs.listen("a", 1).unwrap().wrote(b"x");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&outputs.folder), mode(&outputs.path("a", WHOLE))), (0o700, 0o600));
    }
}
