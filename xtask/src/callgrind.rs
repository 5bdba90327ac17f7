//! `cargo xtask callgrind`: counts the instructions that loading a pack, a first and the next request of a session cost.
//!
//! The benchmark `assembly` of the engine makes requests after histories of several lengths, and Callgrind counts the
//! instructions of each. The cost of a request must depend on its new items and not on the history, so the medians of
//! the shortest and the longest history are compared. The median is used because now and then a buffer doubles.
//!
//! Not here: time. `cargo bench -p pellucid-engine` measures it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::args::Args;
use crate::program;
use crate::scratch::Scratch;

/// Items before the requests that are counted.
const HISTORIES: [usize; 3] = [10, 1_000, 100_000];

/// Whether the previous request is still alive when the next one is made.
const HOLDS: [&str; 2] = ["let-go", "held"];

/// The function whose instructions are counted. Callgrind wants one spelling for each option: two
/// options with the same pattern are taken for one.
const COUNTED: &str = "assembly::counted_request";
const COUNTED_PATTERN: &str = "*counted_request*";

/// The same for a pack that is loaded, and for a first request.
const FIRST: [(&str, &str, &str); 2] = [
    ("load the pack", "assembly::counted_load", "*counted_load*"),
    ("first request", "assembly::counted_first", "*counted_first*"),
];

/// The packs of which first requests are counted: one with texts alone, and two that compute.
const PACKS: [&str; 3] = ["codex", "pellucid", "openclaw"];

/// By how many percent the longest history may cost more than the shortest.
const GROWTH_PERCENT_MAX: u64 = 25;

/// Runs `cargo xtask callgrind`.
pub fn run(args: Args) -> Result<Outcome> {
    args.finish()?;
    if !program::is_installed("valgrind") {
        println!("callgrind: skipped, valgrind is not installed");
        return Ok(Outcome::Good);
    }
    let binary = program::bench_binary("pellucid-engine", "assembly")?;
    let mut outcome = Outcome::Good;
    println!("{:>9} {:>14} {:>14}", "pack", FIRST[0].0, FIRST[1].0);
    for pack in PACKS {
        let mut medians = Vec::new();
        for (_, counted, pattern) in FIRST {
            medians.push(median(counts(&binary, &["--first", pack], (counted, pattern))?)?);
        }
        println!("{pack:>9} {:>14} {:>14}", medians[0], medians[1]);
    }
    println!("instructions of the next request (two new items, 1.2 kB)");
    println!("{:>9} {:>8} {:>9} {:>9} {:>9}", "history", "before", "median", "least", "most");
    for hold in HOLDS {
        let mut medians = Vec::new();
        for history in HISTORIES {
            let history_text = history.to_string();
            let arguments = ["--requests", history_text.as_str(), hold];
            let counts = counts(&binary, &arguments, (COUNTED, COUNTED_PATTERN))?;
            let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
            let (least, most) = (least.unwrap_or_default(), most.unwrap_or_default());
            let median = median(counts)?;
            println!("{history:>9} {hold:>8} {median:>9} {least:>9} {most:>9}");
            medians.push(median);
        }
        if grows(&medians) {
            println!("the cost grows with the history when the request before is {hold}");
            outcome = Outcome::Bad;
        }
    }
    Ok(outcome)
}

fn median(mut counts: Vec<u64>) -> Result<u64> {
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().context("callgrind counted nothing")
}

/// The instructions of each call of a function, which is named twice: as it is, and as a pattern.
fn counts(binary: &Path, arguments: &[&str], (counted, pattern): (&str, &str)) -> Result<Vec<u64>> {
    let folder = Scratch::new()?;
    let status = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--toggle-collect={pattern}"))
        .arg(format!("--dump-after={counted}"))
        .arg(format!("--callgrind-out-file={}", folder.path().join("out").display()))
        .arg(binary)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("could not start valgrind")?;
    if !status.success() {
        bail!("valgrind failed: {status}");
    }
    let mut counts = Vec::new();
    for entry in fs::read_dir(folder.path())? {
        let count = total_of(&fs::read_to_string(entry?.path())?);
        // The last dump is of the end of the program, in which nothing is counted.
        counts.extend(count.filter(|count| *count > 0));
    }
    Ok(counts)
}

/// The instructions in one of Callgrind's files.
pub fn total_of(dump: &str) -> Option<u64> {
    dump.lines().find_map(|line| line.strip_prefix("summary:"))?.trim().parse().ok()
}

fn grows(medians: &[u64]) -> bool {
    match (medians.first(), medians.last()) {
        (Some(first), Some(last)) => last * 100 > first * (100 + GROWTH_PERCENT_MAX),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_total_of_a_dump() {
        assert_eq!(total_of("version: 1\nevents: Ir\nsummary: 5120\n\nfn=(1) x\n12 5120\n"), Some(5120));
        assert_eq!(total_of("events: Ir\n"), None);
    }

    #[test]
    fn a_little_more_is_no_growth() {
        assert!(!grows(&[1000, 900, 1250]));
        assert!(grows(&[1000, 1100, 1251]));
    }
}
