//! `context diff`: what changed between two requests, or between two sessions.

use std::path::Path;
use std::process::ExitCode;

use jiff::Timestamp;
use pellucid_agent::replay;
use pellucid_agent::replay::ReplaySource;
use pellucid_agent::replay::WalkedBytes;
use pellucid_agent::replay::WantedRequest;
use pellucid_answers::diff::ChangeSummary;
use pellucid_answers::diff::DiffKind;
use pellucid_answers::diff::PartChange;
use pellucid_answers::diff::RequestDiff;
use pellucid_answers::diff::ToldKind;
use pellucid_answers::diff::ToldSize;
use pellucid_answers::inspected::Inspected;
use pellucid_answers::inspected::SharedTexts;
use pellucid_answers::why::PlaceCost;
use pellucid_engine::request_name::RequestName;
use pellucid_store::read;
use serde_json::Value;
use serde_json::json;

use crate::args::context::ContextDiffArgs;
use crate::args::request::McpLists;
use crate::args::shared::Shared;
use crate::capsule;
use crate::capsule::LookedAt;
use crate::context::lock;
use crate::fit;
use crate::inspected;
use crate::pack::table::aligned;
use crate::prices;
use crate::print;
use crate::request;
use crate::request::RequestRefusal;
use crate::screen::OutputFormat;
use crate::screen::name;
use crate::start;
use crate::start::ProgramFailure;
use crate::style::Paint;
use crate::style::counted;
use crate::style::number;

pub fn run(shared: &Shared, args: &ContextDiffArgs) -> Result<ExitCode, ProgramFailure> {
    match answer(shared, args) {
        Ok((text, verdict)) => {
            print::report(&text, OutputFormat::of(args.json))?;
            Ok(ExitCode::from(verdict.status()))
        }
        Err(refusal) => Ok(refusal.show_of_question()),
    }
}

/// Whether two requests or sessions differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffVerdict {
    /// Nothing differs but facts that differ between any two sessions.
    Same,
    /// Something differs that need not differ between two sessions.
    Differs,
    /// What is known is the same, and the bytes of some requests are not known.
    Unknown,
}

impl DiffVerdict {
    fn of(is_same: bool) -> Self {
        if is_same { Self::Same } else { Self::Differs }
    }

    /// The verdict about several requests of two sessions.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Differs, _) | (_, Self::Differs) => Self::Differs,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Same, Self::Same) => Self::Same,
        }
    }

    /// The exit status of the command.
    fn status(self) -> u8 {
        match self {
            Self::Same => 0,
            Self::Differs => 1,
            Self::Unknown => 3,
        }
    }
}

/// What the command prints, and whether there is a difference.
pub fn answer(shared: &Shared, args: &ContextDiffArgs) -> Result<(String, DiffVerdict), RequestRefusal> {
    let home = start::find_home()?;
    let names = (inspected::name(&home, &args.a)?, inspected::name(&home, &args.b)?);
    if let (RequestName::Sent { session: a, number: None }, RequestName::Sent { session: b, number: None }) = &names {
        return sessions(&home, args, (a, b));
    }
    let of = |text: &str| inspected::inspected(shared, &args.turn, args.mcp, text);
    let (a, b) = match &names {
        (RequestName::Lock, _) | (_, RequestName::Lock) => {
            let (locked, project, choices) = lock::sizes(shared, &args.turn)?;
            let choices = lock::choices_now(&choices, args.mcp == McpLists::Connect)?;
            let side = |name: &RequestName, text: &str| -> Result<Inspected, RequestRefusal> {
                match name {
                    RequestName::Lock => Ok(locked.clone()),
                    RequestName::Now { revision } => {
                        let now = project.made_at(shared, &args.turn, &choices, revision.as_deref())?;
                        Ok(now.lock.to_inspected(text))
                    }
                    _ => Ok(of(text)?.by_parts()),
                }
            };
            (side(&names.0, &args.a)?, side(&names.1, &args.b)?)
        }
        _ => match neighbours(&home, args, &names) {
            Some(both) => both,
            None => (of(&args.a)?, of(&args.b)?),
        },
    };
    let diff = RequestDiff::of(&a, &b);
    let cost = again_cost(&home, &diff)?;
    let text = match args.json {
        true => format!("{}\n", diff.to_json_with(cost.as_ref())),
        false => {
            let all = if args.all { UsualFacts::Shown } else { UsualFacts::Folded("--all shows them") };
            text(&diff, all, args.bytes, Paint::out(), cost.as_ref())
        }
    };
    Ok((text, DiffVerdict::of(diff.is_usual())))
}

/// How facts are printed that differ between any two sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UsualFacts {
    /// As other changes.
    Shown,
    /// In one line, with advice how to see them.
    Folded(&'static str),
}

/// Facts in one line, for commands that print a diff among other things.
const ELSEWHERE: UsualFacts = UsualFacts::Folded("`context diff --all` shows them");

/// Two requests of one session, rebuilt together so that they share what is the same in both; absent if they are others, or
/// if there is something to say about one of them.
fn neighbours(
    home: &Path,
    args: &ContextDiffArgs,
    names: &(RequestName, RequestName),
) -> Option<(Inspected, Inspected)> {
    let (RequestName::Sent { session: a, number: Some(of_a) }, RequestName::Sent { session: b, number: Some(of_b) }) =
        names
    else {
        return None;
    };
    if a != b {
        return None;
    }
    let LookedAt { home, path, .. } = capsule::look(home, a).ok()?;
    let source = ReplaySource::open(&home, &read::open(&path).ok()?).ok()?;
    let (mut kept, mut texts) = (None, SharedTexts::default());
    // Those before a request are rebuilt with it.
    if of_b > of_a {
        source.rebuild(WantedRequest::Number(usize::try_from(*of_b).ok()?), &mut kept).ok()?;
    }
    let mut side = |text: &str, number: u64| {
        let sent = source.rebuild(WantedRequest::Number(usize::try_from(number).ok()?), &mut kept).ok()?;
        let model = sent.model.filter(|_| sent.broken.is_none())?;
        Some(Inspected::of_request(text, &model, sent.wire, &sent.request, &sent.report, &mut texts))
    };
    Some((side(&args.a, *of_a)?, side(&args.b, *of_b)?))
}

/// The diff as `context diff` prints it without options and prices.
pub fn diff_text(diff: &RequestDiff<'_>, paint: Paint) -> String {
    text(diff, ELSEWHERE, false, paint, None)
}

/// What the tokens that are paid for again cost today; absent where none are, or where the price is unknown.
fn again_cost(home: &Path, diff: &RequestDiff<'_>) -> Result<Option<PlaceCost>, ProgramFailure> {
    Ok(diff.cost_again(&prices::table(home)?, &Timestamp::now().to_string()))
}

fn text(
    diff: &RequestDiff<'_>,
    usual: UsualFacts,
    shows_bytes: bool,
    paint: Paint,
    again: Option<&PlaceCost>,
) -> String {
    let changes = changes(&diff.summary(), usual, shows_bytes, paint);
    let mut text = sides(diff) + &told_text(diff) + &changes + &cache_line(diff, again);
    if shows_bytes {
        text += &wire_text(diff);
    }
    text
}

/// The two requests with their sizes.
fn sides(diff: &RequestDiff<'_>) -> String {
    let width = diff.a.name.chars().count().max(diff.b.name.chars().count());
    let side = |letter: &str, request: &Inspected| {
        let (bytes, tokens) = (number(request.bytes()), number(request.tokens()));
        format!("{letter}  {:<width$}  {bytes:>9} bytes, {tokens:>7} tokens", name(&request.name))
    };
    let grown = |a: usize, b: usize, word: &str| signed(to_isize(b) - to_isize(a), word);
    let bytes = grown(diff.a.bytes(), diff.b.bytes(), "byte");
    let tokens = grown(diff.a.tokens(), diff.b.tokens(), "token");
    format!("{}\n{}   {bytes}, {tokens}\n\n", side("A", diff.a), side("B", diff.b))
}

/// What two programs tell their models; empty if one program made both requests.
fn told_text(diff: &RequestDiff<'_>) -> String {
    let Some(told) = diff.told() else {
        return String::new();
    };
    let cell = |size: ToldSize| match size.count {
        0 => number(size.bytes),
        count => format!("{count}: {}", number(size.bytes)),
    };
    let row = |told: &ToldKind| vec![told.name.to_owned(), cell(told.a), cell(told.b)];
    let rows: Vec<Vec<String>> = told.iter().map(row).collect();
    aligned(&["BYTES OF", "A", "B"], &rows, &[1, 2]) + "\n"
}

/// A diff of requests of which only parts and sizes are known.
pub fn sizes_text(diff: &RequestDiff<'_>, paint: Paint) -> String {
    sides(diff) + &changes(&diff.summary(), ELSEWHERE, false, paint)
}

/// The changes part by part, with their lines.
pub fn changes_text(summary: &ChangeSummary, paint: Paint) -> String {
    changes(summary, ELSEWHERE, false, paint)
}

fn changes(summary: &ChangeSummary, usual: UsualFacts, shows_bytes: bool, paint: Paint) -> String {
    let mut text = String::new();
    let is_folded = |change: &&PartChange| change.is_usual && usual != UsualFacts::Shown;
    let (folded, shown): (Vec<_>, Vec<_>) = summary.changes.iter().partition(is_folded);
    let width = shown.iter().map(|change| change.part.chars().count()).max().unwrap_or(0);
    for change in &shown {
        text += &change_text(change, width, paint);
        let rewritten = change.lines.as_ref().filter(|lines| lines.is_rewritten());
        if let (UsualFacts::Folded(advice), Some(lines), false) = (usual, rewritten, shows_bytes) {
            let line = format!("    another text: {} in both ({advice})", counted(lines.same, "line"));
            text += &(paint.dim(&line) + "\n");
        } else if !shows_bytes {
            text += &lines_text(change, paint);
        }
    }
    if let (UsualFacts::Folded(advice), false) = (usual, folded.is_empty()) {
        let mut facts: Vec<&str> = folded.iter().map(|change| &*change.origin).collect();
        facts.sort_unstable();
        facts.dedup();
        text += &format!("~ facts that differ between any two sessions: {} ({advice})\n", facts.join(", "));
    }
    if summary.notation_bytes != 0 {
        text += &format!("~ notation  {}\n", signed(summary.notation_bytes, "byte"));
    }
    text + &format!("= {} unchanged\n", counted(summary.n_unchanged, "part"))
}

fn change_text(change: &PartChange, width: usize, paint: Paint) -> String {
    let origin = match (&*change.source, &*change.origin) {
        (source, "") => source.to_owned(),
        (source, origin) => format!("{source} {}", short(origin)),
    };
    let lines = change.lines.as_ref().map_or_else(String::new, |lines| {
        let at = lines.lines().map_or_else(String::new, |it| format!("   lines {}-{}", it.start, it.end - 1));
        format!("   +{} \u{2212}{}{at}", counted(lines.added, "line"), lines.removed)
    });
    let size = if change.bytes == 0 { String::new() } else { format!("   {}", signed(change.bytes, "byte")) };
    let line = format!("{} {:<width$}   {origin}{lines}{size}", change.kind.sign(), change.part);
    let line = match change.kind {
        DiffKind::Added => paint.green(&line),
        DiffKind::Removed => paint.red(&line),
        DiffKind::Changed | DiffKind::Moved => paint.yellow(&line),
        DiffKind::Same => line,
    };
    line + "\n"
}

/// The path of a file as a person in the working directory would write it; other names stay as they are.
pub fn short(origin: &str) -> String {
    match std::env::current_dir() {
        Ok(here) => name(&fit::relative(origin, &here, fit::user_folder().as_deref())).into_owned(),
        Err(_) => name(origin).into_owned(),
    }
}

fn lines_text(change: &PartChange, paint: Paint) -> String {
    let mut text = String::new();
    for hunk in change.lines.iter().flat_map(|lines| &lines.hunks) {
        for (sign, line) in &hunk.text {
            let line = format!("    {sign} {line}");
            text += &match sign {
                '+' => paint.green(&line),
                '-' => paint.red(&line),
                _ => paint.dim(&line),
            };
            text.push('\n');
        }
    }
    text
}

/// The changed rows as they are sent.
fn wire_text(diff: &RequestDiff<'_>) -> String {
    let mut text = String::new();
    for step in diff.steps.iter().filter(|step| step.kind != DiffKind::Same) {
        for (sign, rows) in [('-', &diff.a.rows[step.a.clone()]), ('+', &diff.b.rows[step.b.clone()])] {
            for row in rows {
                let wire = row.content.as_ref().map(|content| String::from_utf8_lossy(&content.wire).into_owned());
                text += &format!(
                    "{sign} {} {}\n",
                    row.part,
                    wire.unwrap_or_else(|| "(a saved report has no bytes)".to_owned())
                );
            }
        }
    }
    text
}

fn cache_line(diff: &RequestDiff<'_>, again: Option<&PlaceCost>) -> String {
    let Some(continuity) = &diff.continuity else {
        let why = match (diff.a.wire, diff.b.wire) {
            (Some(_), Some(_)) => "cache: not compared, as the requests have different API formats",
            _ => "texts and cache: not compared, as a lock or a saved report has only sizes",
        };
        return format!("{why}\n");
    };
    match &continuity.broken {
        None => "cache: B begins with all that the model reads of A\n".to_owned(),
        Some(broken) => format!(
            "cache: diverges at {}; everything read after that is paid for again: {} tokens{}\n",
            broken.part,
            number(broken.tokens_rebilled),
            again.map_or_else(String::new, |cost| format!(" ({}, price from {})", cost.uncached, cost.from))
        ),
    }
}

fn to_isize(number: usize) -> isize {
    isize::try_from(number).unwrap_or(isize::MAX)
}

/// A count with its sign and its word.
fn signed(value: isize, word: &str) -> String {
    let sign = if value < 0 { '\u{2212}' } else { '+' };
    format!("{sign}{}", counted(value.unsigned_abs(), word))
}

/// Compares two sessions request by request.
fn sessions(
    home: &Path,
    args: &ContextDiffArgs,
    (a, b): (&str, &str),
) -> Result<(String, DiffVerdict), RequestRefusal> {
    let (a, b) = (requests(home, a)?, requests(home, b)?);
    // Of a session without a record no request is known.
    let mut verdict = if a.is_empty() || b.is_empty() { DiffVerdict::Unknown } else { DiffVerdict::Same };
    let usual = if args.all { UsualFacts::Shown } else { UsualFacts::Folded("--all shows them") };
    let (mut text, mut list) = (String::new(), Vec::new());
    for n in 0..a.len().max(b.len()) {
        let (one, two) = match (a.get(n), b.get(n)) {
            (Some(Ok(one)), Some(Ok(two))) => (one, two),
            (one, two) => {
                let why = [one, two].into_iter().flatten().find_map(|it| it.as_ref().err());
                let only =
                    if one.is_some() { "only the first session has it" } else { "only the second session has it" };
                let is_known = why.is_none() && !a.is_empty() && !b.is_empty();
                verdict = verdict.and(if is_known { DiffVerdict::Differs } else { DiffVerdict::Unknown });
                let why = why.map_or(only, String::as_str);
                text += &format!("#{} {}\n", n + 1, name(why));
                list.push(json!({ "number": n + 1, "unknown": why }));
                continue;
            }
        };
        let diff = RequestDiff::of(one, two);
        verdict = verdict.and(DiffVerdict::of(diff.is_usual()));
        text += &match diff.is_usual() {
            true => format!("#{} the same, but for facts that differ between any two sessions\n", n + 1),
            false => {
                let changes = changes(&diff.summary(), usual, args.bytes, Paint::out());
                format!("#{} differs\n{}{changes}", n + 1, told_text(&diff))
            }
        };
        list.push(diff.to_json());
    }
    let json = || json!({ "schema": "pellucid.diff.sessions/1", "requests": list });
    let text = if args.json { format!("{}\n", Value::to_string(&json())) } else { text };
    Ok((text, verdict))
}

/// Every request of a session, or why its bytes are not known.
pub fn requests(home: &Path, session: &str) -> Result<Vec<Result<Inspected, String>>, RequestRefusal> {
    let LookedAt { home, id, path } = capsule::look(home, session)?;
    let file = read::open(&path).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    let mut found: Vec<Result<Inspected, String>> = Vec::new();
    replay::walk(&home, &file, &mut |walked| {
        let name = format!("{id}#{}", walked.number);
        let one = match walked.bytes {
            WalkedBytes::Proved(proved) => {
                let (body, report) = (proved.body(), proved.report());
                let model = request::model_of(&body).unwrap_or_default();
                Ok(Inspected::of_body(&name, &model, proved.wire(), &body, &report))
            }
            WalkedBytes::Again(number) => match found.get(number - 1) {
                Some(Ok(earlier)) => Ok(Inspected { name, ..earlier.clone() }),
                _ => Err(format!("it repeats request {number}")),
            },
            WalkedBytes::Unknown(why) => Err(why),
        };
        found.push(one);
        std::ops::ControlFlow::Continue(())
    })
    .map_err(|error| ProgramFailure::new(format!("{id}: {error}")))?;
    Ok(found)
}
