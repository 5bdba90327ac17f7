//! The texts of a changed part: each file of it, facts that always differ, and the rest as the model reads it.
//!
//! A text has the rows that did not change too: only the changed ones, one after the other, are a text that no model read.

use std::collections::BTreeSet;

use super::DiffKind;
use super::LineChange;
use super::RequestDiff;
use super::summary::PartKey;
use super::summary::is_usual;
use super::summary::key;
use crate::inspected::InspectedRow;

/// What takes the place of a file or of a changed fact in the text around it.
const LEFT_OUT: &str = "…";

/// Rows of both requests that changed, by their numbers.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ChangedRows {
    pub a: Vec<usize>,
    pub b: Vec<usize>,
}

/// A text of a changed part.
#[derive(Debug)]
pub(super) struct ChangedText<'a> {
    class: TextClass<'a>,
    /// Its rows that changed.
    pub rows: ChangedRows,
}

/// What a text of a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextClass<'a> {
    /// A file, by its path: its lines have numbers.
    File(&'a str),
    /// A fact that differs between any two sessions or machines.
    Usual,
    /// Everything else, which is read as one text.
    Rest,
}

impl<'a> TextClass<'a> {
    fn of(row: &'a InspectedRow) -> Self {
        match &*row.source {
            "file" | "skill" => Self::File(&row.origin),
            _ if is_usual(row) => Self::Usual,
            _ => Self::Rest,
        }
    }
}

/// The rows of one request that a text is made of.
struct TextRows<'a> {
    rows: &'a [InspectedRow],
    changed: &'a [usize],
    /// The parts that the rows are in. The number of an item differs where an item was added or removed before it.
    keys: BTreeSet<PartKey<'a>>,
    /// The rows of these parts that did not change.
    same: BTreeSet<usize>,
}

impl RequestDiff<'_> {
    /// The texts of a part that changed, those of the second request first.
    pub(super) fn changed_texts(&self, rows: &ChangedRows) -> Vec<ChangedText<'_>> {
        let mut texts: Vec<ChangedText<'_>> = Vec::new();
        let of_b = rows.b.iter().map(|n| (*n, &self.b.rows[*n], true));
        let of_a = rows.a.iter().map(|n| (*n, &self.a.rows[*n], false));
        for (n, row, is_b) in of_b.chain(of_a) {
            let class = TextClass::of(row);
            let place = texts.iter().position(|text| text.class == class).unwrap_or_else(|| {
                texts.push(ChangedText { class, rows: ChangedRows::default() });
                texts.len() - 1
            });
            let numbers = &mut texts[place].rows;
            if is_b { numbers.b.push(n) } else { numbers.a.push(n) }
        }
        texts
    }

    /// How the lines of a changed text differ; absent where texts are not known.
    pub(super) fn lines(&self, text: &ChangedText<'_>, first_lines: &[Option<usize>]) -> Option<LineChange> {
        let side = |rows, changed: &'_ [usize]| -> BTreeSet<PartKey<'_>> {
            let rows: &[InspectedRow] = rows;
            changed.iter().map(|n| key(&rows[*n])).collect()
        };
        let (keys_a, keys_b) = (side(&self.a.rows, &text.rows.a), side(&self.b.rows, &text.rows.b));
        let mut a = TextRows { rows: &self.a.rows, changed: &text.rows.a, keys: keys_a, same: BTreeSet::new() };
        let mut b = TextRows { rows: &self.b.rows, changed: &text.rows.b, keys: keys_b, same: BTreeSet::new() };
        let pairs = self.steps.iter().filter(|step| step.kind == DiffKind::Same);
        for (of_a, of_b) in pairs.flat_map(|step| step.a.clone().zip(step.b.clone())) {
            let (key_a, key_b) = (key(&self.a.rows[of_a]), key(&self.b.rows[of_b]));
            // A text that both have in different parts does not make one part of them.
            let is_same_part = key_a.0 == key_b.0;
            if is_same_part && (a.keys.contains(&key_a) || b.keys.contains(&key_b)) {
                a.keys.insert(key_a);
                b.keys.insert(key_b);
                a.same.insert(of_a);
                b.same.insert(of_b);
            }
        }
        let is_of_text = |row: &InspectedRow| b.keys.contains(&key(row)) && TextClass::of(row) == text.class;
        let first_line = match text.class {
            TextClass::File(_) => self.b.rows.iter().position(is_of_text).and_then(|n| first_lines[n]).unwrap_or(1),
            TextClass::Usual | TextClass::Rest => 1,
        };
        let is_apart = text.class == TextClass::Usual || a.is_apart() || b.is_apart();
        let text = |side: &TextRows<'_>| if is_apart { side.changed_alone() } else { side.text(text.class) };
        Some(LineChange::of(&text(&a)?, &text(&b)?, first_line))
    }
}

impl TextRows<'_> {
    /// Whether the part has values with notation between them, such as settings and tools, and is not one text.
    fn is_apart(&self) -> bool {
        let of_part = self.rows.iter().filter(|row| self.keys.contains(&key(row)));
        let mut is_text = of_part.map(|row| !row.is_notation()).collect::<Vec<_>>();
        is_text.dedup();
        self.keys.iter().all(|(_, item)| item.is_none()) && is_text.iter().filter(|it| **it).count() > 1
    }

    /// The changed rows, each on a line.
    fn changed_alone(&self) -> Option<String> {
        self.changed.iter().map(|n| Some(format!("{}\n", text_of(&self.rows[*n])?))).collect()
    }

    /// The text of the rows, as the model reads it.
    fn text(&self, class: TextClass<'_>) -> Option<String> {
        let mut text = String::new();
        let mut is_behind_notation = false;
        for (n, row) in self.rows.iter().enumerate().filter(|(_, row)| self.keys.contains(&key(row))) {
            if row.is_notation() {
                is_behind_notation = true;
                continue;
            }
            let of_row = TextClass::of(row);
            let is_shown =
                of_row == class || (class == TextClass::Rest && of_row == TextClass::Usual && self.same.contains(&n));
            let more = match is_shown {
                true => text_of(row)?,
                false if class == TextClass::Rest => LEFT_OUT,
                false => continue,
            };
            // Two texts of one message are two texts.
            if std::mem::take(&mut is_behind_notation) && !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text += more;
        }
        Some(text)
    }
}

fn text_of(row: &InspectedRow) -> Option<&str> {
    row.content.as_ref().map(|content| &*content.text)
}
