//! Length: a Rust file holds one idea, and one idea fits into [`N_LINES_MAX`] lines.
//!
//! Past the limit ask what else the file is about, and move that to another file.

use crate::tidy::{Problem, except};
use crate::tree::Tree;

const N_LINES_MAX: usize = 900;

/// Files that are one idea all the same, such as a flat table. May only shrink.
const EXCEPTIONS: &[&str] = &[];

pub fn check(tree: &Tree) -> Vec<Problem> {
    except(long_files(tree), EXCEPTIONS)
}

fn long_files(tree: &Tree) -> Vec<Problem> {
    tree.texts(|path| path.ends_with(".rs"))
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, n_lines)| *n_lines > N_LINES_MAX)
        .map(|(path, n_lines)| {
            let what = format!("{n_lines} lines; {N_LINES_MAX} are allowed");
            Problem::in_file(path, what)
        })
        .collect()
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
    fn a_long_file_is_found() {
        let lines = "//\n".repeat(N_LINES_MAX);
        testing::check_finds(
            long_files,
            &format!("== a.rs\n{lines}== b.rs\n{lines}//\n== c.md\n{lines}\n\n"),
            "b.rs: 901 lines; 900 are allowed",
        );
    }
}
