//! The mouse, where the configuration asks for it: the wheel moves in lists and pages, a click chooses an option.

use std::time::Duration;

use super::App;
use super::Effect;
use crate::input::Mouse;
use crate::input::MouseAction;
use crate::key::Key;
use crate::key::KeyCode;
use crate::lists::options::OptionList;

/// Lines that one step of the wheel moves on a page.
const WHEEL_LINES: usize = 3;

impl App {
    /// Whether the terminal is to report the mouse.
    pub fn has_mouse(&self) -> bool {
        self.settings.manner.has_mouse
    }

    /// Takes a report of the mouse; its row is counted from the top of what the client draws.
    pub fn mouse(&mut self, mouse: Mouse, now: Duration) -> Vec<Effect> {
        let wheel = match mouse.action {
            MouseAction::WheelUp => Key::plain(KeyCode::Up),
            MouseAction::WheelDown => Key::plain(KeyCode::Down),
            MouseAction::Click => return self.click(usize::from(mouse.row), now),
        };
        let is_list = self.asking.is_open() || self.menu.is_some() || self.waiting.is_some();
        let n_keys = match &self.page {
            Some(_) => WHEEL_LINES,
            None => usize::from(is_list || self.composer.popup().is_some()),
        };
        (0..n_keys).flat_map(|_| self.key(wheel, now)).collect()
    }

    /// Chooses the option in a row of the view. A list that has just appeared is not clicked on: the click was meant for what
    /// was there before.
    fn click(&mut self, row: usize, now: Duration) -> Vec<Effect> {
        let rows: Vec<String> = self.view(now).lines.iter().map(ToString::to_string).collect();
        let approval = self.asking.approvals.open().map(|(_, list)| list);
        let list = approval.or(self.menu.as_ref().filter(|_| !self.asking.is_open()).map(|menu| &menu.list));
        let keys = match list {
            Some(list) if self.page.is_none() && !list.has_grace(now) => keys_of_click(&rows, row, list),
            _ => None,
        };
        keys.unwrap_or_default().into_iter().flat_map(|key| self.key(key, now)).collect()
    }
}

/// The keys that choose the option in a row; absent if there is none.
fn keys_of_click(rows: &[String], row: usize, list: &OptionList) -> Option<Vec<Key>> {
    // An option that is continued on further rows is clicked on in any of them.
    let first = (0..=row).rev().find(|at| rows.get(*at).is_none_or(|text| !text.starts_with("     ")))?;
    let text = rows.get(first)?;
    let text = text.strip_prefix("› ").or_else(|| text.strip_prefix("  "))?;
    let (number, label) = text.split_once(". ")?;
    let index = number.parse::<usize>().ok()?.checked_sub(1)?;
    let word = label.split(" ").next().unwrap_or_default();
    let option = list.options().get(index).filter(|option| option.label.starts_with(word))?;
    let n = list.options().len();
    let take = if option.is_on.is_some() { Key::char(' ') } else { Key::plain(KeyCode::Enter) };
    let steps = std::iter::repeat_n(Key::plain(KeyCode::Down), (index + n - list.selected()) % n);
    Some(steps.chain([take]).collect())
}
