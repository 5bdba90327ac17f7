//! A diff in two columns, the old file beside the new one, and a diff without changes of blanks.

use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::DiffRow;
use super::FileDiff;
use super::Sign;
use crate::text::palette::Palette;
use crate::text::wrap::spans_columns;

const BETWEEN: &str = " │ ";

impl FileDiff {
    /// The old lines on the left, the new ones on the right; lines that take each other's place are beside each other.
    pub fn draw_beside(&self, columns: usize, palette: &Palette) -> Vec<Line<'static>> {
        let side = columns.saturating_sub(3) / 2;
        let digits = self.digits();
        let draw = |row: &DiffRow, number: usize| row.drawn(number, digits, side, palette);
        let mut out = Vec::new();
        let mut at = 0;
        while at < self.rows.len() {
            let removed = self.run(at, Sign::Removed);
            let added = self.run(at + removed, Sign::Added);
            if removed + added == 0 {
                let row = &self.rows[at];
                let (old, new) = match row {
                    DiffRow::Gap => (0, 0),
                    DiffRow::Line { number, old, .. } => (*old, *number),
                };
                join(draw(row, old), draw(row, new), side, palette, &mut out);
                at += 1;
                continue;
            }
            for number in 0..removed.max(added) {
                let changed = |place: Option<usize>| match place.and_then(|place| self.rows.get(place)) {
                    Some(row @ DiffRow::Line { number, .. }) => draw(row, *number),
                    _ => Vec::new(),
                };
                let left = changed((number < removed).then_some(at + number));
                let right = changed((number < added).then_some(at + removed + number));
                join(left, right, side, palette, &mut out);
            }
            at += removed + added;
        }
        out
    }

    /// How many changed lines [`FileDiff::without_blank_changes`] would not show as changed.
    pub fn blank_changes(&self) -> usize {
        let all = |(added, removed): (usize, usize)| added + removed;
        all(self.counts()) - all(self.without_blank_changes().counts())
    }

    /// The same diff in which lines that differ only in blanks count as unchanged.
    #[must_use]
    pub fn without_blank_changes(&self) -> Self {
        let mut rows = Vec::with_capacity(self.rows.len());
        let mut at = 0;
        while at < self.rows.len() {
            let removed = self.run(at, Sign::Removed);
            let added = self.run(at + removed, Sign::Added);
            let (old, new) = (&self.rows[at..at + removed], &self.rows[at + removed..at + removed + added]);
            let is_blank =
                removed > 0 && removed == added && old.iter().zip(new).all(|(old, new)| bare(old) == bare(new));
            if is_blank {
                rows.extend(old.iter().zip(new).filter_map(|(old, new)| unchanged(old, new)));
            } else {
                rows.extend(self.rows[at..at + (removed + added).max(1)].iter().cloned());
            }
            at += (removed + added).max(1);
        }
        Self { rows: super::near_changes(rows) }
    }
}

/// The text of a line without blanks, and whether it lacks a line end.
fn bare(row: &DiffRow) -> (String, bool) {
    match row {
        DiffRow::Gap => (String::new(), false),
        DiffRow::Line { text, lacks_end, .. } => (text.split_whitespace().collect(), *lacks_end),
    }
}

fn unchanged(old: &DiffRow, new: &DiffRow) -> Option<DiffRow> {
    match (old, new) {
        (DiffRow::Line { number: old, .. }, DiffRow::Line { number, text, lacks_end, .. }) => Some(DiffRow::Line {
            sign: Sign::Same,
            number: *number,
            old: *old,
            text: text.clone(),
            changed: Vec::new(),
            lacks_end: *lacks_end,
        }),
        _ => None,
    }
}

fn join(
    left: Vec<Line<'static>>,
    right: Vec<Line<'static>>,
    side: usize,
    palette: &Palette,
    out: &mut Vec<Line<'static>>,
) {
    let height = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    for _ in 0..height {
        let mut spans = left.next().map(|line| line.spans).unwrap_or_default();
        let blanks = side.saturating_sub(spans_columns(&spans));
        spans.push(Span::raw(" ".repeat(blanks)));
        spans.push(Span::styled(BETWEEN, palette.dim()));
        spans.extend(right.next().map(|line| line.spans).unwrap_or_default());
        out.push(Line::from(spans));
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    const CHANGE: &str = "@@ -9,6 +9,6 @@\n same\n-let a = 1;\n-  moved\n+let a = 2;\n+      moved\n+added 名前 that is long\n end\n-gone\n@@ -40 +40 @@\n-x y\n+x  y\n";

    fn shown(lines: &[Line<'static>]) -> String {
        lines.iter().map(|line| format!("{line}|\n")).collect()
    }

    #[track_caller]
    fn check_beside(diff: &FileDiff, expected: &Expect) {
        expected.assert_eq(&shown(&diff.draw_beside(45, &Palette::plain())));
    }

    #[test]
    fn old_and_new_lines_are_beside_each_other() {
        check_beside(
            &FileDiff::read(CHANGE),
            &expect![[r#"
             9  same              │  9  same|
            10 -let a = 1;        │ 10 +let a = 2;|
            11 -  moved           │ 11 +      moved|
                                  │ 12 +added 名前 that i|
                                  │     s long|
            12  end               │ 13  end|
            13 -gone              │ |
               ⋮                  │    ⋮|
            40 -x y               │ 40 +x  y|
        "#]],
        );
    }

    #[test]
    fn changes_of_blanks_are_left_out() {
        let diff = FileDiff::read("@@ -1,3 +1,3 @@\n-  a b\n+a  b\n same\n-c\n+d\n@@ -40 +40 @@\n-x y\n+x  y\n")
            .without_blank_changes();
        assert_eq!(diff.counts(), (1, 1));
        check_beside(
            &diff,
            &expect![[r#"
            1  a  b               │ 1  a  b|
            2  same               │ 2  same|
            3 -c                  │ 3 +d|
        "#]],
        );
    }
}
