//! Claims of jobs: a job has one holder, whose lease expires, so that a killed process does not block the job.
//!
//! The process that finishes a job names the token with which it took the job. The token of a lease that ended and was
//! taken over finishes nothing.

use pellucid_protocol::memories::JobKind;
use pellucid_protocol::memories::JobStatus;
use pellucid_protocol::memories::MemoriesJob;

/// How long a holder has a job, in seconds.
pub const LEASE: i64 = 3_600;

/// How long a failed job rests, in seconds.
pub const RETRY_DELAY: i64 = 3_600;

/// How often the holder of a long job renews its lease, in seconds.
pub const RENEWAL: u64 = 90;

/// How often a job is tried again without anything new to work on.
const RETRIES: i64 = 3;

/// The key of the job that merges the memories of all projects; that of one project has the path of its top folder.
pub const ALL: &str = "all";

/// The process that claims a job.
#[derive(Debug, Clone, Copy)]
pub struct Holder<'a> {
    /// The session for which it is done.
    pub worker: &'a str,
    /// A random token that only this process knows.
    pub token: &'a str,
}

/// Whether a job can be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The job is claimed; this state is to be stored.
    Taken(Box<MemoriesJob>),
    /// The sources have no changes since the last run.
    UpToDate,
    /// Another process holds the job.
    Held,
    /// The job failed, and is not tried again before this time.
    Waits {
        /// In seconds of Unix time.
        until: i64,
    },
    /// The job failed too often.
    GivenUp,
}

/// Takes the extraction from a session that changed last at `updated_at`. `extracted` is the time of change that an
/// extract of it is of.
pub fn take_extraction(
    job: Option<&MemoriesJob>,
    session: &str,
    extracted: Option<i64>,
    updated_at: i64,
    holder: Holder<'_>,
    now: i64,
) -> Claim {
    let done = job.and_then(|job| job.done);
    if extracted.max(done).is_some_and(|done| done >= updated_at) {
        return Claim::UpToDate;
    }
    let is_new = job.is_none_or(|job| job.input.is_none_or(|input| updated_at > input));
    if let Some(refused) = job.and_then(|job| refusal(job, is_new, now)) {
        return refused;
    }
    let known = job.cloned().unwrap_or_else(|| new_job(JobKind::Extraction, session));
    let retries_left = if is_new { RETRIES } else { known.retries_left };
    Claim::Taken(Box::new(taken(MemoriesJob { retries_left, input: Some(updated_at), ..known }, holder, now)))
}

/// Takes the merging of all extracts, if any of them is new.
pub fn take_consolidation(job: Option<&MemoriesJob>, holder: Holder<'_>, now: i64) -> Claim {
    let Some(job) = job.filter(|job| job.input.unwrap_or(0) > job.done.unwrap_or(0)) else {
        return Claim::UpToDate;
    };
    refusal(job, false, now).unwrap_or_else(|| Claim::Taken(Box::new(taken(job.clone(), holder, now))))
}

fn refusal(job: &MemoriesJob, is_new: bool, now: i64) -> Option<Claim> {
    if job.is_held(now) {
        return Some(Claim::Held);
    }
    if is_new {
        return None;
    }
    if job.retries_left <= 0 {
        return Some(Claim::GivenUp);
    }
    job.retry_at.filter(|at| *at > now).map(|until| Claim::Waits { until })
}

fn taken(job: MemoriesJob, holder: Holder<'_>, now: i64) -> MemoriesJob {
    MemoriesJob {
        status: JobStatus::Running,
        worker: Some(holder.worker.to_owned()),
        token: Some(holder.token.to_owned()),
        started_at: Some(now),
        finished_at: None,
        lease_until: Some(now + LEASE),
        retry_at: None,
        last_error: None,
        ..job
    }
}

fn new_job(kind: JobKind, key: &str) -> MemoriesJob {
    MemoriesJob {
        kind,
        key: key.to_owned(),
        status: JobStatus::Pending,
        worker: None,
        token: None,
        started_at: None,
        finished_at: None,
        lease_until: None,
        retry_at: None,
        retries_left: RETRIES,
        last_error: None,
        input: None,
        done: None,
    }
}

/// The merging after an extract came, changed or went: it is due. What is held stays held and is due again afterwards.
pub fn due_consolidation(job: Option<MemoriesJob>, key: &str, watermark: i64) -> MemoriesJob {
    let Some(job) = job else {
        return MemoriesJob { input: Some(watermark), done: Some(0), ..new_job(JobKind::Consolidation, key) };
    };
    let before = job.input.unwrap_or(0);
    let is_running = job.status == JobStatus::Running;
    MemoriesJob {
        status: if is_running { JobStatus::Running } else { JobStatus::Pending },
        retry_at: job.retry_at.filter(|_| is_running),
        retries_left: job.retries_left.max(RETRIES),
        input: Some(if watermark > before { watermark } else { before + 1 }),
        ..job
    }
}

/// The job with a lease from now on; absent if another process holds it.
pub fn renewed(job: &MemoriesJob, token: &str, now: i64) -> Option<MemoriesJob> {
    is_holders(job, token).then(|| MemoriesJob { lease_until: Some(now + LEASE), ..job.clone() })
}

/// The job after success up to a watermark; absent if another process holds it.
pub fn succeeded(job: &MemoriesJob, token: &str, watermark: i64, now: i64) -> Option<MemoriesJob> {
    is_holders(job, token).then(|| MemoriesJob {
        status: JobStatus::Done,
        finished_at: Some(now),
        lease_until: None,
        last_error: None,
        done: Some(job.done.unwrap_or(0).max(watermark)),
        ..job.clone()
    })
}

/// The job as it failed; absent if another process holds it.
pub fn failed(job: &MemoriesJob, token: &str, why: &str, now: i64) -> Option<MemoriesJob> {
    is_holders(job, token).then(|| MemoriesJob {
        status: JobStatus::Failed,
        finished_at: Some(now),
        lease_until: None,
        retry_at: Some(now + RETRY_DELAY),
        retries_left: job.retries_left - 1,
        last_error: Some(why.to_owned()),
        ..job.clone()
    })
}

fn is_holders(job: &MemoriesJob, token: &str) -> bool {
    job.status == JobStatus::Running && job.token.as_deref() == Some(token)
}

#[cfg(test)]
#[path = "job/tests.rs"]
mod tests;
