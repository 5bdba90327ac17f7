//! `cargo xtask docs`: checks the generated pages of `docs/` against the code.
//!
//! A test whose name ends in `_is_up_to_date` keeps a page: it compares the page with the generated text, and writes it
//! when `UPDATE_EXPECT=1`. The tests are found by that name, so there is no list to forget.
//!
//! Not here: making a page. The crate that owns the facts owns the page.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::Outcome;
use crate::args::Args;
use crate::program;
use crate::tree::Tree;

/// The end of the name of a test that keeps a page.
const KEEPS_PAGE: &str = "_is_up_to_date";

/// Runs `cargo xtask docs`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let bless = args.flag("--bless");
    args.finish()?;
    let tree = Tree::read(program::root())?;
    let keepers = keepers(&tree);
    if keepers.is_empty() {
        println!("docs: no test keeps a page");
        return Ok(Outcome::Good);
    }
    let mut outcome = Outcome::Good;
    for package in &keepers {
        println!("docs: the pages of {package}");
        let mut command = program::cargo();
        command.args(["test", "--quiet", "--package", package, "--", KEEPS_PAGE]);
        command.env_remove("UPDATE_EXPECT");
        if bless {
            command.env("UPDATE_EXPECT", "1");
        }
        if program::outcome_of(&mut command)? == Outcome::Bad {
            outcome = Outcome::Bad;
        }
    }
    if outcome == Outcome::Bad && !bless {
        println!("hint: `cargo xtask docs --bless` writes the pages");
    }
    Ok(outcome)
}

/// The crates that have such tests, and this one; a crate's folder is named like the crate.
fn keepers(tree: &Tree) -> BTreeSet<&str> {
    let is_ours = |path: &str| path.starts_with("crates/") || path.starts_with("xtask/");
    tree.texts(|path| is_ours(path) && path.ends_with(".rs"))
        .filter(|(_, text)| text.lines().any(is_keeper))
        .filter_map(|(path, _)| path.strip_prefix("crates/").unwrap_or(path).split('/').next())
        .collect()
}

fn is_keeper(line: &str) -> bool {
    let name = line.trim_start().strip_prefix("fn ");
    name.and_then(|it| it.split('(').next()).is_some_and(|it| it.ends_with(KEEPS_PAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_with_tests_that_keep_pages_are_found() {
        let tree = Tree::fixture(
            r#"
== crates/pellucid-config/src/reference.rs
//! The page.
    #[test]
    fn the_page_is_up_to_date() {}
== xtask/src/bench/page.rs
//! Another page.
    #[test]
    fn the_other_page_is_up_to_date() {}
== crates/pellucid-engine/src/lib.rs
//! The core.
fn is_up_to_date_enough() {}
"#,
        );
        let keepers: Vec<_> = keepers(&tree).into_iter().collect();
        assert_eq!(keepers, ["pellucid-config", "xtask"]);
    }
}
