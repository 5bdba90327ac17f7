//! Which values of a project's file apply: free ones, accepted ones, and those that never do.
//!
//! The table of keys says which is which ([`crate::keys::InProject`]); this module splits a document by it. Values that
//! need acceptance get a digest, so that a change of one byte must be accepted again.
//!
//! Not here: what was accepted ([`crate::accepted`]), and where project files are (`layers`).

use std::path::PathBuf;

use sha2::Digest as _;
use sha2::Sha256;

use crate::error::listed;
use crate::keys::InProject;
use crate::keys::Node;
use crate::keys::root;
use crate::value::Data;
use crate::value::Table;
use crate::value::TableEntry;
use crate::value::Value;
use crate::value::ValuePlace;
use crate::value::dotted;
use crate::value::segments;

/// The beginning of the text that is hashed. Another notation of values gets another version, and so other digests.
const NOTATION: &str = "pellucid guarded values 1\n";

/// The values of a file that apply once they are accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Guarded {
    /// The path of the file, all links resolved.
    pub file: PathBuf,
    /// The values, as the file has them.
    pub values: Vec<GuardedValue>,
    /// The SHA-256 of the values. Order, spaces and comments of the file make no difference.
    pub digest: String,
    /// Whether the values are accepted.
    pub standing: Acceptance,
}

/// A value that applies once it is accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardedValue {
    /// The dotted path of the key.
    pub key: String,
    /// The value that the project sets.
    pub value: Value,
}

/// Whether guarded values are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// The values were accepted as they are.
    Accepted,
    /// The file was accepted with other values.
    Changed,
    /// The values have not been accepted.
    New,
}

impl Guarded {
    /// The keys as text; a server or provider is named once: `notify, mcp_servers.docs`.
    pub fn names(&self) -> String {
        let mut names: Vec<String> = Vec::new();
        for value in &self.values {
            let start: Vec<_> = segments(&value.key).take(2).collect();
            let name = dotted(&start);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        listed(names.iter().map(String::as_str))
    }
}

/// A project's document, split by how its values apply.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// The values that always apply.
    pub free: Table,
    /// The values that apply once they are accepted.
    pub guarded: Table,
}

/// Splits a project's document.
pub(crate) fn parts(table: &Table) -> Parts {
    entries(root(), table)
}

fn entries(node: &Node, table: &Table) -> Parts {
    let (mut free, mut guarded) = (Vec::new(), Vec::new());
    for entry in table.iter() {
        let with =
            |table| TableEntry { value: Value { data: Data::Table(table), ..entry.value.clone() }, ..entry.clone() };
        match (node.child(&entry.key).map_or(Class::Free, |child| class(child, &entry.value)), &entry.value.data) {
            (Class::Free, _) => free.push(entry.clone()),
            (Class::Guarded, _) => guarded.push(entry.clone()),
            (Class::Mixed(child), Data::Table(table)) => {
                let parts = entries(child, table);
                // An empty table would be reported as lacking its required keys.
                if !parts.free.is_empty() || table.is_empty() {
                    free.push(with(parts.free));
                }
                if !parts.guarded.is_empty() {
                    guarded.push(with(parts.guarded));
                }
            }
            (Class::Mixed(_) | Class::Never, _) => {}
        }
    }
    Parts { free: Table::of(free), guarded: Table::of(guarded) }
}

enum Class<'n> {
    Free,
    Guarded,
    Never,
    /// A table whose entries are examined one by one.
    Mixed(&'n Node),
}

fn class<'n>(node: &'n Node, value: &Value) -> Class<'n> {
    if node.is_guarded {
        return Class::Guarded;
    }
    match node.key.map(|key| key.in_project) {
        Some(InProject::Accepted) => return Class::Guarded,
        Some(InProject::AcceptedUnless(narrow)) if !narrow.iter().any(|word| is(value, word)) => return Class::Guarded,
        Some(InProject::Never) => return Class::Never,
        Some(InProject::AcceptedUnless(_)) => return Class::Free,
        Some(InProject::Free) | None => {}
    }
    match &value.data {
        Data::Table(_) if node.is_table() => Class::Mixed(node),
        // A value that is not a table, where guarded keys belong, would replace the user's table.
        _ if node.key.is_none() && node.has_guarded() => Class::Guarded,
        _ => Class::Free,
    }
}

fn is(value: &Value, word: &str) -> bool {
    match &value.data {
        Data::String(text) => text == word,
        Data::Boolean(flag) => flag.to_string() == word,
        _ => false,
    }
}

/// The guarded values of a document, one per key.
pub(crate) fn values(guarded: &Table) -> Vec<GuardedValue> {
    let mut found = Vec::new();
    collect(guarded, &mut Vec::new(), &mut found);
    found
}

fn collect<'t>(table: &'t Table, path: &mut Vec<&'t str>, found: &mut Vec<GuardedValue>) {
    for entry in table.iter() {
        path.push(&entry.key);
        match &entry.value.data {
            Data::Table(table) if !table.is_empty() => collect(table, path, found),
            _ => found.push(GuardedValue { key: dotted(path), value: entry.value.clone() }),
        }
        path.pop();
    }
}

/// The digest of guarded values.
pub(crate) fn digest(guarded: &Table) -> String {
    let mut text = NOTATION.to_owned();
    write_table(guarded, &mut text);
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a value so that different values never look the same: each with a letter for its kind, and texts with their
/// length before them.
fn write_value(value: &Value, out: &mut String) {
    match &value.data {
        Data::String(text) => write_text('s', text, out),
        Data::Datetime(text) => write_text('d', text, out),
        Data::Integer(number) => write_text('i', &number.to_string(), out),
        Data::Float(number) => write_text('f', &format!("{:016x}", number.to_bits()), out),
        Data::Boolean(flag) => write_text('b', &flag.to_string(), out),
        Data::List(values) => {
            out.push_str(&format!("l{}\n", values.len()));
            values.iter().for_each(|value| write_value(value, out));
        }
        Data::Table(table) => write_table(table, out),
    }
}

fn write_table(table: &Table, out: &mut String) {
    let mut entries: Vec<&TableEntry> = table.iter().collect();
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    out.push_str(&format!("t{}\n", entries.len()));
    for entry in entries {
        write_text('k', &entry.key, out);
        write_value(&entry.value, out);
    }
}

fn write_text(kind: char, text: &str, out: &mut String) {
    out.push_str(&format!("{kind}{} {text}\n", text.len()));
}

/// The place of the first guarded value, for a warning.
pub(crate) fn first_place(guarded: &Guarded) -> ValuePlace {
    guarded.values.first().map_or_else(ValuePlace::default, |it| it.value.place)
}

#[cfg(test)]
mod tests;
