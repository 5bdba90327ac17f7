//! The same patches for the reference and for us: same messages, same status, same files.
//!
//! Runs where `PELLUCID_REFERENCE_CODEX` names the reference's executable. What differs on purpose: a
//! patch that fails changes nothing here, and what `cases` marks as ours.

use std::env;
use std::ffi::OsString;
use std::process::Command;
use std::process::Stdio;

use crate::Outcome;
use crate::Tree;
use crate::cases::CASES;
use crate::folder_with;
use crate::ours;
use crate::read_tree;

const VARIABLE: &str = "PELLUCID_REFERENCE_CODEX";
const N_PATCHES: usize = 400;

#[expect(clippy::print_stderr, reason = "a reader of the output must know which tests were not run")]
fn reference() -> Option<OsString> {
    let program = env::var_os(VARIABLE);
    if program.is_none() {
        eprintln!("skipped: {VARIABLE} does not name the reference's executable");
    }
    program
}

fn theirs(program: &OsString, files: &Tree, patch: &str) -> Outcome {
    let folder = folder_with(files);
    let output = Command::new(program)
        .args(["--codex-run-as-apply-patch", patch])
        .current_dir(folder.path())
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Outcome {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        tree: read_tree(folder.path()),
    }
}

#[track_caller]
fn check_same(program: &OsString, files: &Tree, patch: &str) -> i32 {
    let mut theirs = theirs(program, files, patch);
    if theirs.status != 0 {
        theirs.tree = files.clone();
    }
    assert_eq!(ours(files, patch), theirs, "{files:?}\n{patch}");
    theirs.status
}

#[test]
fn every_case_is_as_in_the_reference() {
    let Some(program) = reference() else {
        return;
    };
    for case in CASES.iter().filter(|case| !case.is_ours) {
        check_same(&program, &case.tree(), &case.text());
    }
}

#[test]
fn made_up_patches_are_as_in_the_reference() {
    let Some(program) = reference() else {
        return;
    };
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut n_applied = 0;
    for _ in 0..N_PATCHES {
        let files = dice.tree();
        let patch = dice.patch(&files);
        n_applied += usize::from(check_same(&program, &files, &patch) == 0);
    }
    assert!(n_applied > N_PATCHES / 10 && n_applied < N_PATCHES * 9 / 10, "{n_applied} of {N_PATCHES} applied");
}

/// Chance that is the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }

    fn one_of<'a>(&mut self, values: &[&'a str]) -> &'a str {
        values[self.below(values.len())]
    }

    fn line(&mut self) -> &'static str {
        self.one_of(&[
            "",
            "a",
            "b",
            "c",
            "  a",
            "a  ",
            "}",
            "\u{2013} a",
            "- a",
            "\u{201C}b\u{201D}",
            "\"b\"",
            "d",
            "e",
        ])
    }

    fn lines(&mut self, n: usize) -> Vec<&'static str> {
        let n = self.below(n);
        (0..n).map(|_| self.line()).collect()
    }

    fn tree(&mut self) -> Tree {
        let mut tree = Tree::new();
        for path in ["a", "b", "d/e"] {
            if self.below(4) > 0 {
                let text = self.lines(9).join("\n") + self.one_of(&["", "\n", "\n", "\n"]);
                tree.insert(path.to_owned(), text.into_bytes());
            }
        }
        tree
    }

    fn path(&mut self) -> &'static str {
        self.one_of(&["a", "a", "b", "b", "d/e", "./a", "n", "d/n/m", "d", "a/x"])
    }

    fn patch(&mut self, files: &Tree) -> String {
        let mut lines = vec!["*** Begin Patch".to_owned()];
        for _ in 0..=self.below(3) {
            self.hunk(files, &mut lines);
        }
        lines.push("*** End Patch".to_owned());
        // Some are broken, and in every way in which lines can be.
        if self.below(3) == 0 {
            let at = self.below(lines.len());
            match self.below(4) {
                0 => drop(lines.remove(at)),
                1 => {
                    lines.insert(at, self.one_of(&["", "foo", "@@", "@@ a", "*** End of File", "+", "***"]).to_owned());
                }
                2 => lines.insert(at, lines[at].clone()),
                _ => lines[at].insert(0, ' '),
            }
        }
        lines.join("\n")
    }

    fn hunk(&mut self, files: &Tree, lines: &mut Vec<String>) {
        let path = self.path();
        match self.below(6) {
            0 => {
                lines.push(format!("*** Add File: {path}"));
                lines.extend(self.lines(4).iter().map(|line| format!("+{line}")));
            }
            1 => lines.push(format!("*** Delete File: {path}")),
            _ => {
                lines.push(format!("*** Update File: {path}"));
                if self.below(5) == 0 {
                    let target = self.one_of(&["b", "n", "d/m", "x/y/z"]);
                    // A file that is moved to itself is lost in the reference.
                    if target != path {
                        lines.push(format!("*** Move to: {target}"));
                    }
                }
                let text = files.get(path.trim_start_matches("./")).cloned().unwrap_or_default();
                let text = String::from_utf8(text).unwrap();
                let mut rest: Vec<&str> = text.lines().collect();
                for n in 0..=self.below(3) {
                    if n > 0 || self.below(2) == 0 {
                        let context = if self.below(6) == 0 { format!("@@ {}", self.line()) } else { "@@".to_owned() };
                        lines.push(context);
                    }
                    rest = self.chunk(&rest, lines);
                }
            }
        }
    }

    /// Mostly existing lines, somewhere below the last ones.
    fn chunk<'a>(&mut self, rest: &[&'a str], lines: &mut Vec<String>) -> Vec<&'a str> {
        let begin = self.below(rest.len() + 1);
        let end = (begin + self.below(4)).min(rest.len());
        for line in &rest[begin..end] {
            let line = match self.below(20) {
                0 => self.line(),
                1 => line.trim(),
                _ => line,
            };
            match self.below(4) {
                0 => lines.push(format!("-{line}")),
                1 => lines.extend([format!("-{line}"), format!("+{}", self.line())]),
                _ => lines.push(format!(" {line}")),
            }
        }
        if self.below(3) == 0 {
            lines.push(format!("+{}", self.line()));
        }
        if self.below(if end == rest.len() { 3 } else { 12 }) == 0 {
            lines.push("*** End of File".to_owned());
        }
        rest[end..].to_vec()
    }
}
