//! `cargo xtask tui`: plays the terminal scenarios and compares them with the recorded reference.
//!
//! With `--claimed`, checks what `tui/claimed.txt` promises, and plays the scenarios of `tui/other_terminals.txt` on terminals
//! of other widths and on a slow one; with `--claim`, writes into the first file what is equal. With `--screens`, compares the
//! screens of `docs/terminal.md` with what the program shows; with `--endings`, ends the program in every way and looks at
//! what it leaves behind; with `--tmux`, runs it in a real tmux.
//!
//! Not here: how a screen is read. The harness is Python and can be used without this command.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::args::Args;
use crate::program;
use crate::scratch::Scratch;

const CLAIMED: &str = "tui/claimed.txt";

/// The scenarios that are played on other terminals too.
const OTHER_TERMINALS: &str = "tui/other_terminals.txt";

/// The other terminals, as the harness names them.
const TERMINALS: [[&str; 2]; 3] = [["--columns", "60"], ["--columns", "160"], ["--slow", "4000"]];

/// The lines before the names in the file of claims.
const HEAD: &str = "\
# The terminal scenarios that are promised to equal the reference, one name to a line.
# `cargo xtask tui --claimed` checks every line; `--claim` writes down what is equal.
";

/// Seconds for all scenarios; a scenario that is not done by then counts as not equal.
const WITHIN_SECONDS: &str = "900";

/// Runs `cargo xtask tui`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let pattern = args.value("--match")?;
    // Cargo runs this program in the caller's folder, and the harness runs in the root.
    let binary: Option<PathBuf> = args.value("--bin")?.map(std::path::absolute).transpose()?;
    let (is_claimed, is_claim) = (args.flag("--claimed"), args.flag("--claim"));
    let script = [("--screens", "screens.py"), ("--endings", "endings.py"), ("--tmux", "in_tmux.py")]
        .into_iter()
        .find(|(flag, _)| args.flag(flag));
    args.finish()?;
    if is_claimed && is_claim {
        bail!("--claimed and --claim exclude each other");
    }
    let python = match program::python() {
        Ok(python) => python,
        Err(why) => {
            println!("tui: skipped, {why}");
            return Ok(Outcome::Good);
        }
    };
    let binary = match binary {
        Some(binary) => binary,
        None => program::release_binary()?,
    };
    let (folder, scratch) = (program::root().join("tui"), Scratch::new()?);
    if let Some((_, script)) = script {
        let mut command = Command::new(&python);
        command.env("PYTHONDONTWRITEBYTECODE", "1").arg(folder.join(script)).arg("--bin").arg(&binary);
        command.args(pattern.iter().flat_map(|pattern| ["--match", pattern]).filter(|_| script != "screens.py"));
        return program::outcome_of(&mut command);
    }
    let harness = || {
        let mut command = Command::new(&python);
        // Compiled files beside the sources would be copied and compared.
        command.env("PYTHONDONTWRITEBYTECODE", "1").arg(folder.join("run.py"));
        command.arg("--bin").arg(&binary).arg("--out").arg(scratch.path()).args(["--within", WITHIN_SECONDS]);
        command.arg("--compare").arg(folder.join("goldens"));
        if let Some(pattern) = &pattern {
            command.args(["--match", pattern]);
        }
        command
    };
    let file_of = |name: &String| folder.join("scenarios").join(format!("{name}.json"));
    let claims = names_in(CLAIMED)?;
    let mut command = harness();
    if is_claimed {
        command.args(claims.iter().map(file_of));
    }
    if !is_claim {
        let mut outcome = program::outcome_of(&mut command)?;
        let others = if is_claimed && pattern.is_none() { names_in(OTHER_TERMINALS)? } else { BTreeSet::new() };
        for terminal in TERMINALS.iter().filter(|_| !others.is_empty()) {
            println!("tui: {}", terminal.join(" "));
            if program::outcome_of(harness().args(terminal).args(others.iter().map(file_of)))? == Outcome::Bad {
                outcome = Outcome::Bad;
            }
        }
        return Ok(outcome);
    }
    let output = command.output().context("could not start the scenarios")?;
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{report}");
    let equal = equal_scenarios(&names(&folder)?, &report).context("the comparison ended without totals")?;
    let lost: Vec<&String> = claims.difference(&equal).collect();
    for name in &lost {
        println!("claimed but not equal: {name}");
    }
    let all: BTreeSet<&String> = claims.union(&equal).collect();
    let text: String = all.iter().map(|name| format!("{name}\n")).collect();
    fs::write(program::root().join(CLAIMED), format!("{HEAD}{text}")).context("could not write the claims")?;
    println!("tui: {} scenarios in {CLAIMED}", all.len());
    Ok(if lost.is_empty() { Outcome::Good } else { Outcome::Bad })
}

/// The names in a file of scenarios.
fn names_in(list: &str) -> Result<BTreeSet<String>> {
    let text = fs::read_to_string(program::root().join(list)).unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|name| {
            let file = program::root().join("tui/scenarios").join(format!("{name}.json"));
            if !file.is_file() {
                bail!("{list} names {name}, which is no scenario");
            }
            Ok(name.to_owned())
        })
        .collect()
}

/// The names of all scenarios.
fn names(folder: &std::path::Path) -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(folder.join("scenarios")).context("could not list the scenarios")?;
    let name = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_suffix(".json").map(str::to_owned);
    Ok(entries.filter_map(|entry| name(entry.ok()?)).collect())
}

/// The scenarios that a report over all of them does not list as different. Absent for a report without totals.
fn equal_scenarios(all: &BTreeSet<String>, report: &str) -> Option<BTreeSet<String>> {
    report.lines().last().filter(|line| line.contains("scenarios equal"))?;
    let name = |line: &str| line.split_once(": ").map(|(name, _)| name.to_owned());
    let different: BTreeSet<String> =
        report.lines().filter(|line| line.contains("difference")).filter_map(name).collect();
    Some(all.difference(&different).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_reported_as_different_is_equal() {
        let all = ["a", "b", "c"].map(str::to_owned).into_iter().collect();
        let report = "3 captures in /tmp/x (1 s)\nb: 2 differences, 0/1 requests equal\n    x\n2/3 scenarios equal, 1/2 requests equal\n";
        let equal: Vec<String> = equal_scenarios(&all, report).unwrap().into_iter().collect();
        assert_eq!(equal, ["a", "c"]);
        assert_eq!(equal_scenarios(&all, "broken"), None);
    }

    #[test]
    fn ten_scenarios_that_are_claimed_are_played_on_other_terminals() {
        let (others, claims) = (names_in(OTHER_TERMINALS).unwrap(), names_in(CLAIMED).unwrap());
        assert_eq!(others.len(), 10);
        assert!(others.is_subset(&claims), "{others:?}");
    }
}
