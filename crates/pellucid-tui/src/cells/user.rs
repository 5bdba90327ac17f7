//! What the user said.

use pellucid_protocol::input::UserInput;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::CellCanvas;
use crate::text::clean;
use crate::text::wrap::Breaking;
use crate::text::wrap::Indent;
use crate::text::wrap::wrap;

/// The user knows what was pasted, so a line is cut only where it would fill the scrollback.
const LINE_MAX: usize = 64 * 1024;

/// A message of the user, as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCell {
    text: String,
    images: usize,
}

impl UserCell {
    /// The message with its images.
    pub fn new(text: &str, images: usize) -> Self {
        Self { text: text.to_owned(), images }
    }

    /// The message that inputs make.
    pub fn of(inputs: &[UserInput]) -> Self {
        let (mut text, mut images) = (String::new(), 0);
        for input in inputs {
            match input {
                UserInput::Text { text: part, .. } => text.push_str(part),
                UserInput::Image { .. } | UserInput::LocalImage { .. } => images += 1,
                UserInput::Skill { .. } | UserInput::Mention { .. } => {}
            }
        }
        Self { text, images }
    }

    /// The text as it was sent, without marks for images.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many images the message has.
    pub fn images(&self) -> usize {
        self.images
    }

    /// The message on its ground, behind a dim mark.
    pub fn lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let ground = canvas.palette.ground();
        let dim = ground.patch(canvas.palette.dim());
        let mut indent = Indent { first: vec![Span::styled("› ", dim)], rest: vec![Span::styled("  ", ground)] };
        let mut out = Vec::new();
        // An image that the text does not name is named above it.
        let images = (1..=self.images).map(|number| format!("[Image #{number}]"));
        let images: Vec<String> = images.filter(|name| !self.text.contains(name.as_str())).collect();
        let images = images.join(" ");
        for line in [images.as_str()].into_iter().filter(|it| !it.is_empty()).chain(self.text.lines()) {
            let span = Span::styled(clean::line_within(line, LINE_MAX).into_owned(), ground);
            out.extend(wrap(&[span], canvas.columns, &indent, Breaking::Words));
            indent.first = indent.rest.clone();
        }
        if ground.bg.is_some() {
            // A blank row of the ground above and below sets the message off.
            out.insert(0, Line::default());
            out.push(Line::default());
        }
        out.into_iter().map(|line| line.style(ground)).collect()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use ratatui_core::style::Modifier;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;
    use crate::text::palette::ColourDepth;
    use crate::text::palette::Palette;
    use crate::text::palette::Rgb;

    #[track_caller]
    fn check_user(text: &str, images: usize, expected: &Expect) {
        expected.assert_eq(&shown(&UserCell::new(text, images).lines(&CANVAS(20))));
    }

    #[test]
    fn messages_hang_behind_the_mark() {
        check_user(
            "first line\n\n  third one is longer than that\u{1b}[2J",
            0,
            &expect![[r#"
            › first line|
            |
                third one is|
              longer than|
              that\u{1b}[2J|
        "#]],
        );
        check_user(
            "see [Image #1]",
            2,
            &expect![[r#"
            › [Image #2]|
              see [Image #1]|
        "#]],
        );
    }

    #[test]
    fn the_mark_is_dim_and_the_ground_is_under_everything() {
        let palette = Palette::new(ColourDepth::Exact, Some(Rgb(255, 255, 255)));
        let lines = UserCell::new("hello", 0).lines(&CellCanvas { columns: 20, palette });
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.style.bg == palette.ground().bg));
        assert!(lines[1].spans[0].style.add_modifier.contains(Modifier::DIM));
        assert!(!lines[1].spans[1].style.add_modifier.contains(Modifier::DIM));
    }
}
