//! The screen: an inline viewport below the terminal's own scrollback, as bytes to write.
//!
//! Lines of history are written once, above the viewport, in a way that lets the terminal keep them in its scrollback.
//! The viewport is compared cell by cell with what the terminal shows. Everything is pure: sizes and lines go in, bytes
//! come out.

#[cfg(test)]
pub(crate) mod model;
pub mod modes;
mod pen;
mod rows;
pub mod strip;
#[cfg(test)]
mod tests;

use ratatui_core::text::Line;

use self::pen::Look;
use self::pen::Pen;
use self::rows::Row;

/// The begin and the end of a frame, which the terminal shows at once.
const FRAME: (&str, &str) = ("\x1b[?2026h", "\x1b[?2026l");

/// So many new rows of a tall block may come in a frame that moves the others up.
const ROLLED_MAX: usize = 8;

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenSize {
    /// How many columns a row has.
    pub columns: u16,
    /// How many rows there are.
    pub rows: u16,
}

/// What the viewport, or a page, is to show.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    /// The rows from top to bottom, each one line that is cut at the right edge.
    pub lines: Vec<Line<'static>>,
    /// Column and row of the cursor; hidden if absent.
    pub cursor: Option<(u16, u16)>,
}

/// How lines get into the scrollback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insertion {
    /// Through a scroll region above the viewport, which stays as it is.
    Region,
    /// By scrolling the whole screen, for terminals that drop lines which leave a region.
    WholeScreen,
}

/// What a terminal does with rows that are wider than its window after a change of its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WideRows {
    /// Each takes as many rows as it needs, as in most terminals.
    Wrapped,
    /// Each stays one row and is cut, as in xterm.
    Cut,
}

/// The terminal, as far as the client has written it.
#[derive(Debug)]
pub struct Screen {
    size: ScreenSize,
    insertion: Insertion,
    wide: WideRows,
    pen: Pen,
    /// The first row of the viewport.
    top: u16,
    /// How many rows the viewport had in the last frame.
    height: u16,
    /// All rows of the terminal. Rows above the viewport are not looked at.
    shown: Vec<Row>,
    /// Where the cursor was left in the viewport.
    cursor: (u16, u16),
    /// What the alternate screen shows, while a page is open.
    page: Option<Vec<Row>>,
    /// Lines that arrived while a page was open.
    held: Vec<Line<'static>>,
}

impl Screen {
    /// A screen whose viewport begins at a row of the terminal, below which nothing is shown.
    pub fn new(size: ScreenSize, top: u16, insertion: Insertion) -> Self {
        let size = ScreenSize { columns: size.columns.max(1), rows: size.rows.max(1) };
        Self {
            size,
            insertion,
            wide: WideRows::Wrapped,
            pen: Pen::new(),
            top: top.min(size.rows - 1),
            height: 0,
            shown: blank(size),
            cursor: (0, 0),
            page: None,
            held: Vec::new(),
        }
    }

    /// Sets what this terminal does with rows that are wider than its window.
    pub fn set_wide_rows(&mut self, wide: WideRows) {
        self.wide = wide;
    }

    /// The size of the terminal.
    pub fn size(&self) -> ScreenSize {
        self.size
    }

    /// The first row of the viewport.
    pub fn top(&self) -> u16 {
        self.top
    }

    /// Inserts lines above the viewport and draws it. No bytes if nothing changes.
    ///
    /// While a page is open, the lines wait and `view` is the page.
    pub fn frame(&mut self, history: Vec<Line<'static>>, view: &View) -> Vec<u8> {
        if self.page.is_some() {
            self.held.extend(history);
            return self.page_frame(view);
        }
        let mut history = history;
        if !self.held.is_empty() {
            self.held.append(&mut history);
            history = std::mem::take(&mut self.held);
        }
        // The viewport never takes the whole screen, if there is more than one row.
        let height_max = self.size.rows.saturating_sub(1).max(1);
        let height = u16::try_from(view.lines.len()).unwrap_or(u16::MAX).clamp(1, height_max);
        let columns = self.size.columns;
        let rows: Vec<Row> = (0..usize::from(height))
            .map(|at| view.lines.get(at).map_or_else(|| rows::blank_row(columns), |line| rows::row_of(line, columns)))
            .collect();
        let n_kept = self.keep_as_history(&history);
        if n_kept == history.len() {
            self.shift(&rows);
        }
        self.insert(&history[n_kept..], height, &rows);
        if self.height == height {
            self.roll(&rows);
        }
        self.height = height;
        let below = (rows.len()..usize::from(self.size.rows - self.top)).map(|_| rows::blank_row(columns));
        let top = usize::from(self.top);
        for (y, row) in (top..).zip(rows.into_iter().chain(below).collect::<Vec<_>>()) {
            rows::write_changes(&mut self.pen, row_number(y), &self.shown[y], &row);
            self.shown[y] = row;
        }
        self.place_cursor(view.cursor, self.top, height);
        self.finish_frame()
    }

    /// Opens a page on the alternate screen, or leaves it.
    pub fn set_page(&mut self, is_open: bool) -> Vec<u8> {
        match (self.page.is_some(), is_open) {
            (false, true) => {
                self.pen.look(Look::PLAIN);
                self.pen.raw_move(modes::PAGE_ON);
                self.page = Some(blank(self.size));
            }
            (true, false) => {
                self.pen.look(Look::PLAIN);
                self.pen.raw_move(modes::PAGE_OFF);
                self.page = None;
            }
            _ => {}
        }
        self.pen.take()
    }

    /// Whether a page is open on the alternate screen.
    pub fn has_page(&self) -> bool {
        self.page.is_some()
    }

    fn page_frame(&mut self, view: &View) -> Vec<u8> {
        let columns = self.size.columns;
        let Some(page) = &mut self.page else { return Vec::new() };
        for (y, shown) in page.iter_mut().enumerate() {
            let line = view.lines.get(y);
            let row = line.map_or_else(|| rows::blank_row(columns), |line| rows::row_of(line, columns));
            rows::write_changes(&mut self.pen, row_number(y), shown, &row);
            *shown = row;
        }
        let rows = self.size.rows;
        self.place_cursor(view.cursor, 0, rows);
        self.finish_frame()
    }

    fn place_cursor(&mut self, cursor: Option<(u16, u16)>, top: u16, height: u16) {
        let (x, y) = cursor.unwrap_or_default();
        let place = (x.min(self.size.columns - 1), y.min(height.saturating_sub(1)));
        if self.page.is_none() {
            self.cursor = place;
        }
        // A frame that writes nothing leaves the cursor alone too.
        if cursor.is_some() || !self.pen.is_empty() {
            self.pen.go(place.0, top + place.1);
        }
        self.pen.show_cursor(cursor.is_some());
    }

    fn finish_frame(&mut self) -> Vec<u8> {
        let bytes = self.pen.take();
        if bytes.is_empty() {
            return bytes;
        }
        [FRAME.0.as_bytes(), &bytes, FRAME.1.as_bytes()].concat()
    }

    /// Makes the first rows of the viewport history where they show the next lines already, as a streamed line does when it is
    /// complete. Returns how many lines are in their place by that.
    fn keep_as_history(&mut self, lines: &[Line<'static>]) -> usize {
        let columns = self.size.columns;
        let n_max = usize::from(self.height.min(self.size.rows - self.top)).saturating_sub(1);
        let mut rows = Vec::new();
        // Blank rows are kept only before a row with text: a blank row alone is as likely the one above the status.
        let mut n_kept = 0;
        for (line, shown) in lines.iter().zip(&self.shown[usize::from(self.top)..]).take(n_max) {
            let row = rows::row_of(line, columns);
            let is_kept = rows::is_mostly(shown, &row);
            if rows::rows_taken(line, columns) != 1 || !(is_kept || rows::is_equal(shown, &row)) {
                break;
            }
            rows.push(row);
            if is_kept {
                n_kept = rows.len();
            }
        }
        rows.truncate(n_kept);
        for row in rows {
            let y = usize::from(self.top);
            rows::write_changes(&mut self.pen, self.top, &self.shown[y], &row);
            self.shown[y] = row;
            self.top += 1;
            self.height -= 1;
        }
        n_kept
    }

    /// Moves the rows of the viewport where its new rows are the old ones, but for some at its top: the terminal moves them
    /// with fewer bytes than writing them again takes.
    fn shift(&mut self, rows: &[Row]) {
        let (top, old_height) = (usize::from(self.top), usize::from(self.height));
        if old_height == 0 || old_height == rows.len() {
            return;
        }
        let old = &self.shown[top..(top + old_height).min(self.shown.len())];
        let n_at_top = old.iter().zip(rows).filter(|(one, other)| rows::is_equal(one, other)).count();
        let n_at_end =
            old.iter().rev().zip(rows.iter().rev()).filter(|(one, other)| rows::is_equal(one, other)).count();
        if n_at_end <= n_at_top {
            return;
        }
        if rows.len() > old_height && top + rows.len() <= self.shown.len() {
            self.insert_rows_at(self.top, row_number(rows.len() - old_height));
        } else if rows.len() < old_height {
            let n = old_height - rows.len();
            self.pen.look(Look::PLAIN);
            self.pen.go(0, self.top);
            self.pen.delete_rows(row_number(n));
            self.shown.drain(top..top + n);
            self.shown.extend((0..n).map(|_| rows::blank_row(self.size.columns)));
        }
    }

    /// Moves the first rows of the viewport up where its new rows are the old ones without the topmost: the tail of a block that
    /// is taller than the screen. What leaves the viewport is not kept, because the block comes into the scrollback when it ends.
    fn roll(&mut self, rows: &[Row]) {
        let top = usize::from(self.top);
        let old = &self.shown[top..(top + rows.len()).min(self.shown.len())];
        let end = old.iter().zip(rows).rposition(|(one, other)| !rows::is_equal(one, other)).map_or(0, |at| at + 1);
        let n_equal = |n: usize| old[n..end].iter().zip(rows).filter(|(one, other)| rows::is_equal(one, other)).count();
        let best = (0..=ROLLED_MAX.min(end)).max_by_key(|n| (n_equal(*n), std::cmp::Reverse(*n))).unwrap_or(0);
        if best == 0 || n_equal(best) < n_equal(0) + 2 {
            return;
        }
        let n = row_number(best);
        self.pen.look(Look::PLAIN);
        self.pen.go(0, self.top);
        self.pen.delete_rows(n);
        self.pen.go(0, self.top + row_number(end) - n);
        self.pen.insert_rows(n);
        self.shown.drain(top..top + best);
        let blank = (0..best).map(|_| rows::blank_row(self.size.columns)).collect::<Vec<_>>();
        self.shown.splice(top + end - best..top + end - best, blank);
    }

    /// Inserts blank rows. The terminal moves the rows below them.
    fn insert_rows_at(&mut self, y: u16, n: u16) {
        self.pen.look(Look::PLAIN);
        self.pen.go(0, y);
        self.pen.insert_rows(n);
        self.shown.truncate(self.shown.len() - usize::from(n));
        let blank = (0..n).map(|_| rows::blank_row(self.size.columns)).collect::<Vec<_>>();
        self.shown.splice(usize::from(y)..usize::from(y), blank);
    }

    /// Inserts lines above the viewport and moves it so that `height` rows fit, which are to show `rows`.
    fn insert(&mut self, lines: &[Line<'static>], height: u16, rows: &[Row]) {
        let taken = |line| u32::from(rows::rows_taken(line, self.size.columns));
        let n_rows = lines.iter().map(taken).sum::<u32>();
        let wished = u32::from(self.top) + n_rows;
        let lowest = self.size.rows - height;
        let top = u16::try_from(wished).unwrap_or(u16::MAX).min(lowest);
        let scrolled = wished - u32::from(top);
        if n_rows == 0 && scrolled == 0 {
            return;
        }
        if scrolled > 0 && (self.insertion == Insertion::WholeScreen || self.top.max(top) < 2) {
            self.insert_by_whole_screen(lines, scrolled, top, height, rows);
            return;
        }
        let old = self.top;
        if top < old && lines.is_empty() {
            self.move_up_with_history(old - top, rows);
            return;
        }
        if top > old {
            self.move_viewport_down(top - old);
        }
        let bottom = self.top.max(old) - 1;
        if scrolled > 0 {
            self.pen.region(Some((0, bottom)));
        }
        self.write_history(lines, old, bottom);
        if top < old {
            self.pen.go(0, bottom);
            for _ in top..old {
                self.pen.next_row(bottom);
            }
            for y in top..old {
                self.shown[usize::from(y)] = rows::blank_row(self.size.columns);
            }
            self.top = top;
        }
        if scrolled > 0 {
            self.pen.region(None);
        }
    }

    /// How many of the first rows of the viewport stay as they are.
    fn n_same(&self, rows: &[Row]) -> u16 {
        let top = usize::from(self.top);
        let old = &self.shown[top..(top + usize::from(self.height)).min(self.shown.len())];
        let n_equal = old.iter().zip(rows).take_while(|(one, other)| rows::is_equal(one, other)).count();
        // The row behind them has often got its last words in the same frame.
        let is_grown = old.get(n_equal).zip(rows.get(n_equal)).is_some_and(|(one, other)| rows::is_mostly(one, other));
        row_number(n_equal + usize::from(is_grown))
    }

    /// Moves history up by `n` rows to make room for the viewport, and with it the first rows of the viewport that stay as they
    /// are: the lines of a paragraph that gets one more.
    fn move_up_with_history(&mut self, n: u16, rows: &[Row]) {
        let n_same = self.n_same(rows);
        let bottom = self.top + n_same - 1;
        self.pen.region(Some((0, bottom)));
        self.pen.go(0, bottom);
        for _ in 0..n {
            self.pen.next_row(bottom);
        }
        self.pen.region(None);
        // Rows above the viewport are not looked at, so it does not matter which of them goes.
        self.shown.drain(..usize::from(n));
        let end = usize::from(self.top + n_same - n);
        let blank = (0..n).map(|_| rows::blank_row(self.size.columns)).collect::<Vec<_>>();
        self.shown.splice(end..end, blank);
        self.top -= n;
    }

    /// Writes lines below the row before `from`, in rows that scroll at `bottom`.
    fn write_history(&mut self, lines: &[Line<'static>], from: u16, bottom: u16) {
        for (at, line) in lines.iter().enumerate() {
            if at > 0 || from > 0 {
                if at == 0 {
                    self.pen.go(0, from - 1);
                }
                self.pen.look(Look::PLAIN);
                self.pen.next_row(bottom);
            } else {
                self.pen.go(0, 0);
            }
            rows::write_line(&mut self.pen, line, self.size.columns);
        }
    }

    /// Makes room above the viewport.
    fn move_viewport_down(&mut self, n: u16) {
        self.insert_rows_at(self.top, n);
        self.top += n;
    }

    /// Scrolls the whole screen, so that the terminal keeps what leaves it at the top, and inserts lines above the viewport. The
    /// rows of the viewport that stay as they are move back down.
    fn insert_by_whole_screen(&mut self, lines: &[Line<'static>], scrolled: u32, top: u16, height: u16, rows: &[Row]) {
        let n = u16::try_from(scrolled).unwrap_or(u16::MAX);
        let n_rows = lines.iter().map(|line| u32::from(rows::rows_taken(line, self.size.columns))).sum::<u32>();
        if n > self.top || n_rows != scrolled && n_rows > 0 {
            return self.write_over_viewport(lines, top, height);
        }
        let bottom = self.size.rows - 1;
        self.pen.look(Look::PLAIN);
        self.pen.go(0, bottom);
        for _ in 0..n {
            self.pen.next_row(bottom);
        }
        // Rows above the viewport are not looked at, so it does not matter which of them goes.
        self.shown.drain(..usize::from(n));
        self.shown.extend((0..n).map(|_| rows::blank_row(self.size.columns)));
        self.top -= n;
        if lines.is_empty() {
            let at = self.top + self.n_same(rows);
            self.insert_rows_at(at, n);
        } else {
            self.insert_rows_at(self.top, n);
            self.write_history(lines, self.top, bottom);
            self.top += n;
        }
    }

    /// Writes lines over the viewport and scrolls the whole screen. The viewport is drawn again below.
    fn write_over_viewport(&mut self, lines: &[Line<'static>], top: u16, height: u16) {
        self.pen.look(Look::PLAIN);
        self.pen.go(0, self.top);
        self.pen.raw("\x1b[J");
        let bottom = self.size.rows - 1;
        for line in lines {
            rows::write_line(&mut self.pen, line, self.size.columns);
            self.pen.look(Look::PLAIN);
            self.pen.next_row(bottom);
        }
        // The cursor is in the row after the lines; the viewport needs the rows below it.
        for _ in 1..height {
            self.pen.next_row(bottom);
        }
        self.pen.raw_move("");
        self.shown = blank(self.size);
        self.height = 0;
        self.top = top;
    }

    /// Forgets what the terminal shows in and below the viewport, after the terminal has changed its size or another
    /// program has written. `row` is the row of the terminal's cursor, if the terminal reported it.
    pub fn resize(&mut self, size: ScreenSize, row: Option<u16>) -> Vec<u8> {
        let size = ScreenSize { columns: size.columns.max(1), rows: size.rows.max(1) };
        let n_above = self.rows_above_cursor(size.columns);
        self.size = size;
        self.height = 0;
        self.shown = blank(size);
        if let Some(page) = &mut self.page {
            *page = blank(size);
            self.top = self.top.min(size.rows - 1);
            self.pen.look(Look::PLAIN);
            self.pen.raw_move("\x1b[2J");
            return Vec::new();
        }
        let top = match row {
            Some(row) => row.saturating_sub(n_above),
            None => self.top,
        };
        self.top = top.min(size.rows - 1);
        self.pen.raw_move("");
        self.pen.look(Look::PLAIN);
        self.pen.go(0, self.top);
        self.pen.raw("\x1b[J");
        Vec::new()
    }

    /// How many rows of the viewport are above the cursor after the terminal has taken another width.
    fn rows_above_cursor(&self, columns: u16) -> u16 {
        let (x, y) = self.cursor;
        if columns >= self.size.columns || self.wide == WideRows::Cut {
            return y;
        }
        let (top, end) = (usize::from(self.top), usize::from(self.top + y).min(self.shown.len()));
        let n_rows = rows::rows_after_wrapping(&self.shown[top.min(end)..end], columns);
        row_number(n_rows).saturating_add(x / columns)
    }

    /// The bytes that leave the terminal as it was: the main screen, without the viewport.
    pub fn leave(&mut self) -> Vec<u8> {
        if self.page.take().is_some() {
            self.pen.raw_move(modes::PAGE_OFF);
        }
        self.pen.look(Look::PLAIN);
        self.pen.raw_move("");
        self.pen.go(0, self.top);
        self.pen.raw("\x1b[J");
        self.pen.show_cursor(true);
        self.height = 0;
        self.shown = blank(self.size);
        self.pen.take()
    }

    /// Begins again at a row, after the program was stopped or another program had the terminal.
    pub fn come_back(&mut self, size: ScreenSize, top: u16) {
        let wide = self.wide;
        *self = Self { held: std::mem::take(&mut self.held), wide, ..Self::new(size, top, self.insertion) };
    }
}

fn blank(size: ScreenSize) -> Vec<Row> {
    vec![rows::blank_row(size.columns); usize::from(size.rows)]
}

/// A row as the terminal counts it.
fn row_number(y: usize) -> u16 {
    u16::try_from(y).unwrap_or(u16::MAX)
}
