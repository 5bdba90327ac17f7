//! The rows of a draft at a width: where lines wrap, and where a position is on the screen.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::composer::draft::Draft;

/// The columns that a grapheme takes; control characters take one, because they are drawn as one.
pub fn columns_of(grapheme: &str) -> usize {
    match grapheme.chars().next() {
        Some(char) if char.is_control() => 1,
        _ => grapheme.width(),
    }
}

/// The rows of a draft, each a range of bytes without the line end.
///
/// A row ends at the last blank that fits; a word that is wider than a row is cut. Blanks at the end of a row stay in
/// it, beyond the edge. A row is never empty unless its line is.
pub fn rows(text: &str, width: usize) -> Vec<Range<usize>> {
    let width = width.max(1);
    let mut rows = Vec::new();
    let mut line_start = 0;
    for line in text.split('\n') {
        wrap_line(line, line_start, width, &mut rows);
        line_start += line.len() + 1;
    }
    rows
}

fn wrap_line(line: &str, offset: usize, width: usize, rows: &mut Vec<Range<usize>>) {
    let mut start = 0;
    let mut columns = 0;
    // After the last blank of this row, if there is one.
    let mut break_at = None;
    for (at, grapheme) in line.grapheme_indices(true) {
        let is_blank = grapheme.chars().all(char::is_whitespace);
        let n_columns = columns_of(grapheme);
        if !is_blank && columns + n_columns > width && at > start {
            let end = break_at.filter(|end| *end > start).unwrap_or(at);
            rows.push(offset + start..offset + end);
            start = end;
            break_at = None;
            columns = line[start..at].graphemes(true).map(columns_of).sum();
        }
        columns += n_columns;
        if is_blank {
            break_at = Some(at + grapheme.len());
        }
    }
    rows.push(offset + start..offset + line.len());
}

/// Where a position is: its row and its column. A position between two rows of a line is at the start of the second.
pub fn place_of(draft: &Draft, rows: &[Range<usize>], position: usize) -> (usize, usize) {
    let row = rows.partition_point(|row| row.start <= position).saturating_sub(1);
    let start = rows.get(row).map_or(0, |row| row.start);
    let columns = draft.text()[start..position].graphemes(true).map(columns_of).sum();
    (row, columns)
}

/// The position in a row that is at a column, or the last one before it.
pub fn position_at(draft: &Draft, row: &Range<usize>, column: usize, is_last_of_line: bool) -> usize {
    let mut position = row.start;
    let mut columns = 0;
    for grapheme in draft.text()[row.clone()].graphemes(true) {
        let n_columns = columns_of(grapheme);
        if columns + n_columns > column {
            return position;
        }
        columns += n_columns;
        position += grapheme.len();
    }
    // The end of a row that wraps is the start of the next one.
    if is_last_of_line || position == row.start { position } else { draft.before(position) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_rows(text: &str, width: usize, expected: &[&str]) {
        let found: Vec<&str> = rows(text, width).into_iter().map(|row| &text[row]).collect();
        assert_eq!(found, expected, "{text:?} at {width}");
    }

    #[test]
    fn lines_wrap_at_blanks_and_long_words_are_cut() {
        check_rows("", 5, &[""]);
        check_rows("one two three", 7, &["one two ", "three"]);
        check_rows("one two three", 20, &["one two three"]);
        check_rows("abcdefgh", 3, &["abc", "def", "gh"]);
        check_rows("a\n\nb\n", 3, &["a", "", "b", ""]);
        check_rows("日本語", 4, &["日本", "語"]);
        check_rows("日", 1, &["日"]);
        check_rows("x abcdef", 4, &["x ", "abcd", "ef"]);
    }

    #[test]
    fn a_position_has_one_place() {
        let mut draft = Draft::default();
        draft.insert_text("one two three\n日本");
        let rows = rows(draft.text(), 7);
        assert_eq!(place_of(&draft, &rows, 0), (0, 0));
        assert_eq!(place_of(&draft, &rows, 8), (1, 0));
        assert_eq!(place_of(&draft, &rows, 13), (1, 5));
        assert_eq!(place_of(&draft, &rows, draft.text().len()), (2, 4));
        assert_eq!(position_at(&draft, &rows[2], 3, true), 17);
        assert_eq!(position_at(&draft, &rows[0], 99, false), 7);
    }
}
