//! The rows of the composer: the prompt mark, the text, its pieces, and where the cursor is.

use ratatui_core::style::Modifier;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;
use unicode_segmentation::UnicodeSegmentation;

use crate::composer::Composer;
use crate::composer::draft::Draft;
use crate::composer::rows;

/// The columns before the text: the mark and a blank.
const MARGIN: usize = 2;

/// The styles of the parts that a person writes in or chooses from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartStyles {
    /// The ground of what a person writes.
    pub ground: Style,
    /// What can be chosen or pressed.
    pub accent: Style,
    /// What is secondary.
    pub dim: Style,
}

/// Rows to show, and where the cursor is in them: column, row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawn {
    /// The rows from top to bottom.
    pub lines: Vec<Line<'static>>,
    /// Where the terminal's cursor belongs; absent while it is hidden.
    pub cursor: Option<(u16, u16)>,
}

impl Composer {
    /// Draws the composer in at most so many rows: a blank row above and below if there is room, and the rows around the
    /// cursor if the text is taller.
    pub fn draw(&mut self, width: u16, height_max: u16, hint: &str, styles: &PartStyles) -> Drawn {
        let columns = usize::from(width).saturating_sub(MARGIN).max(1);
        self.set_width(columns);
        let height_max = usize::from(height_max).max(1);
        let n_frame = if height_max >= 3 { 2 } else { 0 };
        let all = rows::rows(self.draft.text(), columns);
        let (row, column) = rows::place_of(&self.draft, &all, self.draft.cursor());
        let n_shown = all.len().min(height_max - n_frame);
        let first = (row + 1).saturating_sub(n_shown).min(all.len() - n_shown);
        let mut lines = Vec::with_capacity(n_shown + n_frame);
        let blank = || Line::default().style(styles.ground);
        if n_frame > 0 {
            lines.push(blank());
        }
        for (index, range) in all.iter().enumerate().skip(first).take(n_shown) {
            let mark = if index == first { "› " } else { "  " };
            let mut spans = vec![Span::styled(mark, Style::default().add_modifier(Modifier::BOLD))];
            if self.draft.is_empty() {
                spans.push(Span::styled(cut_to(hint, columns), styles.dim.add_modifier(Modifier::DIM)));
            } else {
                spans.extend(row_spans(&self.draft, range.clone(), columns, styles));
            }
            lines.push(Line::from(spans).style(styles.ground));
        }
        if n_frame > 0 {
            lines.push(blank());
        }
        let x = MARGIN + column.min(columns.saturating_sub(1).max(column.min(columns)));
        let x = x.min(usize::from(width).saturating_sub(1));
        let y = n_frame / 2 + row - first;
        Drawn { lines, cursor: Some((small(x), small(y))) }
    }
}

fn small(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// The beginning of a text that fits into so many columns.
fn cut_to(text: &str, columns: usize) -> String {
    let mut left = columns;
    let fits = |grapheme: &&str| {
        let n_columns = rows::columns_of(grapheme);
        let is_fitting = n_columns <= left;
        left = left.saturating_sub(n_columns);
        is_fitting
    };
    text.graphemes(true).take_while(fits).collect()
}

/// The spans of a row: pieces are set off, control characters are shown as a mark.
fn row_spans(draft: &Draft, range: std::ops::Range<usize>, columns: usize, styles: &PartStyles) -> Vec<Span<'static>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut left = columns;
    let mut position = range.start;
    let mut run = String::new();
    let mut is_piece_run = false;
    for grapheme in draft.text()[range].graphemes(true) {
        let is_piece = draft.pieces().iter().any(|piece| piece.range.contains(&position));
        position += grapheme.len();
        let n_columns = rows::columns_of(grapheme);
        if n_columns > left {
            break;
        }
        left -= n_columns;
        if is_piece != is_piece_run && !run.is_empty() {
            spans.push(styled(std::mem::take(&mut run), is_piece_run, styles));
        }
        is_piece_run = is_piece;
        match grapheme.chars().next() {
            Some('\t') => run.push(' '),
            Some(char) if char.is_control() => run.push('\u{fffd}'),
            _ => run.push_str(grapheme),
        }
    }
    if !run.is_empty() {
        spans.push(styled(run, is_piece_run, styles));
    }
    spans
}

fn styled(text: String, is_piece: bool, styles: &PartStyles) -> Span<'static> {
    if is_piece { Span::styled(text, styles.accent) } else { Span::raw(text) }
}
