//! The first row at which two requests diverge.

use crate::diff::DiffKind;
use crate::diff::RequestDiff;
use crate::diff::is_usual;
use crate::inspected::InspectedRow;

/// The first difference between two requests that is not a fact which differs between any two sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct DivergedRow<'a> {
    /// What became of the row.
    pub kind: DiffKind,
    /// The row of the first request; absent if the row was added.
    pub a: Option<&'a InspectedRow>,
    /// The row of the second request; absent if the row was removed.
    pub b: Option<&'a InspectedRow>,
}

/// The first row at which two requests diverge; absent if only facts differ that differ between any two sessions.
pub fn first_row<'a>(diff: &RequestDiff<'a>) -> Option<DivergedRow<'a>> {
    let rows = diff.steps.iter().filter(|step| step.kind != DiffKind::Same).map(|step| DivergedRow {
        kind: step.kind,
        a: diff.a.rows[step.a.clone()].first(),
        b: diff.b.rows[step.b.clone()].first(),
    });
    let is_unusual = |row: &DivergedRow<'_>| row.a.iter().chain(&row.b).any(|row| !is_usual(row));
    let mut unusual: Vec<_> = rows.filter(is_unusual).collect();
    // Notation follows from a row: a comma is there because something comes after it.
    let is_text = |row: &DivergedRow<'_>| row.a.iter().chain(&row.b).any(|row| !row.is_notation());
    let at = unusual.iter().position(is_text).unwrap_or(0);
    (at < unusual.len()).then(|| unusual.swap_remove(at))
}
