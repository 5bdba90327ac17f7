//! The page with an earlier request: what it was made of, what it cost, and a step to the request before or after it.

use ratatui_core::text::Line;

use crate::key::Key;
use crate::keymap::Keymap;
use crate::keymap::table::Action;
use crate::keymap::table::Place;
use crate::look::report::SentView;
use crate::look::rows::RowsOutcome;
use crate::look::rows::RowsPage;
use crate::text::palette::Palette;

/// What a key on the page asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeOutcome {
    /// The page stays as it is.
    Open,
    /// The person left the page.
    Left,
    /// Show the request of this number.
    Step(usize),
    /// The bytes of the request of this number.
    Bytes(usize),
    /// Continue on a copy of the session that ends with the turn of the request of this number.
    Fork(usize),
    /// Why the row at this byte is there.
    Why(usize),
    /// What came of the provider's cache.
    Cache,
}

/// The page with an earlier request.
#[derive(Debug)]
pub struct TimePage {
    view: Box<SentView>,
    rows: RowsPage,
}

impl TimePage {
    /// A page with a request.
    pub fn new(view: Box<SentView>) -> Self {
        Self { view, rows: RowsPage::default() }
    }

    /// Shows another request. The groups stay as they were opened.
    pub fn show(&mut self, view: Box<SentView>) {
        self.view = view;
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key, keymap: &Keymap) -> TimeOutcome {
        let (number, of) = (self.view.number, self.view.of);
        let step = |to: usize| if to == number { TimeOutcome::Open } else { TimeOutcome::Step(to) };
        match keymap.action(Place::Time, key) {
            Some(Action::TimeOlder) => return step(number.saturating_sub(1).max(1)),
            Some(Action::TimeNewer) => return step((number + 1).min(of)),
            Some(Action::TimeFirst) => return step(1),
            Some(Action::TimeLast) => return step(of),
            Some(Action::TimeFork) => return TimeOutcome::Fork(number),
            _ => {}
        }
        match self.rows.press(key, keymap, Some(&self.view.report)) {
            RowsOutcome::Left => TimeOutcome::Left,
            RowsOutcome::Why(byte) => TimeOutcome::Why(byte),
            RowsOutcome::Preview => TimeOutcome::Bytes(number),
            RowsOutcome::Cache => TimeOutcome::Cache,
            RowsOutcome::Open | RowsOutcome::WhyNot(_) | RowsOutcome::Packs | RowsOutcome::Exact => TimeOutcome::Open,
        }
    }

    /// Draws the page.
    pub fn draw(&mut self, size: (usize, usize), keys: &str, palette: &Palette) -> Vec<Line<'static>> {
        let title = format!("request {} of {}", self.view.number, self.view.of);
        self.rows.draw_over(&title, Ok(&self.view.report), size, keys, palette)
    }
}
