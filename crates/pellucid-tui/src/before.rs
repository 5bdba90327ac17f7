//! Questions before a session begins: whether a folder is trusted, how to sign in, which session continues.
//!
//! Keys that were typed before a question is shown do not answer it; they are kept for the composer.
//! `lines` asks the same questions for a screen reader.

mod lines;

use std::io;
use std::time::Duration;
use std::time::Instant;

use ratatui_core::style::Modifier;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use crate::composer::drawing::Drawn;
use crate::composer::drawing::PartStyles;
use crate::input::Input;
use crate::input::InputReader;
use crate::input::TerminalAnswer;
use crate::key::Key;
use crate::key::KeyCode;
use crate::keymap::Keymap;
use crate::lists::options::Appeared;
use crate::lists::options::ListOption;
use crate::lists::options::ListOutcome;
use crate::lists::options::OptionList;
use crate::picker::Picker;
use crate::picker::PickerOutcome;
use crate::screen::Insertion;
use crate::screen::Screen;
use crate::screen::View;
use crate::screen::modes;
use crate::terminal::ClientTerminal;
use crate::text::palette::ColourDepth;
use crate::text::palette::Palette;
use crate::text::palette::Rgb;

/// How long the terminal may take for its answers.
const ANSWER_WAIT: Duration = Duration::from_secs(2);

/// How long a signal may take that says that the terminal is gone.
const HANG_UP_WAIT: Duration = Duration::from_secs(1);

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeAnswer {
    /// This option, counted from 0.
    Chosen(usize),
    /// Esc was pressed.
    Dismissed,
    /// The person wants to end the program.
    Ended,
}

/// Asks questions before a session begins.
#[derive(Debug)]
pub struct Asker {
    terminal: ClientTerminal,
    screen: Screen,
    reader: InputReader,
    palette: Palette,
    keymap: Keymap,
    /// What was typed before a question was shown.
    typed: Vec<Input>,
    /// Whether a screen reader reads the terminal, so that nothing is drawn.
    is_spoken: bool,
    /// Whether the terminal was given back.
    has_left: bool,
}

impl Asker {
    /// Asks in plain lines, for a screen reader. The terminal stays as it is.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub fn in_lines() -> io::Result<Self> {
        let terminal = ClientTerminal::new()?;
        let size = terminal.size();
        Ok(Self {
            screen: Screen::new(size, size.rows - 1, Insertion::Region),
            terminal,
            reader: InputReader::default(),
            palette: Palette::plain(),
            keymap: Keymap::standard(),
            typed: Vec::new(),
            is_spoken: true,
            has_left: false,
        })
    }

    /// Takes the terminal.
    ///
    /// # Errors
    /// The terminal cannot be read or written.
    pub async fn start(depth: ColourDepth, keymap: Keymap) -> io::Result<Self> {
        let mut terminal = ClientTerminal::new()?;
        terminal.enter()?;
        terminal.write(modes::QUESTIONS.as_bytes())?;
        let size = terminal.size();
        let mut asker = Self {
            screen: Screen::new(size, size.rows - 1, Insertion::Region),
            terminal,
            reader: InputReader::default(),
            palette: Palette::new(depth, None),
            keymap,
            typed: Vec::new(),
            is_spoken: false,
            has_left: false,
        };
        let (mut row, mut is_over) = (size.rows - 1, false);
        let until = Instant::now() + ANSWER_WAIT;
        while !is_over {
            let Ok(bytes) = tokio::time::timeout_at(until.into(), asker.terminal.read()).await else {
                break;
            };
            let bytes = bytes?;
            if bytes.is_empty() {
                break;
            }
            let mut inputs = Vec::new();
            asker.reader.feed(&bytes, &mut inputs);
            for input in inputs {
                match input {
                    Input::Answer(TerminalAnswer::Cursor { row: at, .. }) => row = at,
                    Input::Answer(TerminalAnswer::Background(red, green, blue)) => {
                        asker.palette = Palette::new(depth, Some(Rgb(red, green, blue)));
                    }
                    Input::Answer(TerminalAnswer::Attributes) => is_over = true,
                    Input::Answer(_) => {}
                    input => asker.typed.push(input),
                }
            }
        }
        asker.screen = Screen::new(size, row, Insertion::Region);
        Ok(asker)
    }

    fn styles(&self) -> PartStyles {
        PartStyles { ground: self.palette.ground(), accent: self.palette.accent(), dim: self.palette.dim() }
    }

    /// Waits for the next key or paste; absent when the terminal is gone.
    async fn next(&mut self) -> io::Result<Option<Vec<Input>>> {
        loop {
            let wait = self.reader.wait().unwrap_or(Duration::from_secs(3600));
            let mut inputs = Vec::new();
            match tokio::time::timeout(wait, self.terminal.read()).await {
                Ok(bytes) => {
                    let bytes = bytes?;
                    if bytes.is_empty() {
                        // The signal that says the same decides the exit status; it comes at once, unless it is ignored.
                        tokio::time::sleep(HANG_UP_WAIT).await;
                        return Ok(None);
                    }
                    self.reader.feed(&bytes, &mut inputs);
                }
                Err(_) => self.reader.time_out(&mut inputs),
            }
            if !inputs.is_empty() {
                return Ok(Some(inputs));
            }
        }
    }

    fn draw(&mut self, drawn: &Drawn) -> io::Result<()> {
        let size = self.terminal.size();
        if size != self.screen.size() {
            self.screen.resize(size, None);
        }
        let view = View { lines: drawn.lines.clone(), cursor: drawn.cursor };
        let bytes = self.screen.frame(Vec::new(), &view);
        self.terminal.write(&bytes)
    }

    /// Asks a question with numbered options.
    ///
    /// # Errors
    /// The terminal cannot be read or written.
    pub async fn choose(&mut self, title: Vec<Line<'static>>, options: Vec<ListOption>) -> io::Result<BeforeAnswer> {
        if self.is_spoken {
            return lines::choose(&self.terminal, &title, &options).await;
        }
        let mut list = OptionList::new(title, options, Appeared::Opened);
        loop {
            let size = self.terminal.size();
            let drawn = list.draw(size.columns, size.rows.saturating_sub(1).max(1), &self.styles());
            self.draw(&drawn)?;
            let Some(inputs) = self.next().await? else {
                return Ok(BeforeAnswer::Ended);
            };
            for input in inputs {
                let Input::Key(key) = input else { continue };
                if key == Key::ctrl('d') {
                    return Ok(BeforeAnswer::Ended);
                }
                let key = match key.typed() {
                    Some('j') => Key::plain(KeyCode::Down),
                    Some('k') => Key::plain(KeyCode::Up),
                    _ => key,
                };
                match list.press(key, Duration::ZERO, &self.keymap) {
                    ListOutcome::Chosen(at) => return Ok(BeforeAnswer::Chosen(at)),
                    ListOutcome::Cancelled => return Ok(BeforeAnswer::Dismissed),
                    ListOutcome::Aborted => return Ok(BeforeAnswer::Ended),
                    _ => {}
                }
            }
        }
    }

    /// Asks for a text that is not shown, such as a key. Absent if the person went back.
    ///
    /// # Errors
    /// The terminal cannot be read or written.
    pub async fn secret(&mut self, title: &str) -> io::Result<Option<String>> {
        if self.is_spoken {
            return lines::secret(&self.terminal, title).await;
        }
        let mut text = String::new();
        loop {
            let dots = "•".repeat(text.chars().count().min(60));
            let line = Line::from(vec![Span::styled("› ", Style::new().add_modifier(Modifier::BOLD)), Span::raw(dots)]);
            let x = u16::try_from(2 + text.chars().count().min(60)).unwrap_or(u16::MAX);
            self.draw(&Drawn { lines: vec![Line::from(title.to_owned()), line], cursor: Some((x, 1)) })?;
            let Some(inputs) = self.next().await? else {
                return Ok(None);
            };
            for input in inputs {
                match input {
                    Input::Paste(pasted) => text.push_str(pasted.trim()),
                    Input::Key(key) => match (key.typed(), key.code) {
                        (Some(char), _) => text.push(char),
                        (None, KeyCode::Backspace) => {
                            text.pop();
                        }
                        (None, KeyCode::Enter) => return Ok(Some(text)),
                        (None, KeyCode::Esc) => return Ok(None),
                        _ if key == Key::ctrl('c') => return Ok(None),
                        _ => {}
                    },
                    Input::Focus(_) | Input::Mouse(_) | Input::Answer(_) => {}
                }
            }
        }
    }

    /// Lets the person choose a session on a page. Absent for the end of the program; an empty id means a new session.
    ///
    /// # Errors
    /// The terminal cannot be read or written.
    pub async fn pick(&mut self, mut picker: Picker, now: i64) -> io::Result<Option<String>> {
        if self.is_spoken {
            return lines::pick(&self.terminal, picker.title(), picker.rows()).await;
        }
        let bytes = self.screen.set_page(true);
        self.terminal.write(&bytes)?;
        self.terminal.set_page(true);
        let picked = self.pick_on_page(&mut picker, now).await;
        let bytes = self.screen.set_page(false);
        self.terminal.write(&bytes)?;
        self.terminal.set_page(false);
        picked
    }

    async fn pick_on_page(&mut self, picker: &mut Picker, now: i64) -> io::Result<Option<String>> {
        loop {
            let size = self.terminal.size();
            let drawn = picker.draw(size.columns, size.rows, now, &self.styles());
            self.draw(&drawn)?;
            let Some(inputs) = self.next().await? else {
                return Ok(None);
            };
            for input in inputs {
                let Input::Key(key) = input else { continue };
                match picker.press(key, &self.keymap) {
                    PickerOutcome::Open => {}
                    PickerOutcome::Chosen(id) => return Ok(Some(id)),
                    PickerOutcome::New => return Ok(Some(String::new())),
                    PickerOutcome::Ended => return Ok(None),
                }
            }
        }
    }

    /// Gives the terminal back, and what was typed before any question was shown.
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub fn end(mut self) -> io::Result<Vec<Input>> {
        self.leave()?;
        Ok(std::mem::take(&mut self.typed))
    }

    fn leave(&mut self) -> io::Result<()> {
        if self.is_spoken || std::mem::replace(&mut self.has_left, true) {
            return Ok(());
        }
        let bytes = self.screen.leave();
        self.terminal.write(&bytes)?;
        self.terminal.leave()
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        // A signal has ended the question. The terminal may be gone, and then there is nothing to restore.
        let _ = self.leave();
    }
}
