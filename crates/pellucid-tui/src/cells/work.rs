//! How long a turn has worked: the clock that stops while the user is asked, and the rule before a final message.

use std::time::Duration;

use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::CellCanvas;

/// The time that a turn has worked. Times are those of the client, since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkClock {
    since: Duration,
    before: Duration,
    questions: usize,
    is_on: bool,
}

impl WorkClock {
    /// Starts again from zero.
    pub fn start(&mut self, now: Duration) {
        *self = Self { since: now, before: Duration::ZERO, questions: 0, is_on: true };
    }

    /// The turn has ended.
    pub fn stop(&mut self, now: Duration) {
        *self = Self { before: self.elapsed(now), ..Self::default() };
    }

    /// A question to the user is open, and time does not count.
    pub fn ask(&mut self, now: Duration) {
        self.before = self.elapsed(now);
        self.since = now;
        self.questions += 1;
    }

    /// A question was answered.
    pub fn answer(&mut self, now: Duration) {
        self.questions = self.questions.saturating_sub(1);
        self.since = if self.questions == 0 { now } else { self.since };
    }

    /// The time that counts.
    pub fn elapsed(&self, now: Duration) -> Duration {
        let runs = self.is_on && self.questions == 0;
        self.before + if runs { now.saturating_sub(self.since) } else { Duration::ZERO }
    }
}

/// A time as people read it: `12s`, `1m 02s`, `1h 00m 00s`.
pub fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m {rest:02}s"),
        _ => format!("{hours}h {minutes:02}m {rest:02}s"),
    }
}

/// The rule between work and the message that ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkedCell {
    /// How long the turn had worked.
    pub duration: Duration,
}

impl WorkedCell {
    /// The time in words, for a screen reader, if it is worth saying.
    pub fn spoken(&self) -> Option<String> {
        (self.duration.as_secs() > 0).then(|| format!("Worked for {}.", elapsed(self.duration)))
    }

    /// The rule, with the time if it is worth saying.
    pub fn lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let label = match self.duration.as_secs() {
            0 => String::new(),
            _ => format!("─ Worked for {} ", elapsed(self.duration)),
        };
        let rest = canvas.columns.saturating_sub(crate::text::width::columns(&label));
        vec![Line::from(Span::styled(label + &"─".repeat(rest), canvas.palette.dim()))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::testing::CANVAS;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_short() {
        assert_eq!(
            [0, 59, 60, 62, 3600, 3725].map(|it| elapsed(seconds(it))),
            ["0s", "59s", "1m 00s", "1m 02s", "1h 00m 00s", "1h 02m 05s"]
        );
    }

    #[test]
    fn the_clock_stops_while_any_question_is_open() {
        let mut clock = WorkClock::default();
        assert_eq!(clock.elapsed(seconds(5)), seconds(0));
        clock.start(seconds(10));
        assert_eq!(clock.elapsed(seconds(14)), seconds(4));
        clock.ask(seconds(15));
        clock.ask(seconds(20));
        clock.answer(seconds(30));
        assert_eq!(clock.elapsed(seconds(90)), seconds(5));
        clock.answer(seconds(100));
        assert_eq!(clock.elapsed(seconds(101)), seconds(6));
        clock.stop(seconds(103));
        assert_eq!(clock.elapsed(seconds(500)), seconds(8));
    }

    #[test]
    fn the_rule_fills_the_width() {
        let rule = |duration| WorkedCell { duration }.lines(&CANVAS(30))[0].to_string();
        assert_eq!(rule(seconds(62)), "─ Worked for 1m 02s ──────────");
        assert_eq!(rule(seconds(0)), "─".repeat(30));
    }
}
