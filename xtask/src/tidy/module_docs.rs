//! Module docs: every source file opens with a `//!` comment that says what it is for.
//!
//! Modules of tests are exempt; the code they test says what they are for.

use crate::tidy::Problem;
use crate::tree::{self, Tree};

pub fn check(tree: &Tree) -> Vec<Problem> {
    tree.texts(|path| tree::is_source(path) && !tree::is_test_module(path))
        .filter(|(_, text)| !opens_with_docs(text))
        .map(|(path, _)| Problem::at_line(path, 1, "does not open with a `//!` comment"))
        .collect()
}

fn opens_with_docs(text: &str) -> bool {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .and_then(|line| line.strip_prefix("//!"))
        .is_some_and(|rest| !rest.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing;

    #[test]
    fn holds_here() {
        testing::check_holds_here(check);
    }

    #[test]
    fn a_file_without_or_with_empty_docs_is_found() {
        testing::check_finds(
            check,
            "
== crates/a/src/lib.rs
//! What it is for.
mod b;
== crates/a/src/b.rs
use std::fmt;
== crates/a/src/c.rs
//!
//! Late.
== crates/a/src/b/tests.rs
use super::*;
== crates/a/build.rs
fn main() {}
",
            "
crates/a/src/b.rs:1: does not open with a `//!` comment
crates/a/src/c.rs:1: does not open with a `//!` comment
",
        );
    }
}
