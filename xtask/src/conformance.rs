//! `cargo xtask conformance`: compares the release build with the recorded reference.
//!
//! Builds, runs `conformance/run.py` and lets it compare with the goldens. With `--claimed`, checks what
//! `conformance/claimed.txt` promises; with `--claim`, adds to it what has become equal.
//!
//! Not here: how runs are made comparable. The harness is Python and can be used without this command.

mod claims;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::args::Args;
use crate::program;
use crate::scratch::Scratch;
use claims::{Claims, PARTS};

const CLAIMED: &str = "conformance/claimed.txt";

/// Seconds for all scenarios; a scenario that is not done by then counts as not equal.
const WITHIN_SECONDS: &str = "900";

/// What to compare, and how.
#[derive(Debug, Default)]
struct Options {
    pattern: Option<String>,
    only: Option<String>,
    exact: bool,
    reference: bool,
    binary: Option<PathBuf>,
    raw: Option<PathBuf>,
}

/// The harness and the interpreter that runs it.
struct Harness {
    python: String,
    folder: PathBuf,
}

/// Runs `cargo xtask conformance`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let options = Options {
        pattern: args.value("--match")?,
        only: args.value("--only")?,
        exact: args.flag("--exact"),
        reference: args.flag("--reference"),
        // Cargo runs this program in the caller's folder, and the harness runs in the root.
        binary: args.value("--bin")?.map(std::path::absolute).transpose()?,
        raw: args.value("--raw")?.map(std::path::absolute).transpose()?,
    };
    let claimed = args.flag("--claimed");
    let claim = args.flag("--claim");
    args.finish()?;
    if (claimed || claim) && (options.only.is_some() || options.exact || options.reference) {
        bail!("--claimed and --claim go with --match, --bin and --raw only");
    }

    let python = match program::python() {
        Ok(python) => python,
        Err(why) => {
            println!("conformance: skipped, {why}");
            return Ok(Outcome::Good);
        }
    };
    let harness = Harness { python, folder: program::root().join("conformance") };
    if claimed {
        hold_claims(&harness, &options)
    } else if claim {
        add_claims(&harness, &options)
    } else {
        compare_with_goldens(&harness, &options)
    }
}

fn compare_with_goldens(harness: &Harness, options: &Options) -> Result<Outcome> {
    let scratch = Scratch::new()?;
    let mut command = harness.run_command(options, scratch.path())?;
    command.arg("--compare").arg(harness.folder.join("goldens"));
    if let Some(only) = &options.only {
        command.args(["--only", only]);
    }
    if options.exact {
        command.arg("--exact");
    }
    let ours = program::outcome_of(&mut command)?;
    let theirs = if options.reference { check_reference(harness, options)? } else { Outcome::Good };
    Ok(if ours == Outcome::Good { theirs } else { ours })
}

/// Runs the reference itself, to check that the goldens still match it.
fn check_reference(harness: &Harness, options: &Options) -> Result<Outcome> {
    if std::env::var_os("CODEX_BIN").is_none() && !program::is_installed("npm") {
        println!(
            "reference: skipped, npm (which comes with node) is not installed; CODEX_BIN can name the binary instead"
        );
        return Ok(Outcome::Good);
    }
    println!("reference:");
    let mut command = harness.command("record.py");
    command.args(["--check", "--times", "1"]);
    if let Some(pattern) = &options.pattern {
        command.args(["--match", pattern]);
    }
    program::outcome_of(&mut command)
}

fn hold_claims(harness: &Harness, options: &Options) -> Result<Outcome> {
    let claims = harness.claims()?.matching(&harness.names(options)?);
    if claims.is_empty() {
        println!("conformance: nothing is claimed in {CLAIMED}");
        return Ok(Outcome::Good);
    }
    let scratch = Scratch::new()?;
    let captures = scratch.folder("captures")?;
    let mut command = harness.run_command(options, &captures)?;
    command.args(claims.scenarios().map(|name| harness.scenario(name)));
    program::text_of(&mut command).context("could not run the scenarios")?;

    // The comparison takes one set of parts at a time, so claims of the same parts go together.
    let mut n_held = 0;
    for (at, (parts, names)) in claims.by_parts().iter().enumerate() {
        let goldens = scratch.folder(&format!("{at}/goldens"))?;
        let candidate = scratch.folder(&format!("{at}/captures"))?;
        for name in names {
            let file = format!("{name}.json");
            copy(&harness.folder.join("goldens").join(&file), &goldens)?;
            copy(&captures.join(&file), &candidate)?;
        }
        let mut command = harness.command("compare.py");
        command.args(["--only", parts]).arg(&goldens).arg(&candidate);
        let report = said_by(&mut command)?;
        let n_equal = claims::n_equal(&report).context("the comparison ended without totals")?;
        if n_equal < names.len() {
            print!("{report}");
        }
        n_held += n_equal;
    }
    let n_claimed = claims.len();
    println!("conformance: {n_held}/{n_claimed} claimed scenarios hold");
    Ok(if n_held == n_claimed { Outcome::Good } else { Outcome::Bad })
}

fn add_claims(harness: &Harness, options: &Options) -> Result<Outcome> {
    let mut claims = harness.claims()?;
    let scratch = Scratch::new()?;
    let mut command = harness.run_command(options, scratch.path())?;
    program::text_of(&mut command).context("could not run the scenarios")?;
    let mut equal = Claims::default();
    let mut asking = BTreeSet::new();
    for part in PARTS {
        let mut command = harness.command("compare.py");
        command
            .args(["--verbose", "--limit", "0", "--only", part])
            .arg(harness.folder.join("goldens"))
            .arg(scratch.path());
        for (name, n_requests) in claims::equal_scenarios(&said_by(&mut command)?) {
            equal.add(name, part);
            if n_requests > 0 {
                asking.insert(name.to_string());
            }
        }
    }
    equal.keep_meaningful(|name| asking.contains(name));
    let lost = claims.lost_in(&equal, &harness.names(options)?);
    for (name, parts) in &lost {
        println!("claimed but not equal: {name} {parts}");
    }
    let n_new = claims.merge(&equal);
    let path = program::root().join(CLAIMED);
    let text = claims.written_over(&read(&path)?);
    fs::write(&path, text).with_context(|| format!("could not write {}", path.display()))?;
    println!("conformance: {n_new} parts added, {} scenarios in {CLAIMED}", claims.len());
    Ok(if lost.is_empty() { Outcome::Good } else { Outcome::Bad })
}

impl Harness {
    fn command(&self, script: &str) -> Command {
        let mut command = Command::new(&self.python);
        // Compiled files beside the sources would be copied and compared.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command.arg(self.folder.join(script));
        command
    }

    /// `run.py` with the arguments that all uses have in common.
    fn run_command(&self, options: &Options, captures: &Path) -> Result<Command> {
        let binary = match &options.binary {
            Some(binary) => binary.clone(),
            None => program::release_binary()?,
        };
        let mut command = self.command("run.py");
        command.arg("--bin").arg(binary).arg("--out").arg(captures);
        command.args(["--within", WITHIN_SECONDS]);
        if let Some(pattern) = &options.pattern {
            command.args(["--match", pattern]);
        }
        if let Some(raw) = &options.raw {
            command.arg("--raw").arg(raw);
        }
        Ok(command)
    }

    fn scenario(&self, name: &str) -> PathBuf {
        self.folder.join("scenarios").join(format!("{name}.json"))
    }

    fn claims(&self) -> Result<Claims> {
        let text = read(&program::root().join(CLAIMED))?;
        let is_scenario = |name: &str| self.scenario(name).is_file();
        Claims::parse(&text, is_scenario).with_context(|| format!("could not read {CLAIMED}"))
    }

    /// The names of the scenarios that `--match` selects.
    fn names(&self, options: &Options) -> Result<Vec<String>> {
        let mut command = self.command("run.py");
        command.args(["--list", "--bin", "-"]);
        if let Some(pattern) = &options.pattern {
            command.args(["--match", pattern]);
        }
        let list = program::text_of(&mut command)?;
        Ok(list.lines().filter_map(|it| it.split_whitespace().next()).map(str::to_string).collect())
    }
}

/// The output of a comparison; a difference is not an error.
fn said_by(command: &mut Command) -> Result<String> {
    let output = command.output().context("could not start the comparison")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !said.trim().is_empty() {
        bail!("the comparison failed: {}", said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn copy(file: &Path, folder: &Path) -> Result<()> {
    let name = file.file_name().context("a file has a name")?;
    fs::copy(file, folder.join(name)).with_context(|| format!("could not copy {}", file.display()))?;
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))
}
