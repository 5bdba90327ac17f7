//! `memory run` and `memory status`: what is kept of past sessions.

use std::process::ExitCode;

use pellucid_agent::memories;
use pellucid_agent::memories::MemoriesOf;
use pellucid_agent::memories::MemoriesOutcome;
use pellucid_agent::memories::Merged;
use pellucid_agent::memories::SessionReading;
use pellucid_protocol::memories::Extract;
use pellucid_protocol::memories::JobKind;
use pellucid_protocol::memories::JobStatus;
use pellucid_protocol::memories::MemoriesJob;
use pellucid_store::memories::Memories;
use serde_json::json;

use crate::args::memory::RunArgs;
use crate::args::memory::StatusArgs;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::exec;
use crate::print;
use crate::screen::OutputFormat;
use crate::start::Opening;
use crate::start::Persistence;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style::counted;

/// The advice where memories are switched off.
const OFF: &str = "memories are off; switch them on with `pellucid features enable memory_tool`, or for this run with \
                   `-c features.memory_tool=true`";

pub fn run(shared: &Shared, args: &RunArgs) -> Result<ExitCode, ProgramFailure> {
    let start = Start::new(shared, &args.start)?;
    if !memories::is_on(&start.config) {
        return Err(ProgramFailure::new(OFF));
    }
    start.enforce_login()?;
    start.make_ready()?;
    let folder = memories::folder(&start.config).display().to_string();
    let session = start.session(Opening::New { session_id: None, keep: Persistence::File })?;
    let outcome = exec::runtime()?.block_on(memories::run(&session)).map_err(ProgramFailure::new)?;
    let text = if args.json { format!("{}\n", json!(outcome)) } else { described(&outcome, &folder) };
    print::report(&text, OutputFormat::of(args.json))?;
    let is_failed = |reading: &SessionReading| matches!(reading, SessionReading::Failed { .. });
    let has_failed = outcome.read.iter().any(|it| is_failed(&it.reading));
    let is_ok = !has_failed && !matches!(outcome.merged, Merged::Failed { .. });
    Ok(if is_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The result of `memory run` as text for people.
fn described(outcome: &MemoriesOutcome, folder: &str) -> String {
    let mut text = format!("{} read\n", counted(outcome.read.len(), "session"));
    for it in &outcome.read {
        let reading = match &it.reading {
            SessionReading::Kept => "kept",
            SessionReading::Nothing => "nothing worth keeping",
            SessionReading::Failed { why } => why,
        };
        text += &format!("  {}  {reading}\n", it.session);
    }
    text += &match &outcome.merged {
        Merged::Done => format!("merged into {folder}\n"),
        Merged::Empty => format!("nothing is kept of any session: {folder} has no memories\n"),
        Merged::UpToDate => format!("nothing new to merge into {folder}\n"),
        Merged::Held => "another process is merging\n".to_owned(),
        Merged::Waits { until } => format!("merging failed before; it is tried again after {}\n", time(*until)),
        Merged::GivenUp => "merging failed too often; it is tried again when another session was read\n".to_owned(),
        Merged::Failed { why } => format!("not merged: {why}\n"),
    };
    if let Some(worker) = &outcome.worker {
        text += &format!("what was asked: pellucid replay {worker}\n");
    }
    text
}

pub fn status(shared: &Shared, args: &StatusArgs) -> Result<ExitCode, ProgramFailure> {
    let start = Start::new(shared, &StartArgs::default())?;
    let config = &start.config;
    let failed = |error| ProgramFailure::new(format!("{error}"));
    let memories = Memories::open_existing(&config.folders.home).map_err(failed)?;
    let jobs = memories.as_ref().map(Memories::jobs).transpose().map_err(failed)?.unwrap_or_default();
    let n_max = config.tools.memories.raw_memories_max;
    let of = MemoriesOf::configured(config);
    let newest = memories.as_ref().map(|it| it.newest(of.project.as_deref(), n_max));
    let extracts = newest.transpose().map_err(failed)?.unwrap_or_default();
    let jobs: Vec<MemoriesJob> =
        jobs.into_iter().filter(|job| job.kind != JobKind::Consolidation || job.key == of.key).collect();
    let (is_on, folder, scope) = (memories::is_on(config), of.folder, config.tools.memories.scope);
    let text = if args.json {
        format!("{}\n", json!({ "is_on": is_on, "scope": scope, "folder": folder, "extracts": extracts, "jobs": jobs }))
    } else {
        let state = if is_on { "memories are on" } else { OFF };
        format!("{state}\nscope: {scope}\nfolder: {}\n{}", folder.display(), table(&extracts, &jobs))
    };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(ExitCode::SUCCESS)
}

/// The memories that are kept, and the jobs that are not finished.
fn table(extracts: &[Extract], jobs: &[MemoriesJob]) -> String {
    let mut text = format!("{} kept\n", counted(extracts.len(), "session"));
    for it in extracts {
        let slug = it.rollout_slug.as_deref().unwrap_or_default();
        text += &format!("  {}  {}  {slug}\n", it.session, time(it.updated_at));
    }
    for job in jobs.iter().filter(|job| job.status != JobStatus::Done) {
        let what = match job.kind {
            JobKind::Extraction => format!("reading {}", job.key),
            JobKind::Consolidation => "merging".to_owned(),
        };
        text += &format!("{what}: {}", job.status.as_str());
        if let Some(until) = job.lease_until {
            text += &format!(" until {}", time(until));
        }
        if let Some(error) = &job.last_error {
            text += &format!(": {error}");
        }
        if let Some(at) = job.retry_at.filter(|_| job.retries_left > 0) {
            text += &format!("; tried again after {}", time(at));
        }
        text.push('\n');
    }
    text
}

fn time(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
