//! Unfinished work: what is not done is not in the tree.
//!
//! A marker in a file is overlooked; what remains to be done belongs to the issues.

use crate::tidy::{Problem, standing_alone};
use crate::tree::Tree;

/// Markers of unfinished work in text. Written in two halves, so that this file does not break its own rule.
const WORDS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];

/// Markers of unfinished work in code.
const CODE: &[&str] =
    &[concat!("todo", "!("), concat!("dbg", "!("), concat!("unimplemented", "!("), concat!("#[ig", "nore")];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts(|_| true) {
        for (at, line) in text.lines().enumerate() {
            let word = WORDS.iter().find(|it| standing_alone(line, it).next().is_some());
            let is_rust = path.ends_with(".rs");
            let code = CODE.iter().find(|it| is_rust && line.contains(**it));
            if let Some(marker) = word.or(code) {
                problems.push(Problem::at_line(path, at + 1, format!("holds {marker}")));
            }
        }
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
    fn a_marker_is_found_but_not_a_name_that_holds_one() {
        let (word, code) = (WORDS[0], CODE[1]);
        testing::check_finds(
            check,
            &format!(
                "
== a.md
{word}: later
{word}_LIST, todo_list, todo
call {code}x)
== a.rs
// ({word})
{code}x)
"
            ),
            &format!(
                "
a.md:1: holds {word}
a.rs:1: holds {word}
a.rs:2: holds {code}
"
            ),
        );
    }
}
