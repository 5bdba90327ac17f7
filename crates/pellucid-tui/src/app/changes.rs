//! Changes that a person judges: the diff of the work tree on a page, and the patch of a question.

use pellucid_protocol::change::Changes;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::App;
use super::pages::OpenPage;
use crate::cells::patch::PatchCell;
use crate::cells::patch::PatchView;
use crate::keymap::table::Action;
use crate::pager::Pager;

/// Changes on a page.
#[derive(Debug)]
pub(super) struct ChangesPage {
    pub(super) pager: Pager,
    changes: PatchCell,
}

impl App {
    /// Shows the changes of the work tree.
    pub(super) fn show_diff(&mut self, diff: Option<String>) {
        match diff {
            None => self.open_text("Diff", vec![Line::from("not inside a git repository, so there is no diff")]),
            Some(diff) if diff.trim().is_empty() => self.open_text("Diff", vec![Line::from("nothing has changed")]),
            Some(diff) => self.show_changes("Diff", PatchCell::of_git(&diff)),
        }
    }

    /// Shows changes on a page.
    pub(super) fn show_changes(&mut self, title: &str, changes: PatchCell) {
        let title = match changes.blank_changes() {
            0 => title.to_owned(),
            _ => format!("{title}{}", self.key_hint(" · ", Action::PagerBlanks, "hides changes of blanks")),
        };
        let pager = Pager::at_start(title, self.change_lines(&changes));
        self.page = Some(OpenPage::Changes(Box::new(ChangesPage { pager, changes })));
    }

    fn change_lines(&self, changes: &PatchCell) -> Vec<Line<'static>> {
        let canvas = self.canvas();
        let view = PatchView { hides_blanks: self.asking.hides_blanks, ..PatchView::whole(canvas.columns) };
        changes.viewed(view, &canvas)
    }

    /// Hides changes of blanks, or shows them again.
    pub(super) fn switch_blanks(&mut self) {
        self.asking.hides_blanks = !self.asking.hides_blanks;
        self.refresh_changes();
    }

    /// Draws an open page of changes again, because the size or the way to show them changed.
    pub(super) fn refresh_changes(&mut self) {
        let Some(OpenPage::Changes(page)) = &self.page else { return };
        let lines = self.change_lines(&page.changes);
        if let Some(OpenPage::Changes(page)) = &mut self.page {
            page.pager.set_lines(lines, Vec::new());
        }
    }

    /// The changes that a question is about, in at most so many rows. What is cut is counted.
    pub(super) fn asked_changes(&self, changes: &Changes, rows: usize) -> Vec<Line<'static>> {
        let folder = self.session.configured.as_ref().map(|it| it.cwd.as_path());
        let (cell, canvas) = (PatchCell::proposed(changes, folder), self.canvas());
        let view = PatchView { hides_blanks: self.asking.hides_blanks, ..PatchView::asked(canvas.columns) };
        let mut lines = cell.viewed(view, &canvas);
        let what = if self.asking.hides_blanks { "shows changes of blanks" } else { "hides changes of blanks" };
        let blanks = match cell.blank_changes() {
            0 => String::new(),
            _ => self.key_hint(" · ", Action::OptionBlanks, what),
        };
        let n_cut = (lines.len() + usize::from(!blanks.is_empty())).saturating_sub(rows);
        let cut = match n_cut {
            0 => String::new(),
            _ => format!(" · … +{} rows{}", n_cut + 1, self.key_hint(", ", Action::OptionWhole, "shows all")),
        };
        if !cut.is_empty() || !blanks.is_empty() {
            let hint = format!("{cut}{blanks}");
            lines.truncate(rows.saturating_sub(1));
            let hint = Span::styled(format!("    {}", hint.trim_start_matches(" · ")), self.palette.dim());
            lines.extend((rows > 0).then(|| Line::from(hint)));
        }
        lines
    }
}
