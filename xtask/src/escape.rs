//! `cargo xtask escape-suite`: attempts to get out of the sandbox, as a table.
//!
//! Not here: the attempts. They are a test of `pellucid-exec` and run with the others, too.

use anyhow::Result;

use crate::Outcome;
use crate::args::Args;
use crate::program;

/// `cargo xtask escape-suite`
pub fn run(args: Args) -> Result<Outcome> {
    args.finish()?;
    let mut command = program::cargo();
    command.args(["test", "--quiet", "--package", "pellucid-exec", "--test", "escape", "--", "--table"]);
    program::outcome_of(&mut command)
}
