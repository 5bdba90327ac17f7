//! Questions of the model, one at a time: options, notes, free text, and a question about those left open.

use std::time::Duration;

use pellucid_protocol::question::UserAnswer;
use pellucid_protocol::question::UserAnswers;
use pellucid_protocol::question::UserQuestion;
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
use crate::lists::options::Appeared;
use crate::lists::options::ListOption;
use crate::lists::options::OptionList;
use crate::text::clean;
use crate::text::width::shortened;
use crate::text::wrap::wrap_hanging;

/// The label of the option for an answer that is not listed.
const OTHER: &str = "None of the above";

/// What precedes a note in an answer, as the format has it.
pub const NOTE: &str = "user_note: ";

/// What a key did to the questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionOutcome {
    /// The questions stay open.
    Open,
    /// Every question was gone through.
    Answered(UserAnswers),
    /// Esc or Ctrl-C: the turn ends.
    Interrupted,
    /// The key belongs to the draft.
    Draft(Key),
}

/// The state of one question.
#[derive(Debug)]
struct Slot {
    question: UserQuestion,
    list: OptionList,
    /// The option that was chosen, counted from 0.
    chosen: Option<usize>,
    /// Free text: the answer of a question without options, else a note.
    note: String,
}

/// The questions of one call.
#[derive(Debug)]
pub struct QuestionForm {
    slots: Vec<Slot>,
    at: usize,
    is_note_open: bool,
    /// Whether the person is asked about questions without an answer.
    is_confirming: bool,
}

impl QuestionForm {
    /// A form with these questions, the first of them open.
    pub fn new(questions: &[UserQuestion], appeared: Appeared) -> Self {
        let slots: Vec<Slot> = questions.iter().map(|question| Slot::new(question.clone(), appeared)).collect();
        let is_note_open = slots.first().is_some_and(Slot::is_free);
        Self { slots, at: 0, is_note_open, is_confirming: false }
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key, now: Duration, keymap: &Keymap) -> QuestionOutcome {
        let action = keymap.action(Place::Options, key);
        if action == Some(Action::OptionAbort) {
            return QuestionOutcome::Interrupted;
        }
        let Some(slot) = self.slots.get_mut(self.at) else {
            return QuestionOutcome::Answered(UserAnswers::default());
        };
        let is_typed = key.typed().is_some() || key == Key::plain(KeyCode::Enter);
        // The field of a question without options is open from the beginning, so a sentence would be typed into it.
        let has_appeared = !self.is_note_open || slot.is_free();
        if is_typed && has_appeared && !self.is_confirming && slot.list.has_grace(now) {
            let _ = slot.list.press(key, now, keymap);
            return QuestionOutcome::Draft(key);
        }
        if self.is_confirming {
            return self.confirm(key, action);
        }
        if self.is_note_open {
            return self.write_note(key, action);
        }
        match key.code {
            KeyCode::Tab if !key.mods.shift => self.is_note_open = true,
            KeyCode::Char('j') if key.typed().is_some() => slot.list.step(1),
            KeyCode::Char('k') if key.typed().is_some() => slot.list.step(-1),
            KeyCode::Char(' ') if key.typed().is_some() => slot.chosen = Some(slot.list.selected()),
            KeyCode::Backspace | KeyCode::Delete => slot.chosen = None,
            KeyCode::Left | KeyCode::PageUp => self.go(-1),
            KeyCode::Right | KeyCode::PageDown => self.go(1),
            KeyCode::Char('h') if key.typed().is_some() => self.go(-1),
            KeyCode::Char('l') if key.typed().is_some() => self.go(1),
            KeyCode::Char('p') if key.mods.ctrl => self.go(-1),
            KeyCode::Char('n') if key.mods.ctrl => self.go(1),
            KeyCode::Char(char) if char.is_ascii_digit() && key.typed().is_some() => {
                let number = char.to_digit(10).and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1));
                if let Some(number) = number.filter(|number| *number < slot.list.options().len()) {
                    slot.chosen = Some(number);
                    return self.next();
                }
            }
            KeyCode::Up => slot.list.step(-1),
            KeyCode::Down => slot.list.step(1),
            KeyCode::Enter => {
                slot.chosen = Some(slot.list.selected());
                return self.next();
            }
            KeyCode::Esc => return QuestionOutcome::Interrupted,
            _ => {}
        }
        QuestionOutcome::Open
    }

    /// Takes text that was pasted, into the open note. False if no note is open.
    pub fn paste(&mut self, text: &str, now: Duration) -> bool {
        let open = self.slots.get_mut(self.at).filter(|slot| self.is_note_open && !slot.list.has_grace(now));
        let Some(slot) = open else { return false };
        slot.note.push_str(&text.replace(['\r', '\n'], " "));
        true
    }

    /// Whether typed text is an answer in the person's words.
    pub fn is_writing(&self) -> bool {
        self.is_note_open && !self.is_confirming
    }

    /// What the person has written, without secrets.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        let notes = self.slots.iter().filter(|slot| !slot.question.is_secret).map(|slot| slot.note.trim());
        notes.filter(|note| !note.is_empty())
    }

    fn write_note(&mut self, key: Key, action: Option<Action>) -> QuestionOutcome {
        let Some(slot) = self.slots.get_mut(self.at) else {
            return QuestionOutcome::Open;
        };
        match key.code {
            KeyCode::Enter => {
                if !slot.is_free() && slot.chosen.is_none() {
                    slot.chosen = Some(slot.list.selected());
                }
                return self.next();
            }
            KeyCode::Tab if !slot.is_free() => self.is_note_open = false,
            KeyCode::Backspace => drop(slot.note.pop()),
            _ if action == Some(Action::OptionCancel) && !slot.is_free() => self.is_note_open = false,
            _ if action == Some(Action::OptionCancel) => return QuestionOutcome::Interrupted,
            KeyCode::PageUp => self.go(-1),
            KeyCode::PageDown => self.go(1),
            _ => slot.note.extend(key.typed()),
        }
        QuestionOutcome::Open
    }

    /// The question about questions without an answer: Enter or `y` sends, anything else goes back to the first of them.
    fn confirm(&mut self, key: Key, action: Option<Action>) -> QuestionOutcome {
        self.is_confirming = false;
        let is_yes = action == Some(Action::OptionTake) || matches!(key.typed(), Some('y' | '1'));
        if is_yes {
            return QuestionOutcome::Answered(self.answers());
        }
        if let Some(open) = self.slots.iter().position(|slot| !slot.is_answered()) {
            self.show(open);
        }
        QuestionOutcome::Open
    }

    fn next(&mut self) -> QuestionOutcome {
        if self.at + 1 < self.slots.len() {
            self.go(1);
            return QuestionOutcome::Open;
        }
        if self.slots.iter().all(Slot::is_answered) {
            return QuestionOutcome::Answered(self.answers());
        }
        self.is_confirming = true;
        QuestionOutcome::Open
    }

    fn go(&mut self, by: isize) {
        let at = self.at.saturating_add_signed(by).min(self.slots.len().saturating_sub(1));
        self.show(at);
    }

    fn show(&mut self, at: usize) {
        self.at = at;
        self.is_note_open = self.slots.get(at).is_some_and(Slot::is_free);
    }

    /// What keys do.
    fn hint(&self, slot: &Slot) -> String {
        let others = if self.slots.len() > 1 { " · page-up and page-down show other questions" } else { "" };
        let keys = match (slot.is_free(), self.is_note_open) {
            (true, _) => "enter answers · esc ends the turn",
            (false, true) => "enter answers with the note · tab closes it",
            (false, false) => "enter answers · tab adds a note · esc ends the turn",
        };
        format!("  {keys}{others}")
    }

    fn answers(&self) -> UserAnswers {
        let mut answers = UserAnswers::default();
        for slot in &self.slots {
            let UserAnswer { answers: given } = slot.answer();
            // A note without a choice is no answer, but what was written is sent; so are all answers if ids are equal.
            if !given.is_empty() {
                answers.answers.entry(slot.question.id.clone()).or_default().answers.extend(given);
            }
        }
        answers
    }

    /// Draws the question that is asked.
    pub fn draw(&self, width: u16, height_max: u16, styles: &PartStyles) -> Drawn {
        let Some(slot) = self.slots.get(self.at) else {
            return Drawn::default();
        };
        let dim = styles.dim.add_modifier(Modifier::DIM);
        if self.is_confirming {
            let n_open = self.slots.iter().filter(|slot| !slot.is_answered()).count();
            let text = format!("{n_open} of {} questions have no answer. Send anyway? (y)", self.slots.len());
            return Drawn { lines: vec![Line::raw(text)], cursor: None };
        }
        let place = format!("Question {} of {}", self.at + 1, self.slots.len());
        let mut lines = vec![Line::styled(place, dim)];
        let question = clean::lines(&slot.question.question).map(|line| Line::raw(line.into_owned()));
        lines.extend(question.flat_map(|line| wrap_hanging(&line, usize::from(width).max(1))));
        let n_max = usize::from(height_max / 2).max(2);
        if lines.len() > n_max {
            let n_missing = lines.len() + 1 - n_max;
            lines.truncate(n_max - 1);
            lines.push(Line::styled(format!("  … +{n_missing} rows"), dim));
        }
        let n_left = height_max.saturating_sub(u16::try_from(lines.len()).unwrap_or(u16::MAX)).max(1);
        if !slot.is_free() {
            lines.extend(slot.list.draw(width, n_left.saturating_sub(2).max(1), styles).lines);
        }
        let mut cursor = None;
        if self.is_note_open || !slot.note.is_empty() {
            let shown =
                if slot.question.is_secret { "•".repeat(slot.note.chars().count()) } else { slot.note.clone() };
            let line = Line::from(vec![Span::styled("  note: ", dim), Span::styled(shown, Style::default())]);
            if self.is_note_open {
                let x = u16::try_from(line.width()).unwrap_or(u16::MAX).min(width.saturating_sub(1));
                cursor = Some((x, u16::try_from(lines.len()).unwrap_or(u16::MAX)));
            }
            lines.push(line);
        }
        lines.push(Line::styled(shortened(&self.hint(slot), usize::from(width)), dim));
        lines.truncate(usize::from(height_max).max(1));
        let cursor = cursor.filter(|(_, y)| usize::from(*y) < lines.len());
        Drawn { lines, cursor }
    }
}

impl Slot {
    fn new(question: UserQuestion, appeared: Appeared) -> Self {
        let choices = question.options.as_deref().unwrap_or_default();
        let mut options: Vec<ListOption> =
            choices.iter().map(|choice| ListOption::new(&choice.label).detail(&choice.description)).collect();
        if question.is_other && !options.is_empty() {
            options.push(ListOption::new(OTHER));
        }
        let list = OptionList::new(Vec::new(), options, appeared);
        Self { question, list, chosen: None, note: String::new() }
    }

    /// Whether the answer is free text.
    fn is_free(&self) -> bool {
        self.list.options().is_empty()
    }

    fn is_answered(&self) -> bool {
        if self.is_free() { !self.note.trim().is_empty() } else { self.chosen.is_some() }
    }

    fn answer(&self) -> UserAnswer {
        let chosen = self.chosen.and_then(|chosen| self.list.options().get(chosen)).map(|option| option.label.clone());
        let note = self.note.trim();
        let note = (!note.is_empty()).then(|| format!("{NOTE}{note}"));
        UserAnswer { answers: chosen.into_iter().chain(note).collect() }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::id::TurnId;
    use pellucid_protocol::question::RequestUserInput;
    use pellucid_protocol::question::UserChoice;

    use super::*;
    use crate::keymap::spelling::parse_key;

    fn request() -> RequestUserInput {
        let choice = |label: &str, description: &str| UserChoice {
            label: label.to_owned(),
            description: description.to_owned(),
        };
        let question = |id: &str, text: &str, options| UserQuestion {
            id: id.to_owned(),
            header: id.to_owned(),
            question: text.to_owned(),
            is_other: true,
            is_secret: false,
            options,
        };
        RequestUserInput {
            call_id: "call".to_owned(),
            turn_id: TurnId::new("turn"),
            questions: vec![
                question("colour", "Which colour?", Some(vec![choice("Red", "warm"), choice("Blue", "cold")])),
                question("size", "Which size?", Some(vec![choice("Small", ""), choice("Big", "")])),
                question("why", "Why?", None),
            ],
        }
    }

    #[test]
    fn questions_with_the_same_id_lose_no_answer() {
        let mut request = request();
        request.questions.iter_mut().for_each(|question| question.id = "q".to_owned());
        let (mut form, keymap) =
            (QuestionForm::new(&request.questions, Appeared::ByItself(Duration::ZERO)), Keymap::standard());
        let outcomes =
            ["1", "2", "x", "enter"].map(|key| form.press(parse_key(key).unwrap(), Duration::from_secs(5), &keymap));
        let answers = ["Red", "Big", "user_note: x"].map(str::to_owned).to_vec();
        let expected = UserAnswers { answers: [("q".to_owned(), UserAnswer { answers })].into() };
        assert_eq!(outcomes.last(), Some(&QuestionOutcome::Answered(expected)));
    }

    /// Presses keys long after the questions appeared, and checks what came of the last one, and the screen.
    #[track_caller]
    fn check_form(keys: &str, expected: &Expect) {
        let (mut form, keymap) =
            (QuestionForm::new(&request().questions, Appeared::ByItself(Duration::ZERO)), Keymap::standard());
        let mut outcome = QuestionOutcome::Open;
        for key in keys.split(' ') {
            outcome = form.press(parse_key(key).unwrap(), Duration::from_secs(5), &keymap);
        }
        let drawn = form.draw(60, 20, &PartStyles::default());
        let mut text = match outcome {
            QuestionOutcome::Answered(answers) => format!("{}\n", serde_json::to_string(&answers).unwrap()),
            other => format!("{other:?}\n"),
        };
        text.extend(drawn.lines.iter().map(|line| format!("{}\n", line.to_string().trim_end())));
        expected.assert_eq(&text);
    }

    #[test]
    fn answers_are_given_by_mark_number_and_text() {
        check_form(
            "down enter 2 b i g enter",
            &expect![[r#"
                {"answers":{"colour":{"answers":["Blue"]},"size":{"answers":["Big"]},"why":{"answers":["user_note: big"]}}}
                Question 3 of 3
                Why?
                  note: big
                  enter answers · esc ends the turn · page-up and page-down…
            "#]],
        );
    }

    #[test]
    fn a_note_is_part_of_the_answer() {
        check_form(
            "tab d a r k enter",
            &expect![[r#"
                Open
                Question 2 of 3
                Which size?
                › 1. Small
                  2. Big
                  3. None of the above
                  enter answers · tab adds a note · esc ends the turn · pag…
            "#]],
        );
        check_form(
            "tab d tab k j space l l x enter",
            &expect![[r#"
            Open
            1 of 3 questions have no answer. Send anyway? (y)
        "#]],
        );
    }

    #[test]
    fn questions_without_an_answer_are_asked_about() {
        check_form(
            "right page-down enter",
            &expect![[r#"
            Open
            3 of 3 questions have no answer. Send anyway? (y)
        "#]],
        );
        check_form(
            "right page-down enter n",
            &expect![[r#"
                Open
                Question 1 of 3
                Which colour?
                › 1. Red
                     warm
                  2. Blue
                     cold
                  3. None of the above
                  enter answers · tab adds a note · esc ends the turn · pag…
            "#]],
        );
        check_form(
            "right page-down enter y",
            &expect![[r#"
                {"answers":{}}
                Question 3 of 3
                Why?
                  note:
                  enter answers · esc ends the turn · page-up and page-down…
            "#]],
        );
    }

    #[test]
    fn escape_closes_a_note_and_then_ends_the_turn() {
        check_form(
            "tab x esc",
            &expect![[r#"
                Open
                Question 1 of 3
                Which colour?
                › 1. Red
                     warm
                  2. Blue
                     cold
                  3. None of the above
                  note: x
                  enter answers · tab adds a note · esc ends the turn · pag…
            "#]],
        );
        check_form(
            "tab x esc esc",
            &expect![[r#"
                Interrupted
                Question 1 of 3
                Which colour?
                › 1. Red
                     warm
                  2. Blue
                     cold
                  3. None of the above
                  note: x
                  enter answers · tab adds a note · esc ends the turn · pag…
            "#]],
        );
        check_form(
            "ctrl-c",
            &expect![[r#"
                Interrupted
                Question 1 of 3
                Which colour?
                › 1. Red
                     warm
                  2. Blue
                     cold
                  3. None of the above
                  enter answers · tab adds a note · esc ends the turn · pag…
            "#]],
        );
    }

    #[test]
    fn a_note_without_a_choice_is_sent_if_the_person_sends_anyway() {
        let (mut form, keymap) =
            (QuestionForm::new(&request().questions, Appeared::ByItself(Duration::ZERO)), Keymap::standard());
        let mut outcome = QuestionOutcome::Open;
        for key in "tab x page-down page-down enter enter".split(' ') {
            outcome = form.press(parse_key(key).unwrap(), Duration::from_secs(5), &keymap);
        }
        let QuestionOutcome::Answered(answers) = outcome else { panic!("{outcome:?}") };
        assert_eq!(answers.answers["colour"].answers, ["user_note: x"]);
        assert_eq!(answers.answers.len(), 1);
    }

    #[test]
    fn keys_that_are_typed_on_go_to_the_draft() {
        let (mut form, keymap) =
            (QuestionForm::new(&request().questions, Appeared::ByItself(Duration::ZERO)), Keymap::standard());
        let key = Key::char('1');
        assert_eq!(form.press(key, Duration::from_millis(100), &keymap), QuestionOutcome::Draft(key));
        assert_eq!(form.press(key, Duration::from_millis(490), &keymap), QuestionOutcome::Draft(key));
        assert_eq!(form.press(key, Duration::from_millis(900), &keymap), QuestionOutcome::Open);
        assert_eq!(form.at, 1);
    }
}
