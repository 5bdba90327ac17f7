//! Systems: the engine and what reads its files know no system by name. What is particular to one is in its pack.

use crate::tidy::Problem;
use crate::tree::Tree;

/// The names of other systems, as words of paths, texts and identifiers.
const NAMES: [&str; 5] = ["ads", "agentcore", "openclaw", "risu", "risuai"];

/// Crates that serve any layout.
const GENERAL: [&str; 3] =
    ["crates/pellucid-engine/src/", "crates/pellucid-script/src/", "crates/pellucid-workspace/src/"];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let of = |(path, text): (&str, &str)| {
        let of_path = has_name(path).then(|| Problem::in_file(path, "a file is named after a system".to_string()));
        let what = "names a system; make it a setting of the pack";
        let lines = named_lines(text).map(|line| Problem::at_line(path, line, what)).collect::<Vec<_>>();
        of_path.into_iter().chain(lines).collect::<Vec<_>>()
    };
    tree.texts(is_product).flat_map(|(path, text)| of((path, text))).collect()
}

fn is_product(path: &str) -> bool {
    let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
    GENERAL.iter().any(|it| path.starts_with(it)) && path.ends_with(".rs") && !is_test
}

/// The lines, counted from 1, with such a name. Comments and tests are left out.
fn named_lines(text: &str) -> impl Iterator<Item = usize> {
    let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let is_named = |line: &str| !line.trim_start().starts_with("//") && has_name(line);
    product.lines().enumerate().filter(move |(_, line)| is_named(line)).map(|(at, _)| at + 1)
}

fn has_name(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| NAMES.contains(&word))
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
    fn a_name_of_a_system_is_found() {
        testing::check_finds(
            check,
            "
== crates/pellucid-engine/src/ads_state.rs
let a = 1;
== crates/pellucid-engine/src/b.rs
// like ads
let folder = \".ads\";
let heads = loads;
#[cfg(test)]
mod tests {
    let a = \"risuai\";
== crates/pellucid/src/c.rs
let a = \"openclaw\";
",
            "crates/pellucid-engine/src/ads_state.rs: a file is named after a system\n\
             crates/pellucid-engine/src/b.rs:2: names a system; make it a setting of the pack",
        );
    }
}
