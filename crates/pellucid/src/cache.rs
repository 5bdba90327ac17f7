//! `cache`: what came of the provider's cache for every request of a session, and why.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use pellucid_agent::replay;
use pellucid_agent::replay::WalkedBytes;
use pellucid_answers::cache::CacheAnswer;
use pellucid_answers::cache::CacheRow;
use pellucid_answers::cache::NextInCache;
use pellucid_answers::cache::advice;
use pellucid_answers::cache::span;
use pellucid_answers::cost::UsedPrice;
use pellucid_answers::diff::RequestDiff;
use pellucid_answers::figures::GatheredFigures;
use pellucid_answers::figures::ReachedRequest;
use pellucid_answers::figures::RequestFigures;
use pellucid_answers::inspected::Inspected;
use pellucid_protocol::price::Money;
use pellucid_store::read;
use pellucid_store::read::SessionFile;
use pellucid_store::reconstructed;
use pellucid_store::record::WATCHED_SOURCE;
use pellucid_store::token_counts::token_counts;

use crate::args::cache::CacheArgs;
use crate::args::request::RequestArgs;
use crate::args::shared::Shared;
use crate::args::turn::TurnArgs;
use crate::capsule;
use crate::capsule::LookedAt;
use crate::context::diff::changes_text;
use crate::pack::table::aligned;
use crate::prices;
use crate::print;
use crate::request;
use crate::request::ShownRequest;
use crate::screen::OutputFormat;
use crate::screen::name;
use crate::sessions;
use crate::start::ProgramFailure;
use crate::style;
use crate::style::Paint;
use crate::style::counted;
use crate::style::number;

/// The status when the session has no record to tell by.
const NO_RECORD: u8 = 3;

/// The message about a session that says nothing of its requests.
pub const NOTHING_KNOWN: &str =
    "the session has no record of what it sent and no token counts, so nothing is known of its cache";

/// How long the providers of other programs' sessions keep what they have read.
pub const KEPT_FOR: Duration = Duration::from_secs(300);

pub fn run(shared: &Shared, args: &CacheArgs) -> Result<ExitCode, ProgramFailure> {
    let home = sessions::home()?;
    let LookedAt { home: of, id, path } = capsule::meant(&args.from.home_of(&home, &args.of)?, &args.of)?;
    let file = read::open_damaged(&path).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    if let Some(number) = args.explain {
        return explain(&of, &file, number);
    }
    let Some(answer) = answer(shared, &home, &LookedAt { home: of.clone(), id, path }, &file)? else {
        style::line(&format!("error: {NOTHING_KNOWN}"));
        return Ok(ExitCode::from(NO_RECORD));
    };
    let answer = CacheAnswer { is_reconstructed: reconstructed::is_marked(&of), ..answer };
    let text = if args.json { format!("{}\n", answer.to_json()) } else { text(&answer) + &args.from.note() };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(gate(args, &answer))
}

/// What came of the provider's cache in a session; absent if nothing is known of it.
pub fn answer(
    shared: &Shared,
    home: &Path,
    looked_at: &LookedAt,
    file: &SessionFile,
) -> Result<Option<CacheAnswer>, ProgramFailure> {
    // What another program will send next is not known here.
    let is_ours = looked_at.home == home && file.meta.source != WATCHED_SOURCE;
    let has_next = |answer: &CacheAnswer| is_ours && !answer.is_estimated;
    Ok(recorded(looked_at, file, home)?.map(|answer| match has_next(&answer) {
        true => CacheAnswer { next: Some(next(shared, &looked_at.id)), ..answer },
        false => answer,
    }))
}

/// What came of the provider's cache, without how the next request would continue.
///
/// # Errors
/// When the files of the session or the prices of the home folder cannot be read.
pub fn recorded(looked_at: &LookedAt, file: &SessionFile, home: &Path) -> Result<Option<CacheAnswer>, ProgramFailure> {
    let LookedAt { home: of, path, .. } = looked_at;
    let figures = figures(of, file)?;
    let prices = prices::table(home)?;
    if !figures.is_empty() {
        return Ok(Some(CacheAnswer::of(&figures, &prices)));
    }
    let counts = token_counts(path).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    let estimated = || CacheAnswer::estimated(&RequestFigures::estimated(&counts, KEPT_FOR), &prices);
    Ok((!counts.is_empty()).then(estimated))
}

/// How the next request of a stored session, without a message, would continue the last one.
fn next(shared: &Shared, id: &str) -> NextInCache {
    let asked = RequestArgs { word: Some(format!("{id}#next")), is_quiet: true, ..RequestArgs::default() };
    match request::shown(shared, &TurnArgs::default(), &asked) {
        Ok(ShownRequest::Coming(coming)) => match request::first_line(&coming.next) {
            Some(line) => NextInCache::Unknown(line),
            None => NextInCache::of(coming.next.report.continuity.as_ref()),
        },
        Ok(ShownRequest::Sent(_) | ShownRequest::Saved(_)) => {
            NextInCache::Unknown("the session has no next request".to_owned())
        }
        Err(refusal) => NextInCache::Unknown(refusal.text().lines().next().unwrap_or_default().to_owned()),
    }
}

/// What came of the provider's cache in a session, as text; absent if it sent nothing yet.
pub fn session_text(home: &Path, file: &Path) -> Result<Option<String>, ProgramFailure> {
    if !file.is_file() {
        return Ok(None);
    }
    let file = read::open(file).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    let figures = figures(home, &file)?;
    let prices = prices::table(home)?;
    Ok((!figures.is_empty()).then(|| text(&CacheAnswer::of(&figures, &prices))))
}

/// What a session has cost, as far as its record shows it.
pub fn session_cost(home: &Path, file: &Path) -> Option<Money> {
    let file = read::open(file).ok()?;
    let figures = figures(home, &file).ok()?;
    CacheAnswer::of(&figures, &prices::table(home).ok()?).cost
}

/// The figures of every request that the record has.
pub fn figures(home: &Path, file: &SessionFile) -> Result<Vec<RequestFigures>, ProgramFailure> {
    let mut figures = GatheredFigures::default();
    replay::walk(home, file, &mut |walked| {
        let model = match &walked.bytes {
            WalkedBytes::Proved(proved) => Some((proved.model(), proved.wire())),
            WalkedBytes::Again(_) | WalkedBytes::Unknown(_) => None,
        };
        figures.add(ReachedRequest {
            number: walked.number,
            entry: walked.entry,
            reply: walked.reply,
            terms: walked.terms,
            known: model.as_ref().map(|(model, wire)| (model.as_deref(), *wire)),
        });
        ControlFlow::Continue(())
    })
    .map_err(|error| ProgramFailure::new(format!("{error}")))?;
    Ok(figures.finish())
}

/// The status of the limits that were given, with a line for each that is exceeded.
fn gate(args: &CacheArgs, answer: &CacheAnswer) -> ExitCode {
    let mut is_over = false;
    let mut over = |what: &str, found: String, limit: String| {
        style::line(&format!("error: {what}: {found}, and at most {limit} were allowed"));
        is_over = true;
    };
    if let Some(max) = args.max_breaks.filter(|max| answer.n_breaks > *max) {
        over("requests that diverge from the one before", number(answer.n_breaks), number(max));
    }
    if let Some(max) = args.max_rebilled.filter(|max| answer.tokens_rebilled as u64 > *max) {
        let max = number(usize::try_from(max).unwrap_or(usize::MAX));
        over("tokens that were paid for again", number(answer.tokens_rebilled), max);
    }
    ExitCode::from(u8::from(is_over))
}

fn text(answer: &CacheAnswer) -> String {
    let row = |row: &CacheRow| {
        let detail = row.detail();
        let verdict = row.verdict.verdict.as_str();
        vec![
            format!("#{}", row.number),
            row.sent_at.as_deref().and_then(|at| at.get(11..19)).unwrap_or("-").to_owned(),
            number(row.sent),
            number(row.kept),
            number(row.sent - row.kept),
            number(row.rebilled),
            row.read.map_or_else(|| "-".to_owned(), style::thousands),
            row.cost.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
            if detail.is_empty() { verdict.to_owned() } else { format!("{verdict}: {detail}") },
        ]
    };
    let rows: Vec<Vec<String>> = answer.rows.iter().map(row).collect();
    let headings = ["#", "SENT AT", "TOKENS", "KEPT", "NEW", "PAID AGAIN", "CACHED", "COST", "VERDICT"];
    let mut text = aligned(&headings, &rows, &[2, 3, 4, 5, 6, 7]);
    if answer.is_estimated {
        text += "estimated: the session has no record of what it sent; a request that is `missed` may have diverged\n";
    }
    let times = answer.times_over().map_or_else(String::new, |times| format!("each token was sent {times:.2} times; "));
    let again = number(answer.tokens_rebilled);
    let cost = match (&answer.cost_rebilled, &answer.cost) {
        (Some(again), Some(all)) => format!(", {again} of {all}"),
        _ if answer.prices.iter().all(|price| price.from.is_some()) => {
            ", the cost is unknown: the provider did not count the tokens of every request".to_owned()
        }
        _ => ", the price is unknown".to_owned(),
    };
    text += &format!("{}; {times}{again} tokens paid for again{cost}\n", counted(answer.n_breaks, "break"));
    text += &next_text(answer);
    text += &format!("{}\n", name(&UsedPrice::line(&answer.prices)));
    text
}

fn next_text(answer: &CacheAnswer) -> String {
    let said = match &answer.next {
        None => return String::new(),
        Some(NextInCache::Extends) => "extends".to_owned(),
        Some(NextInCache::Diverges { part, cause, tokens_rebilled }) => {
            format!("diverges at {} ({cause}), {} paid for again", name(part), counted(*tokens_rebilled, "token"))
        }
        Some(NextInCache::Unknown(why)) => format!("unknown: {}", name(why)),
    };
    let kept = match answer.cache_seconds() {
        Some(seconds) => format!("; the provider keeps what it has read for {}", span(seconds)),
        None => String::new(),
    };
    format!("next request: {said}{kept}\n")
}

/// Shows the texts around the place where a request diverges.
fn explain(home: &Path, file: &SessionFile, wanted: usize) -> Result<ExitCode, ProgramFailure> {
    let (mut before, mut found, mut why) = (None, None, None);
    let n = replay::walk(home, file, &mut |walked| {
        let is_answer = walked.entry.is_some_and(|entry| matches!(entry.purpose.word(), "answer" | "answer_again"));
        match walked.bytes {
            WalkedBytes::Proved(proved) if is_answer || walked.number == wanted => {
                let name = format!("#{}", walked.number);
                let (body, report) = (proved.body(), proved.report());
                let model = request::model_of(&body).unwrap_or_default();
                let inspected = Inspected::of_body(&name, &model, proved.wire(), &body, &report);
                if walked.number == wanted { found = Some(inspected) } else { before = Some(inspected) }
            }
            WalkedBytes::Again(number) if walked.number == wanted => why = Some(format!("it repeats request {number}")),
            WalkedBytes::Unknown(reason) if walked.number == wanted => why = Some(reason),
            _ => {}
        }
        if walked.number >= wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .map_err(|error| ProgramFailure::new(format!("{error}")))?;
    let (before, found) = match (before, found, why) {
        (Some(before), Some(found), _) => (before, found),
        (_, _, Some(why)) => return Err(ProgramFailure::new(format!("request {wanted} cannot be compared: {why}"))),
        (None, Some(_), _) => {
            print::out(&format!(
                "request {wanted} is the first one, so there is nothing that it could diverge from\n"
            ))?;
            return Ok(ExitCode::SUCCESS);
        }
        (_, None, None) => {
            return Err(ProgramFailure::usage(format!("there is no request {wanted}: the session has {n}")));
        }
    };
    let diff = RequestDiff::of(&before, &found);
    let Some(broken) = diff.continuity.as_ref().and_then(|it| it.broken.as_ref()) else {
        print::out(&format!("request {wanted} begins with all that the model read of {}\n", before.name))?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut text = format!(
        "request {wanted} diverges from {} at {}, byte {} ({}): {} tokens are paid for again\n\n",
        before.name,
        broken.part,
        number(broken.first_byte),
        broken.cause.as_str(),
        number(broken.tokens_rebilled)
    );
    text += &changes_text(&diff.summary(), Paint::out());
    text += &format!("\nto avoid it: {}\n", advice(broken.cause));
    print::out(&text)?;
    Ok(ExitCode::SUCCESS)
}
