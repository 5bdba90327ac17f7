//! The engine is pure: its sources name no module that reaches the machine.
//!
//! `clippy.toml` of the engine bans methods one by one, and a method that is missing there would pass. This rule bans
//! the modules themselves. Methods of `Path` that access the disk have no module, so clippy bans them.

use crate::tidy::Problem;
use crate::tidy::standing_alone;
use crate::tree::Tree;

/// Modules and crates that reach the machine.
const IMPURE: [&str; 11] = [
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "rand",
    "rustix",
    "tokio",
];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let is_engine = |path: &str| {
        let is_source = path.starts_with("crates/pellucid-engine/src/") && path.ends_with(".rs");
        is_source && !path.ends_with("/tests.rs") && !path.contains("/tests/")
    };
    let of = |(path, text)| {
        impure_lines(text).map(move |(line, module)| {
            Problem::at_line(path, line, format!("the engine does not use {module}; pass the value in"))
        })
    };
    tree.texts(is_engine).flat_map(of).collect()
}

/// The lines, one-based, that name such a module. Comments and tests are left out.
fn impure_lines(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let product = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = product.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    lines.filter_map(|(at, line)| {
        let named = |module: &&&str| standing_alone(line, module).any(|place| is_path(&line[place + module.len()..]));
        IMPURE.iter().find(named).map(|module| (at + 1, *module))
    })
}

/// Whether a name is used as a path or imported, and is not just a word.
fn is_path(rest: &str) -> bool {
    rest.starts_with("::") || rest.starts_with(';')
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
    fn a_module_that_reaches_the_machine_is_found() {
        testing::check_finds(
            check,
            "
== crates/pellucid-engine/src/a.rs
use std::fs;
use std::time::Duration;
let all = std::fs::canonicalize(path);
// std::fs::read(path)
let rand = brand::new();
let now = std::time::Instant::now();
#[cfg(test)]
mod tests {
    use std::fs;
}
== crates/pellucid-agent/src/a.rs
use std::fs;
",
            "
crates/pellucid-engine/src/a.rs:1: the engine does not use std::fs; pass the value in
crates/pellucid-engine/src/a.rs:3: the engine does not use std::fs; pass the value in
crates/pellucid-engine/src/a.rs:6: the engine does not use std::time::Instant; pass the value in
",
        );
    }
}
