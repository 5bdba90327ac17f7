//! Pages that cover the screen: the transcript, a diff, a request, the keys, stored sessions.

use pellucid_protocol::operation::Operation;
use ratatui_core::text::Line;

use super::App;
use super::Effect;
use super::changes::ChangesPage;
use super::past::PastPage;
use crate::composer::drawing::Drawn;
use crate::host::HostCall;
use crate::host::MenuEntry;
use crate::host::OpenWish;
use crate::key::Key;
use crate::look::preview::PreviewPage;
use crate::look::rows::RowsPage;
use crate::look::time::TimePage;
use crate::pager::Pager;
use crate::pager::PagerOutcome;
use crate::picker::Picker;
use crate::picker::PickerOutcome;
use crate::picker::PickerRow;

/// A page that covers the screen.
#[derive(Debug)]
pub(super) enum OpenPage {
    /// Everything that was said; with `is_back` to go back to a message.
    Transcript { pager: Pager, is_back: bool },
    /// A text to read.
    Text(Pager),
    /// Changes to judge.
    Changes(Box<ChangesPage>),
    /// Stored sessions to continue.
    Sessions(Picker),
    /// Every row of the next request.
    Context(RowsPage),
    /// The bytes of the next request.
    Preview(PreviewPage),
    /// An earlier request.
    Time(Box<TimePage>),
    /// Something of the past of the session.
    Past(Box<PastPage>),
    /// A page that was opened from another one, which comes back.
    Above { page: Box<OpenPage>, below: Box<OpenPage> },
}

impl App {
    /// Shows everything that was said.
    pub(super) fn open_transcript(&mut self) {
        let (lines, messages) = self.transcript_lines();
        let mut pager = Pager::at_end("Transcript", lines.clone());
        pager.set_lines(lines, messages);
        self.page = Some(OpenPage::Transcript { pager, is_back: false });
    }

    /// Shows the transcript with the newest message marked, to go back to it.
    pub(super) fn go_back(&mut self) {
        if self.transcript.messages().next().is_none() {
            return;
        }
        self.open_transcript();
        if let Some(OpenPage::Transcript { pager, is_back }) = &mut self.page {
            pager.mark_newest();
            *is_back = true;
        }
    }

    /// The lines of the transcript, and where the person's messages begin.
    fn transcript_lines(&self) -> (Vec<Line<'static>>, Vec<usize>) {
        let canvas = self.canvas();
        let places: Vec<usize> = self.transcript.messages().map(|(at, _)| at).collect();
        let (mut lines, mut messages) = (Vec::new(), Vec::new());
        for (at, block) in self.transcript.unfolded(&canvas).into_iter().enumerate() {
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            if places.contains(&at) {
                messages.push(lines.len());
            }
            lines.extend(block);
        }
        (lines, messages)
    }

    /// Draws an open transcript again, because more was said or the size changed.
    pub(super) fn refresh_page(&mut self) {
        let columns = usize::from(self.size.columns);
        if let Some(OpenPage::Preview(page)) = &mut self.page {
            page.fill(columns, &self.palette);
        }
        self.refresh_past();
        if !matches!(self.page, Some(OpenPage::Transcript { .. })) {
            return self.refresh_changes();
        }
        let (lines, messages) = self.transcript_lines();
        if let Some(OpenPage::Transcript { pager, .. }) = &mut self.page {
            pager.set_lines(lines, messages);
        }
    }

    /// Shows a text on a page.
    pub(super) fn open_text(&mut self, title: &str, lines: Vec<Line<'static>>) {
        self.page = Some(OpenPage::Text(Pager::of_text(title, lines)));
    }

    /// Shows stored sessions.
    pub(super) fn show_sessions(&mut self, entries: &[MenuEntry], everywhere: bool) {
        let number = |entry: &MenuEntry, key: &str| {
            entry.detail.get(key).and_then(serde_json::Value::as_i64).unwrap_or_default()
        };
        let text = |entry: &MenuEntry, key: &str| {
            entry.detail.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
        };
        let row = |entry: &MenuEntry| PickerRow {
            id: entry.id.clone(),
            title: entry.label.clone(),
            created: number(entry, "created"),
            updated: number(entry, "updated"),
            branch: text(entry, "branch"),
            folder: text(entry, "folder"),
        };
        let mut picker = Picker::new("Continue an earlier session", everywhere);
        picker.loaded(entries.iter().map(row).collect());
        self.page = Some(OpenPage::Sessions(picker));
    }

    /// Takes a key while a page is open.
    pub(super) fn page_key(&mut self, key: Key) -> Vec<Effect> {
        let mut effects = Vec::new();
        let keymap = &self.settings.keymap;
        match &mut self.page {
            Some(OpenPage::Transcript { pager, is_back }) => match pager.press(key, keymap) {
                PagerOutcome::Open | PagerOutcome::Blanks => {}
                PagerOutcome::Left => self.page = None,
                PagerOutcome::Confirmed(at) if *is_back || pager.marked().is_some() => {
                    self.page = None;
                    self.take_back(at, &mut effects);
                }
                PagerOutcome::Files(at) => self.ask_way_back(at, &mut effects),
                PagerOutcome::Confirmed(_) => {}
            },
            Some(OpenPage::Text(pager)) => match pager.press(key, keymap) {
                PagerOutcome::Left => self.page = None,
                PagerOutcome::Open | PagerOutcome::Confirmed(_) | PagerOutcome::Files(_) | PagerOutcome::Blanks => {}
            },
            Some(OpenPage::Changes(page)) => match page.pager.press(key, keymap) {
                PagerOutcome::Left => self.page = None,
                PagerOutcome::Blanks => self.switch_blanks(),
                _ => {}
            },
            Some(OpenPage::Context(page)) => {
                let of_pack = page.of_pack.take();
                let report = of_pack.as_deref().or(self.session.look.report());
                let outcome = page.press(key, keymap, report);
                page.of_pack = of_pack;
                effects = self.rows_key(outcome);
            }
            Some(OpenPage::Preview(page)) => {
                let outcome = page.press(key, keymap, usize::from(self.size.columns), &self.palette);
                effects = self.preview_key(outcome);
            }
            Some(OpenPage::Past(_)) => effects = self.past_key(key),
            Some(OpenPage::Time(_)) => effects = self.time_key(key),
            Some(OpenPage::Above { .. }) => effects = self.above_key(key),
            Some(OpenPage::Sessions(picker)) => match picker.press(key, keymap) {
                PickerOutcome::Open => {}
                PickerOutcome::Chosen(id) => {
                    self.page = None;
                    effects.push(Effect::Ask(HostCall::Open(OpenWish::Resume(id))));
                }
                PickerOutcome::New | PickerOutcome::Ended => self.page = None,
            },
            None => {}
        }
        effects
    }

    /// Takes pasted text while a page is open. False if nothing on the page takes it; then it belongs to the draft.
    pub(super) fn page_paste(&mut self, text: &str) -> bool {
        match &mut self.page {
            Some(OpenPage::Transcript { pager, .. } | OpenPage::Text(pager)) => pager.paste(text),
            Some(OpenPage::Changes(page)) => page.pager.paste(text),
            Some(OpenPage::Preview(page)) => page.pager.paste(text),
            Some(OpenPage::Past(page)) => page.pager().paste(text),
            Some(OpenPage::Above { .. }) => self.above_paste(text),
            Some(OpenPage::Sessions(picker)) => {
                picker.paste(text);
                true
            }
            Some(OpenPage::Context(_) | OpenPage::Time(_)) | None => false,
        }
    }

    /// Goes back to before a message of the person, which returns to the composer.
    pub(super) fn take_back(&mut self, at: usize, effects: &mut Vec<Effect>) {
        let messages: Vec<String> = self.transcript.messages().map(|(_, cell)| cell.text().to_owned()).collect();
        let Some(text) = messages.get(at) else { return };
        effects.push(Effect::Submit(Operation::ThreadRollback { num_turns: messages.len() - at }));
        self.put_back(text);
    }

    /// Draws the page.
    pub(super) fn page_view(&mut self, rows: u16) -> Drawn {
        let columns = self.size.columns;
        let styles = self.part_styles();
        match &mut self.page {
            Some(OpenPage::Context(_)) => self.rows_view(rows),
            Some(OpenPage::Time(_)) => self.time_view(rows),
            Some(OpenPage::Preview(page)) => page.pager.draw(columns, rows, &styles),
            Some(OpenPage::Past(page)) => page.pager().draw(columns, rows, &styles),
            Some(OpenPage::Above { .. }) => self.above_view(rows),
            Some(OpenPage::Transcript { pager, .. } | OpenPage::Text(pager)) => pager.draw(columns, rows, &styles),
            Some(OpenPage::Changes(page)) => page.pager.draw(columns, rows, &styles),
            Some(OpenPage::Sessions(picker)) => picker.draw(columns, rows, self.settings.began, &styles),
            None => Drawn::default(),
        }
    }
}
