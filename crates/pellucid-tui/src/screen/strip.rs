//! A strip of rows at the end of a program's output, drawn again in place, for programs that do not read the keyboard.
//!
//! The place of the cursor on the screen is not known, so every move is relative to the last row of the strip, where the
//! cursor rests. Lines that are final are written above the strip, once, and scroll with all other output. Everything is
//! pure: sizes and lines go in, bytes come out.

use ratatui_core::text::Line;

use super::FRAME;
use super::ScreenSize;
use super::WideRows;
use super::pen::Look;
use super::pen::Pen;
use super::rows;
use super::rows::Row;

/// The rows at the end of the output, as far as they were written.
#[derive(Debug)]
pub struct Strip {
    size: ScreenSize,
    wide: WideRows,
    pen: Pen,
    /// The rows that are drawn. If there are none, the cursor is at the beginning of a row without content; otherwise it is
    /// after the content of the last one.
    shown: Vec<Row>,
    /// The row in which the cursor is, counted from the first one of the strip.
    y: usize,
}

impl Strip {
    /// A strip without rows, below which nothing is shown.
    pub fn new(size: ScreenSize, wide: WideRows) -> Self {
        Self { size: at_least_one(size), wide, pen: Pen::new(), shown: Vec::new(), y: 0 }
    }

    /// The size of the terminal.
    pub fn size(&self) -> ScreenSize {
        self.size
    }

    /// Writes lines above the strip and draws it. No bytes if nothing changes. If the strip does not fit, its last rows are
    /// drawn.
    pub fn frame(&mut self, history: &[Line<'static>], strip: &[Line<'static>]) -> Vec<u8> {
        let drawn = self.drawn(strip);
        if history.is_empty() && self.is_shown(&drawn) {
            return Vec::new();
        }
        for (y, line) in history.iter().enumerate() {
            self.row_above(y, line);
        }
        for (y, row) in (history.len()..).zip(&drawn) {
            self.change_row(y, row);
        }
        let end = history.len() + drawn.len();
        if end < self.shown.len() {
            self.go_to(end);
            self.erase_below();
        } else if drawn.is_empty() {
            self.go_to(end);
        }
        self.rest(history.len(), &drawn);
        self.shown = drawn;
        self.framed()
    }

    /// Writes a text of another part of the program above the strip. The text is written as it is, whole lines of it.
    pub fn text(&mut self, text: &[u8]) -> Vec<u8> {
        let mut bytes = self.leave();
        bytes.extend_from_slice(text);
        bytes
    }

    /// Removes the strip after the terminal has changed its size. The next frame draws it again.
    pub fn resize(&mut self, size: ScreenSize) -> Vec<u8> {
        let size = at_least_one(size);
        if size.columns < self.size.columns && self.wide == WideRows::Wrapped {
            self.y = rows::rows_after_wrapping(&self.shown, size.columns).saturating_sub(1);
        }
        self.size = size;
        self.leave()
    }

    /// Removes the strip. The cursor is then where the strip began.
    pub fn leave(&mut self) -> Vec<u8> {
        if !self.shown.is_empty() {
            self.go_to(0);
            self.erase_below();
        }
        (self.shown, self.y) = (Vec::new(), 0);
        self.framed()
    }

    /// The strip's last rows that fit on the screen, as cells. The last one leaves a column for the cursor.
    fn drawn(&self, strip: &[Line<'static>]) -> Vec<Row> {
        let room = usize::from(self.size.rows.saturating_sub(1).max(1));
        let lines = &strip[strip.len().saturating_sub(room)..];
        let mut drawn: Vec<Row> = lines.iter().map(|line| rows::row_of(line, self.size.columns)).collect();
        if let (Some(row), Some(line)) = (drawn.last_mut(), lines.last()) {
            *row = rows::row_of(line, self.size.columns.saturating_sub(1));
            row.extend(rows::blank_row(1));
        }
        drawn
    }

    fn is_shown(&self, drawn: &[Row]) -> bool {
        self.shown.len() == drawn.len() && self.shown.iter().zip(drawn).all(|(one, other)| rows::is_equal(one, other))
    }

    /// Writes a final line into the row that is `y` rows below the beginning of the strip.
    fn row_above(&mut self, y: usize, line: &Line<'static>) {
        let columns = self.size.columns;
        if rows::rows_taken(line, columns) == 1 {
            self.change_row(y, &rows::row_of(line, columns));
            return;
        }
        // A line of several rows counts as one from here on: everything after it is below its last row.
        self.go_to(y);
        self.erase_below();
        self.shown.truncate(y);
        rows::write_line(&mut self.pen, line, columns);
    }

    /// Draws a row of the strip, unless it is drawn already.
    fn change_row(&mut self, y: usize, row: &Row) {
        if self.shown.get(y).is_some_and(|old| rows::is_equal(old, row)) {
            return;
        }
        self.go_to(y);
        // The blanks between the words of a new row are written too: what was never written may be lost when it is copied.
        let unknown = rows::unknown_row(self.size.columns);
        let old = self.shown.get(y).unwrap_or(&unknown);
        self.pen.assume_row_start();
        rows::write_changes(&mut self.pen, 0, old, row);
    }

    /// Moves the cursor to the beginning of a row. A row below the last one appears by a line feed.
    fn go_to(&mut self, y: usize) {
        self.pen.look(Look::PLAIN);
        match y.checked_sub(self.y) {
            Some(0) => self.pen.raw_move("\r"),
            Some(n) => (0..n).for_each(|_| self.pen.raw_move("\r\n")),
            None => self.pen.raw_move(&format!("\r\x1b[{}A", self.y - y)),
        }
        self.y = y;
    }

    /// Erases the cursor's row from its beginning, and everything below it.
    fn erase_below(&mut self) {
        self.pen.look(Look::PLAIN);
        self.pen.raw("\x1b[J");
    }

    /// Moves the cursor behind the last row, where it rests. The strip begins `n_above` rows lower from here on.
    fn rest(&mut self, n_above: usize, drawn: &[Row]) {
        if let Some(last) = drawn.last() {
            self.go_to(n_above + drawn.len() - 1);
            self.pen.assume_row_start();
            self.pen.go(u16::try_from(rows::content_columns(last)).unwrap_or(u16::MAX), 0);
        }
        self.y -= n_above;
    }

    fn framed(&mut self) -> Vec<u8> {
        self.pen.look(Look::PLAIN);
        let bytes = self.pen.take();
        if bytes.is_empty() {
            return bytes;
        }
        [FRAME.0.as_bytes(), &bytes, FRAME.1.as_bytes()].concat()
    }
}

fn at_least_one(size: ScreenSize) -> ScreenSize {
    ScreenSize { columns: size.columns.max(1), rows: size.rows.max(1) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::model::Terminal;
    use super::*;
    use crate::cells::transcript::TranscriptOptions;
    use crate::text::palette::Palette;
    use crate::turn_view::TurnView;

    const SIZE: ScreenSize = ScreenSize { columns: 20, rows: 6 };

    fn lines(texts: &[&str]) -> Vec<Line<'static>> {
        texts.iter().map(|it| Line::from((*it).to_owned())).collect()
    }

    #[test]
    fn final_lines_scroll_above_the_strip_and_nothing_of_it_stays() {
        let mut terminal = Terminal::new(20, 6);
        terminal.feed(b"$ pellucid exec\r\n");
        let mut strip = Strip::new(SIZE, WideRows::Wrapped);
        for n in 0..9 {
            let history = lines(&[&format!("line {n}")]);
            terminal.feed(&strip.frame(&history, &lines(&["tail", "status"])));
            assert_eq!(terminal.everything().last().unwrap(), "status");
        }
        assert_eq!((terminal.x, terminal.y), (6, 5), "the cursor rests behind the strip");
        terminal.feed(&strip.text(b"warning: from elsewhere\r\n"));
        terminal.feed(&strip.frame(&[], &lines(&["status"])));
        terminal.feed(&strip.frame(&lines(&["the end"]), &[]));
        let mut expected = vec!["$ pellucid exec".to_owned()];
        expected.extend((0..9).map(|n| format!("line {n}")));
        expected.extend(["warning: from elsewh", "ere", "the end"].map(str::to_owned));
        assert_eq!(terminal.everything(), expected);
        assert_eq!(terminal.x, 0);
        assert_eq!(strip.leave(), b"");
    }

    #[test]
    fn a_streamed_word_and_a_second_cost_few_bytes() {
        let mut strip = Strip::new(ScreenSize { columns: 100, rows: 30 }, WideRows::Wrapped);
        strip.frame(&[], &lines(&["", "The answer is", "", "Working (9s)"]));
        let word = strip.frame(&[], &lines(&["", "The answer is forty", "", "Working (9s)"]));
        assert!(word.len() <= 48, "{}", String::from_utf8_lossy(&word).escape_debug());
        let second = strip.frame(&[], &lines(&["", "The answer is forty", "", "Working (10s)"]));
        assert!(second.len() <= 48, "{}", String::from_utf8_lossy(&second).escape_debug());
        assert_eq!(strip.frame(&[], &lines(&["", "The answer is forty", "", "Working (10s)"])), b"");
    }

    #[test]
    fn a_line_that_was_in_the_strip_is_not_written_again() {
        let text = "q".repeat(70);
        let mut strip = Strip::new(ScreenSize { columns: 100, rows: 30 }, WideRows::Wrapped);
        strip.frame(&[], &lines(&[&text, "status"]));
        let bytes = strip.frame(&lines(&[&text]), &lines(&["next", "status"]));
        assert!(!String::from_utf8(bytes).unwrap().contains('q'));
    }

    #[test]
    fn characters_of_uncertain_width_lose_nothing_when_more_follows() {
        // This terminal draws each code point of an emoji, so that the family takes six columns instead of two.
        let mut terminal = Terminal::new(40, 6);
        let mut strip = Strip::new(ScreenSize { columns: 40, rows: 6 }, WideRows::Wrapped);
        let text = "A family 👨‍👩‍👧 of three lives here.";
        for end in text.char_indices().map(|(at, _)| at).skip(1) {
            terminal.feed(&strip.frame(&[], &lines(&[&text[..end], "status"])));
        }
        terminal.feed(&strip.frame(&lines(&[text]), &lines(&["status"])));
        assert_eq!(terminal.everything(), [text, "status"]);
    }

    /// A terminal after a change of its width that wraps what is too wide.
    fn narrower(terminal: &Terminal, columns: usize, rows: usize) -> Terminal {
        let mut out = Terminal::new(columns, rows);
        out.feed(terminal.everything().join("\r\n").as_bytes());
        out
    }

    #[test]
    fn a_narrower_window_leaves_nothing_of_the_strip() {
        let mut terminal = Terminal::new(20, 12);
        let mut strip = Strip::new(ScreenSize { columns: 20, rows: 12 }, WideRows::Wrapped);
        terminal.feed(&strip.frame(&lines(&["one"]), &lines(&["a tail of 19 column", "名前名前名前", "status"])));
        let mut terminal = narrower(&terminal, 8, 12);
        let size = ScreenSize { columns: 8, rows: 12 };
        terminal.feed(&strip.resize(size));
        assert_eq!(terminal.everything(), ["one"]);
        terminal.feed(&strip.frame(&lines(&["two"]), &lines(&["status"])));
        assert_eq!(terminal.everything(), ["one", "two", "status"]);
    }

    /// A reply with everything that is drawn apart from words, in pieces as a model sends them.
    const REPLY: &str = "# Head\n\nA **long** paragraph that takes more than one row.\n\n| a | 名前 |\n|---|---|\n| 1 | two |\n\n\
        ```rust\nfn main() {\n    if x {\n        y();\n    }\n}\n```\n\n1. one\n   - two\n\n> three\n\nhttps://example.com/a/long/address\n\nend";

    #[test]
    fn a_streamed_reply_is_on_the_terminal_as_it_is_drawn() {
        for piece_bytes in 1..9 {
            let size = ScreenSize { columns: 24, rows: 9 };
            let mut terminal = Terminal::new(24, 9);
            let mut strip = Strip::new(size, WideRows::Wrapped);
            let mut view = TurnView::new(TranscriptOptions::default(), Palette::plain(), size);
            let mut event = |event: serde_json::Value, terminal: &mut Terminal, expected: &mut Vec<String>| {
                view.event(&serde_json::from_value(event).unwrap(), Duration::ZERO);
                let (history, rows) = (view.take_history(), view.rows(Duration::ZERO));
                terminal.feed(&strip.frame(&history, &rows));
                expected.extend(wrapped_by_terminal(&history));
                let rows = &rows[rows.len().saturating_sub(8)..];
                let all: Vec<String> = expected.iter().cloned().chain(rows.iter().map(cut)).collect();
                let shown = terminal.everything();
                assert_eq!(
                    shown,
                    all[..shown.len().max(all.iter().rposition(|it| !it.is_empty()).map_or(0, |at| at + 1))]
                );
            };
            let mut expected = Vec::new();
            event(
                json!({ "type": "task_started", "turn_id": "t", "model_context_window": null }),
                &mut terminal,
                &mut expected,
            );
            let mut rest = REPLY;
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.ceil_char_boundary(piece_bytes.min(rest.len())));
                rest = after;
                let delta = json!({
                    "type": "agent_message_content_delta", "thread_id": "s", "turn_id": "t", "item_id": "m", "delta": piece,
                });
                event(delta, &mut terminal, &mut expected);
            }
        }
    }

    /// A row of the strip, which is cut at the right edge.
    fn cut(line: &Line<'static>) -> String {
        crate::text::width::beginning(&line.to_string(), 24).0.trim_end().to_owned()
    }

    /// The rows that lines take on a terminal of 24 columns.
    fn wrapped_by_terminal(lines: &[Line<'static>]) -> Vec<String> {
        let row = |line: &Line<'static>| {
            let mut plain = Terminal::new(24, 40);
            plain.feed(line.to_string().as_bytes());
            let rows = plain.everything();
            if rows.is_empty() { vec![String::new()] } else { rows }
        };
        lines.iter().flat_map(row).collect()
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[a-z ]{0,19}", "[a-z名]{0,12}", "http://[a-z]{20,60}"]
    }

    proptest! {
        /// Whatever is drawn, the terminal has all final lines in order and then the strip.
        #[test]
        fn final_lines_and_then_the_strip(
            frames in prop::collection::vec((prop::collection::vec(text(), 0..4), prop::collection::vec("[ab名]{1,2}", 0..5)), 1..12),
        ) {
            let mut terminal = Terminal::new(20, 6);
            let mut strip = Strip::new(SIZE, WideRows::Wrapped);
            let mut expected: Vec<String> = Vec::new();
            for (history, shown) in &frames {
                let line = |text: &String| Line::from(text.clone());
                let (history_lines, shown_lines): (Vec<_>, Vec<_>) =
                    (history.iter().map(line).collect(), shown.iter().map(line).collect());
                terminal.feed(&strip.frame(&history_lines, &shown_lines));
                for text in history {
                    let mut plain = Terminal::new(20, 40);
                    plain.feed(text.as_bytes());
                    let rows = plain.everything();
                    expected.extend(if rows.is_empty() { vec![String::new()] } else { rows });
                }
                let mut all = expected.clone();
                all.extend(shown.iter().cloned());
                while all.last().is_some_and(String::is_empty) {
                    all.pop();
                }
                prop_assert_eq!(terminal.everything(), all);
            }
            terminal.feed(&strip.leave());
            while expected.last().is_some_and(String::is_empty) {
                expected.pop();
            }
            prop_assert_eq!(terminal.everything(), expected);
        }
    }
}
