//! Prompt homes: what the model reads is in a file of a pack, where it can be found, reviewed and replaced; so a
//! crate's source holds no long prose.
//!
//! Prose is recognised by its length: [`N_WORDS_MAX`] is more than an error message or a line of help needs, and less
//! than an instruction has. Words without any of the [`MARKS`] between them are a list, such as the keywords of a language.
//!
//! Not covered: doc comments (the help of a command is one), attributes, tests.

use crate::tidy::literals::literals;
use crate::tidy::{Problem, except};
use crate::tree::{self, Tree};

/// The most words that one literal may have.
const N_WORDS_MAX: usize = 24;

/// The marks of which a text of several sentences or clauses has at least one.
const MARKS: [char; 4] = ['.', ',', ':', ';'];

/// Files with longer texts for people, not models: the arguments' help and the generated pages.
const FOR_PEOPLE: &[&str] = &["crates/pellucid/src/args", "crates/pellucid-config/src/reference"];

/// Files outside of packs that may contain long literals. May only shrink.
const EXCEPTIONS: &[&str] = &[];

pub fn check(tree: &Tree) -> Vec<Problem> {
    except(long_literals(tree), EXCEPTIONS)
}

fn long_literals(tree: &Tree) -> Vec<Problem> {
    let is_covered = |path: &str| {
        path.starts_with("crates/")
            && tree::is_source(path)
            && !tree::is_test_module(path)
            && !FOR_PEOPLE.iter().any(|it| path.starts_with(it))
    };
    let mut problems = Vec::new();
    for (path, text) in tree.texts(is_covered) {
        for literal in literals(text) {
            let n_words = literal.text.split_whitespace().filter(is_word).count();
            if n_words > N_WORDS_MAX && literal.text.contains(MARKS) {
                problems.push(Problem::at_line(
                    path,
                    literal.line,
                    format!("a literal of {n_words} words of prose; give it a file in a pack"),
                ));
            }
        }
    }
    problems
}

/// Whether this is a word of a sentence rather than a piece of code, a number or a placeholder.
fn is_word(token: &&str) -> bool {
    let bare = token.trim_matches(|c: char| c.is_ascii_punctuation() && c != '{' && c != '}');
    !bare.is_empty() && bare.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-'))
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
    fn long_prose_is_found_outside_packs_help_and_tests() {
        let prose = "You work on the code of one person and you say what you did. ".repeat(2);
        let words = "break continue return ".repeat(20);
        testing::check_finds(
            long_literals,
            &format!(
                "
== crates/pellucid-agent/src/a.rs
//! {prose}
const A: &str = \"{prose}\";
#[error(\"{prose}\")]
const B: &str = \"{{a}} {{b}} short\";
const WORDS: &str = \"{words}\";
#[cfg(test)]
mod tests {{
    const C: &str = \"{prose}\";
}}
== crates/pellucid-agent/src/a/tests.rs
const A: &str = \"{prose}\";
== crates/pellucid/src/args/exec.rs
const A: &str = \"{prose}\";
== crates/pellucid-engine/packs/codex/a.md
{prose}
== xtask/src/main.rs
const A: &str = \"{prose}\";
"
            ),
            "crates/pellucid-agent/src/a.rs:2: a literal of 28 words of prose; give it a file in a pack",
        );
    }

    #[test]
    fn code_is_not_prose() {
        let n_words = |text: &str| text.split_whitespace().filter(is_word).count();
        assert_eq!(n_words("Say `it's` well-known, (twice)."), 4);
        assert_eq!(n_words(r#"{"type":"object", a = 1; x.y() -> {name} 42 --flag="x""#), 1);
    }
}
