//! A list with numbered options: keys choose one, the mark wraps around, a list taller than the screen scrolls.
//!
//! A list that appears by itself has a grace period: keys that a person types on go to the draft, so that a letter of a
//! sentence never answers a question that has just appeared.

use std::time::Duration;

use ratatui_core::style::Modifier;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;
use unicode_width::UnicodeWidthStr;

use crate::composer::drawing::Drawn;
use crate::composer::drawing::PartStyles;
use crate::key::Key;
use crate::key::KeyCode;
use crate::keymap::Keymap;
use crate::keymap::table::Action;
use crate::keymap::table::Place;
use crate::text::wrap::wrap_hanging;

/// So long after it appeared, and so long after the last typed key, a list takes no printable key.
pub(crate) const GRACE: Duration = Duration::from_millis(400);

/// The columns before a label that continues on the next row.
const INDENT: usize = 5;

/// One option of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOption {
    /// What is shown behind the number.
    pub label: String,
    /// More about it, dim below the label.
    pub detail: String,
    /// The characters that choose this option.
    pub keys: Vec<char>,
    /// The name of a key that is shown in parentheses.
    pub shown_key: Option<&'static str>,
    /// Whether the option is switched on; absent for options that are not switches.
    pub is_on: Option<bool>,
    /// Whether the option has no number, as in long lists and lists of switches.
    pub is_without_number: bool,
}

impl ListOption {
    /// An option with a label.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// The option with a character that chooses it.
    pub fn key(mut self, key: char, shown: &'static str) -> Self {
        self.keys.push(key);
        self.shown_key = Some(shown);
        self
    }

    /// The option with a line below its label.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }
}

/// How a list came to be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appeared {
    /// By itself, at this time; the grace period holds.
    ByItself(Duration),
    /// A person opened it.
    Opened,
}

/// What a key did to a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOutcome {
    /// The list stays open.
    Open,
    /// This option was chosen, counted from 0.
    Chosen(usize),
    /// Esc: refuse, or close the list.
    Cancelled,
    /// Ctrl-C: refuse, and forget what waits.
    Aborted,
    /// Show the whole request on a page.
    Whole,
    /// Explain why the question is asked.
    Explain,
    /// Hide changes of blanks, or show them again.
    Blanks,
    /// Change what is asked for.
    Amend,
    /// Write a note that goes with the answer.
    Note,
    /// The key belongs to the draft.
    Draft(Key),
}

/// A list with its mark.
#[derive(Debug, Clone)]
pub struct OptionList {
    title: Vec<Line<'static>>,
    options: Vec<ListOption>,
    selected: usize,
    appeared: Appeared,
    /// When the last key came that the grace period gave to the draft.
    last_typed: Option<Duration>,
    /// What is said behind a title that is cut: how to see all of it.
    whole_hint: String,
}

impl OptionList {
    /// A list with the mark on its first option.
    pub fn new(title: Vec<Line<'static>>, options: Vec<ListOption>, appeared: Appeared) -> Self {
        Self { title, options, selected: 0, appeared, last_typed: None, whole_hint: String::new() }
    }

    /// Sets what is said behind a title that is cut.
    pub fn set_whole_hint(&mut self, hint: String) {
        self.whole_hint = hint;
    }

    /// The list with the mark on another option.
    pub fn selecting(mut self, selected: usize) -> Self {
        self.selected = selected.min(self.options.len().saturating_sub(1));
        self
    }

    /// The option that is marked, counted from 0.
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// The options of the list.
    pub fn options(&self) -> &[ListOption] {
        &self.options
    }

    /// Changes a switch of the list.
    pub fn set_on(&mut self, index: usize, is_on: bool) {
        if let Some(option) = self.options.get_mut(index) {
            option.is_on = Some(is_on);
        }
    }

    /// Whether printable keys still belong to the draft.
    pub fn has_grace(&self, now: Duration) -> bool {
        let Appeared::ByItself(appeared) = self.appeared else {
            return false;
        };
        let is_within = |since: Duration| now.saturating_sub(since) < GRACE;
        is_within(appeared) || self.last_typed.is_some_and(is_within)
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key, now: Duration, keymap: &Keymap) -> ListOutcome {
        let is_typed = key.typed().is_some() || key == Key::plain(KeyCode::Enter);
        if is_typed && self.has_grace(now) {
            self.last_typed = Some(now);
            return ListOutcome::Draft(key);
        }
        if let Some(char) = key.typed() {
            let by_key = self.options.iter().position(|option| option.keys.contains(&char));
            let by_number = char.to_digit(10).and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1));
            let is_numbered = |number: &usize| {
                self.options.get(*number).is_some_and(|it| it.is_on.is_none() && !it.is_without_number)
            };
            if let Some(chosen) = by_key.or(by_number.filter(is_numbered)) {
                self.selected = chosen;
                return ListOutcome::Chosen(chosen);
            }
        }
        match keymap.action(Place::Options, key) {
            Some(Action::OptionUp) => self.step(-1),
            Some(Action::OptionDown) => self.step(1),
            Some(Action::OptionTake) if !self.options.is_empty() => return ListOutcome::Chosen(self.selected),
            Some(Action::OptionCancel) => return ListOutcome::Cancelled,
            Some(Action::OptionAbort) => return ListOutcome::Aborted,
            Some(Action::OptionWhole) => return ListOutcome::Whole,
            Some(Action::OptionExplain) => return ListOutcome::Explain,
            Some(Action::OptionBlanks) => return ListOutcome::Blanks,
            Some(Action::OptionAmend) => return ListOutcome::Amend,
            Some(Action::OptionNote) => return ListOutcome::Note,
            _ => {}
        }
        ListOutcome::Open
    }

    /// Moves the mark and wraps around.
    pub fn step(&mut self, by: isize) {
        let n = self.options.len();
        if n > 0 {
            self.selected = (self.selected + n).saturating_add_signed(by) % n;
        }
    }

    /// Draws the title and the options in at most so many rows; the marked option is always visible.
    pub fn draw(&self, width: u16, height_max: u16, styles: &PartStyles) -> Drawn {
        let (columns, height_max) = (usize::from(width).max(INDENT + 2), usize::from(height_max).max(1));
        let blocks: Vec<Vec<Line<'static>>> =
            self.options.iter().enumerate().map(|(index, _)| self.option_rows(index, columns, styles)).collect();
        let n_options: usize = blocks.iter().map(Vec::len).sum();
        let mut lines: Vec<Line<'static>> = self.title.iter().flat_map(|line| wrap_hanging(line, columns)).collect();
        // The title gives way before the options do, and says so.
        let room = height_max.saturating_sub(n_options.min(height_max));
        if lines.len() > room {
            let n_missing = lines.len() + 1 - room.max(1);
            let more = Line::styled(format!("  … +{n_missing} rows{}", self.whole_hint), styles.dim);
            lines.truncate(if room > 1 { room - 1 } else { room });
            lines.extend((room > 1).then_some(more));
        } else if lines.len() < room && !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.extend(visible(blocks, self.selected, height_max - lines.len().min(height_max)));
        lines.truncate(height_max);
        Drawn { lines, cursor: None }
    }

    fn option_rows(&self, index: usize, columns: usize, styles: &PartStyles) -> Vec<Line<'static>> {
        let option = &self.options[index];
        let is_marked = index == self.selected;
        let style = if is_marked { styles.accent } else { Style::default() };
        let switch = option.is_on.map_or("", |is_on| if is_on { "[x] " } else { "[ ] " });
        let key = option.shown_key.map_or_else(String::new, |key| format!(" ({key})"));
        let has_number = option.is_on.is_none() && !option.is_without_number;
        let number = if has_number { format!("{}. ", index + 1) } else { String::new() };
        let text = format!("{number}{switch}{}{key}", option.label);
        let mark = if is_marked { "› " } else { "  " };
        let mut rows = Vec::new();
        for (row, part) in wrapped(&text, columns - INDENT).into_iter().enumerate() {
            let before = if row == 0 { mark.to_owned() } else { " ".repeat(INDENT) };
            rows.push(Line::from(vec![Span::styled(before, style), Span::styled(part, style)]));
        }
        if !option.detail.is_empty() {
            let dim = styles.dim.add_modifier(Modifier::DIM);
            for part in wrapped(&option.detail, columns - INDENT) {
                rows.push(Line::from(vec![Span::raw(" ".repeat(INDENT)), Span::styled(part, dim)]));
            }
        }
        rows
    }
}

/// The rows around the marked block that fit.
fn visible(blocks: Vec<Vec<Line<'static>>>, selected: usize, height: usize) -> Vec<Line<'static>> {
    let before: usize = blocks.iter().take(selected).map(Vec::len).sum();
    let n_marked = blocks.get(selected).map_or(0, Vec::len);
    let first = (before + n_marked).saturating_sub(height).min(before);
    blocks.into_iter().flatten().skip(first).take(height).collect()
}

/// A text in rows of so many columns, broken at blanks where that is possible.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut rows = vec![String::new()];
    let mut n_used = 0;
    for word in words(text) {
        let word = if word.chars().any(char::is_control) { " " } else { word };
        let n_word = word.width();
        if n_used + n_word <= columns {
            n_used += n_word;
            push(&mut rows, word);
            continue;
        }
        if word.trim().is_empty() {
            continue;
        }
        if n_used > 0 {
            rows.push(String::new());
            n_used = 0;
        }
        for grapheme in word.graphemes(true) {
            let n_columns = grapheme.width();
            if n_used + n_columns > columns && n_used > 0 {
                rows.push(String::new());
                n_used = 0;
            }
            n_used += n_columns;
            push(&mut rows, grapheme);
        }
    }
    rows
}

/// The pieces between which a row may end: at blanks and beside wide characters, but not at the hyphen of an option.
fn words(text: &str) -> Vec<&str> {
    let is_joined = |it: Option<char>| it.is_some_and(|it| !it.is_whitespace() && it.width() != Some(2));
    let mut words = Vec::new();
    let mut start = 0;
    for (at, piece) in text.split_word_bound_indices() {
        if !is_joined(text[..at].chars().next_back()) || !is_joined(piece.chars().next()) {
            words.push(&text[start..at]);
            start = at;
        }
    }
    words.push(&text[start..]);
    words
}

fn push(rows: &mut [String], text: &str) {
    if let Some(row) = rows.last_mut() {
        row.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;
    use crate::keymap::spelling::parse_key;

    fn sample(appeared: Appeared) -> OptionList {
        let options = vec![
            ListOption::new("Yes, run it").key('y', "y"),
            ListOption::new("Yes, and never ask again for commands that begin with git push").key('p', "p"),
            ListOption::new("No").key('n', "esc"),
        ];
        OptionList::new(vec![Line::raw("May it run?")], options, appeared)
    }

    fn text_of(drawn: &Drawn) -> String {
        drawn.lines.iter().map(|line| format!("{}\n", line.to_string().trim_end())).collect()
    }

    #[track_caller]
    fn check_key(keys: &[&str], expected: ListOutcome) {
        let (keymap, mut list) = (Keymap::standard(), sample(Appeared::Opened));
        let outcomes: Vec<_> =
            keys.iter().map(|key| list.press(parse_key(key).unwrap(), Duration::ZERO, &keymap)).collect();
        assert_eq!(outcomes.last(), Some(&expected), "{keys:?}");
    }

    #[test]
    fn an_option_is_chosen_by_key_number_or_mark() {
        check_key(&["y"], ListOutcome::Chosen(0));
        check_key(&["n"], ListOutcome::Chosen(2));
        check_key(&["2"], ListOutcome::Chosen(1));
        check_key(&["4"], ListOutcome::Open);
        check_key(&["down", "ctrl-n", "enter"], ListOutcome::Chosen(2));
        check_key(&["up", "enter"], ListOutcome::Chosen(2));
        check_key(&["down", "down", "down", "ctrl-p", "enter"], ListOutcome::Chosen(2));
        check_key(&["esc"], ListOutcome::Cancelled);
        check_key(&["ctrl-c"], ListOutcome::Aborted);
        check_key(&["ctrl-a"], ListOutcome::Whole);
        check_key(&["?"], ListOutcome::Explain);
        check_key(&["w"], ListOutcome::Blanks);
    }

    #[test]
    fn a_sentence_that_is_typed_on_decides_nothing() {
        let keymap = Keymap::standard();
        let at = Duration::from_millis;
        let mut list = sample(Appeared::ByItself(at(1000)));
        for (index, char) in "try it once more, y".chars().enumerate() {
            let now = at(1010 + 50 * u64::try_from(index).unwrap());
            assert_eq!(list.press(Key::char(char), now, &keymap), ListOutcome::Draft(Key::char(char)));
        }
        let enter = Key::plain(KeyCode::Enter);
        assert_eq!(list.press(enter, at(2000), &keymap), ListOutcome::Draft(enter));
        assert_eq!(list.press(parse_key("esc").unwrap(), at(2010), &keymap), ListOutcome::Cancelled);
        assert_eq!(list.press(Key::char('y'), at(2400), &keymap), ListOutcome::Chosen(0));
        assert!(!sample(Appeared::Opened).has_grace(at(0)));
    }

    #[track_caller]
    fn check_drawing(list: &OptionList, width: u16, height: u16, expected: &Expect) {
        expected.assert_eq(&text_of(&list.draw(width, height, &PartStyles::default())));
    }

    #[test]
    fn labels_wrap_and_a_tall_list_scrolls() {
        let mut list = sample(Appeared::Opened);
        check_drawing(
            &list,
            60,
            20,
            &expect![[r#"
                May it run?

                › 1. Yes, run it (y)
                  2. Yes, and never ask again for commands that begin
                     with git push (p)
                  3. No (esc)
            "#]],
        );
        list.step(-1);
        check_drawing(
            &list,
            24,
            4,
            &expect![[r#"
                     ask again for
                     commands that begin
                     with git push (p)
                › 3. No (esc)
            "#]],
        );
    }

    #[test]
    fn a_row_ends_at_blanks_and_hides_nothing() {
        for (text, rows) in [
            ("begin with `npm install left-pad`", &["begin with", "`npm install", "left-pad`"][..]),
            ("rm --recursive /a/b", &["rm --recursive", "/a/b"]),
            ("curl https://example.com/a", &["curl", "https://exampl", "e.com/a"]),
            ("运行这个命令一次", &["运行这个命令一", "次"]),
        ] {
            let wrapped: Vec<String> = wrapped(text, 14).iter().map(|row| row.trim_end().to_owned()).collect();
            assert_eq!(wrapped, rows);
        }
    }

    #[test]
    fn switches_show_whether_they_are_on() {
        let mut list =
            OptionList::new(Vec::new(), vec![ListOption::new("one").detail("what it does")], Appeared::Opened);
        list.set_on(0, true);
        check_drawing(
            &list,
            40,
            5,
            &expect![[r#"
                › [x] one
                     what it does
            "#]],
        );
    }

    proptest! {
        #[test]
        fn any_list_can_be_drawn_with_its_mark(n in 1usize..30, selected in 0usize..30, label in ".{0,60}", width in 0u16..80, height in 0u16..20) {
            let options = (0..n).map(|_| ListOption::new(label.clone())).collect();
            let list = OptionList::new(vec![Line::raw("title")], options, Appeared::Opened).selecting(selected);
            let drawn = list.draw(width, height, &PartStyles::default());
            prop_assert!(drawn.lines.len() <= usize::from(height).max(1));
            let n_rows = list.option_rows(list.selected(), usize::from(width).max(INDENT + 2), &PartStyles::default()).len();
            if n_rows <= usize::from(height).max(1) {
                prop_assert!(drawn.lines.iter().any(|line| line.to_string().starts_with('›')));
            }
        }
    }
}
