//! Dependencies: each direct one has a row in `docs/dependencies.md` that says why, and each row is about an existing
//! one.
//!
//! Not here: which ones are good. That is what the row is for.

use std::collections::BTreeMap;

use crate::manifest;
use crate::tidy::Problem;
use crate::tree::Tree;

const PAGE: &str = "docs/dependencies.md";

pub fn check(tree: &Tree) -> Vec<Problem> {
    let manifests = manifest::all(tree);
    let ours: Vec<_> = manifests.iter().filter_map(|it| it.package.as_deref()).collect();
    // The place where each dependency is first named.
    let mut used: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for manifest in &manifests {
        for dependency in &manifest.dependencies {
            if !ours.contains(&dependency.name.as_str()) {
                let place = (manifest.path.as_str(), dependency.line);
                used.entry(&dependency.name).or_insert(place);
            }
        }
    }
    let rows = rows(tree.text(PAGE).unwrap_or_default());

    let mut problems = Vec::new();
    for (name, (path, line)) in &used {
        if !rows.contains_key(name) {
            problems.push(Problem::at_line(path, *line, format!("{name} has no row in {PAGE}")));
        }
    }
    for (name, lines) in &rows {
        if !used.contains_key(name) {
            problems.push(Problem::at_line(PAGE, lines[0], format!("{name} is no dependency any more")));
        }
        for line in &lines[1..] {
            problems.push(Problem::at_line(PAGE, *line, format!("{name} has a row already")));
        }
    }
    problems
}

/// The crates that have a row, by the name in backticks that begins it, and the lines of their rows.
fn rows(page: &str) -> BTreeMap<&str, Vec<usize>> {
    let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, line) in page.lines().enumerate() {
        if let Some((name, _)) = line.strip_prefix("| `").and_then(|rest| rest.split_once('`')) {
            rows.entry(name).or_default().push(at + 1);
        }
    }
    rows
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
    fn a_missing_and_a_stale_row_are_found() {
        testing::check_finds(
            check,
            r#"
== Cargo.toml
[workspace.dependencies]
serde = "1"
unseen = "1"
== crates/a/Cargo.toml
[package]
name = "a"
[dependencies]
serde.workspace = true
[dev-dependencies]
tempfile = "3"
== crates/b/Cargo.toml
[package]
name = "b"
[dependencies]
a = { path = "../a" }
== docs/dependencies.md
| crate | why |
| --- | --- |
| `serde` | JSON |
| `gone` | once |
| `serde` | TOML |
"#,
            "
crates/a/Cargo.toml:6: tempfile has no row in docs/dependencies.md
Cargo.toml:3: unseen has no row in docs/dependencies.md
docs/dependencies.md:4: gone is no dependency any more
docs/dependencies.md:5: serde has a row already
",
        );
    }
}
