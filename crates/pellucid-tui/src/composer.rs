//! The composer: the message that is being written, and what its keys do.
//!
//! - `draft`: text, cursor and pieces
//! - `words`, `rows`: where words end and lines wrap
//! - `undo`, `history`, `kept`: what was written and sent before, and what an earlier client left
//! - `pasting`: labels of large pastes and images, and keys that are a paste
//! - `vim`: keys as in vim
//! - `popup`: the list that opens while typing
//! - `drawing`: the rows that are shown
//!
//! A key goes in, effects come out. The client carries the effects out.

pub mod draft;
pub mod drawing;
pub mod history;
pub mod kept;
pub mod pasting;
pub mod popup;
mod rows;
pub mod undo;
pub mod vim;
mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::commands::CommandRow;
use crate::commands::line;
use crate::commands::line::TypedLine;
use crate::composer::draft::Clip;
use crate::composer::draft::Draft;
use crate::composer::draft::Piece;
use crate::composer::draft::PieceContent;
use crate::composer::history::MessageHistory;
use crate::composer::history::Recall;
use crate::composer::pasting::Bursts;
use crate::composer::pasting::PasteLabels;
use crate::composer::popup::FoundFile;
use crate::composer::popup::Popup;
use crate::composer::popup::PopupWord;
use crate::composer::popup::PromptEntry;
use crate::composer::popup::SkillEntry;
use crate::composer::undo::UndoStack;
use crate::composer::vim::Vim;
use crate::key::Key;
use crate::keymap::Keymap;
use crate::keymap::table::Action;
use crate::keymap::table::Place;

/// What the composer has to know of the rest of the client.
#[derive(Debug, Clone, Copy)]
pub struct ComposerContext<'a> {
    /// Which key does what.
    pub keymap: &'a Keymap,
    /// The commands that are offered.
    pub commands: &'a [CommandRow],
    /// The custom prompts, and those of MCP servers.
    pub prompts: &'a [PromptEntry],
    /// The skills that can be used.
    pub skills: &'a [SkillEntry],
    /// Whether a turn runs.
    pub is_working: bool,
    /// Whether many keys in one read are taken for a paste.
    pub finds_bursts: bool,
}

/// A message that was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The text, with pastes in full and blanks around it removed.
    pub text: String,
    /// The images that go with it, in the order of their labels.
    pub images: Vec<PathBuf>,
    /// The skills that were chosen from the list: name and file.
    pub skills: Vec<(String, PathBuf)>,
    /// The labels in the text that stand for images and skills, with their bytes.
    pub labels: Vec<(std::ops::Range<usize>, String)>,
    /// The message as it was written, for the history and for editing it again.
    pub written: Clip,
}

/// What the client has to do after a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComposerEffect {
    /// Send the message, or give it to the running turn.
    Send(Message),
    /// Keep the message for the next turn.
    Queue(Message),
    /// Run a command in the user's shell.
    Shell(String),
    /// Explain what `!` does.
    ExplainShell,
    /// Run a command of the client.
    Command {
        /// The name of the command.
        name: &'static str,
        /// The words behind it.
        words: String,
    },
    /// A command cannot run while a turn runs; it stays in the composer.
    NotWhileWorking(&'static str),
    /// Expand a custom prompt and send the result.
    Prompt {
        /// The name of the prompt.
        name: String,
        /// The arguments as they were typed.
        words: String,
    },
    /// No command has this name; the text stays in the composer.
    UnknownCommand(String),
    /// Esc was pressed and no list was open.
    Escape,
    /// Ctrl-C was pressed and nothing was written.
    Cancel,
    /// Ctrl-D was pressed and nothing was written.
    End,
    /// Open the draft in the user's editor.
    Editor(String),
    /// Show a page of the client.
    Open(ComposerPage),
    /// Fetch the image of the clipboard.
    PasteImage,
    /// Change to the next mode.
    NextMode,
    /// Bring the newest waiting message back.
    EditQueued,
    /// Suspend the program.
    Suspend,
    /// Fetch a message of the file, by its place there.
    FetchHistory(usize),
    /// Search files for this text; the answer goes to [`Composer::files_found`].
    SearchFiles(String),
    /// See whether the pasted text is the path of an image; if so, attach it.
    CheckPath(String),
}

/// The pages that open by a key while a message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComposerPage {
    /// The whole transcript.
    Transcript,
    /// What the model will see, or every row of it.
    Context,
    /// The bytes that Enter would send.
    Preview,
    /// The list of waiting messages.
    Waiting,
}

/// The message that is being written.
#[derive(Debug, Default)]
pub struct Composer {
    draft: Draft,
    /// What was cut last.
    killed: Clip,
    undo: UndoStack,
    /// The state of the keys of vim, if they are switched on.
    vim: Option<Vim>,
    /// What Ctrl-C cleared, or an earlier client left, since the last message.
    cleared: Option<Clip>,
    history: MessageHistory,
    labels: PasteLabels,
    bursts: Bursts,
    popup: Option<Popup>,
    /// The word whose list was closed with Esc; the list opens again when the word changes.
    dismissed: Option<String>,
    /// The column that Up and Down try to keep.
    wished_column: Option<usize>,
    /// The columns of the text, known from the last drawing.
    width: usize,
    is_sheet_open: bool,
}

impl Composer {
    /// An empty composer, with so many messages in the file of the history.
    pub fn new(n_stored: usize) -> Self {
        Self { history: MessageHistory::with_stored(n_stored), width: 80, ..Self::default() }
    }

    /// What is written.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// The list that is open, if one is.
    pub fn popup(&self) -> Option<&Popup> {
        self.popup.as_ref()
    }

    /// Whether the sheet of keys is shown.
    pub fn is_sheet_open(&self) -> bool {
        self.is_sheet_open
    }

    /// The columns that text may take, from the last drawing or resize.
    pub fn set_width(&mut self, width: usize) {
        self.width = width.max(1);
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key, now: Duration, context: &ComposerContext<'_>) -> Vec<ComposerEffect> {
        let mut effects = Vec::new();
        if self.is_sheet_open {
            self.is_sheet_open = false;
            if key == Key::char('?') && self.draft.is_empty() {
                return effects;
            }
        }
        if self.press_in_vim(key) {
            self.changed(context, &mut effects);
            return effects;
        }
        if let Some(char) = key.typed() {
            if char == '?' && self.draft.is_empty() && !self.bursts.is_in_burst(now) {
                self.is_sheet_open = true;
                return effects;
            }
            self.bursts.typed(now);
            self.undo.remember(&self.draft, !char.is_whitespace());
            self.draft.insert_text(char.encode_utf8(&mut [0; 4]));
            self.changed(context, &mut effects);
            return effects;
        }
        if self.popup.is_some()
            && let Some(action) = context.keymap.action(Place::Popup, key)
            && self.do_in_popup(action, context, &mut effects)
        {
            return effects;
        }
        if let Some(action) = context.keymap.action(Place::Composer, key) {
            self.act(action, now, context, &mut effects);
        }
        effects
    }

    /// Takes text that was pasted. A path of an image is checked first, by the client.
    pub fn paste(&mut self, text: &str, context: &ComposerContext<'_>) -> Vec<ComposerEffect> {
        let mut effects = Vec::new();
        self.is_sheet_open = false;
        if let Some(path) = pasting::path_of_image(text) {
            effects.push(ComposerEffect::CheckPath(path));
            return effects;
        }
        self.insert_paste(text, context, &mut effects);
        effects
    }

    /// Inserts text that was pasted and is not the path of an image.
    pub fn paste_text(&mut self, text: &str, context: &ComposerContext<'_>) -> Vec<ComposerEffect> {
        let mut effects = Vec::new();
        self.insert_paste(text, context, &mut effects);
        effects
    }

    fn insert_paste(&mut self, text: &str, context: &ComposerContext<'_>, effects: &mut Vec<ComposerEffect>) {
        let text = pasting::line_ends(text);
        if text.is_empty() {
            return;
        }
        self.undo.remember(&self.draft, false);
        let clip = self.labels.clip_of(text);
        self.draft.insert(&clip);
        self.changed(context, effects);
    }

    /// Attaches an image at the cursor, with a blank behind its label.
    pub fn attach_image(&mut self, path: PathBuf) {
        self.undo.remember(&self.draft, false);
        let label = pasting::image_label(self.n_images() + 1);
        let piece = Piece { range: 0..label.len(), stands_for: PieceContent::Image(path) };
        self.draft.insert(&Clip { text: label, pieces: vec![piece] });
        self.draft.insert_text(" ");
        self.number_images();
    }

    fn n_images(&self) -> usize {
        self.draft.pieces().iter().filter(|piece| matches!(piece.stands_for, PieceContent::Image(_))).count()
    }

    /// Gives images the numbers of their order.
    fn number_images(&mut self) {
        let pieces = self.draft.pieces().iter().enumerate();
        let images = pieces.filter(|(_, piece)| matches!(piece.stands_for, PieceContent::Image(_)));
        let wrong = images.enumerate().find_map(|(number, (index, piece))| {
            let label = pasting::image_label(number + 1);
            (self.draft.text()[piece.range.clone()] != label).then_some((index, label))
        });
        let Some((index, label)) = wrong else {
            return;
        };
        let piece = self.draft.pieces()[index].clone();
        let cursor = self.draft.cursor();
        let new = Piece { range: 0..label.len(), stands_for: piece.stands_for };
        let (n_new, n_old) = (label.len(), piece.range.len());
        self.draft.replace(piece.range.clone(), &Clip { text: label, pieces: vec![new] });
        let cursor = if cursor >= piece.range.end { cursor + n_new - n_old } else { cursor };
        self.draft.move_to(cursor);
        self.number_images();
    }

    /// Replaces the draft, with the cursor at its end.
    pub fn set_draft(&mut self, clip: Clip) {
        self.undo.remember(&self.draft, false);
        self.draft = Draft::of(clip);
        self.popup = None;
        self.wished_column = None;
    }

    /// Offers a text that an earlier client left: undo and Up bring it into the composer.
    pub fn offer(&mut self, clip: Clip) {
        self.history.add(clip.clone());
        self.cleared = Some(clip);
    }

    /// Keeps a text for Up.
    pub fn remember(&mut self, clip: Clip) {
        self.history.add(clip);
    }

    /// Whether undo brings a text back into the empty composer.
    pub fn can_bring_back(&self) -> bool {
        self.draft.is_empty() && self.cleared.is_some()
    }

    /// What was written and not sent: the draft, or the text that was cleared if the composer is empty.
    pub fn unsent(&self) -> Clip {
        let cleared = self.cleared.clone().filter(|_| self.draft.is_empty());
        cleared.unwrap_or_else(|| self.draft.clip())
    }

    /// Whether this is what [`Composer::unsent`] is now.
    pub fn is_unsent(&self, clip: &Clip) -> bool {
        match &self.cleared {
            Some(cleared) if self.draft.is_empty() => cleared == clip,
            _ => self.draft.text() == clip.text && self.draft.pieces() == clip.pieces,
        }
    }

    /// The draft before the last change. In an empty composer that is at least the text that was cleared.
    fn step_back(&mut self) -> Option<Draft> {
        let undone = self.undo.undo(&self.draft).filter(|draft| !draft.is_empty() || !self.can_bring_back());
        undone.or_else(|| self.cleared.clone().filter(|_| self.draft.is_empty()).map(Draft::of))
    }

    /// Takes the answer to [`ComposerEffect::FetchHistory`].
    pub fn history_fetched(&mut self, at: usize, text: Option<String>) -> Vec<ComposerEffect> {
        let recall = self.history.fetched(at, text, self.draft.text());
        self.recalled(recall).into_iter().collect()
    }

    /// Takes the answer to [`ComposerEffect::SearchFiles`].
    pub fn files_found(&mut self, query: &str, files: Vec<FoundFile>) {
        if let Some(popup) = &mut self.popup {
            popup.files_found(query, files);
        }
    }

    /// Takes what the model was shown of files, in a few words for each path.
    pub fn files_seen(&mut self, seen: &BTreeMap<String, String>) {
        if let Some(popup) = &mut self.popup {
            popup.files_seen(seen);
        }
    }

    /// Does an action in the open list. False if the list has nothing for it and the key is the composer's.
    fn do_in_popup(
        &mut self,
        action: Action,
        context: &ComposerContext<'_>,
        effects: &mut Vec<ComposerEffect>,
    ) -> bool {
        let Some(popup) = &mut self.popup else {
            return false;
        };
        match action {
            Action::PopupUp => return popup.step(-1),
            Action::PopupDown => return popup.step(1),
            Action::PopupClose => {
                self.dismissed = Some(popup.word().text.clone());
                self.popup = None;
            }
            Action::PopupComplete | Action::PopupTake => {
                let Some(taken) = popup.taken() else {
                    return false;
                };
                let range = popup.word().range.clone();
                self.popup = None;
                self.undo.remember(&self.draft, false);
                match taken {
                    popup::Taken::Command { name, .. } if action == Action::PopupTake => {
                        self.draft.replace(range, &Clip::plain(format!("/{name}")));
                        self.send(context, effects, ComposerEffect::Send);
                    }
                    popup::Taken::Command { name, .. } => {
                        self.draft.replace(range, &Clip::plain(format!("/{name} ")));
                    }
                    popup::Taken::Text { text, cursor } => {
                        let start = range.start;
                        self.draft.replace(range, &Clip::plain(text));
                        self.draft.move_to(start + cursor);
                    }
                    popup::Taken::File { path, is_image: true } => {
                        self.draft.cut(range);
                        effects.push(ComposerEffect::CheckPath(path));
                    }
                    popup::Taken::File { path, .. } => {
                        let path = if path.contains(char::is_whitespace) { format!("\"{path}\"") } else { path };
                        self.draft.replace(range, &Clip::plain(format!("{path} ")));
                    }
                    popup::Taken::Skill { name, path } => {
                        let text = format!("${name}");
                        let piece = Piece { range: 0..text.len(), stands_for: PieceContent::Skill { path } };
                        self.draft.replace(range, &Clip { text, pieces: vec![piece] });
                        self.draft.insert_text(" ");
                    }
                }
            }
            _ => return false,
        }
        true
    }

    fn act(&mut self, action: Action, now: Duration, context: &ComposerContext<'_>, effects: &mut Vec<ComposerEffect>) {
        if !matches!(action, Action::Up | Action::Down) {
            self.wished_column = None;
        }
        if self.act_on_text(action) || self.move_cursor(action) {
            self.changed(context, effects);
            return;
        }
        match action {
            Action::Send if context.finds_bursts && self.is_line_end_of_burst(now) => {
                self.bursts.typed(now);
                self.undo.remember(&self.draft, true);
                self.draft.insert_text("\n");
            }
            Action::Send if self.is_continued() => {
                self.undo.remember(&self.draft, false);
                let cursor = self.draft.cursor();
                self.draft.replace(cursor - 1..cursor, &Clip::plain("\n"));
            }
            Action::Send => self.send(context, effects, ComposerEffect::Send),
            Action::Queue if context.is_working && !self.draft.text().starts_with('!') => {
                self.send(context, effects, ComposerEffect::Queue);
            }
            Action::Queue if !context.is_working => self.send(context, effects, ComposerEffect::Send),
            Action::Up => self.up(effects),
            Action::Down => self.down(effects),
            Action::Escape => effects.push(ComposerEffect::Escape),
            Action::Cancel if self.draft.is_empty() => effects.push(ComposerEffect::Cancel),
            Action::Cancel => {
                self.cleared = Some(self.draft.clip());
                self.history.add(self.draft.clip());
                self.clear();
            }
            Action::End if self.draft.is_empty() => effects.push(ComposerEffect::End),
            Action::Editor => effects.push(ComposerEffect::Editor(self.draft.clip().expanded())),
            Action::Transcript => effects.push(ComposerEffect::Open(ComposerPage::Transcript)),
            Action::Context => effects.push(ComposerEffect::Open(ComposerPage::Context)),
            Action::Preview => effects.push(ComposerEffect::Open(ComposerPage::Preview)),
            Action::PasteImage => effects.push(ComposerEffect::PasteImage),
            Action::NextMode => effects.push(ComposerEffect::NextMode),
            Action::EditQueued => effects.push(ComposerEffect::EditQueued),
            Action::Waiting => effects.push(ComposerEffect::Open(ComposerPage::Waiting)),
            Action::Suspend => effects.push(ComposerEffect::Suspend),
            _ => {}
        }
    }

    /// Changes of the text. False if the action is none.
    fn act_on_text(&mut self, action: Action) -> bool {
        let (draft, cursor) = (&self.draft, self.draft.cursor());
        let (range, is_killed) = match action {
            Action::DeleteBefore => (draft.before(cursor)..cursor, false),
            Action::DeleteAfter => (cursor..draft.after(cursor), false),
            Action::End if !draft.is_empty() => (cursor..draft.after(cursor), false),
            Action::KillWordBefore => (draft.word_start()..cursor, true),
            Action::KillWordAfter => (cursor..draft.word_end(), true),
            Action::KillToStart => match draft.line_start(cursor) {
                start if start == cursor => (draft.before(cursor)..cursor, true),
                start => (start..cursor, true),
            },
            Action::KillToEnd => match draft.line_end(cursor) {
                end if end == cursor => (cursor..draft.after(cursor), true),
                end => (cursor..end, true),
            },
            Action::Yank => {
                self.undo.remember(&self.draft, false);
                let killed = self.killed.clone();
                self.draft.insert(&killed);
                self.number_images();
                return true;
            }
            Action::NewLine => {
                self.undo.remember(&self.draft, false);
                self.draft.insert_text("\n");
                return true;
            }
            Action::ShowPaste => {
                self.undo.remember(&self.draft, false);
                return self.draft.unfold();
            }
            Action::Undo => return self.step_back().map(|draft| self.draft = draft).is_some(),
            Action::Redo => return self.undo.redo(&self.draft).map(|draft| self.draft = draft).is_some(),
            _ => return false,
        };
        if range.is_empty() {
            return true;
        }
        self.undo.remember(&self.draft, false);
        let cut = self.draft.cut(range);
        if is_killed {
            self.killed = cut;
        }
        self.number_images();
        true
    }

    /// Movements inside of the text. False if the action is none.
    fn move_cursor(&mut self, action: Action) -> bool {
        let (draft, cursor) = (&self.draft, self.draft.cursor());
        let position = match action {
            Action::Left => draft.before(cursor),
            Action::Right => draft.after(cursor),
            Action::WordLeft => draft.word_start(),
            Action::WordRight => draft.word_end(),
            Action::LineStart => match draft.line_start(cursor) {
                start if start == cursor && start > 0 => draft.line_start(start - 1),
                start => start,
            },
            Action::LineEnd => match draft.line_end(cursor) {
                end if end == cursor && end < draft.text().len() => draft.line_end(end + 1),
                end => end,
            },
            _ => return false,
        };
        self.undo.end_typing();
        self.draft.move_to(position);
        true
    }

    /// Notes that the keys of a read have been handled and drawn.
    pub fn keys_handled(&mut self, now: Duration) {
        self.bursts.handled(now);
    }

    fn is_line_end_of_burst(&self, now: Duration) -> bool {
        self.bursts.is_in_burst(now) && self.popup.is_none() && !self.draft.text().starts_with('/')
    }

    /// Whether Enter begins a new line because a backslash is before the cursor. Two of them are a backslash that is sent.
    fn is_continued(&self) -> bool {
        let before = &self.draft.text()[..self.draft.cursor()];
        self.popup.is_none() && (before.len() - before.trim_end_matches('\\').len()) % 2 == 1
    }

    fn up(&mut self, effects: &mut Vec<ComposerEffect>) {
        if self.history.takes(self.draft.text(), self.draft.cursor()) {
            let recall = self.history.older();
            if recall == Recall::Oldest {
                self.draft.move_to(0);
            } else {
                effects.extend(self.recalled(recall));
            }
            return;
        }
        if !self.step_row(-1) {
            self.wished_column = None;
            self.draft.move_to(0);
        }
    }

    fn down(&mut self, effects: &mut Vec<ComposerEffect>) {
        if self.history.takes(self.draft.text(), self.draft.cursor()) {
            let recall = self.history.newer();
            effects.extend(self.recalled(recall));
            return;
        }
        if !self.step_row(1) {
            self.wished_column = None;
            self.draft.move_to(self.draft.text().len());
        }
    }

    /// Moves the cursor to another row. False if there is none in that direction.
    fn step_row(&mut self, by: isize) -> bool {
        let rows = rows::rows(self.draft.text(), self.width);
        let (row, column) = rows::place_of(&self.draft, &rows, self.draft.cursor());
        let Some(target) = row.checked_add_signed(by).and_then(|row| rows.get(row)) else {
            return false;
        };
        let column = *self.wished_column.get_or_insert(column);
        let is_last_of_line = self.draft.line_end(target.start) == target.end;
        let position = rows::position_at(&self.draft, target, column, is_last_of_line);
        self.draft.move_to(position);
        true
    }

    fn recalled(&mut self, recall: Recall) -> Option<ComposerEffect> {
        match recall {
            Recall::Shown(clip) => self.draft = Draft::of(clip),
            Recall::Empty => self.draft = Draft::default(),
            Recall::Fetch(at) => return Some(ComposerEffect::FetchHistory(at)),
            Recall::Oldest | Recall::Nothing => {}
        }
        self.popup = None;
        None
    }

    /// Empties the composer; undo brings the text back.
    fn clear(&mut self) {
        self.undo.remember(&self.draft, false);
        self.draft = Draft::default();
        self.popup = None;
        self.dismissed = None;
    }

    fn send(
        &mut self,
        context: &ComposerContext<'_>,
        effects: &mut Vec<ComposerEffect>,
        as_effect: fn(Message) -> ComposerEffect,
    ) {
        let message = self.message();
        if message.text.is_empty() {
            return;
        }
        // A blank before the first word makes the text a message, so the untrimmed text decides.
        let typed = if self.draft.text().starts_with(char::is_whitespace) {
            TypedLine::Message
        } else {
            line::read(&message.text, context.commands, context.prompts)
        };
        let effect = match typed {
            TypedLine::Message => as_effect(message.clone()),
            TypedLine::Shell("") => ComposerEffect::ExplainShell,
            TypedLine::Shell(command) => ComposerEffect::Shell(command.to_owned()),
            TypedLine::Prompt { name, words } => {
                ComposerEffect::Prompt { name: name.to_owned(), words: words.to_owned() }
            }
            TypedLine::Unknown(name) => {
                effects.push(ComposerEffect::UnknownCommand(name.to_owned()));
                self.draft.move_to(self.draft.text().len());
                self.popup = None;
                return;
            }
            TypedLine::Command { name, words } => {
                let is_allowed = context.commands.iter().any(|row| row.name == name && row.while_working);
                if context.is_working && !is_allowed {
                    effects.push(ComposerEffect::NotWhileWorking(name));
                    self.popup = None;
                    return;
                }
                ComposerEffect::Command { name, words: words.to_owned() }
            }
        };
        let is_kept =
            matches!(effect, ComposerEffect::Send(_) | ComposerEffect::Queue(_) | ComposerEffect::Prompt { .. });
        self.clear();
        self.undo = UndoStack::default();
        self.labels = PasteLabels::default();
        if is_kept {
            self.cleared = None;
            self.history.add(Clip { text: message.text, pieces: Vec::new() });
        } else {
            self.history.leave();
        }
        effects.push(effect);
    }

    /// The message as it would be sent.
    /// The message that Enter would send; absent if the draft is empty or a command.
    pub fn would_send(&self, context: &ComposerContext<'_>) -> Option<Message> {
        let message = self.message();
        let is_message = self.draft.text().starts_with(char::is_whitespace)
            || matches!(line::read(&message.text, context.commands, context.prompts), TypedLine::Message);
        Some(message).filter(|message| is_message && !message.text.is_empty())
    }

    fn message(&self) -> Message {
        let written = self.draft.clip();
        let mut message = Message { text: String::new(), written: written.clone(), ..Message::default() };
        let mut end = 0;
        for piece in &written.pieces {
            let label = &written.text[piece.range.clone()];
            message.text += &written.text[end..piece.range.start];
            end = piece.range.end;
            let start = message.text.len();
            match &piece.stands_for {
                PieceContent::Paste(paste) => {
                    message.text += paste;
                    continue;
                }
                PieceContent::Image(path) => message.images.push(path.clone()),
                PieceContent::Skill { path } => {
                    message.skills.push((label.trim_start_matches('$').to_owned(), path.clone()));
                }
            }
            message.text += label;
            message.labels.push((start..message.text.len(), label.to_owned()));
        }
        message.text += &written.text[end..];
        let n_cut = message.text.len() - message.text.trim_start().len();
        message.text = message.text.trim().to_owned();
        for (range, _) in &mut message.labels {
            *range = range.start - n_cut..range.end - n_cut;
        }
        message
    }

    /// Every text that can be brought back, for tests that look for lost ones.
    #[cfg(test)]
    fn everything_kept(&self) -> Vec<Clip> {
        let undone = self.undo.drafts().map(Draft::clip);
        undone.chain(self.history.own().iter().cloned()).chain([self.killed.clone()]).collect()
    }

    /// Opens, narrows or closes the list for the word under the cursor, after the text or the cursor changed.
    fn changed(&mut self, context: &ComposerContext<'_>, effects: &mut Vec<ComposerEffect>) {
        let word = PopupWord::under_cursor(&self.draft);
        if self.dismissed.as_ref().is_some_and(|dismissed| word.as_ref().is_none_or(|word| word.text != *dismissed)) {
            self.dismissed = None;
        }
        let Some(word) = word.filter(|_| self.dismissed.is_none()) else {
            self.popup = None;
            return;
        };
        let is_new_search = Popup::change(&mut self.popup, word, context);
        if let Some(query) = is_new_search {
            effects.push(ComposerEffect::SearchFiles(query));
        }
    }
}
