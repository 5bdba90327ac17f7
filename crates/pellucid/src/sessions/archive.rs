//! `sessions archive`: takes a session out of lists, or all that were not used for some days.
//!
//! Nothing here deletes, and nothing runs by itself: a person asks for it, and can look first.

use std::path::Path;
use std::process::ExitCode;

use jiff::Timestamp;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use pellucid_store::walk;
use pellucid_store::walk::FoundSession;
use pellucid_store::walk::SessionPlace;
use serde_json::Value;
use serde_json::json;

use super::failed;
use super::print;
use super::print_json;
use super::time;
use crate::args::sessions::ArchiveArgs;
use crate::start::ProgramFailure;
use crate::stored;
use crate::style;
use crate::style::counted;

const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

pub fn run(home: &Path, args: &ArchiveArgs) -> Result<ExitCode, ProgramFailure> {
    if let Some(days) = args.older_than {
        return unused(home, days, args);
    }
    let (id, _) = stored::meant(home, &args.of.or_last())?;
    let to = LocalSessions::new(home).archive(&id).map_err(|error| failed(&error))?;
    print(&format!("{id} is archived: {}\n", to.display()))
}

/// Archives, or lists, the sessions that were not used for so many days.
fn unused(home: &Path, days: usize, args: &ArchiveArgs) -> Result<ExitCode, ProgramFailure> {
    let days = i64::try_from(days).unwrap_or(i64::MAX);
    let before = Timestamp::now().as_second().saturating_sub(days.saturating_mul(SECONDS_PER_DAY));
    let used_at = |found: &FoundSession| found.modified / NANOSECONDS_PER_SECOND;
    let mut old: Vec<FoundSession> =
        walk::walk(home, SessionPlace::Live).into_iter().filter(|found| used_at(found) < before).collect();
    old.sort_by(|one, other| one.modified.cmp(&other.modified).then_with(|| one.relative.cmp(&other.relative)));
    let mut sessions = LocalSessions::new(home);
    let mut code = ExitCode::SUCCESS;
    let mut rows: Vec<Value> = Vec::new();
    let mut text = String::new();
    for found in &old {
        let mut is_archived = false;
        if !args.dry_run {
            match sessions.archive(found.id()) {
                Ok(_) => is_archived = true,
                Err(error) => {
                    style::line(&format!("error: {} is not archived: {error}", found.id()));
                    code = ExitCode::FAILURE;
                }
            }
        }
        rows.push(json!({
            "id": found.id(),
            "path": found.relative,
            "used_at": used_at(found),
            "size": found.size,
            "is_archived": is_archived,
        }));
        if args.dry_run || is_archived {
            text += &format!("{}  {}  {} bytes\n", found.id(), time(used_at(found)), found.size);
        }
    }
    if args.json {
        let value = json!({ "schema": "pellucid.archived/1", "dry_run": args.dry_run, "sessions": rows });
        return print_json(&format!("{value}\n")).map(|_| code);
    }
    let count = counted(old.len(), "session");
    let verb = if args.dry_run { "would be archived" } else { "to be archived" };
    print(&format!("{text}{count} {verb}: not used for {}\n", counted(args.older_than.unwrap_or(0), "day")))
        .map(|_| code)
}
