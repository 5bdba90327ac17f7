//! `cargo xtask full`: runs every corpus whole, of which CI runs a sample.
//!
//! Not here: what is fuzzed (`fuzz/README.md`) and measured (`cargo xtask bench`), because that never ends by itself.

use anyhow::Result;

use crate::Outcome;
use crate::args::Args;
use crate::bisect_suite;
use crate::conformance;
use crate::crash_suite;
use crate::escape;
use crate::golden;
use crate::inspector;
use crate::pack_mutations;
use crate::same_bytes;
use crate::truth;
use crate::tui;

/// A command: its name, its arguments, and its function.
type Part = (&'static str, &'static [&'static str], fn(Args) -> Result<Outcome>);

const PARTS: [Part; 10] = [
    ("golden", &[], golden::run),
    ("conformance", &["--claimed"], conformance::run),
    ("tui", &["--claimed"], tui::run),
    ("inspector", &[], inspector::run),
    ("truth-suite", &[], truth::run),
    ("pack-mutations", &[], pack_mutations::run),
    ("same-bytes", &[], same_bytes::run),
    ("crash-suite", &[], crash_suite::run),
    ("bisect-suite", &[], bisect_suite::run),
    ("escape-suite", &["--long"], escape::run),
];

/// Runs `cargo xtask full`.
pub fn run(args: Args) -> Result<Outcome> {
    args.finish()?;
    let mut failed = Vec::new();
    for (name, words, part) in PARTS {
        println!("full: {name} {}", words.join(" "));
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        // A part that cannot be run does not stop the others.
        let outcome = part(Args::new(words)).unwrap_or_else(|error| {
            println!("full: {name}: {error:#}");
            Outcome::Bad
        });
        if outcome == Outcome::Bad {
            failed.push(name);
        }
    }
    match failed.as_slice() {
        [] => println!("full: {} of {} parts passed", PARTS.len(), PARTS.len()),
        names => println!("full: {} of {} parts failed: {}", names.len(), PARTS.len(), names.join(", ")),
    }
    Ok(if failed.is_empty() { Outcome::Good } else { Outcome::Bad })
}
