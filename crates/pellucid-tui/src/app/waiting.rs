//! Messages that wait for their turn: a person marks, moves, edits, deletes them, or sends one now.
//!
//! As long as the list is open, no message leaves it by itself. An edited message stays in its place; the draft that was
//! in the composer comes back afterwards.

use std::time::Duration;

use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::App;
use super::Effect;
use crate::composer::draft::Clip;
use crate::key::Key;
use crate::keymap::table::Action;
use crate::keymap::table::Place;
use crate::text::width::shortened;

/// The open list of waiting messages.
#[derive(Debug, Default)]
pub(super) struct WaitingList {
    /// The message that is marked, counted from 0.
    marked: usize,
    /// The draft from before the marked message came into the composer to be edited.
    stashed: Option<Clip>,
}

impl WaitingList {
    /// Whether the marked message is being edited in the composer.
    pub(super) fn is_editing(&self) -> bool {
        self.stashed.is_some()
    }

    /// The draft that comes back after the edit.
    pub(super) fn stashed(&self) -> Option<&Clip> {
        self.stashed.as_ref()
    }
}

impl App {
    /// Opens the list of waiting messages, with the newest marked.
    pub(super) fn open_waiting(&mut self) {
        match self.queue.len().checked_sub(1) {
            Some(marked) => self.waiting = Some(WaitingList { marked, stashed: None }),
            None => self.say_note("no message waits; tab keeps one for the next turn"),
        }
    }

    /// Takes a key while the list is open.
    pub(super) fn waiting_key(&mut self, key: Key, now: Duration) -> Vec<Effect> {
        if self.waiting.as_ref().is_some_and(WaitingList::is_editing) {
            return self.edit_key(key, now);
        }
        let mut effects = Vec::new();
        let action = self.settings.keymap.action(Place::Waiting, key);
        let Some(list) = &mut self.waiting else { return effects };
        let last = self.queue.len().saturating_sub(1);
        match action {
            Some(Action::WaitingUp) => list.marked = list.marked.saturating_sub(1),
            Some(Action::WaitingDown) => list.marked = (list.marked + 1).min(last),
            Some(Action::WaitingRaise) if list.marked > 0 => {
                self.queue.swap(list.marked, list.marked - 1);
                list.marked -= 1;
            }
            Some(Action::WaitingLower) if list.marked < last => {
                self.queue.swap(list.marked, list.marked + 1);
                list.marked += 1;
            }
            Some(Action::WaitingDelete) => {
                if let Some(message) = self.queue.remove(list.marked) {
                    self.composer.remember(message.written);
                }
                self.marked_left(&mut effects);
            }
            Some(Action::WaitingEdit) => {
                if let Some(message) = self.queue.get(list.marked) {
                    list.stashed = Some(self.composer.draft().clip());
                    self.composer.set_draft(message.written.clone());
                }
            }
            Some(Action::WaitingSend) => {
                if let Some(message) = self.queue.remove(list.marked) {
                    self.send(message, &mut effects);
                }
                self.marked_left(&mut effects);
            }
            Some(Action::WaitingLeave) => self.close_waiting(&mut effects),
            _ => {}
        }
        effects
    }

    /// The marked message is gone: another one is marked, or the list closes.
    fn marked_left(&mut self, effects: &mut Vec<Effect>) {
        match (&mut self.waiting, self.queue.len().checked_sub(1)) {
            (Some(list), Some(last)) => list.marked = list.marked.min(last),
            _ => self.close_waiting(effects),
        }
    }

    /// Takes a key while the marked message is being edited.
    fn edit_key(&mut self, key: Key, now: Duration) -> Vec<Effect> {
        let action = self.settings.keymap.action(Place::Composer, key).filter(|_| self.composer.popup().is_none());
        match action {
            Some(Action::Send | Action::Queue) => self.put_edited(),
            Some(Action::Escape | Action::Cancel) => self.end_edit(),
            Some(Action::EditQueued | Action::Waiting) => {}
            _ => return self.composer_key(key, now),
        }
        Vec::new()
    }

    /// Puts the edited message into its place.
    fn put_edited(&mut self) {
        let context = self.settings.context(self.session.is_working());
        let Some(message) = self.composer.would_send(&context) else {
            self.say_error("a waiting message needs words, and cannot be a command; esc leaves it as it was");
            return;
        };
        if let Some(place) = self.waiting.as_ref().and_then(|list| self.queue.get_mut(list.marked)) {
            *place = message;
        }
        self.end_edit();
    }

    /// Ends an edit, and brings the draft back that was in the composer.
    fn end_edit(&mut self) {
        if let Some(stashed) = self.waiting.as_mut().and_then(|list| list.stashed.take()) {
            self.composer.set_draft(stashed);
        }
    }

    /// Closes the list. If the turn has ended meanwhile, the oldest message is sent.
    pub(super) fn close_waiting(&mut self, effects: &mut Vec<Effect>) {
        self.leave_waiting();
        if !self.session.is_working() && self.session.configured.is_some() {
            self.send_waiting(effects);
        }
    }

    /// Closes the list and sends nothing. An edit that was not finished is put into its place.
    pub(super) fn leave_waiting(&mut self) {
        let Some(list) = self.waiting.take() else { return };
        let Some(stashed) = list.stashed else { return };
        let context = self.settings.context(self.session.is_working());
        let edited = self.composer.would_send(&context);
        if let (Some(message), Some(place)) = (edited, self.queue.get_mut(list.marked)) {
            *place = message;
        }
        self.composer.set_draft(stashed);
    }

    /// The rows of waiting messages.
    pub(super) fn queue_rows(&self) -> Vec<Line<'static>> {
        let dim = self.palette.dim();
        let marked = self.waiting.as_ref().map(|list| list.marked);
        let room = usize::from(self.size.columns).saturating_sub(4);
        let row = |(at, message): (usize, &crate::composer::Message)| {
            let text = if message.written.text.is_empty() { &message.text } else { &message.written.text };
            let first = shortened(text.lines().next().unwrap_or_default(), room);
            match marked == Some(at) {
                true => Line::from(vec![Span::raw("› "), Span::styled(format!("↳ {first}"), self.palette.accent())]),
                false => Line::from(Span::styled(format!("  ↳ {first}"), dim)),
            }
        };
        let mut lines: Vec<Line<'static>> = self.queue.iter().enumerate().map(row).collect();
        if !lines.is_empty() {
            lines.push(Line::from(Span::styled(self.queue_hint(), dim)));
        }
        lines
    }

    /// What keys do with waiting messages.
    fn queue_hint(&self) -> String {
        let hints: &[(Action, &str)] = match &self.waiting {
            None => &[(Action::EditQueued, "to edit"), (Action::Waiting, "to move, delete or send")],
            Some(list) if list.is_editing() => {
                &[(Action::Send, "to put it back in its place"), (Action::Escape, "to leave it as it was")]
            }
            Some(_) => &[
                (Action::WaitingRaise, "up"),
                (Action::WaitingLower, "down"),
                (Action::WaitingEdit, "edit"),
                (Action::WaitingDelete, "delete"),
                (Action::WaitingSend, "send now"),
                (Action::WaitingLeave, "close"),
            ],
        };
        let hints = hints.iter().map(|(action, what)| self.key_hint("", *action, what));
        let hints: Vec<String> = hints.filter(|hint| !hint.is_empty()).collect();
        format!("    {}", hints.join(" · "))
    }
}
