//! The page about going back to an earlier message: what would change in files, and what stays.

use std::path::Path;

use ratatui_core::text::Line;
use ratatui_core::text::Span;

use crate::cells::CellCanvas;
use crate::cells::patch::PatchCell;
use crate::cells::patch::PatchView;
use crate::key::Key;
use crate::keymap::Keymap;
use crate::keymap::table::Action;
use crate::keymap::table::Place;
use crate::look::dock::number;
use crate::pager::Pager;
use crate::pager::PagerOutcome;
use crate::past::WayBack;
use crate::past::wrapped;

/// What a key on the page asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackOutcome {
    /// The page stays open.
    Open,
    /// The person left the page.
    Left,
    /// Take the messages back, and leave files as they are.
    Conversation,
    /// Restore files, and keep the messages.
    Files,
    /// Take the messages back and restore files.
    Both,
}

/// The page about going back.
#[derive(Debug)]
pub struct BackPage {
    /// The message of the person that is gone back to, counted from 0.
    pub at: usize,
    way: Box<WayBack>,
    pub(crate) pager: Pager,
}

impl BackPage {
    /// A page about going back to before a message.
    pub fn new(at: usize, way: Box<WayBack>, keys: &str, folder: Option<&Path>, canvas: &CellCanvas) -> Self {
        let title = format!("Back to before turn {} ── {keys}", way.turn);
        let mut page = Self { at, way, pager: Pager::at_start(title, Vec::new()) };
        page.fill(folder, canvas);
        page
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key, keymap: &Keymap) -> BackOutcome {
        match keymap.action(Place::Back, key).filter(|_| !self.pager.is_typing()) {
            Some(Action::BackConversation) => BackOutcome::Conversation,
            Some(Action::BackFiles) => BackOutcome::Files,
            Some(Action::BackBoth) => BackOutcome::Both,
            _ => match self.pager.press(key, keymap) {
                PagerOutcome::Left => BackOutcome::Left,
                _ => BackOutcome::Open,
            },
        }
    }

    /// Makes the lines again, because the size changed.
    pub fn fill(&mut self, folder: Option<&Path>, canvas: &CellCanvas) {
        let palette = &canvas.palette;
        let head = |words: String| Line::from(Span::styled(words, palette.bold()));
        let mut lines = vec![match self.way.changes.len() {
            0 => head("No file would change".to_owned()),
            1 => head("1 file would change back".to_owned()),
            n => head(format!("{} files would change back", number(n))),
        }];
        if !self.way.changes.is_empty() {
            lines.extend(
                PatchCell::proposed(&self.way.changes, folder).viewed(PatchView::whole(canvas.columns), canvas),
            );
        }
        let lists = [
            ("Files that stay as they are", &self.way.kept, palette.removed()),
            ("Not undone, because only patches are", &self.way.effects, palette.dim()),
        ];
        for (title, list, style) in lists.into_iter().filter(|(_, list, _)| !list.is_empty()) {
            lines.push(Line::default());
            lines.push(head(title.to_owned()));
            lines.extend(list.iter().flat_map(|line| wrapped(line, canvas.columns, 2, style)));
        }
        self.pager.set_lines(lines, Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pellucid_protocol::change::FileChange;

    use super::*;
    use crate::composer::drawing::PartStyles;
    use crate::keymap::spelling::parse_key;
    use crate::keymap::table::ACTIONS;
    use crate::text::palette::Palette;

    fn page() -> BackPage {
        let change = FileChange::Update { unified_diff: "@@ -1 +1 @@\n-new\n+old\n".to_owned(), move_path: None };
        let way = WayBack {
            turn: 2,
            changes: [("/w/a.txt".into(), change)].into_iter().collect(),
            kept: vec!["/w/b.txt: it changed since the session wrote it".to_owned()],
            effects: vec!["turn 3  shell  make".to_owned()],
        };
        let canvas = CellCanvas { columns: 60, palette: Palette::plain() };
        BackPage::new(1, Box::new(way), "c conversation", Some(Path::new("/w")), &canvas)
    }

    #[test]
    fn the_page_lists_what_changes_what_stays_and_what_cannot_be_undone() {
        let drawn = page().pager.draw(60, 14, &PartStyles::default());
        let text: String = drawn.lines.iter().map(|line| format!("{}\n", line.to_string().trim_end())).collect();
        expect![[r#"
            ── Back to before turn 2 ── c conversation
            1 file would change back
            • Edit a.txt (+1 -1)
                1 -new
                1 +old

            Files that stay as they are
              /w/b.txt: it changed since the session wrote it

            Not undone, because only patches are
              turn 3  shell  make
            ~
            ~
            ── 100 % · / searches · q leaves
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn every_key_of_the_page_does_something() {
        for row in ACTIONS.iter().filter(|row| row.place == Place::Back) {
            let expected = match row.action {
                Action::BackConversation => BackOutcome::Conversation,
                Action::BackFiles => BackOutcome::Files,
                _ => BackOutcome::Both,
            };
            for key in row.keys {
                assert_eq!(page().press(parse_key(key).unwrap(), &Keymap::standard()), expected, "{key}");
            }
        }
        assert_eq!(page().press(parse_key("q").unwrap(), &Keymap::standard()), BackOutcome::Left);
        assert_eq!(page().press(parse_key("down").unwrap(), &Keymap::standard()), BackOutcome::Open);
    }
}
