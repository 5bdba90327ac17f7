//! One home for git: no file of the product but `run.rs` of `pellucid-git` starts it. Only that file sets up the
//! sandbox and the limits, and keeps programs of the repository from running.
//!
//! Tests run git as a user would, and may.

use crate::tidy::Problem;
use crate::tree::Tree;

/// How git is named as a program. Written in two halves, so that this file does not break its own rule.
const NAMED: &[&str] = &[concat!("Command::new(\"", "git\")"), concat!("vec![\"", "git\"")];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts(is_product) {
        let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        for (at, line) in product.lines().enumerate() {
            if NAMED.iter().any(|it| line.contains(it)) {
                problems.push(Problem::at_line(path, at + 1, "starts git; ask `pellucid_git` to".to_string()));
            }
        }
    }
    problems
}

fn is_product(path: &str) -> bool {
    let is_source = path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs");
    is_source
        && !path.ends_with("tests.rs")
        && !path.contains("/tests/")
        && !path.starts_with("crates/pellucid-testkit/")
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
    fn only_the_product_is_looked_at() {
        let start = format!("fn f() {{\n    {};\n}}\n", NAMED[0]);
        let tested = format!("#[cfg(test)]\nmod tests {{\n    {};\n}}\n", NAMED[0]);
        testing::check_finds(
            check,
            &format!(
                "== crates/a/src/b.rs\n{start}== crates/a/src/c.rs\n{tested}== crates/a/src/b_tests.rs\n{start}\
                 == crates/a/tests/it/d.rs\n{start}== xtask/src/e.rs\n{start}"
            ),
            "crates/a/src/b.rs:2: starts git; ask `pellucid_git` to",
        );
    }
}
