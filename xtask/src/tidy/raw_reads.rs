//! Raw reads: a file that another person or program may have prepared is read by `pellucid-files`, which accepts
//! regular files only, up to a size limit.
//!
//! A named pipe or a device in a project, in a home or beside a session would otherwise hang the program.

use crate::tidy::Problem;
use crate::tidy::except;
use crate::tree::Tree;

/// Calls that open or read any kind of file.
const RAW: [&str; 4] = ["fs::read(", "fs::read_to_string(", "File::open(", "from_path_iter("];

/// Files that may do so: they read the system's files (`/proc`, `/dev`, `/etc`), a locked folder, a file of this
/// repository, or check the file before they open it.
const EXCEPTIONS: &[&str] = &[
    "crates/pellucid-agent/src/prepare/machine.rs",
    "crates/pellucid-config/src/user_file.rs",
    "crates/pellucid-exec/src/cells.rs",
    "crates/pellucid-exec/src/census.rs",
    "crates/pellucid-exec/src/sandbox/helper/keeper.rs",
    "crates/pellucid-exec/src/sandbox/helper/namespaces.rs",
    "crates/pellucid-exec/src/sandbox/helper/watch.rs",
    "crates/pellucid-workspace/src/os.rs",
    "crates/pellucid-workspace/src/shell.rs",
    "crates/pellucid/src/pack/reference.rs",
];

pub fn check(tree: &Tree) -> Vec<Problem> {
    except(find(tree), EXCEPTIONS)
}

fn find(tree: &Tree) -> Vec<Problem> {
    let what = "reads a file whatever it is; use pellucid_files::read, read_text or open";
    let of = |(path, text)| raw_lines(text).map(move |line| Problem::at_line(path, line, what));
    tree.texts(is_product).flat_map(of).collect()
}

/// Whether a file is part of the program.
fn is_product(path: &str) -> bool {
    let is_source = path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs");
    let is_test = path.ends_with("tests.rs") || path.contains("/tests/") || path.ends_with("fixture.rs");
    let is_helper = ["crates/pellucid-testkit/", "crates/pellucid-files/"].iter().any(|it| path.starts_with(it));
    is_source && !is_test && !is_helper
}

/// The lines, counted from 1, with such a call. Tests are left out.
fn raw_lines(text: &str) -> impl Iterator<Item = usize> {
    let product = text.split("\nmod tests {").next().unwrap_or_default();
    let is_raw = |line: &str| {
        let begins = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"'));
        let has_one = RAW.iter().any(|raw| line.match_indices(raw).any(|(at, _)| begins(at)));
        has_one && !line.trim_start().starts_with("//")
    };
    product.lines().enumerate().filter(move |(_, line)| is_raw(line)).map(|(at, _)| at + 1)
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
    fn a_raw_read_is_found() {
        testing::check_finds(
            find,
            "
== crates/a/src/b.rs
let a = fs::read(path);
let b = pellucid_files::read(path, 1);
// fs::read(path)
let c = MyFile::open(path);
let d = std::fs::File::open(path);
#[cfg(test)]
mod tests {
    fs::read(path);
}
== crates/a/src/tests.rs
fs::read(path);
== xtask/src/x.rs
fs::read(path);
",
            "
crates/a/src/b.rs:1: reads a file whatever it is; use pellucid_files::read, read_text or open
crates/a/src/b.rs:5: reads a file whatever it is; use pellucid_files::read, read_text or open
",
        );
    }
}
