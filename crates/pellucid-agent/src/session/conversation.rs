//! The conversation: what was said so far, under which instructions, and how many tokens it has.

use std::collections::BTreeSet;
use std::sync::Arc;

use pellucid_engine::fragment::Fragment;
use pellucid_engine::meter::Meter;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::GhostCommit;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::TruncationPolicy;

use crate::ghost;
use crate::restore::Restored;
use crate::restore::SetAside;

/// The conversation of a session.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    transcript: Transcript,
    meter: Meter,
    /// The base instructions, which stay the same until recalled texts in them have to go.
    instructions: Arc<[Fragment]>,
    /// Snapshots that the work tree was brought back to.
    undone: BTreeSet<String>,
    /// Lines of the session's file that could not be read.
    set_aside: SetAside,
}

impl Conversation {
    /// A conversation that has no items yet.
    pub(super) fn new(instructions: Arc<[Fragment]>, ids: ItemIds, truncation: TruncationPolicy) -> Self {
        Self {
            transcript: Transcript::new(ids, truncation),
            meter: Meter::default(),
            instructions,
            undone: BTreeSet::new(),
            set_aside: SetAside::default(),
        }
    }

    /// The conversation of a session file.
    pub(super) fn restored(instructions: Arc<[Fragment]>, restored: Restored) -> Self {
        Self {
            transcript: restored.transcript,
            meter: Meter::resumed(restored.usage),
            instructions,
            undone: restored.undone,
            set_aside: restored.set_aside,
        }
    }

    pub(crate) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The transcript, for the engine's functions that record, render or replace items.
    pub(crate) fn transcript_mut(&mut self) -> &mut Transcript {
        &mut self.transcript
    }

    pub(crate) fn instructions(&self) -> &[Fragment] {
        &self.instructions
    }

    /// The base instructions, to be held.
    pub(super) fn shared_instructions(&self) -> &Arc<[Fragment]> {
        &self.instructions
    }

    /// Puts other base instructions in place of those so far.
    pub(super) fn instruct(&mut self, instructions: Arc<[Fragment]>) {
        self.instructions = instructions;
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The meter, which a turn keeps while it runs.
    pub(crate) fn take_meter(&mut self) -> Meter {
        std::mem::take(&mut self.meter)
    }

    /// Puts the meter of a turn that ended back.
    pub(crate) fn put_meter(&mut self, meter: Meter) {
        self.meter = meter;
    }

    /// The history, item by item.
    pub(crate) fn items(&self) -> Vec<Item> {
        self.transcript.items().collect()
    }

    /// The estimated tokens of instructions and items.
    pub(crate) fn tokens(&self) -> usize {
        self.tokens_of(&self.transcript)
    }

    /// The estimated tokens of instructions and other items.
    pub(crate) fn tokens_of(&self, transcript: &Transcript) -> usize {
        let instructions: usize = self.instructions.iter().map(|fragment| fragment.text.len()).sum();
        tokens_of_bytes(instructions) + transcript.tokens()
    }

    /// Sets the meter to an estimate, because the server's last figure is of another history. Gives the event with the
    /// figures.
    pub(crate) fn estimate(&mut self, window: Option<i64>) -> EventMessage {
        let tokens = i64::try_from(self.tokens()).unwrap_or(i64::MAX);
        self.meter.estimate(tokens, window);
        self.meter.event()
    }

    /// Which share of the window the last request took, where the server said so.
    pub(super) fn occupancy(&self, window: Option<i64>) -> Option<f64> {
        let used = self.meter.info().map(|_| self.meter.last_total() as f64);
        let window = window.filter(|window| *window > 0);
        used.zip(window).map(|(used, window)| used / window as f64)
    }

    /// The last snapshot that the work tree was not brought back to.
    pub(crate) fn last_snapshot(&self) -> Option<GhostCommit> {
        ghost::last_snapshot(&self.transcript, &self.undone)
    }

    /// Notes that the work tree was brought back to a snapshot.
    pub(crate) fn note_undone(&mut self, snapshot: String) {
        self.undone.insert(snapshot);
    }

    /// The history without snapshots that the work tree was brought back to, for a line that replaces all lines before it.
    pub(super) fn items_to_keep(&self) -> Vec<Item> {
        let is_undone = |item: &Item| matches!(item, Item::GhostSnapshot { ghost_commit } if self.undone.contains(&ghost_commit.id));
        self.transcript.items().filter(|item| !is_undone(item)).collect()
    }

    pub(super) fn set_aside(&self) -> &SetAside {
        &self.set_aside
    }
}
