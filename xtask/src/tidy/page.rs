//! Page: what `pellucid inspect` serves makes no markup from texts, and stays small.
//!
//! Texts of a session become text nodes. The words by which markup or code is made from a text do not occur, not even in
//! comments, so that a search for them finds nothing to think about.

use crate::tidy::Problem;
use crate::tree::Tree;

/// The folder that the program embeds.
const FOLDER: &str = "crates/pellucid-inspect/page/";

const FORBIDDEN: &[&str] = &[
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval",
    "new Function",
    "srcdoc",
    "http:",
    "https:",
];

/// The address that names the language of a drawing; nothing is fetched from it.
const NAMESPACE: &str = "xmlns=\"http://www.w3.org/2000/svg\"";

const N_LINES_MAX: usize = 400;

/// How many bytes all files together may have.
const N_BYTES_MAX: usize = 194_500;

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts(|path| path.starts_with(FOLDER)) {
        for (at, line) in text.lines().enumerate() {
            let line = line.replace(NAMESPACE, "");
            let words = FORBIDDEN.iter().filter(|word| line.contains(**word));
            problems.extend(words.map(|word| Problem::at_line(path, at + 1, format!("has `{word}`"))));
        }
        let n_lines = text.lines().count();
        if n_lines > N_LINES_MAX {
            problems.push(Problem::in_file(path, format!("{n_lines} lines; {N_LINES_MAX} are allowed")));
        }
    }
    let n_bytes: usize = tree.files().iter().filter(|it| it.path.starts_with(FOLDER)).map(|it| it.n_bytes).sum();
    if n_bytes > N_BYTES_MAX {
        problems.push(Problem::in_file(FOLDER, format!("{n_bytes} bytes in all; {N_BYTES_MAX} are allowed")));
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
    fn markup_from_texts_and_long_files_are_found() {
        let lines = "//\n".repeat(N_LINES_MAX);
        testing::check_finds(
            check,
            &format!(
                "
== crates/pellucid-inspect/page/a.js
element.innerHTML = text;
element.textContent = text; // https://example.com
== crates/pellucid-inspect/page/b.svg
<svg xmlns=\"http://www.w3.org/2000/svg\"/>
== crates/pellucid-inspect/page/c.js
{lines}//
== crates/pellucid-inspect/src/page.rs
innerHTML
"
            ),
            "
crates/pellucid-inspect/page/a.js:1: has `innerHTML`
crates/pellucid-inspect/page/a.js:2: has `https:`
crates/pellucid-inspect/page/c.js: 401 lines; 400 are allowed
",
        );
    }

    #[test]
    fn a_heavy_page_is_found() {
        let text = "x".repeat(N_BYTES_MAX);
        testing::check_finds(
            check,
            &format!("== crates/pellucid-inspect/page/a.css\n{text}\n"),
            "crates/pellucid-inspect/page/: 194501 bytes in all; 194500 are allowed",
        );
    }
}
