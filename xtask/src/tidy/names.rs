//! One idea, one name: a search for a public type finds one type.
//!
//! Two types that share a name make every reader ask which one is meant. Where the idea is the same, one type is enough;
//! where it is not, each type is named after its idea.
//!
//! Not seen: types that a macro makes.

use std::collections::BTreeMap;

use crate::tidy::Problem;
use crate::tree::Tree;

/// How many of a hundred names may be shared.
const SHARED_PERCENT_MAX: usize = 2;

const CORE_AND_SERVER: &str = "two protocols of the Codex CLI give this name to two forms of one thing";
const PLATFORMS: &str = "the same type on two platforms";

/// Names that may be shared, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("ByteRange", CORE_AND_SERVER),
    ("Handle", PLATFORMS),
    ("McpAuthStatus", CORE_AND_SERVER),
    ("McpServerStatus", CORE_AND_SERVER),
    ("Model", "the app server's protocol gives this name to an entry of its list of models"),
    ("RateLimitSnapshot", CORE_AND_SERVER),
    ("RateLimitWindow", CORE_AND_SERVER),
    ("SandboxPolicy", CORE_AND_SERVER),
    ("TextElement", CORE_AND_SERVER),
    ("UserInput", CORE_AND_SERVER),
    ("WebSearchAction", CORE_AND_SERVER),
];

pub fn check(tree: &Tree) -> Vec<Problem> {
    check_with(tree, EXCEPTIONS)
}

fn check_with(tree: &Tree, exceptions: &[(&str, &str)]) -> Vec<Problem> {
    let names = public_types(tree);
    let is_excepted = |name: &str| exceptions.iter().any(|(it, _)| *it == name);
    let shared: Vec<_> = names.iter().filter(|(name, places)| places.len() > 1 && !is_excepted(name)).collect();
    let mut problems = Vec::new();
    if shared.len() * 100 > names.len() * SHARED_PERCENT_MAX {
        let [n_shared, n_names] = [shared.len(), names.len()];
        problems.push(Problem::in_file(
            "crates",
            format!("{n_shared} of {n_names} names of public types are shared; at most {SHARED_PERCENT_MAX} % may be"),
        ));
        for (name, places) in shared {
            let (path, line) = places[0];
            let others: Vec<_> = places[1..].iter().map(|(path, _)| *path).collect();
            let what = format!("`{name}` is also in {}; name each type after its idea", others.join(", "));
            problems.push(Problem::at_line(path, line, what));
        }
    }
    for (name, _) in exceptions.iter().filter(|(name, _)| names.get(name).is_none_or(|places| places.len() < 2)) {
        let what = format!("`{name}` needs no exception any more; remove it from the rule's list");
        problems.push(Problem::in_file("xtask/src/tidy/names.rs", what));
    }
    problems
}

/// Every name of a public type with the places that define it.
fn public_types(tree: &Tree) -> BTreeMap<&str, Vec<(&str, usize)>> {
    let mut names: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for (path, text) in tree.texts(is_product) {
        let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        for (at, line) in product.lines().enumerate() {
            if let Some(name) = public_type(line) {
                names.entry(name).or_default().push((path, at + 1));
            }
        }
    }
    names
}

/// The name of the public type that a line defines.
fn public_type(line: &str) -> Option<&str> {
    let (kind, rest) = line.trim_start().strip_prefix("pub ")?.split_once(' ')?;
    if !matches!(kind, "struct" | "enum" | "trait" | "type" | "union") {
        return None;
    }
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

fn is_product(path: &str) -> bool {
    let is_source = path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs");
    is_source && !path.ends_with("tests.rs") && !path.contains("/tests/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing;

    #[track_caller]
    fn check_names(fixture: &str, exceptions: &[(&str, &str)], expected: &str) {
        let problems = check_with(&Tree::fixture(fixture), exceptions);
        assert_eq!(testing::render(&problems).trim(), expected.trim());
    }

    #[test]
    fn holds_here() {
        testing::check_holds_here(check);
    }

    #[test]
    fn two_crates_or_two_files_share_a_name() {
        check_names(
            "== crates/a/src/one.rs\npub struct Kind {\n}\npub enum Alone {\n}\n== crates/a/src/two.rs\n\
             pub type Mode = u8;\npub trait Mode<T> {\n== crates/b/src/three.rs\n\n    pub enum Kind {\n",
            &[],
            "crates: 2 of 3 names of public types are shared; at most 2 % may be\n\
             crates/a/src/one.rs:1: `Kind` is also in crates/b/src/three.rs; name each type after its idea\n\
             crates/a/src/two.rs:1: `Mode` is also in crates/a/src/two.rs; name each type after its idea",
        );
    }

    #[test]
    fn only_public_types_of_the_product_count() {
        check_names(
            "== crates/a/src/one.rs\npub struct Kind;\n== crates/b/src/two.rs\nstruct Kind;\npub(crate) enum Kind {\n\
             pub fn Kind() {\npub use crate::Kind;\n== crates/b/src/two_tests.rs\npub struct Kind;\n\
             == crates/b/tests/it/three.rs\npub struct Kind;\n== xtask/src/four.rs\npub struct Kind;\n\
             == crates/c/src/five.rs\n#[cfg(test)]\nmod tests {\n    pub struct Kind;\n",
            &[],
            "",
        );
    }

    #[test]
    fn a_small_share_is_let_pass() {
        let of = |n_shared: usize| {
            let a: String = (0..100).map(|n| format!("pub struct Name{n};\n")).collect();
            let b: String = (0..n_shared).map(|n| format!("pub struct Name{n};\n")).collect();
            check_with(&Tree::fixture(&format!("== crates/a/src/a.rs\n{a}== crates/b/src/b.rs\n{b}")), &[])
        };
        assert_eq!([0, 2, 3].map(|n| of(n).len()), [0, 0, 4]);
    }

    #[test]
    fn an_exception_counts_for_nothing_and_must_be_needed() {
        check_names(
            "== crates/a/src/a.rs\npub struct Wire;\npub struct Once;\n== crates/b/src/b.rs\npub struct Wire;\n",
            &[("Wire", "as sent"), ("Once", "as sent"), ("Never", "as sent")],
            "xtask/src/tidy/names.rs: `Once` needs no exception any more; remove it from the rule's list\n\
             xtask/src/tidy/names.rs: `Never` needs no exception any more; remove it from the rule's list",
        );
    }
}
