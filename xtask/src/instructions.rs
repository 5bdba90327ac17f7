//! `cargo xtask instructions`: counts the instructions of the whole program for a first request and for a follow-up.
//!
//! Callgrind runs the program with the embedded model: once with a turn of one request, once with a turn of many calls. The
//! figures of the program that the tests use are in `xtask/instructions.txt`, and a difference of more than
//! [`TOLERANCE_PERCENT`] fails: a growth, because every request pays it, and a gain, because it could be lost again unnoticed.
//! `--bless` writes the figures. Instructions are nearly the same in every run, so no machine is too busy for this.
//!
//! Not here: whether a request costs more after a long history (`callgrind`), and time (`bench`).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::args::Args;
use crate::program;
use crate::scratch::Scratch;

/// The figures, a line for each build of the program.
const FIGURES: &str = "xtask/instructions.txt";

/// By how much a figure may differ from the written one. Runs differ by less than a tenth of a percent.
const TOLERANCE_PERCENT: u64 = 2;

/// Calls of the long turn.
const N_CALLS: u64 = 20;

/// The instructions of one build of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Figures {
    /// What the program says of its build: the target, the profile and the compiler, which instructions depend on.
    build: String,
    first_request: u64,
    follow_up: u64,
}

/// Runs `cargo xtask instructions`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let binary = program::named_program(&mut args)?;
    let is_blessed = args.flag("--bless");
    args.finish()?;
    if !program::is_installed("valgrind") {
        println!("instructions: skipped, valgrind is not installed");
        return Ok(Outcome::Good);
    }
    let binary = match binary {
        Some(binary) => binary,
        None => program::debug_binary()?,
    };
    let now = measured(&binary)?;
    println!("first request {} instructions, follow-up {}", now.first_request, now.follow_up);
    let path = program::root().join(FIGURES);
    let mut known = read(&fs::read_to_string(&path).with_context(|| format!("could not read {FIGURES}"))?)?;
    let before = known.iter_mut().find(|it| it.build == now.build);
    if is_blessed {
        match before {
            Some(before) => *before = now,
            None => known.push(now),
        }
        fs::write(&path, written(&known)).with_context(|| format!("could not write {FIGURES}"))?;
        println!("instructions: written to {FIGURES}");
        return Ok(Outcome::Good);
    }
    let Some(before) = before else {
        println!("instructions: not compared, {FIGURES} has no figures of {}; --bless writes them", now.build);
        return Ok(Outcome::Good);
    };
    let differences = differences(before, &now);
    print!("{differences}");
    if differences.is_empty() {
        println!("instructions: as before, within {TOLERANCE_PERCENT} %");
        return Ok(Outcome::Good);
    }
    println!("instructions: `cargo xtask instructions --bless` writes the new figures, if they are meant");
    Ok(Outcome::Bad)
}

fn measured(binary: &Path) -> Result<Figures> {
    let few = count(binary, 0)?;
    let many = count(binary, N_CALLS)?;
    Ok(Figures { build: build(binary)?, first_request: few, follow_up: many.saturating_sub(few) / N_CALLS })
}

/// The instructions of a turn of so many calls.
fn count(binary: &Path, n_calls: u64) -> Result<u64> {
    let scratch = Scratch::new()?;
    let (home, work, out) = (scratch.folder("home")?, scratch.folder("work")?, scratch.folder("out")?);
    let usage = "usage = { input = 1000, output = 40 }";
    let call = format!("[[reply]]\ncall = [{{ name = \"update_plan\", args = {{ plan = [] }} }}]\n{usage}\n");
    let mut script = (0..n_calls).map(|_| call.as_str()).collect::<String>();
    let _ = write!(script, "[[reply]]\nsay = \"done\"\n{usage}\n");
    let script_path: PathBuf = scratch.path().join("script.toml");
    fs::write(&script_path, script)?;
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}/%p", out.display())).arg(binary);
    command.args(["exec", "--skip-git-repo-check", "--session-id", "019a0000-0000-7000-8000-000000000001", "--script"]);
    command.arg(&script_path).arg("go");
    // Nothing of this machine, whose settings would count.
    command.current_dir(&work).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &home).env("PELLUCID_HOME", &home);
    let said = program::text_of(&mut command)?;
    if said.trim() != "done" {
        bail!("the program answered {said:?}");
    }
    // Short-lived processes beside it have files too; the program itself did the most.
    let mut most = 0;
    for entry in fs::read_dir(out)? {
        most = most.max(crate::callgrind::total_of(&fs::read_to_string(entry?.path())?).unwrap_or(0));
    }
    if most == 0 {
        bail!("callgrind counted nothing");
    }
    Ok(most)
}

/// What the program says of its build.
fn build(binary: &Path) -> Result<String> {
    let said = program::text_of(Command::new(binary).args(["--version", "--verbose"]))?;
    let of = |name: &str| {
        let line = said
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .with_context(|| format!("the program names no {name}"));
        line.map(|it| it.trim().to_owned())
    };
    let compiler = of("compiler:")?;
    // Behind the version are the commit and the date of the compiler.
    let compiler = compiler.split(" (").next().unwrap_or(&compiler).to_owned();
    Ok(format!("{}, {}, {compiler}", of("target:")?, of("profile:")?))
}

fn read(text: &str) -> Result<Vec<Figures>> {
    let figures = |line: &str| {
        let mut cells = line.split(" | ");
        let build = cells.next().unwrap_or_default().to_owned();
        let mut number = || cells.next().and_then(|it| it.split(' ').next_back()?.parse().ok());
        let (first_request, follow_up) =
            number().zip(number()).with_context(|| format!("{FIGURES}: no figures in {line:?}"))?;
        Ok(Figures { build, first_request, follow_up })
    };
    text.lines().map(figures).collect()
}

fn written(figures: &[Figures]) -> String {
    figures.iter().fold(String::new(), |mut text, it| {
        let _ = writeln!(text, "{} | first request {} | follow-up {}", it.build, it.first_request, it.follow_up);
        text
    })
}

/// A line for each figure that differs by more than the tolerance.
fn differences(before: &Figures, now: &Figures) -> String {
    let mut text = String::new();
    let pairs = [
        ("a first request", before.first_request, now.first_request),
        ("a follow-up", before.follow_up, now.follow_up),
    ];
    for (what, before, now) in pairs {
        if now.abs_diff(before) * 100 > before * TOLERANCE_PERCENT {
            let _ = writeln!(text, "{what}: {before} instructions before, {now} now");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(first_request: u64, follow_up: u64) -> Figures {
        Figures { build: "x86_64, debug, rustc 1".to_owned(), first_request, follow_up }
    }

    #[test]
    fn growth_and_gains_are_differences() {
        assert_eq!(differences(&figures(1000, 100), &figures(1019, 98)), "");
        assert_eq!(
            differences(&figures(1000, 100), &figures(900, 103)),
            "a first request: 1000 instructions before, 900 now\na follow-up: 100 instructions before, 103 now\n"
        );
    }

    #[test]
    fn what_is_written_is_read_again() {
        let all = [figures(1000, 100), Figures { build: "aarch64".to_owned(), ..figures(7, 3) }];
        assert_eq!(read(&written(&all)).unwrap(), all);
        assert!(read("x86_64 | first request").is_err());
    }
}
