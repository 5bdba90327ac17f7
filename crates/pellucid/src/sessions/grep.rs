//! `sessions grep`: which requests and answers contain a text.

use std::ops::ControlFlow;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use jiff::Timestamp;
use pellucid_agent::replay;
use pellucid_agent::replay::JsonMatch;
use pellucid_agent::replay::ReplayError;
use pellucid_agent::replay::ReplaySource;
use pellucid_agent::replay::SearchedLines;
use pellucid_agent::replay::WalkedBytes;
use pellucid_answers::grep;
use pellucid_answers::grep::Grep;
use pellucid_answers::grep::GrepFilter;
use pellucid_answers::grep::GrepHit;
use pellucid_answers::grep::GrepPattern;
use pellucid_store::lines::Forwards;
use pellucid_store::lines::Line;
use pellucid_store::read;
use pellucid_store::read::RecordKind;
use pellucid_store::read::SessionFile;
use pellucid_store::requests::entry::ChainLink;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::RequestEntry;
use pellucid_store::search;
use pellucid_store::search::FoundTexts;
use pellucid_store::walk;
use pellucid_store::walk::FoundSession;
use pellucid_store::walk::SessionPlace;
use serde_json::Value;
use serde_json::json;

use crate::args::grep::GrepArgs;
use crate::args::session_ref::SessionList;
use crate::capsule;
use crate::print;
use crate::request::RequestRefusal;
use crate::start::ProgramFailure;
use crate::stored;
use crate::style;

/// The status if nothing matches, as with grep.
const NO_MATCH: u8 = 1;

/// The status if nothing matches in what can be read, and something cannot be read.
const UNKNOWN: u8 = 3;

/// How many characters of a line are printed for people.
const LINE_CHARS_MAX: usize = 240;

/// How many characters before a match are printed, where the line is longer.
const CHARS_BEFORE: usize = 60;

pub fn run(home: &Path, args: &GrepArgs) -> Result<ExitCode, ProgramFailure> {
    match grep(home, args) {
        Ok(code) => Ok(code),
        Err(refusal) => Ok(refusal.show_of_question()),
    }
}

fn grep(home: &Path, args: &GrepArgs) -> Result<ExitCode, RequestRefusal> {
    let of = SessionList { sessions: args.session.clone(), last: args.last };
    let home = &args.from.home_of_all(home, &of)?;
    if args.json {
        let (text, code) = json(home, args)?;
        print::json(text.as_bytes())?;
        return Ok(code);
    }
    let mut ids = stored::ids(home);
    let (_, code) = search_all(home, args, &mut |session, hits| {
        // The session of a capsule is not among those that are stored.
        if !ids.iter().any(|id| id == session) {
            ids.push(session.to_owned());
        }
        let short = stored::short_id(session, &ids);
        print::out(&hits.iter().map(|hit| line(short, hit)).collect::<String>())
    })?;
    Ok(code)
}

/// What the command prints as JSON, and its status.
pub fn json(home: &Path, args: &GrepArgs) -> Result<(String, ExitCode), RequestRefusal> {
    let mut all = Vec::new();
    let (n_searched, code) = search_all(home, args, &mut |session, hits| {
        all.extend(hits.iter().map(|hit| hit.to_json(session)));
        Ok(())
    })?;
    let mut value = json!({ "schema": grep::SCHEMA, "searched": n_searched, "hits": all });
    if args.from.from.is_some() {
        value["reconstructed"] = true.into();
    }
    Ok((format!("{value}\n"), code))
}

/// What is done with the hits of a session.
type OnHits<'f> = dyn FnMut(&str, &[GrepHit]) -> Result<(), ProgramFailure> + 'f;

/// Searches the sessions that are meant. Gives how many there are, and the status.
fn search_all(home: &Path, args: &GrepArgs, found_hits: &mut OnHits<'_>) -> Result<(usize, ExitCode), RequestRefusal> {
    let pattern = GrepPattern::new(&args.pattern, args.fixed, args.ignore_case).map_err(|error| {
        let pattern = &args.pattern;
        let hint = "-F takes the pattern as a text";
        RequestRefusal::usage(format!("`{pattern}` is not a regular expression: {error}\nhint: {hint}"))
    })?;
    let filter = filter(args)?;
    let since = args.since.as_deref().map(since).transpose()?;
    let mut is_sure = true;
    let mut has_hits = false;
    let mut n_searched = 0;
    for (home, sessions) in &sessions(home, args, since)? {
        n_searched += sessions.len();
        // One session is searched while its requests are looked for.
        let found = match sessions.as_slice() {
            [_] => FoundTexts { sessions: sessions.clone(), unreadable: Vec::new() },
            sessions => search::search(home, sessions, &|bytes| pattern.may_match(bytes)),
        };
        for (path, error) in &found.unreadable {
            style::line(&format!("warning: {} cannot be read: {error}", path.display()));
            is_sure = false;
        }
        for session in &found.sessions {
            match hits(home, session, &pattern, &filter, since) {
                Ok(hits) => {
                    found_hits(session.id(), &hits)?;
                    has_hits |= !hits.is_empty();
                }
                Err(failure) => {
                    style::line(&format!("warning: {}: {}", session.relative, failure.text()));
                    is_sure = false;
                }
            }
        }
    }
    let code = match (has_hits, is_sure) {
        (true, _) => 0,
        (false, true) => NO_MATCH,
        (false, false) => UNKNOWN,
    };
    Ok((n_searched, ExitCode::from(code)))
}

fn filter(args: &GrepArgs) -> Result<GrepFilter, RequestRefusal> {
    let wrong = |option: &str, error: &dyn std::fmt::Display| RequestRefusal::usage(format!("{option}: {error}"));
    let part = args.part.as_deref().map(GrepFilter::names).transpose();
    let source = args.source.as_deref().map(GrepFilter::sources).transpose();
    Ok(GrepFilter {
        role: args.role.clone(),
        part: part.map_err(|error| wrong("--part", &error))?,
        source: source.map_err(|error| wrong("--source", &error))?,
        tool: args.tool.clone(),
    })
}

/// A date, a time, or how long ago.
fn since(text: &str) -> Result<Timestamp, RequestRefusal> {
    let zone = jiff::tz::TimeZone::system();
    let date = || text.parse::<jiff::civil::Date>().ok()?.to_zoned(zone.clone()).ok().map(|it| it.timestamp());
    let local = || text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(zone.clone()).ok().map(|it| it.timestamp());
    let ago = || {
        let span: jiff::Span = text.parse().ok()?;
        Timestamp::now().to_zoned(zone.clone()).checked_sub(span.abs()).ok().map(|it| it.timestamp())
    };
    text.parse::<Timestamp>().ok().or_else(date).or_else(local).or_else(ago).ok_or_else(|| {
        RequestRefusal::usage(format!(
            "--since {text}: not a date (2026-11-16), a time (2026-11-16T08:00:00Z) or how long ago (30min, 12h, 7d)"
        ))
    })
}

/// A home folder, and the sessions to search in it.
type SearchedHome = (PathBuf, Vec<FoundSession>);

/// The sessions to search, the oldest first, in the home folder and in the capsules that are named.
fn sessions(home: &Path, args: &GrepArgs, since: Option<Timestamp>) -> Result<Vec<SearchedHome>, RequestRefusal> {
    let stored = |home: &Path, is_meant: &dyn Fn(&FoundSession) -> bool| {
        let places = [SessionPlace::Live, SessionPlace::Archived];
        let mut sessions: Vec<FoundSession> = places.into_iter().flat_map(|place| walk::walk(home, place)).collect();
        sessions.retain(is_meant);
        sessions.sort_by(|a, b| a.name().cmp(b.name()));
        (home.to_owned(), sessions)
    };
    let is_recent =
        |session: &FoundSession| since.is_none_or(|since| i128::from(session.modified) >= since.as_nanosecond());
    if !args.last && args.session.is_empty() {
        return Ok(vec![stored(home, &is_recent)]);
    }
    let meant = capsule::all_meant(home, &SessionList { sessions: args.session.clone(), last: args.last })?;
    let mut homes: Vec<&Path> = Vec::new();
    for one in &meant {
        if !homes.contains(&one.home.as_path()) {
            homes.push(&one.home);
        }
    }
    let in_home = |of: &&Path| {
        let is_meant = |session: &FoundSession| meant.iter().any(|one| one.home == *of && one.id == session.id());
        stored(of, &|session| is_meant(session) && is_recent(session))
    };
    Ok(homes.iter().map(in_home).collect())
}

/// The hits of one session.
fn hits(
    home: &Path,
    session: &FoundSession,
    pattern: &GrepPattern,
    filter: &GrepFilter,
    since: Option<Timestamp>,
) -> Result<Vec<GrepHit>, ProgramFailure> {
    let failed = |error: &dyn std::fmt::Display| ProgramFailure::new(format!("{error}"));
    let file = read::open_damaged(&home.join(&session.relative)).map_err(|error| failed(&error))?;
    let is_match: &JsonMatch<'_> = &|json| pattern.may_match(json);
    let (source, starts) = ReplaySource::open_searched(home, &file, is_match).map_err(|error| failed(&error))?;
    let sent = sent(&source, since).map_err(|error| failed(&error))?;
    let mut grep = Grep::new(pattern, filter);
    let mut is_all_known = true;
    let searched = SearchedLines { is_match, starts: &starts };
    replay::walk_searched(&source, searched, &mut |walked| {
        let is_wanted = walked.entry.is_none_or(|entry| is_since(entry, since));
        match walked.bytes {
            WalkedBytes::Proved(proved) if is_wanted => {
                grep.request(walked.number, proved.frame(), proved.items(), proved.request());
            }
            WalkedBytes::Unknown(_) => is_all_known = false,
            WalkedBytes::Proved(_) | WalkedBytes::Again(_) => {}
        }
        ControlFlow::Continue(())
    })
    .map_err(|error| failed(&error))?;
    items(&file, pattern, &starts, &sent, is_all_known, &mut grep).map_err(|error| failed(&error))?;
    Ok(grep.finish())
}

/// The requests of a session that its own record has, in order.
fn sent(source: &ReplaySource, since: Option<Timestamp>) -> Result<Vec<SentPlace>, ReplayError> {
    let numbers = replay::numbers(source)?;
    let place = |link: &ChainLink| match &link.entry {
        LogEntry::Request(request) => {
            Some(SentPlace { at: request.at, number: *numbers.get(&link.n)?, is_wanted: is_since(request, since) })
        }
        _ => None,
    };
    Ok(source.chain().links.iter().filter_map(place).collect())
}

/// Whether a request was sent since a time, as far as the record says when.
fn is_since(request: &RequestEntry, since: Option<Timestamp>) -> bool {
    let sent_at = || request.sent_at.as_ref()?.parse::<Timestamp>().ok();
    since.is_none_or(|since| sent_at().is_none_or(|at| at >= since))
}

/// The place of a request in the session file.
struct SentPlace {
    at: u64,
    number: usize,
    is_wanted: bool,
}

/// Up to how many lines are read one by one. The whole file is read for more of them.
const N_LINES_MAX: usize = 64;

/// Searches the items of the session file: answers, and all items where there is no record or a request cannot be rebuilt.
/// `starts` are the offsets of the lines that may match.
fn items(
    file: &SessionFile,
    pattern: &GrepPattern,
    starts: &[u64],
    sent: &[SentPlace],
    is_all_known: bool,
    grep: &mut Grep<'_>,
) -> std::io::Result<()> {
    let needs_calls = grep.needs_calls();
    let mut search = |line: &Line<'_>| {
        let Some((RecordKind::ResponseItem, payload)) = read::split(line.bytes) else {
            return;
        };
        let is_wanted = pattern.may_match(payload);
        if !needs_calls && !is_wanted {
            return;
        }
        let Ok(item) = serde_json::from_slice::<Value>(payload) else {
            return;
        };
        if needs_calls {
            grep.note_call(&item);
        }
        if !is_wanted {
            return;
        }
        let kind = item["type"].as_str().unwrap_or_default();
        let is_answer = item["role"].as_str().unwrap_or("assistant") == "assistant" && !kind.ends_with("_output");
        let answered = sent.iter().rfind(|sent| sent.at <= line.start).filter(|_| is_answer);
        match answered {
            Some(answered) if answered.is_wanted => grep.item(Some(answered.number), &item),
            None if !is_all_known || sent.is_empty() => grep.item(None, &item),
            Some(_) | None => {}
        }
    };
    if starts.len() <= N_LINES_MAX && !needs_calls {
        for start in starts {
            let mut lines = Forwards::new(pellucid_files::open(&file.path)?, *start, u64::MAX)?;
            lines.next_line()?.iter().for_each(&mut search);
        }
        return Ok(());
    }
    let mut lines = Forwards::new(pellucid_files::open(&file.path)?, 0, u64::MAX)?;
    while let Some(line) = lines.next_line()? {
        search(&line);
    }
    Ok(())
}

fn line(session: &str, hit: &GrepHit) -> String {
    let numbers = hit.numbers();
    let number = if numbers.is_empty() { String::new() } else { format!("#{numbers}") };
    format!("{session}{number} {}: {}\n", hit.place.part, shortened(&hit.line, hit.column))
}

/// A line of at most so many characters, with the match.
fn shortened(line: &str, column: usize) -> String {
    if line.chars().count() <= LINE_CHARS_MAX {
        return line.to_owned();
    }
    let n_before = line[..column].chars().count();
    let n_left_out = n_before.saturating_sub(CHARS_BEFORE);
    let start = if n_left_out > 0 { "…" } else { "" };
    let rest: String = line.chars().skip(n_left_out).take(LINE_CHARS_MAX).collect();
    let end = if line.chars().count() > n_left_out + LINE_CHARS_MAX { "…" } else { "" };
    format!("{start}{rest}{end}")
}
