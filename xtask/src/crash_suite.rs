//! `cargo xtask crash-suite [--runs N]`: kills the program at many moments and checks that nothing it has reported is
//! lost.
//!
//! Not here: the checks. They are a test of the program, which makes a few runs by itself.

use anyhow::{Result, bail};

use crate::Outcome;
use crate::args::Args;
use crate::program;

/// How many runs are made without `--runs`.
const N_RUNS: u32 = 500;

/// The test that makes the runs.
const TEST: &str = "crashes::nothing_that_was_told_is_lost";

/// Runs `cargo xtask crash-suite`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let n_runs = match args.value("--runs")? {
        None => N_RUNS,
        Some(text) => match text.parse() {
            Ok(n_runs) => n_runs,
            Err(_) => bail!("--runs {text}: not a number"),
        },
    };
    let binary = program::named_program(&mut args)?;
    args.finish()?;
    println!("killing the program in {n_runs} runs");
    let mut command = program::cargo();
    command.args(["test", "--quiet", "--package", "pellucid", "--test", "it", "--", "--exact", TEST]);
    command.env("PELLUCID_CRASH_RUNS", n_runs.to_string());
    program::drive(&mut command, binary.as_ref());
    program::outcome_of(&mut command)
}
