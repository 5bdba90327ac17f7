//! Memories of past sessions: extracts and the jobs that make them, in an SQLite database in the home folder.
//!
//! The reference keeps the same in its own database, which it alone writes (`index` says why). Here several processes
//! share one: a change reads and writes in one transaction, so that two of them never take the same job. What is lost
//! with the database is made again from the session files, at the price of asking a model again.
//!
//! Not here: when a job may be taken and what becomes of it (`pellucid-engine`).

use std::path::Path;
use std::time::Duration;

use pellucid_protocol::memories::Extract;
use pellucid_protocol::memories::JobKind;
use pellucid_protocol::memories::JobStatus;
use pellucid_protocol::memories::MemoriesJob;
use rusqlite::Connection;
use rusqlite::OpenFlags;
use rusqlite::OptionalExtension;
use rusqlite::Row;
use rusqlite::Transaction;
use rusqlite::TransactionBehavior;
use rusqlite::params;

/// The database's name in the home folder.
pub const FILE: &str = "pellucid_memories.sqlite";

/// The version of the tables.
const VERSION: i64 = 2;

/// How each version is made from the one before, beginning with an empty database.
const STEPS: [&str; VERSION as usize] = [include_str!("memories/tables.sql"), include_str!("memories/tables_2.sql")];

/// How long a lock of another process is waited for. No turn waits for this work.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

const JOB_COLUMNS: &str = "kind, key, status, worker, token, started_at, finished_at, lease_until, retry_at, \
    retries_left, last_error, input, done";

const EXTRACT_COLUMNS: &str = "session, updated_at, made_at, cwd, project, raw_memory, rollout_summary, rollout_slug";

/// Why memories cannot be read or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoriesError {
    /// The database was written by a later version of this program.
    #[error("{file} was written by a later version of this program")]
    Later {
        /// The name of the file.
        file: &'static str,
    },
    /// The database cannot be used.
    #[error("{FILE} cannot be used: {0}")]
    Database(#[from] rusqlite::Error),
}

/// Extracts of sessions, and jobs.
#[derive(Debug)]
pub struct Memories {
    connection: Connection,
}

/// A change under way. What it reads stays true until it is over.
#[derive(Debug)]
pub struct MemoriesTransaction<'a> {
    transaction: Transaction<'a>,
}

impl Memories {
    /// Opens the memories of a home folder. The database is created if it does not exist.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn open(home: &Path) -> Result<Self, MemoriesError> {
        let path = home.join(FILE);
        // An existing file is not changed; other errors show when the database is opened.
        let _ = pellucid_files::create_private(&path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let Some(steps) = usize::try_from(version).ok().and_then(|version| STEPS.get(version..)) else {
            return Err(MemoriesError::Later { file: FILE });
        };
        for step in steps {
            transaction.execute_batch(step)?;
        }
        if !steps.is_empty() {
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()?;
        Ok(Self { connection })
    }

    /// Opens the memories of a home folder; `None` if it has none.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub fn open_existing(home: &Path) -> Result<Option<Self>, MemoriesError> {
        if home.join(FILE).exists() { Self::open(home).map(Some) } else { Ok(None) }
    }

    /// All jobs, by kind and key.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn jobs(&self) -> Result<Vec<MemoriesJob>, MemoriesError> {
        let text = format!("SELECT {JOB_COLUMNS} FROM jobs ORDER BY kind, key");
        let mut statement = self.connection.prepare(&text)?;
        Ok(statement.query_map([], job)?.collect::<Result<_, _>>()?)
    }

    /// The extracts of the sessions that changed last, in one project or in all.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn newest(&self, project: Option<&str>, n_max: usize) -> Result<Vec<Extract>, MemoriesError> {
        let rest = "WHERE ?1 IS NULL OR project = ?1 ORDER BY updated_at DESC, session DESC LIMIT ?2";
        let mut statement = self.connection.prepare(&format!("SELECT {EXTRACT_COLUMNS} FROM extracts {rest}"))?;
        let n_max = i64::try_from(n_max).unwrap_or(i64::MAX);
        Ok(statement.query_map(params![project, n_max], extract)?.collect::<Result<_, _>>()?)
    }

    /// The sessions that were merged into the files of a scope, with the time of their last change, the newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn merged(&self, scope: &str) -> Result<Vec<(String, i64)>, MemoriesError> {
        let text = "SELECT session, updated_at FROM merged WHERE scope = ?1 ORDER BY updated_at DESC, session DESC";
        let mut statement = self.connection.prepare(text)?;
        Ok(statement.query_map([scope], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
    }

    /// The ids of all sessions of which something is kept.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn sessions(&self) -> Result<Vec<String>, MemoriesError> {
        let text = "SELECT session FROM extracts UNION SELECT session FROM merged ORDER BY session";
        let mut statement = self.connection.prepare(text)?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// Changes something in one step: all of it is kept, or nothing.
    ///
    /// # Errors
    /// When the database cannot be read or written.
    pub fn change<T>(
        &mut self,
        change: impl FnOnce(&MemoriesTransaction<'_>) -> Result<T, MemoriesError>,
    ) -> Result<T, MemoriesError> {
        self.try_change(change)
    }

    /// Changes something in one step that may fail for other reasons too.
    ///
    /// # Errors
    /// When the database cannot be read or written, or the change fails. Nothing is kept then.
    pub fn try_change<T, E: From<MemoriesError>>(
        &mut self,
        change: impl FnOnce(&MemoriesTransaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let under_way = MemoriesTransaction { transaction: begun.map_err(MemoriesError::from)? };
        let result = change(&under_way)?;
        under_way.transaction.commit().map_err(MemoriesError::from)?;
        Ok(result)
    }
}

impl MemoriesTransaction<'_> {
    /// The job of a kind with this key, if there is one.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn job(&self, kind: JobKind, key: &str) -> Result<Option<MemoriesJob>, MemoriesError> {
        let text = format!("SELECT {JOB_COLUMNS} FROM jobs WHERE kind = ?1 AND key = ?2");
        Ok(self.transaction.query_row(&text, params![kind.as_str(), key], job).optional()?)
    }

    /// How many jobs of a kind are held now.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn n_held(&self, kind: JobKind, now: i64) -> Result<usize, MemoriesError> {
        let text = "SELECT COUNT(*) FROM jobs WHERE kind = ?1 AND status = ?2 AND lease_until > ?3";
        let status = JobStatus::Running.as_str();
        let n: i64 = self.transaction.query_row(text, params![kind.as_str(), status, now], |row| row.get(0))?;
        Ok(usize::try_from(n).unwrap_or_default())
    }

    /// Inserts or replaces a job.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_job(&self, job: &MemoriesJob) -> Result<(), MemoriesError> {
        let text = format!(
            "INSERT OR REPLACE INTO jobs ({JOB_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        );
        self.transaction.execute(
            &text,
            params![
                job.kind.as_str(),
                job.key,
                job.status.as_str(),
                job.worker,
                job.token,
                job.started_at,
                job.finished_at,
                job.lease_until,
                job.retry_at,
                job.retries_left,
                job.last_error,
                job.input,
                job.done,
            ],
        )?;
        Ok(())
    }

    /// The time of change of a session that its extract is of.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn extracted(&self, session: &str) -> Result<Option<i64>, MemoriesError> {
        let text = "SELECT updated_at FROM extracts WHERE session = ?1";
        Ok(self.transaction.query_row(text, [session], |row| row.get(0)).optional()?)
    }

    /// Keeps an extract, unless there is a later one of the same session.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_extract(&self, extract: &Extract) -> Result<(), MemoriesError> {
        if self.extracted(&extract.session)?.is_some_and(|known| known > extract.updated_at) {
            return Ok(());
        }
        let text =
            format!("INSERT OR REPLACE INTO extracts ({EXTRACT_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
        self.transaction.execute(
            &text,
            params![
                extract.session,
                extract.updated_at,
                extract.made_at,
                extract.cwd,
                extract.project,
                extract.raw_memory,
                extract.rollout_summary,
                extract.rollout_slug,
            ],
        )?;
        Ok(())
    }

    /// Takes the extract of a session away.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn remove_extract(&self, session: &str) -> Result<(), MemoriesError> {
        self.transaction.execute("DELETE FROM extracts WHERE session = ?1", [session])?;
        Ok(())
    }

    /// The extract of a session, if there is one.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn extract(&self, session: &str) -> Result<Option<Extract>, MemoriesError> {
        let text = format!("SELECT {EXTRACT_COLUMNS} FROM extracts WHERE session = ?1");
        Ok(self.transaction.query_row(&text, [session], extract).optional()?)
    }

    /// Notes that these sessions are in the files of a scope, besides those that are in them already.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_merged(&self, scope: &str, extracts: &[Extract]) -> Result<(), MemoriesError> {
        let text = "INSERT OR REPLACE INTO merged (scope, session, updated_at) VALUES (?1, ?2, ?3)";
        for it in extracts {
            self.transaction.execute(text, params![scope, it.session, it.updated_at])?;
        }
        Ok(())
    }

    /// The scopes into whose files a session was merged.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn scopes_with(&self, session: &str) -> Result<Vec<String>, MemoriesError> {
        let mut statement = self.transaction.prepare("SELECT scope FROM merged WHERE session = ?1 ORDER BY scope")?;
        Ok(statement.query_map([session], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// Notes that the merged files of a scope are gone.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn remove_merged(&self, scope: &str) -> Result<(), MemoriesError> {
        self.transaction.execute("DELETE FROM merged WHERE scope = ?1", [scope])?;
        Ok(())
    }

    /// Takes the extract of a session away, for good: the session is not read again.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn forget(&self, session: &str, now: i64) -> Result<(), MemoriesError> {
        self.remove_extract(session)?;
        let text = "INSERT OR IGNORE INTO forgotten (session, forgotten_at) VALUES (?1, ?2)";
        self.transaction.execute(text, params![session, now])?;
        Ok(())
    }

    /// Whether a session is never read again.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn is_forgotten(&self, session: &str) -> Result<bool, MemoriesError> {
        let text = "SELECT 1 FROM forgotten WHERE session = ?1";
        Ok(self.transaction.query_row(text, [session], |_| Ok(())).optional()?.is_some())
    }
}

fn job(row: &Row<'_>) -> rusqlite::Result<MemoriesJob> {
    let kind: String = row.get(0)?;
    let status: String = row.get(2)?;
    let known = JobStatus::ALL.into_iter().find(|it| it.as_str() == status);
    Ok(MemoriesJob {
        kind: if kind == JobKind::Extraction.as_str() { JobKind::Extraction } else { JobKind::Consolidation },
        key: row.get(1)?,
        status: known.unwrap_or(JobStatus::Pending),
        worker: row.get(3)?,
        token: row.get(4)?,
        started_at: row.get(5)?,
        finished_at: row.get(6)?,
        lease_until: row.get(7)?,
        retry_at: row.get(8)?,
        retries_left: row.get(9)?,
        last_error: row.get(10)?,
        input: row.get(11)?,
        done: row.get(12)?,
    })
}

fn extract(row: &Row<'_>) -> rusqlite::Result<Extract> {
    Ok(Extract {
        session: row.get(0)?,
        updated_at: row.get(1)?,
        made_at: row.get(2)?,
        cwd: row.get(3)?,
        project: row.get(4)?,
        raw_memory: row.get(5)?,
        rollout_summary: row.get(6)?,
        rollout_slug: row.get(7)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extract(session: &str, updated_at: i64, text: &str) -> Extract {
        Extract {
            session: session.to_owned(),
            updated_at,
            made_at: 5,
            cwd: "/w".to_owned(),
            project: if session == "b" { "/p".to_owned() } else { "/w".to_owned() },
            raw_memory: text.to_owned(),
            rollout_summary: "s".to_owned(),
            rollout_slug: None,
        }
    }

    fn job(key: &str, status: JobStatus, lease_until: Option<i64>) -> MemoriesJob {
        MemoriesJob {
            kind: JobKind::Extraction,
            key: key.to_owned(),
            status,
            worker: Some("w".to_owned()),
            token: Some("t".to_owned()),
            started_at: Some(1),
            finished_at: None,
            lease_until,
            retry_at: Some(2),
            retries_left: 3,
            last_error: Some("e".to_owned()),
            input: Some(4),
            done: None,
        }
    }

    #[test]
    fn the_newest_extracts_come_first_and_older_ones_do_not_replace_them() {
        let home = tempfile::tempdir().unwrap();
        let mut memories = Memories::open(home.path()).unwrap();
        memories
            .change(|change| {
                for it in [extract("a", 10, "a"), extract("b", 20, "b"), extract("c", 20, "c"), extract("b", 19, "old")]
                {
                    change.put_extract(&it)?;
                }
                change.put_extract(&extract("a", 11, "again"))
            })
            .unwrap();
        let shown = |memories: &Memories, n| -> Vec<(String, i64, String)> {
            memories.newest(None, n).unwrap().into_iter().map(|it| (it.session, it.updated_at, it.raw_memory)).collect()
        };
        let all = [("c", 20, "c"), ("b", 20, "b"), ("a", 11, "again")];
        let all = all.map(|(session, at, text)| (session.to_owned(), at, text.to_owned()));
        assert_eq!(shown(&Memories::open(home.path()).unwrap(), 9), all);
        assert_eq!(shown(&memories, 2), all[..2]);
        let of_project = |project| memories.newest(Some(project), 9).unwrap().into_iter().map(|it| it.session);
        assert_eq!(of_project("/w").collect::<Vec<_>>(), ["c", "a"]);
        assert_eq!(of_project("/").count(), 0);
        memories.change(|change| change.remove_extract("c")).unwrap();
        assert_eq!(shown(&memories, 9), all[1..]);
    }

    #[test]
    fn jobs_come_back_as_they_were_kept() {
        let home = tempfile::tempdir().unwrap();
        assert!(Memories::open_existing(home.path()).unwrap().is_none());
        let mut memories = Memories::open(home.path()).unwrap();
        let jobs = [job("a", JobStatus::Running, Some(50)), job("b", JobStatus::Failed, None)];
        memories.change(|change| jobs.iter().try_for_each(|job| change.put_job(job))).unwrap();
        assert_eq!(memories.jobs().unwrap(), jobs);
        let held = |now| {
            memories
                .connection
                .unchecked_transaction()
                .map(|transaction| MemoriesTransaction { transaction }.n_held(JobKind::Extraction, now).unwrap())
        };
        assert_eq!((held(49).unwrap(), held(50).unwrap()), (1, 0));
    }

    #[test]
    fn a_change_that_fails_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let mut memories = Memories::open(home.path()).unwrap();
        let failed = memories.change(|change| {
            change.put_job(&job("a", JobStatus::Done, None))?;
            Err::<(), _>(MemoriesError::Later { file: FILE })
        });
        assert!(failed.is_err());
        assert_eq!(memories.jobs().unwrap(), []);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_reads_them_and_a_link_is_not_followed() {
        use std::os::unix::fs::PermissionsExt;

        let home = tempfile::tempdir().unwrap();
        Memories::open(home.path()).unwrap();
        let mode = std::fs::metadata(home.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let other = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(home.path().join(FILE), other.path().join(FILE)).unwrap();
        assert!(Memories::open(other.path()).is_err());
    }

    #[test]
    fn every_kind_and_status_of_a_job_comes_back() {
        let home = tempfile::tempdir().unwrap();
        let mut memories = Memories::open(home.path()).unwrap();
        let kinds = [JobKind::Consolidation, JobKind::Extraction];
        let all: Vec<MemoriesJob> = kinds
            .into_iter()
            .flat_map(|kind| {
                let with_status =
                    move |status: JobStatus| MemoriesJob { kind, ..job(status.as_str(), status, Some(i64::MAX)) };
                let mut jobs: Vec<MemoriesJob> = JobStatus::ALL.into_iter().map(with_status).collect();
                jobs.sort_by(|a, b| a.key.cmp(&b.key));
                jobs
            })
            .collect();
        memories.change(|change| all.iter().try_for_each(|job| change.put_job(job))).unwrap();
        assert_eq!(memories.jobs().unwrap(), all);
        let found = |kind, key: &str| {
            let transaction = memories.connection.unchecked_transaction().unwrap();
            MemoriesTransaction { transaction }.job(kind, key).unwrap()
        };
        assert_eq!(found(JobKind::Extraction, "failed").map(|it| it.status), Some(JobStatus::Failed));
        assert_eq!(found(JobKind::Extraction, "nothing"), None);
    }

    #[test]
    fn a_database_of_another_version_or_none_at_all_is_refused() {
        let home = tempfile::tempdir().unwrap();
        drop(Memories::open(home.path()).unwrap());
        let path = home.path().join(FILE);
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA user_version = 3").unwrap();
        drop(connection);
        let later = Memories::open(home.path()).unwrap_err().to_string();
        assert_eq!(later, "pellucid_memories.sqlite was written by a later version of this program");
        std::fs::write(&path, "this is a text and no database at all ".repeat(100)).unwrap();
        let text = Memories::open_existing(home.path()).unwrap_err().to_string();
        assert_eq!(text, "pellucid_memories.sqlite cannot be used: file is not a database");
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("this is a text"), "what is not ours stays");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(Memories::open(home.path()).is_err());
    }

    #[test]
    fn a_database_of_the_first_version_is_carried_over() {
        let home = tempfile::tempdir().unwrap();
        let connection = Connection::open(home.path().join(FILE)).unwrap();
        connection.execute_batch(STEPS[0]).unwrap();
        connection
            .execute_batch(
                "INSERT INTO extracts VALUES ('a', 1, 2, '/w/below', 'raw', 'sum', 'slug');
                 INSERT INTO jobs VALUES ('extraction', 'a', 'done', 'w', 't', 1, 2, NULL, NULL, 3, NULL, 4, 4);
                 PRAGMA user_version = 1",
            )
            .unwrap();
        drop(connection);
        for _ in 0..2 {
            let memories = Memories::open(home.path()).unwrap();
            let extracts = memories.newest(None, 9).unwrap();
            let [it] = &extracts[..] else { panic!("{extracts:?}") };
            assert_eq!((&*it.session, it.updated_at, it.made_at), ("a", 1, 2));
            assert_eq!((&*it.cwd, &*it.project, &*it.raw_memory), ("/w/below", "/w/below", "raw"));
            assert_eq!((&*it.rollout_summary, it.rollout_slug.as_deref()), ("sum", Some("slug")));
            assert_eq!(memories.jobs().unwrap().len(), 1);
            assert_eq!(memories.merged("all").unwrap(), []);
        }
    }

    #[test]
    fn what_is_forgotten_is_known_to_be() {
        let home = tempfile::tempdir().unwrap();
        let mut memories = Memories::open(home.path()).unwrap();
        let extracts = [extract("a", 1, "a"), extract("b", 2, "b")];
        memories
            .change(|change| {
                extracts.iter().try_for_each(|it| change.put_extract(it))?;
                change.put_merged("all", &extracts)?;
                change.put_merged("/w", &extracts[..1])?;
                change.put_merged("/w", &[])
            })
            .unwrap();
        assert_eq!(memories.merged("all").unwrap(), [("b".to_owned(), 2), ("a".to_owned(), 1)]);
        let (scopes, known) = memories
            .change(|change| {
                let scopes = change.scopes_with("a")?;
                change.forget("a", 5)?;
                change.forget("a", 6)?;
                change.remove_merged("/w")?;
                Ok((scopes, (change.is_forgotten("a")?, change.is_forgotten("b")?, change.extract("a")?)))
            })
            .unwrap();
        assert_eq!(scopes, ["/w", "all"]);
        assert_eq!(known, (true, false, None));
        assert_eq!((memories.merged("/w").unwrap().len(), memories.merged("all").unwrap().len()), (0, 2));
        assert_eq!(memories.sessions().unwrap(), ["a", "b"]);
    }

    #[test]
    fn odd_texts_and_numbers_are_kept_exactly() {
        let home = tempfile::tempdir().unwrap();
        let mut memories = Memories::open(home.path()).unwrap();
        let odd = Extract {
            session: "'; DROP TABLE extracts; --".to_owned(),
            updated_at: i64::MIN,
            made_at: i64::MAX,
            cwd: "/é\u{10ffff}".to_owned(),
            project: "/%".to_owned(),
            raw_memory: "a\u{0}b\n".repeat(10_000),
            rollout_summary: String::new(),
            rollout_slug: Some("%_".to_owned()),
        };
        memories.change(|change| change.put_extract(&odd)).unwrap();
        assert_eq!(memories.newest(None, usize::MAX).unwrap(), std::slice::from_ref(&odd));
        assert_eq!(memories.newest(None, 0).unwrap(), []);
        let at = memories.change(|change| change.extracted(&odd.session)).unwrap();
        assert_eq!((at, memories.change(|change| change.extracted("other")).unwrap()), (Some(i64::MIN), None));
    }

    #[test]
    fn what_one_process_keeps_another_one_sees() {
        let home = tempfile::tempdir().unwrap();
        let (mut one, mut two) = (Memories::open(home.path()).unwrap(), Memories::open(home.path()).unwrap());
        one.change(|change| change.put_job(&job("a", JobStatus::Running, Some(10)))).unwrap();
        let held = two.change(|change| change.n_held(JobKind::Extraction, 5)).unwrap();
        assert_eq!(held, 1);
        two.change(|change| change.put_job(&job("a", JobStatus::Done, None))).unwrap();
        assert_eq!(one.jobs().unwrap(), [job("a", JobStatus::Done, None)]);
    }
}
