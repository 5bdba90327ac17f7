//! Tables of Markdown as text: columns as wide as their cells, or narrower if the terminal is.
//!
//! A table that does not fit even with narrow columns is shown as records, one line for each cell with its heading.

use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::inline::Inline;
use super::palette::Palette;
use super::wrap::Breaking;
use super::wrap::Indent;
use super::wrap::spans_columns;
use super::wrap::wrap;

/// Rows that are held back until the widths of the columns are decided. Later rows have the same widths.
const HELD_MAX: usize = 100;

/// More columns are not read as a table.
const COLUMNS_MAX: usize = 64;

/// A column is not made narrower than this.
const NARROWEST: usize = 4;

const BETWEEN: &str = " │ ";

/// A table of which rows may still come.
#[derive(Debug, Clone)]
pub struct Table {
    head: Vec<String>,
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
    layout: Option<TableLayout>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Middle,
    Right,
}

#[derive(Debug, Clone)]
enum TableLayout {
    Columns(Vec<usize>),
    Records,
}

type Row = Vec<Vec<Span<'static>>>;

impl Table {
    /// A table, if the second line is the line under the head.
    pub fn begin(head: &str, under: &str) -> Option<Self> {
        if !head.contains('|') && !under.contains('|') || !under.contains('-') {
            return None;
        }
        let head = cells(head);
        let sides: Option<Vec<Side>> = cells(under).iter().map(|cell| side(cell)).collect();
        let sides = sides.filter(|it| it.len() == head.len() && head.len() <= COLUMNS_MAX)?;
        Some(Self { head, sides, rows: Vec::new(), layout: None })
    }

    /// Adds a row; false if the line is none.
    pub fn push(&mut self, line: &str) -> bool {
        if !line.contains('|') {
            return false;
        }
        let mut row = cells(line);
        row.resize(self.head.len(), String::new());
        self.rows.push(row);
        true
    }

    /// Whether enough rows are held back to decide the widths.
    pub fn is_full(&self) -> bool {
        self.layout.is_some() || self.rows.len() >= HELD_MAX
    }

    /// Whether rows were drawn before.
    pub fn is_begun(&self) -> bool {
        self.layout.is_some()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.rows.iter().flatten().map(String::len).sum()
    }

    /// Draws the rows that are held back, the first time with the head.
    pub fn draw(&mut self, columns: usize, indent: &Indent, palette: &Palette) -> Vec<Line<'static>> {
        let room = columns.saturating_sub(spans_columns(&indent.rest)).max(1);
        let read = |row: &Vec<String>| -> Row {
            row.iter().map(|cell| Inline::read(cell, Default::default(), palette).on_one_line()).collect()
        };
        let head: Row =
            self.head.iter().map(|cell| Inline::read(cell, palette.bold(), palette).on_one_line()).collect();
        let rows: Vec<Row> = self.rows.drain(..).map(|row| read(&row)).collect();
        let is_first = self.layout.is_none();
        let layout = self.layout.get_or_insert_with(|| layout(&head, &rows, room)).clone();
        let mut out = Lines { indent, is_first, out: Vec::new() };
        match layout {
            TableLayout::Columns(widths) => {
                if is_first {
                    out.row(&head, &widths, &self.sides, palette);
                    let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                    out.line(vec![Span::styled(rule.join("─┼─"), palette.dim())]);
                }
                rows.iter().for_each(|row| out.row(row, &widths, &self.sides, palette));
            }
            TableLayout::Records => rows.iter().for_each(|row| out.record(&head, row, room)),
        }
        out.out
    }
}

/// The cells of a row. A `|` inside of code or after a backslash belongs to its cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut out = vec![String::new()];
    let mut characters = line.chars().peekable();
    let mut is_code = false;
    while let Some(character) = characters.next() {
        let Some(cell) = out.last_mut() else {
            break;
        };
        match character {
            '\\' if characters.peek() == Some(&'|') => {
                cell.push('|');
                characters.next();
            }
            '|' if !is_code => out.push(String::new()),
            _ => {
                is_code ^= character == '`';
                cell.push(character);
            }
        }
    }
    if out.len() > 1 && out.last().is_some_and(|last| last.trim().is_empty()) {
        out.pop();
    }
    out.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn side(cell: &str) -> Option<Side> {
    let dashes = cell.trim_start_matches(':').trim_end_matches(':');
    if dashes.is_empty() || dashes.bytes().any(|byte| byte != b'-') {
        return None;
    }
    Some(match (cell.starts_with(':'), cell.ends_with(':')) {
        (true, true) => Side::Middle,
        (false, true) => Side::Right,
        _ => Side::Left,
    })
}

fn layout(head: &Row, rows: &[Row], room: usize) -> TableLayout {
    let mut widths: Vec<usize> = head.iter().map(|cell| spans_columns(cell)).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = spans_columns(cell).max(*width);
        }
    }
    widths.iter_mut().for_each(|width| *width = (*width).max(1));
    let borders = 3 * widths.len().saturating_sub(1);
    let narrowest: usize = widths.iter().map(|width| (*width).min(NARROWEST)).sum();
    if narrowest + borders > room {
        return TableLayout::Records;
    }
    // The widest columns give way first: everything above a common limit is cut to it.
    let room = room - borders;
    let fits = |limit: usize| widths.iter().map(|width| (*width).min(limit)).sum::<usize>() <= room;
    let widest = widths.iter().copied().max().unwrap_or(1);
    let limit = (NARROWEST..=widest.max(NARROWEST)).rev().find(|limit| fits(*limit)).unwrap_or(NARROWEST);
    let mut spare = room - widths.iter().map(|width| (*width).min(limit)).sum::<usize>();
    for width in &mut widths {
        if *width > limit {
            let more = spare.min(1);
            spare -= more;
            *width = limit + more;
        }
    }
    TableLayout::Columns(widths)
}

struct Lines<'a> {
    indent: &'a Indent,
    is_first: bool,
    out: Vec<Line<'static>>,
}

impl Lines<'_> {
    fn line(&mut self, spans: Vec<Span<'static>>) {
        let is_first = self.is_first && self.out.is_empty();
        let mut line = if is_first { self.indent.first.clone() } else { self.indent.rest.clone() };
        line.extend(spans);
        self.out.push(Line::from(line));
    }

    fn row(&mut self, row: &Row, widths: &[usize], sides: &[Side], palette: &Palette) {
        let parts: Vec<Vec<Line<'static>>> = row.iter().zip(widths).map(|(cell, width)| fitted(cell, *width)).collect();
        let height = parts.iter().map(Vec::len).max().unwrap_or(0);
        for number in 0..height {
            let mut spans = Vec::new();
            for (column, (part, width)) in parts.iter().zip(widths).enumerate() {
                if column > 0 {
                    spans.push(Span::styled(BETWEEN, palette.dim()));
                }
                let cell = part.get(number).map_or(&[][..], |line| line.spans.as_slice());
                let is_last = column + 1 == widths.len();
                spans.extend(aligned(cell, *width, sides.get(column).copied().unwrap_or(Side::Left), is_last));
            }
            self.line(spans);
        }
    }

    fn record(&mut self, head: &Row, row: &Row, room: usize) {
        for (number, (name, cell)) in head.iter().zip(row).enumerate() {
            let mut spans = name.clone();
            spans.push(Span::raw(": "));
            spans.extend(cell.iter().cloned());
            let indent = if number == 0 { Indent::hanging("- ".into()) } else { Indent::blanks(2) };
            for line in wrap(&spans, room, &indent, Breaking::Words) {
                self.line(line.spans);
            }
        }
    }
}

/// The lines of a cell. In a column even a URL is broken: the columns beside it would move.
fn fitted(cell: &[Span<'static>], width: usize) -> Vec<Line<'static>> {
    let lines = wrap(cell, width, &Indent::default(), Breaking::Words);
    if lines.iter().all(|line| spans_columns(&line.spans) <= width) {
        return lines;
    }
    wrap(cell, width, &Indent::default(), Breaking::Anywhere)
}

fn aligned(cell: &[Span<'static>], width: usize, side: Side, is_last: bool) -> Vec<Span<'static>> {
    let blanks = width.saturating_sub(spans_columns(cell));
    let (before, after) = match side {
        Side::Left => (0, blanks),
        Side::Middle => (blanks / 2, blanks - blanks / 2),
        Side::Right => (blanks, 0),
    };
    let after = if is_last { 0 } else { after };
    let blank = |count: usize| (count > 0).then(|| Span::raw(" ".repeat(count)));
    blank(before).into_iter().chain(cell.iter().cloned()).chain(blank(after)).collect()
}
