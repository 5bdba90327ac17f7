//! `cargo xtask same-bytes [--runs N]`: makes the first request of every pack in many processes, whose hash tables have
//! other seeds, and compares the bytes.
//!
//! Not here: the comparison. It is a test of the program, which makes a few runs by itself.

use anyhow::{Result, bail};

use crate::Outcome;
use crate::args::Args;
use crate::program;

/// How many runs are made of each pack without `--runs`.
const N_RUNS: u32 = 1000;

/// The test that makes the runs.
const TEST: &str = "same_bytes::every_pack_has_the_same_bytes_in_every_process";

/// Runs `cargo xtask same-bytes`.
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
    println!("making the first request of every pack in {n_runs} processes");
    let mut command = program::cargo();
    command.args(["test", "--quiet", "--package", "pellucid", "--test", "it", "--", "--exact", TEST]);
    command.env("PELLUCID_SAME_BYTES_RUNS", n_runs.to_string());
    program::drive(&mut command, binary.as_ref());
    program::outcome_of(&mut command)
}
