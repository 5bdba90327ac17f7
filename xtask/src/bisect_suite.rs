//! `cargo xtask bisect-suite`: searches every planted history and every planted set of parts with `context bisect`.
//!
//! Not here: the histories and the sets. They are tests of the program, which search a sample by themselves.

use anyhow::Result;

use crate::Outcome;
use crate::args::Args;
use crate::program;

/// How the names of the tests begin.
const TESTS: &str = "bisect::";

/// The variable that selects the cases.
const WHICH: &str = "PELLUCID_BISECT";

/// Runs `cargo xtask bisect-suite`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let binary = program::named_program(&mut args)?;
    args.finish()?;
    let mut command = program::cargo();
    command.args(["test", "--quiet", "--package", "pellucid", "--test", "it", "--", TESTS]);
    command.env(WHICH, "all");
    program::drive(&mut command, binary.as_ref());
    program::outcome_of(&mut command)
}
