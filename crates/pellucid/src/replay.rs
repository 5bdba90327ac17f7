//! `replay`: every request of a session, rebuilt and compared with what was sent.

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_agent::replay;
use pellucid_agent::replay::ChildSession;
use pellucid_agent::replay::Replay;
use pellucid_agent::replay::ReplayStatus;
use pellucid_agent::replay::ReplayedRequest;
use pellucid_protocol::cache::CacheChangeKind;
use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::event::CacheBreak;
use pellucid_store::name::ARCHIVED;
use pellucid_store::name::SESSIONS;
use pellucid_store::read;

use crate::args::sessions::ReplayArgs;
use crate::capsule;
use crate::capsule::LookedAt;
use crate::print;
use crate::screen::OutputFormat;
use crate::sessions;
use crate::start::ProgramFailure;
use crate::style::Paint;
use crate::style::counted;
use crate::style::number;

/// At most this many damages are printed; JSON has all.
const N_DAMAGES_MAX: usize = 20;

/// The status when nothing differs but not everything can be proved.
const NOT_PROVABLE: u8 = 3;

pub fn run(args: &ReplayArgs) -> Result<ExitCode, ProgramFailure> {
    let failed = |error: &dyn std::fmt::Display| ProgramFailure::new(format!("{error}"));
    let (home, path) = match args.of.session.as_deref() {
        Some(path) if Path::new(path).is_file() => {
            let path = Path::new(path).canonicalize().map_err(|error| failed(&error))?;
            let home = home_of(&path).ok_or_else(|| {
                failed(&format!("{} is not in a home folder, so it has no record of requests", path.display()))
            })?;
            (home, path)
        }
        _ => {
            let home = sessions::home()?;
            let LookedAt { home, path, .. } = capsule::meant(&home, &args.of)?;
            (home, path)
        }
    };
    let file = read::open_damaged(&path).map_err(|error| failed(&error))?;
    let replay = replay::replay(&home, &file, args.anchor.as_deref()).map_err(|error| failed(&error))?;
    let text = if args.json {
        format!("{}\n", serde_json::to_string(&replay).map_err(|error| failed(&error))?)
    } else {
        table(&replay, Paint::out())
    };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(exit_code(replay.status()))
}

/// The status of the process, for `sessions fsck` as well.
pub fn exit_code(status: ReplayStatus) -> ExitCode {
    match status {
        ReplayStatus::Proved => ExitCode::SUCCESS,
        ReplayStatus::Refuted => ExitCode::FAILURE,
        ReplayStatus::NotProvable => ExitCode::from(NOT_PROVABLE),
    }
}

/// The home folder of a session file.
fn home_of(path: &Path) -> Option<PathBuf> {
    let is_store = |folder: &&Path| folder.file_name().is_some_and(|name| name == SESSIONS || name == ARCHIVED);
    path.ancestors().find(is_store)?.parent().map(Path::to_owned)
}

/// The verdict in one line: a sign, a word, and the counts that it follows from.
fn verdict_line(replay: &Replay, paint: Paint) -> String {
    let (equal, different, unproved) = replay.counts();
    let requests = counted(replay.requests.len(), "request");
    let mut counts = format!("{requests}: {equal} equal, {different} different, {unproved} not provable");
    if let n @ 1.. = replay.requests.len() - equal - different - unproved {
        counts += &format!(", {n} foreign");
    }
    match replay.status() {
        ReplayStatus::Proved => format!("{}; {counts}\n", paint.green("✓ proved")),
        ReplayStatus::Refuted => format!("{}; {counts}\n", paint.red("✗ refuted")),
        ReplayStatus::NotProvable => format!("{}; {counts}\n", paint.yellow("? not provable")),
    }
}

fn table(replay: &Replay, paint: Paint) -> String {
    let mut text = verdict_line(replay, paint);
    for (n, outcome) in replay.requests.iter().enumerate() {
        text += &line(n + 1, outcome);
    }
    for child in &replay.children {
        text += &child_line(child);
    }
    for damage in replay.damages.iter().take(N_DAMAGES_MAX) {
        text += &format!("changed since it was written: {damage}\n");
    }
    if let Some(n_more) = replay.damages.len().checked_sub(N_DAMAGES_MAX).filter(|n| *n > 0) {
        text += &format!("and {n_more} more; --json has all of them\n");
    }
    for foreign in &replay.foreign {
        text += &format!("{foreign}\n");
    }
    if replay.is_redacted {
        text += &format!("{}\n", replay::REDACTED);
    }
    if replay.is_filled {
        text += &format!("{}\n", replay::FILLED);
    }
    if !replay.torn.is_empty() {
        let lines: Vec<String> = replay.torn.iter().map(ToString::to_string).collect();
        let torn = if lines.len() == 1 { "torn line" } else { "torn lines" };
        text += &format!("{torn} in the record: {}\n", lines.join(", "));
    }
    if let Some(anchor) = &replay.anchor {
        text += &format!("anchor {anchor}\n");
    }
    for note in &replay.notes {
        text += &format!("note: {note}\n");
    }
    text
}

fn child_line(child: &ChildSession) -> String {
    let ChildSession { session, purpose, replay } = child;
    let Some(replay) = replay else {
        return format!("{purpose} {session}: not provable, its files are gone or cannot be read\n");
    };
    let (equal, different, unproved) = replay.counts();
    let requests = counted(replay.requests.len(), "request");
    let own =
        format!("{purpose} {session}: {requests}: {equal} equal, {different} different, {unproved} not provable\n");
    own + &replay.children.iter().map(child_line).collect::<String>()
}

/// Where a request diverges from the one before, for people.
pub fn cache_break_text(broken: &CacheBreak) -> String {
    let CacheBreak { part, tokens_rebilled, source, cause, changes, .. } = broken;
    let how = changes.iter().find(|change| change.part == *part).map_or(CacheChangeKind::Changed, |change| change.how);
    let more = changes.iter().filter(|change| change.is_read && change.part != *part).count();
    let more = match more {
        0 => String::new(),
        1 => " and one more change".to_owned(),
        n => format!(" and {} more changes", number(n)),
    };
    let is_said = source.is_empty() || source.starts_with("fact ");
    let source = if is_said { String::new() } else { format!(", from {source}") };
    let tokens = paid_again(*tokens_rebilled);
    format!("differs from the request before: {how} {part}{source}{more} ({cause}); {tokens}")
}

/// How many tokens a difference costs, for people.
pub fn paid_again(tokens: usize) -> String {
    let are = if tokens == 1 { "is" } else { "are" };
    format!("about {} {are} paid for again", counted(tokens, "token"))
}

/// The verdict about the provider's cache, for people.
pub fn verdict_text(cache: &CacheVerdict) -> String {
    let cause = cache.cause.as_ref().map_or_else(String::new, |cause| format!(" ({cause})"));
    format!("{}{cause}", cache.verdict)
}

fn line(n: usize, outcome: &ReplayedRequest) -> String {
    let ReplayedRequest { purpose, bytes, items, verdict, cache_break, .. } = outcome;
    let bytes = bytes.map_or_else(|| "?".to_owned(), |bytes| bytes.to_string());
    let said = verdict;
    let parts = cache_break.as_ref().map_or_else(String::new, |broken| format!("      {}\n", cache_break_text(broken)));
    let items = if *items == 1 { "1 item".to_owned() } else { format!("{items} items") };
    format!("{n:>4}  {purpose}  {items}, {bytes} bytes  {said}\n{parts}")
}
