//! `pellucid apply-patch`, and the same program under its other names.
//!
//! A link named `apply_patch` or `applypatch` is how commands of a model reach it, and a session runs it in a sandbox
//! with a hidden option. Both are checked before anything else, so that no configuration is read for a patch.
//!
//! Not here: patches. They are in `pellucid-patch`.

use std::env;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use pellucid_patch::Writable;

use crate::args::apply_patch::ApplyPatchArgs;
use crate::print;
use crate::style;

/// Names under which the program is nothing but this.
const NAMES: [&str; 2] = ["apply_patch", "applypatch"];
/// The first argument with which a session runs itself; the patch is the second.
const RUN_AS: &str = "--codex-run-as-apply-patch";
const COMMAND: &str = "apply-patch";
const USAGE_STATUS: u8 = 2;
/// Room for a patch on standard input, before it is known how long it is.
const N_BYTES_EXPECTED: usize = 64 * 1024;

/// Does it if that is what the program was started for.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut args = env::args_os();
    let name = args.next()?;
    let name = Path::new(&name).file_name().and_then(OsStr::to_str);
    if name.is_some_and(|name| NAMES.contains(&name)) {
        let patch = args.next();
        return Some(run_by_name(patch, args.next().is_some()));
    }
    let first = args.next()?;
    if first == RUN_AS {
        return Some(match args.next().map(OsString::into_string) {
            Some(Ok(patch)) => apply(&patch),
            _ => refuse(&format!("Error: {RUN_AS} requires a UTF-8 PATCH argument."), ExitCode::FAILURE),
        });
    }
    // Options are left to the parser of arguments; no patch looks like one.
    let is_plain = |arg: &OsString| !arg.as_encoded_bytes().starts_with(b"-");
    let rest: Vec<OsString> = args.collect();
    (first == COMMAND && rest.len() <= 1 && rest.iter().all(is_plain))
        .then(|| run(&ApplyPatchArgs { patch: rest.into_iter().next() }))
}

pub fn run(args: &ApplyPatchArgs) -> ExitCode {
    from_argument_or_input(args.patch.clone(), "pellucid apply-patch")
}

fn run_by_name(patch: Option<OsString>, has_more: bool) -> ExitCode {
    if has_more && patch.as_ref().is_some_and(|patch| patch.to_str().is_some()) {
        return refuse("Error: apply_patch accepts exactly one argument.", ExitCode::from(USAGE_STATUS));
    }
    from_argument_or_input(patch, "apply_patch")
}

fn from_argument_or_input(patch: Option<OsString>, program: &str) -> ExitCode {
    let failure = ExitCode::FAILURE;
    let Some(patch) = patch else {
        // Larger than most patches, and small enough to be got at no cost.
        let mut patch = String::with_capacity(N_BYTES_EXPECTED);
        return match io::stdin().read_to_string(&mut patch) {
            Ok(0) => {
                let usage = format!("Usage: {program} 'PATCH'\n       echo 'PATCH' | {program}");
                refuse(&usage, ExitCode::from(USAGE_STATUS))
            }
            Ok(_) => apply(&patch),
            Err(error) => refuse(&format!("Error: Failed to read PATCH from stdin.\n{error}"), failure),
        };
    };
    match patch.into_string() {
        Ok(patch) => apply(&patch),
        Err(_) => refuse(&format!("Error: {program} requires a UTF-8 PATCH argument."), failure),
    }
}

fn apply(patch: &str) -> ExitCode {
    let cwd = match env::current_dir() {
        Ok(cwd) => cwd,
        Err(error) => return refuse(&format!("Error: there is no working directory: {error}"), ExitCode::FAILURE),
    };
    // A caller that wants to confine the patch runs this program in a sandbox.
    match pellucid_patch::run(patch, &cwd, &Writable::Everywhere) {
        Ok(summary) => {
            // The files are written; a reader who left changes nothing about that.
            let _ = print::out(&summary.to_string());
            ExitCode::SUCCESS
        }
        Err(failure) => refuse(&failure.to_string(), ExitCode::FAILURE),
    }
}

fn refuse(text: &str, code: ExitCode) -> ExitCode {
    style::line(text);
    code
}
