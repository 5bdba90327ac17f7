//! A command outside of the sandbox is the one that was approved: no confined process changes it from the question to
//! the end.
//!
//! Confined commands that still run are paused, and continue when this is dropped. Programs that cannot be paused,
//! such as the user's editor, may still change the file that is to be run; so the file is compared before it is
//! started.
//!
//! Not here: how commands are paused (`pellucid_exec::pause`), and which files a command names (the engine's `reach`).

use std::fs::Metadata;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use pellucid_engine::approval::part::CommandParts;
use pellucid_engine::approval::reach;
use pellucid_exec::pause::SandboxPause;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::settings::SandboxPolicy;
use sha2::Digest;
use sha2::Sha256;

use crate::CallContext;
use crate::blocking;
use crate::situation::Situation;

/// Up to what size the content of a file is compared; of larger ones only size and time are.
const HASHED_MAX: u64 = 64 * 1024 * 1024;

/// Something outside of the sandbox: it is asked about, or runs. Dropping this lets the others continue.
#[derive(Debug)]
pub(crate) struct Outside {
    _pause: SandboxPause,
    seen: Vec<Seen>,
}

/// A file that is to be run, in the state that the user was asked about.
#[derive(Debug, Clone)]
struct Seen {
    /// The name of the file in the command.
    name: String,
    path: PathBuf,
    print: Option<Print>,
}

/// The fingerprint of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Print {
    Content([u8; 32]),
    Stamp { n_bytes: u64, modified: Option<SystemTime> },
}

impl Outside {
    /// For a command that is about to be asked about, or to run. The error is why it must not.
    pub(crate) async fn of_command(
        job: &CallContext,
        argv: &[String],
        parts: &CommandParts,
        cwd: &Path,
    ) -> Result<Self, String> {
        let named = reach::named_files(argv, parts).into_iter().map(|name| (cwd.join(&name), name));
        let named: Vec<(PathBuf, String)> = named.collect();
        let files = named.iter().map(|(path, _)| path.clone());
        let pause = pause(job, files.chain([cwd.to_owned()]).collect()).await?;
        let roots = job.situation.writable_roots.clone();
        let seen = blocking(move || Ok(see(named, &roots))).await.map_err(|error| error.to_string())?;
        Ok(Self { _pause: pause, seen })
    }

    /// The same for a patch that changes these files.
    pub(crate) async fn of_patch(job: &CallContext, paths: Vec<PathBuf>) -> Result<Self, String> {
        Ok(Self { _pause: pause(job, paths).await?, seen: Vec::new() })
    }

    /// Whether the files that are to be run are still what they were. The error is why the command must not run.
    pub(crate) async fn check(&self) -> Result<(), String> {
        let seen = self.seen.clone();
        let changed = blocking(move || Ok(seen.into_iter().find(|it| Print::of(&it.path) != it.print))).await;
        match changed.map_err(|error| error.to_string())? {
            None => Ok(()),
            Some(Seen { name, .. }) => Err(format!(
                "`{name}` changed after it was approved, so it was not run; ask again to run what it is now"
            )),
        }
    }
}

/// Pauses what could change these places, or those of the session.
async fn pause(job: &CallContext, places: Vec<PathBuf>) -> Result<SandboxPause, String> {
    let places = places.into_iter().chain(own_places(&job.situation));
    let places = places.map(|path| std::fs::canonicalize(&path).unwrap_or(path)).collect();
    let pause = SandboxPause::begin(places).await.map_err(|error| error.to_string())?;
    if pause.n_ended() > 0 {
        let message =
            format!("commands that were left running could not be paused and were ended: {}", pause.n_ended());
        job.desk.tell(EventMessage::Warning { message }).await;
    }
    Ok(pause)
}

/// The folders that a session works in. Temporary folders, which all sessions share, are left out: a program that is
/// run from there is named.
fn own_places(situation: &Situation) -> Vec<PathBuf> {
    let mut places = vec![situation.cwd.clone()];
    if let SandboxPolicy::WorkspaceWrite { writable_roots, .. } = &situation.sandbox_policy {
        places.extend(writable_roots.iter().map(|root| situation.cwd.join(root)));
    }
    places
}

/// The files among these that commands could write.
fn see(named: Vec<(PathBuf, String)>, roots: &[PathBuf]) -> Vec<Seen> {
    let roots: Vec<PathBuf> = roots.iter().filter_map(|root| std::fs::canonicalize(root).ok()).collect();
    let is_writable = |path: &Path| {
        let found = std::fs::canonicalize(path).or_else(|_| std::fs::canonicalize(path.parent().unwrap_or(path)));
        found.is_ok_and(|found| roots.iter().any(|root| found.starts_with(root)))
    };
    let writable = named.into_iter().filter(|(path, _)| is_writable(path));
    writable.map(|(path, name)| Seen { print: Print::of(&path), path, name }).collect()
}

impl Print {
    /// Of a file; none if there is no regular file that can be read.
    fn of(path: &Path) -> Option<Self> {
        let mut file = pellucid_files::open(path).ok()?;
        let metadata = file.metadata().ok()?;
        if metadata.len() > HASHED_MAX {
            return Some(Self::stamp(&metadata));
        }
        let mut content = Vec::new();
        file.by_ref().take(HASHED_MAX + 1).read_to_end(&mut content).ok()?;
        Some(Self::Content(Sha256::digest(&content).into()))
    }

    fn stamp(metadata: &Metadata) -> Self {
        Self::Stamp { n_bytes: metadata.len(), modified: metadata.modified().ok() }
    }
}
