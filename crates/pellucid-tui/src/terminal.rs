//! The terminal itself: raw mode, reading, writing, and how it is left.
//!
//! The terminal is restored when the value is dropped, so also while a panic unwinds.

pub mod echo;

use std::io;

use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::termios;
use rustix::termios::OptionalActions;
use rustix::termios::Termios;
use tokio::net::unix::pipe;

use crate::screen::ScreenSize;
use crate::screen::WideRows;
use crate::screen::modes;

/// How many bytes are read at once.
const READ_BYTES_MAX: usize = 64 * 1024;

/// The size of a terminal that does not say its size.
const USUAL_SIZE: ScreenSize = ScreenSize { columns: 80, rows: 24 };

/// What this terminal does with rows that are wider than its window, by the variable that xterm sets.
pub fn wide_rows() -> WideRows {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    if is_set("XTERM_VERSION") && !is_set("TMUX") { WideRows::Cut } else { WideRows::Wrapped }
}

/// The terminal of standard input and standard output.
#[derive(Debug)]
pub struct ClientTerminal {
    /// The terminal of standard input, opened a second time: reading without waiting is a property of what was opened, and
    /// must not be set for the shell.
    input: pipe::Receiver,
    /// The line settings from before, while raw mode is on.
    before: Option<Termios>,
    /// Whether the alternate screen is on.
    has_page: bool,
    /// Whether keys with modifiers are reported by [`modes::OTHER_KEYS`].
    has_other_keys: bool,
    /// Whether the mouse is reported.
    has_mouse: bool,
    /// The title of the window that was set.
    title: Option<String>,
}

impl ClientTerminal {
    /// Whether standard input and standard output are terminals.
    pub fn is_there() -> bool {
        termios::isatty(rustix::stdio::stdin()) && termios::isatty(rustix::stdio::stdout())
    }

    /// Prepares to read the terminal. Must be called inside of a runtime.
    ///
    /// # Errors
    /// Standard input cannot be waited for.
    pub fn new() -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let own = termios::ttyname(rustix::stdio::stdin(), Vec::new())
            .and_then(|path| rustix::fs::open(path, flags, Mode::empty()));
        let opened = own.or_else(|_| rustix::fs::open("/dev/tty", flags, Mode::empty()))?;
        let input = pipe::Receiver::from_owned_fd_unchecked(opened)?;
        Ok(Self { input, before: None, has_page: false, has_other_keys: false, has_mouse: false, title: None })
    }

    /// Switches raw mode and the modes of the client on.
    ///
    /// # Errors
    /// The line settings cannot be changed, or nothing can be written.
    pub fn enter(&mut self) -> io::Result<()> {
        if self.before.is_none() {
            let before = termios::tcgetattr(rustix::stdio::stdin())?;
            let mut raw = before.clone();
            raw.make_raw();
            termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, &raw)?;
            self.before = Some(before);
        }
        self.write(modes::ON.as_bytes())
    }

    /// Switches everything off that [`ClientTerminal::enter`] switched on.
    ///
    /// # Errors
    /// Nothing can be written, or the line settings cannot be changed.
    pub fn leave(&mut self) -> io::Result<()> {
        let Some(before) = self.before.take() else {
            return Ok(());
        };
        let page = if self.has_page { modes::PAGE_OFF } else { "" };
        self.has_page = false;
        let keys = if std::mem::take(&mut self.has_other_keys) { modes::OTHER_KEYS.1 } else { "" };
        let mouse = if std::mem::take(&mut self.has_mouse) { modes::MOUSE.1 } else { "" };
        let title = if self.title.take().is_some() { modes::TITLE.1 } else { "" };
        let written = self.write(format!("{page}{mouse}{keys}{title}{}", modes::OFF).as_bytes());
        termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, &before)?;
        written
    }

    /// Notes whether the alternate screen is on, so that it is left in any case.
    pub fn set_page(&mut self, has_page: bool) {
        self.has_page = has_page;
    }

    /// Has keys with modifiers reported by a terminal that does not know the keyboard protocol.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn report_other_keys(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.has_other_keys, true) {
            return Ok(());
        }
        self.write(modes::OTHER_KEYS.0.as_bytes())
    }

    /// Has the mouse reported.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn report_mouse(&mut self) -> io::Result<()> {
        self.has_mouse = true;
        self.write(modes::MOUSE.0.as_bytes())
    }

    /// Sets the title of the window, which [`ClientTerminal::leave`] restores. Nothing is written if the title is the same.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn set_title(&mut self, title: &str) -> io::Result<()> {
        if self.title.as_deref() == Some(title) {
            return Ok(());
        }
        let keep = if self.title.is_none() { modes::TITLE.0 } else { "" };
        self.title = Some(title.to_owned());
        self.write(format!("{keep}\x1b]0;{title}\x07").as_bytes())
    }

    /// The size of the terminal's window.
    pub fn size(&self) -> ScreenSize {
        match termios::tcgetwinsize(rustix::stdio::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => ScreenSize { columns: size.ws_col, rows: size.ws_row },
            _ => USUAL_SIZE,
        }
    }

    /// Writes bytes as a whole.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match rustix::io::write(rustix::stdio::stdout(), rest) {
                Ok(n) => rest = &rest[n..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let mut wait = [rustix::event::PollFd::from_borrowed_fd(
                        rustix::stdio::stdout(),
                        rustix::event::PollFlags::OUT,
                    )];
                    let _ = rustix::event::poll(&mut wait, None);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits for bytes. No bytes mean that the terminal is gone.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub async fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; READ_BYTES_MAX];
        loop {
            self.input.readable().await?;
            match self.input.try_read(&mut bytes) {
                Ok(n) => {
                    bytes.truncate(n);
                    return Ok(bytes);
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) if is_gone(&error) => return Ok(Vec::new()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whether an error says that there is no terminal any more.
pub fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

impl Drop for ClientTerminal {
    fn drop(&mut self) {
        // The terminal may be gone, and then there is nothing to restore.
        let _ = self.leave();
    }
}
