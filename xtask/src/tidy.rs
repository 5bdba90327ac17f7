//! The rules of the house that no compiler knows, as functions from a tree to its problems.
//!
//! Each rule is one file, with a test that the project obeys it and tests that it finds what it is for. So `cargo test`
//! checks them all, and `cargo xtask tidy` prints the same in short.
//!
//! Exceptions are lists keyed by path inside the rule. They may only shrink: an entry that is no longer needed is
//! itself a problem.

mod blobs;
mod comments;
mod config_fields;
mod dependencies;
mod git_home;
mod layers;
mod length;
mod links;
mod literals;
mod machine_paths;
mod module_docs;
mod names;
mod page;
mod paperwork;
mod promises;
mod prompt_homes;
mod pure;
mod raw_reads;
mod registry_hosts;
mod systems;
mod templates;
mod unfinished;
mod width;

use std::fmt;

use anyhow::Result;

use crate::Outcome;
use crate::args::Args;
use crate::program;
use crate::tree::Tree;

/// A rule: what it asks for, and the function that checks it.
struct Rule {
    name: &'static str,
    asks: &'static str,
    check: fn(&Tree) -> Vec<Problem>,
}

/// A violation of a rule, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    path: String,
    /// The line, counted from 1; `None` when the whole file is meant.
    line: Option<usize>,
    what: String,
}

const RULES: &[Rule] = &[
    Rule { name: "layers", asks: "crates depend downward only, and the core on no runtime", check: layers::check },
    Rule { name: "module docs", asks: "every source file opens with what it is for", check: module_docs::check },
    Rule {
        name: "prompt homes",
        asks: "what the model reads is in a pack, not in a literal",
        check: prompt_homes::check,
    },
    Rule { name: "templates", asks: "every file of a pack is used, and no two are alike", check: templates::check },
    Rule { name: "links", asks: "every link of a page leads to a file of the project", check: links::check },
    Rule { name: "machine paths", asks: "no file names a folder of one person's machine", check: machine_paths::check },
    Rule { name: "registry hosts", asks: "no file names the host of a package registry", check: registry_hosts::check },
    Rule { name: "unfinished", asks: "no marker of unfinished work", check: unfinished::check },
    Rule { name: "blobs", asks: "no file is too large for a clone", check: blobs::check },
    Rule {
        name: "dependencies",
        asks: "every direct dependency is explained in docs/dependencies.md",
        check: dependencies::check,
    },
    Rule {
        name: "raw reads",
        asks: "files that others may have prepared are read by pellucid-files",
        check: raw_reads::check,
    },
    Rule {
        name: "systems",
        asks: "the engine names no other system; what is particular to one is in its pack",
        check: systems::check,
    },
    Rule {
        name: "config fields",
        asks: "what the configuration holds is read by the program",
        check: config_fields::check,
    },
    Rule { name: "pure", asks: "the engine names no module that reaches the machine", check: pure::check },
    Rule { name: "git home", asks: "one file starts git", check: git_home::check },
    Rule {
        name: "comments",
        asks: "doc comments are sentences, in the words of docs/wording.md",
        check: comments::check,
    },
    Rule { name: "names", asks: "one idea, one name: public types do not share theirs", check: names::check },
    Rule {
        name: "page",
        asks: "the page of `inspect` makes no markup from texts, and stays small",
        check: page::check,
    },
    Rule { name: "paperwork", asks: "changelog and licence are there", check: paperwork::check },
    Rule { name: "promises", asks: "every promise of docs/promises.md names tests that exist", check: promises::check },
    Rule { name: "length", asks: "a Rust file can be read in one sitting", check: length::check },
    Rule { name: "width", asks: "a type has few enough members to hold one idea", check: width::check },
];

/// Runs `cargo xtask tidy`.
pub fn run(args: Args) -> Result<Outcome> {
    args.finish()?;
    let tree = Tree::read(program::root())?;
    let mut n_problems = 0;
    for rule in RULES {
        let problems = (rule.check)(&tree);
        let verdict = match problems.len() {
            0 => "ok".to_string(),
            1 => "1 problem".to_string(),
            n => format!("{n} problems"),
        };
        println!("{:<15} {verdict:<12} {}", rule.name, rule.asks);
        for problem in &problems {
            println!("    {problem}");
        }
        n_problems += problems.len();
    }
    Ok(if n_problems == 0 { Outcome::Good } else { Outcome::Bad })
}

impl Problem {
    pub fn in_file(path: &str, what: impl Into<String>) -> Self {
        Self { path: path.to_string(), line: None, what: what.into() }
    }

    pub fn at_line(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_string(), line: Some(line), what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

/// Removes the problems of excepted paths, and adds one for each exception without a problem.
fn except(problems: Vec<Problem>, exceptions: &[&str]) -> Vec<Problem> {
    let mut kept = Vec::new();
    let mut needed = Vec::new();
    for problem in problems {
        match exceptions.iter().find(|it| **it == problem.path) {
            Some(path) => needed.push(*path),
            None => kept.push(problem),
        }
    }
    for path in exceptions.iter().filter(|it| !needed.contains(it)) {
        kept.push(Problem::in_file(path, "needs no exception any more; remove it from the rule's list"));
    }
    kept
}

/// Places in `line` where `word` occurs by itself, not inside a longer name.
fn standing_alone<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = line[..*at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

#[cfg(test)]
mod testing {
    use std::sync::OnceLock;

    use super::*;

    /// The rule finds no problem in the project itself.
    #[track_caller]
    pub fn check_holds_here(check: fn(&Tree) -> Vec<Problem>) {
        static HERE: OnceLock<Tree> = OnceLock::new();
        let tree = HERE.get_or_init(|| Tree::read(program::root()).expect("the project is there"));
        let problems = check(tree);
        assert!(problems.is_empty(), "\n{}", render(&problems));
    }

    /// The rule finds exactly these problems, one to a line, in a tree given as a fixture.
    #[track_caller]
    pub fn check_finds(check: fn(&Tree) -> Vec<Problem>, fixture: &str, expected: &str) {
        let problems = check(&Tree::fixture(fixture));
        assert_eq!(render(&problems).trim(), expected.trim());
    }

    pub fn render(problems: &[Problem]) -> String {
        problems.iter().map(|it| format!("{it}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_hides_its_problem_and_must_be_needed() {
        let problems = vec![Problem::in_file("a", "bad"), Problem::at_line("b", 3, "bad")];
        assert_eq!(
            testing::render(&except(problems, &["a", "c"])),
            "b:3: bad\nc: needs no exception any more; remove it from the rule's list\n"
        );
    }

    #[test]
    fn a_word_is_by_itself_or_not() {
        let places = |line| standing_alone(line, "abc").collect::<Vec<_>>();
        assert_eq!(places("abc, xabc abc_d (abc)"), [0, 17]);
        assert_eq!(places("éabc"), [0; 0]);
    }
}
