//! Sessions of other agents (`--from`): a home folder is made of them for as long as the command runs.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;

use pellucid_store::reconstructed;
use pellucid_store::reconstructed::WantedSessions;
use tempfile::TempDir;

use crate::args::from::FromArgs;
use crate::args::session_ref::SessionList;
use crate::args::session_ref::SessionRef;
use crate::prices;
use crate::start::ProgramFailure;
use crate::style;

/// What is said below every answer about sessions of another agent.
pub const RECONSTRUCTED: &str =
    "reconstructed from the file of another agent: tokens are those that the file has, sizes are estimated";

/// How many sentences about what is missing are printed.
const N_MISSING_MAX: usize = 10;

/// The home folders that this process has made. They are removed when the command ends.
static MADE: Mutex<Vec<TempDir>> = Mutex::new(Vec::new());

/// Removes the home folders that were made.
pub fn close_all() {
    let made = std::mem::take(&mut *MADE.lock().unwrap_or_else(PoisonError::into_inner));
    for folder in made {
        let path = folder.path().to_owned();
        if let Err(error) = folder.close() {
            style::line(&format!("warning: {} is left behind: {error}", path.display()));
        }
    }
}

impl FromArgs {
    /// The home folder that has the sessions: the user's own, or one with those of another agent.
    ///
    /// # Errors
    /// When the folder of `--from` cannot be read, has no sessions, or they cannot be written aside.
    pub fn home(&self, home: &Path, wanted: WantedSessions<'_>) -> Result<PathBuf, ProgramFailure> {
        match &self.from {
            Some(from) => made(home, from, wanted),
            None => Ok(home.to_owned()),
        }
    }

    /// The home folder that has the session that is meant.
    ///
    /// # Errors
    /// As [`FromArgs::home`].
    pub fn home_of(&self, home: &Path, of: &SessionRef) -> Result<PathBuf, ProgramFailure> {
        match &of.session {
            Some(text) => self.home(home, WantedSessions::Named(text)),
            None => self.home(home, WantedSessions::LastIn(&here())),
        }
    }

    /// The home folder that has the sessions that are meant.
    ///
    /// # Errors
    /// As [`FromArgs::home`].
    pub fn home_of_all(&self, home: &Path, of: &SessionList) -> Result<PathBuf, ProgramFailure> {
        match (&of.sessions[..], of.last) {
            ([], false) => self.home(home, WantedSessions::All),
            ([], true) => self.home(home, WantedSessions::LastIn(&here())),
            ([text], _) => self.home(home, WantedSessions::Named(text)),
            _ => self.home(home, WantedSessions::All),
        }
    }

    /// The line below an answer for people; empty for the user's own sessions.
    pub fn note(&self) -> String {
        if self.from.is_some() { format!("{RECONSTRUCTED}\n") } else { String::new() }
    }
}

fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

fn made(own: &Path, from: &Path, wanted: WantedSessions<'_>) -> Result<PathBuf, ProgramFailure> {
    let failed = |error: std::io::Error| ProgramFailure::usage(format!("--from {}: {error}", from.display()));
    let folder = tempfile::Builder::new().prefix("pellucid-from-").tempdir().map_err(failed)?;
    let home = folder.path().to_owned();
    MADE.lock().unwrap_or_else(PoisonError::into_inner).push(folder);
    let made = reconstructed::reconstruct(from, wanted, &home).map_err(failed)?;
    prices::keep_for(own, &home)?;
    for missing in made.missing.iter().take(N_MISSING_MAX) {
        style::line(&format!("warning: --from: {missing}"));
    }
    if made.missing.len() > N_MISSING_MAX {
        style::line(&format!("warning: --from: {} more warnings", made.missing.len() - N_MISSING_MAX));
    }
    if made.n_sessions == 0 {
        return Err(ProgramFailure::usage(format!(
            "--from {}: no session of Claude Code or the Codex CLI is there\nhint: Claude Code keeps sessions in \
             ~/.claude/projects, the Codex CLI in ~/.codex/sessions",
            from.display()
        )));
    }
    Ok(home)
}
