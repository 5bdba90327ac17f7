//! The box at the beginning of a session: model, effort, folder.

use std::path::Path;
use std::path::PathBuf;

use pellucid_protocol::event::SessionConfigured;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::CellCanvas;
use crate::text::clean;
use crate::text::width;
use crate::text::wrap::spans_columns;

/// The box is not wider than this inside.
const INNER_MAX: usize = 56;

/// The beginning of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCell {
    model: String,
    effort: Option<String>,
    folder: String,
}

impl SessionCell {
    /// The box for a session; `home` is written as `~`.
    pub fn new(session: &SessionConfigured, home: Option<&Path>) -> Self {
        let effort = session.reasoning_effort.as_ref().and_then(|effort| serde_json::to_value(effort).ok());
        Self {
            model: clean::line(&session.model).into_owned(),
            effort: effort.and_then(|effort| effort.as_str().map(str::to_owned)),
            folder: short_path(&session.cwd, None, home),
        }
    }

    /// The session in one sentence, for a screen reader.
    pub fn spoken(&self) -> String {
        let effort = self.effort.as_ref().map_or_else(String::new, |effort| format!(" with effort {effort}"));
        format!("Pellucid {}: model {}{effort}, folder {}.", env!("CARGO_PKG_VERSION"), self.model, self.folder)
    }

    /// The lines of the box.
    pub fn lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let palette = &canvas.palette;
        let inner = INNER_MAX.min(canvas.columns.saturating_sub(4));
        let mut model = vec![Span::styled("model:     ", palette.dim()), Span::raw(self.model.clone())];
        model.extend(self.effort.iter().map(|effort| Span::raw(format!(" {effort}"))));
        model.push(Span::styled("   /model", palette.accent()));
        model.push(Span::styled(" to change", palette.dim()));
        let title = vec![
            Span::styled(">_ ", palette.dim()),
            Span::styled("Pellucid", palette.bold()),
            Span::styled(concat!(" (v", env!("CARGO_PKG_VERSION"), ")"), palette.dim()),
        ];
        // The end of a folder says more than its beginning.
        let folder = ending(&self.folder, inner.saturating_sub(11));
        let folder = vec![Span::styled("directory: ", palette.dim()), Span::raw(folder)];
        let content = [title, Vec::new(), model, folder];
        let width = content.iter().map(|spans| spans_columns(spans)).max().unwrap_or(0).min(inner);
        let border = |left: &str, right: &str| {
            Line::from(Span::styled(format!("{left}{}{right}", "─".repeat(width + 2)), palette.dim()))
        };
        let mut out = vec![border("╭", "╮")];
        for spans in content {
            let mut line = vec![Span::styled("│ ", palette.dim())];
            let mut left = width;
            for span in spans {
                let (text, taken) = width::beginning(&span.content, left);
                line.push(Span::styled(text.to_owned(), span.style));
                left -= taken;
            }
            line.push(Span::styled(format!("{} │", " ".repeat(left)), palette.dim()));
            out.push(Line::from(line));
        }
        out.push(border("╰", "╯"));
        out
    }
}

/// The end of a text in at most `limit` columns, after an ellipsis if it was cut.
fn ending(text: &str, limit: usize) -> String {
    let mut rest = text;
    while width::columns(rest) > limit.saturating_sub(usize::from(rest.len() < text.len())) {
        let Some((_, first)) = width::graphemes(rest).next() else {
            break;
        };
        rest = &rest[first.len()..];
    }
    if rest.len() == text.len() { text.to_owned() } else { format!("…{rest}") }
}

/// A path as people read it: relative to the folder of the session, or with `~` for the home folder.
pub fn short_path(path: &Path, folder: Option<&Path>, home: Option<&Path>) -> String {
    let inside = folder.and_then(|folder| path.strip_prefix(folder).ok()).filter(|it| !it.as_os_str().is_empty());
    let at_home = || Some(PathBuf::from("~").join(path.strip_prefix(home?).ok()?));
    let shown = inside.map(Path::to_path_buf).or_else(at_home).unwrap_or_else(|| path.to_path_buf());
    let text = clean::line(&shown.to_string_lossy()).into_owned();
    text.strip_suffix('/').filter(|it| !it.is_empty()).map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::id::SessionId;
    use pellucid_protocol::settings::ApprovalPolicy;
    use pellucid_protocol::settings::ReasoningEffort;
    use pellucid_protocol::settings::SandboxPolicy;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;

    #[track_caller]
    fn check_box(cwd: &str, columns: usize, expected: &Expect) {
        let session = SessionConfigured {
            session_id: SessionId::new("s"),
            model: "gpt-5".to_owned(),
            model_provider_id: "p".to_owned(),
            approval_policy: ApprovalPolicy::OnRequest,
            sandbox_policy: SandboxPolicy::DangerFullAccess,
            cwd: cwd.into(),
            reasoning_effort: Some(ReasoningEffort::High),
        };
        let lines = SessionCell::new(&session, Some(Path::new("/home/ada"))).lines(&CANVAS(columns));
        assert!(lines.iter().all(|line| line.width() <= columns));
        let version = concat!("(v", env!("CARGO_PKG_VERSION"), ")");
        let text = shown(&lines).replace(version, &format!("{:<1$}", "(vN)", version.len()));
        expected.assert_eq(&text);
    }

    #[test]
    fn model_effort_and_folder() {
        check_box(
            "/home/ada/work",
            80,
            &expect![[r#"
                ╭──────────────────────────────────────────╮|
                │ >_ Pellucid (vN)                         │|
                │                                          │|
                │ model:     gpt-5 high   /model to change │|
                │ directory: ~/work                        │|
                ╰──────────────────────────────────────────╯|
            "#]],
        );
        check_box(
            "/srv/a/very/long/folder/that/does/not/fit/into/the/box/名前",
            40,
            &expect![[r#"
                ╭──────────────────────────────────────╮|
                │ >_ Pellucid (vN)                     │|
                │                                      │|
                │ model:     gpt-5 high   /model to ch │|
                │ directory: …ot/fit/into/the/box/名前 │|
                ╰──────────────────────────────────────╯|
            "#]],
        );
    }

    #[test]
    fn paths_are_short() {
        let short = |path: &str| short_path(Path::new(path), Some(Path::new("/w")), Some(Path::new("/home/ada")));
        assert_eq!(
            ["/w/a/b", "/home/ada/x", "/etc/x", "/w", "/home/ada"].map(short),
            ["a/b", "~/x", "/etc/x", "/w", "~"]
        );
    }
}
