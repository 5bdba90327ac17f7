//! After a change of the window's size: when the terminal is asked where its cursor is, and when the client is drawn again.
//!
//! Nothing is drawn in between, because rows would be written where they were before the change. tmux changes its window at
//! once and reports changes that follow each other only every quarter of a second; inside it, the client waits for longer.
//! Everything is pure: times are those since the start of the client.

use std::time::Duration;

/// How long the terminal may take to say where the cursor is.
const ANSWER_WAIT: Duration = Duration::from_millis(250);

/// How long tmux may keep the next change to itself, and a little more.
const TMUX_WAIT: Duration = Duration::from_millis(300);

/// What the driver has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResizeStep {
    /// Ask the terminal where its cursor is.
    Ask,
    /// Draw at the new size, with the row of the cursor if the terminal reported it.
    Draw(Option<u16>),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Over,
    /// Another change may follow until this time.
    Settling(Duration),
    /// The terminal may answer until this time.
    Asked(Duration),
}

/// A change of the window's size that the client has not drawn yet.
#[derive(Debug, Default)]
pub struct Resizing {
    phase: Phase,
    /// How many answers about the cursor are still to come. Only the last one is about the present size.
    n_answers: usize,
    is_in_tmux: bool,
}

impl Resizing {
    /// No change so far.
    pub fn new(is_in_tmux: bool) -> Self {
        Self { is_in_tmux, ..Self::default() }
    }

    /// Whether a change is not drawn yet, so that nothing may be drawn.
    pub fn is_open(&self) -> bool {
        self.phase != Phase::Over
    }

    /// The window has changed.
    pub fn changed(&mut self, now: Duration) -> Option<ResizeStep> {
        if self.is_in_tmux {
            self.phase = Phase::Settling(now + TMUX_WAIT);
            return None;
        }
        Some(self.ask(now))
    }

    fn ask(&mut self, now: Duration) -> ResizeStep {
        self.n_answers += 1;
        self.phase = Phase::Asked(now + ANSWER_WAIT);
        ResizeStep::Ask
    }

    /// The terminal has said where its cursor is.
    pub fn answered(&mut self, row: u16) -> Option<ResizeStep> {
        self.n_answers = self.n_answers.saturating_sub(1);
        let is_last = self.n_answers == 0 && matches!(self.phase, Phase::Asked(_));
        is_last.then(|| self.over(Some(row)))
    }

    /// When [`Resizing::due`] has something to do.
    pub fn wake(&self) -> Option<Duration> {
        match self.phase {
            Phase::Over => None,
            Phase::Settling(until) | Phase::Asked(until) => Some(until),
        }
    }

    /// What is to be done at a time.
    pub fn due(&mut self, now: Duration) -> Option<ResizeStep> {
        match self.phase {
            Phase::Settling(until) if now >= until => Some(self.ask(now)),
            Phase::Asked(until) if now >= until => Some(self.over(None)),
            _ => None,
        }
    }

    fn over(&mut self, row: Option<u16>) -> ResizeStep {
        self.phase = Phase::Over;
        self.n_answers = 0;
        ResizeStep::Draw(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_terminal_is_asked_at_once_and_its_last_answer_counts() {
        let mut resizing = Resizing::new(false);
        assert!(!resizing.is_open());
        assert_eq!(resizing.changed(ms(0)), Some(ResizeStep::Ask));
        assert_eq!(resizing.changed(ms(10)), Some(ResizeStep::Ask));
        assert_eq!(resizing.answered(3), None);
        assert!(resizing.is_open());
        assert_eq!(resizing.answered(5), Some(ResizeStep::Draw(Some(5))));
        assert!(!resizing.is_open());
        assert_eq!(resizing.wake(), None);
    }

    #[test]
    fn a_terminal_that_does_not_answer_is_drawn_without_a_row() {
        let mut resizing = Resizing::new(false);
        resizing.changed(ms(100));
        assert_eq!(resizing.wake(), Some(ms(350)));
        assert_eq!(resizing.due(ms(349)), None);
        assert_eq!(resizing.due(ms(350)), Some(ResizeStep::Draw(None)));
        // An answer that comes too late is about nothing.
        assert_eq!(resizing.answered(3), None);
    }

    #[test]
    fn tmux_is_asked_when_no_change_has_followed_for_longer_than_it_keeps_one() {
        let mut resizing = Resizing::new(true);
        assert_eq!(resizing.changed(ms(0)), None);
        assert_eq!(resizing.changed(ms(250)), None);
        assert_eq!(resizing.due(ms(549)), None);
        assert_eq!(resizing.due(ms(550)), Some(ResizeStep::Ask));
        // A change that follows makes the answer worthless.
        assert_eq!(resizing.changed(ms(560)), None);
        assert_eq!(resizing.answered(7), None);
        assert_eq!(resizing.due(ms(860)), Some(ResizeStep::Ask));
        assert_eq!(resizing.answered(9), Some(ResizeStep::Draw(Some(9))));
    }
}
