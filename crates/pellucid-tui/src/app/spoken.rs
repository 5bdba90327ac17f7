//! The client for a screen reader: finished cells, questions and pages as plain lines, each written once, and typed lines as
//! answers.
//!
//! A typed line is what keys are in the drawn client: with a question open it is the number or the letter of an answer,
//! otherwise it is a message or a command. A line that answers nothing becomes the draft, and an empty line sends the draft.

use std::time::Duration;

use super::App;
use super::Effect;
use super::messages::joined;
use super::pages::OpenPage;
use crate::cells::spoken::without_mark;
use crate::composer::draft::Clip;
use crate::key::Key;
use crate::key::KeyCode;
use crate::keymap::spelling::parse_key;
use crate::lists::options::GRACE;
use crate::lists::options::OptionList;
use crate::text::clean;

/// What a line is typed behind.
const PROMPT: &str = "> ";

/// Questions and pages are drawn this wide and high, so that nothing of them is left out.
const COLUMNS: u16 = 400;
const ROWS: u16 = 5_000;

/// What was written so far.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    /// The cells of the transcript that were written.
    n_cells: usize,
    /// The question that was written last, while it is open.
    asked: Vec<String>,
    was_working: bool,
    /// Whether the prompt is the last thing that was written.
    has_prompt: bool,
}

impl App {
    /// What is new since the last call, as text to write; empty if nothing is.
    pub fn spoken(&mut self) -> String {
        self.take_history();
        let mut lines = Vec::new();
        let n_cells = self.transcript.cells().len();
        if n_cells < self.session.spoken.n_cells {
            lines.push("Went back; what was said after that is forgotten.".to_owned());
        } else {
            lines.extend(
                self.transcript.cells()[self.session.spoken.n_cells..]
                    .iter()
                    .flat_map(crate::cells::TranscriptCell::spoken),
            );
        }
        self.session.spoken.n_cells = n_cells;
        lines.extend(self.spoken_page());
        let is_working = self.session.is_working();
        if std::mem::replace(&mut self.session.spoken.was_working, is_working) != is_working {
            lines.push(if is_working { "Working." } else { "Ready." }.to_owned());
        }
        let asked = self.spoken_question();
        if asked != self.session.spoken.asked {
            lines.extend(asked.iter().cloned());
            self.session.spoken.asked = asked;
        }
        // Before the session is ready and after its end there is nothing to type.
        let is_ready = self.session.configured.is_some() && !self.is_ending;
        if lines.is_empty() && (self.session.spoken.has_prompt || !is_ready) {
            return String::new();
        }
        // A prompt that waits for a line ends before other text begins.
        let end = if self.session.spoken.has_prompt && !lines.is_empty() { "\n" } else { "" };
        self.session.spoken.has_prompt = is_ready;
        let text: String = lines.iter().map(|line| format!("{}\n", printable(line))).collect();
        format!("{end}{text}{}", if is_ready { PROMPT } else { "" })
    }

    /// The lines of a page, which is closed.
    fn spoken_page(&mut self) -> Vec<String> {
        if matches!(self.page, Some(OpenPage::Sessions(_))) {
            self.page = None;
            return vec!["Run `pellucid resume --screen-reader` to choose a session.".to_owned()];
        }
        if self.page.is_none() {
            return Vec::new();
        }
        self.size.columns = COLUMNS;
        self.refresh_page();
        let drawn = self.page_view(ROWS);
        self.page = None;
        let shown = drawn.lines.iter().map(ToString::to_string).filter(|line| line.trim() != "~");
        let lines: Vec<String> = shown.map(|line| without_rule(&line)).collect();
        let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        lines.into_iter().take(end).filter(|line| !line.contains("q leaves")).collect()
    }

    /// The open question with its options; empty if nothing is asked.
    fn spoken_question(&mut self) -> Vec<String> {
        let is_asked = self.asking.is_open() || self.menu.is_some() || self.field.is_some() || self.waiting.is_some();
        if !is_asked {
            return Vec::new();
        }
        let drawn = match &self.waiting {
            Some(_) if !self.asking.is_open() && self.menu.is_none() => self.queue_rows(),
            _ => self.bottom(COLUMNS, ROWS).lines,
        };
        let lines = drawn.iter().map(|line| without_mark(&line.to_string())).filter(|line| !line.is_empty());
        let mut lines: Vec<String> = lines.collect();
        lines.insert(0, "Question:".to_owned());
        lines.push("Type the number or the letter of an answer, or esc.".to_owned());
        lines
    }

    /// Takes a typed line.
    pub fn line(&mut self, line: &str, now: Duration) -> Vec<Effect> {
        self.session.spoken.has_prompt = false;
        // The same question is written again after a line that did not answer it.
        self.session.spoken.asked.clear();
        let line = line.trim_end_matches(['\n', '\r']);
        if self.asking.is_open() || self.menu.is_some() || self.waiting.is_some() {
            return self.answer_line(line.trim(), now);
        }
        if self.field.is_some() {
            let mut effects = self.paste(line, now);
            effects.extend(self.key(Key::plain(KeyCode::Enter), now));
            return effects;
        }
        let draft = self.composer.draft().clip();
        let text = match draft.text.strip_suffix('\n') {
            // The line before ended with a backslash, so this one continues it.
            Some(_) => Clip { text: draft.text + line, pieces: draft.pieces },
            None => joined([draft, Clip::plain(line)].into_iter().filter(|it| !it.text.is_empty()).collect()),
        };
        self.composer.set_draft(text);
        self.key(Key::plain(KeyCode::Enter), now)
    }

    /// Takes a line while something is asked.
    fn answer_line(&mut self, line: &str, now: Duration) -> Vec<Effect> {
        // Only a whole line that is exactly an answer decides, so a question needs no time in which letters are a draft.
        let now = now + GRACE;
        if let Some(keys) = self.keys_of_amending(line) {
            return keys.into_iter().flat_map(|key| self.key(key, now)).collect();
        }
        let list = self.asking.approvals.open().map(|(_, list)| list).or(self.menu.as_ref().map(|menu| &menu.list));
        if let Some(list) = list {
            if let Some(keys) = keys_of_answer(line, list) {
                return keys.into_iter().flat_map(|key| self.key(key, now)).collect();
            }
        } else if let Some((_, form)) = self.asking.questions.front() {
            let is_number = !line.is_empty() && line.chars().all(|it| it.is_ascii_digit());
            if form.is_writing() {
                let typed = line.chars().map(Key::char).chain([Key::plain(KeyCode::Enter)]);
                return typed.flat_map(|key| self.key(key, now)).collect();
            }
            if is_number || line == "esc" || line == "y" {
                let keys: Vec<Key> = parse_key(line).into_iter().collect();
                return keys.into_iter().flat_map(|key| self.key(key, now)).collect();
            }
        } else if let Ok(key) = parse_key(line) {
            return self.key(key, now);
        }
        if line.is_empty() {
            return Vec::new();
        }
        self.add_to_draft(vec![Clip::plain(line)]);
        self.say_error("this is no answer; the text is your draft now, and an empty line sends it");
        Vec::new()
    }

    /// Takes Ctrl-C: a turn is interrupted, and otherwise the client ends.
    pub fn interrupt_line(&mut self, now: Duration) -> Vec<Effect> {
        self.session.spoken.has_prompt = false;
        self.composer.set_draft(Clip::default());
        self.key(Key::ctrl('c'), now)
    }
}

/// The keys that give an answer; absent if the list has no such answer.
pub(super) fn keys_of_answer(line: &str, list: &OptionList) -> Option<Vec<Key>> {
    if matches!(line, "esc" | "done") {
        return Some(vec![Key::plain(if line == "esc" { KeyCode::Esc } else { KeyCode::Enter })]);
    }
    let mut chars = line.chars();
    if let (Some(char), None) = (chars.next(), chars.next())
        && list.options().iter().any(|option| option.keys.contains(&char))
    {
        return Some(vec![Key::char(char)]);
    }
    let index = line.parse::<usize>().ok()?.checked_sub(1)?;
    let option = list.options().get(index)?;
    let n_options = list.options().len();
    let n_steps = (index + n_options - list.selected()) % n_options;
    let take = if option.is_on.is_some() { Key::char(' ') } else { Key::plain(KeyCode::Enter) };
    Some(std::iter::repeat_n(Key::plain(KeyCode::Down), n_steps).chain([take]).collect())
}

/// A row of a page without the rule that is drawn before titles.
fn without_rule(line: &str) -> String {
    let text = line.trim_start_matches('─').trim_end_matches(['─', ' ']);
    let text = if text.len() == line.trim_end().len() { text } else { text.trim_start() };
    text.to_owned()
}

/// The line without anything that a terminal would carry out.
fn printable(line: &str) -> String {
    clean::line(line).chars().filter(|it| !it.is_control()).collect()
}
