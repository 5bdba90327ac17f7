//! Compacting a session while no turn runs, and undoing a compaction.
//!
//! Not here: asking a model for the summary. That is a turn, which `door` runs.

use pellucid_engine::boundary;
use pellucid_engine::compaction;
use pellucid_engine::fragment::Origin;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_store::read::SessionFile;
use pellucid_store::record::Compacted;
use pellucid_store::record::Record;

use crate::reshape::Reshaped;
use crate::sent::Extent;
use crate::session::Session;
use crate::undo;

/// There is no compaction that could be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session has no compaction that could be undone")]
pub struct NothingToUndo;

/// There are no removed turns that could come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no turns were removed last that could come back")]
pub struct NothingToRedo;

/// Whether the line of a compaction is that of a redo: it has the whole history, with the turns that were removed last.
pub fn is_redo(compacted: &Compacted) -> bool {
    compacted.message == undo::REDONE
}

/// Whether the line of a compaction is that of an undone one: it has the whole history, as if there was no summary.
pub fn is_undo(compacted: &Compacted) -> bool {
    compacted.message == undo::UNDONE
}

impl Session {
    /// The history, item by item.
    pub fn items(&self) -> Vec<Item> {
        self.conversation.items()
    }

    /// The estimated tokens of instructions and history.
    pub fn tokens(&self) -> usize {
        self.conversation.tokens()
    }

    /// The last summary's whole message, where one can be read.
    pub fn last_summary_message(&self) -> Option<String> {
        self.summary_message(&self.conversation.items())
    }

    /// The whole message of the last summary among these items, where one can be read.
    fn summary_message(&self, items: &[Item]) -> Option<String> {
        let mut said = items.iter().rev().filter_map(boundary::said_by_person);
        said.find(|text| self.own_words(text).is_some())
    }

    /// The summary in the message of one.
    fn own_words(&self, message: &str) -> Option<String> {
        let prefix = format!("{}\n", compaction::summary_prefix(&self.setup.pack));
        message.strip_prefix(&prefix).map(str::to_owned)
    }

    /// The last summary in its own words, where it can be read.
    pub fn last_summary(&self) -> Option<String> {
        self.own_words(&self.last_summary_message()?)
    }

    /// Puts a summary that a person wrote in place of the history.
    pub fn compact_with(&mut self, summary: &str) {
        for event in self.put_summary(summary, &Origin::User) {
            self.log.event(&event);
        }
    }

    /// Puts a summary in place of the history. Gives the events that report it, which are not recorded yet.
    pub(crate) fn put_summary(&mut self, summary: &str, origin: &Origin) -> [EventMessage; 2] {
        let compaction = self.compaction(None);
        self.conversation.transcript_mut().record(&Item::text("assistant", summary), origin);
        let facts = self.setup.gathered.facts.clone();
        self.rebuild(compaction, &facts);
        self.log_summary();
        [self.estimated_tokens(), EventMessage::ContextCompacted]
    }

    /// Goes back to the history as it would be without the last compaction.
    ///
    /// # Errors
    /// When there was none, or all are undone.
    pub fn undo_compaction(&mut self, file: &SessionFile, records: &[Record]) -> Result<(), NothingToUndo> {
        let figures = self.take_compaction_back(file, records)?;
        self.log.event(&figures);
        Ok(())
    }

    /// Goes back to the history as it would be without the last compaction. Gives the event with its size, which is not
    /// recorded yet.
    pub(crate) fn take_compaction_back(
        &mut self,
        file: &SessionFile,
        records: &[Record],
    ) -> Result<EventMessage, NothingToUndo> {
        let records = undo::without_last_compaction(records).ok_or(NothingToUndo)?;
        Ok(self.replace_history(file, records, undo::UNDONE))
    }

    /// The history before and after the last compaction that is not undone, as the lines of a file have both. Absent if
    /// there is none.
    pub(crate) fn last_compaction(&self, file: &SessionFile, records: &[Record]) -> Option<Reshaped> {
        let at = undo::last_compaction(records)?;
        let of = |records: &[Record]| self.setup.restore_records(file, records.to_vec()).transcript;
        let (before, after) = (of(&records[..at]), of(&records[..=at]));
        let tokens = (self.conversation.tokens_of(&before), self.conversation.tokens_of(&after));
        let after: Vec<Item> = after.items().collect();
        let message = self.summary_message(&after);
        let summary = message.as_deref().and_then(|message| self.own_words(message));
        Some(Reshaped { before: before.items().collect(), after, tokens, summary, message })
    }

    /// Removes the person's last messages and what followed them, as `thread/rollback` does.
    pub fn remove_turns(&mut self, num_turns: usize) {
        let figures = self.roll_back(num_turns);
        self.log.event(&figures);
        self.log.event(&EventMessage::ThreadRolledBack { num_turns });
    }

    /// Puts the turns back that were removed last.
    ///
    /// # Errors
    /// When no turns were removed, or a turn followed.
    pub fn redo_turns(&mut self, file: &SessionFile, records: &[Record]) -> Result<(), NothingToRedo> {
        let figures = self.put_turns_back(file, records)?;
        self.log.event(&figures);
        Ok(())
    }

    /// Puts the turns back that were removed last. Gives the event with the size of the history, which is not recorded yet.
    pub(crate) fn put_turns_back(
        &mut self,
        file: &SessionFile,
        records: &[Record],
    ) -> Result<EventMessage, NothingToRedo> {
        let records = undo::without_last_roll_back(records).ok_or(NothingToRedo)?;
        Ok(self.replace_history(file, records, undo::REDONE))
    }

    /// Records the history of these lines as one that takes the place of all before.
    fn replace_history(&mut self, file: &SessionFile, records: Vec<Record>, message: &str) -> EventMessage {
        let items: Vec<Item> = self.setup.restore_records(file, records).transcript.items().collect();
        let origin = Origin::Recorded { path: file.path.to_string_lossy().as_ref().into() };
        let transcript = self.conversation.transcript_mut();
        let is_all_known = transcript.is_attributed();
        transcript.clear();
        for item in &items {
            transcript.record(item, &origin);
        }
        self.log.compacted(message.to_owned(), Some(items));
        self.log_origins_of(if is_all_known { Extent::New } else { Extent::Covered });
        self.note_replaced(origin);
        self.estimated_tokens()
    }

    /// The size of the history as it is now, because the server's last figure is of another history.
    fn estimated_tokens(&mut self) -> EventMessage {
        self.conversation.estimate(self.setup.gathered.facts.settings.model.effective_window())
    }
}
