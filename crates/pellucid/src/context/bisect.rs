//! `context bisect`: at which commit, request or part an answer changes.
//!
//! - `commits`: the first commit whose request is bad
//! - `sessions`: the first request at which two sessions diverge
//! - `parts`: the parts of a request that an outcome needs
//! - `command`: a command that judges a request or an answer

mod command;
mod commits;
mod parts;
mod sessions;

use std::process::ExitCode;

use pellucid_answers::bisect::SCHEMA;
use serde_json::Value;

use crate::args::bisect::ContextBisectArgs;
use crate::args::shared::Shared;
use crate::print;
use crate::request::RequestRefusal;
use crate::screen::OutputFormat;
use crate::start::ProgramFailure;
use crate::style;

/// How a search ended, as an exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BisectStatus {
    Found = 0,
    EndsAgree = 1,
    Unknown = 3,
}

/// The answer in both forms.
struct BisectAnswer {
    status: BisectStatus,
    text: String,
    json: Value,
}

pub fn run(shared: &Shared, args: &ContextBisectArgs) -> Result<ExitCode, ProgramFailure> {
    // Every request of the search may warn of the same thing.
    style::print_each_line_once();
    match print_answer(shared, args) {
        Ok(status) => Ok(ExitCode::from(status as u8)),
        Err(refusal) => Ok(refusal.show_of_question()),
    }
}

fn print_answer(shared: &Shared, args: &ContextBisectArgs) -> Result<BisectStatus, RequestRefusal> {
    let answer = match (&args.sessions, &args.parts) {
        (Some(sessions), _) => sessions::answer(sessions)?,
        (_, Some(request)) => parts::answer(shared, args, request)?,
        _ => commits::answer(shared, args)?,
    };
    let mut json = answer.json;
    json["schema"] = SCHEMA.into();
    json["found"] = (answer.status == BisectStatus::Found).into();
    let text = if args.json { format!("{json}\n") } else { answer.text };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(answer.status)
}
