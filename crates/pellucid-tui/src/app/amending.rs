//! Answers to approvals that say more than yes or no: another command, a part of a patch, a note for the model.
//!
//! What a person wants instead goes to the model as a message of the running turn, and the request itself is refused. The
//! model then asks for what the person wrote, so that the next question shows exactly what would be done. A note goes with any
//! answer; with a refusal, the turn continues.

use std::time::Duration;

use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use ratatui_core::style::Modifier;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::App;
use super::Effect;
use super::spoken::keys_of_answer;
use crate::composer::Composer;
use crate::composer::ComposerContext;
use crate::composer::ComposerEffect;
use crate::composer::draft::Clip;
use crate::composer::drawing::Drawn;
use crate::composer::drawing::PartStyles;
use crate::key::Key;
use crate::key::KeyCode;
use crate::keymap::Keymap;
use crate::keymap::spelling::parse_key;
use crate::keymap::table::Action;
use crate::keymap::table::Place;
use crate::lists::approval::ApprovalRequest;
use crate::lists::approval::command_text;
use crate::lists::options::Appeared;
use crate::lists::options::ListOption;
use crate::lists::options::ListOutcome;
use crate::lists::options::OptionList;
use crate::lists::parts;
use crate::lists::parts::PatchPart;
use crate::text::width::shortened;

/// What a person changes about an answer.
#[derive(Debug)]
pub(super) enum Amending {
    /// The command that the model is to ask for instead.
    Command(Box<Composer>),
    /// The note that goes with the answer.
    Note(Box<Composer>),
    /// The parts of a patch that are wanted.
    Parts(Vec<PatchPart>, OptionList),
}

impl Amending {
    /// What a person has written.
    pub(super) fn written(&self) -> Option<Clip> {
        match self {
            Self::Command(text) | Self::Note(text) => Some(text.draft().clip()).filter(|clip| !clip.text.is_empty()),
            Self::Parts(..) => None,
        }
    }

    /// Takes pasted text; false if nothing is written.
    pub(super) fn paste(&mut self, text: &str) -> bool {
        match self {
            Self::Command(field) | Self::Note(field) => {
                let keymap = Keymap::standard();
                let _ = field.paste_text(text, &context(&keymap));
                true
            }
            Self::Parts(..) => false,
        }
    }

    pub(super) fn draw(&mut self, columns: u16, rows: u16, styles: &PartStyles) -> Drawn {
        let (title, hint, text) = match self {
            Self::Command(text) => (
                "The command that the model is to ask for instead",
                "  enter sends it and refuses the request · esc goes back",
                text,
            ),
            Self::Note(text) => (
                "A note for the model, which goes with your answer",
                "  enter keeps the note · esc leaves it out",
                text,
            ),
            Self::Parts(_, list) => return list.draw(columns, rows, styles),
        };
        titled_field(title, hint, text, (columns, rows), styles)
    }
}

/// A field with a title above it, and what keys do below it if there is room.
pub(super) fn titled_field(
    title: &str,
    hint: &str,
    text: &mut Composer,
    (columns, rows): (u16, u16),
    styles: &PartStyles,
) -> Drawn {
    let n_hint = u16::from(rows > 4);
    let drawn = text.draw(columns, rows.saturating_sub(1 + n_hint).max(1), "", styles);
    let mut lines = vec![Line::from(Span::styled(title.to_owned(), Style::new().add_modifier(Modifier::BOLD)))];
    lines.extend(drawn.lines);
    if n_hint > 0 {
        lines.push(Line::from(Span::styled(shortened(hint, usize::from(columns)), styles.dim)));
    }
    Drawn { lines, cursor: drawn.cursor.map(|(x, y)| (x, y + 1)) }
}

fn list_of(parts: &[PatchPart]) -> OptionList {
    let option = |part: &PatchPart| ListOption { is_on: Some(part.is_wanted), ..ListOption::new(part.label.clone()) };
    let title = vec![
        Line::raw("Which changes do you want?"),
        Line::raw("Space changes a mark; Enter asks the model for the marked ones; Esc goes back."),
    ];
    OptionList::new(title, parts.iter().map(option).collect(), Appeared::Opened)
}

impl App {
    /// Opens what a person can change about the open request: its command, or which parts of its patch are wanted.
    pub(super) fn amend(&mut self) {
        let folder = self.session.configured.as_ref().map(|it| it.cwd.as_path());
        let amending = match self.asking.approvals.open() {
            Some((ApprovalRequest::Command(request), _)) if request.network_approval_context.is_none() => {
                Amending::Command(Box::new(field(&command_text(&request.command))))
            }
            Some((ApprovalRequest::Patch(request), _)) => {
                let parts = parts::parts(&request.changes, folder);
                let list = list_of(&parts);
                Amending::Parts(parts, list)
            }
            _ => return,
        };
        self.asking.amending = Some(amending);
    }

    /// Opens the field for a note. MCP servers take none.
    pub(super) fn write_note(&mut self) {
        if let Some((ApprovalRequest::Command(_) | ApprovalRequest::Patch(_), _)) = self.asking.approvals.open() {
            self.asking.amending =
                Some(Amending::Note(Box::new(field(self.asking.note.as_deref().unwrap_or_default()))));
        }
    }

    /// Takes a key while an answer is being changed.
    pub(super) fn amending_key(&mut self, key: Key, now: Duration) -> Vec<Effect> {
        let mut effects = Vec::new();
        match &mut self.asking.amending {
            Some(Amending::Parts(parts, list)) => {
                if key == Key::char(' ') {
                    let at = list.selected();
                    if let Some(part) = parts.get_mut(at) {
                        part.is_wanted = !part.is_wanted;
                        list.set_on(at, part.is_wanted);
                    }
                    return effects;
                }
                match list.press(key, now, &self.settings.keymap) {
                    ListOutcome::Chosen(_) => match parts::message(parts) {
                        Some(message) => self.refuse_with(&message, now, &mut effects),
                        None => self.say_error("mark some of the changes, but not all; esc goes back to the answers"),
                    },
                    ListOutcome::Cancelled | ListOutcome::Aborted => self.asking.amending = None,
                    _ => {}
                }
            }
            Some(Amending::Command(_) | Amending::Note(_)) => self.field_of_answer_key(key, now, &mut effects),
            None => {}
        }
        effects
    }

    fn field_of_answer_key(&mut self, key: Key, now: Duration, effects: &mut Vec<Effect>) {
        let Some(Amending::Command(text) | Amending::Note(text)) = &mut self.asking.amending else { return };
        let action = self.settings.keymap.action(Place::Composer, key);
        let is_taken = key == Key::plain(KeyCode::Enter) || matches!(action, Some(Action::Send | Action::Queue));
        let is_left = key == Key::plain(KeyCode::Esc) || key == Key::ctrl('c');
        if !is_taken && !is_left {
            let wishes = text.press(key, now, &context(&self.settings.keymap));
            if wishes.contains(&ComposerEffect::End) {
                self.asking.amending = None;
            }
            return;
        }
        let written = text.draft().clip().expanded().trim().to_owned();
        match self.asking.amending.take() {
            Some(Amending::Note(_)) if is_taken => self.asking.note = Some(written).filter(|note| !note.is_empty()),
            Some(Amending::Command(_)) if is_taken && self.is_other_command(&written) => {
                let message =
                    format!("Run this command in place of the one that you asked for:\n\n```sh\n{written}\n```");
                self.refuse_with(&message, now, effects);
            }
            _ => {}
        }
    }

    fn is_other_command(&self, written: &str) -> bool {
        let Some((ApprovalRequest::Command(request), _)) = self.asking.approvals.open() else { return false };
        !written.is_empty() && written != command_text(&request.command).trim()
    }

    /// Refuses the open request and says to the model what is wanted instead.
    fn refuse_with(&mut self, message: &str, now: Duration, effects: &mut Vec<Effect>) {
        self.asking.amending = None;
        let Some(answered) = self.asking.approvals.refuse(now) else { return };
        let note = self.asking.note.take().map_or_else(String::new, |note| format!("\n\n{note}"));
        self.steer(&format!("{message}{note}"), effects);
        self.decided(answered, now, effects);
    }

    /// Sends the note that goes with an answer. The turn continues even after a refusal, so that the model reads the note.
    pub(super) fn send_note(&mut self, decision: &mut ReviewDecision, effects: &mut Vec<Effect>) {
        if let Some(note) = self.asking.note.take() {
            if *decision == ReviewDecision::Abort {
                *decision = ReviewDecision::Denied;
            }
            self.steer(&note, effects);
        }
    }

    /// Gives the running turn a message. It comes before the decision, so that the model's next request has both.
    fn steer(&mut self, text: &str, effects: &mut Vec<Effect>) {
        let items = vec![UserInput::Text { text: text.to_owned(), text_elements: Vec::new() }];
        let changes = self.transcript.said(&items, &self.canvas());
        self.changed(changes);
        effects.push(Effect::Submit(Operation::UserInput { items, final_output_json_schema: None }));
    }

    /// The keys of a typed line while an approval is open, if the line changes the answer: a key that does so, a
    /// text for the open field, or which part of a patch is meant.
    pub(super) fn keys_of_amending(&mut self, line: &str) -> Option<Vec<Key>> {
        match &mut self.asking.amending {
            Some(Amending::Parts(_, list)) => Some(keys_of_answer(line, list).unwrap_or_default()),
            Some(Amending::Command(_) | Amending::Note(_)) if line == "esc" => Some(vec![Key::plain(KeyCode::Esc)]),
            Some(Amending::Command(text) | Amending::Note(text)) => {
                text.set_draft(Clip::plain(line));
                Some(vec![Key::plain(KeyCode::Enter)])
            }
            None => {
                self.asking.approvals.open()?;
                let key = parse_key(line).ok()?;
                let action = self.settings.keymap.action(Place::Options, key)?;
                let is_meant = matches!(action, Action::OptionAmend | Action::OptionNote | Action::OptionExplain);
                is_meant.then(|| vec![key])
            }
        }
    }

    /// What keys do beside the answers of a request, and the note that goes with the answer.
    pub(super) fn amending_rows(&self, request: &ApprovalRequest) -> Vec<Line<'static>> {
        let what = match request {
            ApprovalRequest::Command(request) if request.network_approval_context.is_none() => "edits the command",
            ApprovalRequest::Command(_) => "",
            ApprovalRequest::Patch(_) => "chooses among the changes",
            ApprovalRequest::Server(_) => return Vec::new(),
        };
        let amend = if what.is_empty() { String::new() } else { self.key_hint(" · ", Action::OptionAmend, what) };
        let note = self.key_hint(" · ", Action::OptionNote, "adds a note");
        let explain = self.key_hint(" · ", Action::OptionExplain, "explains");
        let hints = format!("{amend}{note}{explain}");
        let mut lines: Vec<Line<'static>> = Vec::new();
        if let Some(note) = &self.asking.note {
            let first = note.lines().next().unwrap_or_default();
            lines.push(Line::raw(format!("  Note: {}", pellucid_engine::visible::visible(first))));
        }
        lines.push(Line::from(Span::styled(format!("  {}", hints.trim_start_matches(" · ")), self.palette.dim())));
        lines
    }
}

/// What a field knows: its keys, and none of the commands, prompts and skills of the composer.
fn context(keymap: &Keymap) -> ComposerContext<'_> {
    ComposerContext { keymap, commands: &[], prompts: &[], skills: &[], is_working: false, finds_bursts: false }
}

fn field(text: &str) -> Composer {
    let mut field = Composer::new(0);
    field.set_draft(Clip::plain(text));
    field
}
