//! Output of commands and tools, bounded, and folded to its first and last lines.

use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::CellCanvas;
use super::Folding;
use super::details;
use crate::text::clean;
use crate::text::wrap::Breaking;
use crate::text::wrap::Indent;
use crate::text::wrap::wrap_text;

/// More output than this is cut in its middle when the cell is made.
const OUTPUT_MAX: usize = 512 * 1024;

/// The output of a command or a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoldedOutput {
    text: String,
}

impl FoldedOutput {
    /// The output with the middle left out if it is very long.
    pub fn new(text: &str) -> Self {
        if text.len() <= OUTPUT_MAX {
            return Self { text: text.to_owned() };
        }
        let (head, tail) =
            (text.floor_char_boundary(OUTPUT_MAX / 2), text.ceil_char_boundary(text.len() - OUTPUT_MAX / 2));
        let missing = tail - head;
        Self { text: format!("{}\n… +{missing} bytes\n{}", &text[..head], &text[tail..]) }
    }

    /// The output as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The output under a heading, dim. Folded, it takes at most `rows` rows, of which one says how much is missing.
    pub fn lines(&self, canvas: &CellCanvas, rows: usize, folding: Folding) -> Vec<Line<'static>> {
        let text = self.text.trim_end();
        let all: Vec<&str> = text.lines().collect();
        if folding == Folding::Unfolded {
            return self.drawn(&all, canvas);
        }
        let keep = rows.saturating_sub(1) / 2;
        let is_long = all.len() > rows;
        let (head, tail) = if is_long { (&all[..keep], &all[all.len() - keep..]) } else { (&all[..], &[][..]) };
        let hidden = all.len() - head.len() - tail.len();
        let (mut head, tail) = (self.drawn(head, canvas), self.rest(tail, canvas));
        if head.len() + tail.len() + usize::from(is_long) <= rows {
            if is_long {
                head.push(missing(&format!("+{hidden} lines"), canvas));
            }
            head.extend(tail);
            return head;
        }
        // Long lines take several rows, so rows are folded too.
        let all: Vec<Line<'static>> = head.drain(..).chain(tail).collect();
        let skipped = all.len() - 2 * keep;
        let note = if hidden > 0 { format!("+{hidden} lines, +{skipped} rows") } else { format!("+{skipped} rows") };
        let mut out: Vec<Line<'static>> = all[..keep].to_vec();
        out.push(missing(&note, canvas));
        out.extend(all[all.len() - keep..].iter().cloned());
        out
    }

    /// The newest lines, for a command that runs.
    pub fn newest(&self, count: usize, canvas: &CellCanvas) -> Vec<Line<'static>> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut newest: Vec<&str> = self.text.trim_end().rsplit('\n').take(count).collect();
        newest.reverse();
        let mut out = self.drawn(&newest, canvas);
        let drop = out.len().saturating_sub(count);
        out.drain(..drop);
        out
    }

    /// Adds output that has arrived. Only the end is kept, for [`FoldedOutput::newest`].
    pub fn push_newest(&mut self, text: &str) {
        const NEWEST: usize = 16 * 1024;
        self.text.push_str(text);
        if self.text.len() > 2 * NEWEST {
            let begin = self.text.ceil_char_boundary(self.text.len() - NEWEST);
            self.text.drain(..begin);
        }
    }

    fn drawn(&self, lines: &[&str], canvas: &CellCanvas) -> Vec<Line<'static>> {
        let indent = details();
        let after = Indent { first: indent.rest.clone(), rest: indent.rest.clone() };
        let mut out = Vec::new();
        for line in lines {
            let indent = if out.is_empty() { &indent } else { &after };
            out.extend(output_line(line, indent, canvas));
        }
        out
    }

    fn rest(&self, lines: &[&str], canvas: &CellCanvas) -> Vec<Line<'static>> {
        let indent = Indent::blanks(4);
        lines.iter().flat_map(|line| output_line(line, &indent, canvas)).collect()
    }
}

fn output_line(line: &str, indent: &Indent, canvas: &CellCanvas) -> Vec<Line<'static>> {
    wrap_text(&clean::output_line(line), canvas.palette.dim(), canvas.columns, indent, Breaking::Anywhere)
}

fn missing(what: &str, canvas: &CellCanvas) -> Line<'static> {
    Line::from(vec![Span::raw("    "), Span::styled(format!("… {what}"), canvas.palette.dim())])
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;

    #[track_caller]
    fn check_fold(text: &str, rows: usize, expected: &Expect) {
        let lines = FoldedOutput::new(text).lines(&CANVAS(20), rows, Folding::Folded);
        assert!(lines.len() <= rows);
        // A first line without indent keeps the indent of the others in the expectation.
        expected.assert_eq(&format!("output:\n{}", shown(&lines)));
    }

    fn numbered(count: usize) -> String {
        (1..=count).map(|number| format!("row {number}\n")).collect()
    }

    #[test]
    fn long_output_shows_its_first_and_last_lines() {
        check_fold(
            &numbered(5),
            5,
            &expect![[r#"
                output:
                  └ row 1|
                    row 2|
                    row 3|
                    row 4|
                    row 5|
            "#]],
        );
        check_fold(
            &numbered(40),
            5,
            &expect![[r#"
                output:
                  └ row 1|
                    row 2|
                    … +36 lines|
                    row 39|
                    row 40|
            "#]],
        );
    }

    #[test]
    fn lines_that_wrap_count_as_rows() {
        check_fold(
            &"x".repeat(200),
            5,
            &expect![[r#"
                output:
                  └ xxxxxxxxxxxxxxxx|
                    xxxxxxxxxxxxxxxx|
                    … +9 rows|
                    xxxxxxxxxxxxxxxx|
                    xxxxxxxx|
            "#]],
        );
        check_fold(
            &format!("{}\n{}", "y".repeat(60), numbered(9)),
            5,
            &expect![[r#"
                output:
                  └ yyyyyyyyyyyyyyyy|
                    yyyyyyyyyyyyyyyy|
                    … +6 lines, +3 rows|
                    row 8|
                    row 9|
            "#]],
        );
    }

    #[test]
    fn output_of_many_megabytes_is_bounded() {
        let output = FoldedOutput::new(&"é\n".repeat(1 << 20));
        assert!(output.text.len() < OUTPUT_MAX + 64);
        assert_eq!(output.lines(&CANVAS(80), 50, Folding::Folded).len(), 49);
        let mut running = FoldedOutput::default();
        (0..1000).for_each(|_| running.push_newest(&"z".repeat(1000)));
        assert!(running.text.len() < 40_000);
        assert_eq!(running.newest(3, &CANVAS(20)).len(), 3);
    }
}
