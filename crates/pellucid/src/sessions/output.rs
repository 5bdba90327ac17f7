//! `sessions output`: the whole output of a call, where the model and the session file have it with its middle cut out.

use std::io;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use pellucid_tools::outputs::KeptOutput;
use pellucid_tools::outputs::Outputs;

use crate::args::session_ref::SessionRef;
use crate::pack::table::table;
use crate::print;
use crate::screen::StandardStream;
use crate::screen::Writer;
use crate::start::ProgramFailure;
use crate::stored;
use crate::style;

/// How much is read at once.
const READ_BYTES: usize = 64 << 10;

pub fn run(home: &Path, of: &SessionRef, call: Option<&str>) -> Result<ExitCode, ProgramFailure> {
    let (id, _) = stored::meant(home, of)?;
    let outputs = Outputs::of(home, &id);
    let failed = |error: io::Error| ProgramFailure::new(format!("the outputs of session {id} cannot be read: {error}"));
    let kept = outputs.list().map_err(failed)?;
    let Some(call) = call else {
        print::out(&list(&id, &kept))?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut file = outputs.open(call).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ProgramFailure::usage(format!(
            "no output of a call `{call}` is kept; `pellucid sessions output {id}` lists those that are"
        )),
        _ => failed(error),
    })?;
    let mut out = Writer::new(StandardStream::Out);
    let mut buffer = vec![0; READ_BYTES];
    let mut n_bytes = 0;
    loop {
        let n_read = file.read(&mut buffer).map_err(failed)?;
        if n_read == 0 {
            break;
        }
        n_bytes += n_read;
        print::bytes_to(&mut out, &buffer[..n_read])?;
    }
    if kept.iter().any(|it| it.call == call && !it.is_whole) {
        style::line(&format!("note: these are the first {n_bytes} bytes; the rest was not kept"));
    }
    Ok(ExitCode::SUCCESS)
}

fn list(id: &str, kept: &[KeptOutput]) -> String {
    if kept.is_empty() {
        return format!("no output of session {id} was long enough to be kept beside it\n");
    }
    let rows = kept.iter().map(|it| {
        let state = if it.is_whole { "whole" } else { "its beginning" };
        vec![it.call.clone(), it.bytes.to_string(), state.to_owned()]
    });
    let rows: Vec<_> = rows.collect();
    table(&["CALL", "BYTES", "KEPT"], &rows)
}
