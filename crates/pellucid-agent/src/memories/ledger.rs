//! Which sessions are taken, and what is kept of the work: one transaction each.
//!
//! All of it waits for the disk.

use std::path::Path;

use pellucid_config::Config;
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

use super::scope;
use super::scope::MemoriesOf;

/// A session that was taken to be read.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    pub session: String,
    /// Its file, from the home folder.
    pub path: String,
    pub cwd: String,
    /// The top folder of its project.
    pub project: String,
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
pub(super) fn take_sessions(config: &Config, own: &str, worker: &str) -> Result<Vec<Taken>, MemoriesError> {
    let (home, settings) = (&*config.folders.home, &config.tools.memories);
    let (now, scope) = (now(), MemoriesOf::configured(config));
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
        let project = scope::project_of(config, &session.cwd);
        if !scope.has(&project) {
            continue;
        }
        let memories = match &mut memories {
            Some(memories) => memories,
            None => memories.insert(Memories::open(home)?),
        };
        let token = Uuid::new_v4().to_string();
        let holder = Holder { worker, token: &token };
        let is_taken = memories.change(|change| {
            if change.n_held(JobKind::Extraction, now)? >= settings.sessions_per_start_max
                || change.is_forgotten(&session.id)?
            {
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
            taken.push(Taken { session: session.id, path, cwd, project, updated_at, token });
        }
    }
    Ok(taken)
}

/// Keeps what a model said of a session, or that there is nothing to keep. What was kept before goes then, so that the
/// merging is due in both cases. Nothing is kept of a session that was forgotten while it was read.
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
        if change.is_forgotten(&taken.session)? {
            return Ok(());
        }
        match answer {
            Some(ExtractionAnswer { raw_memory, rollout_summary, rollout_slug }) => change.put_extract(&Extract {
                session: taken.session.clone(),
                updated_at: taken.updated_at,
                made_at: now,
                cwd: taken.cwd.clone(),
                project: taken.project.clone(),
                raw_memory,
                rollout_summary,
                rollout_slug,
            })?,
            None => change.remove_extract(&taken.session)?,
        }
        for scope in [job::ALL, &taken.project] {
            merge_again(change, scope, taken.updated_at)?;
        }
        Ok(())
    })
}

/// Notes that the files of a scope are to be merged, as something in them changed.
pub(super) fn merge_again(change: &MemoriesTransaction<'_>, scope: &str, watermark: i64) -> Result<(), MemoriesError> {
    let merging = change.job(JobKind::Consolidation, scope)?;
    change.put_job(&job::due_consolidation(merging, scope, watermark))
}

/// Notes that a session could not be read.
pub(super) fn fail_session(home: &Path, taken: &Taken, why: &str) -> Result<(), MemoriesError> {
    let now = now();
    finish(home, JobKind::Extraction, &taken.session, |change, known| {
        job::failed(known, &taken.token, why, now).map_or(Ok(()), |job| change.put_job(&job))
    })
}

/// Takes the merging of a scope, if it is due.
pub(super) fn take_merging(home: &Path, scope: &str, worker: &str) -> Result<Merging, MemoriesError> {
    let Some(mut memories) = Memories::open_existing(home)? else {
        return Ok(Merging::Not(Claim::UpToDate));
    };
    let (token, now) = (Uuid::new_v4().to_string(), now());
    memories.change(|change| {
        let known = change.job(JobKind::Consolidation, scope)?;
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
pub(super) fn renew_merging(home: &Path, scope: &str, token: &str) -> Result<bool, MemoriesError> {
    let now = now();
    let mut is_ours = false;
    finish(home, JobKind::Consolidation, scope, |change, known| {
        let renewed = job::renewed(known, token, now);
        is_ours = renewed.is_some();
        renewed.map_or(Ok(()), |job| change.put_job(&job))
    })?;
    Ok(is_ours)
}

/// Notes that these extracts are merged up to a watermark, or why they are not. Without any, nothing is left of those that
/// were merged before.
pub(super) fn finish_merging(
    home: &Path,
    scope: &str,
    token: &str,
    result: Result<(i64, &[Extract]), &str>,
) -> Result<(), MemoriesError> {
    let now = now();
    finish(home, JobKind::Consolidation, scope, |change, known| {
        let job = match result {
            Ok((watermark, _)) => job::succeeded(known, token, watermark, now),
            Err(why) => job::failed(known, token, why, now),
        };
        let Some(job) = job else { return Ok(()) };
        change.put_job(&job)?;
        match result {
            Ok((_, [])) => change.remove_merged(scope),
            Ok((_, extracts)) => change.put_merged(scope, extracts),
            Err(_) => Ok(()),
        }
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
