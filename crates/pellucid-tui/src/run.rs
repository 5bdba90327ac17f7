//! The driver: connects the terminal, the session and the client's state.
//!
//! Keys are drawn at once; events of the session at most so often a second. Nothing is drawn, and nothing wakes the program
//! up, while nothing happens. `lines` is the driver for a screen reader.

pub mod lines;
pub mod resizing;
pub mod signals;

use std::io;
use std::time::Duration;
use std::time::Instant;

use self::resizing::ResizeStep;
use self::resizing::Resizing;
use self::signals::Caught;
use self::signals::Signals;
use crate::app::App;
use crate::app::Effect;
use crate::host::Host;
use crate::host::HostAnswer;
use crate::host::HostNews;
use crate::host::OpenedSession;
use crate::input::Input;
use crate::input::InputReader;
use crate::input::Mouse;
use crate::input::TerminalAnswer;
use crate::screen::Screen;
use crate::screen::ScreenSize;
use crate::screen::modes;
use crate::terminal::ClientTerminal;
use crate::terminal::is_gone;
use crate::terminal::wide_rows;

/// How long the terminal may take for its answers.
const ANSWER_WAIT: Duration = Duration::from_secs(2);

/// How long a session may take to end.
const END_WAIT: Duration = Duration::from_secs(5);

/// How the client ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// The person ended it.
    Quit,
    /// A signal ended it, by its number.
    Signal(u8),
    /// The session failed, and its client cannot continue.
    Failed,
}

/// The client in a terminal.
pub struct Client<'h, H> {
    host: &'h mut H,
    app: App,
    terminal: ClientTerminal,
    screen: Screen,
    reader: InputReader,
    signals: Signals,
    begun: Instant,
    drawn: Option<Instant>,
    /// Whether something changed since the last frame.
    is_stale: bool,
    resizing: Resizing,
    /// The size of the terminal when it was asked last.
    size: ScreenSize,
    /// Until when the rest of a sequence may come.
    incomplete: Option<Instant>,
    /// When the client wants to be drawn again if nothing happens.
    tick: Option<Instant>,
    end: Option<RunEnd>,
}

impl<H> std::fmt::Debug for Client<'_, H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("app", &self.app).finish_non_exhaustive()
    }
}

impl<'h, H: Host> Client<'h, H> {
    /// Takes the terminal, asks it what it can do, and shows the first frame, with what was said before in the session.
    ///
    /// # Errors
    /// The terminal cannot be read or written.
    pub async fn start(host: &'h mut H, mut app: App, opened: OpenedSession) -> io::Result<Self> {
        let begun = Instant::now();
        let signals = Signals::new()?;
        let mut terminal = ClientTerminal::new()?;
        let mut reader = InputReader::default();
        terminal.enter()?;
        terminal.write(modes::QUESTIONS.as_bytes())?;
        let (row, typed) = first_answers(&terminal, &mut reader, &mut app).await?;
        if !app.has_keyboard_protocol() {
            terminal.report_other_keys()?;
        }
        if app.has_mouse() {
            terminal.report_mouse()?;
        }
        let size = terminal.size();
        app.resize(size);
        // What is stored is drawn for the width and the colours of this terminal, so not before they are known.
        app.begin_with(opened);
        let mut screen = Screen::new(size, row.unwrap_or(size.rows - 1), app.insertion());
        screen.set_wide_rows(wide_rows());
        let resizing = Resizing::new(app.is_in_tmux());
        let mut client = Self {
            host,
            app,
            terminal,
            screen,
            reader,
            signals,
            begun,
            drawn: None,
            is_stale: true,
            resizing,
            size,
            tick: None,
            incomplete: None,
            end: None,
        };
        client.draw()?;
        let now = client.now();
        for input in typed {
            client.take(input, now).await?;
        }
        Ok(client)
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Runs until the client ends, and leaves the terminal as it was.
    ///
    /// # Errors
    /// The terminal cannot be read or written.
    pub async fn run(mut self) -> io::Result<(RunEnd, App)> {
        let end = self.converse().await;
        // A terminal that is gone is an error, and the draft is kept all the same.
        self.keep_draft().await;
        let end = end?;
        match (end, self.leave()) {
            // The terminal may be gone, and then there is nothing to restore.
            (RunEnd::Signal(_), _) => {}
            (_, left) => left?,
        }
        Ok((end, self.app))
    }

    /// Shows what was said last, and gives the terminal back.
    fn leave(&mut self) -> io::Result<()> {
        self.draw()?;
        let bytes = self.screen.leave();
        self.terminal.write(&bytes)?;
        self.terminal.leave()
    }

    /// Takes what arrives until the client ends.
    async fn converse(&mut self) -> io::Result<RunEnd> {
        loop {
            match self.draw_if_due() {
                Err(error) if is_gone(&error) => self.finish(RunEnd::Signal(signals::HANG_UP)).await,
                drawn => drawn?,
            }
            if let Some(end) = self.end {
                return Ok(end);
            }
            let wake = self.wake();
            tokio::select! {
                biased;
                caught = self.signals.next() => self.caught(caught).await?,
                bytes = self.terminal.read() => self.read(&bytes?).await?,
                news = self.host.news() => match news {
                    HostNews::Event(event) => self.heard(event).await?,
                    HostNews::Answer(answer) => self.answered(answer).await?,
                },
                () = sleep_until(wake) => self.woken().await?,
            }
        }
    }

    /// Keeps a draft that has changed since it was kept.
    async fn keep_draft(&mut self) {
        if let Some(call) = self.app.keep_draft() {
            let answer = self.host.ask(call).await;
            let now = self.now();
            // A draft that cannot be kept is reported, which asks for nothing.
            let _ = self.app.answered(answer, now);
        }
    }

    /// When the client has to do something if nothing else happens.
    fn wake(&mut self) -> Option<Instant> {
        let frame =
            self.drawn.filter(|_| self.is_stale && !self.resizing.is_open()).map(|drawn| drawn + self.app.frame_time());
        self.app.watch_draft(self.now());
        self.tick = self.app.next_tick(self.now()).map(|at| self.begun + at);
        let resizing = self.resizing.wake().map(|at| self.begun + at);
        [frame, self.incomplete, self.tick, resizing].into_iter().flatten().min()
    }

    async fn woken(&mut self) -> io::Result<()> {
        let mut inputs = Vec::new();
        if self.incomplete.is_some_and(|until| Instant::now() >= until) {
            self.incomplete = None;
            self.reader.time_out(&mut inputs);
        }
        let now = self.now();
        for input in inputs {
            self.take(input, now).await?;
        }
        let step = self.resizing.due(self.now());
        self.resize(step)?;
        if self.tick.is_some_and(|at| Instant::now() >= at) {
            let effects = self.app.tick(now);
            self.is_stale = true;
            self.carry_out(effects).await?;
        }
        Ok(())
    }

    async fn read(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            self.finish(RunEnd::Signal(signals::HANG_UP)).await;
            return Ok(());
        }
        let mut inputs = Vec::new();
        self.reader.feed(bytes, &mut inputs);
        self.incomplete = self.reader.wait().map(|wait| Instant::now() + wait);
        // Keys of one read have one time, by which a burst is recognised.
        let now = self.now();
        for input in inputs {
            self.take(input, now).await?;
        }
        if self.is_stale {
            self.draw_unless_resized()?;
        }
        self.app.keys_handled(self.now());
        Ok(())
    }

    async fn take(&mut self, input: Input, now: Duration) -> io::Result<()> {
        let effects = match input {
            Input::Key(key) => self.app.key(key, now),
            Input::Paste(text) => self.app.paste(&text, now),
            Input::Mouse(mouse) => {
                let top = if self.screen.has_page() { 0 } else { self.screen.top() };
                match mouse.row.checked_sub(top) {
                    Some(row) => self.app.mouse(Mouse { row, ..mouse }, now),
                    None => Vec::new(),
                }
            }
            Input::Focus(has_focus) => {
                if has_focus {
                    self.terminal.write(modes::ASK_COLORS.as_bytes())?;
                }
                self.app.focus(has_focus)
            }
            Input::Answer(TerminalAnswer::Cursor { row, .. }) => {
                let step = self.resizing.answered(row);
                return self.resize(step);
            }
            Input::Answer(answer) => {
                if self.app.terminal_answered(answer) {
                    self.is_stale = true;
                }
                return Ok(());
            }
        };
        self.is_stale = true;
        self.carry_out(effects).await
    }

    async fn heard(&mut self, event: Option<pellucid_protocol::event::Event>) -> io::Result<()> {
        let now = self.now();
        let Some(event) = event else {
            self.end = Some(if self.app.is_ending() { RunEnd::Quit } else { RunEnd::Failed });
            return Ok(());
        };
        let effects = self.app.event(&event, now);
        self.is_stale = true;
        self.carry_out(effects).await
    }

    async fn answered(&mut self, answer: HostAnswer) -> io::Result<()> {
        let effects = self.app.answered(answer, self.now());
        self.is_stale = true;
        self.carry_out(effects).await
    }

    async fn carry_out(&mut self, effects: Vec<Effect>) -> io::Result<()> {
        let mut waiting = std::collections::VecDeque::from(effects);
        while let Some(effect) = waiting.pop_front() {
            match effect {
                Effect::Submit(operation) => self.host.submit(operation).await,
                Effect::Ask(call) => {
                    let answer = self.host.ask(call).await;
                    let now = self.now();
                    waiting.extend(self.app.answered(answer, now));
                    self.is_stale = true;
                }
                Effect::Write(bytes) => self.terminal.write(&bytes)?,
                Effect::Suspend => self.suspend().await?,
                Effect::Edit(text) => {
                    let edited = self.edit(&text).await?;
                    waiting.extend(self.app.edited(edited));
                    self.is_stale = true;
                }
                Effect::Quit => self.finish(RunEnd::Quit).await,
            }
        }
        Ok(())
    }

    async fn caught(&mut self, caught: Caught) -> io::Result<()> {
        match caught {
            Caught::End(number) => self.finish(RunEnd::Signal(number)).await,
            Caught::Stop => self.suspend().await?,
            Caught::Window => self.window_changed()?,
        }
        Ok(())
    }

    fn window_changed(&mut self) -> io::Result<()> {
        let step = self.resizing.changed(self.now());
        self.resize(step)
    }

    /// Does what follows from a change of the window's size.
    fn resize(&mut self, step: Option<ResizeStep>) -> io::Result<()> {
        match step {
            None => Ok(()),
            Some(ResizeStep::Ask) => self.terminal.write(modes::ASK_CURSOR.as_bytes()),
            Some(ResizeStep::Draw(row)) => {
                self.size = self.terminal.size();
                self.app.resize(self.size);
                self.screen.resize(self.size, row);
                self.draw()
            }
        }
    }

    /// Ends the session, so that its file is complete.
    async fn finish(&mut self, end: RunEnd) {
        self.keep_draft().await;
        shut_down(self.host, &mut self.app, self.begun).await;
        self.end = Some(end);
    }

    /// Gives the terminal to the shell until it continues this program.
    async fn suspend(&mut self) -> io::Result<()> {
        self.keep_draft().await;
        self.give_away()?;
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)?;
        self.take_back().await
    }

    async fn edit(&mut self, text: &str) -> io::Result<Result<String, String>> {
        self.keep_draft().await;
        self.give_away()?;
        let edited = self.host.edit(text).await;
        self.take_back().await?;
        Ok(edited)
    }

    fn give_away(&mut self) -> io::Result<()> {
        let bytes = self.screen.leave();
        self.terminal.write(&bytes)?;
        self.terminal.set_page(false);
        self.terminal.leave()
    }

    async fn take_back(&mut self) -> io::Result<()> {
        self.terminal.enter()?;
        self.terminal.write(modes::QUESTIONS.as_bytes())?;
        let (row, typed) = first_answers(&self.terminal, &mut self.reader, &mut self.app).await?;
        if !self.app.has_keyboard_protocol() {
            self.terminal.report_other_keys()?;
        }
        if self.app.has_mouse() {
            self.terminal.report_mouse()?;
        }
        let size = self.terminal.size();
        self.app.resize(size);
        self.size = size;
        self.screen.come_back(size, row.unwrap_or(size.rows - 1));
        self.is_stale = true;
        self.draw()?;
        let now = self.now();
        for input in typed {
            Box::pin(self.take(input, now)).await?;
        }
        Ok(())
    }

    fn draw_if_due(&mut self) -> io::Result<()> {
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= self.app.frame_time());
        if self.is_stale && is_due {
            return self.draw_unless_resized();
        }
        Ok(())
    }

    /// Draws, unless the window has another size than the last frame: the signal of that may still be on its way.
    fn draw_unless_resized(&mut self) -> io::Result<()> {
        if self.resizing.is_open() {
            return Ok(());
        }
        if self.terminal.size() != self.size {
            return self.window_changed();
        }
        self.draw()
    }

    fn draw(&mut self) -> io::Result<()> {
        let now = self.now();
        let has_page = self.app.has_page();
        let mut bytes = Vec::new();
        if has_page != self.screen.has_page() {
            bytes = self.screen.set_page(has_page);
            self.terminal.set_page(has_page);
        }
        let history = self.app.take_history();
        let view = self.app.view(now);
        bytes.extend(self.screen.frame(history, &view));
        self.terminal.write(&bytes)?;
        if let Some(title) = self.app.title() {
            self.terminal.set_title(&title)?;
        }
        self.is_stale = false;
        self.drawn = Some(Instant::now());
        Ok(())
    }
}

/// Ends the session, so that its file is complete.
async fn shut_down<H: Host>(host: &mut H, app: &mut App, begun: Instant) {
    app.begin_ending();
    let over = async {
        host.submit(pellucid_protocol::operation::Operation::Shutdown).await;
        while let Some(event) = host.event().await {
            if matches!(event.msg, pellucid_protocol::event::EventMessage::ShutdownComplete) {
                break;
            }
            app.event(&event, begun.elapsed());
        }
    };
    let _ = tokio::time::timeout(END_WAIT, over).await;
}

/// Waits for the terminal's answers. Returns the row of the cursor, and what was typed meanwhile.
async fn first_answers(
    terminal: &ClientTerminal,
    reader: &mut InputReader,
    app: &mut App,
) -> io::Result<(Option<u16>, Vec<Input>)> {
    let mut row = None;
    let mut typed = Vec::new();
    let answers = async {
        loop {
            let bytes = terminal.read().await?;
            if bytes.is_empty() {
                return Ok(());
            }
            let mut inputs = Vec::new();
            reader.feed(&bytes, &mut inputs);
            let mut is_over = false;
            for input in inputs {
                match input {
                    Input::Answer(TerminalAnswer::Cursor { row: at, .. }) => row = Some(at),
                    Input::Answer(TerminalAnswer::Attributes) => is_over = true,
                    Input::Answer(answer) => {
                        app.terminal_answered(answer);
                    }
                    input => typed.push(input),
                }
            }
            if is_over {
                return Ok(());
            }
        }
    };
    match tokio::time::timeout(ANSWER_WAIT, answers).await {
        Ok(Err(error)) => Err(error),
        Ok(Ok(())) | Err(_) => Ok((row, typed)),
    }
}

/// Sleeps until a moment, or for ever.
async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}
