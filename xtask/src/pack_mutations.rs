//! `cargo xtask pack-mutations`: changes every key and every text of every pack, one at a time; each change must have
//! an effect or be refused.
//!
//! Not here: the changes and the checks. They are tests of the engine and of the agent, which try a sample by
//! themselves.

use anyhow::Result;

use crate::Outcome;
use crate::args::Args;
use crate::program;

/// The crates whose tests try changes.
const PACKAGES: [&str; 2] = ["pellucid-engine", "pellucid-agent"];

/// The variable with the number of changes to try.
const WHICH: &str = "PELLUCID_PACK_MUTATIONS";

/// Runs `cargo xtask pack-mutations`.
pub fn run(args: Args) -> Result<Outcome> {
    args.finish()?;
    let mut outcome = Outcome::Good;
    for package in PACKAGES {
        println!("pack-mutations: {package}");
        let mut command = program::cargo();
        command.args(["test", "--quiet", "--package", package, "--test", "it", "--", "pack_mutations::"]);
        command.env(WHICH, "all");
        if program::outcome_of(&mut command)? == Outcome::Bad {
            outcome = Outcome::Bad;
        }
    }
    Ok(outcome)
}
