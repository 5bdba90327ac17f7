//! Configuration fields: every field of the configuration is read by the program.
//!
//! A key whose value ends in a field that nothing reads would be documented and have no effect. Which keys reach a field
//! at all is tested in `pellucid-config`.

use crate::tidy::Problem;
use crate::tree::Tree;

/// The folder with the parts of the configuration: their fields, and how these are filled in.
const PARTS: &str = "crates/pellucid-config/src/config/";

/// Further files with fields.
const FIELDS: &[&str] = &[
    "crates/pellucid-config/src/apps.rs",
    "crates/pellucid-config/src/config.rs",
    "crates/pellucid-config/src/mcp.rs",
];

/// Further files that fill the fields in, which does not count as reading.
const FILLED_IN: &[&str] = &[
    "crates/pellucid-config/src/load.rs",
    "crates/pellucid-config/src/mcp.rs",
    "crates/pellucid-config/src/permissions.rs",
];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let read: Vec<&str> = tree.texts(is_reader).map(|(_, text)| product(text)).collect();
    let mut problems = Vec::new();
    for (path, text) in tree.texts(has_fields) {
        let fields = product(text).lines().enumerate();
        for (at, name) in fields.filter_map(|(at, line)| Some((at, field(line)?))) {
            if !read.iter().any(|text| reads(text, name)) {
                let what = format!("nothing reads `{name}`: read it, or drop it and mark its key as not used");
                problems.push(Problem::at_line(path, at + 1, what));
            }
        }
    }
    problems
}

fn has_fields(path: &str) -> bool {
    path.starts_with(PARTS) || FIELDS.contains(&path)
}

/// Whether a file is part of the program and may read a field.
fn is_reader(path: &str) -> bool {
    let is_source = path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs");
    let is_test = path.ends_with("tests.rs") || path.contains("/tests/") || path.ends_with("fixture.rs");
    is_source && !is_test && !path.starts_with(PARTS) && !FILLED_IN.contains(&path)
}

fn product(text: &str) -> &str {
    text.split("\nmod tests {").next().unwrap_or_default()
}

/// The name of the public field on a line, if there is one.
fn field(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("    pub ")?.split_once(": ")?;
    name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_').then_some(name)
}

/// Whether a text reads a field: after a dot, or by destructuring.
fn reads(text: &str, name: &str) -> bool {
    let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + name.len()..]);
        let is_whole = !behind.starts_with(is_name) && !before.ends_with(is_name);
        let is_access = before.trim_end().ends_with('.') && !behind.starts_with('(');
        let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
        let is_taken_apart = line.starts_with("let ") && line.contains('{') && !line.contains('=');
        is_whole && (is_access || is_taken_apart)
    })
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
    fn a_field_that_nothing_reads_is_found() {
        testing::check_finds(
            check,
            "
== crates/pellucid-config/src/config.rs
pub struct Settings {
    /// Read.
    pub model: String,
    pub taken: String,
    pub never: String,
    pub(crate) layers: u8,
}
== crates/pellucid-config/src/config/model.rs
pub struct ModelSettings {
    pub slug: String,
    pub unused: String,
}
let a = settings.unused;
== crates/pellucid-config/src/load.rs
let a = settings.never;
== crates/a/src/b.rs
let a = config.model;
let Settings { taken, .. } = config;
let b = config.never_more;
let c = never();
let d = model.slug;
== crates/a/src/tests.rs
config.never
",
            "
crates/pellucid-config/src/config.rs:5: nothing reads `never`: read it, or drop it and mark its key as not used
crates/pellucid-config/src/config/model.rs:3: nothing reads `unused`: read it, or drop it and mark its key as not used
",
        );
    }
}
