//! `context --from`: what a request of another agent was made of, as far as the agent's file has it.

use std::process::ExitCode;

use pellucid_answers::reconstructed::NOT_IN_FILE;
use pellucid_answers::reconstructed::ReconstructedRequest;
use pellucid_answers::reconstructed::ReconstructedRow;
use pellucid_engine::request_name::RequestName;
use pellucid_store::read;
use pellucid_store::reconstructed::WantedSessions;
use pellucid_store::token_counts::token_counts;

use crate::args::context::ContextArgs;
use crate::context::head::usage_text;
use crate::pack::table::aligned;
use crate::print;
use crate::screen::OutputFormat;
use crate::screen::name;
use crate::sessions;
use crate::start::ProgramFailure;
use crate::stored;
use crate::style::counted;
use crate::style::number;
use crate::style::thousands;

pub fn run(args: &ContextArgs) -> Result<ExitCode, ProgramFailure> {
    let asked = args.request.word.as_deref().unwrap_or_default();
    let parsed = RequestName::parse(asked).ok();
    let Some(RequestName::Sent { session, number: wanted }) = parsed else {
        return Err(ProgramFailure::usage(format!(
            "--from needs the name of a session that is there, as SESSION or SESSION#N, not `{asked}`\nhint: `pellucid sessions \
             list --all --from DIR` shows them"
        )));
    };
    let home = args.from.home(&sessions::home()?, WantedSessions::Named(&session))?;
    let (id, path) = stored::session(&home, &session)?;
    let failed = |error: &dyn std::fmt::Display| ProgramFailure::unknown(format!("{error}"));
    let counts = token_counts(&path).map_err(|error| failed(&error))?;
    let loaded = read::read(&path).map_err(|error| failed(&error))?;
    let wanted = wanted.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let Some(request) = ReconstructedRequest::of(&loaded.records, &counts, wanted) else {
        let n = counted(counts.len(), "request");
        return Err(ProgramFailure::unknown(format!("{asked} is not known: the file has the tokens of {n}")));
    };
    let text = match args.json {
        true => format!("{}\n", request.to_json(&id)),
        false => text(&id, &request) + &args.from.note(),
    };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(ExitCode::SUCCESS)
}

fn text(id: &str, request: &ReconstructedRequest) -> String {
    let ReconstructedRequest { number: n, of, at, model, usage, rows } = request;
    let row = |row: &ReconstructedRow| {
        vec![
            name(&row.part).into_owned(),
            number(row.items),
            format!("~{}", number(row.bytes)),
            format!("~{}", thousands(row.tokens())),
        ]
    };
    let mut cells: Vec<Vec<String>> = rows.iter().map(row).collect();
    let (none, rest) = ("-".to_owned(), format!("~{}", thousands(request.not_in_file())));
    cells.push(vec![NOT_IN_FILE.to_owned(), none.clone(), none.clone(), rest]);
    cells.push(vec!["total, as the provider counted".to_owned(), none.clone(), none, thousands(request.counted())]);
    let table = aligned(&["PART", "ITEMS", "BYTES", "TOKENS"], &cells, &[1, 2, 3]);
    format!("request {n} of {of} of {id}, {}, answered {at}\n{table}spent: {}\n", name(model), usage_text(usage))
}
