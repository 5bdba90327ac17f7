//! Rows of cells: what a line looks like on the terminal, and the difference between two rows.

use ratatui_core::buffer::Buffer;
use ratatui_core::buffer::Cell;
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::pen::Look;
use super::pen::Pen;

/// The cells of one row of the terminal.
pub(super) type Row = Vec<Cell>;

/// A run of this many blanks at the end of a row is erased; fewer are written.
const ERASED_FROM: usize = 4;

/// So many cells that do not change are written rather than skipped; a move of the cursor takes three bytes or four.
const WRITTEN_TO: usize = 3;

/// A row without content.
pub(super) fn blank_row(columns: u16) -> Row {
    vec![Cell::EMPTY; usize::from(columns)]
}

/// A row that looks like no other, so that all of the row that replaces it is written.
pub(super) fn unknown_row(columns: u16) -> Row {
    vec![Cell::new("\0"); usize::from(columns)]
}

/// The cells of a line. What does not fit is cut. The line's background fills the row.
pub(super) fn row_of(line: &Line<'_>, columns: u16) -> Row {
    let area = Rect::new(0, 0, columns, 1);
    let mut buffer = Buffer::empty(area);
    if let Some(bg) = line.style.bg {
        buffer.set_style(area, Style::new().bg(bg));
    }
    buffer.set_line(0, 0, line, columns);
    buffer.content
}

/// How many rows of the terminal a line takes that is not cut.
pub(super) fn rows_taken(line: &Line<'_>, columns: u16) -> u16 {
    let (n_before, _) = end_of(line, columns);
    u16::try_from(n_before).unwrap_or(u16::MAX).saturating_add(1)
}

/// Where the terminal ends a line that it wraps: how many rows are before the last one, and the columns used in that. A wide
/// character that does not fit into a row leaves the row's last column blank.
fn end_of(line: &Line<'_>, columns: u16) -> (usize, usize) {
    let columns = usize::from(columns.max(1));
    let (mut n_before, mut n_used) = (0, 0);
    for grapheme in line.spans.iter().flat_map(|span| span.content.graphemes(true)) {
        let width = if grapheme.chars().all(char::is_control) { 0 } else { grapheme.width().min(columns) };
        if n_used + width > columns {
            n_before += 1;
            n_used = 0;
        }
        n_used += width;
    }
    (n_before, n_used)
}

/// Writes a whole line at the cursor, which the terminal wraps if it is wide.
pub(super) fn write_line(pen: &mut Pen, line: &Line<'_>, columns: u16) {
    for span in &line.spans {
        let look = Look::of_style(line.style.patch(span.style));
        let text: String = span.content.chars().filter(|char| !char.is_control()).collect();
        if !text.is_empty() {
            let width = u16::try_from(text.width()).unwrap_or(u16::MAX);
            pen.text(&text, look, width, columns);
        }
    }
    // A row that is full has no rest, and erasing would erase its last cell.
    let is_full = end_of(line, columns).1 >= usize::from(columns.max(1));
    if let Some(bg) = line.style.bg.filter(|bg| !is_full && *bg != Color::Reset) {
        pen.erase_row(bg);
    }
}

/// The columns that a cell takes: 1, or 2 for a wide character.
fn columns_of(cell: &Cell) -> usize {
    let symbol = cell.symbol();
    match symbol.len() {
        0 | 1 => 1,
        _ => symbol.width().clamp(1, 2),
    }
}

/// The columns up to the end of the last character of a row.
pub(super) fn content_columns(row: &Row) -> usize {
    row.iter().rposition(|cell| cell.symbol() != " ").map_or(0, |at| at + columns_of(&row[at])).min(row.len())
}

/// How many rows these rows take after a terminal with so many columns has wrapped them.
pub(super) fn rows_after_wrapping(rows: &[Row], columns: u16) -> usize {
    rows.iter().map(|row| content_columns(row).div_ceil(usize::from(columns.max(1))).max(1)).sum()
}

fn is_blank(cell: &Cell, bg: Color) -> bool {
    cell.symbol() == " " && cell.modifier.is_empty() && cell.bg == bg
}

/// Whether two cells look the same. The foreground of a blank does not show.
fn is_same(one: &Cell, other: &Cell) -> bool {
    one.symbol() == other.symbol()
        && one.bg == other.bg
        && one.modifier == other.modifier
        && (one.fg == other.fg || (one.symbol() == " " && one.modifier.is_empty()))
}

/// Whether two rows look the same.
pub(super) fn is_equal(one: &Row, other: &Row) -> bool {
    one.iter().zip(other).all(|(one, other)| is_same(one, other))
}

/// Whether a row shows so much of another that the rest is written with fewer bytes than the whole.
pub(super) fn is_mostly(shown: &Row, wanted: &Row) -> bool {
    let n_content = wanted.iter().filter(|cell| cell.symbol() != " ").count();
    let n_different = shown.iter().zip(wanted).filter(|(one, other)| !is_same(one, other)).count();
    n_content >= CONTENT_MIN && n_different * 4 <= n_content * 3
}

/// A row with less content is written again rather than compared.
const CONTENT_MIN: usize = 8;

/// A row with at most so much content is erased whole when it gets shorter.
const SHORT_ROW: usize = 8;

/// Writes the cells of `new` that differ from `old`.
pub(super) fn write_changes(pen: &mut Pen, y: u16, old: &Row, new: &Row) {
    let columns = new.len();
    let bg = new.last().map_or(Color::Reset, |cell| cell.bg);
    let content = new.iter().rposition(|cell| !is_blank(cell, bg)).map_or(0, |at| at + columns_of(&new[at]));
    let blank_from = content.min(columns);
    // tmux forgets how far a row was written only if all of the row is erased. In a narrower window it would wrap the blanks
    // behind a short row that was longer once.
    let blank;
    let is_shorter = content <= SHORT_ROW && content_columns(old) >= content + ERASED_FROM;
    let old = if content > 0 && is_shorter && bg == Color::Reset {
        pen.go(0, y);
        pen.erase_row(bg);
        blank = blank_row(column(columns));
        &blank
    } else {
        old
    };
    let mut x = 0;
    let sure_to = sure_columns(old, new);
    // A wide character that is overwritten leaves an undefined cell behind it.
    let mut must_write_to = 0;
    while x < blank_from.min(sure_to) {
        let width = columns_of(&new[x]);
        if x >= must_write_to && is_same(&old[x], &new[x]) && columns_of(&old[x]) == width {
            x += width;
            continue;
        }
        must_write_to = must_write_to.max(x + columns_of(&old[x]));
        if let Some(hidden) = old.get(x + 1).filter(|_| width == 2) {
            must_write_to = must_write_to.max(x + 1 + columns_of(hidden));
        }
        go_or_write(pen, new, x, y);
        pen.text(new[x].symbol(), Look::of(&new[x]), column(width), column(columns));
        x += width;
    }
    if sure_to < columns {
        write_unsure(pen, y, old, new, x, must_write_to, blank_from);
    } else {
        write_rest(pen, y, old, new, blank_from, must_write_to);
    }
}

/// Moves the pen to a column. The cells in between that stay as they are are written where that is shorter than a move.
fn go_or_write(pen: &mut Pen, row: &Row, x: usize, y: u16) {
    if let Some((from, row_of_pen)) = pen.place() {
        let from = usize::from(from);
        // The cursor may be inside of a wide character, whose second half cannot be written.
        let is_inside = from.checked_sub(1).is_some_and(|before| columns_of(&row[before]) == 2);
        let is_short = row_of_pen == y && from < x && x - from <= WRITTEN_TO;
        if is_short && !is_inside && row[from..x].iter().all(|cell| cell.symbol().len() == 1 && pen.can_write(cell)) {
            for cell in &row[from..x] {
                pen.more(cell.symbol());
            }
            return;
        }
    }
    pen.go(column(x), y);
}

/// The columns before the first character about whose width terminals disagree: one of several code points, such as an emoji of
/// a family or letters of an Indic script that join. Behind it, no column is where it is counted to be.
fn sure_columns(old: &Row, new: &Row) -> usize {
    let is_unsure = |cell: &Cell| cell.symbol().len() > 1 && cell.symbol().chars().nth(1).is_some();
    new.iter().zip(old).position(|(one, other)| is_unsure(one) || is_unsure(other)).unwrap_or(new.len())
}

/// Writes all cells from a column on if one of them differs: the terminal puts each character behind the one before it.
fn write_unsure(pen: &mut Pen, y: u16, old: &Row, new: &Row, from: usize, must_write_to: usize, blank_from: usize) {
    let columns = new.len();
    if (from..columns).all(|x| x >= must_write_to && is_same(&old[x], &new[x])) {
        return;
    }
    pen.go(column(from), y);
    let mut x = from;
    while x < blank_from {
        let width = columns_of(&new[x]);
        pen.text(new[x].symbol(), Look::of(&new[x]), column(width), column(columns));
        x += width;
    }
    if blank_from < columns {
        pen.erase_row(new[blank_from].bg);
    }
    pen.raw_move("");
}

/// Writes the blanks at the end of a row.
fn write_rest(pen: &mut Pen, y: u16, old: &Row, new: &Row, from: usize, must_write_to: usize) {
    let columns = new.len();
    let must_write_to = must_write_to.min(columns);
    let first = (from..columns).find(|x| *x < must_write_to || !is_same(&old[*x], &new[*x]));
    let Some(first) = first else { return };
    let last = (first..columns).rev().find(|x| *x < must_write_to || !is_same(&old[*x], &new[*x])).unwrap_or(first);
    pen.go(column(first), y);
    if last + 1 - first < ERASED_FROM {
        for cell in &new[first..=last] {
            pen.text(" ", Look::ground(cell.bg), 1, column(columns));
        }
    } else {
        pen.erase_row(new[first].bg);
    }
}

/// A column as the terminal counts it.
fn column(x: usize) -> u16 {
    u16::try_from(x).unwrap_or(u16::MAX)
}
