//! `memory forget-session`: removes what was derived from a past session.

use std::path::Path;
use std::process::ExitCode;

use pellucid_agent::memories;
use pellucid_agent::memories::Forgetting;
use pellucid_store::memories::Memories;
use serde_json::json;

use crate::args::memory::ForgetSessionArgs;
use crate::print;
use crate::screen::OutputFormat;
use crate::start;
use crate::start::ProgramFailure;
use crate::stored;

/// The form of the JSON.
const SCHEMA: &str = "pellucid.forgotten/1";

pub fn run(args: &ForgetSessionArgs) -> Result<ExitCode, ProgramFailure> {
    let home = start::find_home()?;
    let session = meant(&home, args)?;
    let done =
        memories::forget(&home, &session, args.dry_run).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    let text = if args.json {
        let mut value = json!(done);
        value["schema"] = SCHEMA.into();
        value["dry_run"] = args.dry_run.into();
        format!("{value}\n")
    } else {
        described(&done, args.dry_run)
    };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(ExitCode::SUCCESS)
}

/// The id of the session that is meant. A session whose file is gone is known by its memories.
fn meant(home: &Path, args: &ForgetSessionArgs) -> Result<String, ProgramFailure> {
    let Some(text) = &args.of.session else { return Ok(stored::meant(home, &args.of)?.0) };
    let failure = match stored::session(home, text) {
        Ok((id, _)) => return Ok(id),
        Err(error) => error,
    };
    let failed = |error| ProgramFailure::new(format!("{error}"));
    let memories = Memories::open_existing(home).map_err(failed)?;
    let known = memories.map(|memories| memories.sessions()).transpose().map_err(failed)?.unwrap_or_default();
    let beginning = text.to_ascii_lowercase();
    let mut known = known.into_iter().filter(|id| id.starts_with(&beginning));
    match (known.next(), known.next()) {
        (Some(id), None) => Ok(id),
        _ => Err(failure),
    }
}

fn described(done: &Forgetting, is_dry_run: bool) -> String {
    let mut text = match (is_dry_run, done.was_forgotten) {
        (true, _) => format!("{} would be forgotten, and not be read again\n", done.session),
        (false, true) => format!("{} was forgotten before\n", done.session),
        (false, false) => format!("{} is forgotten, and is not read again\n", done.session),
    };
    if done.has_extract {
        text += "  its extract\n";
    }
    for file in &done.files {
        text += &format!("  {}\n", file.display());
    }
    for scope in &done.merged_again {
        text += &format!("the memories of {scope} are merged again by `pellucid memory run` or the next session\n");
    }
    text
}
