//! Registry hosts: no file names the host that packages are downloaded from, because that is configured where the
//! project is built and differs from place to place.
//!
//! The lock file's canonical source line, which Cargo writes everywhere alike, is not such a setting.

use crate::tidy::Problem;
use crate::tree::Tree;

/// Hosts of registries and their mirrors. Written in two halves, so that this file does not break
/// its own rule.
const HOSTS: &[&str] = &[
    concat!("crates", ".io"),
    concat!("npmjs", ".org"),
    concat!("npmjs", ".com"),
    concat!("yarnpkg", ".com"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("rubygems", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("ghcr", ".io"),
    concat!("docker", ".io"),
    concat!("art", "ifactory"),
    concat!("registry", ".npm"),
];

const LOCK_FILE: &str = "Cargo.lock";

pub fn check(tree: &Tree) -> Vec<Problem> {
    let canonical = format!("source = \"registry+https://github.com/rust-lang/{}-index\"", HOSTS[0]);
    let mut problems = Vec::new();
    for (path, text) in tree.texts(|_| true) {
        for (at, line) in text.lines().enumerate() {
            if path == LOCK_FILE && line == canonical {
                continue;
            }
            let Some(host) = HOSTS.iter().find(|it| line.contains(**it)) else {
                continue;
            };
            problems.push(Problem::at_line(path, at + 1, format!("names {host}")));
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
    fn a_host_is_found_but_not_the_locks_own_line() {
        let host = HOSTS[0];
        let line = format!("source = \"registry+https://github.com/rust-lang/{host}-index\"");
        testing::check_finds(
            check,
            &format!("== Cargo.lock\n{line}\nsource = \"sparse+https://index.{host}/\"\n== a\n{line}\n"),
            &format!("Cargo.lock:2: names {host}\na:1: names {host}"),
        );
    }
}
