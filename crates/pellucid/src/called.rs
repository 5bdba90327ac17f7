//! The name by which the program was called. Called as `codex`, it answers what programs ask of the Codex CLI.

use std::path::Path;

use pellucid_agent::codex_version::CODEX_VERSION;
use pellucid_agent::codex_version::CodexVersion;
use pellucid_config::Env;

use crate::print;
use crate::start::ProgramFailure;

/// Whether the program was called as `codex`, for example by a link of that name.
pub fn is_codex() -> bool {
    std::env::args_os().next().is_some_and(|called| Path::new(&called).file_stem().is_some_and(|name| name == "codex"))
}

/// Prints the version of the Codex CLI that the program answers as, in the form that programs look for.
pub fn tell_version() -> Result<(), ProgramFailure> {
    let version = CodexVersion::chosen(&Env::process()).unwrap_or(CODEX_VERSION);
    print::out(&format!("codex-cli {version}\n"))
}
