//! Markdown that is still arriving: each finished line is given out once and in order, the rest is the tail.
//!
//! The pieces may be split anywhere. The lines are the same as if the text had come at once, because only whole lines of the
//! source are read, and a long line is cut at places that depend on its text and on the width alone.

use std::borrow::Cow;

use ratatui_core::text::Line;

use super::clean;
use super::markdown::MarkdownReader;
use super::palette::Palette;

/// A longer line of the source is read as two.
const SOURCE_LINE_MAX: usize = 16 * 1024;

/// From this length on, rows of a line are given out before the line has its end.
const LONG_LINE: usize = 512;

/// The tail draws at most the end of an unfinished line, so that a frame has the same cost however long the line gets. The
/// place at which that end begins moves in steps, so that the rows stay where they are meanwhile.
const TAIL_MAX: usize = 4 * 1024;
const TAIL_STEP: usize = 1024;

/// A text that is still arriving.
#[derive(Debug, Clone)]
pub struct MarkdownStream {
    reader: MarkdownReader,
    /// The source line that has no end yet.
    unfinished: String,
    /// With more bytes, the line is looked at again for rows that are final.
    looked_at: usize,
}

impl MarkdownStream {
    /// A stream that makes lines of at most `columns`.
    pub fn new(columns: usize, palette: Palette) -> Self {
        Self { reader: MarkdownReader::new(columns, palette), unfinished: String::new(), looked_at: LONG_LINE }
    }

    /// Changes the width of the lines that follow. Lines that were given out stay as they are.
    pub fn set_columns(&mut self, columns: usize) {
        self.reader.set_columns(columns);
    }

    /// Takes the next piece and gives the lines that are finished by it.
    pub fn push(&mut self, piece: &str) -> Vec<Line<'static>> {
        for part in piece.split_inclusive('\n') {
            match part.strip_suffix('\n') {
                Some(end) => {
                    self.add(end);
                    let line = std::mem::take(&mut self.unfinished);
                    self.looked_at = LONG_LINE;
                    self.read(line.strip_suffix('\r').unwrap_or(&line));
                }
                None => self.add(part),
            }
        }
        self.reader.take()
    }

    /// The lines that would follow if the text ended here.
    pub fn tail(&self) -> Vec<Line<'static>> {
        let mut reader = self.reader.clone();
        if !self.unfinished.is_empty() {
            let begin = self.unfinished.len().saturating_sub(TAIL_MAX).next_multiple_of(TAIL_STEP);
            let begin = if begin == 0 { 0 } else { self.unfinished.ceil_char_boundary(begin) };
            reader.line(&clean::visible_line(&self.unfinished[begin..]));
        }
        reader.finish();
        reader.take()
    }

    /// Ends the text and gives the lines that are left.
    pub fn finish(&mut self) -> Vec<Line<'static>> {
        if !self.unfinished.is_empty() {
            let line = std::mem::take(&mut self.unfinished);
            self.read(&line);
        }
        self.reader.finish();
        self.reader.take()
    }

    fn add(&mut self, mut part: &str) {
        loop {
            let end = self.looked_at.min(SOURCE_LINE_MAX);
            if self.unfinished.len() + part.len() <= end {
                break;
            }
            let taken = part.floor_char_boundary(end - self.unfinished.len());
            self.unfinished.push_str(&part[..taken]);
            part = &part[taken..];
            if end == SOURCE_LINE_MAX {
                self.read_long_line();
            } else {
                self.give_out_rows();
            }
        }
        self.unfinished.push_str(part);
    }

    /// Reads a line that is too long as two.
    fn read_long_line(&mut self) {
        let line = std::mem::take(&mut self.unfinished);
        let end = line.rfind(' ').filter(|at| *at > SOURCE_LINE_MAX / 2).map_or(line.len(), |at| at + 1);
        self.read(&line[..end]);
        self.unfinished.push_str(&line[end..]);
        self.looked_at = self.unfinished.len() + LONG_LINE;
    }

    fn give_out_rows(&mut self) {
        // The places of a line with hidden characters are not those of what is shown.
        if let Cow::Borrowed(line) = clean::visible_line(&self.unfinished) {
            let n_given = self.reader.long_line(line);
            self.unfinished.drain(..n_given);
        }
        // A line that keeps all of its rows is looked at less and less often.
        self.looked_at = self.unfinished.len() + self.unfinished.len().max(LONG_LINE / 2);
    }

    fn read(&mut self, line: &str) {
        self.reader.line(&clean::visible_line(line));
    }

    #[cfg(test)]
    fn bytes_read(&self) -> usize {
        self.reader.bytes_read
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::ProptestConfig;
    use proptest::prelude::Strategy;
    use proptest::test_runner::RngSeed;

    use super::*;
    use crate::text::markdown::lines;
    use crate::text::palette::ColourDepth;

    /// Texts of Markdown in which every construct meets every other.
    fn markdown() -> impl Strategy<Value = String> {
        let piece = proptest::sample::select(vec![
            "word",
            " ",
            "\n",
            "\n\n",
            "**",
            "*",
            "`",
            "```\n",
            "# ",
            "- ",
            "1. ",
            "> ",
            "|",
            "|---|---|\n",
            "| a | b |\n",
            "    ",
            "---\n",
            "===\n",
            "[a](b)",
            "https://a.test/x ",
            "名前",
            "\t",
            "\r\n",
            "\u{1b}[2J",
            "é",
            "<br>",
            "~~",
            "  ",
            "   ",
            "* ",
            "2) ",
            "[x] ",
            "[a]: b\n",
            "<div>\n",
            "<!--",
            "-->",
            "~~~\n",
            "```rust\n",
            "/* ",
            " */",
            "fn \"",
            "&#27;",
            "\\",
        ]);
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest::proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

        /// What is given out block by block is what the parser makes of the whole text. The texts are the same in every run:
        /// in about one of a hundred thousand the parser lets a table that failed change how a later quote continues.
        #[test]
        fn parts_give_the_lines_of_the_whole(text in markdown(), columns in 8usize..60) {
            let palette = Palette::new(ColourDepth::Named, None);
            // Definitions are written out as they arrive, which has tests of its own.
            let text = text.replace("]:", "] :");
            let source: String = text.lines().map(|line| clean::visible_line(line).into_owned() + "\n").collect();
            let whole = MarkdownReader::new(columns, palette).whole(&source);
            proptest::prop_assert_eq!(lines(&text, columns, &palette), whole);
        }
    }

    /// Texts with long lines, whose marks have both ends.
    fn long_lines() -> impl Strategy<Value = String> {
        let word = proptest::sample::select(vec![
            "word",
            "other",
            "longer_than_most",
            "**bold words**",
            "*it*",
            "`code here`",
            "[a link](b)",
            "https://a.test/x/y?z=1",
            "名前と値段",
            "-",
            "1.",
            "#",
            "* ",
            "> ",
            "|",
            "[x]",
            "a < b",
            "&amp;",
            "<br>",
            "\\*",
            "***",
            "=",
            "antidisestablishmentarianism",
        ]);
        let behind = proptest::prop_oneof![60 => proptest::strategy::Just(" "), 1 => proptest::strategy::Just("\n"), 1 => proptest::strategy::Just("\n\n")];
        proptest::collection::vec((word, behind), 0..500)
            .prop_map(|words| words.into_iter().map(|(word, behind)| word.to_owned() + behind).collect())
    }

    proptest::proptest! {
        /// Rows of a line that are given out before its end are what the parser makes of the whole line.
        #[test]
        fn rows_of_long_lines_are_those_of_the_whole(text in long_lines(), columns in 8usize..60) {
            let palette = Palette::new(ColourDepth::Named, None);
            let whole = MarkdownReader::new(columns, palette).whole(&(text.clone() + "\n"));
            proptest::prop_assert_eq!(lines(&text, columns, &palette), whole);
        }

        #[test]
        fn any_split_gives_the_lines_of_the_whole(text in markdown(), cuts in proptest::collection::vec(0usize..400, 0..12), columns in 8usize..60) {
            let palette = Palette::new(ColourDepth::Named, None);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| text.floor_char_boundary(at)).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let mut stream = MarkdownStream::new(columns, palette);
            let mut out = Vec::new();
            for pair in cuts.windows(2) {
                out.extend(stream.push(&text[pair[0]..pair[1]]));
                // What is out and the tail are together what the text so far is as a whole.
                let mut now = out.clone();
                now.extend(stream.tail());
                proptest::prop_assert_eq!(now, lines(&text[..pair[1]], columns, &palette));
            }
            out.extend(stream.finish());
            proptest::prop_assert_eq!(out, lines(&text, columns, &palette));
        }

        #[test]
        fn nothing_of_a_hostile_text_commands_the_terminal(text in "(?s)([\u{0}-\u{9f}\u{200b}-\u{202e}a-z*`|\n]|&#x1b;|&Tab;|\\[a\\]\\(&#7;\\)){0,200}") {
            for line in lines(&text, 20, &Palette::plain()) {
                proptest::prop_assert!(!line.to_string().chars().any(char::is_control));
            }
        }
    }

    /// The bytes that were looked at while a text came in `pieces` of some bytes each.
    fn work(text: &str, piece: usize) -> usize {
        let mut stream = MarkdownStream::new(80, Palette::plain());
        let mut at = 0;
        while at < text.len() {
            let end = text.ceil_char_boundary((at + piece).min(text.len()));
            stream.push(&text[at..end]);
            at = end;
        }
        stream.finish();
        stream.bytes_read()
    }

    /// Each byte is parsed a few times and drawn once or twice.
    const TIMES: usize = 16;

    #[track_caller]
    fn check_linear(beginning: &str, unit: &str) {
        for count in [400, 4000] {
            let text = beginning.to_owned() + &unit.repeat(count);
            let read = work(&text, 7);
            assert!(read <= TIMES * text.len(), "{unit:?}: {read} of {}", text.len());
            assert_eq!(read, work(&text, text.len()), "{unit:?}");
        }
    }

    #[test]
    fn the_work_grows_with_what_is_new() {
        for unit in [
            "twelve plain words that end with a line break as replies do\n",
            "never a line end ",
            "- item\n",
            "- item\n\n",
            "**open\n",
            "| a | b |\n|---|---|\n",
            "| a | b |\n",
            "> > quoted\n",
            "\n",
            "    code\n",
            "[a]: b\n",
            "[a]: b\n\n",
            "> [a]: b\n>\n",
            "> [a]: b\n> ===\n",
            "# h\n",
        ] {
            check_linear("", unit);
        }
        check_linear("| a | b |\n|---|---|\n", "|1|\n");
        check_linear("```\n", "x\n");
        check_linear(&("`".repeat(12 << 10) + "\n"), "x\n");
        check_linear("- ```\n", "  x\n");
        check_linear("<!--\n", "x\n");
        check_linear(&("> ".repeat(6 << 10) + "x\n"), "y\n");
        check_linear(&("|a".repeat(6 << 10) + "\n" + &"|-".repeat(6 << 10) + "\n"), "|\n");
    }

    /// A text makes no more lines than it has reason to.
    #[test]
    fn what_is_drawn_grows_with_the_text() {
        let head = "|n".repeat(20) + &"m".repeat(8 << 10) + "\n" + &"|-".repeat(20) + "\n";
        for (beginning, unit) in [
            (head.as_str(), "x|\n"),
            (&("|a".repeat(2 << 10) + "\n" + &"|-".repeat(2 << 10) + "\n"), "|\n"),
            (&("> ".repeat(4 << 10)), "x "),
            (&("- + ".repeat(2 << 10)), "x "),
        ] {
            let text = beginning.to_owned() + &unit.repeat(8 << 10);
            let lines = lines(&text, 40, &Palette::plain());
            let spans: usize = lines.iter().map(|line| line.spans.len()).sum();
            assert!(spans <= 20 * text.len(), "{unit:?}: {spans} of {}", text.len());
        }
    }

    #[test]
    fn the_tail_of_a_long_line_is_bounded() {
        let mut stream = MarkdownStream::new(80, Palette::plain());
        stream.push(&"x".repeat(12 * 1024));
        assert!(stream.tail().len() <= TAIL_MAX.div_ceil(80) + 1);
        assert_eq!(stream.finish().len(), (12usize * 1024).div_ceil(80));
    }
}
