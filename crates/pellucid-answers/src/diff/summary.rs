//! The changes part by part, as a person reads them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::DiffKind;
use super::LineChange;
use super::RequestDiff;
use super::texts::ChangedRows;
use crate::inspected::InspectedRow;

/// Facts that differ between any two sessions or machines.
const ALWAYS_DIFFERENT: [&str; 5] = ["session", "cwd", "folder", "session file", "working directory of the session"];

/// The changes part by part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSummary {
    /// What changed, in the order of the second request: each file of a part, its usual facts, and the rest of its text.
    pub changes: Vec<PartChange>,
    /// How many parts have every row the same.
    pub n_unchanged: usize,
    /// By how many bytes the notation between parts grew.
    pub notation_bytes: isize,
}

/// A part that changed, or a file in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartChange {
    /// What became of the part.
    pub kind: DiffKind,
    /// The name of the part.
    pub part: Arc<str>,
    /// The number of the input item that the part is in, from 0.
    pub item: Option<usize>,
    /// The kind of the origin of its largest changed row.
    pub source: Arc<str>,
    /// The file, fact or tool that this row came from.
    pub origin: Arc<str>,
    /// By how many bytes the part grew.
    pub bytes: isize,
    /// By how many tokens the part grew.
    pub tokens: isize,
    /// How its lines differ, where texts are known and the part has both.
    pub lines: Option<LineChange>,
    /// Whether only facts changed that differ between any two sessions or machines.
    pub is_usual: bool,
}

/// The changed rows of one part, side by side.
struct Group<'a> {
    part: &'a Arc<str>,
    item: Option<usize>,
    rows: ChangedRows,
    kinds: BTreeSet<DiffKind>,
}

pub(super) type PartKey<'a> = (&'a str, Option<usize>);

pub(super) fn key(row: &InspectedRow) -> PartKey<'_> {
    (&row.part, row.item)
}

impl RequestDiff<'_> {
    /// The changes part by part.
    pub fn summary(&self) -> ChangeSummary {
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut kept: BTreeSet<PartKey<'_>> = BTreeSet::new();
        let mut notation_bytes = 0;
        for step in &self.steps {
            if step.kind == DiffKind::Same {
                let rows = &self.b.rows[step.b.clone()];
                kept.extend(rows.iter().filter(|row| !row.is_notation()).map(key));
                continue;
            }
            let (a, b) = (self.a.rows.get(step.a.start), self.b.rows.get(step.b.start));
            let (a, b) = (a.filter(|_| !step.a.is_empty()), b.filter(|_| !step.b.is_empty()));
            let Some(row) = b.or(a) else { continue };
            if row.is_notation() {
                notation_bytes += size(b, |row| row.bytes) - size(a, |row| row.bytes);
                continue;
            }
            let place = groups.iter().rposition(|group| (&**group.part, group.item) == key(row));
            let place = place.unwrap_or_else(|| {
                let rows = ChangedRows::default();
                groups.push(Group { part: &row.part, item: row.item, rows, kinds: BTreeSet::new() });
                groups.len() - 1
            });
            let group = &mut groups[place];
            group.rows.a.extend(step.a.clone());
            group.rows.b.extend(step.b.clone());
            group.kinds.insert(step.kind);
        }
        let changed: BTreeSet<PartKey<'_>> = groups.iter().map(|group| (&**group.part, group.item)).collect();
        let n_unchanged = kept.difference(&changed).count();
        let first_lines = self.b.first_lines();
        let moved = self.steps.iter().filter(|step| step.kind == DiffKind::Moved);
        let moved: BTreeSet<usize> = moved.flat_map(|step| step.b.clone()).collect();
        let mut changes = Vec::new();
        for group in &groups {
            let is_partly_kept = kept.contains(&(&**group.part, group.item));
            let kind = match group.kinds.first() {
                Some(kind) if group.kinds.len() == 1 && (!is_partly_kept || *kind == DiffKind::Moved) => *kind,
                _ => DiffKind::Changed,
            };
            if kind != DiffKind::Changed {
                changes.push(self.change(group, kind, &group.rows, None));
                continue;
            }
            for text in self.changed_texts(&group.rows) {
                let is_moved = !text.rows.b.is_empty() && text.rows.b.iter().all(|n| moved.contains(n));
                let kind = if is_moved { DiffKind::Moved } else { kind };
                let lines = if is_moved { None } else { self.lines(&text, &first_lines) };
                changes.push(self.change(group, kind, &text.rows, lines));
            }
        }
        ChangeSummary { changes, n_unchanged, notation_bytes }
    }

    fn change(&self, group: &Group<'_>, kind: DiffKind, rows: &ChangedRows, lines: Option<LineChange>) -> PartChange {
        let rows_a = || rows.a.iter().map(|n| &self.a.rows[*n]);
        let rows_b = || rows.b.iter().map(|n| &self.b.rows[*n]);
        let largest = rows_b().chain(rows_a()).max_by_key(|row| row.bytes);
        let sum = |of: fn(&InspectedRow) -> usize| {
            rows_b().map(|row| size(Some(row), of)).sum::<isize>()
                - rows_a().map(|row| size(Some(row), of)).sum::<isize>()
        };
        PartChange {
            kind,
            part: group.part.clone(),
            item: group.item,
            source: largest.map_or_else(|| "".into(), |row| row.source.clone()),
            origin: largest.map_or_else(|| "".into(), |row| row.origin.clone()),
            bytes: sum(|row| row.bytes),
            tokens: sum(|row| row.tokens),
            lines,
            is_usual: rows_a().chain(rows_b()).all(is_usual),
        }
    }
}

/// Whether the row is a fact that differs between any two sessions or machines.
pub(crate) fn is_usual(row: &InspectedRow) -> bool {
    &*row.source == "fact" && ALWAYS_DIFFERENT.contains(&&*row.origin)
}

fn size(row: Option<&InspectedRow>, of: fn(&InspectedRow) -> usize) -> isize {
    row.map_or(0, |row| isize::try_from(of(row)).unwrap_or(isize::MAX))
}
