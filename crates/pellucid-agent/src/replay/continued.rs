//! A process that continues with the history that the process before it had.
//!
//! Every process that resumes a session reads the history from the session file. A replay that follows all processes has read
//! these lines already, so it hands the history on. That is a guess, which the digest of each request confirms: where a
//! request does not come out as it was sent, the history is read from the file after all, and that decides.

use pellucid_engine::transcript::View;
use pellucid_store::read::ReadError;
use pellucid_store::requests::entry::How;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::OpenedEntry;

use super::Checker;
use super::History;
use super::Run;
use super::address;

/// A process that continues with the history of the process before it.
pub(super) struct Continued<'a> {
    opened: &'a OpenedEntry,
    /// The lines about items that the process wrote so far.
    since: Vec<&'a LogEntry>,
}

impl<'a> Run<'a> {
    /// Follows a line that is no request, of a replay that compares every request with its digest.
    pub(super) fn follow_on(&mut self, entry: &'a LogEntry) -> Result<(), ReadError> {
        match entry {
            LogEntry::Opened(opened) if self.hand_on(opened)? => {
                self.continued = Some(Continued { opened, since: Vec::new() });
                return Ok(());
            }
            LogEntry::Noted(_) | LogEntry::Shown(_) | LogEntry::Placed(_) => {
                if let Some(continued) = &mut self.continued {
                    continued.since.push(entry);
                }
            }
            _ => {}
        }
        self.follow(entry)
    }

    /// Hands the history on to the process that begins here, and returns whether it could.
    fn hand_on(&mut self, opened: &OpenedEntry) -> Result<bool, ReadError> {
        let (Some(mut history), Some(view)) = (self.history.take(), self.view_of(opened)) else {
            return Ok(false);
        };
        if self.is_filled || opened.how != How::Resumed || !history.can_be_of(opened) {
            return Ok(false);
        }
        history.advance(opened.at, &self.rebuilt, &self.origins)?;
        let base = self.last_summary(opened).zip(opened.summaries.as_ref());
        let is_restored = match base {
            Some(base) => history.restore_again(base, opened, view, (&self.rebuilt, &self.origins))?,
            None => true,
        };
        if !is_restored || history.unknown().is_some() {
            return Ok(false);
        }
        if history.transcript.shown_view() == view && !history.transcript.begins_again() {
            self.checker.forget_last();
        } else {
            self.checker = Checker::default();
            history.transcript.begin_again(view);
        }
        self.history = Some(history);
        Ok(true)
    }

    /// Reads the history of the process from the file, if it was handed on, and returns whether it was.
    pub(super) fn read_after_all(&mut self) -> Result<bool, ReadError> {
        let Some(Continued { opened, since }) = self.continued.take() else {
            return Ok(false);
        };
        self.checker.forget_items();
        self.open_history(opened)?;
        for entry in since {
            self.follow(entry)?;
        }
        Ok(true)
    }

    /// Reads the history that a process begins with. The history of the process before is let go first, so that no two are held.
    pub(super) fn open_history(&mut self, opened: &OpenedEntry) -> Result<(), ReadError> {
        self.history = None;
        let view = self.view_of(opened);
        let mut history = History::open(self.file, opened, self.parts, &self.origins, view)?;
        history.note_restored(self.last_summary(opened), opened.summaries.as_ref());
        self.history = Some(history);
        Ok(())
    }

    /// The offset behind the last summary before a process begins.
    fn last_summary(&self, opened: &OpenedEntry) -> Option<u64> {
        self.rebuilt.range(..=opened.at).next_back().map(|(end, _)| *end)
    }

    /// How the first request of a process shows items, if it sent one.
    fn view_of(&self, opened: &OpenedEntry) -> Option<View> {
        self.views.get(&address(opened)).copied()
    }
}
