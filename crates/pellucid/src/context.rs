//! `context`: what a request is made of, on one screen, as a table or as JSON.
//!
//! The first screen is in `context/overview.rs`, other forms in `context/forms.rs`, reports that were saved in
//! `context/saved.rs`.

mod bisect;
mod check;
pub mod diff;
mod forms;
pub mod lock;
mod overview;
mod packs;
mod saved;
mod why;

use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_agent::replay::RebuiltRequest;
use pellucid_agent::sandbox::SandboxReport;
use pellucid_agent::session::NextPurpose;
use pellucid_agent::session::Session;
use pellucid_agent::session::UnfinishedRequest;
use pellucid_engine::continuity::Continuity;
use pellucid_engine::digest::Digest;
use pellucid_engine::documents::listed::InstructionFile;
use pellucid_engine::facts::Fate;
use pellucid_engine::fragment::Origin;
use pellucid_engine::prices::PriceEntry;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;
use pellucid_engine::report::SourceStatus;
use pellucid_engine::report::fate_text;
use pellucid_engine::report::why_text;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_exec::sandbox::Backend;
use pellucid_model::catalogue::Catalogue;
use pellucid_model::catalogue::CatalogueMatch;
use pellucid_protocol::cache::CacheChange;
use pellucid_protocol::settings::TruncationPolicy;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::requests::entry::ReplyEntry;
use pellucid_tokens::Exact;
use serde_json::Value;
use serde_json::json;

use crate::args::context::ContextArgs;
use crate::args::context::ContextCommand;
use crate::args::context::ContextForm;
use crate::args::shared::Shared;
use crate::fit;
use crate::prices;
use crate::print;
use crate::replay::paid_again;
use crate::request;
use crate::request::Coming;
use crate::request::PastRequest;
use crate::request::RequestRefusal;
use crate::request::ShownRequest;
use crate::request::certain;
use crate::screen::OutputFormat;
use crate::screen::StandardStream;
use crate::screen::name;
use crate::start;
use crate::start::ProgramFailure;
use crate::style;
use crate::style::Paint;
use crate::style::thousands;

/// With so many `-v` every part is listed.
const TABLE_LEVEL: u8 = 2;

pub fn run(shared: &Shared, args: &ContextArgs) -> Result<ExitCode, ProgramFailure> {
    if let Some(command) = &args.command {
        return match command {
            ContextCommand::Diff(args) => diff::run(shared, args),
            ContextCommand::Lock(args) => lock::run(shared, args),
            ContextCommand::Check(args) => check::run(shared, args),
            ContextCommand::Why(args) => why::run(shared, args),
            ContextCommand::Packs(args) => packs::run(shared, args),
            ContextCommand::Bisect(args) => bisect::run(shared, args),
        };
    }
    match print_report(shared, args) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(refusal) => Ok(refusal.show()),
    }
}

fn print_report(shared: &Shared, args: &ContextArgs) -> Result<(), RequestRefusal> {
    let text = match request::shown(shared, &args.turn, &args.request)? {
        ShownRequest::Coming(mut coming) => match args.form {
            Some(form) => {
                certain::tell(&coming.reasons);
                forms::shown(form, &coming)?
            }
            None => of_coming(&mut coming, args),
        },
        ShownRequest::Sent(mut sent) => match args.form {
            Some(ContextForm::Map) => forms::map(&sent.rebuilt.report),
            Some(_) => {
                return Err(RequestRefusal::unknown(
                    "--form list, detail and json are for a request that was not sent yet; --form map is for any request",
                ));
            }
            None => of_sent(&mut sent, args)?,
        },
        ShownRequest::Saved(report) if args.json => format!("{report}\n"),
        ShownRequest::Saved(report) if args.form.is_none() => saved::table(&report),
        ShownRequest::Saved(_) => return Err(RequestRefusal::unknown("a saved report cannot be shown with --form")),
    };
    let is_json = args.json || matches!(args.form, Some(ContextForm::Json));
    Ok(print::either(&text, OutputFormat::of(is_json))?)
}

/// The report of a request that would be sent.
fn of_coming(coming: &mut Coming, args: &ContextArgs) -> String {
    let Coming { name, session, next, reasons } = coming;
    let model = session.facts().settings.model.slug.clone();
    let count_note = args.exact_tokens.then(|| count(&mut next.report, &next.request.body(), &model)).flatten();
    let sandbox = session.sandbox();
    if args.json {
        let mut value = json(session, &next.report, &sandbox, count_note.as_deref());
        value["request"] = json!({ "name": name, "purpose": next.purpose.as_str() });
        if let Some(due) = next.due {
            value["compaction"] = json!({ "tokens": due.tokens, "compacts_at": due.compacts_at });
        }
        if let Some(plan) = &next.plan {
            value["plan"] = plan_json(plan);
        }
        certain::add_to(&mut value, reasons);
        return format!("{value}\n");
    }
    let head = Head {
        first: request::first_line(next),
        sandbox: Some(sandbox),
        notes: count_note.into_iter().chain(certain::line(reasons)).collect(),
        ..Head::of(session)
    };
    let plan = next.plan.as_ref();
    if args.verbose >= TABLE_LEVEL {
        return table(&head, &next.report, Paint::out()) + &plan.map_or_else(String::new, plan_text);
    }
    let drawing = drawing(Some(session), Paint::out(), args.verbose);
    let line = plan.map(request::plan_line);
    let mut text = overview::text(&head, &next.report, &window_of(session, &next.report), line.as_deref(), &drawing);
    if let (Some(plan), true) = (plan, drawing.is_open) {
        text += &plan_text(plan);
    }
    text
}

/// How the first screen is drawn.
fn drawing(session: Option<&Session>, paint: Paint, verbose: u8) -> overview::Drawing {
    let here = || std::env::current_dir().unwrap_or_default();
    overview::Drawing {
        columns: StandardStream::Out.columns(),
        paint,
        folder: session.map_or_else(here, |session| PathBuf::from(&session.facts().settings.cwd)),
        user: fit::user_folder(),
        is_open: verbose > 0,
    }
}

/// How full the window would be with a session's next request.
fn window_of(session: &Session, report: &Report) -> overview::WindowFacts {
    let model = &session.facts().settings.model;
    let cached = match &report.continuity {
        Some(continuity) => overview::CachedPart::UpTo(tokens_of_bytes(continuity.kept_bytes)),
        None => overview::CachedPart::Nothing,
    };
    overview::WindowFacts { size: model.effective_window(), cached, price: price_of(&model.slug, None) }
}

/// What tokens of a model cost on the day of a request, or today. A file of prices that cannot be read is a warning: the
/// report is worth printing without prices.
fn price_of(model: &str, sent_at: Option<&str>) -> Option<PriceEntry> {
    let table = start::find_home().and_then(|home| prices::table(&home));
    let table = table.map_err(|failure| style::line(&format!("warning: {}", failure.text()))).ok()?;
    let day = sent_at.map_or_else(|| jiff::Timestamp::now().to_string(), str::to_owned);
    table.of(model, &day).cloned()
}

/// The plan of the turn that follows a request for a summary.
fn plan_json(plan: &UnfinishedRequest) -> Value {
    let (before, after) = (&plan.body[..plan.hole.start], &plan.body[plan.hole.end..]);
    let fixed = |bytes: &[u8]| json!({ "bytes": bytes.len(), "sha256": Digest::of([bytes]).to_string() });
    json!({
        "purpose": NextPurpose::Answer.as_str(),
        "before": fixed(before),
        "hole": { "start": plan.hole.start, "bytes": plan.hole.len(), "tokens_min": 0, "tokens_max": plan.tokens_max },
        "after": fixed(after),
        "rows": plan.report.to_json()["rows"],
    })
}

fn plan_text(plan: &UnfinishedRequest) -> String {
    let mut text = format!("\n{}\n", request::plan_line(plan));
    for group in groups(&plan.report.rows) {
        let first = group.rows[0];
        let is_hole = group.rows.iter().any(|row| row.start == plan.hole.start);
        let (bytes, what) = if is_hole { ("?".to_owned(), " (not known yet)") } else { (number(group.bytes()), "") };
        text += &format!("{bytes:>8}          {}{what}\n", first.part);
    }
    text
}

/// The report of a request that was sent.
fn of_sent(sent: &mut PastRequest, args: &ContextArgs) -> Result<String, ProgramFailure> {
    let name = sent.name();
    let RebuiltRequest { number: _, of, entry, reply, body, report, .. } = &mut sent.rebuilt;
    let model = request::model_of(body)?;
    let count_note = args.exact_tokens.then(|| count(report, body, &model)).flatten();
    let purpose = entry.purpose.word();
    if args.json {
        let mut value = report.to_json();
        value["model"] = model.into();
        value["request"] =
            json!({ "name": name, "purpose": purpose, "of": of, "turn": entry.turn, "sha256": entry.body });
        if let Some(note) = count_note {
            value["note"] = note.into();
        }
        certain::add_to(&mut value, &[]);
        return Ok(format!("{value}\n"));
    }
    let first = Some(format!("{name} of {of}, as it was sent ({purpose}); SHA-256 {}", entry.body));
    let usage = reply.as_ref().and_then(ReplyEntry::split);
    let size = known_window(&model);
    let window = overview::WindowFacts {
        size,
        cached: match &usage {
            Some(usage) => overview::CachedPart::Reported(usize::try_from(usage.cached_read).unwrap_or(0)),
            None => overview::CachedPart::Nothing,
        },
        price: price_of(&model, entry.sent_at.as_deref()),
    };
    let usage = usage.unwrap_or_default();
    let head = Head { first, model, usage, notes: count_note.into_iter().collect(), ..Head::default() };
    if args.verbose >= TABLE_LEVEL {
        return Ok(table(&head, report, Paint::out()));
    }
    Ok(overview::text(&head, report, &window, None, &drawing(None, Paint::out(), args.verbose)))
}

/// The window of a model that the catalogue knows.
fn known_window(model: &str) -> Option<i64> {
    match Catalogue::builtin().lookup(model) {
        (_, CatalogueMatch::Fallback) => None,
        (model, _) => model.effective_window(),
    }
}

/// Prints the report of the session's last request, its groups opened.
pub fn print(session: &Session, as_json: bool, paint: Paint) -> Result<(), ProgramFailure> {
    let Some(report) = session.report() else {
        return Err(ProgramFailure::new("no request was made, so there is nothing to report"));
    };
    let sandbox = session.sandbox();
    let text = if as_json {
        format!("{}\n", json(session, &report, &sandbox, None))
    } else {
        let head = Head { sandbox: Some(sandbox), ..Head::of(session) };
        overview::text(&head, &report, &window_of(session, &report), None, &drawing(Some(session), paint, 1))
    };
    print::either(&text, OutputFormat::of(as_json))
}

/// Counts the report's tokens with the model's encoding, or says why they stay estimated.
fn count(report: &mut Report, body: &[u8], model: &str) -> Option<String> {
    match Exact::for_model(model) {
        Ok(exact) => {
            report.count(body, &exact);
            let pictures = report.picture_bytes;
            (pictures > 0).then(|| format!("{} bytes of images are not counted as tokens", number(pictures)))
        }
        Err(error) => Some(format!("{error}; tokens are estimated from bytes")),
    }
}

fn json(session: &Session, report: &Report, sandbox: &SandboxReport, note: Option<&str>) -> Value {
    let mut value = report.to_json();
    value["model"] = session.facts().settings.model.slug.as_str().into();
    value["pack"] = session.pack().name.as_str().into();
    value["sandbox"] = json!({
        "mode": sandbox.mode,
        "backend": sandbox.backend.map(Backend::as_str),
        "why": sandbox.why,
        "gaps": sandbox.gaps.iter().map(|gap| gap.id).collect::<Vec<_>>(),
    });
    let usage = session.usage_split();
    if !usage.is_empty() {
        value["usage"] = json!(usage);
    }
    let model = &session.facts().settings.model;
    value["window"] = json!({
        "tokens": session.tokens(),
        "compacts_at": session.compaction_limit(),
        "size": model.effective_window(),
    });
    let TruncationPolicy { mode, limit } = model.truncation_policy;
    value["tool_output_limit"] = json!({ "unit": mode, "limit": limit });
    if let Some(note) = note {
        value["note"] = note.into();
    }
    value
}

/// The lines above the table of a report.
#[derive(Debug, Default)]
struct Head {
    /// A line above all others: why this request is not an ordinary one.
    first: Option<String>,
    model: String,
    pack: Option<String>,
    usage: UsageSplit,
    sandbox: Option<SandboxReport>,
    notes: Vec<String>,
}

impl Head {
    /// The lines for a stored session.
    fn of(session: &Session) -> Self {
        let (model, pack) = (session.facts().settings.model.slug.clone(), Some(session.pack().name.clone()));
        Self { model, pack, usage: session.usage_split(), ..Self::default() }
    }
}

/// Rows that belong together: one part of one item.
struct Group<'a> {
    rows: Vec<&'a Row>,
}

impl Group<'_> {
    fn bytes(&self) -> usize {
        self.rows.iter().map(|row| row.bytes).sum()
    }

    fn tokens(&self) -> usize {
        self.rows.iter().map(|row| row.tokens).sum()
    }
}

/// The line with the size of a request, its model and its pack.
fn request_line(head: &Head, report: &Report) -> String {
    let (bytes, tokens) = (number(report.bytes()), number(report.tokens()));
    let tokens = match &report.counted_by {
        encoding if report.is_counted() => format!("{tokens} tokens by {encoding}"),
        _ => format!("about {tokens} tokens"),
    };
    let pack = head.pack.as_ref().map_or_else(String::new, |pack| format!(", pack {pack}"));
    format!("request: {bytes} bytes, {tokens}; model {}{pack}", head.model)
}

/// Every part of a request in the order of its bytes.
fn table(head: &Head, report: &Report, paint: Paint) -> String {
    let mut text = head.first.as_ref().map_or_else(String::new, |first| format!("{first}\n"));
    text += &format!("{}\n", request_line(head, report));
    if let Some(continuity) = &report.continuity {
        text += &continuity_line(continuity);
    }
    if !head.usage.is_empty() {
        text += &format!("spent: {}\n", usage_text(&head.usage));
    }
    if let Some(sandbox) = &head.sandbox {
        text += &format!("sandbox: {}: {}\n", sandbox.mode, sandbox.why);
    }
    for note in &head.notes {
        text += &format!("note: {note}\n");
    }
    text.push('\n');
    text += &paint.bold(&format!("{:>8} {:>7}  {:<36} {}", "bytes", "tokens", "part", "from"));
    text.push('\n');
    for group in groups(&report.rows) {
        let first = group.rows[0];
        let name = match &first.role {
            Some(role) if role.as_ref() != first.part.as_ref() => format!("{} ({role})", first.part),
            _ => first.part.to_string(),
        };
        let origins = origins(&group.rows);
        let one_line = if let [(origin, ..)] = origins.as_slice() { origin.as_str() } else { "" };
        let line = format!("{:>8} {:>7}  {name:<36} {one_line}", number(group.bytes()), number(group.tokens()));
        text += &paint.cyan(line.trim_end());
        text.push('\n');
        if origins.len() > 1 {
            for (origin, bytes, tokens) in origins {
                text += &paint.dim(&format!("{:>8} {:>7}      {:<32} {origin}", number(bytes), number(tokens), ""));
                text.push('\n');
            }
        }
    }
    text + &below_rows(report, paint)
}

/// What a report says besides its rows: files that changed, repetitions, omissions, files that were looked for, hidden text.
fn below_rows(report: &Report, paint: Paint) -> String {
    [changed_files(report, paint), said_again(report, paint), left_out(report, paint), hidden_text(report, paint)]
        .concat()
}

fn counted_tokens(tokens: i64) -> String {
    let ending = if tokens == 1 { "" } else { "s" };
    format!("{} token{ending}", thousands(tokens))
}

/// Token counts of requests as a line for people: cached, sent without the cache, answered.
pub fn usage_text(usage: &UsageSplit) -> String {
    let read = format!("{} read from the cache", counted_tokens(usage.cached_read));
    let written = usage.cache_write.map_or_else(String::new, |it| format!(", {} written to it", thousands(it)));
    format!("{read}{written}, {} sent without it, {} answered", thousands(usage.uncached), thousands(usage.output))
}

/// How the request continues the one before, which is what providers cache.
fn continuity_line(continuity: &Continuity) -> String {
    let (kept, of) = (number(continuity.kept_bytes), number(continuity.previous_bytes));
    let mut text = match &continuity.broken {
        None if continuity.is_shortened => {
            format!("shortens the request before: {kept} of the {of} bytes that the model read of it are kept\n")
        }
        None => format!("extends the request before: all {of} bytes that the model read of it are kept\n"),
        Some(broken) => format!(
            "differs from the request before, in {} ({}): {kept} of the {of} bytes that the model read of it are kept; {}\n",
            broken.part,
            broken.cause.as_str(),
            paid_again(broken.tokens_rebilled)
        ),
    };
    for change in &continuity.changes {
        text += &format!("  {}\n", change_text(change));
    }
    text
}

/// Describes a part of the request that changed since the request before.
pub fn change_text(change: &CacheChange) -> String {
    let source = if change.source.is_empty() { String::new() } else { format!(", from {}", change.source) };
    let unread = if change.is_read { "" } else { " (taken as not read by the model)" };
    format!("{}: {}{source}{unread}", change.how, change.part)
}

/// The lines about instructions that were repeated, with their cost in bytes.
fn said_again(report: &Report, paint: Paint) -> String {
    if report.said_again.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", paint.bold("instructions repeated so far"));
    for (part, said) in &report.said_again {
        let (times, tokens) = (said.count, said.tokens);
        text += &format!("  {part}: {times} times, about {tokens} tokens in all; {}, {}\n", said.reason, said.sha256);
    }
    text
}

/// The files of instructions and of the pack that are not what they were for the request before.
fn changed_files(report: &Report, paint: Paint) -> String {
    if report.changed_files.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", paint.bold("files that changed"));
    for file in &report.changed_files {
        text += &paint.yellow(&format!("  {}", name(&file.to_string())));
        text.push('\n');
    }
    text
}

/// The lines about omissions, and about every instruction file that was looked for.
fn left_out(report: &Report, paint: Paint) -> String {
    let mut text = String::new();
    if !report.omissions.is_empty() {
        text += &format!("\n{}\n", paint.bold("not seen by the model"));
        for omission in &report.omissions {
            let (what, why) = (&omission.what, why_text(&omission.why));
            let line = format!("  {} ({}): {}", name(what), omission.slot, name(&why));
            text += &paint.yellow(&line);
            text.push('\n');
        }
    }
    let (read, others): (Vec<_>, Vec<_>) = report.candidates.iter().partition(|it| it.fate == Fate::Read);
    text += &format!("\n{}\n", paint.bold("instruction files looked for"));
    for candidate in &read {
        let file = report.files.iter().find(|file| file.path == candidate.path);
        text += &match file {
            Some(file) => format!("  {}\n", file_text(report, file)),
            None => format!("  {}: read\n", name(&candidate.path)),
        };
    }
    for file in report.files.iter().filter(|file| report.candidates.iter().all(|it| it.path != file.path)) {
        text += &format!("  {}\n", file_text(report, file));
    }
    for candidate in others {
        text += &paint.dim(&format!("  {}: {}", name(&candidate.path), name(&fate_text(&candidate.fate))));
        text.push('\n');
    }
    text
}

/// An instruction file with what was read of it, what of that the request has, and its hash.
fn file_text(report: &Report, file: &InstructionFile) -> String {
    let read =
        if file.n_read < file.size { format!(", its first {} bytes", number_of(file.n_read)) } else { String::new() };
    let sent = match report.delivery(file) {
        (SourceStatus::Full, _) if file.is_in_history && !report.has_rows_of(file) => {
            ", sent earlier in this session".to_owned()
        }
        (SourceStatus::Full, _) => String::new(),
        (_, 0) => ", nothing of it is in the request".to_owned(),
        (_, bytes) => format!(", {} of {} bytes are in the request", number_of(bytes), number_of(file.size)),
    };
    let target = file.target.as_ref().map(|target| format!(" (a link to {})", name(target))).unwrap_or_default();
    format!("{}{target}: read{read}{sent}, sha256 {}", name(&file.path), file.hash)
}

/// The lines about characters in instruction files that a terminal does not show.
fn hidden_text(report: &Report, paint: Paint) -> String {
    let mut text = String::new();
    for file in report.files.iter().filter(|file| !file.hidden.is_empty()) {
        if text.is_empty() {
            text += &format!("\n{}\n", paint.bold("seen by the model and not by you"));
        }
        for hidden in &file.hidden {
            text += &paint.yellow(&format!("  {}:{hidden}", name(&file.path)));
            text.push('\n');
        }
    }
    text
}

fn groups(rows: &[Row]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in rows {
        // Notation between items is counted with the item it follows.
        let continues = |group: &Group<'_>| {
            let first = group.rows[0];
            let is_notation = row.bytes == 1 || (first.item.is_some() && &*row.part == "messages");
            (first.part == row.part && first.item == row.item) || (row.origin == Origin::Wire && is_notation)
        };
        match groups.last_mut() {
            Some(group) if continues(group) => group.rows.push(row),
            _ => groups.push(Group { rows: vec![row] }),
        }
    }
    groups
}

/// The origins of a group, each once, with its bytes and tokens.
fn origins(rows: &[&Row]) -> Vec<(String, usize, usize)> {
    let mut origins: Vec<(String, usize, usize)> = Vec::new();
    for row in rows {
        let mut name = format!("{} {}", row.origin.kind(), row.origin.detail()).trim_end().to_owned();
        if let Origin::File { range, size, .. } = &row.origin
            && range.end < *size
        {
            name += &format!(" (cut at byte {} of {size})", range.end);
        }
        let name = crate::screen::name(&name).into_owned();
        match origins.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, bytes, tokens)) => {
                *bytes += row.bytes;
                *tokens += row.tokens;
            }
            None => origins.push((name, row.bytes, row.tokens)),
        }
    }
    origins
}

fn number_of(bytes: u64) -> String {
    thousands(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// A number with its thousands set apart.
pub fn number(number: usize) -> String {
    thousands(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::args::turn::TurnArgs;
    use crate::start::Start;

    /// Checks what the table says first, and of the instruction file.
    #[track_caller]
    fn check_tokens(model: &str, exact: bool, expected: &Expect) {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join("AGENTS.md"), "# Rules\n\n日本語 \"quoted\" and `code`.\n").unwrap();
        let turn = TurnArgs { cd: Some(project), model: Some(model.to_owned()), ..TurnArgs::default() };
        let start = Start::in_home(folder.path(), &Shared::default(), &turn).unwrap();
        let opening = start::Opening::New { session_id: None, keep: start::Persistence::Nothing };
        let mut session = start.session(opening).unwrap();
        session.record_input(&start::inputs(&[], Some("hello".to_owned())));
        let frame = session.frame(None);
        let body = session.request(&frame).body();
        let mut report = session.report().unwrap();
        let note = if exact { count(&mut report, &body, model) } else { None };
        let head = Head { notes: note.iter().cloned().collect(), ..Head::of(&session) };
        let text = table(&head, &report, Paint::plain());
        let head = text.lines().next().unwrap().split_once(" bytes, ").unwrap().1;
        let kind = if head.starts_with("about ") { "estimated" } else { head.rsplit_once(" tokens ").unwrap().1 };
        let file = report.rows.iter().find(|row| row.origin.kind() == "file").unwrap();
        // An estimate depends on where the row begins, and that on the folder's name.
        let tokens = if report.is_counted() { format!("the file has {}", file.tokens) } else { String::new() };
        let lines = [kind, &tokens, &note.unwrap_or_default()].map(str::to_owned);
        expected.assert_eq(lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n").as_str());
    }

    #[test]
    fn tokens_are_estimated_unless_a_count_is_asked_for() {
        check_tokens("gpt-5.2-codex", false, &expect!["estimated"]);
        check_tokens(
            "gpt-5.2-codex",
            true,
            &expect![[r#"
            by o200k_base; model gpt-5.2-codex, pack codex
            the file has 12"#]],
        );
    }

    #[test]
    fn a_model_of_unknown_encoding_is_estimated_and_the_report_says_so() {
        check_tokens(
            "test-model",
            true,
            &expect![[r#"
            estimated
            the encoding of the model `test-model` is not known; tokens are estimated from bytes"#]],
        );
    }
}
