//! Which sessions are taken, and what is kept of the work: one transaction each.
//!
//! All of it waits for the disk.

use std::path::Path;

use pellucid_config::config::MemorySettings;
use pellucid_engine::memories::choice;
use pellucid_engine::memories::choice::Ages;
use pellucid_engine::memories::extraction::ExtractionAnswer;
use pellucid_engine::memories::job;
use pellucid_engine::memories::job::Claim;
use pellucid_engine::memories::job::Holder;
use pellucid_protocol::memories::Extract;
use pellucid_protocol::memories::JobKind;
use pellucid_protocol::memories::MemoriesJob;
use pellucid_store::memories::Memories;
use pellucid_store::memories::MemoriesError;
use pellucid_store::memories::MemoriesTransaction;
use pellucid_store::query::Query;
use pellucid_store::query::Sort;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use uuid::Uuid;

/// A session that was taken to be read.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    pub session: String,
    /// Its file, from the home folder.
    pub path: String,
    pub cwd: String,
    pub updated_at: i64,
    pub token: String,
}

/// Whether the merging was taken.
#[derive(Debug)]
pub(super) enum Merging {
    Taken {
        token: String,
        /// The watermark of what is to be merged.
        watermark: i64,
    },
    Not(Claim),
}

/// Now, in seconds of Unix time.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// Takes the sessions that are to be read now, those that changed last first. `own` is the one that asks for it.
pub(super) fn take_sessions(
    home: &Path,
    settings: &MemorySettings,
    own: &str,
    worker: &str,
) -> Result<Vec<Taken>, MemoriesError> {
    let now = now();
    let ages = Ages { days_max: settings.age_days_max, idle_hours_min: settings.idle_hours_min };
    let query = Query {
        sources: choice::SOURCES.map(str::to_owned).to_vec(),
        sort: Sort::Updated,
        limit: choice::LOOKED_AT_MAX,
        ..Query::default()
    };
    if settings.sessions_per_start_max == 0 {
        return Ok(Vec::new());
    }
    let found = LocalSessions::new(home).list(&query).sessions;
    let found = found.into_iter().take_while(|it| ages.reach(it.updated_at, now));
    let mut memories = None;
    let mut taken = Vec::new();
    for session in found.filter(|it| it.id != own && ages.take(it.updated_at, now)) {
        if taken.len() >= settings.sessions_per_start_max {
            break;
        }
        let memories = match &mut memories {
            Some(memories) => memories,
            None => memories.insert(Memories::open(home)?),
        };
        let token = Uuid::new_v4().to_string();
        let holder = Holder { worker, token: &token };
        let is_taken = memories.change(|change| {
            if change.n_held(JobKind::Extraction, now)? >= settings.sessions_per_start_max {
                return Ok(false);
            }
            let known = change.job(JobKind::Extraction, &session.id)?;
            let extracted = change.extracted(&session.id)?;
            let claim = job::take_extraction(known.as_ref(), &session.id, extracted, session.updated_at, holder, now);
            match claim {
                Claim::Taken(job) => change.put_job(&job).map(|()| true),
                Claim::UpToDate | Claim::Held | Claim::Waits { .. } | Claim::GivenUp => Ok(false),
            }
        })?;
        if is_taken {
            let (path, cwd, updated_at) = (session.path, session.cwd, session.updated_at);
            taken.push(Taken { session: session.id, path, cwd, updated_at, token });
        }
    }
    Ok(taken)
}

/// Keeps what a model said of a session, or that there is nothing to keep. What was kept before goes then, so that the
/// merging is due in both cases.
pub(super) fn finish_session(
    home: &Path,
    taken: &Taken,
    answer: Option<ExtractionAnswer>,
) -> Result<(), MemoriesError> {
    let now = now();
    finish(home, JobKind::Extraction, &taken.session, |change, known| {
        let Some(done) = job::succeeded(known, &taken.token, taken.updated_at, now) else {
            return Ok(());
        };
        change.put_job(&done)?;
        match answer {
            Some(ExtractionAnswer { raw_memory, rollout_summary, rollout_slug }) => change.put_extract(&Extract {
                session: taken.session.clone(),
                updated_at: taken.updated_at,
                made_at: now,
                cwd: taken.cwd.clone(),
                raw_memory,
                rollout_summary,
                rollout_slug,
            })?,
            None => change.remove_extract(&taken.session)?,
        }
        let merging = change.job(JobKind::Consolidation, job::ALL)?;
        change.put_job(&job::due_consolidation(merging, taken.updated_at))
    })
}

/// Notes that a session could not be read.
pub(super) fn fail_session(home: &Path, taken: &Taken, why: &str) -> Result<(), MemoriesError> {
    let now = now();
    finish(home, JobKind::Extraction, &taken.session, |change, known| {
        job::failed(known, &taken.token, why, now).map_or(Ok(()), |job| change.put_job(&job))
    })
}

/// Takes the merging, if it is due.
pub(super) fn take_merging(home: &Path, worker: &str) -> Result<Merging, MemoriesError> {
    let Some(mut memories) = Memories::open_existing(home)? else {
        return Ok(Merging::Not(Claim::UpToDate));
    };
    let (token, now) = (Uuid::new_v4().to_string(), now());
    memories.change(|change| {
        let known = change.job(JobKind::Consolidation, job::ALL)?;
        match job::take_consolidation(known.as_ref(), Holder { worker, token: &token }, now) {
            Claim::Taken(job) => {
                change.put_job(&job)?;
                Ok(Merging::Taken { token: token.clone(), watermark: job.input.unwrap_or_default() })
            }
            refused => Ok(Merging::Not(refused)),
        }
    })
}

/// Renews the lease of the merging. Gives whether it is still ours.
pub(super) fn renew_merging(home: &Path, token: &str) -> Result<bool, MemoriesError> {
    let now = now();
    let mut is_ours = false;
    finish(home, JobKind::Consolidation, job::ALL, |change, known| {
        let renewed = job::renewed(known, token, now);
        is_ours = renewed.is_some();
        renewed.map_or(Ok(()), |job| change.put_job(&job))
    })?;
    Ok(is_ours)
}

/// Notes that all is merged up to a watermark, or why it is not.
pub(super) fn finish_merging(home: &Path, token: &str, result: Result<&i64, &str>) -> Result<(), MemoriesError> {
    let now = now();
    finish(home, JobKind::Consolidation, job::ALL, |change, known| {
        let job = match result {
            Ok(watermark) => job::succeeded(known, token, *watermark, now),
            Err(why) => job::failed(known, token, why, now),
        };
        job.map_or(Ok(()), |job| change.put_job(&job))
    })
}

/// Changes a job that there is.
fn finish(
    home: &Path,
    kind: JobKind,
    key: &str,
    change_it: impl FnOnce(&MemoriesTransaction<'_>, &MemoriesJob) -> Result<(), MemoriesError>,
) -> Result<(), MemoriesError> {
    Memories::open(home)?.change(|change| match change.job(kind, key)? {
        Some(known) => change_it(change, &known),
        None => Ok(()),
    })
}
