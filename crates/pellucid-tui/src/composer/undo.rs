//! Undo and redo of a draft.
//!
//! Characters that are typed one after the other are one change. The number of changes is bounded; the oldest are
//! forgotten first.

use crate::composer::draft::Draft;

/// How many changes can be undone.
const CHANGES_MAX: usize = 200;

/// The states that a draft had.
#[derive(Debug, Clone, Default)]
pub struct UndoStack {
    past: Vec<Draft>,
    future: Vec<Draft>,
    is_typing: bool,
}

impl UndoStack {
    /// Remembers a draft before a change. With `is_typing` the change continues the typing before it.
    pub fn remember(&mut self, draft: &Draft, is_typing: bool) {
        let continues = is_typing && self.is_typing;
        self.is_typing = is_typing;
        if continues {
            return;
        }
        self.future.clear();
        if self.past.last() == Some(draft) {
            return;
        }
        if self.past.len() == CHANGES_MAX {
            self.past.remove(0);
        }
        self.past.push(draft.clone());
    }

    /// Ends a run of typing, so that the next character begins a new change.
    pub fn end_typing(&mut self) {
        self.is_typing = false;
    }

    /// The draft before the last change.
    pub fn undo(&mut self, now: &Draft) -> Option<Draft> {
        self.is_typing = false;
        let mut past = self.past.pop()?;
        while past == *now {
            past = self.past.pop()?;
        }
        self.future.push(now.clone());
        Some(past)
    }

    /// The draft that the last undo took away.
    pub fn redo(&mut self, now: &Draft) -> Option<Draft> {
        self.is_typing = false;
        let future = self.future.pop()?;
        self.past.push(now.clone());
        Some(future)
    }

    /// Every draft that can be brought back.
    #[cfg(test)]
    pub fn drafts(&self) -> impl Iterator<Item = &Draft> {
        self.past.iter().chain(&self.future)
    }
}
