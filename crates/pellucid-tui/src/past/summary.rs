//! The page with a summary on trial: what leaves, what stays, what is lost, and the summary to be edited or accepted.

use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use crate::key::Key;
use crate::keymap::Keymap;
use crate::keymap::table::Action;
use crate::keymap::table::Place;
use crate::look::dock::number;
use crate::pager::Pager;
use crate::pager::PagerOutcome;
use crate::past::SummaryView;
use crate::past::wrapped;
use crate::text::palette::Palette;
use crate::text::width::shortened;

/// What a key on the page asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SummaryOutcome {
    /// The page stays open.
    Open,
    /// The person left the page.
    Left,
    /// The person left before there was a summary.
    Interrupted,
    /// Open this summary in the editor.
    Edit(String),
    /// Put this summary in place of the history.
    Store {
        /// The summary in its own words.
        summary: String,
        /// Whether the person changed it.
        is_edited: bool,
    },
    /// The provider sealed the summary: have it make one again, for the history.
    Compact,
}

/// The page with a summary on trial.
#[derive(Debug)]
pub struct SummaryPage {
    /// What the summary would do; absent until the model wrote one.
    view: Option<Box<SummaryView>>,
    is_edited: bool,
    /// The keys of the page, for its title.
    keys: String,
    pub(crate) pager: Pager,
}

impl SummaryPage {
    /// A page that waits for the summary.
    pub fn waiting(keys: String, columns: usize, palette: &Palette) -> Self {
        let pager = Pager::at_start(String::new(), Vec::new());
        let mut page = Self { view: None, is_edited: false, keys, pager };
        page.fill(columns, palette);
        page
    }

    /// The summary is there, or an edited one was judged.
    pub fn show(&mut self, view: Box<SummaryView>, columns: usize, palette: &Palette) {
        self.view = Some(view);
        self.fill(columns, palette);
    }

    /// The person changed the summary, and the page waits for what it would do now.
    pub fn edited(&mut self) {
        self.is_edited = true;
    }

    /// Whether there is a summary.
    pub fn has_summary(&self) -> bool {
        self.view.is_some()
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key, keymap: &Keymap) -> SummaryOutcome {
        let action = keymap.action(Place::Summary, key).filter(|_| !self.pager.is_typing());
        let view = self.view.as_deref();
        match (action, view.map(|view| view.summary.clone())) {
            (Some(Action::SummaryStore), Some(Some(summary))) => {
                SummaryOutcome::Store { summary, is_edited: self.is_edited }
            }
            (Some(Action::SummaryStore), Some(None)) => SummaryOutcome::Compact,
            (Some(Action::SummaryEdit), Some(Some(summary))) => SummaryOutcome::Edit(summary),
            _ => match self.pager.press(key, keymap) {
                PagerOutcome::Left if view.is_none() => SummaryOutcome::Interrupted,
                PagerOutcome::Left => SummaryOutcome::Left,
                _ => SummaryOutcome::Open,
            },
        }
    }

    /// Makes the lines again, because the size changed.
    pub fn fill(&mut self, columns: usize, palette: &Palette) {
        let title = match (&self.view, self.is_edited) {
            (None, _) => "A summary on trial".to_owned(),
            (Some(_), false) => format!("A summary on trial ── {}", self.keys),
            (Some(_), true) => format!("Your summary on trial ── {}", self.keys),
        };
        let lines = match &self.view {
            None => vec![Line::from("The model is writing a summary. Nothing changes before you accept it.")],
            Some(view) => lines(view, columns, palette),
        };
        self.pager.retitle(title);
        self.pager.set_lines(lines, Vec::new());
    }
}

/// What a summary does, for a page: what is lost first, because that decides.
pub fn lines(view: &SummaryView, columns: usize, palette: &Palette) -> Vec<Line<'static>> {
    let (before, after) = view.tokens;
    let mut lines = vec![Line::from(format!("{} tokens before, {} after", number(before), number(after)))];
    let head = |lines: &mut Vec<Line<'static>>, words: String| {
        lines.push(Line::default());
        lines.push(Line::from(Span::styled(words, palette.bold())));
    };
    match (&view.summary, view.lost.is_empty()) {
        (None, _) => head(&mut lines, "The provider sealed the summary: what it leaves out is not known".to_owned()),
        (Some(_), true) => head(&mut lines, "Nothing that is looked for is missing from the summary".to_owned()),
        (Some(_), false) => {}
    }
    for lost in view.lost.iter().filter(|_| view.summary.is_some()) {
        head(&mut lines, format!("Lost {}: {}", lost.kind, number(lost.facts.len())));
        for fact in &lost.facts {
            lines.extend(wrapped(fact, columns, 2, palette.removed()));
        }
    }
    if let Some(summary) = &view.summary {
        head(&mut lines, "Summary".to_owned());
        lines.extend(wrapped(summary, columns, 2, Style::new()));
    }
    for (title, items) in [("Leaves", &view.leaves), ("Stays", &view.stays)] {
        head(&mut lines, format!("{title}: {} (item, tokens)", number(items.len())));
        lines.extend(items.iter().map(|item| Line::styled(shortened(&format!("  {item}"), columns), palette.dim())));
    }
    lines
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::composer::drawing::PartStyles;
    use crate::keymap::spelling::parse_key;
    use crate::keymap::table::ACTIONS;
    use crate::past::LostFacts;

    fn view() -> Box<SummaryView> {
        Box::new(SummaryView {
            tokens: (12_345, 2_345),
            leaves: vec!["3  120  message assistant  I read it.".to_owned()],
            stays: vec!["1  10  message user  read it".to_owned()],
            summary: Some("We read a file.".to_owned()),
            lost: vec![LostFacts { kind: "paths".to_owned(), facts: vec!["src/port.rs".to_owned()] }],
        })
    }

    fn page() -> SummaryPage {
        let mut page = SummaryPage::waiting("enter accepts".to_owned(), 60, &Palette::plain());
        page.show(view(), 60, &Palette::plain());
        page
    }

    fn press(page: &mut SummaryPage, key: &str) -> SummaryOutcome {
        page.press(parse_key(key).unwrap(), &Keymap::standard())
    }

    #[test]
    fn what_is_lost_comes_first() {
        let drawn = page().pager.draw(60, 18, &PartStyles::default());
        let text: String = drawn.lines.iter().map(|line| format!("{}\n", line.to_string().trim_end())).collect();
        expect![[r#"
            ── A summary on trial ── enter accepts
            12,345 tokens before, 2,345 after

            Lost paths: 1
              src/port.rs

            Summary
              We read a file.

            Leaves: 1 (item, tokens)
              3  120  message assistant  I read it.

            Stays: 1 (item, tokens)
              1  10  message user  read it
            ~
            ~
            ~
            ── 100 % · / searches · q leaves
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn every_key_of_the_page_does_something() {
        for row in ACTIONS.iter().filter(|row| row.place == Place::Summary) {
            for key in row.keys {
                let expected = match row.action {
                    Action::SummaryStore => {
                        SummaryOutcome::Store { summary: "We read a file.".to_owned(), is_edited: false }
                    }
                    _ => SummaryOutcome::Edit("We read a file.".to_owned()),
                };
                assert_eq!(press(&mut page(), key), expected, "{key}");
            }
        }
        assert_eq!(press(&mut page(), "q"), SummaryOutcome::Left);
        assert_eq!(press(&mut page(), "down"), SummaryOutcome::Open);
    }

    #[test]
    fn before_there_is_a_summary_only_leaving_does_something() {
        let waiting = || SummaryPage::waiting(String::new(), 60, &Palette::plain());
        assert_eq!(press(&mut waiting(), "enter"), SummaryOutcome::Open);
        assert_eq!(press(&mut waiting(), "ctrl-g"), SummaryOutcome::Open);
        assert_eq!(press(&mut waiting(), "esc"), SummaryOutcome::Interrupted);
    }

    #[test]
    fn a_sealed_summary_can_only_be_made_again() {
        let mut page = page();
        page.show(Box::new(SummaryView { summary: None, ..*view() }), 60, &Palette::plain());
        assert_eq!(press(&mut page, "enter"), SummaryOutcome::Compact);
        assert_eq!(press(&mut page, "e"), SummaryOutcome::Open);
        let text: Vec<String> = lines(&SummaryView { summary: None, ..*view() }, 80, &Palette::plain())
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(text[2], "The provider sealed the summary: what it leaves out is not known");
        assert!(!text.iter().any(|line| line.starts_with("Lost")), "{text:?}");
    }
}
