//! `cargo xtask full`: runs every corpus whole, of which CI runs a sample.
//!
//! With `--bin PATH` they drive another build of the program, such as the static one that packages have. `golden` and
//! `pack-mutations` are about libraries and drive none.
//!
//! Not here: what is fuzzed (`fuzz/README.md`) and measured (`cargo xtask bench`), because that never ends by itself.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::Outcome;
use crate::args::Args;
use crate::bisect_suite;
use crate::conformance;
use crate::crash_suite;
use crate::escape;
use crate::golden;
use crate::inspector;
use crate::pack_mutations;
use crate::program;
use crate::same_bytes;
use crate::truth;
use crate::tui;

/// A command: its name, its arguments, whether it drives the program, and its function.
type Part = (&'static str, &'static [&'static str], bool, fn(Args) -> Result<Outcome>);

const PARTS: [Part; 10] = [
    ("golden", &[], false, golden::run),
    ("conformance", &["--claimed"], true, conformance::run),
    ("tui", &["--claimed"], true, tui::run),
    ("inspector", &[], true, inspector::run),
    ("truth-suite", &[], true, truth::run),
    ("pack-mutations", &[], false, pack_mutations::run),
    ("same-bytes", &[], true, same_bytes::run),
    ("crash-suite", &[], true, crash_suite::run),
    ("bisect-suite", &[], true, bisect_suite::run),
    ("escape-suite", &["--long"], true, escape::run),
];

/// Runs `cargo xtask full`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let binary = program::named_program(&mut args)?;
    let only = args.value("--only")?;
    args.finish()?;
    let only: Option<Vec<&str>> = only.as_deref().map(|names| names.split(',').collect());
    for name in only.iter().flatten() {
        if !PARTS.iter().any(|it| it.0 == *name) {
            bail!("no part {name}; there are: {}", PARTS.map(|it| it.0).join(" "));
        }
    }
    let parts: Vec<&Part> = PARTS.iter().filter(|it| only.as_ref().is_none_or(|only| only.contains(&it.0))).collect();
    let mut failed = Vec::new();
    for (name, words, drives_program, part) in &parts {
        let began = Instant::now();
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        println!("full: {name} {}", words.join(" "));
        if let (Some(binary), true) = (&binary, *drives_program) {
            words.extend(["--bin".to_owned(), binary.display().to_string()]);
        }
        // A part that cannot be run does not stop the others.
        let outcome = part(Args::new(words)).unwrap_or_else(|error| {
            println!("full: {name}: {error:#}");
            Outcome::Bad
        });
        println!("full: {name} took {} s", began.elapsed().as_secs());
        if outcome == Outcome::Bad {
            failed.push(*name);
        }
    }
    match failed.as_slice() {
        [] => println!("full: {} of {} parts passed", parts.len(), parts.len()),
        names => println!("full: {} of {} parts failed: {}", names.len(), parts.len(), names.join(", ")),
    }
    Ok(if failed.is_empty() { Outcome::Good } else { Outcome::Bad })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_part_and_a_missing_program_are_refused() {
        let refusal = |words: &[&str]| {
            run(Args::new(words.iter().map(|it| (*it).to_string()).collect())).unwrap_err().to_string()
        };
        assert!(refusal(&["--only", "golden,silver"]).starts_with("no part silver; there are: golden conformance"));
        assert!(refusal(&["--bin", "no/such/program"]).ends_with("no/such/program is no program"));
    }
}
