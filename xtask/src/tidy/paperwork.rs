//! Paperwork: the licence is in the tree, and the changelog has a section for the next release.

use crate::tidy::Problem;
use crate::tree::Tree;

const CHANGELOG: &str = "CHANGELOG.md";
const LICENSE: &str = "LICENSE";

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let changelog = tree.text(CHANGELOG).unwrap_or_default();
    if !changelog.lines().any(|it| it.trim() == "## Unreleased") {
        let what = "has no section `## Unreleased`";
        problems.push(Problem::in_file(CHANGELOG, what));
    }
    let license = tree.text(LICENSE).unwrap_or_default();
    if !license.contains("Apache License") || !license.contains("Version 2.0") {
        let what = "is not the Apache License, Version 2.0";
        problems.push(Problem::in_file(LICENSE, what));
    }
    problems
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
    fn what_is_missing_is_found() {
        testing::check_finds(
            check,
            "== CHANGELOG.md\n# Changelog\n## 0.1.0\n",
            "
CHANGELOG.md: has no section `## Unreleased`
LICENSE: is not the Apache License, Version 2.0
",
        );
        testing::check_finds(check, "== CHANGELOG.md\n## Unreleased\n== LICENSE\nApache License\nVersion 2.0\n", "");
    }
}
