//! What two programs tell their models, side by side: how much of each request is whose.

use std::collections::BTreeSet;

use super::RequestDiff;
use crate::inspected::Inspected;
use crate::inspected::InspectedRow;

/// A kind of text, with how much of it both requests have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldKind {
    /// What the text is.
    pub name: &'static str,
    /// How much the first request has.
    pub a: ToldSize,
    /// How much the second request has.
    pub b: ToldSize,
}

/// How much of a kind of text a request has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToldSize {
    /// How many files or tools there are; 0 for kinds that are not counted.
    pub count: usize,
    /// How many bytes they have.
    pub bytes: usize,
}

/// The kinds, in the order of the answer.
const KINDS: [&str; 8] = [
    "instructions",
    "instruction files",
    "tools",
    "messages of the program",
    "your words",
    "answers of the model",
    "outputs of calls",
    "notation and settings",
];

fn kind(row: &InspectedRow) -> &'static str {
    match (&*row.source, &*row.part) {
        (_, part) if part.starts_with("tools/") && row.item.is_none() => KINDS[2],
        ("wire", _) | (_, "settings" | "model" | "tools") => KINDS[7],
        ("file" | "skill", _) => KINDS[1],
        ("user", _) => KINDS[4],
        ("model", _) => KINDS[5],
        ("tool", _) => KINDS[6],
        (_, "base") => KINDS[0],
        _ => KINDS[3],
    }
}

impl RequestDiff<'_> {
    /// What two programs tell their models, by kind of text; absent if one program made both requests.
    pub fn told(&self) -> Option<Vec<ToldKind>> {
        let (a, b) = (programs(self.a), programs(self.b));
        if a.is_empty() || b.is_empty() || a == b {
            return None;
        }
        let told = |name| ToldKind { name, a: size(self.a, name), b: size(self.b, name) };
        let has_any = |told: &ToldKind| told.a.bytes + told.b.bytes > 0;
        Some(KINDS.into_iter().map(told).filter(has_any).collect())
    }
}

/// The programs that made a request, if others than Pellucid did.
fn programs(request: &Inspected) -> BTreeSet<&str> {
    request.rows.iter().filter(|row| &*row.source == "program").map(|row| &*row.origin).collect()
}

fn size(request: &Inspected, name: &str) -> ToldSize {
    let rows = || request.rows.iter().filter(|row| kind(row) == name);
    let named: BTreeSet<&str> = match name {
        "tools" => rows().map(|row| &*row.part).collect(),
        "instruction files" => rows().map(|row| &*row.origin).collect(),
        _ => BTreeSet::new(),
    };
    ToldSize { count: named.len(), bytes: rows().map(|row| row.bytes).sum() }
}
