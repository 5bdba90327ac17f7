//! Messages that were sent before, for Up and Down.
//!
//! The messages of this session come first, then those of the file, which are fetched one by one: the client asks for
//! one with an effect and hands it in when it has it.

use std::collections::BTreeMap;

use crate::composer::draft::Clip;

/// What can be recalled, and what is recalled at the moment.
#[derive(Debug, Clone, Default)]
pub struct MessageHistory {
    /// The messages of this session, oldest first.
    own: Vec<Clip>,
    /// How many messages the file had when the session began.
    n_stored: usize,
    /// Messages of the file that were fetched, by their place in the file.
    fetched: BTreeMap<usize, Option<String>>,
    /// The message that is shown, counted from the oldest of the file.
    at: Option<usize>,
    /// The text as it was recalled; a changed text is a draft and not a recalled message.
    recalled: Option<String>,
}

/// What came of a step through the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recall {
    /// This message is shown now.
    Shown(Clip),
    /// The message has to be fetched from the file first, by its place there.
    Fetch(usize),
    /// There is no older message.
    Oldest,
    /// After the newest message: the composer is empty again.
    Empty,
    /// The history is not being walked through.
    Nothing,
}

impl MessageHistory {
    /// A history with so many messages in the file.
    pub fn with_stored(n_stored: usize) -> Self {
        Self { n_stored, ..Self::default() }
    }

    /// Adds a message of this session, unless it is the same as the one before, and ends the walk.
    pub fn add(&mut self, message: Clip) {
        self.leave();
        if !message.text.is_empty() && self.own.last() != Some(&message) {
            self.own.push(message);
        }
    }

    /// Ends the walk: the next step begins at the newest message.
    pub fn leave(&mut self) {
        self.at = None;
        self.recalled = None;
    }

    /// Whether Up and Down walk through the history, given the text and where the cursor is.
    pub fn takes(&self, text: &str, cursor: usize) -> bool {
        text.is_empty() || (self.recalled.as_deref() == Some(text) && (cursor == 0 || cursor == text.len()))
    }

    /// The messages of this session.
    #[cfg(test)]
    pub fn own(&self) -> &[Clip] {
        &self.own
    }

    fn n_all(&self) -> usize {
        self.n_stored + self.own.len()
    }

    /// One step to an older message.
    pub fn older(&mut self) -> Recall {
        match self.at.unwrap_or_else(|| self.n_all()) {
            0 if self.at.is_none() => Recall::Nothing,
            0 => Recall::Oldest,
            at => self.show(at - 1, true),
        }
    }

    /// One step to a newer message.
    pub fn newer(&mut self) -> Recall {
        match self.at {
            None => Recall::Nothing,
            Some(at) if at + 1 >= self.n_all() => {
                self.leave();
                Recall::Empty
            }
            Some(at) => self.show(at + 1, false),
        }
    }

    fn show(&mut self, at: usize, is_older: bool) -> Recall {
        let clip = match at.checked_sub(self.n_stored) {
            Some(own) => self.own.get(own).cloned(),
            None => match self.fetched.get(&at) {
                Some(Some(text)) => Some(Clip::plain(text.clone())),
                // The file has no such message any more: go past it.
                Some(None) => {
                    self.at = Some(at);
                    return if is_older { self.older() } else { self.newer() };
                }
                None => {
                    self.at = Some(at);
                    return Recall::Fetch(at);
                }
            },
        };
        self.at = Some(at);
        let clip = clip.unwrap_or_default();
        self.recalled = Some(clip.text.clone());
        Recall::Shown(clip)
    }

    /// Takes a message of the file that was asked for. It is shown if the walk still waits for it: a draft that the person
    /// changed meanwhile stays.
    pub fn fetched(&mut self, at: usize, text: Option<String>, draft: &str) -> Recall {
        self.fetched.insert(at, text);
        let is_unchanged = draft.is_empty() || self.recalled.as_deref() == Some(draft);
        match self.at == Some(at) {
            true if is_unchanged => self.show(at, true),
            true => {
                self.leave();
                Recall::Nothing
            }
            false => Recall::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Recall {
        Recall::Shown(Clip::plain(text))
    }

    #[test]
    fn the_session_comes_before_the_file_and_down_ends_in_an_empty_text() {
        let mut history = MessageHistory::with_stored(1);
        history.add(Clip::plain("a"));
        history.add(Clip::plain("a"));
        history.add(Clip::plain("b"));
        assert_eq!(history.older(), shown("b"));
        assert_eq!(history.older(), shown("a"));
        assert_eq!(history.older(), Recall::Fetch(0));
        assert_eq!(history.fetched(0, Some("file".to_owned()), "a"), shown("file"));
        assert_eq!(history.older(), Recall::Oldest);
        assert_eq!(history.newer(), shown("a"));
        assert_eq!(history.newer(), shown("b"));
        assert_eq!(history.newer(), Recall::Empty);
        assert_eq!(history.newer(), Recall::Nothing);
        assert_eq!(history.older(), shown("b"));
    }

    #[test]
    fn a_message_that_comes_late_is_not_shown() {
        let mut history = MessageHistory::with_stored(2);
        assert_eq!(history.older(), Recall::Fetch(1));
        history.leave();
        assert_eq!(history.fetched(1, Some("late".to_owned()), ""), Recall::Nothing);
        assert_eq!(history.older(), shown("late"));
        assert_eq!(history.older(), Recall::Fetch(0));
        assert_eq!(history.fetched(0, Some("later".to_owned()), "late, and more"), Recall::Nothing);
        assert!(!history.takes("late, and more", 0));
    }

    #[test]
    fn a_message_that_the_file_lost_is_passed_over() {
        let mut history = MessageHistory::with_stored(2);
        assert_eq!(history.older(), Recall::Fetch(1));
        assert_eq!(history.fetched(1, None, ""), Recall::Fetch(0));
        assert_eq!(history.fetched(0, Some("first".to_owned()), ""), shown("first"));
    }

    #[test]
    fn a_changed_text_is_not_walked_from() {
        let mut history = MessageHistory::default();
        history.add(Clip::plain("abc"));
        assert!(history.takes("", 0));
        history.older();
        assert!(history.takes("abc", 3) && history.takes("abc", 0));
        assert!(!history.takes("abc", 1) && !history.takes("abcd", 4));
    }
}
