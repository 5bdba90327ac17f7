//! Reasoning of the model: its summary without the heading, which is the status while the model thinks.

use ratatui_core::style::Modifier;
use ratatui_core::text::Line;

use super::CellCanvas;
use crate::text::markdown;
use crate::text::wrap::Indent;

/// The summary of a piece of reasoning, or the reasoning itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReasoningCell {
    text: String,
}

impl ReasoningCell {
    /// The paragraphs without their headings; `None` if nothing is left.
    pub fn new<'a>(paragraphs: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let bodies: Vec<&str> =
            paragraphs.into_iter().map(|it| split(it).1.trim()).filter(|it| !it.is_empty()).collect();
        (!bodies.is_empty()).then(|| Self { text: bodies.join("\n\n") })
    }

    /// The text, dim and italic.
    pub fn lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let style = canvas.palette.dim().add_modifier(Modifier::ITALIC);
        let indent = Indent::hanging(super::BULLET.into());
        let lines = markdown::lines(&self.text, canvas.columns.saturating_sub(2).max(1), &canvas.palette);
        let mut out = Vec::with_capacity(lines.len());
        for mut line in lines {
            line.spans.iter_mut().for_each(|span| span.style = span.style.patch(style));
            if !line.spans.is_empty() {
                let mark = if out.is_empty() { &indent.first } else { &indent.rest };
                line.spans.splice(0..0, mark.iter().cloned().map(|span| span.style(style)));
            }
            out.push(line);
        }
        out
    }
}

/// The bold heading at the beginning of a paragraph, and the rest.
pub fn split(paragraph: &str) -> (Option<&str>, &str) {
    let text = paragraph.trim_start();
    match text.strip_prefix("**").and_then(|inside| inside.split_once("**")) {
        Some((heading, rest)) if !heading.contains('\n') && !heading.trim().is_empty() => (Some(heading.trim()), rest),
        _ => (None, paragraph),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;

    #[test]
    fn headings_are_left_out() {
        let cell =
            ReasoningCell::new(["**Weighing options**\n\nThe inner thoughts.", "**More**\n\nOf *them*."]).unwrap();
        expect![[r#"
            • The inner thoughts.|
            |
              Of them.|
        "#]]
        .assert_eq(&shown(&cell.lines(&CANVAS(40))));
        let is_dim = |line: &Line<'_>| {
            line.spans.iter().all(|it| it.style.add_modifier.contains(Modifier::DIM | Modifier::ITALIC))
        };
        assert!(cell.lines(&CANVAS(40)).iter().all(is_dim));
        assert_eq!(ReasoningCell::new(["**Only a heading**\n"]), None);
    }

    #[test]
    fn a_heading_is_the_first_bold_text() {
        assert_eq!(split("**A b**\nrest"), (Some("A b"), "\nrest"));
        assert_eq!(split("**half"), (None, "**half"));
        assert_eq!(split("no **heading**"), (None, "no **heading**"));
    }
}
