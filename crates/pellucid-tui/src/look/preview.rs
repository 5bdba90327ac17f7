//! The page with the bytes of the next request: as a tree or as they are sent, with what the last request did not have
//! marked.

use std::ops::Range;

use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;
use similar::Algorithm;
use similar::DiffTag;
use similar::capture_diff_slices;

use crate::key::Key;
use crate::keymap::Keymap;
use crate::keymap::table::Action;
use crate::keymap::table::Place;
use crate::look::report::RequestPreview;
use crate::pager::Pager;
use crate::pager::PagerOutcome;
use crate::text::clean;
use crate::text::palette::Palette;
use crate::text::width::beginning;

/// With more changed lines than this, all of them count as changed and none are paired.
const COMPARED_MAX: usize = 4_000;

/// What a key on the page asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreviewOutcome {
    /// The page stays open.
    Open,
    /// The person left the page.
    Left,
    /// Why the text at this byte is there.
    Why(usize),
}

/// How the bytes are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Tree,
    Raw,
}

/// The page with the bytes of a request.
#[derive(Debug)]
pub struct PreviewPage {
    preview: RequestPreview,
    form: Form,
    pub(crate) pager: Pager,
    /// The byte that each line begins with.
    places: Vec<usize>,
}

/// A line of a body as a tree: its bytes, and how far it is indented.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TreeLine {
    bytes: Range<usize>,
    depth: usize,
}

impl PreviewPage {
    /// A page that shows the body as a tree.
    pub fn new(preview: RequestPreview, columns: usize, palette: &Palette) -> Self {
        let pager = Pager::at_start(preview.heading.clone(), Vec::new());
        let mut page = Self { preview, form: Form::Tree, pager, places: Vec::new() };
        page.fill(columns, palette);
        page
    }

    /// The bytes of the request.
    pub fn body(&self) -> &str {
        &self.preview.body
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key, keymap: &Keymap, columns: usize, palette: &Palette) -> PreviewOutcome {
        match keymap.action(Place::Bytes, key) {
            Some(Action::BytesForm) if !self.pager.is_typing() => {
                self.form = if self.form == Form::Tree { Form::Raw } else { Form::Tree };
                self.pager = Pager::at_start(self.preview.heading.clone(), Vec::new());
                self.fill(columns, palette);
                PreviewOutcome::Open
            }
            Some(Action::BytesWhy) if !self.pager.is_typing() => {
                let place = self.places.get(self.pager.place()).copied();
                place.map_or(PreviewOutcome::Open, PreviewOutcome::Why)
            }
            _ => match self.pager.press(key, keymap) {
                PagerOutcome::Left => PreviewOutcome::Left,
                _ => PreviewOutcome::Open,
            },
        }
    }

    /// Makes the lines again, because the size changed.
    pub fn fill(&mut self, columns: usize, palette: &Palette) {
        let (lines, places) = match self.form {
            Form::Tree => self.tree_lines(columns, palette),
            Form::Raw => self.raw_lines(columns, palette),
        };
        self.places = places;
        self.pager.set_lines(lines, Vec::new());
    }

    fn tree_lines(&self, columns: usize, palette: &Palette) -> (Vec<Line<'static>>, Vec<usize>) {
        let body = &self.preview.body;
        let new = tree(body);
        let mut drawing = Drawing { columns, lines: Vec::new(), places: Vec::new() };
        let Some(last) = &self.preview.last else {
            for line in &new {
                drawing.add(' ', &body[line.bytes.clone()], line.depth, line.bytes.start, Style::new());
            }
            return (drawing.lines, drawing.places);
        };
        let old = tree(last);
        let texts = |of: &[TreeLine], text: &str| -> Vec<String> {
            of.iter().map(|line| text[line.bytes.clone()].to_owned()).collect()
        };
        let (old_texts, new_texts) = (texts(&old, last), texts(&new, body));
        for (tag, before, after) in changes(&old_texts, &new_texts) {
            let place = new.get(after.start).map_or(body.len(), |line| line.bytes.start);
            if tag != DiffTag::Equal {
                for line in &old[before] {
                    drawing.add('-', &last[line.bytes.clone()], line.depth, place, palette.removed());
                }
            }
            let (mark, style) = if tag == DiffTag::Equal { (' ', Style::new()) } else { ('+', palette.added()) };
            for line in &new[after] {
                drawing.add(mark, &body[line.bytes.clone()], line.depth, line.bytes.start, style);
            }
        }
        (drawing.lines, drawing.places)
    }

    fn raw_lines(&self, columns: usize, palette: &Palette) -> (Vec<Line<'static>>, Vec<usize>) {
        let body = &self.preview.body;
        let new = self.preview.last.as_ref().map_or(0..0, |last| differing(last, body));
        let (mut lines, mut places) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < body.len() {
            let taken = beginning(&body[at..], columns.max(2)).0.len().max(1);
            let end = (at + taken..=body.len()).find(|end| body.is_char_boundary(*end)).unwrap_or(body.len());
            let mut spans = Vec::new();
            for (range, style) in
                [(at..end.min(new.start.max(at)), Style::new()), (new.start.max(at)..new.end.min(end), palette.added())]
            {
                if range.start < range.end {
                    spans.push(Span::styled(clean::visible_line(&body[range]).into_owned(), style));
                }
            }
            let rest = new.end.max(at).max(new.start.min(end)).min(end);
            let rest = if new.start >= end { end } else { rest };
            if rest < end {
                spans.push(Span::raw(clean::visible_line(&body[rest..end]).into_owned()));
            }
            lines.push(Line::from(spans));
            places.push(at);
            at = end;
        }
        (lines, places)
    }
}

/// Lines that are being made at a width.
struct Drawing {
    columns: usize,
    lines: Vec<Line<'static>>,
    places: Vec<usize>,
}

impl Drawing {
    /// Adds a line of a tree, in as many lines as it takes.
    fn add(&mut self, mark: char, text: &str, depth: usize, place: usize, style: Style) {
        let indent = 2 * depth.min(self.columns / 8);
        let room = self.columns.saturating_sub(2 + indent).max(8);
        let (mut rest, mut at) = (text, 0);
        loop {
            let (start, _) = beginning(rest, room);
            let taken = if start.is_empty() { rest.chars().next().map_or(0, char::len_utf8) } else { start.len() };
            let words = clean::visible_line(&rest[..taken]).into_owned();
            self.lines.push(Line::styled(format!("{mark} {}{words}", " ".repeat(indent)), style));
            self.places.push(place + if mark == '-' { 0 } else { at });
            at += taken;
            rest = &rest[taken..];
            if rest.is_empty() {
                break;
            }
        }
    }
}

/// The bytes of a body that the last one does not have: what is between the beginning and the end that both share.
fn differing(last: &str, body: &str) -> Range<usize> {
    let head = last.bytes().zip(body.bytes()).take_while(|(one, two)| one == two).count();
    let most = last.len().min(body.len()) - head;
    let tail = last.bytes().rev().zip(body.bytes().rev()).take(most).take_while(|(one, two)| one == two).count();
    let start = (0..=head).rev().find(|at| body.is_char_boundary(*at)).unwrap_or(0);
    let end = (body.len() - tail..=body.len()).find(|at| body.is_char_boundary(*at)).unwrap_or(body.len());
    start..end
}

/// What became of the lines: the same, removed, added.
fn changes(old: &[String], new: &[String]) -> Vec<(DiffTag, Range<usize>, Range<usize>)> {
    let head = old.iter().zip(new).take_while(|(one, two)| one == two).count();
    let most = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(one, two)| one == two).count();
    let (old_middle, new_middle) = (head..old.len() - tail, head..new.len() - tail);
    let mut all = vec![(DiffTag::Equal, 0..head, 0..head)];
    if old_middle.len() > COMPARED_MAX || new_middle.len() > COMPARED_MAX {
        all.push((DiffTag::Replace, old_middle, new_middle));
    } else {
        for op in capture_diff_slices(Algorithm::Myers, &old[old_middle], &new[new_middle]) {
            let (tag, before, after) = op.as_tag_tuple();
            all.push((tag, before.start + head..before.end + head, after.start + head..after.end + head));
        }
    }
    all.push((DiffTag::Equal, old.len() - tail..old.len(), new.len() - tail..new.len()));
    all
}

/// Takes a JSON text apart into lines: one for each member, and one for each line of a text. Every byte is in one line.
fn tree(body: &str) -> Vec<TreeLine> {
    let bytes = body.as_bytes();
    let mut lines: Vec<TreeLine> = Vec::new();
    let (mut start, mut depth, mut line_depth) = (0, 0_usize, 0);
    let (mut is_string, mut is_escape) = (false, false);
    let mut cut = |start: &mut usize, end: usize, depth: usize| {
        if end > *start {
            lines.push(TreeLine { bytes: *start..end, depth });
            *start = end;
        }
    };
    for (at, byte) in bytes.iter().enumerate() {
        if is_string {
            match byte {
                b'n' if is_escape => {
                    is_escape = false;
                    cut(&mut start, at + 1, line_depth);
                    line_depth = depth + 1;
                }
                _ if is_escape => is_escape = false,
                b'\\' => is_escape = true,
                b'"' => is_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => is_string = true,
            b'{' | b'[' => {
                depth += 1;
                let is_empty = matches!(bytes.get(at + 1), Some(b'}' | b']'));
                if !is_empty {
                    cut(&mut start, at + 1, line_depth);
                    line_depth = depth;
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                let is_empty = at > 0 && matches!(bytes[at - 1], b'{' | b'[');
                if !is_empty {
                    cut(&mut start, at, line_depth);
                    line_depth = depth;
                }
            }
            b',' => {
                cut(&mut start, at + 1, line_depth);
                line_depth = depth;
            }
            _ => {}
        }
    }
    cut(&mut start, bytes.len(), line_depth);
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    fn shown(last: Option<&str>, body: &str, form: Form) -> String {
        let preview = RequestPreview { heading: String::new(), body: body.to_owned(), last: last.map(str::to_owned) };
        let mut page = PreviewPage::new(preview, 60, &Palette::plain());
        page.form = form;
        let (lines, places) = match form {
            Form::Tree => page.tree_lines(60, &Palette::plain()),
            Form::Raw => page.raw_lines(60, &Palette::plain()),
        };
        assert_eq!(lines.len(), places.len());
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn a_body_is_shown_as_a_tree_with_what_is_new() {
        let last = r#"{"model":"a","input":[{"role":"user","text":"one\ntwo"}],"tools":[]}"#;
        let body =
            r#"{"model":"b","input":[{"role":"user","text":"one\ntwo"},{"role":"user","text":"three"}],"tools":[]}"#;
        expect![[r#"
              {
            -   "model":"a",
            +   "model":"b",
                "input":[
                  {
                    "role":"user",
                    "text":"one\n
                      two"
            +     },
            +     {
            +       "role":"user",
            +       "text":"three"
                  }
                ],
                "tools":[]
              }
        "#]]
        .assert_eq(&shown(Some(last), body, Form::Tree));
    }

    proptest! {
        /// Every byte of any body is in the tree and in the raw form, once and in order.
        #[test]
        fn nothing_of_a_body_is_left_out(body in "[ -~äß語]{0,300}", last in "[ -~äß語]{0,300}") {
            let lines = tree(&body);
            let joined: String = lines.iter().map(|line| &body[line.bytes.clone()]).collect();
            prop_assert_eq!(&joined, &body);
            prop_assert_eq!(shown(None, &body, Form::Raw).replace('\n', ""), body.clone());
            prop_assert_eq!(shown(Some(&last), &body, Form::Raw).replace('\n', ""), body.clone());
            let tree = shown(Some(&last), &body, Form::Tree);
            let kept: HashSet<char> = tree.chars().collect();
            prop_assert!(body.chars().all(|char| kept.contains(&char)));
        }
    }
}
