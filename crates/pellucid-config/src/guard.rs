//! What of a project's file counts: what is free, what a person accepted, and what never does.
//!
//! The table of keys says which is which ([`crate::keys::InProject`]); here a document is taken apart by it, and what
//! has to be accepted gets a digest, so that a change of one byte has to be accepted again.
//!
//! Not here: what was accepted ([`crate::accepted`]), and where files lie (`layers`).

use std::path::PathBuf;

use sha2::Digest as _;
use sha2::Sha256;

use crate::error::listed;
use crate::keys::InProject;
use crate::keys::Node;
use crate::keys::root;
use crate::value::Data;
use crate::value::Entry;
use crate::value::Place;
use crate::value::Table;
use crate::value::Value;
use crate::value::dotted;
use crate::value::segments;

/// What every digest begins with, so that another way to write values is another digest.
const NOTATION: &str = "pellucid guarded values 1\n";

/// The values of a file that count once they were accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Guarded {
    /// The file, all links resolved.
    pub file: PathBuf,
    /// Its values of this kind, as they are written there.
    pub values: Vec<GuardedValue>,
    /// The SHA-256 of them. Order, spaces and comments of the file make no difference.
    pub digest: String,
    /// Whether they count.
    pub standing: Standing,
}

/// A value that counts once it was accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardedValue {
    /// Its dotted path.
    pub key: String,
    /// What the project sets the key to.
    pub value: Value,
}

/// Whether guarded values count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// They were accepted as they are.
    Accepted,
    /// The file was accepted with other values.
    Changed,
    /// Nobody has accepted them.
    New,
}

impl Guarded {
    /// The keys in words, what belongs to one server or provider once: `notify, mcp_servers.docs`.
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

/// A document of a project, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// What counts in any case.
    pub free: Table,
    /// What counts once it was accepted.
    pub guarded: Table,
}

/// Takes a document of a project apart.
pub(crate) fn parts(table: &Table) -> Parts {
    entries(root(), table)
}

fn entries(node: &Node, table: &Table) -> Parts {
    let (mut free, mut guarded) = (Vec::new(), Vec::new());
    for entry in table.iter() {
        let with = |table| Entry { value: Value { data: Data::Table(table), ..entry.value.clone() }, ..entry.clone() };
        match (node.child(&entry.key).map_or(Class::Free, |child| class(child, &entry.value)), &entry.value.data) {
            (Class::Free, _) => free.push(entry.clone()),
            (Class::Guarded, _) => guarded.push(entry.clone()),
            (Class::Mixed(child), Data::Table(table)) => {
                let parts = entries(child, table);
                // A table of which nothing is left would say that something is missing in it.
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
    /// A table whose entries are looked at one by one.
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
        // Something else where a table of guarded keys is meant would take the place of the user's own.
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

/// The guarded values of a document, one by one.
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

/// Writes a value so that no two different ones look the same: each with a letter for its kind, and texts with their
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
    let mut entries: Vec<&Entry> = table.iter().collect();
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

/// A warning's place: that of the first guarded value.
pub(crate) fn first_place(guarded: &Guarded) -> Place {
    guarded.values.first().map_or_else(Place::default, |it| it.value.place)
}

#[cfg(test)]
mod tests;
