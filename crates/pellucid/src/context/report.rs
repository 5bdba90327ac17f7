//! The report of one request: as it would be sent, or as it was.

use std::path::PathBuf;

use pellucid_agent::memories::MemoryStanding;
use pellucid_agent::replay::RebuiltRequest;
use pellucid_agent::sandbox::SandboxReport;
use pellucid_agent::session::NextPurpose;
use pellucid_agent::session::Session;
use pellucid_agent::session::UnfinishedRequest;
use pellucid_answers::inspected::Inspected;
use pellucid_answers::mcp_shares::mcp_shares;
use pellucid_engine::digest::Digest;
use pellucid_engine::prices::PriceEntry;
use pellucid_engine::report::Report;
use pellucid_engine::report::ReportJson;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_exec::sandbox::Backend;
use pellucid_model::catalogue::Catalogue;
use pellucid_model::catalogue::CatalogueMatch;
use pellucid_protocol::settings::TruncationPolicy;
use pellucid_store::requests::entry::ReplyEntry;
use pellucid_tokens::Exact;
use serde_json::Value;
use serde_json::json;

use crate::args::context::ContextArgs;
use crate::args::context::ContextForm;
use crate::args::shared::Shared;
use crate::context::forms;
use crate::context::head::Head;
use crate::context::inherited;
use crate::context::outputs;
use crate::context::overview;
use crate::context::saved;
use crate::context::table::groups;
use crate::context::table::table;
use crate::fit;
use crate::inspected;
use crate::prices;
use crate::print;
use crate::request;
use crate::request::Coming;
use crate::request::PastRequest;
use crate::request::RequestRefusal;
use crate::request::ShownRequest;
use crate::request::certain;
use crate::screen::OutputFormat;
use crate::screen::StandardStream;
use crate::start;
use crate::start::ProgramFailure;
use crate::style;
use crate::style::Paint;
use crate::style::number;

/// With so many `-v` every part is listed.
const TABLE_LEVEL: u8 = 2;

pub fn print_report(shared: &Shared, args: &ContextArgs) -> Result<(), RequestRefusal> {
    let text = match request::shown(shared, &args.turn, &args.request)? {
        ShownRequest::Coming(mut coming) => match args.form {
            Some(form) => {
                certain::tell(&coming.reasons);
                forms::shown(form, &coming)
            }
            None => of_coming(shared, &mut coming, args)?,
        },
        ShownRequest::Sent(mut sent) => match args.form {
            Some(ContextForm::Map) => forms::map(&sent.rebuilt.report),
            Some(ContextForm::Injections) => forms::sent_injections(&sent.rebuilt.entry, &sent.rebuilt.report),
            Some(_) => {
                return Err(RequestRefusal::unknown(
                    "--form list, detail and json are for a request that was not sent yet; --form map and injections are for any request",
                ));
            }
            None => of_sent(shared, &mut sent, args)?,
        },
        ShownRequest::Saved(report) if args.json => format!("{report}\n"),
        ShownRequest::Saved(report) if args.form.is_none() => saved::table(&report),
        ShownRequest::Saved(_) => return Err(RequestRefusal::unknown("a saved report cannot be shown with --form")),
    };
    let is_json = args.json || matches!(args.form, Some(ContextForm::Json));
    Ok(print::report(&text, OutputFormat::of(is_json))?)
}

/// The report of a request that would be sent.
fn of_coming(shared: &Shared, coming: &mut Coming, args: &ContextArgs) -> Result<String, ProgramFailure> {
    let id = coming.session.id().to_string();
    // Both read session files, which may be long; the first screen has to be quick.
    let is_whole = args.json || args.verbose > 0;
    let inherited =
        is_whole.then(|| inherited::of(shared, &id, || inspected::of_coming(&coming.name, coming))).flatten();
    let cut = if is_whole { outputs::of(&id) } else { Vec::new() };
    let Coming { name, session, next, reasons } = coming;
    let model = session.facts().settings.model.slug.clone();
    let count_note = args.exact_tokens.then(|| count(&mut next.report, &next.request.body(), &model)).flatten();
    let sandbox = session.sandbox();
    if args.json {
        let mut value = json(session, &next.report, &sandbox, count_note.as_deref());
        value.head["request"] = json!({ "name": name, "purpose": next.purpose.as_str() });
        if let Some(due) = next.due {
            value.head["compaction"] = json!({ "tokens": due.tokens, "compacts_at": due.compacts_at });
        }
        if let Some(plan) = &next.plan {
            value.head["plan"] = plan_json(plan);
        }
        if let Some(inherited) = inherited {
            value.head["inherited"] = json!(inherited);
        }
        if !cut.is_empty() {
            value.head["cut_outputs"] = json!(cut);
        }
        add_servers(&mut value, &next.report);
        certain::add_to(&mut value.head, reasons);
        return line(&value);
    }
    let inherited = inherited.as_ref().map(inherited::line);
    let cut = outputs::line(&cut, &id);
    let head = Head {
        first: request::first_line(next),
        sandbox: Some(sandbox),
        notes: count_note
            .into_iter()
            .chain(certain::line(reasons))
            .chain(memory_line(session, &next.report))
            .chain(inherited)
            .chain(cut)
            .collect(),
        ..Head::of(session)
    };
    let plan = next.plan.as_ref();
    if args.verbose >= TABLE_LEVEL {
        return Ok(table(&head, &next.report, Paint::out()) + &plan.map_or_else(String::new, plan_text));
    }
    let drawing = drawing(Some(session), Paint::out(), args.verbose);
    let line = plan.map(request::plan_line);
    let mut text = overview::text(&head, &next.report, &window_of(session, &next.report), line.as_deref(), &drawing);
    if let (Some(plan), true) = (plan, drawing.is_open) {
        text += &plan_text(plan);
    }
    Ok(text)
}

/// Adds what MCP servers take up, if they take up anything.
fn add_servers(json: &mut ReportJson<'_>, report: &Report) {
    let shares = mcp_shares(report);
    if !shares.is_empty() {
        json.head["mcp_servers"] = json!(shares);
    }
}

/// A report as a line of JSON.
fn line(report: &ReportJson<'_>) -> Result<String, ProgramFailure> {
    let text = serde_json::to_string(report);
    text.map(|text| text + "\n").map_err(|error| ProgramFailure::new(format!("the report cannot be printed: {error}")))
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
        "rows": plan.report.rows_json().collect::<Value>(),
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
fn of_sent(shared: &Shared, sent: &mut PastRequest, args: &ContextArgs) -> Result<String, ProgramFailure> {
    let name = sent.name();
    let session = &sent.session;
    let model = sent.rebuilt.model();
    let RebuiltRequest { number: _, of, entry, reply, body, report, wire, .. } = &mut sent.rebuilt;
    let is_whole = args.json || args.verbose > 0;
    let of_body = || Inspected::of_body(&name, &model, *wire, body, report);
    let inherited = is_whole.then(|| inherited::of(shared, session, of_body)).flatten();
    let count_note = args.exact_tokens.then(|| count(report, body, &model)).flatten();
    let purpose = entry.purpose.word();
    if args.json {
        let mut value = report.to_json();
        value.head["model"] = model.into();
        value.head["request"] =
            json!({ "name": name, "purpose": purpose, "of": of, "turn": entry.turn, "sha256": entry.body });
        if let Some(note) = count_note {
            value.head["note"] = note.into();
        }
        if let Some(inherited) = inherited {
            value.head["inherited"] = json!(inherited);
        }
        add_servers(&mut value, report);
        certain::add_to(&mut value.head, &[]);
        return line(&value);
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
    let notes = count_note.into_iter().chain(inherited.as_ref().map(inherited::line)).collect();
    let head = Head { first, model, usage, notes, ..Head::default() };
    if args.verbose >= TABLE_LEVEL {
        return Ok(table(&head, report, Paint::out()));
    }
    Ok(overview::text(&head, report, &window, None, &drawing(None, Paint::out(), args.verbose)))
}

/// The window of a model that the catalogue knows.
pub fn known_window(model: &str) -> Option<i64> {
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
        line(&json(session, &report, &sandbox, None))?
    } else {
        let head = Head { sandbox: Some(sandbox), ..Head::of(session) };
        overview::text(&head, &report, &window_of(session, &report), None, &drawing(Some(session), paint, 1))
    };
    print::report(&text, OutputFormat::of(as_json))
}

/// Counts the report's tokens with the model's encoding, or says why they stay estimated.
fn count(report: &mut Report, body: &[u8], model: &str) -> Option<String> {
    match Exact::for_model(model) {
        Ok(exact) => {
            report.count(body, &exact);
            let images = report.image_bytes;
            (images > 0).then(|| format!("{} bytes of images are not counted as tokens", number(images)))
        }
        Err(error) => Some(format!("{error}; tokens are estimated from bytes")),
    }
}

/// What the session remembers, on one line.
fn memory_line(session: &Session, report: &Report) -> Option<String> {
    match MemoryStanding::of(session, report) {
        Ok(standing) => standing.line(),
        Err(error) => Some(format!("where memories come from is not known: {error}")),
    }
}

fn json<'r>(session: &Session, report: &'r Report, sandbox: &SandboxReport, note: Option<&str>) -> ReportJson<'r> {
    let mut json = report.to_json();
    let value = &mut json.head;
    value["model"] = session.facts().settings.model.slug.as_str().into();
    value["pack"] = session.pack().name.as_str().into();
    value["sandbox"] = json!({
        "mode": sandbox.mode,
        "backend": sandbox.backend.map(Backend::as_str),
        "why": sandbox.why,
        "gaps": sandbox.gaps.iter().map(|gap| gap.id).collect::<Vec<_>>(),
    });
    value["memory"] = match MemoryStanding::of(session, report) {
        Ok(standing) => json!(standing),
        Err(error) => json!({ "error": error.to_string() }),
    };
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
    json
}

#[cfg(test)]
mod tests {
    use std::fs;

    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::args::turn::StartArgs;
    use crate::start::Start;

    /// Checks what the table says first, and of the instruction file.
    #[track_caller]
    fn check_tokens(model: &str, exact: bool, expected: &Expect) {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join("AGENTS.md"), "# Rules\n\n日本語 \"quoted\" and `code`.\n").unwrap();
        let turn = StartArgs { cd: Some(project), model: Some(model.to_owned()), ..StartArgs::default() };
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
