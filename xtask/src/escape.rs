//! `cargo xtask escape-suite`: attempts to escape from the sandbox, as tables.
//!
//! A race test is one whose name contains `race_`. It makes `PELLUCID_RACE_ROUNDS` rounds, by default few; `--long`
//! makes it 1000. The tests are found by that name, so there is no list to forget.
//!
//! Not here: the attempts. They are tests of `pellucid-exec` (what a confined command does) and of `pellucid` (what the
//! agent does around it), and run with the other tests too.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::Outcome;
use crate::args::Args;
use crate::program;
use crate::tree::Tree;

/// The part of a name by which race tests are found.
const RACES: &str = "race_";

/// The variable with the number of rounds of a race test.
const ROUNDS: &str = "PELLUCID_RACE_ROUNDS";

/// The number of rounds with `--long`.
const N_ROUNDS_LONG: &str = "1000";

/// The tests that print a table: package and name.
const TABLES: [(&str, &str); 2] = [("pellucid-exec", "escape"), ("pellucid", "around")];

/// Runs `cargo xtask escape-suite`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let is_long = args.flag("--long");
    let binary = program::named_program(&mut args)?;
    args.finish()?;
    let mut outcome = Outcome::Good;
    let mut add = |this: Outcome| {
        if this == Outcome::Bad {
            outcome = Outcome::Bad;
        }
    };
    for (package, test) in TABLES {
        println!("escape-suite: {test} of {package}");
        let mut command = program::cargo();
        command.args(["test", "--quiet", "--package", package, "--test", test, "--", "--table"]);
        if is_long {
            command.env(ROUNDS, N_ROUNDS_LONG);
        }
        program::drive(&mut command, binary.as_ref());
        add(program::outcome_of(&mut command)?);
    }
    if is_long {
        let tree = Tree::read(program::root())?;
        for package in racers(&tree) {
            println!("escape-suite: the races of {package}");
            let mut command = program::cargo();
            command.args(["test", "--quiet", "--package", package, "--", RACES]).env(ROUNDS, N_ROUNDS_LONG);
            program::drive(&mut command, binary.as_ref());
            add(program::outcome_of(&mut command)?);
        }
    }
    Ok(outcome)
}

/// The crates that have race tests; a crate's folder is named like the crate.
fn racers(tree: &Tree) -> BTreeSet<&str> {
    tree.texts(|path| path.starts_with("crates/") && path.ends_with(".rs"))
        .filter(|(_, text)| text.lines().any(is_racer))
        .filter_map(|(path, _)| path.split('/').nth(1))
        .collect()
}

fn is_racer(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let name = line.strip_prefix("fn ").or_else(|| line.strip_prefix("async fn "));
    name.and_then(|it| it.split('(').next()).is_some_and(|it| it.contains(RACES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_with_race_tests_are_found() {
        let tree = Tree::fixture(
            r#"
== crates/pellucid-patch/src/apply.rs
//! Applying.
    #[test]
    fn a_race_of_folders_is_lost() {}
    #[test]
    fn race_adding_files() {}
== crates/pellucid-git/tests/confined/races.rs
//! Races.
pub fn race_of_a_restore() {}
== crates/pellucid-engine/src/lib.rs
//! The core.
fn embrace(what: &str) {}
"#,
        );
        let racers: Vec<_> = racers(&tree).into_iter().collect();
        assert_eq!(racers, ["pellucid-git", "pellucid-patch"]);
    }
}
