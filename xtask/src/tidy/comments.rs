//! Comments: a doc comment is a sentence, and comments use the words of `docs/wording.md`.
//!
//! A doc comment of one or two words repeats the name below it; a better name, or no comment, says as much. The
//! refused words hide who does what: the page lists what to write instead. Code in backticks and in examples may
//! contain them.
//!
//! Not here: tests, whose comments have other readers, and messages to people, which the tests of the product compare.

use crate::tidy::{Problem, standing_alone};
use crate::tree::{Tree, is_source, is_test_module};

/// The fewest words of a doc comment.
const N_WORDS_MIN: usize = 3;

/// Words and phrases that comments avoid, in lower case.
const REFUSED: &[&str] = &[
    "anew",
    "face",
    "faces",
    "goes on",
    "nobody",
    "of its own",
    "parts from",
    "picture",
    "pictures",
    "somebody",
    "stands",
    "tells",
    "told",
    "whoever",
];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let of = |(path, text)| comments(text).into_iter().flat_map(move |it| it.problems(path));
    tree.texts(|path| is_source(path) && !is_test_module(path)).flat_map(of).collect()
}

/// Comment lines of one kind that follow each other.
struct Comment<'a> {
    /// The line where the comment begins, counted from 1.
    line: usize,
    /// The slashes that open each line.
    mark: &'static str,
    lines: Vec<&'a str>,
}

/// The comments of a file that fill lines. The module `tests` at the end of the file is left out.
fn comments(text: &str) -> Vec<Comment<'_>> {
    let product = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut comments: Vec<Comment<'_>> = Vec::new();
    for (at, line) in product.lines().enumerate() {
        let line = line.trim_start();
        let Some(mark) = ["///", "//!", "//"].into_iter().find(|mark| line.starts_with(mark)) else { continue };
        let content = line[mark.len()..].trim();
        match comments.last_mut() {
            Some(last) if last.mark == mark && last.line + last.lines.len() == at + 1 => last.lines.push(content),
            _ => comments.push(Comment { line: at + 1, mark, lines: vec![content] }),
        }
    }
    comments
}

impl Comment<'_> {
    fn problems(&self, path: &str) -> Vec<Problem> {
        let mut problems = Vec::new();
        let n_words: usize = self.lines.iter().map(|line| line.split_whitespace().count()).sum();
        if self.mark != "//" && n_words < N_WORDS_MIN {
            let what = format!("a doc comment of {n_words} words; write a sentence, or let the name speak");
            problems.push(Problem::at_line(path, self.line, what));
        }
        let prose = self.prose();
        for word in REFUSED.iter().filter(|word| standing_alone(&prose, word).next().is_some()) {
            let what = format!("the comment says \"{word}\"; docs/wording.md has the words to use");
            problems.push(Problem::at_line(path, self.line, what));
        }
        problems
    }

    /// The text of the comment in lower case, without code.
    fn prose(&self) -> String {
        let mut is_example = false;
        let lines = self.lines.iter().filter(|line| {
            let is_fence = line.starts_with("```");
            is_example ^= is_fence;
            !is_example && !is_fence
        });
        let text = lines.copied().collect::<Vec<_>>().join(" ");
        let outside_of_backticks: Vec<&str> = text.split('`').step_by(2).collect();
        outside_of_backticks.join("`").to_lowercase()
    }
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
    fn short_doc_comments_and_refused_words_are_found() {
        testing::check_finds(
            check,
            "
== crates/a/src/a.rs
//! Two words.

/// Three words here.
fn a() {}

/// A comment of two lines whose phrase
/// goes
/// on in the next one.
fn b() {
    // Short.
    // Told.
    let told = \"Somebody\"; // Nobody looks here.
}

/// `told` is code, and so is this:
///
/// ```
/// let told = tells();
/// ```
///
/// But Faces are not, and interfaces are none of them.
fn c() {}

#[cfg(test)]
mod tests {
    /// Told.
    fn d() {}
}
== crates/a/src/a/tests.rs
/// Told.
== crates/a/tests/a.rs
/// Told.
== docs/a.md
// Told.
",
            "
crates/a/src/a.rs:1: a doc comment of 2 words; write a sentence, or let the name speak
crates/a/src/a.rs:6: the comment says \"goes on\"; docs/wording.md has the words to use
crates/a/src/a.rs:10: the comment says \"told\"; docs/wording.md has the words to use
crates/a/src/a.rs:15: the comment says \"faces\"; docs/wording.md has the words to use
",
        );
    }
}
