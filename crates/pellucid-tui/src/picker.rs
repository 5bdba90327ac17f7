//! The list of sessions: sorting, searching, and choosing one to continue.

use pellucid_engine::visible::visible;
use ratatui_core::style::Modifier;
use ratatui_core::text::Line;
use ratatui_core::text::Span;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::composer::drawing::Drawn;
use crate::composer::drawing::PartStyles;
use crate::key::Key;
use crate::keymap::Keymap;
use crate::keymap::table::Action;
use crate::keymap::table::Place;

/// The title has at least so many columns, if the terminal has them.
const TITLE_COLUMNS_MIN: usize = 28;

/// A session that can be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PickerRow {
    /// The id of the session.
    pub id: String,
    /// The session's name, or else its first message.
    pub title: String,
    /// When it began, in seconds since 1970.
    pub created: i64,
    /// When it was used last, in seconds since 1970.
    pub updated: i64,
    /// The branch that was checked out; empty if none is known.
    pub branch: String,
    /// The folder of the session.
    pub folder: String,
}

/// The time that sessions are sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PickerSort {
    /// The newest session first.
    #[default]
    Created,
    /// The session that was used last first.
    Updated,
}

/// What a key did to the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PickerOutcome {
    /// The list stays open.
    Open,
    /// Continue this session.
    Chosen(String),
    /// Begin a new session.
    New,
    /// End the program.
    Ended,
}

/// The list of sessions.
#[derive(Debug, Clone, Default)]
pub struct Picker {
    title: String,
    rows: Vec<PickerRow>,
    sort: PickerSort,
    query: String,
    selected: usize,
    shows_folders: bool,
    /// The sessions that fit, known from the last drawing.
    height: usize,
}

impl Picker {
    /// An empty list; with `shows_folders` it has a column for the folders.
    pub fn new(title: impl Into<String>, shows_folders: bool) -> Self {
        Self { title: title.into(), shows_folders, height: 1, ..Self::default() }
    }

    /// What the list is for.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The sessions as they were loaded.
    pub fn rows(&self) -> &[PickerRow] {
        &self.rows
    }

    /// Takes the sessions that can be chosen.
    pub fn loaded(&mut self, rows: Vec<PickerRow>) {
        self.rows = rows;
        self.sort();
    }

    fn sort(&mut self) {
        let time = |row: &PickerRow| match self.sort {
            PickerSort::Created => row.created,
            PickerSort::Updated => row.updated,
        };
        self.rows.sort_by_key(|row| std::cmp::Reverse(time(row)));
    }

    /// Takes pasted text into the search.
    pub fn paste(&mut self, text: &str) {
        self.query.extend(text.chars().filter(|it| !it.is_control()));
        self.selected = 0;
    }

    /// The sessions that match the search: by a part of what the list shows of them, or by the beginning of their id.
    fn matching(&self) -> Vec<&PickerRow> {
        let query = self.query.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&query);
        let is_match = |row: &&PickerRow| {
            has(&row.title)
                || has(&row.branch)
                || (self.shows_folders && has(&row.folder))
                || row.id.starts_with(&query)
        };
        self.rows.iter().filter(is_match).collect()
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key, keymap: &Keymap) -> PickerOutcome {
        let n = self.matching().len();
        match keymap.action(Place::Picker, key) {
            Some(Action::PickerUp) => self.selected = self.selected.saturating_sub(1),
            Some(Action::PickerDown) => self.selected += 1,
            Some(Action::PickerPageUp) => self.selected = self.selected.saturating_sub(self.height),
            Some(Action::PickerPageDown) => self.selected += self.height,
            Some(Action::PickerErase) => {
                self.query.pop();
                self.selected = 0;
            }
            Some(Action::PickerSort) => {
                self.sort = match self.sort {
                    PickerSort::Created => PickerSort::Updated,
                    PickerSort::Updated => PickerSort::Created,
                };
                self.sort();
                self.selected = 0;
            }
            Some(Action::PickerTake) => {
                let chosen = self.matching().get(self.selected).map(|row| row.id.clone());
                return chosen.map_or(PickerOutcome::Open, PickerOutcome::Chosen);
            }
            Some(Action::PickerNew) => return PickerOutcome::New,
            Some(Action::PickerEnd) => return PickerOutcome::Ended,
            _ => {
                if let Some(char) = key.typed() {
                    self.query.push(char);
                    self.selected = 0;
                }
            }
        }
        self.selected = self.selected.min(n.saturating_sub(1));
        PickerOutcome::Open
    }

    /// Draws the list; `now` is in seconds since 1970.
    pub fn draw(&mut self, width: u16, height: u16, now: i64, styles: &PartStyles) -> Drawn {
        const N_FRAME: usize = 5;
        let dim = styles.dim.add_modifier(Modifier::DIM);
        self.height = usize::from(height).saturating_sub(N_FRAME).max(1);
        let sort = match self.sort {
            PickerSort::Created => "created",
            PickerSort::Updated => "updated",
        };
        let query =
            if self.query.is_empty() { Line::styled("type to search", dim) } else { Line::raw(self.query.clone()) };
        let head =
            Line::from(vec![Span::raw(self.title.clone()), Span::styled(format!("  sorted by time {sort}"), dim)]);
        let mut lines = vec![head, query, self.columns_line(usize::from(width))];
        let rows = self.matching();
        let selected = self.selected.min(rows.len().saturating_sub(1));
        let first = (selected + 1).saturating_sub(self.height);
        for (index, row) in rows.iter().enumerate().skip(first).take(self.height) {
            lines.push(self.row_line(row, index == selected, usize::from(width), now, styles));
        }
        if rows.is_empty() {
            let text = match self.rows.is_empty() {
                true => "no sessions yet",
                false => "no session matches; `pellucid sessions grep TEXT` searches what was said",
            };
            lines.push(Line::styled(format!("  {text}"), dim));
        }
        lines.push(Line::default());
        lines.push(Line::styled("enter continues · esc begins a new session · tab sorts · ctrl-c ends", dim));
        lines.truncate(usize::from(height).max(1));
        Drawn { lines, cursor: None }
    }

    /// The columns before the title. On a narrow terminal the title needs the room more than they do.
    fn columns(&self, width: usize) -> Vec<PickerColumn> {
        let mut columns = vec![PickerColumn::Created, PickerColumn::Updated, PickerColumn::Branch];
        if self.shows_folders {
            columns.push(PickerColumn::Folder);
        }
        for given_up in [PickerColumn::Branch, PickerColumn::Created, PickerColumn::Folder, PickerColumn::Updated] {
            let n_used: usize = columns.iter().map(|column| column.width()).sum();
            if n_used + TITLE_COLUMNS_MIN <= width {
                break;
            }
            columns.retain(|column| *column != given_up);
        }
        columns
    }

    fn columns_line(&self, width: usize) -> Line<'static> {
        let names: String = self.columns(width).iter().map(|it| column(it.name(), it.width())).collect();
        Line::styled(format!("  {names}conversation"), Modifier::DIM)
    }

    fn row_line(&self, row: &PickerRow, is_marked: bool, width: usize, now: i64, styles: &PartStyles) -> Line<'static> {
        let mut before = if is_marked { "> ".to_owned() } else { "  ".to_owned() };
        for it in self.columns(width) {
            let text = match it {
                PickerColumn::Created => age(row.created, now),
                PickerColumn::Updated => age(row.updated, now),
                PickerColumn::Branch => end_of(&row.branch, it.width() - 2),
                PickerColumn::Folder => end_of(&row.folder, it.width() - 2),
            };
            before += &column(&text, it.width());
        }
        let n_left = width.saturating_sub(before.width());
        let title = start_of(&visible(&row.title.replace(['\n', '\r', '\t'], " ")), n_left);
        let line = Line::from(vec![Span::raw(visible(&before).into_owned()), Span::raw(title)]);
        if is_marked { line.style(styles.accent) } else { line }
    }
}

/// A column before the title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PickerColumn {
    Created,
    Updated,
    Branch,
    Folder,
}

impl PickerColumn {
    fn width(self) -> usize {
        match self {
            Self::Created | Self::Updated => 16,
            Self::Branch | Self::Folder => 24,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Branch => "branch",
            Self::Folder => "folder",
        }
    }
}

/// A text with blanks behind it, so that it fills a column.
fn column(text: &str, columns: usize) -> String {
    let n_blanks = columns.saturating_sub(text.width()).max(1);
    format!("{text}{}", " ".repeat(n_blanks))
}

fn start_of(text: &str, columns: usize) -> String {
    let mut n_used = 0;
    let fits = |grapheme: &&str| {
        n_used += grapheme.width();
        n_used <= columns
    };
    text.graphemes(true).take_while(fits).collect()
}

fn end_of(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut n_used = 1;
    let fits = |grapheme: &&str| {
        n_used += grapheme.width();
        n_used <= columns
    };
    let mut end: Vec<&str> = text.graphemes(true).rev().take_while(fits).collect();
    end.reverse();
    format!("…{}", end.concat())
}

/// How long ago a time was.
pub fn age(then: i64, now: i64) -> String {
    let seconds = now.saturating_sub(then).max(0);
    let (number, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86400 => (seconds / 3600, "hour"),
        _ => (seconds / 86400, "day"),
    };
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{ending} ago")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::keymap::spelling::parse_key;
    use crate::keymap::table::ACTIONS;

    fn picker(n: usize) -> Picker {
        let mut picker = Picker::new("Continue a session", true);
        let row = |index: usize| PickerRow {
            id: format!("id-{index}"),
            title: format!("Message {index}\nmore"),
            created: 1000 - i64::try_from(index).unwrap() * 70,
            updated: 1000,
            branch: if index == 0 { "main".to_owned() } else { "a-very-long-name-of-a-branch".to_owned() },
            folder: format!("~/project-{index}"),
        };
        picker.loaded((0..n).map(row).collect());
        picker
    }

    #[track_caller]
    fn check_picker(keys: &str, expected: &Expect) {
        let (mut picker, keymap) = (picker(7), Keymap::standard());
        picker.draw(110, 8, 1030, &PartStyles::default());
        let mut outcome = PickerOutcome::Open;
        for key in keys.split(' ').filter(|key| !key.is_empty()) {
            outcome = picker.press(parse_key(key).unwrap(), &keymap);
        }
        let drawn = picker.draw(110, 8, 1030, &PartStyles::default());
        let mut text: String = drawn.lines.iter().map(|line| format!("{}\n", line.to_string().trim_end())).collect();
        text += &format!("{outcome:?}\n");
        expected.assert_eq(&text);
    }

    #[test]
    fn a_session_is_found_by_message_branch_folder_and_id() {
        for (typed, expected) in
            [("message 3", 1), ("MAIN", 1), ("project-2", 1), ("id-4", 1), ("d-4", 0), ("a-very", 6)]
        {
            let mut picker = picker(7);
            picker.paste(typed);
            assert_eq!(picker.matching().len(), expected, "{typed}");
        }
    }

    #[test]
    fn sessions_are_listed_marked_and_chosen() {
        check_picker(
            "",
            &expect![[r#"
            Continue a session  sorted by time created
            type to search
              created         updated         branch                  folder                  conversation
            > 30 seconds ago  30 seconds ago  main                    ~/project-0             Message 0 more
              1 minute ago    30 seconds ago  …long-name-of-a-branch  ~/project-1             Message 1 more
              2 minutes ago   30 seconds ago  …long-name-of-a-branch  ~/project-2             Message 2 more

            enter continues · esc begins a new session · tab sorts · ctrl-c ends
            Open
        "#]],
        );
        check_picker(
            "down ctrl-n up ctrl-p down enter",
            &expect![[r#"
            Continue a session  sorted by time created
            type to search
              created         updated         branch                  folder                  conversation
              30 seconds ago  30 seconds ago  main                    ~/project-0             Message 0 more
            > 1 minute ago    30 seconds ago  …long-name-of-a-branch  ~/project-1             Message 1 more
              2 minutes ago   30 seconds ago  …long-name-of-a-branch  ~/project-2             Message 2 more

            enter continues · esc begins a new session · tab sorts · ctrl-c ends
            Chosen("id-1")
        "#]],
        );
        check_picker(
            "page-down page-down page-up enter",
            &expect![[r#"
            Continue a session  sorted by time created
            type to search
              created         updated         branch                  folder                  conversation
              1 minute ago    30 seconds ago  …long-name-of-a-branch  ~/project-1             Message 1 more
              2 minutes ago   30 seconds ago  …long-name-of-a-branch  ~/project-2             Message 2 more
            > 4 minutes ago   30 seconds ago  …long-name-of-a-branch  ~/project-3             Message 3 more

            enter continues · esc begins a new session · tab sorts · ctrl-c ends
            Chosen("id-3")
        "#]],
        );
    }

    #[test]
    fn a_narrow_terminal_shows_the_title_before_other_columns() {
        let mut picker = picker(1);
        let mut shown = |width: u16| picker.draw(width, 8, 1030, &PartStyles::default()).lines[3].to_string();
        assert_eq!(shown(80), "> 30 seconds ago  ~/project-0             Message 0 more");
        assert_eq!(shown(60), "> 30 seconds ago  Message 0 more");
        assert_eq!(shown(20), "> Message 0 more");
        assert_eq!(shown(9), "> Message");
    }

    #[test]
    fn typing_narrows_the_list() {
        check_picker(
            "m E s s a g e space 3 enter",
            &expect![[r#"
            Continue a session  sorted by time created
            mEssage 3
              created         updated         branch                  folder                  conversation
            > 4 minutes ago   30 seconds ago  …long-name-of-a-branch  ~/project-3             Message 3 more

            enter continues · esc begins a new session · tab sorts · ctrl-c ends
            Chosen("id-3")
        "#]],
        );
        check_picker(
            "x y",
            &expect![[r#"
                Continue a session  sorted by time created
                xy
                  created         updated         branch                  folder                  conversation
                  no session matches; `pellucid sessions grep TEXT` searches what was said

                enter continues · esc begins a new session · tab sorts · ctrl-c ends
                Open
            "#]],
        );
        check_picker(
            "x backspace ctrl-h",
            &expect![[r#"
            Continue a session  sorted by time created
            type to search
              created         updated         branch                  folder                  conversation
            > 30 seconds ago  30 seconds ago  main                    ~/project-0             Message 0 more
              1 minute ago    30 seconds ago  …long-name-of-a-branch  ~/project-1             Message 1 more
              2 minutes ago   30 seconds ago  …long-name-of-a-branch  ~/project-2             Message 2 more

            enter continues · esc begins a new session · tab sorts · ctrl-c ends
            Open
        "#]],
        );
    }

    #[test]
    fn the_list_is_sorted_again_and_left() {
        check_picker(
            "tab",
            &expect![[r#"
                Continue a session  sorted by time updated
                type to search
                  created         updated         branch                  folder                  conversation
                > 30 seconds ago  30 seconds ago  main                    ~/project-0             Message 0 more
                  1 minute ago    30 seconds ago  …long-name-of-a-branch  ~/project-1             Message 1 more
                  2 minutes ago   30 seconds ago  …long-name-of-a-branch  ~/project-2             Message 2 more

                enter continues · esc begins a new session · tab sorts · ctrl-c ends
                Open
            "#]],
        );
        check_picker(
            "esc",
            &expect![[r#"
            Continue a session  sorted by time created
            type to search
              created         updated         branch                  folder                  conversation
            > 30 seconds ago  30 seconds ago  main                    ~/project-0             Message 0 more
              1 minute ago    30 seconds ago  …long-name-of-a-branch  ~/project-1             Message 1 more
              2 minutes ago   30 seconds ago  …long-name-of-a-branch  ~/project-2             Message 2 more

            enter continues · esc begins a new session · tab sorts · ctrl-c ends
            New
        "#]],
        );
        check_picker(
            "ctrl-d",
            &expect![[r#"
            Continue a session  sorted by time created
            type to search
              created         updated         branch                  folder                  conversation
            > 30 seconds ago  30 seconds ago  main                    ~/project-0             Message 0 more
              1 minute ago    30 seconds ago  …long-name-of-a-branch  ~/project-1             Message 1 more
              2 minutes ago   30 seconds ago  …long-name-of-a-branch  ~/project-2             Message 2 more

            enter continues · esc begins a new session · tab sorts · ctrl-c ends
            Ended
        "#]],
        );
        check_picker(
            "ctrl-c",
            &expect![[r#"
            Continue a session  sorted by time created
            type to search
              created         updated         branch                  folder                  conversation
            > 30 seconds ago  30 seconds ago  main                    ~/project-0             Message 0 more
              1 minute ago    30 seconds ago  …long-name-of-a-branch  ~/project-1             Message 1 more
              2 minutes ago   30 seconds ago  …long-name-of-a-branch  ~/project-2             Message 2 more

            enter continues · esc begins a new session · tab sorts · ctrl-c ends
            Ended
        "#]],
        );
    }

    #[test]
    fn tab_sorts_by_the_other_time_and_a_paste_is_searched_for() {
        let mut picker = picker(3);
        picker.rows[2].updated = 2000;
        let titles = |picker: &Picker| picker.matching().iter().map(|row| row.id.clone()).collect::<Vec<_>>();
        assert_eq!(picker.press(parse_key("tab").unwrap(), &Keymap::standard()), PickerOutcome::Open);
        assert_eq!(titles(&picker), ["id-2", "id-0", "id-1"]);
        picker.press(parse_key("tab").unwrap(), &Keymap::standard());
        assert_eq!(titles(&picker), ["id-0", "id-1", "id-2"]);
        picker.paste("message 1\n");
        assert_eq!(titles(&picker), ["id-1"]);
    }

    #[test]
    fn ages_have_one_unit() {
        for (seconds, text) in [
            (-5, "0 seconds ago"),
            (1, "1 second ago"),
            (59, "59 seconds ago"),
            (60, "1 minute ago"),
            (7200, "2 hours ago"),
            (86400 * 3, "3 days ago"),
        ] {
            assert_eq!(age(0, seconds), text);
        }
    }

    #[test]
    fn every_key_of_the_table_is_pressed_in_a_test() {
        let source = include_str!("picker.rs");
        let pressed: BTreeSet<&str> = source.split(['"', ' ']).collect();
        let keys = ACTIONS.iter().filter(|row| row.place == Place::Picker).flat_map(|row| row.keys);
        assert_eq!(keys.filter(|key| !pressed.contains(**key)).collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}
