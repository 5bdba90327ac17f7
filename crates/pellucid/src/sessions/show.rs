//! `sessions show`: the facts of a session, then its transcript.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use pellucid_agent::calls::Calls;
use pellucid_agent::calls::RecordedCall;
use pellucid_agent::cut_off;
use pellucid_agent::cut_off::CutOff;
use pellucid_agent::replay;
use pellucid_agent::replay::ReplaySource;
use pellucid_answers::transcript::CallFacts;
use pellucid_answers::transcript::KeptOutput;
use pellucid_answers::transcript::ReplyFacts;
use pellucid_answers::transcript::TranscriptFacts;
use pellucid_answers::transcript::transcript;
use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::item::Item;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::name;
use pellucid_store::parent::ParentSession;
use pellucid_store::read;
use pellucid_store::reconstructed;
use pellucid_store::record::Record;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use pellucid_store::sessions::StoredSession;
use pellucid_store::summary::SessionSummary;
use serde::Serialize;

use super::failed;
use super::injections;
use super::injections::RecordedInjection;
use super::time;
use super::transcript::Drawing;
use crate::args::sessions::ShowArgs;
use crate::capsule;
use crate::capsule::LookedAt;
use crate::context::head::usage_text;
use crate::print;
use crate::print::json_line;
use crate::replay::cache_break_text;
use crate::replay::verdict_text;
use crate::screen::OutputFormat;
use crate::screen::StandardStream;
use crate::start::ProgramFailure;
use crate::style;
use crate::style::Paint;

pub fn run(home: &Path, args: &ShowArgs) -> Result<ExitCode, ProgramFailure> {
    let LookedAt { home, id, .. } = &capsule::meant(&args.from.home_of(home, &args.of)?, &args.of)?;
    let sessions = LocalSessions::new(home);
    let stored = sessions.read(id).map_err(|error| failed(&error))?;
    let requests = requests(home, &stored)?;
    if args.injections {
        let injections = injections::recorded(&requests, &numbers(home, id, &requests)?);
        if args.json {
            json_line(&InjectionsJson { session: &stored.summary.id, injections })?;
        } else {
            print::report(&injections::text(&injections), OutputFormat::People)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let cut_off = cut_off::read(home, id);
    if args.json {
        let items: Vec<&Item> = items(&stored).collect();
        let breaks = requests.cache_breaks().map(|(request, broken)| CacheBreakJson { turn: &request.turn, broken });
        let verdicts = requests.verdicts();
        let cache = verdicts.iter().map(|(request, cache)| VerdictJson { turn: &request.turn, cache });
        let shown = ShownJson {
            summary: &stored.summary,
            parent: ParentSession::of_summary(&stored.summary),
            items,
            set_aside: &stored.loaded.set_aside,
            cut_off: &cut_off,
            usage: requests.usage(),
            cache_breaks: breaks.collect(),
            cache: cache.collect(),
            reconstructed: args.from.from.is_some(),
        };
        json_line(&shown)?;
        return Ok(ExitCode::SUCCESS);
    }
    let facts = facts(home, id, &requests, cut_off)?;
    let file = reconstructed::source(home, id).unwrap_or_else(|| stored.summary.path.clone());
    let head = text(&stored, &requests, file) + &args.from.note();
    let entries = transcript(stored.loaded.records, facts, KeptOutput::FirstLines);
    Drawing::write(head, entries, (StandardStream::Out.columns(), Paint::out()), &mut print::out)?;
    Ok(ExitCode::SUCCESS)
}

/// The injections of a session for programs.
#[derive(Serialize)]
struct InjectionsJson<'a> {
    session: &'a str,
    injections: Vec<RecordedInjection<'a>>,
}

/// A session for programs. Items are written as they are, without a copy of the whole session as a tree of values.
#[derive(Serialize)]
struct ShownJson<'a> {
    summary: &'a SessionSummary,
    parent: Option<ParentSession>,
    items: Vec<&'a Item>,
    set_aside: &'a [usize],
    cut_off: &'a [CutOff],
    usage: UsageSplit,
    cache_breaks: Vec<CacheBreakJson<'a>>,
    cache: Vec<VerdictJson<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reconstructed: bool,
}

/// A request that diverges from the one before, with the turn that sent it.
#[derive(Serialize)]
struct CacheBreakJson<'a> {
    turn: &'a str,
    #[serde(flatten)]
    broken: &'a CacheBreak,
}

/// The cache verdict of a request, with the turn that sent it.
#[derive(Serialize)]
struct VerdictJson<'a> {
    turn: &'a str,
    #[serde(flatten)]
    cache: &'a CacheVerdict,
}

/// The cache verdicts of a session, counted: `2 cold, 7 extended, 1 broken (tools)`.
fn verdicts_text(requests: &Chain) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for (_, cache) in requests.verdicts() {
        let word = verdict_text(&cache);
        match counts.iter_mut().find(|(counted, _)| *counted == word) {
            Some((_, n)) => *n += 1,
            None => counts.push((word, 1)),
        }
    }
    counts.iter().map(|(word, n)| format!("{n} {word}")).collect::<Vec<_>>().join(", ")
}

/// The record of what the session sent; empty for sessions of other programs.
fn requests(home: &Path, stored: &StoredSession) -> Result<Chain, ProgramFailure> {
    let name = Path::new(&stored.summary.path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match name::requests_path(home, name) {
        Some(path) => Chain::read(&path).map_err(|error| ProgramFailure::new(format!("{}: {error}", path.display()))),
        None => Ok(Chain::default()),
    }
}

fn items(stored: &StoredSession) -> impl Iterator<Item = &Item> {
    stored.loaded.records.iter().filter_map(|record| match record {
        Record::ResponseItem(item) => Some(item),
        _ => None,
    })
}

/// What the record says about calls and requests, with the numbers that `replay` gives to requests.
fn facts(home: &Path, id: &str, requests: &Chain, cut_off: Vec<CutOff>) -> Result<TranscriptFacts, ProgramFailure> {
    let outcome = |call: RecordedCall| {
        let last = call.runs.last();
        let facts = CallFacts {
            exit_code: last.and_then(|run| run.exit_code),
            duration_ms: call.duration_ms,
            is_denied: last.is_some_and(|run| run.denied),
        };
        (call.call.clone(), facts)
    };
    let numbers = numbers(home, id, requests)?;
    let replies = requests.links.iter().filter_map(|link| match &link.entry {
        LogEntry::Reply(reply) => Some(ReplyFacts {
            number: *numbers.get(&reply.request)?,
            usage: reply.usage?,
            verdict: reply.cache.clone(),
        }),
        _ => None,
    });
    Ok(TranscriptFacts {
        outcomes: Calls::of(requests).calls.into_iter().map(outcome).collect(),
        replies: replies.collect(),
        cut_off: cut_off.into_iter().map(|it| (it.turn, it.text)).collect(),
    })
}

/// The numbers that `replay` gives to requests, by the lines of the record. They take another look at the whole session
/// file, so a session without a record is spared it.
fn numbers(home: &Path, id: &str, requests: &Chain) -> Result<BTreeMap<u64, usize>, ProgramFailure> {
    if requests.links.is_empty() {
        return Ok(BTreeMap::new());
    }
    let path = LocalSessions::new(home).file(id).map_err(|error| failed(&error))?.0;
    let file = read::open_damaged(&path).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    let source = ReplaySource::open(home, &file).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    replay::numbers(&source).map_err(|error| ProgramFailure::new(format!("{error}")))
}

fn text(stored: &StoredSession, requests: &Chain, file: String) -> String {
    let StoredSession { summary, loaded } = stored;
    let mut text = format!("session   {}\n", summary.id);
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            text += &format!("{name:10}{value}\n");
        }
    };
    row("name", summary.name.clone());
    row("parent", ParentSession::of_summary(summary).map(|parent| format!("{} ({})", parent.id, parent.how)));
    row("began", Some(time(summary.created_at)));
    row("updated", Some(time(summary.updated_at)));
    row("folder", Some(summary.cwd.clone()));
    row("branch", summary.begun.git.as_ref().and_then(|git| git.branch.clone()));
    row("model", summary.last.model.clone());
    row("provider", summary.model_provider.clone());
    row("client", Some(summary.source.clone()));
    row("tokens", Some(style::thousands(summary.usage.blended_total())));
    let usage = requests.usage();
    row("spent", (!usage.is_empty()).then(|| usage_text(&usage)));
    row("cache", Some(verdicts_text(requests)));
    for (request, broken) in requests.cache_breaks() {
        row("cache", Some(format!("turn {} {}", request.turn, cache_break_text(broken))));
    }
    row("file", Some(file));
    row("state", summary.is_archived.then(|| "archived".to_owned()));
    let n_set_aside = loaded.set_aside.len();
    row("damage", (n_set_aside > 0).then(|| format!("{} cannot be read", style::counted(n_set_aside, "line"))));
    text
}
