//! Templates: every file of a pack is used under its name, and no two are the same.
//!
//! A file `a/b.md` is used when its pack's `pack.toml`, another file of the pack or a literal of the product's source
//! says `a/b` or `a/b.md`; a tool's file `tools/name.toml` when `pack.toml`, or that of the pack beneath, has `"name"`.
//!
//! The table of slots names all files, used or not, so it does not count.
//!
//! Not here: whether the name is right. The engine refuses a pack that names a missing file.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::Problem;
use crate::tidy::literals::literals;
use crate::tree::{self, Tree};

const PACKS: &str = "crates/pellucid-engine/packs/";

/// The table of all slots.
const SLOTS: &str = "crates/pellucid-engine/src/pack/slots.rs";

pub fn check(tree: &Tree) -> Vec<Problem> {
    let said = literals_of_product(tree);
    let mut problems = Vec::new();
    let mut first_with: BTreeMap<&str, &str> = BTreeMap::new();
    for (path, text) in tree.texts(|path| path.starts_with(PACKS)) {
        let first = *first_with.entry(text).or_insert(path);
        if first != path {
            let what = format!("says the same as {first}; keep one");
            problems.push(Problem::in_file(path, what));
        }
        if !is_used(tree, &said, path) {
            problems.push(Problem::in_file(path, "nothing names this file"));
        }
    }
    problems
}

fn literals_of_product(tree: &Tree) -> BTreeSet<String> {
    let is_product = |path: &str| path.starts_with("crates/") && tree::is_source(path) && !tree::is_test_module(path);
    tree.texts(|path| is_product(path) && path != SLOTS)
        .flat_map(|(_, text)| literals(text))
        .map(|it| it.text)
        .collect()
}

fn is_used(tree: &Tree, said: &BTreeSet<String>, path: &str) -> bool {
    let Some((pack, file)) = path[PACKS.len()..].split_once('/') else {
        // A file beside the packs may name files of all of them.
        return true;
    };
    if file == "pack.toml" {
        return true;
    }
    let folder = format!("{PACKS}{pack}/");
    let bare = file.rsplit_once('.').map_or(file, |(bare, _)| bare);
    if let Some(tool) = bare.strip_prefix("tools/")
        && file.ends_with(".toml")
    {
        let layout = |pack: &str| tree.text(&format!("{PACKS}{pack}/pack.toml")).unwrap_or_default();
        // A pack may describe the tools of the pack that it comes from in other words.
        let from = layout(pack).lines().find_map(|line| line.strip_prefix("from = \"")?.strip_suffix('"'));
        let layouts = [Some(pack), from];
        return layouts.into_iter().flatten().any(|pack| layout(pack).contains(&format!("\"{tool}\"")));
    }
    let in_pack = |other: &str| other != path && other.starts_with(&folder);
    said.contains(bare) || said.contains(file) || tree.texts(in_pack).any(|(_, text)| names(text, bare))
}

/// Whether `text` contains `name` (with or without an extension such as `.md`), and not as a part of a longer path or
/// name.
fn names(text: &str, name: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(goes_on) && !after.is_some_and(goes_on)
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
    fn a_file_that_nothing_names_is_found() {
        testing::check_finds(
            check,
            r#"
== crates/pellucid-engine/packs/README.md
About packs.
== crates/pellucid-engine/packs/codex/pack.toml
template = "personality.md"
tools = ["plan"]
== crates/pellucid-engine/packs/codex/personality.md
one, see notes/inner
== crates/pellucid-engine/packs/codex/permissions/network.md
two
== crates/pellucid-engine/packs/codex/notes/inner.md
three
== crates/pellucid-engine/packs/codex/lost.md
lost.md
== crates/pellucid-engine/packs/codex/network.md
four
== crates/pellucid-engine/packs/codex/tools/plan.toml
five
== crates/pellucid-engine/packs/codex/tools/plan_more.toml
six
== crates/pellucid-engine/src/source.rs
// "lost", and lost too.
const A: &str = "permissions/network";
#[cfg(test)]
const B: &str = "lost";
"#,
            "
crates/pellucid-engine/packs/codex/lost.md: nothing names this file
crates/pellucid-engine/packs/codex/network.md: nothing names this file
crates/pellucid-engine/packs/codex/tools/plan_more.toml: nothing names this file
",
        );
    }

    #[test]
    fn twins_are_found() {
        testing::check_finds(
            check,
            r#"
== crates/pellucid-engine/packs/ads/pack.toml
a b
== crates/pellucid-engine/packs/ads/a.md
same
== crates/pellucid-engine/packs/ads/b.md
same
"#,
            "crates/pellucid-engine/packs/ads/b.md: says the same as crates/pellucid-engine/packs/ads/a.md; keep one",
        );
    }
}
