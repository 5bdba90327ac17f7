//! `schema`: the JSON Schema of what a command prints with `--json`, and of what is kept in files.

use std::process::ExitCode;

use pellucid_answers::schemas;
use pellucid_engine::request_name::near;

use crate::args::schema::SchemaArgs;
use crate::pack::table::table;
use crate::print;
use crate::request::RequestRefusal;
use crate::start::ProgramFailure;

/// How many near names are listed.
const NEAR_MAX: usize = 3;

pub fn run(args: &SchemaArgs) -> Result<ExitCode, ProgramFailure> {
    let Some(name) = &args.name else {
        let rows: Vec<Vec<String>> =
            schemas::all().map(|it| vec![it.name.to_owned(), format!("pellucid {}", it.command)]).collect();
        print::out(&table(&["NAME", "COMMAND"], &rows))?;
        return Ok(ExitCode::SUCCESS);
    };
    match schemas::find(name) {
        Some(schema) => {
            print::json(schema.text.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        None => {
            let near = near(name, schemas::all().map(|it| it.name), NEAR_MAX);
            let near = if near.is_empty() { String::new() } else { format!("; near ones: {}", near.join(", ")) };
            let hint = "`pellucid schema` lists all schemas";
            Ok(RequestRefusal::usage(format!("there is no schema `{name}`{near}\nhint: {hint}")).show())
        }
    }
}
