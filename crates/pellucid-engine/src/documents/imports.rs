//! Files that instruction files import: `@path` at the beginning of a line or after white space.
//!
//! Code is left alone: spans in backticks, and blocks between fences. What follows the `@` is a path if it has a slash
//! or a dot in it; punctuation behind it is not part of it. It starts at the folder of the file that names it, or at the
//! user's home folder if it begins with `~/`.
//!
//! Following them ends: every file is used once, and only so many steps are taken. Whatever is not used is said.
//!
//! Not here: reading a file, and which files may be read (the caller, which gives `read`).

use crate::facts::Document;
use crate::path;

/// How many files are imported at most, whatever they name.
const FILES_MAX: usize = 100;

/// A place in a file that names another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The path, spelled as in the file.
    pub written: String,
    /// The line of the reference, from one.
    pub line: usize,
}

/// A file that another one names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The instruction file that it comes with.
    pub root: String,
    /// The file that names it.
    pub by: String,
    /// The line of the reference in that file.
    pub line: usize,
    /// The path of the imported file.
    pub path: String,
    /// The imported document, or why it is not used.
    pub outcome: Result<Document, ImportFault>,
}

/// Why a file is not imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportFault {
    /// The file does not exist.
    #[error("there is no such file")]
    Missing,
    /// The file is in the context already.
    #[error("it is in the context already")]
    Duplicate,
    /// The file imports itself through these files.
    #[error("it imports itself: {}", through.join(" -> "))]
    Cycle {
        /// The files, from it to it.
        through: Vec<String>,
    },
    /// The file is more import steps away than allowed.
    #[error("it is more than {max} imports away")]
    TooDeep {
        /// The maximum number of steps.
        max: usize,
    },
    /// The files import too many others.
    #[error("there are more than {max} imports")]
    TooMany {
        /// The maximum number of imports.
        max: usize,
    },
    /// The file is outside of the folders that may be read.
    #[error("it is outside of the project")]
    Outside,
    /// The user accepted instruction files of the project, and not this text.
    #[error("{}", crate::report::not_accepted(*is_changed))]
    NotAccepted {
        /// Whether the user accepted another text of the file.
        is_changed: bool,
    },
    /// The file cannot be read.
    #[error("{error}")]
    Unreadable {
        /// The error of the operating system.
        error: String,
    },
}

/// The places of a text that name files.
pub fn references(text: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    for (n, line) in text.lines().enumerate() {
        let mark = fence_of(line);
        match (fence, mark) {
            (None, Some(mark)) => fence = Some((mark.0, mark.1)),
            // A fence ends with one as long and nothing behind it.
            (Some(open), Some(close)) if close.0 == open.0 && close.1 >= open.1 && close.2 => fence = None,
            (Some(_), _) => {}
            (None, None) => found.extend(in_line(line).map(|written| Reference { written, line: n + 1 })),
        }
    }
    found
}

/// The fence that a line is: its character, its length, and whether nothing else is in the line.
fn fence_of(line: &str) -> Option<(char, usize, bool)> {
    let text = line.trim_start();
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    let len = text.len() - rest.len();
    // Backticks with others behind them are a span.
    (len >= 3 && !(mark == '`' && rest.contains('`'))).then(|| (mark, len, rest.trim().is_empty()))
}

fn in_line(line: &str) -> impl Iterator<Item = String> {
    let bare = without_spans(line);
    let words = bare.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    let paths = words.map(|word| word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'']));
    let paths = paths.filter(|path| path.contains(['/', '.']) && !path.starts_with('@'));
    paths.map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// A line without its spans of code: what is between equal runs of backticks.
fn without_spans(line: &str) -> String {
    let mut bare = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let (before, from) = rest.split_at(at);
        let inside = from.trim_start_matches('`');
        let ticks = &from[..from.len() - inside.len()];
        bare.push_str(before);
        match closing(inside, ticks.len()) {
            Some(end) => {
                // A character precedes it: an `@` after it does not begin a word.
                bare.push('`');
                rest = &inside[end..];
            }
            None => {
                bare.push_str(ticks);
                rest = inside;
            }
        }
    }
    bare + rest
}

/// The end of the first run of exactly so many backticks.
fn closing(text: &str, n_ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = text[at..].find('`') {
        let start = at + next;
        let len = text[start..].len() - text[start..].trim_start_matches('`').len();
        if len == n_ticks {
            return Some(start + len);
        }
        at = start + len;
    }
    None
}

/// How imports are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportLimits<'a> {
    /// The maximum number of import steps.
    pub depth: usize,
    /// The user's home folder.
    pub home: &'a str,
}

/// Follows the imports of instruction files. `read` gives the file of a path, or says why it does not; what it gives
/// may have another path, if the file is known by another name.
pub fn follow(
    documents: &[Document],
    limits: ImportLimits<'_>,
    read: &mut dyn FnMut(&str) -> Result<Document, ImportFault>,
) -> Vec<Imported> {
    let mut walk = Walk { limits, read, seen: documents.iter().map(|it| it.path.clone()).collect(), found: Vec::new() };
    for document in documents {
        walk.file(&document.path, document, &mut vec![document.path.clone()]);
    }
    walk.found
}

struct Walk<'a> {
    limits: ImportLimits<'a>,
    read: &'a mut dyn FnMut(&str) -> Result<Document, ImportFault>,
    /// Files that are in the context.
    seen: Vec<String>,
    found: Vec<Imported>,
}

impl Walk<'_> {
    /// Follows what a file names. `way` leads to it from an instruction file, itself the last.
    fn file(&mut self, root: &str, document: &Document, way: &mut Vec<String>) {
        for reference in references(&String::from_utf8_lossy(&document.bytes)) {
            let path = resolve(&document.path, &reference.written, self.limits.home);
            let outcome = self.one(&path, way);
            let path = outcome.as_ref().map_or(path, |imported| imported.path.clone());
            let (root, by, line) = (root.to_owned(), document.path.clone(), reference.line);
            self.found.push(Imported { root: root.clone(), by, line, path: path.clone(), outcome: outcome.clone() });
            if let Ok(imported) = outcome {
                self.seen.push(path.clone());
                way.push(path);
                self.file(&root, &imported, way);
                way.pop();
            }
        }
    }

    fn one(&mut self, path: &str, way: &[String]) -> Result<Document, ImportFault> {
        self.known(path, way)?;
        let max = self.limits.depth;
        if way.len() > max {
            return Err(ImportFault::TooDeep { max });
        }
        if self.found.len() >= FILES_MAX {
            return Err(ImportFault::TooMany { max: FILES_MAX });
        }
        let document = (self.read)(path)?;
        self.known(&document.path, way)?;
        Ok(document)
    }

    /// Whether a file is on the way to itself, or there already.
    fn known(&self, path: &str, way: &[String]) -> Result<(), ImportFault> {
        if let Some(at) = way.iter().position(|it| it == path) {
            let through = way[at..].iter().cloned().chain([path.to_owned()]).collect();
            return Err(ImportFault::Cycle { through });
        }
        if self.seen.iter().any(|it| it == path) { Err(ImportFault::Duplicate) } else { Ok(()) }
    }
}

/// The path that a file means by what is written in it.
fn resolve(by: &str, written: &str, home: &str) -> String {
    let folder = by.rsplit_once('/').map_or("", |(folder, _)| folder);
    path::expand(written, folder, home)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use expect_test::Expect;
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_references(text: &str, expected: &[(&str, usize)]) {
        let found = references(text);
        let found: Vec<(&str, usize)> = found.iter().map(|it| (it.written.as_str(), it.line)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_path_after_an_at_sign_is_named() {
        check_references(
            "See @docs/style.md, and @README.md.\n- @~/mine.md\n@/etc/x (@../up.md)",
            &[("docs/style.md", 1), ("README.md", 1), ("~/mine.md", 2), ("/etc/x", 3)],
        );
    }

    #[test]
    fn people_addresses_and_code_are_not() {
        check_references("Ask @ada or ada@example.org. @@x.md", &[]);
        check_references("Write `@a.md` or ``@b.md ` @c.md`` but @d.md", &[("d.md", 1)]);
        check_references("A lone ` and @a.md", &[("a.md", 1)]);
        check_references(
            "```sh\n@a.md\n~~~\n```\n@b.md\n~~~~\n@c.md\n~~~\n@d.md\n~~~~~\n@e.md",
            &[("b.md", 5), ("e.md", 11)],
        );
        check_references("   ```\n@a.md", &[]);
    }

    fn document(path: &str, text: &str) -> Document {
        Document::whole(path, text)
    }

    #[track_caller]
    fn check_follow(files: &[(&str, &str)], depth: usize, expected: &Expect) {
        let files: BTreeMap<&str, &str> = files.iter().copied().collect();
        let roots = [document("/p/AGENTS.md", files["/p/AGENTS.md"])];
        let mut read = |path: &str| files.get(path).map(|text| document(path, text)).ok_or(ImportFault::Missing);
        let found = follow(&roots, ImportLimits { depth, home: "/home/ada" }, &mut read);
        let lines: Vec<String> = found
            .iter()
            .map(|it| {
                let outcome = it.outcome.as_ref().map_or_else(ToString::to_string, |_| "read".to_owned());
                format!("{}:{} {}: {outcome}", it.by, it.line, it.path)
            })
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn imports_are_followed_and_what_is_not_used_is_said() {
        check_follow(
            &[
                ("/p/AGENTS.md", "@a.md\n@sub/b.md\n@no.md\n@a.md @~/mine.md"),
                ("/p/a.md", "@AGENTS.md"),
                ("/p/sub/b.md", "@../sub/c.md"),
                ("/p/sub/c.md", "@d.md @b.md"),
                ("/p/sub/d.md", "deep"),
                ("/home/ada/mine.md", "x"),
            ],
            2,
            &expect![[r#"
                /p/AGENTS.md:1 /p/a.md: read
                /p/a.md:1 /p/AGENTS.md: it imports itself: /p/AGENTS.md -> /p/a.md -> /p/AGENTS.md
                /p/AGENTS.md:2 /p/sub/b.md: read
                /p/sub/b.md:1 /p/sub/c.md: read
                /p/sub/c.md:1 /p/sub/d.md: it is more than 2 imports away
                /p/sub/c.md:1 /p/sub/b.md: it imports itself: /p/sub/b.md -> /p/sub/c.md -> /p/sub/b.md
                /p/AGENTS.md:3 /p/no.md: there is no such file
                /p/AGENTS.md:4 /p/a.md: it is in the context already
                /p/AGENTS.md:4 /home/ada/mine.md: read"#]],
        );
    }

    proptest! {
        #[test]
        fn following_ends_and_no_file_comes_twice(
            files in prop::collection::vec(prop::collection::vec(0_usize..8, 0..6), 8),
            depth in 0_usize..12,
        ) {
            let text = |n: usize| files[n].iter().map(|it| format!("@{it}.md\n")).collect::<String>();
            let mut n_reads = 0;
            let mut read = |path: &str| {
                n_reads += 1;
                let n: usize = path.trim_start_matches("/p/").trim_end_matches(".md").parse().unwrap();
                Ok(document(path, &text(n)))
            };
            let found = follow(&[document("/p/0.md", &text(0))], ImportLimits { depth, home: "/h" }, &mut read);
            let mut used: Vec<&str> = found.iter().filter(|it| it.outcome.is_ok()).map(|it| it.path.as_str()).collect();
            prop_assert!(used.len() < 8);
            prop_assert_eq!(n_reads, used.len());
            used.sort_unstable();
            used.dedup();
            prop_assert_eq!(used.len(), found.iter().filter(|it| it.outcome.is_ok()).count());
        }

        #[test]
        fn any_text_is_looked_through(text in any::<String>()) {
            references(&text);
        }
    }
}
