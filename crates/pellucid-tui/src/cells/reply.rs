//! What the model said: Markdown behind a mark.

use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::BULLET;
use super::CellCanvas;
use crate::text::stream::MarkdownStream;

/// The columns of the mark before a reply.
const MARK: usize = 2;

/// A message of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyCell {
    /// The source, as the model wrote it.
    pub markdown: String,
}

impl ReplyCell {
    /// The message as lines.
    pub fn lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let mut stream = ReplyStream::new("", canvas);
        let mut out = stream.push(&self.markdown);
        out.extend(stream.finish());
        out
    }
}

/// A message that is still arriving: lines come out once, behind the mark and under it.
#[derive(Debug, Clone)]
pub struct ReplyStream {
    /// The id of the item that the pieces belong to.
    pub id: String,
    source: String,
    stream: MarkdownStream,
    ground: Style,
    /// What the first line begins with.
    mark: &'static str,
    is_begun: bool,
}

impl ReplyStream {
    /// A message that begins.
    pub fn new(id: &str, canvas: &CellCanvas) -> Self {
        let columns = canvas.columns.saturating_sub(MARK).max(1);
        let stream = MarkdownStream::new(columns, canvas.palette);
        Self { id: id.to_owned(), source: String::new(), stream, ground: Style::new(), mark: BULLET, is_begun: false }
    }

    /// A proposed plan that begins: without a mark, and on a ground.
    pub fn plan(id: &str, canvas: &CellCanvas) -> Self {
        Self { ground: canvas.palette.ground(), mark: "  ", ..Self::new(id, canvas) }
    }

    /// What has arrived.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether lines were given out.
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Changes the width of the lines that follow.
    pub fn set_columns(&mut self, columns: usize) {
        self.stream.set_columns(columns.saturating_sub(MARK).max(1));
    }

    /// Takes the next piece and gives the lines that it finishes.
    pub fn push(&mut self, piece: &str) -> Vec<Line<'static>> {
        // Blank lines before the first word would separate the mark from it.
        let piece = if self.source.is_empty() { piece.trim_start_matches('\n') } else { piece };
        self.source.push_str(piece);
        let lines = self.stream.push(piece);
        self.marked(lines)
    }

    /// The lines that are not finished.
    pub fn tail(&self) -> Vec<Line<'static>> {
        let mut copy = self.is_begun;
        self.behind_mark(self.stream.tail(), &mut copy)
    }

    /// Ends the message and gives the lines that are left.
    pub fn finish(&mut self) -> Vec<Line<'static>> {
        let lines = self.stream.finish();
        self.marked(lines)
    }

    fn marked(&mut self, lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
        let mut is_begun = self.is_begun;
        let lines = self.behind_mark(lines, &mut is_begun);
        self.is_begun = is_begun;
        lines
    }

    fn behind_mark(&self, lines: Vec<Line<'static>>, is_begun: &mut bool) -> Vec<Line<'static>> {
        let mark = |mut line: Line<'static>| {
            if !line.spans.is_empty() {
                line.spans.insert(0, Span::raw(if *is_begun { "  " } else { self.mark }));
                *is_begun = true;
            }
            line.style(self.ground)
        };
        lines.into_iter().map(mark).collect()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;

    #[test]
    fn the_mark_is_before_the_first_line_only() {
        let cell = ReplyCell { markdown: "\n\nOne two three four.\n\n- five\n- six".to_owned() };
        expect![[r#"
            • One two three|
              four.|
            |
              - five|
              - six|
        "#]]
        .assert_eq(&shown(&cell.lines(&CANVAS(16))));
        assert!(ReplyCell { markdown: "\n\n".to_owned() }.lines(&CANVAS(16)).is_empty());
    }

    #[test]
    fn pieces_and_tail_are_together_the_whole() {
        let text = "One two\nthree four\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend";
        let mut stream = ReplyStream::new("r", &CANVAS(16));
        let mut out = Vec::new();
        for (at, character) in text.char_indices() {
            out.extend(stream.push(&text[at..at + character.len_utf8()]));
            let whole = ReplyCell { markdown: text[..at + character.len_utf8()].to_owned() }.lines(&CANVAS(16));
            assert_eq!(out.iter().cloned().chain(stream.tail()).collect::<Vec<_>>(), whole);
        }
    }
}
