//! `cargo xtask bench NAME ARGS`: runs a benchmark of `bench/`, with the release build as `ours`.
//!
//! Other binaries to compare with are given to the benchmark as `--bin NAME=PATH`.
//!
//! Not here: measuring. `bench/README.md` says what each benchmark does and what was found.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::args::Args;
use crate::program;

/// The text in a benchmark's source that shows that it drives a binary.
const TAKES_BINARY: &str = "\"--bin\"";

/// Runs `cargo xtask bench`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let folder = program::root().join("bench");
    let names = names(&folder)?;
    let Some(name) = args.next() else {
        println!("benchmarks: {}", names.join(" "));
        return Ok(Outcome::Good);
    };
    if !names.contains(&name) {
        bail!("no benchmark {name}; there are: {}", names.join(" "));
    }
    let python = match program::python() {
        Ok(python) => python,
        Err(why) => {
            println!("bench: skipped, {why}");
            return Ok(Outcome::Good);
        }
    };
    let binary = program::release_binary()?;
    let mut command = Command::new(python);
    command
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(folder.join(format!("{name}.py")))
        // Our binary is the first, because the last ratios compare the first binary with the others.
        .arg("--bin")
        .arg(format!("ours={}", binary.display()))
        .args(args.rest());
    program::outcome_of(&mut command)
}

/// The scripts that drive a binary, by name; the others in the folder are parts of them.
fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "py")
            && fs::read_to_string(&path)?.contains(TAKES_BINARY)
            && let Some(name) = path.file_stem()
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_are_found_and_their_parts_are_not() {
        let names = names(&program::root().join("bench")).unwrap();
        for name in ["longturn", "peers"] {
            assert!(names.iter().any(|it| it == name), "{names:?}");
        }
        assert!(!names.iter().any(|it| it == "common"), "{names:?}");
    }
}
