//! Forgets a session: takes away what came of it in every scope, and keeps it from being read again.
//!
//! What an agent merged from several sessions cannot be taken apart, so the merged files of a scope go as a whole. The next
//! merging makes them again from the sessions that are left.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::memories::job;
use pellucid_protocol::memories::JobKind;
use pellucid_store::memories::Memories;
use pellucid_store::memories::MemoriesError;
use pellucid_store::memories::MemoriesTransaction;
use serde::Serialize;

use super::folder;
use super::ledger;
use super::scope::MemoriesOf;

/// What is taken away with a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Forgetting {
    /// The id of the session.
    pub session: String,
    /// Whether an extract of the session was kept.
    pub has_extract: bool,
    /// The files that are removed.
    pub files: Vec<PathBuf>,
    /// The scopes whose files are merged again from the sessions that are left: `all`, or the top folder of a project.
    pub merged_again: Vec<String>,
    /// Whether the session was forgotten before.
    pub was_forgotten: bool,
}

/// Why a session cannot be forgotten.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] MemoriesError),
    /// A process merges memories and would write what is to be forgotten.
    #[error("another process is merging the memories of {scope}; try again when it is done")]
    Merging {
        /// The scope, as the database names it.
        scope: String,
    },
    /// A file cannot be read or removed.
    #[error("{folder}: {error}", folder = .folder.display())]
    Files {
        /// The folder of the files.
        folder: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

/// Takes away what came of a session. With `is_dry_run` nothing is changed, and the same is returned.
///
/// # Errors
/// When something cannot be removed, or a process merges what is to be removed. Nothing is forgotten then.
pub fn forget(home: &Path, session: &str, is_dry_run: bool) -> Result<Forgetting, ForgetError> {
    if is_dry_run && Memories::open_existing(home)?.is_none() {
        let mut plan = Forgetting::of(session);
        add_scope(&mut plan, &MemoriesOf::all(home), false)?;
        return Ok(plan);
    }
    // No process can begin to merge while the transaction is open, so nothing comes back between the files and the rows.
    Memories::open(home)?.try_change(|change| forget_now(change, home, session, is_dry_run))
}

impl Forgetting {
    fn of(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            has_extract: false,
            files: Vec::new(),
            merged_again: Vec::new(),
            was_forgotten: false,
        }
    }
}

fn forget_now(
    change: &MemoriesTransaction<'_>,
    home: &Path,
    session: &str,
    is_dry_run: bool,
) -> Result<Forgetting, ForgetError> {
    let now = ledger::now();
    let extract = change.extract(session)?;
    let merged: BTreeSet<String> = change.scopes_with(session)?.into_iter().collect();
    let mut keys = merged.clone();
    keys.insert(job::ALL.to_owned());
    keys.extend(extract.iter().map(|it| it.project.clone()));
    let was_forgotten = change.is_forgotten(session)?;
    let mut plan = Forgetting { has_extract: extract.is_some(), was_forgotten, ..Forgetting::of(session) };
    let mut doomed = Vec::new();
    for key in &keys {
        let scope = MemoriesOf::keyed(home, key);
        let names = add_scope(&mut plan, &scope, extract.is_some() || merged.contains(key))?;
        if change.job(JobKind::Consolidation, key)?.is_some_and(|job| job.is_held(now)) {
            return Err(ForgetError::Merging { scope: key.clone() });
        }
        doomed.push((scope, names));
    }
    if is_dry_run {
        return Ok(plan);
    }
    for (scope, names) in &doomed {
        let failed = |error| ForgetError::Files { folder: scope.folder.clone(), error };
        if !names.is_empty() {
            folder::remove(&scope.folder, names).map_err(failed)?;
        }
        if plan.merged_again.contains(&scope.key) {
            change.remove_merged(&scope.key)?;
            ledger::merge_again(change, &scope.key, extract.as_ref().map_or(0, |it| it.updated_at))?;
        }
    }
    change.forget(session, now)?;
    Ok(plan)
}

/// Adds the files of a scope that have something of the session, and returns their names in the folder.
fn add_scope(plan: &mut Forgetting, scope: &MemoriesOf, is_known: bool) -> Result<Vec<PathBuf>, ForgetError> {
    let failed = |error| ForgetError::Files { folder: scope.folder.clone(), error };
    let names = folder::made_of(&scope.folder, &plan.session).map_err(failed)?;
    let has_summary = names.iter().any(|name| name.parent().is_some_and(|it| !it.as_os_str().is_empty()));
    // Files that another program merged from other sessions stay.
    let names = if is_known || has_summary { names } else { Vec::new() };
    plan.files.extend(names.iter().map(|name| scope.folder.join(name)));
    if !names.is_empty() {
        plan.merged_again.push(scope.key.clone());
    }
    Ok(names)
}
