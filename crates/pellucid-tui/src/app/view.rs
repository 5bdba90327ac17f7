//! The rows of the viewport: the live part of the transcript, the status row, waiting messages, the composer, the last row.

use std::time::Duration;

use ratatui_core::style::Modifier;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::App;
use super::amending::titled_field;
use crate::cells::work::elapsed;
use crate::composer::drawing::Drawn;
use crate::composer::drawing::PartStyles;
use crate::composer::popup::PopupEntry;
use crate::key::KeyCode;
use crate::keymap::table::ACTIONS;
use crate::keymap::table::Action;
use crate::keymap::table::ActionRow;
use crate::keymap::table::Place;
use crate::lists::approval::ApprovalRequest;
use crate::screen::View;
use crate::text::width::columns;
use crate::text::width::shortened;

/// A description in a list that opened while typing is left out if it has fewer columns.
const DETAIL_COLUMNS_MIN: usize = 12;

/// How many actions the sheet of keys has.
const SHEET_ROWS: usize = 16;

/// What the empty composer shows: the first that fits.
const HINTS: [&str; 3] =
    ["Ask anything; / lists commands, @ finds files", "Ask anything; / lists commands", "Ask anything"];

impl App {
    /// The rows of the viewport, or of the page that covers the screen.
    pub fn view(&mut self, now: Duration) -> View {
        let (columns, rows) = (self.size.columns, self.size.rows);
        if self.page.is_some() {
            let rows = if self.settings.has_alternate_screen { rows } else { rows.saturating_sub(2) };
            let mut drawn = self.page_view(rows.max(1));
            drawn.lines.truncate(usize::from(rows.max(1)));
            // A field of a page may be wider than the window, or below its last row.
            let inside = drawn.cursor.filter(|(_, y)| usize::from(*y) < drawn.lines.len());
            let cursor = inside.map(|(x, y)| (x.min(columns.saturating_sub(1)), y));
            return View { lines: drawn.lines, cursor };
        }
        let height_max = rows.saturating_sub(1).max(1);
        let mut lines = self.transcript.live(now, &self.canvas());
        if let Some(status) = self.status_row(now) {
            lines.push(Line::default());
            lines.push(status);
        }
        lines.extend(self.queue_rows());
        let bottom = fitted(self.bottom(columns, height_max), usize::from(height_max));
        let room = usize::from(height_max).saturating_sub(bottom.lines.len());
        lines.extend(self.dock_rows(room.min(usize::from(rows) * 2 / 3)));
        let cut = lines.len().saturating_sub(room);
        lines.drain(..cut);
        let offset = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        let cursor = bottom.cursor.map(|(x, y)| (x, y.saturating_add(offset)));
        lines.extend(bottom.lines);
        View { lines, cursor }
    }

    /// What takes keys: a list, a field or the composer, with what is below it.
    pub(super) fn bottom(&mut self, columns: u16, height_max: u16) -> Drawn {
        let styles = self.part_styles();
        if self.asking.is_open() {
            return self.asking_view(columns, height_max, &styles);
        }
        if let Some(field) = &mut self.field {
            let size = (columns, height_max.saturating_sub(1).max(1));
            let drawn = titled_field(&field.title, "  enter confirms · esc closes", &mut field.text, size, &styles);
            let mut lines = vec![Line::default()];
            lines.extend(drawn.lines);
            return Drawn { lines, cursor: drawn.cursor.map(|(x, y)| (x, y + 1)) };
        }
        if let Some(menu) = &self.menu {
            let drawn = menu.list.draw(columns, height_max.saturating_sub(1).max(1), &styles);
            let mut lines = vec![Line::default()];
            lines.extend(drawn.lines);
            return Drawn { lines, cursor: None };
        }
        let below = self.below_rows(&styles);
        let composer_max = height_max.saturating_sub(u16::try_from(below.len()).unwrap_or(u16::MAX)).max(1);
        // Two columns for the mark, and one that stays free for the cursor.
        let fits = |hint: &&str| hint.len() + 3 <= usize::from(columns);
        let hint = HINTS.into_iter().find(fits).unwrap_or_default();
        let mut drawn = self.composer.draw(columns, composer_max, hint, &styles);
        if self.waiting.as_ref().is_some_and(|list| !list.is_editing()) {
            drawn.cursor = None;
        }
        drawn.lines.extend(below);
        drawn
    }

    fn asking_view(&mut self, columns: u16, height_max: u16, styles: &PartStyles) -> Drawn {
        let mut lines = vec![Line::default()];
        let room = height_max.saturating_sub(1).max(1);
        if let Some(amending) = &mut self.asking.amending {
            let drawn = amending.draw(columns, room, styles);
            lines.extend(drawn.lines);
            return Drawn { lines, cursor: drawn.cursor.map(|(x, y)| (x, y + 1)) };
        }
        let whole = self.key_hint(" · ", Action::OptionWhole, "shows all");
        if let Some(list) = self.asking.approvals.list_mut() {
            list.set_whole_hint(whole);
        }
        let drawn = match self.asking.approvals.open() {
            Some((request, list)) => {
                let below = self.amending_rows(request);
                let room_of_list = room.saturating_sub(u16::try_from(below.len()).unwrap_or(u16::MAX)).max(1);
                let mut drawn = list.draw(columns, room_of_list, styles);
                drawn.lines.extend(below.into_iter().take(usize::from(room).saturating_sub(drawn.lines.len())));
                if let ApprovalRequest::Patch(request) = request {
                    let fits = usize::from(room).saturating_sub(drawn.lines.len());
                    lines.extend(self.asked_changes(&request.changes, fits.saturating_sub(1)));
                    lines.extend((fits > 1).then(Line::default));
                }
                drawn
            }
            None => match self.asking.questions.front() {
                Some((_, form)) => form.draw(columns, room, styles),
                None => Drawn::default(),
            },
        };
        let offset = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        lines.extend(drawn.lines);
        Drawn { lines, cursor: drawn.cursor.map(|(x, y)| (x, y.saturating_add(offset))) }
    }

    pub(super) fn part_styles(&self) -> PartStyles {
        PartStyles { ground: self.palette.ground(), accent: self.palette.accent(), dim: self.palette.dim() }
    }

    /// While a turn runs: what it does, for how long, and how to stop it.
    fn status_row(&self, now: Duration) -> Option<Line<'static>> {
        if !self.session.is_working() || self.asking.approvals.open().is_some() {
            return None;
        }
        let word = self.session.heading.clone().unwrap_or_else(|| "Working".to_owned());
        let worked = self.transcript.elapsed(now);
        let time = elapsed(worked);
        let dim = self.palette.dim();
        let is_second_half = self.settings.manner.has_animations && worked.subsec_millis() >= 500;
        Some(Line::from(vec![
            Span::styled(if is_second_half { "◦ " } else { "• " }, dim),
            Span::styled(word, Style::new().add_modifier(Modifier::BOLD)),
            Span::styled(format!(" ({time}{})", self.key_hint(" • ", Action::Escape, "to interrupt")), dim),
        ]))
    }

    /// What is below the composer: the list that opened while typing, the sheet of keys, or the last row.
    fn below_rows(&self, styles: &PartStyles) -> Vec<Line<'static>> {
        if self.composer.is_sheet_open() {
            return self.sheet();
        }
        let Some(popup) = self.composer.popup() else {
            return vec![self.footer()];
        };
        let shown = popup.shown();
        if shown.is_empty() {
            let text = if popup.is_waiting() { "  searching" } else { "  nothing found" };
            return vec![Line::from(Span::styled(text, styles.dim))];
        }
        let widest = shown.iter().map(|(entry, _)| columns(&entry.label)).max().unwrap_or(0);
        let width = usize::from(self.size.columns);
        // A description of which little is left says nothing.
        let room = width.saturating_sub(widest + 4);
        let room = if room >= DETAIL_COLUMNS_MIN { room } else { 0 };
        let row = |(entry, is_marked): (&PopupEntry, bool)| {
            let style = if is_marked { styles.accent.add_modifier(Modifier::BOLD) } else { Style::new() };
            let style = if is_marked && style.fg.is_none() { style.add_modifier(Modifier::REVERSED) } else { style };
            let label = shortened(&entry.label, width.saturating_sub(2));
            let mut spans = vec![Span::raw("  "), Span::styled(label, style)];
            if !entry.detail.is_empty() && room > 0 {
                let blanks = " ".repeat(widest - columns(&entry.label) + 2);
                spans.push(Span::styled(format!("{blanks}{}", shortened(&entry.detail, room)), styles.dim));
            }
            Line::from(spans)
        };
        shown.into_iter().map(row).collect()
    }

    /// The keys of the composer with what they do, in two columns where there is room.
    fn sheet(&self) -> Vec<Line<'static>> {
        let rows = ACTIONS.iter().filter(|row| row.place == Place::Composer).take(SHEET_ROWS);
        let text = |row: &ActionRow| {
            let keys = self.settings.keymap.keys(row.action);
            // Only the keyboard protocol distinguishes Shift-Enter from Enter.
            let with_shift = keys.iter().find(|key| key.mods.shift && key.code == KeyCode::Enter);
            let key = with_shift.filter(|_| self.terminal.has_keyboard_protocol).or(keys.first());
            let key = key.map_or_else(String::new, |key| key.to_string().replace('-', " + "));
            shortened(&format!("  {key:<16}{}", row.help), usize::from(self.size.columns))
        };
        rows.map(|row| Line::from(Span::styled(text(row), self.palette.dim()))).collect()
    }
}

/// As many rows as there is room for: those with the cursor, or else the last ones.
fn fitted(mut drawn: Drawn, rows: usize) -> Drawn {
    let excess = drawn.lines.len().saturating_sub(rows);
    let start = match drawn.cursor {
        Some((_, y)) => (usize::from(y) + 1).saturating_sub(rows).min(excess),
        None => excess,
    };
    drawn.lines.drain(..start);
    drawn.lines.truncate(rows);
    drawn.cursor = drawn.cursor.map(|(x, y)| (x, y.saturating_sub(u16::try_from(start).unwrap_or(u16::MAX))));
    drawn
}
