//! Errors, warnings and short notes.

use pellucid_protocol::event::EventMessage;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::CellCanvas;
use super::texts;
use crate::text::wrap::Indent;

/// A note for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeCell {
    /// How much the note matters.
    pub kind: NoticeKind,
    /// The words of the note.
    pub text: String,
    /// More lines, which may be skipped.
    pub details: Option<String>,
}

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    /// An action failed, and is not tried again.
    Error,
    /// Something is not as it should be.
    Warning,
    /// A change that the user may want to know.
    Info,
}

impl NoticeCell {
    /// A note without details.
    pub fn new(kind: NoticeKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), details: None }
    }

    /// The note behind its mark.
    pub fn lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let palette = &canvas.palette;
        let (mark, style) = match self.kind {
            NoticeKind::Error => ("■ ", palette.removed()),
            NoticeKind::Warning => ("⚠ ", palette.bold()),
            NoticeKind::Info => ("• ", palette.dim()),
        };
        let indent = Indent::hanging(Span::styled(mark, style));
        let text_style = if self.kind == NoticeKind::Error { style } else { Default::default() };
        let text = if self.text.trim().is_empty() { "unknown error" } else { self.text.trim() };
        let mut out = texts(text.lines(), text_style, &indent, canvas);
        let details = self.details.as_deref().unwrap_or_default();
        // The blanks before the first line align it with the lines below.
        out.extend(texts(details.trim_matches('\n').trim_end().lines(), palette.dim(), &Indent::blanks(2), canvas));
        out
    }

    /// The notes that an event is, if it is nothing but notes.
    pub fn of(event: &EventMessage) -> Vec<Self> {
        let one = |kind: NoticeKind, text: String| vec![Self::new(kind, text)];
        match event {
            EventMessage::Error { message, failure, .. } => {
                one(NoticeKind::Error, failure.plain.as_ref().unwrap_or(message).clone())
            }
            EventMessage::Warning { message } => one(NoticeKind::Warning, message.clone()),
            EventMessage::DeprecationNotice { summary, details } => {
                vec![Self { kind: NoticeKind::Warning, text: summary.clone(), details: details.clone() }]
            }
            EventMessage::ModelReroute { from_model, to_model, .. } => {
                let text = format!("the provider answers with {to_model} instead of {from_model}");
                one(NoticeKind::Warning, text)
            }
            EventMessage::McpStartupComplete { failed, .. } => failed
                .iter()
                .map(|failure| {
                    let text = format!("the MCP server `{}` could not be started", failure.server);
                    Self { kind: NoticeKind::Warning, text, details: Some(failure.error.clone()) }
                })
                .collect(),
            EventMessage::ContextFileChanged { message } => one(NoticeKind::Info, message.clone()),
            EventMessage::UndoCompleted { success: true, message } => {
                one(NoticeKind::Info, message.clone().unwrap_or_else(|| "the work tree was restored".to_owned()))
            }
            EventMessage::UndoCompleted { success: false, message } => {
                one(NoticeKind::Error, message.clone().unwrap_or_else(|| "the work tree was not restored".to_owned()))
            }
            EventMessage::ThreadNameUpdated { thread_name: Some(name), .. } => {
                one(NoticeKind::Info, format!("the session is now named {name}"))
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::event::McpStartupFailure;
    use pellucid_protocol::failure::Failure;
    use pellucid_protocol::failure::FailureCode;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;

    #[track_caller]
    fn check_notice(event: &EventMessage, expected: &Expect) {
        let lines: Vec<Line<'static>> = NoticeCell::of(event).iter().flat_map(|cell| cell.lines(&CANVAS(30))).collect();
        expected.assert_eq(&shown(&lines));
    }

    #[test]
    fn details_keep_their_columns() {
        let details = Some("\n  Model     a\n  Folder    b\n".to_owned());
        let notice = NoticeCell { details, ..NoticeCell::new(NoticeKind::Info, "/status") };
        expect![[r#"
            • /status|
                Model     a|
                Folder    b|
        "#]]
        .assert_eq(&shown(&notice.lines(&CANVAS(30))));
    }

    #[test]
    fn marks_say_how_much_a_note_matters() {
        let error = |message: &str, plain: Option<&str>| EventMessage::Error {
            message: message.to_owned(),
            codex_error_info: None,
            failure: Failure { code: FailureCode::Other, plain: plain.map(str::to_owned), cut: None },
        };
        check_notice(
            &error("That was bad input, and much too long.", None),
            &expect![[r#"
            ■ That was bad input, and much|
              too long.|
        "#]],
        );
        check_notice(
            &error("{\"error\":1}", Some("the provider refused it\nhint: ask again")),
            &expect![[r#"
            ■ the provider refused it|
              hint: ask again|
        "#]],
        );
        check_notice(
            &error(" ", None),
            &expect![[r#"
            ■ unknown error|
        "#]],
        );
        check_notice(
            &EventMessage::Warning { message: "a\u{1b}[2J".to_owned() },
            &expect![[r#"
            ⚠ a\u{1b}[2J|
        "#]],
        );
        let failed = vec![McpStartupFailure { server: "x".to_owned(), error: "no such file".to_owned() }];
        let complete = EventMessage::McpStartupComplete { ready: Vec::new(), failed, cancelled: Vec::new() };
        check_notice(
            &complete,
            &expect![[r#"
            ⚠ the MCP server `x` could not|
              be started|
              no such file|
        "#]],
        );
        check_notice(
            &EventMessage::UndoCompleted { success: true, message: None },
            &expect![[r#"
            • the work tree was restored|
        "#]],
        );
    }
}
