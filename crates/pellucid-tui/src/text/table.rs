//! Tables of Markdown as text: columns as wide as their cells, or narrower if the terminal is.
//!
//! A table that does not fit even with narrow columns is shown as records, one line for each cell with its heading.

use pulldown_cmark::Alignment;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::palette::Palette;
use super::wrap::Breaking;
use super::wrap::Indent;
use super::wrap::spans_columns;
use super::wrap::spans_columns_at_most;
use super::wrap::wrap;

/// A column is not made narrower than this.
const NARROWEST: usize = 4;

/// How many lines of a record the heading of a column may have.
const NAME_LINES: usize = 4;

const BETWEEN: &str = " │ ";

/// A table with the spans of its cells. The first row is the head.
#[derive(Debug)]
pub struct Table {
    sides: Vec<Alignment>,
    rows: Vec<Row>,
}

#[derive(Debug, Clone)]
enum TableLayout {
    Columns(Vec<usize>),
    Records,
}

type Row = Vec<Vec<Span<'static>>>;

impl Table {
    /// A table without rows. `sides` says for each column at which side its text is.
    pub fn new(sides: Vec<Alignment>) -> Self {
        Self { sides, rows: Vec::new() }
    }

    /// Begins the next row.
    pub fn begin_row(&mut self) {
        self.rows.push(Row::new());
    }

    /// Adds a cell to the row.
    pub fn push(&mut self, cell: Vec<Span<'static>>) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// Whether the row that is being read is the head.
    pub fn is_in_head(&self) -> bool {
        self.rows.len() == 1
    }

    /// Whether there are rows beside the head.
    pub fn has_rows(&self) -> bool {
        self.rows.len() > 1
    }

    /// How many columns the head has.
    pub fn width(&self) -> usize {
        self.sides.len()
    }

    /// Draws the head and the rows.
    pub fn draw(&self, columns: usize, indent: &Indent, palette: &Palette) -> Vec<Line<'static>> {
        let Some((head, rows)) = self.rows.split_first() else {
            return Vec::new();
        };
        let room = columns.saturating_sub(spans_columns(&indent.rest)).max(1);
        let mut out = Lines { indent, out: Vec::new() };
        match layout(head, rows, room) {
            TableLayout::Columns(widths) => {
                out.row(head, &widths, &self.sides, palette);
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                out.line(vec![Span::styled(rule.join("─┼─"), palette.dim())]);
                rows.iter().for_each(|row| out.row(row, &widths, &self.sides, palette));
            }
            TableLayout::Records => {
                let names = names(head, room);
                rows.iter().for_each(|row| out.record(&names, row, room));
                if rows.is_empty() {
                    head.iter().for_each(|cell| fitted(cell, room).into_iter().for_each(|line| out.line(line.spans)));
                }
            }
        }
        out.out
    }
}

fn layout(head: &Row, rows: &[Row], room: usize) -> TableLayout {
    // Cells are wrapped by the widest that a terminal draws them, so columns are measured by that too.
    let mut widths: Vec<usize> = head.iter().map(|cell| spans_columns_at_most(cell)).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = spans_columns_at_most(cell).max(*width);
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

/// The heading of each column as records repeat it: cut, so that a long one does not fill the screen with every row.
fn names(head: &Row, room: usize) -> Vec<Line<'static>> {
    head.iter().map(|cell| fitted(cell, NAME_LINES * room).into_iter().next().unwrap_or_default()).collect()
}

struct Lines<'a> {
    indent: &'a Indent,
    out: Vec<Line<'static>>,
}

impl Lines<'_> {
    fn line(&mut self, spans: Vec<Span<'static>>) {
        let mut line = if self.out.is_empty() { self.indent.first.clone() } else { self.indent.rest.clone() };
        line.extend(spans);
        self.out.push(Line::from(line));
    }

    fn row(&mut self, row: &Row, widths: &[usize], sides: &[Alignment], palette: &Palette) {
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
                spans.extend(aligned(cell, *width, sides.get(column).copied().unwrap_or(Alignment::None), is_last));
            }
            self.line(spans);
        }
    }

    fn record(&mut self, names: &[Line<'static>], row: &Row, room: usize) {
        let mut indent = Indent::hanging("- ".into());
        for (name, cell) in names.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
            let mut spans = name.spans.clone();
            spans.push(Span::raw(": "));
            spans.extend(cell.iter().cloned());
            for line in wrap(&spans, room, &indent, Breaking::Words) {
                self.line(line.spans);
            }
            indent = Indent::blanks(2);
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

fn aligned(cell: &[Span<'static>], width: usize, side: Alignment, is_last: bool) -> Vec<Span<'static>> {
    let blanks = width.saturating_sub(spans_columns(cell));
    let (before, after) = match side {
        Alignment::None | Alignment::Left => (0, blanks),
        Alignment::Center => (blanks / 2, blanks - blanks / 2),
        Alignment::Right => (blanks, 0),
    };
    let after = if is_last { 0 } else { after };
    let blank = |count: usize| (count > 0).then(|| Span::raw(" ".repeat(count)));
    blank(before).into_iter().chain(cell.iter().cloned()).chain(blank(after)).collect()
}
