//! A full-screen page of text: scrolling, search, and marks on a person's messages.
//!
//! The lines are made by the client at the width of the page; the pager knows where they begin on the screen.

use ratatui_core::style::Modifier;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use crate::composer::drawing::Drawn;
use crate::composer::drawing::PartStyles;
use crate::key::Key;
use crate::key::KeyCode;
use crate::keymap::Keymap;
use crate::keymap::table::Action;
use crate::keymap::table::Place;
use crate::text::wrap::wrap_hanging;

/// What a key did to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagerOutcome {
    /// The page stays open.
    Open,
    /// The person left the page.
    Left,
    /// Go back to this message of the person, counted from 0.
    Confirmed(usize),
    /// Show what going back to this message of the person does to files.
    Files(usize),
    /// Hide changes of blanks, or show them again.
    Blanks,
}

/// A page of text.
#[derive(Debug, Clone, Default)]
pub struct Pager {
    title: String,
    lines: Vec<Line<'static>>,
    /// The first line of each message of the person; empty if messages cannot be gone back to.
    messages: Vec<usize>,
    /// The message that is marked.
    marked: Option<usize>,
    top: usize,
    /// The rows of text, known from the last drawing.
    height: usize,
    /// Whether new lines keep the end in view.
    follows: bool,
    search: Search,
    /// The text, if the pager breaks its lines; with the width for which it did.
    text: Option<(Vec<Line<'static>>, u16)>,
}

#[derive(Debug, Clone, Default)]
struct Search {
    /// What is being typed behind the slash.
    typing: Option<String>,
    text: String,
    /// The lines that have the text.
    found: Vec<usize>,
    at: usize,
}

impl Pager {
    /// A page that begins at its first line.
    pub fn at_start(title: impl Into<String>, lines: Vec<Line<'static>>) -> Self {
        Self { title: title.into(), lines, height: 1, ..Self::default() }
    }

    /// A page that begins at its first line and breaks lines that are wider than the page.
    pub fn of_text(title: impl Into<String>, text: Vec<Line<'static>>) -> Self {
        Self { text: Some((text, 0)), ..Self::at_start(title, Vec::new()) }
    }

    /// Breaks the lines of a text for a width.
    fn fit(&mut self, width: u16) {
        if let Some((text, fitted)) = self.text.as_mut().filter(|(_, fitted)| *fitted != width) {
            *fitted = width;
            let lines = text.iter().flat_map(|line| wrap_hanging(line, usize::from(width))).collect();
            self.set_lines(lines, Vec::new());
        }
    }

    /// A page that begins at its end and stays there while lines are added.
    pub fn at_end(title: impl Into<String>, lines: Vec<Line<'static>>) -> Self {
        Self { follows: true, ..Self::at_start(title, lines) }
    }

    /// Replaces the lines, after a resize or because the text grew. The place in the text is kept.
    pub fn set_lines(&mut self, lines: Vec<Line<'static>>, messages: Vec<usize>) {
        let from_end = self.lines.len().saturating_sub(self.top);
        let is_reflowed = lines.len() < self.lines.len();
        self.lines = lines;
        self.messages = messages;
        if is_reflowed {
            self.top = self.lines.len().saturating_sub(from_end);
        }
        if let Some(marked) = self.marked {
            self.marked = self.messages.len().checked_sub(1).map(|last| marked.min(last));
        }
        self.find();
        self.hold();
    }

    /// Gives the page another title.
    pub fn retitle(&mut self, title: impl Into<String>) {
        self.title = title.into();
    }

    /// The line that a person looks at: the one that was found, or the first one.
    pub fn place(&self) -> usize {
        let found = self.search.found.get(self.search.at).copied();
        found.filter(|found| (self.top..self.top + self.height.max(1)).contains(found)).unwrap_or(self.top)
    }

    /// Whether a search is being typed.
    pub fn is_typing(&self) -> bool {
        self.search.typing.is_some()
    }

    /// Marks the newest message of the person and shows it.
    pub fn mark_newest(&mut self) {
        self.mark(self.messages.len().checked_sub(1));
    }

    /// The message that is marked, counted from 0.
    pub fn marked(&self) -> Option<usize> {
        self.marked
    }

    fn mark(&mut self, marked: Option<usize>) {
        let Some(index) = marked.filter(|index| *index < self.messages.len()) else {
            return;
        };
        self.marked = Some(index);
        self.follows = false;
        self.top = self.messages[index].saturating_sub(self.height / 3);
        self.hold();
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key, keymap: &Keymap) -> PagerOutcome {
        if self.search.typing.is_some() {
            self.type_search(key);
            return PagerOutcome::Open;
        }
        let page = self.height.max(1);
        match keymap.action(Place::Pager, key) {
            Some(Action::PagerUp) => self.scroll(-1, 1),
            Some(Action::PagerDown) => self.scroll(1, 1),
            Some(Action::PagerPageUp) => self.scroll(-1, page),
            Some(Action::PagerPageDown) => self.scroll(1, page),
            Some(Action::PagerHalfUp) => self.scroll(-1, page.div_ceil(2)),
            Some(Action::PagerHalfDown) => self.scroll(1, page.div_ceil(2)),
            Some(Action::PagerStart) => self.scroll(-1, self.lines.len()),
            Some(Action::PagerEnd) => self.scroll(1, self.lines.len()),
            Some(Action::PagerSearch) => self.search.typing = Some(String::new()),
            Some(Action::PagerNext) => self.show_found(1),
            Some(Action::PagerPrevious) => self.show_found(-1),
            Some(Action::PagerOlder) if self.messages.is_empty() => {
                return if key.code == KeyCode::Esc { PagerOutcome::Left } else { PagerOutcome::Open };
            }
            Some(Action::PagerOlder) => match self.marked {
                Some(marked) => self.mark(Some(marked.saturating_sub(1))),
                None => self.mark_newest(),
            },
            Some(Action::PagerNewer) => self.mark(self.marked.map(|marked| marked + 1)),
            Some(Action::PagerConfirm) => {
                if let Some(marked) = self.marked {
                    return PagerOutcome::Confirmed(marked);
                }
            }
            Some(Action::PagerFiles) => {
                if let Some(marked) = self.marked {
                    return PagerOutcome::Files(marked);
                }
            }
            Some(Action::PagerBlanks) => return PagerOutcome::Blanks,
            Some(Action::PagerLeave) => return PagerOutcome::Left,
            _ => {}
        }
        PagerOutcome::Open
    }

    /// Takes pasted text into the search that is being typed. False if none is.
    pub fn paste(&mut self, text: &str) -> bool {
        let Some(typing) = &mut self.search.typing else { return false };
        typing.extend(text.chars().filter(|it| !it.is_control()));
        true
    }

    fn scroll(&mut self, direction: isize, by: usize) {
        self.top = if direction < 0 { self.top.saturating_sub(by) } else { self.top.saturating_add(by) };
        self.follows = direction > 0 && self.top >= self.top_max();
        self.hold();
    }

    fn top_max(&self) -> usize {
        self.lines.len().saturating_sub(self.height.max(1))
    }

    fn hold(&mut self) {
        self.top = if self.follows { self.top_max() } else { self.top.min(self.top_max()) };
    }

    fn type_search(&mut self, key: Key) {
        let Some(typing) = &mut self.search.typing else {
            return;
        };
        match key.code {
            KeyCode::Esc => self.search.typing = None,
            KeyCode::Char('c') if key.mods.ctrl => self.search.typing = None,
            KeyCode::Backspace => {
                if typing.pop().is_none() {
                    self.search.typing = None;
                }
            }
            KeyCode::Enter => {
                self.search.text = std::mem::take(typing);
                self.search.typing = None;
                self.find();
                // The first place at or below the top of the page.
                self.search.at = self.search.found.iter().position(|line| *line >= self.top).unwrap_or(0);
                self.show_found(0);
            }
            _ => typing.extend(key.typed()),
        }
    }

    /// Finds the lines with the text. Case counts only if the text has an upper-case letter.
    fn find(&mut self) {
        let (text, counts_case) = (&self.search.text, self.search.text.chars().any(char::is_uppercase));
        let has = |line: &Line<'_>| {
            let line = line.to_string();
            if counts_case { line.contains(text.as_str()) } else { line.to_lowercase().contains(&text.to_lowercase()) }
        };
        let lines = self.lines.iter().enumerate().filter(|(_, line)| !text.is_empty() && has(line));
        self.search.found = lines.map(|(index, _)| index).collect();
        self.search.at = self.search.at.min(self.search.found.len().saturating_sub(1));
    }

    fn show_found(&mut self, by: isize) {
        let n = self.search.found.len();
        if n == 0 {
            return;
        }
        self.search.at = (self.search.at + n).saturating_add_signed(by) % n;
        self.follows = false;
        self.top = self.search.found[self.search.at].saturating_sub(self.height / 3);
        self.hold();
    }

    /// Draws the page: a title, the text, and a row with the place in the text or the search.
    pub fn draw(&mut self, width: u16, height: u16, styles: &PartStyles) -> Drawn {
        self.fit(width);
        let n_rows = usize::from(height);
        let n_frame = if n_rows >= 3 { 2 } else { 0 };
        self.height = (n_rows - n_frame.min(n_rows)).max(1);
        self.hold();
        let dim = styles.dim.add_modifier(Modifier::DIM);
        let mut lines = Vec::with_capacity(n_rows);
        if n_frame > 0 {
            lines.push(Line::styled(format!("── {} ", self.title), dim));
        }
        for index in self.top..(self.top + self.height).min(self.lines.len()) {
            lines.push(self.line(index, styles));
        }
        if n_frame > 0 || self.search.typing.is_some() {
            lines.resize(n_rows.saturating_sub(1), Line::styled("~", dim));
            lines.push(self.last_row(dim));
        }
        lines.truncate(n_rows.max(1));
        let cursor = self.search.typing.as_ref().map(|typing| {
            let x = Span::raw(typing.as_str()).width() + 1;
            (u16::try_from(x).unwrap_or(u16::MAX).min(width.saturating_sub(1)), height.saturating_sub(1))
        });
        Drawn { lines, cursor }
    }

    fn line(&self, index: usize, styles: &PartStyles) -> Line<'static> {
        let mut line = self.lines[index].clone();
        let start = self.marked.map(|marked| self.messages[marked]);
        let end = self.marked.and_then(|marked| self.messages.get(marked + 1)).copied().unwrap_or(usize::MAX);
        if start == Some(index) || (start.is_some_and(|start| start < index) && index < end && is_indented(&line)) {
            line.style = line.style.add_modifier(Modifier::REVERSED);
        }
        if self.search.found.get(self.search.at) == Some(&index) {
            line.style = line.style.patch(styles.accent).add_modifier(Modifier::BOLD);
        }
        line
    }

    fn last_row(&self, style: Style) -> Line<'static> {
        if let Some(typing) = &self.search.typing {
            return Line::raw(format!("/{typing}"));
        }
        let place = match self.top_max() {
            0 => "100 %".to_owned(),
            max => format!("{} %", self.top.min(max) * 100 / max),
        };
        let search = match (self.search.text.as_str(), self.search.found.len()) {
            ("", _) => String::new(),
            (text, 0) => format!(" · `{text}` is not found"),
            (text, n) => format!(" · `{text}` {} of {n}", self.search.at + 1),
        };
        let keys = match self.marked {
            Some(_) => "enter goes back to before it · f with files · esc an older one",
            None => "/ searches",
        };
        Line::styled(format!("── {place}{search} · {keys} · q leaves "), style)
    }
}

/// Whether a line continues the message above it.
fn is_indented(line: &Line<'_>) -> bool {
    line.to_string().starts_with("  ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use expect_test::Expect;
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;
    use crate::keymap::spelling::parse_key;
    use crate::keymap::table::ACTIONS;

    fn page() -> Pager {
        let lines = (0..100).map(|index| match index {
            30 => Line::raw("› first message"),
            60 => Line::raw("› Second Message"),
            index => Line::raw(format!("line {index}")),
        });
        let mut pager = Pager::at_start("PAGE", Vec::new());
        pager.set_lines(lines.collect(), vec![30, 60]);
        pager.draw(40, 12, &PartStyles::default());
        pager
    }

    /// Presses keys and checks the first line, the last row and what came of it.
    #[track_caller]
    fn check_page(keys: &str, expected: &Expect) {
        let (mut pager, keymap) = (page(), Keymap::standard());
        let mut outcome = PagerOutcome::Open;
        for key in keys.split(' ').filter(|key| !key.is_empty()) {
            outcome = pager.press(parse_key(key).unwrap(), &keymap);
        }
        let drawn = pager.draw(40, 12, &PartStyles::default());
        let last = drawn.lines.last().unwrap();
        expected.assert_eq(&format!("{}\n{last}\n{outcome:?} {:?}\n", drawn.lines[1], pager.marked()));
    }

    #[test]
    fn keys_scroll_by_line_half_page_and_page() {
        check_page(
            "down j up k down",
            &expect![[r#"
                line 1
                ── 1 % · / searches · q leaves 
                Open None
            "#]],
        );
        check_page(
            "page-down space ctrl-f shift-space ctrl-b page-up",
            &expect![[r#"
                line 0
                ── 0 % · / searches · q leaves 
                Open None
            "#]],
        );
        check_page(
            "ctrl-d ctrl-d ctrl-u",
            &expect![[r#"
                line 5
                ── 5 % · / searches · q leaves 
                Open None
            "#]],
        );
        check_page(
            "end home G",
            &expect![[r#"
                line 90
                ── 100 % · / searches · q leaves 
                Open None
            "#]],
        );
        check_page(
            "end g",
            &expect![[r#"
                line 0
                ── 0 % · / searches · q leaves 
                Open None
            "#]],
        );
    }

    /// Checks the rows of a text on a page.
    #[track_caller]
    fn check_text(text: &str, width: u16, expected: &Expect) {
        let mut pager = Pager::of_text("PAGE", text.lines().map(|line| Line::raw(line.to_owned())).collect());
        // The width of an earlier drawing leaves nothing behind.
        pager.draw(80, 9, &PartStyles::default());
        let lines = pager.draw(width, 9, &PartStyles::default()).lines;
        let rows = lines.iter().map(ToString::to_string).filter(|line| line != "~" && !line.starts_with("──"));
        expected.assert_eq(&rows.map(|row| format!("{row}\n")).collect::<String>());
    }

    #[test]
    fn the_lines_of_a_text_are_broken_for_the_width() {
        check_text(
            "#1  $0.02  missed: the provider has read few\n  files: one and two and three and four\nshort",
            30,
            &expect![[r#"
                #1  $0.02  missed: the
                           provider has read
                           few
                  files: one and two and three
                    and four
                short
            "#]],
        );
    }

    #[test]
    fn a_search_shows_how_many_places_it_found_and_wraps() {
        check_page(
            "/ m e s s a g e enter",
            &expect![[r#"
                line 27
                ── 30 % · `message` 1 of 2 · / searches · q leaves 
                Open None
            "#]],
        );
        check_page(
            "/ m e s s a g e enter n n",
            &expect![[r#"
                line 27
                ── 30 % · `message` 1 of 2 · / searches · q leaves 
                Open None
            "#]],
        );
        check_page(
            "/ m e s s a g e enter N",
            &expect![[r#"
                line 57
                ── 63 % · `message` 2 of 2 · / searches · q leaves 
                Open None
            "#]],
        );
        check_page(
            "/ M e s enter",
            &expect![[r#"
                line 57
                ── 63 % · `Mes` 1 of 1 · / searches · q leaves 
                Open None
            "#]],
        );
        check_page(
            "/ x y z backspace enter",
            &expect![[r#"
                line 0
                ── 0 % · `xy` is not found · / searches · q leaves 
                Open None
            "#]],
        );
        check_page(
            "/ x esc",
            &expect![[r#"
                line 0
                ── 0 % · / searches · q leaves 
                Open None
            "#]],
        );
        check_page(
            "/ x",
            &expect![[r#"
            line 0
            /x
            Open None
        "#]],
        );
    }

    #[test]
    fn messages_are_marked_and_confirmed() {
        check_page(
            "esc",
            &expect![[r#"
                line 57
                ── 63 % · enter goes back to before it · f with files · esc an older one · q leaves 
                Open Some(1)
            "#]],
        );
        check_page(
            "left left left",
            &expect![[r#"
                line 27
                ── 30 % · enter goes back to before it · f with files · esc an older one · q leaves 
                Open Some(0)
            "#]],
        );
        check_page(
            "esc esc right enter",
            &expect![[r#"
                line 57
                ── 63 % · enter goes back to before it · f with files · esc an older one · q leaves 
                Confirmed(1) Some(1)
            "#]],
        );
        check_page(
            "enter",
            &expect![[r#"
                line 0
                ── 0 % · / searches · q leaves 
                Open None
            "#]],
        );
        check_page(
            "esc esc f",
            &expect![[r#"
                line 27
                ── 30 % · enter goes back to before it · f with files · esc an older one · q leaves 
                Files(0) Some(0)
            "#]],
        );
        check_page(
            "f",
            &expect![[r#"
                line 0
                ── 0 % · / searches · q leaves 
                Open None
            "#]],
        );
    }

    #[test]
    fn the_page_is_left() {
        let mut plain = Pager::at_start("PAGE", vec![Line::raw("text")]);
        assert_eq!(plain.press(parse_key("w").unwrap(), &Keymap::standard()), PagerOutcome::Blanks);
        for key in ["q", "ctrl-t", "ctrl-c"] {
            let mut pager = page();
            assert_eq!(pager.press(parse_key(key).unwrap(), &Keymap::standard()), PagerOutcome::Left, "{key}");
        }
        let mut plain = Pager::at_start("DIFF", vec![Line::raw("x")]);
        assert_eq!(plain.press(parse_key("esc").unwrap(), &Keymap::standard()), PagerOutcome::Left);
    }

    #[test]
    fn a_page_at_its_end_follows_new_lines() {
        let mut pager = Pager::at_end("PAGE", vec![Line::raw("x"); 50]);
        pager.draw(40, 12, &PartStyles::default());
        assert_eq!(pager.top, 40);
        pager.set_lines(vec![Line::raw("x"); 60], Vec::new());
        assert_eq!(pager.top, 50);
        pager.press(parse_key("up").unwrap(), &Keymap::standard());
        pager.set_lines(vec![Line::raw("x"); 70], Vec::new());
        assert_eq!(pager.top, 49);
    }

    #[test]
    fn every_key_of_the_table_is_pressed_in_a_test() {
        let source = include_str!("pager.rs");
        let pressed: BTreeSet<&str> = source.split(['"', ' ']).collect();
        let keys = ACTIONS.iter().filter(|row| row.place == Place::Pager).flat_map(|row| row.keys);
        assert_eq!(keys.filter(|key| !pressed.contains(**key)).collect::<Vec<_>>(), Vec::<&&str>::new());
    }

    proptest! {
        #[test]
        fn any_keys_leave_a_page_that_can_be_drawn(keys in proptest::collection::vec(0..ACTIONS.len(), 0..40), n in 0usize..80, width in 0u16..60, height in 0u16..20) {
            let keymap = Keymap::standard();
            let mut pager = Pager::at_end("PAGE", vec![Line::raw("text"); n]);
            pager.set_lines(vec![Line::raw("text"); n], (0..n).step_by(7).collect());
            for key in keys {
                for key in ACTIONS[key].keys {
                    pager.press(parse_key(key).unwrap(), &keymap);
                }
                let drawn = pager.draw(width, height, &PartStyles::default());
                prop_assert!(drawn.lines.len() <= usize::from(height).max(1));
            }
        }
    }
}
