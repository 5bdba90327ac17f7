//! The state of the client: keys and events go in, effects and a view come out.
//!
//! - `settings`, `manner`: what the client is started with
//! - `turn`: events of the session, and what a turn is doing
//! - `messages`, `waiting`: what is sent, given to the running turn, or waits
//! - `keeping`: the draft outlives the program
//! - `amending`: answers that say more than yes or no
//! - `asking`: approvals and questions
//! - `commands`, `menus`, `fields`: what the commands that begin with `/` do
//! - `changes`: changes that a person judges
//! - `mouse`: clicks and the wheel
//! - `copying`: what `/copy` puts into the clipboard
//! - `keys`: the page of keys
//! - `pages`: pages that cover the screen
//! - `past`: summaries on trial, going back with files
//! - `look`: what the model will see, and what it costs
//! - `time`: requests that were sent, one after the other
//! - `view`, `footer`: the rows of the viewport
//! - `notify`, `title`: notifications of the terminal, and the title of its window
//! - `spoken`: the client for a screen reader
//! - `status`, `farewell`: what is reported of the session

mod amending;
mod asking;
mod changes;
mod commands;
mod copying;
pub mod farewell;
mod fields;
mod footer;
mod found;
mod keeping;
mod keys;
mod look;
pub mod manner;
mod menus;
mod messages;
mod mouse;
mod notify;
mod pages;
mod past;
#[cfg(test)]
mod properties;
pub mod settings;
mod spoken;
pub(crate) mod status;
#[cfg(test)]
mod steady;
#[cfg(test)]
mod tests;
mod time;
mod title;
mod turn;
mod view;
mod waiting;

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::time::Duration;

use pellucid_protocol::operation::Operation;
use pellucid_protocol::settings::CollaborationModeKind;
use ratatui_core::text::Line;

use self::asking::Asking;
use self::fields::OpenField;
use self::keeping::Keeping;
use self::menus::OpenMenu;
use self::pages::OpenPage;
use self::settings::AppSettings;
use self::turn::SessionState;
use self::waiting::WaitingList;
use crate::cells::CellCanvas;
use crate::cells::notice::NoticeCell;
use crate::cells::notice::NoticeKind;
use crate::cells::transcript::Transcript;
use crate::cells::transcript::TranscriptChange;
use crate::composer::Composer;
use crate::composer::ComposerEffect;
use crate::composer::ComposerPage;
use crate::composer::Message;
use crate::composer::draft::Clip;
use crate::composer::vim::Vim;
use crate::host::HostCall;
use crate::input::TerminalAnswer;
use crate::key::Key;
use crate::screen::Insertion;
use crate::screen::ScreenSize;
use crate::text::palette::Palette;
use crate::text::palette::Rgb;

/// Something that the driver has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Submit an operation to the session.
    Submit(Operation),
    /// Ask the program around the client.
    Ask(HostCall),
    /// Write bytes that show nothing: a notification, the clipboard.
    Write(Vec<u8>),
    /// Stop the program until the shell continues it.
    Suspend,
    /// Open a text in the user's editor.
    Edit(String),
    /// End the session and the program.
    Quit,
}

/// What the terminal reported about itself.
#[derive(Debug)]
struct TerminalFacts {
    has_focus: bool,
    /// Whether keys arrive with all their modifiers.
    has_keyboard_protocol: bool,
}

/// The state of the client.
#[derive(Debug)]
pub struct App {
    settings: AppSettings,
    size: ScreenSize,
    palette: Palette,
    composer: Composer,
    transcript: Transcript,
    /// Lines that are to be inserted above the viewport.
    pending: Vec<Line<'static>>,
    session: SessionState,
    mode: CollaborationModeKind,
    queue: VecDeque<Message>,
    /// The list of waiting messages, while it is open.
    waiting: Option<WaitingList>,
    keeping: Keeping,
    asking: Asking,
    menu: Option<OpenMenu>,
    field: Option<OpenField>,
    page: Option<OpenPage>,
    /// Commands that run in the background, by their calls.
    processes: BTreeMap<String, String>,
    /// Whether Esc was pressed, so that Esc again goes back.
    is_armed: bool,
    terminal: TerminalFacts,
    is_ending: bool,
    /// The time of the newest key or event.
    now: Duration,
}

impl App {
    /// A client before its session is ready.
    pub fn new(settings: AppSettings) -> Self {
        let palette = Palette::new(settings.depth, None);
        let mut composer = Composer::new(settings.n_stored);
        let manner = &settings.manner;
        composer.set_vim(manner.has_vim.then(|| Vim::new(manner.vim_escape.as_deref())));
        Self {
            composer,
            size: ScreenSize { columns: 80, rows: 24 },
            palette,
            transcript: Transcript::new(settings.transcript.clone()),
            pending: Vec::new(),
            session: SessionState::default(),
            mode: CollaborationModeKind::Default,
            queue: VecDeque::new(),
            waiting: None,
            keeping: Keeping::default(),
            asking: Asking::default(),
            menu: None,
            field: None,
            page: None,
            processes: BTreeMap::new(),
            is_armed: false,
            terminal: TerminalFacts { has_focus: true, has_keyboard_protocol: false },
            is_ending: false,
            now: Duration::ZERO,
            settings,
        }
    }

    /// Takes the size of the terminal.
    pub fn resize(&mut self, size: ScreenSize) {
        self.size = size;
        self.refresh_page();
    }

    /// Takes an answer of the terminal. Returns whether something looks different now.
    pub fn terminal_answered(&mut self, answer: TerminalAnswer) -> bool {
        let (red, green, blue) = match answer {
            TerminalAnswer::Background(red, green, blue) => (red, green, blue),
            TerminalAnswer::KeyboardProtocol => {
                self.terminal.has_keyboard_protocol = true;
                return false;
            }
            _ => return false,
        };
        let palette = Palette::new(self.settings.depth, Some(Rgb(red, green, blue)));
        std::mem::replace(&mut self.palette, palette) != palette
    }

    /// Takes a key.
    pub fn key(&mut self, key: Key, now: Duration) -> Vec<Effect> {
        self.now = now;
        let mut effects = if self.page.is_some() {
            self.page_key(key)
        } else if self.asking.is_open() {
            self.asking_key(key, now)
        } else if self.field.is_some() {
            self.field_key(key, now)
        } else if self.menu.is_some() {
            self.menu_key(key, now)
        } else if self.waiting.is_some() {
            self.waiting_key(key, now)
        } else {
            self.composer_key(key, now)
        };
        self.look_after_key(&mut effects);
        effects
    }

    /// Takes a key for the composer.
    fn composer_key(&mut self, key: Key, now: Duration) -> Vec<Effect> {
        let is_armed = std::mem::take(&mut self.is_armed);
        let context = self.settings.context(self.session.is_working());
        let wishes = self.composer.press(key, now, &context);
        self.composed(wishes, is_armed)
    }

    /// Notes that the keys of a read have been handled and drawn.
    pub fn keys_handled(&mut self, now: Duration) {
        self.composer.keys_handled(now);
    }

    /// Takes text that was pasted.
    pub fn paste(&mut self, text: &str, now: Duration) -> Vec<Effect> {
        self.now = now;
        let is_taken = if self.page.is_some() { self.page_paste(text) } else { self.asking.paste(text, now) };
        if is_taken {
            return Vec::new();
        }
        let context = self.settings.context(self.session.is_working());
        if let Some(field) = &mut self.field
            && self.page.is_none()
        {
            let _ = field.text.paste_text(&text.replace(['\r', '\n'], " "), &context);
            return Vec::new();
        }
        self.is_armed = false;
        let wishes = self.composer.paste(text, &context);
        let mut effects = self.composed(wishes, false);
        self.look_after_key(&mut effects);
        effects
    }

    /// Takes a report that the window got or lost the focus.
    pub fn focus(&mut self, has_focus: bool) -> Vec<Effect> {
        self.terminal.has_focus = has_focus;
        Vec::new()
    }

    /// Takes the text that the user's editor left, or why there is none.
    pub fn edited(&mut self, edited: Result<String, String>) -> Vec<Effect> {
        if self.is_summary_edited() {
            return self.summary_edited(edited);
        }
        match edited {
            Ok(text) => self.composer.set_draft(Clip::plain(text.trim_end_matches(['\n', '\r']))),
            Err(why) => self.say_error(&why),
        }
        Vec::new()
    }

    /// What the composer wishes.
    fn composed(&mut self, wishes: Vec<ComposerEffect>, is_armed: bool) -> Vec<Effect> {
        let mut effects = Vec::new();
        for wish in wishes {
            match wish {
                ComposerEffect::Send(message) => self.send(message, &mut effects),
                ComposerEffect::Queue(message) => self.queue.push_back(message),
                ComposerEffect::Shell(command) => {
                    effects.push(Effect::Submit(Operation::RunUserShellCommand { command }));
                }
                ComposerEffect::ExplainShell => {
                    self.say_note("`!` runs a command in your shell: type the command behind the mark, as in !ls");
                }
                ComposerEffect::Escape => self.escape(is_armed, &mut effects),
                ComposerEffect::Cancel if self.session.is_working() => {
                    effects.push(Effect::Submit(Operation::Interrupt));
                }
                ComposerEffect::Cancel | ComposerEffect::End => effects.push(Effect::Quit),
                ComposerEffect::Editor(text) => effects.push(Effect::Edit(text)),
                ComposerEffect::EditQueued => self.edit_queued(),
                ComposerEffect::Open(ComposerPage::Waiting) => self.open_waiting(),
                ComposerEffect::Suspend => effects.push(Effect::Suspend),
                ComposerEffect::FetchHistory(at) => effects.push(Effect::Ask(HostCall::FetchHistory(at))),
                ComposerEffect::SearchFiles(query) => effects.push(Effect::Ask(HostCall::SearchFiles(query))),
                ComposerEffect::CheckPath(path) => effects.push(Effect::Ask(HostCall::CheckImage(path))),
                ComposerEffect::Prompt { name, words } => {
                    effects.push(Effect::Ask(HostCall::ExpandPrompt { name, words }));
                }
                ComposerEffect::UnknownCommand(name) => {
                    self.say_error(&format!("there is no command /{name}; type / for the list"));
                }
                ComposerEffect::NotWhileWorking(name) => {
                    self.say_error(&format!("'/{name}' cannot run while a turn is running"));
                }
                ComposerEffect::Command { name, words } => self.command(name, &words, &mut effects),
                ComposerEffect::Open(ComposerPage::Transcript) => self.open_transcript(),
                ComposerEffect::NextMode => self.next_mode(),
                ComposerEffect::Open(ComposerPage::Context) => self.step_context(),
                ComposerEffect::Open(ComposerPage::Preview) => self.ask_preview(&mut effects),
                ComposerEffect::PasteImage => effects.push(Effect::Ask(HostCall::ClipboardImage)),
            }
        }
        effects
    }

    fn escape(&mut self, is_armed: bool, effects: &mut Vec<Effect>) {
        if self.session.is_working() {
            effects.push(Effect::Submit(Operation::Interrupt));
        } else if self.composer.draft().is_empty() {
            if is_armed {
                self.go_back();
            } else {
                self.is_armed = true;
            }
        }
    }

    fn next_mode(&mut self) {
        if self.session.is_working() || !self.settings.has_modes {
            return;
        }
        let next = match self.mode {
            CollaborationModeKind::Default => CollaborationModeKind::Plan,
            CollaborationModeKind::Plan => CollaborationModeKind::Default,
        };
        self.set_mode(next);
    }

    /// Whether the terminal has said that it knows the keyboard protocol.
    pub fn has_keyboard_protocol(&self) -> bool {
        self.terminal.has_keyboard_protocol
    }

    /// The least time between two frames that events ask for.
    pub fn frame_time(&self) -> Duration {
        Duration::from_secs(1) / self.settings.manner.frame_rate.max(1)
    }

    /// Whether tmux is between the client and the terminal.
    pub fn is_in_tmux(&self) -> bool {
        self.settings.manner.is_in_tmux
    }

    /// How lines get into the scrollback of this terminal.
    pub fn insertion(&self) -> Insertion {
        self.settings.insertion
    }

    /// Whether a page covers the screen.
    pub fn has_page(&self) -> bool {
        self.page.is_some() && self.settings.has_alternate_screen
    }

    /// Whether the client waits for the end of its session.
    pub fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// The session is being ended.
    pub fn begin_ending(&mut self) {
        self.is_ending = true;
    }

    /// Lines that became history since the last call.
    pub fn take_history(&mut self) -> Vec<Line<'static>> {
        std::mem::take(&mut self.pending)
    }

    fn canvas(&self) -> CellCanvas {
        CellCanvas { columns: usize::from(self.size.columns), palette: self.palette }
    }

    /// Keeps what changed in the transcript.
    fn changed(&mut self, changes: Vec<TranscriptChange>) {
        for change in changes {
            match change {
                TranscriptChange::History(lines) => self.pending.extend(lines),
                TranscriptChange::Heading(heading) => self.session.heading = Some(heading),
                TranscriptChange::Live | TranscriptChange::RolledBack => {}
            }
        }
        self.refresh_page();
    }

    fn say(&mut self, kind: NoticeKind, text: &str, details: Option<String>) {
        let notice = NoticeCell { details, ..NoticeCell::new(kind, text) };
        let changes = self.transcript.notice(notice, &self.canvas());
        self.changed(changes);
    }

    fn say_note(&mut self, text: &str) {
        self.say(NoticeKind::Info, text, None);
    }

    fn say_error(&mut self, text: &str) {
        self.say(NoticeKind::Error, text, None);
    }

    /// Shows lines, the first of them as the heading.
    fn say_lines(&mut self, lines: &[String]) {
        let (first, rest) = lines.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        self.say(NoticeKind::Info, first, (!rest.is_empty()).then(|| rest.join("\n")));
    }
}
