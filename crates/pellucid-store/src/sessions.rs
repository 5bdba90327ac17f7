//! Everything that can be done with stored sessions, wherever they are stored.
//!
//! Clients use [`Sessions`] and nothing below it. On one machine the sessions are the files of a home folder
//! ([`LocalSessions`]); a store for many machines would be another implementation.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

use crate::index::Progress;
use crate::index::SessionIndex;
use crate::name;
use crate::name::ARCHIVED;
use crate::name::SESSIONS;
use crate::names;
use crate::names::SessionNameError;
use crate::query::Page;
use crate::query::Query;
use crate::read;
use crate::read::ReadError;
use crate::read::RecordedSession;
use crate::summary;
use crate::summary::SessionSummary;
use crate::walk;
use crate::walk::SessionPlace;

/// The stored sessions of a home folder.
pub trait Sessions {
    /// A page of sessions.
    fn list(&mut self, query: &Query) -> Page;

    /// The summary of a session, archived or not.
    ///
    /// # Errors
    /// If no session has this id.
    fn summary(&self, id: &str) -> Result<SessionSummary, StoreError>;

    /// A session with everything that was recorded of it.
    ///
    /// # Errors
    /// If no session has this id, or its file cannot be read.
    fn read(&self, id: &str) -> Result<StoredSession, StoreError>;

    /// Names a session; returns the stored name, without surrounding white space.
    ///
    /// # Errors
    /// If no session has this id, or the name is blank or cannot be written.
    fn rename(&mut self, id: &str, name: &str) -> Result<String, StoreError>;

    /// Puts a session away; gives where it is now.
    ///
    /// # Errors
    /// If no session with this id is in use, or its file cannot be moved.
    fn archive(&mut self, id: &str) -> Result<PathBuf, StoreError>;

    /// Takes a session back into use; gives where it is now.
    ///
    /// # Errors
    /// If no archived session has this id, or its file cannot be moved.
    fn unarchive(&mut self, id: &str) -> Result<PathBuf, StoreError>;
}

/// A session with everything that was recorded of it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSession {
    /// The entry of the session in lists.
    pub summary: SessionSummary,
    /// The records of the session.
    pub loaded: RecordedSession,
}

/// Why something cannot be done with a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No session has this id.
    #[error("no session with the id {id} {}", where_text(*place))]
    NotFound {
        /// The id that was looked for.
        id: String,
        /// The folder that was searched; absent for both folders.
        place: Option<SessionPlace>,
    },
    /// The session file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The name cannot be set.
    #[error(transparent)]
    Name(#[from] SessionNameError),
    /// The session file cannot be moved.
    #[error("{} cannot be moved to {}: {source}", from.display(), to.display())]
    Move {
        /// The path before the move.
        from: PathBuf,
        /// The path after the move.
        to: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

fn where_text(place: Option<SessionPlace>) -> &'static str {
    match place {
        None => "is stored",
        Some(SessionPlace::Live) => "is in use",
        Some(SessionPlace::Archived) => "is archived",
    }
}

/// The sessions of a home folder.
pub struct LocalSessions<'a> {
    home: PathBuf,
    index: Option<SessionIndex>,
    /// How old what lists say may be.
    age_max: Duration,
    progress: Box<dyn FnMut(Progress) + 'a>,
}

impl std::fmt::Debug for LocalSessions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalSessions")
            .field("home", &self.home)
            .field("age_max", &self.age_max)
            .finish_non_exhaustive()
    }
}

impl<'a> LocalSessions<'a> {
    /// The sessions of this home folder. Every list is as new as the files.
    pub fn new(home: &Path) -> Self {
        Self { home: home.to_owned(), index: None, age_max: Duration::ZERO, progress: Box::new(|_| {}) }
    }

    /// Lets lists be as old as this, for programs that give many of them.
    #[must_use]
    pub fn with_age_max(self, age_max: Duration) -> Self {
        Self { age_max, ..self }
    }

    /// Calls `progress` during long work.
    #[must_use]
    pub fn with_progress(self, progress: impl FnMut(Progress) + 'a) -> Self {
        Self { progress: Box::new(progress), ..self }
    }

    /// Warnings for the user about the index. Each warning is returned once.
    pub fn take_warnings(&mut self) -> Vec<String> {
        self.index.as_mut().map(SessionIndex::take_warnings).unwrap_or_default()
    }

    /// The file of a session, archived or not.
    ///
    /// # Errors
    /// If no session has this id.
    pub fn file(&self, id: &str) -> Result<(PathBuf, SessionPlace), StoreError> {
        let found = [SessionPlace::Live, SessionPlace::Archived]
            .into_iter()
            .find_map(|place| Some((walk::by_id(&self.home, place, id)?, place)));
        found.ok_or_else(|| StoreError::NotFound { id: id.to_owned(), place: None })
    }

    fn file_in(&self, id: &str, place: SessionPlace) -> Result<PathBuf, StoreError> {
        let found = walk::by_id(&self.home, place, id);
        found.ok_or_else(|| StoreError::NotFound { id: id.to_owned(), place: Some(place) })
    }

    fn move_file(from: PathBuf, to: PathBuf) -> Result<PathBuf, StoreError> {
        let moved = || {
            if let Some(folder) = to.parent() {
                pellucid_files::make_private_folder(folder)?;
            }
            fs::rename(&from, &to)
        };
        match moved() {
            Ok(()) => Ok(to),
            Err(source) => Err(StoreError::Move { from, to, source }),
        }
    }
}

impl Sessions for LocalSessions<'_> {
    fn list(&mut self, query: &Query) -> Page {
        let home = &self.home;
        let index = self.index.get_or_insert_with(|| SessionIndex::open(home));
        index.refresh(self.age_max, &mut *self.progress);
        index.list(query)
    }

    fn summary(&self, id: &str) -> Result<SessionSummary, StoreError> {
        let (path, place) = self.file(id)?;
        let mut summary = summary::of_file(&self.home, &path, place).map_err(|error| ReadError::io(&path, error))?;
        summary.name = names::name_of(&self.home, id);
        Ok(summary)
    }

    fn read(&self, id: &str) -> Result<StoredSession, StoreError> {
        let summary = self.summary(id)?;
        let loaded = read::read(&self.home.join(&summary.path))?;
        Ok(StoredSession { summary, loaded })
    }

    fn rename(&mut self, id: &str, name: &str) -> Result<String, StoreError> {
        self.file(id)?;
        Ok(names::set(&self.home, id, name)?)
    }

    fn archive(&mut self, id: &str) -> Result<PathBuf, StoreError> {
        let from = self.file_in(id, SessionPlace::Live)?;
        let to = self.home.join(ARCHIVED).join(from.file_name().unwrap_or_default());
        Self::move_file(from, to)
    }

    fn unarchive(&mut self, id: &str) -> Result<PathBuf, StoreError> {
        let from = self.file_in(id, SessionPlace::Archived)?;
        let file_name = from.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        let folder = name::day_folder(file_name).unwrap_or_default();
        let to = self.home.join(SESSIONS).join(folder).join(file_name);
        let to = Self::move_file(from, to)?;
        // The session was used just now. Without a new time it would be listed at its old place.
        let _ = fs::File::options().append(true).open(&to).and_then(|file| file.set_modified(SystemTime::now()));
        Ok(to)
    }
}

#[cfg(test)]
mod tests {
    use pellucid_testkit::Workspace;

    use super::*;

    const ID: &str = "019a0000-0000-7000-8000-000000000001";
    const DAY: &str = "sessions/2026/01/02";

    fn home() -> Workspace {
        let home = Workspace::empty();
        let meta = format!(
            r#"{{"timestamp":"t","type":"session_meta","payload":{{"id":"{ID}","timestamp":"2026-01-02T03:04:05Z","cwd":"/p","originator":"o","cli_version":"1"}}}}"#
        );
        let said = r#"{"timestamp":"t","type":"event_msg","payload":{"type":"user_message","message":"hi"}}"#;
        home.write(format!("{DAY}/rollout-2026-01-02T03-04-05-{ID}.jsonl"), format!("{meta}\n{said}\n"));
        home
    }

    #[test]
    fn a_session_is_put_away_and_taken_back() {
        let home = home();
        let mut sessions = LocalSessions::new(home.root());
        let to = sessions.archive(ID).unwrap();
        assert_eq!(to, home.path(format!("archived_sessions/rollout-2026-01-02T03-04-05-{ID}.jsonl")));
        let message = sessions.archive(ID).unwrap_err().to_string();
        assert_eq!(message, format!("no session with the id {ID} is in use"));
        assert!(sessions.summary(ID).unwrap().is_archived);
        let query = Query { limit: 10, ..Query::default() };
        assert_eq!(sessions.list(&query).sessions.len(), 0);
        assert_eq!(sessions.list(&Query { archived: true, ..query.clone() }).sessions.len(), 1);
        assert_eq!(sessions.unarchive(ID).unwrap().parent(), Some(home.path(DAY).as_path()));
        assert_eq!(sessions.list(&query).sessions.len(), 1);
        assert!(sessions.unarchive(ID).is_err());
    }

    #[test]
    fn a_session_is_found_by_its_name() {
        let home = home();
        let mut sessions = LocalSessions::new(home.root());
        assert_eq!(sessions.rename(ID, " mine ").unwrap(), "mine");
        assert_eq!(names::id_of(home.root(), "mine").as_deref(), Some(ID));
        let listed = sessions.list(&Query { limit: 1, search: Some("MIN".into()), ..Query::default() });
        assert_eq!(listed.sessions[0].name.as_deref(), Some("mine"));
        assert_eq!(sessions.read(ID).unwrap().loaded.records.len(), 2);
        assert!(sessions.rename("019a0000-0000-7000-8000-000000000002", "x").is_err());
    }

    #[test]
    fn what_cannot_be_done_says_which_session_and_why() {
        let home = home();
        let mut sessions = LocalSessions::new(home.root());
        let other = "019a0000-0000-7000-8000-000000000009";
        let stored = format!("no session with the id {other} is stored");
        assert_eq!(sessions.summary(other).unwrap_err().to_string(), stored);
        assert_eq!(sessions.read(other).unwrap_err().to_string(), stored);
        assert_eq!(sessions.rename(other, "x").unwrap_err().to_string(), stored);
        assert_eq!(
            sessions.archive(other).unwrap_err().to_string(),
            format!("no session with the id {other} is in use")
        );
        assert_eq!(sessions.unarchive(ID).unwrap_err().to_string(), format!("no session with the id {ID} is archived"));
        assert_eq!(sessions.rename(ID, " ").unwrap_err().to_string(), "Thread name cannot be empty.");
        home.write("archived_sessions", "in the way");
        let name = format!("rollout-2026-01-02T03-04-05-{ID}.jsonl");
        let from = home.path(format!("{DAY}/{name}"));
        let to = home.path(format!("archived_sessions/{name}"));
        assert_eq!(
            sessions.archive(ID).unwrap_err().to_string(),
            format!("{} cannot be moved to {}: File exists (os error 17)", from.display(), to.display())
        );
        assert!(from.exists());
    }

    #[test]
    fn a_session_whose_file_is_damaged_is_listed_by_its_name_and_read_as_far_as_it_goes() {
        let home = home();
        let path = home.path(format!("{DAY}/rollout-2026-01-02T03-04-05-{ID}.jsonl"));
        let text = fs::read_to_string(&path).unwrap();
        let said = text.lines().nth(1).unwrap();
        fs::write(&path, format!("{{\"torn\n{said}\n")).unwrap();
        let mut sessions = LocalSessions::new(home.root());
        let listed = sessions.list(&Query { limit: 9, ..Query::default() });
        assert_eq!(listed.sessions.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), [ID]);
        let stored = sessions.read(ID).unwrap();
        assert_eq!((stored.loaded.records.len(), stored.loaded.set_aside), (1, vec![1]));
        assert_eq!(sessions.take_warnings(), Vec::<String>::new());
        fs::write(&path, "").unwrap();
        assert_eq!(sessions.read(ID).unwrap_err().to_string(), format!("the session file {} is empty", path.display()));
    }

    #[test]
    fn long_work_is_told_and_lists_are_as_old_as_they_may_be() {
        let home = home();
        let mut sessions = LocalSessions::new(home.root()).with_age_max(Duration::from_secs(3600));
        let query = Query { limit: 9, ..Query::default() };
        assert_eq!(sessions.list(&query).sessions.len(), 1);
        sessions.archive(ID).unwrap();
        assert_eq!(sessions.list(&query).sessions.len(), 1, "the list may be old");
        assert_eq!(LocalSessions::new(home.root()).list(&query).sessions.len(), 0);
        let mut told = Vec::new();
        LocalSessions::new(home.root()).with_progress(|it| told.push(it)).list(&query);
        assert_eq!(told, [], "a short list is made at once");
    }
}
