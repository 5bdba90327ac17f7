//! Deleting sessions: the session file, its record, what is stored beside it, and long texts that no other session uses.
//!
//! A plan says what would be deleted, and nothing is deleted that is not in the plan. The hashes in `anchors.jsonl` stay:
//! they contain no text, and a file that only grows is what makes a cut record visible.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use crate::index;
use crate::index::SessionIndex;
use crate::lock;
use crate::memories::Memories;
use crate::memories::MemoriesError;
use crate::name;
use crate::names;
use crate::requests::parts::PartStore;
use crate::search;
use crate::side;
use crate::walk;
use crate::walk::SessionPlace;

/// What would be deleted.
#[derive(Debug, Default)]
pub struct DeletePlan {
    home: PathBuf,
    /// The sessions, with their files.
    pub sessions: Vec<DoomedSession>,
    /// The long texts that only these sessions use.
    pub parts: Vec<DoomedFile>,
    /// Long texts that stay, because another session uses them too.
    pub n_parts_kept: usize,
    names: Vec<String>,
}

/// A session that would be deleted.
#[derive(Debug)]
pub struct DoomedSession {
    /// The id of the session.
    pub id: String,
    /// The files of the session, its session file first.
    pub files: Vec<DoomedFile>,
    /// Keeps other processes from writing to the session meanwhile.
    _held: File,
}

/// A file that would be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoomedFile {
    /// The path of the file.
    pub path: PathBuf,
    /// How many bytes it has.
    pub bytes: u64,
}

/// Why a session cannot be deleted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeleteError {
    /// Another process writes to the session.
    #[error("the session {id} is in use by another process; end that process first")]
    InUse {
        /// The id of the session.
        id: String,
    },
    /// A file cannot be read or removed.
    #[error("{}: {source}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The extract of the session for the memories cannot be removed.
    #[error(transparent)]
    Memories(#[from] MemoriesError),
}

fn failed(path: &Path) -> impl Fn(io::Error) -> DeleteError {
    |source| DeleteError::File { path: path.to_owned(), source }
}

impl DeletePlan {
    /// Finds what belongs to these sessions alone: pairs of an id and the path of the session file. `beside` names folders
    /// and files that other crates keep for a session.
    ///
    /// # Errors
    /// When a session is in use, or a file cannot be read.
    pub fn new(
        home: &Path,
        sessions: &[(String, PathBuf)],
        beside: &dyn Fn(&str) -> Vec<PathBuf>,
    ) -> Result<Self, DeleteError> {
        let mut plan = Self { home: home.to_owned(), ..Self::default() };
        let mut own: BTreeSet<String> = BTreeSet::new();
        for (id, path) in sessions {
            let held = File::options().read(true).append(true).open(path).map_err(failed(path))?;
            if !lock::is_ours(&held).map_err(failed(path))? {
                return Err(DeleteError::InUse { id: id.clone() });
            }
            let mut files = Vec::new();
            add(path, &mut files)?;
            let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let Some(record) = name::requests_path(home, file_name) {
                own.extend(parts_of(&record)?);
                add(&record, &mut files)?;
            }
            add(&side::path(home, id), &mut files)?;
            add(&side::phase_path(home, id), &mut files)?;
            add(&name::inspect_index(home, id), &mut files)?;
            for path in beside(id) {
                add(&path, &mut files)?;
            }
            plan.sessions.push(DoomedSession { id: id.clone(), files, _held: held });
        }
        let ids: BTreeSet<&str> = plan.sessions.iter().map(|session| session.id.as_str()).collect();
        let others = used_by_others(home, &ids)?;
        let store = PartStore::new(home);
        for sha256 in &own {
            if others.contains(sha256) {
                plan.n_parts_kept += 1;
            } else {
                add(&store.path(sha256), &mut plan.parts)?;
            }
        }
        let named = names::all(home);
        plan.names = ids.iter().filter(|id| named.contains_key(**id)).map(|id| (*id).to_owned()).collect();
        Ok(plan)
    }

    /// How many bytes would be free.
    pub fn bytes(&self) -> u64 {
        let files = self.sessions.iter().flat_map(|session| &session.files);
        files.chain(&self.parts).map(|file| file.bytes).sum()
    }

    /// Deletes what the plan has. Session files go first: what is left after a crash is no session.
    ///
    /// # Errors
    /// When a file cannot be removed. What was removed before stays removed.
    pub fn carry_out(self) -> Result<(), DeleteError> {
        let ids: BTreeSet<&str> = self.sessions.iter().map(|session| session.id.as_str()).collect();
        for session in &self.sessions {
            for DoomedFile { path, .. } in &session.files {
                remove(path)?;
            }
            if let Some(folder) = session.files.last().and_then(|file| file.path.parent()) {
                // A folder that still has files stays.
                let _ = fs::remove_dir(folder);
            }
        }
        self.remove_parts(&ids)?;
        if !self.names.is_empty() {
            let path = names::path(&self.home);
            names::forget(&self.home, &self.names).map_err(failed(&path))?;
        }
        if let Some(mut memories) = Memories::open_existing(&self.home)? {
            memories.change(|change| ids.iter().try_for_each(|id| change.remove_extract(id)))?;
        }
        if self.home.join(index::FILE).exists() {
            SessionIndex::open(&self.home).refresh(std::time::Duration::ZERO, &mut |_| {});
        }
        Ok(())
    }

    /// Removes long texts. They are moved away first, and moved back if a session has begun to use one since the plan
    /// was made.
    fn remove_parts(&self, ids: &BTreeSet<&str>) -> Result<(), DeleteError> {
        let mut moved: BTreeMap<String, (PathBuf, PathBuf)> = BTreeMap::new();
        for DoomedFile { path, .. } in &self.parts {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let away = path.with_extension("deleted");
            match fs::rename(path, &away) {
                Ok(()) => drop(moved.insert(name.to_owned(), (path.clone(), away))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(path)(error)),
            }
        }
        let used = used_by_others(&self.home, ids);
        for (sha256, (path, away)) in moved {
            // Where the records cannot be read, no text is known to be unused.
            if used.as_ref().is_ok_and(|used| !used.contains(&sha256)) {
                remove(&away)?;
            } else {
                fs::rename(&away, &path).map_err(failed(&path))?;
            }
        }
        used.map(drop)
    }
}

/// Adds a file, or every file of a folder, if it exists.
fn add(path: &Path, files: &mut Vec<DoomedFile>) -> Result<(), DeleteError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(failed(path)(error)),
    };
    if !metadata.is_dir() {
        files.push(DoomedFile { path: path.to_owned(), bytes: metadata.len() });
        return Ok(());
    }
    let mut below = Vec::new();
    for entry in fs::read_dir(path).map_err(failed(path))? {
        below.push(entry.map_err(failed(path))?.path());
    }
    below.sort_unstable();
    below.iter().try_for_each(|path| add(path, files))
}

fn remove(path: &Path) -> Result<(), DeleteError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The long texts that records of other sessions refer to. Records whose session file is gone count too.
fn used_by_others(home: &Path, ids: &BTreeSet<&str>) -> Result<BTreeSet<String>, DeleteError> {
    let places = [SessionPlace::Live, SessionPlace::Archived];
    let sessions = places.into_iter().flat_map(|place| walk::walk(home, place));
    let of_sessions = sessions.filter_map(|session| name::requests_path(home, session.name()));
    let mut records: BTreeSet<PathBuf> = of_sessions.collect();
    records.extend(walk::records(home));
    let is_doomed = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let id = name.strip_prefix("requests-").map(|rest| format!("rollout-{rest}"));
        id.as_deref().and_then(name::session_id).is_some_and(|id| ids.contains(id))
    };
    let mut used = BTreeSet::new();
    for record in records.iter().filter(|path| !is_doomed(path)) {
        used.extend(parts_of(record)?);
    }
    Ok(used)
}

/// The names of the long texts that a record refers to.
fn parts_of(record: &Path) -> Result<BTreeSet<String>, DeleteError> {
    let mut file = match pellucid_files::open(record) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(failed(record)(error)),
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed(record))?;
    Ok(search::referred(&bytes).map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

#[cfg(test)]
mod tests {
    use pellucid_testkit::Workspace;

    use super::*;
    use crate::recorder::Recorder;

    fn id(n: usize) -> String {
        format!("019a0000-0000-7000-8000-{n:012}")
    }

    fn session(home: &Workspace, folder: &str, n: usize, parts: &[&str]) -> (String, PathBuf) {
        let stamp = "2026-01-02T03-04-05";
        let path = home.write(format!("{folder}/rollout-{stamp}-{}.jsonl", id(n)), "{}\n");
        let record: String =
            parts.iter().map(|part| format!("{{\"sha256\":\"{}\",\"bytes\":1}}\n", part.repeat(32))).collect();
        home.write(format!("requests/2026/01/02/requests-{stamp}-{}.jsonl", id(n)), record);
        for part in parts {
            home.write(format!("requests/parts/{part}/{}", part.repeat(32)), "text");
        }
        (id(n), path)
    }

    fn files(home: &Workspace) -> Vec<String> {
        let mut files = Vec::new();
        add(home.root(), &mut files).unwrap();
        files.iter().map(|it| it.path.strip_prefix(home.root()).unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_session_goes_with_all_that_no_other_session_uses() {
        let home = Workspace::empty();
        let one = session(&home, "sessions/2026/01/02", 1, &["aa", "bb"]);
        session(&home, "archived_sessions", 2, &["bb", "cc"]);
        home.write(format!("session_state/{}.json", id(1)), "{}");
        home.write(format!("session_state/{}.json", id(2)), "{}");
        home.write(format!("session_state/{}.phase.json", id(1)), "{}");
        home.write(format!("outputs/{}/call.txt", id(1)), "whole");
        home.write(format!("inspect/{}.idx", id(1)), "what the page knows");
        names::set(home.root(), &id(1), "mine").unwrap();
        names::set(home.root(), &id(2), "theirs").unwrap();
        let beside = |id: &str| vec![home.path(format!("outputs/{id}"))];
        let plan = DeletePlan::new(home.root(), &[one], &beside).unwrap();
        assert_eq!((plan.sessions[0].files.len(), plan.parts.len(), plan.n_parts_kept), (6, 1, 1));
        let before = files(&home);
        assert!(plan.bytes() > 0);
        drop(plan);
        assert_eq!(files(&home), before, "a plan deletes nothing");
        let path = home.path(format!("sessions/2026/01/02/rollout-2026-01-02T03-04-05-{}.jsonl", id(1)));
        DeletePlan::new(home.root(), &[(id(1), path)], &beside).unwrap().carry_out().unwrap();
        assert_eq!(
            files(&home),
            [
                format!("archived_sessions/rollout-2026-01-02T03-04-05-{}.jsonl", id(2)),
                format!("requests/2026/01/02/requests-2026-01-02T03-04-05-{}.jsonl", id(2)),
                format!("requests/parts/bb/{}", "bb".repeat(32)),
                format!("requests/parts/cc/{}", "cc".repeat(32)),
                "session_index.jsonl".to_owned(),
                format!("session_state/{}.json", id(2)),
            ]
        );
        assert_eq!(names::all(home.root()), [(id(2), "theirs".to_owned())].into());
    }

    #[test]
    fn texts_of_a_record_without_a_session_file_stay() {
        let home = Workspace::empty();
        let one = session(&home, "sessions/2026/01/02", 1, &["aa"]);
        let (_, other) = session(&home, "sessions/2026/01/02", 2, &["aa"]);
        fs::remove_file(other).unwrap();
        let plan = DeletePlan::new(home.root(), &[one], &|_| Vec::new()).unwrap();
        assert_eq!((plan.parts.len(), plan.n_parts_kept), (0, 1));
    }

    #[test]
    fn a_session_in_use_is_refused() {
        let home = Workspace::empty();
        let (id, path) = session(&home, "sessions/2026/01/02", 1, &[]);
        let writer = Recorder::hold(pellucid_files::RealDisk::shared(), path.clone()).unwrap();
        let refused = DeletePlan::new(home.root(), &[(id.clone(), path.clone())], &|_| Vec::new()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("the session {id} is in use by another process; end that process first")
        );
        drop(writer);
        assert!(DeletePlan::new(home.root(), &[(id, path)], &|_| Vec::new()).is_ok());
    }
}
