//! `capsule open`, and sessions in capsules that other commands look at.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::SystemTime;

use jiff::Timestamp;
use pellucid_answers::capsule::Capsule;
use pellucid_answers::capsule::script;
use pellucid_files::Folder;
use pellucid_files::make_private_folder;
use pellucid_store::opened;
use serde_json::Value;
use tempfile::TempDir;

use crate::args::capsule::CapsuleArgs;
use crate::args::capsule::CapsuleCommand;
use crate::args::capsule::CapsuleOpenArgs;
use crate::args::session_ref::SessionList;
use crate::args::session_ref::SessionRef;
use crate::print;
use crate::start::ProgramFailure;
use crate::stored;

/// How long a capsule may be.
const BYTES_MAX: u64 = 1 << 30;

/// The file with the answers of the model, for `exec --script`.
const SCRIPT: &str = "script.jsonl";

/// How the name of a session in a capsule begins.
pub const PREFIX: &str = "file:";

pub fn run(args: &CapsuleArgs) -> Result<ExitCode, ProgramFailure> {
    let CapsuleCommand::Open(args) = &args.command;
    match open(args) {
        Ok(code) => Ok(code),
        Err(refusal) => Ok(refusal.show()),
    }
}

fn open(args: &CapsuleOpenArgs) -> Result<ExitCode, ProgramFailure> {
    let capsule = read(&args.file)?;
    if fs::read_dir(&args.to).is_ok_and(|mut entries| entries.next().is_some()) {
        let why = "the folder is not empty; name one that is empty or missing";
        return Err(ProgramFailure::usage(format!("{}: {why}", args.to.display())));
    }
    unpack(&capsule, &args.to)?;
    print::out(&format!(
        "{} has the session {}; next: PELLUCID_HOME={} pellucid replay {}\n",
        args.to.display(),
        capsule.session,
        args.to.display(),
        capsule.session
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Capsule, ProgramFailure> {
    let refused = |why: &dyn std::fmt::Display| ProgramFailure::usage(format!("{}: {why}", path.display()));
    let html = pellucid_files::read(path, BYTES_MAX).map_err(|error| refused(&error))?;
    Capsule::from_html(&html).map_err(|error| refused(&error))
}

/// Writes the files of a capsule into a folder, which is made if it is missing.
fn unpack(capsule: &Capsule, to: &Path) -> Result<(), ProgramFailure> {
    let failed = |error: std::io::Error| ProgramFailure::new(format!("{}: {error}", to.display()));
    make_private_folder(to).map_err(failed)?;
    // First of all, so that no part of a capsule is ever in a home folder that looks like one's own.
    opened::mark(to, &capsule.session).map_err(failed)?;
    let folder = Folder::open(to, None).map_err(failed)?;
    for (path, text) in &capsule.files {
        folder.write_private(Path::new(path), text.as_bytes()).map_err(failed)?;
    }
    let session = capsule.session_path().and_then(|path| Some((path, capsule.files.get(path)?)));
    if let Some((path, time)) = session.and_then(|(path, text)| Some((path, last_time(text)?))) {
        let file = fs::File::options().append(true).open(to.join(path)).map_err(failed)?;
        file.set_modified(time).map_err(failed)?;
    }
    let script = session.map(|(_, text)| script(text));
    for (name, text) in [(SCRIPT, script.unwrap_or_default()), ("config.toml", capsule.config())] {
        if !text.is_empty() {
            folder.write_private(Path::new(name), text.as_bytes()).map_err(failed)?;
        }
    }
    Ok(())
}

/// When the last line of a session was written. Lists and `sessions show` take it from the time of the file.
fn last_time(session: &str) -> Option<SystemTime> {
    let line: Value = serde_json::from_str(session.lines().next_back()?).ok()?;
    let time: Timestamp = line["timestamp"].as_str()?.parse().ok()?;
    Some(time.into())
}

/// A capsule in a private folder, which is removed when this is dropped.
#[derive(Debug)]
pub struct UnpackedCapsule {
    _folder: TempDir,
    /// The session in the folder.
    pub found: LookedAt,
}

/// Unpacks a capsule that is being made, to ask about it what is asked about any session.
///
/// # Errors
/// When the folder for temporary files cannot be written.
pub fn unpacked(capsule: &Capsule) -> Result<UnpackedCapsule, ProgramFailure> {
    let (folder, found) = unpack_aside(capsule).map_err(|error| {
        ProgramFailure::new(format!("the session cannot be unpacked in {}: {error}", std::env::temp_dir().display()))
    })?;
    Ok(UnpackedCapsule { _folder: folder, found })
}

fn unpack_aside(capsule: &Capsule) -> std::io::Result<(TempDir, LookedAt)> {
    let folder = tempfile::Builder::new().prefix("pellucid-capsule-").tempdir()?;
    unpack(capsule, folder.path()).map_err(|failure| std::io::Error::other(failure.text().to_owned()))?;
    let path = capsule.session_path().map(|path| folder.path().join(path)).unwrap_or_default();
    let found = LookedAt { home: folder.path().to_owned(), id: capsule.session.clone(), path };
    Ok((folder, found))
}

/// A session that a command looks at: a stored one, or the one in a capsule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookedAt {
    /// The home folder that has the session and its record.
    pub home: PathBuf,
    /// The id of the session.
    pub id: String,
    /// The session file.
    pub path: PathBuf,
}

/// A capsule that was opened to look at it.
struct OpenedCapsule {
    /// The path of the capsule, as typed.
    file: PathBuf,
    folder: TempDir,
    found: LookedAt,
}

/// The capsules that this process has opened. Their folders are removed when the command ends.
static OPENED: Mutex<Vec<OpenedCapsule>> = Mutex::new(Vec::new());

/// Removes what was unpacked to look at capsules.
pub fn close_all() {
    let opened = std::mem::take(&mut *OPENED.lock().unwrap_or_else(PoisonError::into_inner));
    for capsule in opened {
        let path = capsule.folder.path().to_owned();
        if let Err(error) = capsule.folder.close() {
            crate::style::line(&format!("warning: {} is left behind: {error}", path.display()));
        }
    }
}

/// The session that a text names for a command that changes nothing: by its id, its name, the beginning of its id, or as
/// `file:` and the path of a capsule.
///
/// # Errors
/// When no session is called so, several are, or the file is not a capsule.
pub fn look(home: &Path, text: &str) -> Result<LookedAt, ProgramFailure> {
    if let Some(path) = text.strip_prefix(PREFIX) {
        return look_into(Path::new(path));
    }
    let (id, path) = stored::session(home, text)?;
    Ok(LookedAt { home: home.to_owned(), id, path })
}

/// The session that arguments mean for a command that changes nothing, as [`look`] finds it.
///
/// # Errors
/// When no session is called so, several are, none has worked in this folder, or the file is not a capsule.
pub fn meant(home: &Path, of: &SessionRef) -> Result<LookedAt, ProgramFailure> {
    match &of.session {
        Some(text) => look(home, text),
        None => stored::last(home).map(|(id, path)| LookedAt { home: home.to_owned(), id, path }),
    }
}

/// The sessions that arguments mean for a command that changes nothing, each once.
///
/// # Errors
/// When no session is called so, several are, none has worked in this folder, or a file is not a capsule.
pub fn all_meant(home: &Path, of: &SessionList) -> Result<Vec<LookedAt>, ProgramFailure> {
    if of.last {
        return Ok(vec![meant(home, &SessionRef { session: None, last: true })?]);
    }
    let mut found: Vec<LookedAt> = Vec::new();
    for text in &of.sessions {
        let one = look(home, text)?;
        if !found.contains(&one) {
            found.push(one);
        }
    }
    Ok(found)
}

/// Whether a text names the session in a capsule.
pub fn is_named(text: &str) -> bool {
    text.starts_with(PREFIX)
}

fn look_into(file: &Path) -> Result<LookedAt, ProgramFailure> {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = opened.iter().find(|known| known.file == file) {
        return Ok(known.found.clone());
    }
    let capsule = read(file)?;
    let failed = |error: std::io::Error| {
        let place = std::env::temp_dir();
        ProgramFailure::new(format!("{} cannot be unpacked in {}: {error}", file.display(), place.display()))
    };
    let (folder, found) = unpack_aside(&capsule).map_err(failed)?;
    opened.push(OpenedCapsule { file: file.to_owned(), folder, found: found.clone() });
    Ok(found)
}

/// Why a session in a capsule cannot be continued, if a text names one.
pub fn refuse_next(text: &str) -> Result<(), ProgramFailure> {
    let Some(path) = text.strip_prefix(PREFIX) else {
        return Ok(());
    };
    Err(ProgramFailure::usage(format!(
        "{path}: a capsule is only looked at, so it has no next request\nhint: `pellucid capsule open {path} --to DIR`, then \
         `PELLUCID_HOME=DIR`"
    )))
}
