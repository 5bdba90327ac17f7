//! `cargo xtask truth-suite [--only TEXT | --bless]`: plays every pack on every wire in every situation; what is shown,
//! sent, recorded and rebuilt must be the same bytes.
//!
//! Not here: the plays and the checks. They are a test of the program, which plays a sample by itself.

use anyhow::{Result, bail};

use crate::Outcome;
use crate::args::Args;
use crate::program;

/// The test that plays.
const TEST: &str = "truth::every_request_is_what_it_is_said_to_be";

/// The variable that selects the cells to play.
const WHICH: &str = "PELLUCID_TRUTH";

/// Runs `cargo xtask truth-suite`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let only = args.value("--only")?;
    let bless = args.flag("--bless");
    let binary = program::named_program(&mut args)?;
    args.finish()?;
    if bless && only.is_some() {
        bail!("--bless writes what all cells say, so it does not go with --only");
    }
    let which = only.unwrap_or_else(|| "all".to_owned());
    println!("truth-suite: {which}");
    let mut command = program::cargo();
    command.args(["test", "--quiet", "--package", "pellucid", "--test", "it", "--", "--nocapture", "--exact", TEST]);
    command.env(WHICH, which).env_remove("UPDATE_EXPECT");
    if bless {
        command.env("UPDATE_EXPECT", "1");
    }
    program::drive(&mut command, binary.as_ref());
    program::outcome_of(&mut command)
}
