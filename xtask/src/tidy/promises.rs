//! Promises: every row of `docs/promises.md` names tests that exist.
//!
//! A row has an id, a sentence and what holds it: `` `CRATE: TEST` `` for a test of a crate (or of `xtask`), or
//! `` `PATH: WORD` `` for a file outside of the crates that has the word.
//!
//! Not here: whether a test could fail for its promise. People read that.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::Problem;
use crate::tree::Tree;

const PAGE: &str = "docs/promises.md";

pub fn check(tree: &Tree) -> Vec<Problem> {
    let Some(page) = tree.text(PAGE) else { return vec![Problem::in_file(PAGE, "is missing")] };
    let tests = tests(tree);
    let mut problems = Vec::new();
    let mut ids: BTreeSet<&str> = BTreeSet::new();
    for (n, line) in (1..).zip(page.lines()) {
        let Some([id, promise, held_by]) = cells(line) else { continue };
        let mut problem = |what: String| problems.push(Problem::at_line(PAGE, n, what));
        if !ids.insert(id) {
            problem(format!("the id {id} is there twice"));
        }
        if promise.is_empty() {
            problem(format!("{id} promises nothing"));
        }
        let names: Vec<&str> = held_by.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            problem(format!("{id} names no test"));
        }
        for name in names {
            let exists = name.split_once(": ").is_some_and(|(home, test)| match tests.get(home) {
                Some(tests) => tests.contains(test),
                None => !home.starts_with("crates/") && tree.text(home).is_some_and(|text| text.contains(test)),
            });
            if !exists {
                problem(format!("{id}: there is no test `{name}`"));
            }
        }
    }
    if ids.is_empty() {
        problems.push(Problem::in_file(PAGE, "has no row"));
    }
    problems
}

/// The cells of a row of a table with three columns; absent for the head of the table and for other lines.
fn cells(line: &str) -> Option<[&str; 3]> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = inner.split('|').map(str::trim);
    let cells = [cells.next()?, cells.next()?, cells.next()?];
    let is_id = |cell: &str| cell.bytes().any(|it| it.is_ascii_digit());
    is_id(cells[0]).then_some(cells)
}

/// The names of all tests, by crate.
fn tests(tree: &Tree) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut tests: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, text) in tree.texts(|path| path.ends_with(".rs")) {
        let mut folders = path.split('/');
        let home = match folders.next() {
            Some("crates") => folders.next(),
            home => home.filter(|home| *home == "xtask"),
        };
        if let Some(home) = home {
            tests.entry(home).or_default().extend(tests_in(text));
        }
    }
    tests
}

/// The functions of a file that have the attribute of a test.
fn tests_in(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
            return None;
        }
        // Other attributes and comments may come between.
        if line.starts_with("#[") || line.starts_with("//") {
            return None;
        }
        let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ").filter(|_| is_test);
        is_test = false;
        name?.split('(').next()
    })
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
    fn rows_whose_tests_are_gone_are_found() {
        testing::check_finds(
            check,
            "
== docs/promises.md
| id | promise | held by |
| --- | --- | --- |
| A1 | One. | `pellucid-x: it_holds`, `xtask: a_rule` |
| A2 | Two. | `pellucid-x: helper` |
| A2 | Three. | `pellucid-x: in_comment` |
| A3 | | `interop/a.py: check_a`, `interop/a.py: check_b` |
| A4 | Four. | nothing |
| A5 | Five. | `crates/pellucid-x/tests/it.rs: fn helper` |
== crates/pellucid-x/tests/it.rs
#[test]
#[cfg(unix)]
// Why.
fn it_holds() {}
// fn in_comment() is no test
fn helper() {}
== xtask/src/a.rs
    #[tokio::test(flavor = \"multi_thread\")]
    async fn a_rule() {}
== interop/a.py
def check_a(): pass
",
            "
docs/promises.md:4: A2: there is no test `pellucid-x: helper`
docs/promises.md:5: the id A2 is there twice
docs/promises.md:5: A2: there is no test `pellucid-x: in_comment`
docs/promises.md:6: A3 promises nothing
docs/promises.md:6: A3: there is no test `interop/a.py: check_b`
docs/promises.md:7: A4 names no test
docs/promises.md:8: A5: there is no test `crates/pellucid-x/tests/it.rs: fn helper`
",
        );
        testing::check_finds(check, "== docs/other.md\n", "docs/promises.md: is missing");
        testing::check_finds(check, "== docs/promises.md\n# Promises\n", "docs/promises.md: has no row");
    }
}
