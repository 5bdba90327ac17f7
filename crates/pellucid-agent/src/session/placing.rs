//! Texts that the layout places within the conversation, at a depth of it.
//!
//! They are made and placed when the first request of a turn is made, and again when a summary or a memory replaces the
//! history within the turn. Requests in between extend each other.

use pellucid_engine::assemble;

use super::Session;
use crate::memory::Memory;

/// Whether texts have to be placed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Placing {
    is_due: bool,
}

impl Placing {
    /// Has texts placed before the next request, because a turn begins.
    pub(super) fn turn_begins(&mut self) {
        self.is_due = true;
    }
}

impl Session {
    /// Places the texts that have a place within the conversation, if the next request is the first of a turn or the
    /// history was replaced, and records where they are.
    pub(super) fn place_texts(&mut self) {
        let is_due = std::mem::take(&mut self.placing.is_due) || !self.conversation.transcript().is_placed();
        let has_place = self.habits.memory().is_some_and(|memory| memory.layout().place().is_some());
        if !is_due || !(has_place || self.setup.pack.layout.has_depth()) {
            return;
        }
        let (of_slots, omissions) = assemble::placed(&self.setup.pack, &self.setup.gathered.facts);
        for omission in omissions {
            self.notices.warn_once_of(omission);
        }
        let mut placed = self.habits.memory().map(Memory::placed).unwrap_or_default();
        placed.extend(of_slots);
        let transcript = self.conversation.transcript_mut();
        let before = transcript.is_placed().then(|| transcript.places());
        if let Some(slot) = transcript.place(&placed) {
            self.requests.text_moved(slot);
        }
        let places = self.conversation.transcript().places();
        if before.as_ref() != Some(&places)
            && let Some((sent, at)) = self.log.sent().filter(|(sent, _)| sent.is_open())
        {
            sent.placed(at, &places);
        }
    }
}
