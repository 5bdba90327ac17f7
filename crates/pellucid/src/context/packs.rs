//! `context packs`: the same facts under every pack.

use std::process::ExitCode;

use pellucid_answers::packs::FactKind;
use pellucid_answers::packs::PackCell;
use pellucid_answers::packs::PackColumn;
use pellucid_answers::packs::PackFact;
use pellucid_answers::packs::PackTable;
use pellucid_engine::pack::Pack;

use crate::args::packs::ContextPacksArgs;
use crate::args::request::RequestArgs;
use crate::args::shared::Shared;
use crate::context::diff::short;
use crate::pack;
use crate::pack::table::blocks;
use crate::print;
use crate::request;
use crate::request::Coming;
use crate::request::RequestRefusal;
use crate::request::ShownRequest;
use crate::screen::OutputFormat;
use crate::screen::StandardStream;
use crate::screen::name;
use crate::start::ProgramFailure;
use crate::style::number;

pub fn run(shared: &Shared, args: &ContextPacksArgs) -> Result<ExitCode, ProgramFailure> {
    match answer(shared, args) {
        Ok(text) => {
            print::report(&text, OutputFormat::of(args.json))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(refusal) => Ok(refusal.show_of_question()),
    }
}

/// What the command prints.
pub fn answer(shared: &Shared, args: &ContextPacksArgs) -> Result<String, RequestRefusal> {
    let mut packs: Vec<String> = Pack::builtin_names().into_iter().map(str::to_owned).collect();
    for pack in shared.pack.iter().chain(&args.with_pack) {
        if !packs.contains(pack) {
            pack::check_typed(pack).map_err(|refusal| refusal.about(&format!("pack {pack}")))?;
            packs.push(pack.clone());
        }
    }
    let mut columns = Vec::new();
    for pack in &packs {
        columns.push(column(shared, args, pack)?);
    }
    let mut packs = PackTable::of(columns);
    if args.only_differences {
        packs.keep_differences();
    }
    Ok(if args.json {
        format!("{}\n", packs.to_json())
    } else {
        text(&packs, StandardStream::Out.columns_of_terminal())
    })
}

/// The same facts under every pack that the program has, and under the one that is used, as text.
pub fn all_text(
    used: &str,
    columns: usize,
    coming: impl Fn(&str) -> Result<Coming, RequestRefusal>,
) -> Result<String, RequestRefusal> {
    let mut packs: Vec<&str> = Pack::builtin_names();
    if !packs.contains(&used) {
        packs.push(used);
    }
    let mut all = Vec::new();
    for pack in packs {
        let coming = coming(pack).map_err(|refusal| refusal.about(&format!("pack {pack}")))?;
        all.push(PackColumn::of(coming.session.pack(), coming.session.facts(), &coming.next.report));
    }
    Ok(text(&PackTable::of(all), columns))
}

/// The request that a pack makes. What warnings would say of its files is in the cells.
fn column(shared: &Shared, args: &ContextPacksArgs, pack: &str) -> Result<PackColumn, RequestRefusal> {
    let shared = Shared { pack: Some(pack.to_owned()), ..shared.clone() };
    let asked = RequestArgs { said: args.message.clone(), mcp: args.mcp, is_quiet: true, ..RequestArgs::default() };
    match request::shown(&shared, &args.turn, &asked).map_err(|refusal| refusal.about(&format!("pack {pack}")))? {
        ShownRequest::Coming(coming) => {
            let (session, next) = (&coming.session, &coming.next);
            let column = PackColumn::of(session.pack(), session.facts(), &next.report);
            Ok(if args.texts { column.with_texts(&next.report, &next.request.body()) } else { column })
        }
        ShownRequest::Sent(_) | ShownRequest::Saved(_) => {
            Err(RequestRefusal::unknown(format!("the pack {pack} makes no request here")))
        }
    }
}

fn text(packs: &PackTable, columns: usize) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in &packs.rows {
        let fact = match row.fact.kind {
            FactKind::File | FactKind::Skill => short(&row.fact.name),
            _ => name(&row.fact.name).into_owned(),
        };
        let mut cells = vec![format!("{} {fact}", row.fact.kind.as_str()).trim_end().to_owned()];
        for cell in &row.cells {
            cells.push(match &cell.why {
                None => cell_text(cell, &row.fact),
                Some(why) => {
                    let n = reasons.iter().position(|it| it == why).unwrap_or_else(|| {
                        reasons.push(why);
                        reasons.len() - 1
                    });
                    format!("[{}]", n + 1)
                }
            });
        }
        rows.push(cells);
    }
    let total = packs.columns.iter().map(|column| format!("{} / {}", number(column.bytes), number(column.tokens)));
    rows.push(std::iter::once("the request".to_owned()).chain(total).collect());
    let packs: Vec<String> = packs.columns.iter().map(|column| column.pack.to_uppercase()).collect();
    let headings: Vec<&str> = std::iter::once("FACT").chain(packs.iter().map(String::as_str)).collect();
    let mut text = blocks(&headings, &rows, columns);
    text += "\ncells: bytes / tokens, then role and item, or the part of a fact outside of items\n";
    for (n, why) in reasons.iter().enumerate() {
        text += &format!("[{}] not sent: {}\n", n + 1, name(why));
    }
    text
}

/// The sizes of a cell, and where it is.
fn cell_text(cell: &PackCell, fact: &PackFact) -> String {
    let mut text = format!("{} / {}", number(cell.bytes), number(cell.tokens));
    if let [first, rest @ ..] = cell.places.as_slice() {
        text += &match (&first.role, first.item) {
            (Some(role), Some(item)) => format!(" {} {item}", name(role)),
            // A tool is always in the part of its name.
            _ if fact.kind == FactKind::Tool && first.part.ends_with(&format!("/{}", fact.name)) => String::new(),
            _ => format!(" {}", name(&first.part)),
        };
        if !rest.is_empty() {
            text += &format!(" +{}", rest.len());
        }
    }
    text
}
