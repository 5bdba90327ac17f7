//! The driver for a screen reader: whole lines come in, whole lines go out, and the terminal stays as it is.
//!
//! The terminal itself shows and edits what is typed. Nothing is written but text, line ends and a prompt.

use std::io;
use std::time::Duration;
use std::time::Instant;

use super::RunEnd;
use super::shut_down;
use super::signals;
use super::signals::EndSignals;
use super::sleep_until;
use crate::app::App;
use crate::app::Effect;
use crate::host::Host;
use crate::host::HostNews;
use crate::host::OpenedSession;
use crate::terminal::ClientTerminal;

/// Runs the client until it ends.
///
/// # Errors
/// The terminal cannot be read or written.
pub async fn run<H: Host>(host: &mut H, mut app: App, opened: OpenedSession) -> io::Result<(RunEnd, App)> {
    let mut client = LineClient { host, terminal: ClientTerminal::new()?, begun: Instant::now(), end: None };
    app.begin_with(opened);
    let end = client.converse(&mut app).await;
    if let Some(call) = app.keep_draft() {
        // The program ends, so a failure has no one to be reported to but the log of the host.
        let _ = client.host.ask(call).await;
    }
    Ok((end?, app))
}

struct LineClient<'h, H> {
    host: &'h mut H,
    terminal: ClientTerminal,
    begun: Instant,
    end: Option<RunEnd>,
}

impl<H: Host> LineClient<'_, H> {
    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    async fn converse(&mut self, app: &mut App) -> io::Result<RunEnd> {
        let mut signals = EndSignals::new()?;
        let mut typed = Vec::new();
        loop {
            self.terminal.write(app.spoken().as_bytes())?;
            if let Some(end) = self.end {
                return Ok(end);
            }
            app.watch_draft(self.now());
            let wake = app.next_tick(self.now()).map(|at| self.begun + at);
            let effects = tokio::select! {
                biased;
                number = signals.next() => match number {
                    signals::INTERRUPT => app.interrupt_line(self.now()),
                    number => { self.finish(RunEnd::Signal(number), app).await; Vec::new() }
                },
                bytes = self.terminal.read() => {
                    let bytes = bytes?;
                    if bytes.is_empty() {
                        self.finish(RunEnd::Quit, app).await;
                    }
                    typed.extend(bytes);
                    self.take_lines(&mut typed, app).await?;
                    Vec::new()
                }
                news = self.host.news() => match news {
                    HostNews::Event(Some(event)) => app.event(&event, self.now()),
                    HostNews::Event(None) => {
                        self.end = Some(if app.is_ending() { RunEnd::Quit } else { RunEnd::Failed });
                        Vec::new()
                    }
                    HostNews::Answer(answer) => app.answered(answer, self.now()),
                },
                () = sleep_until(wake) => app.tick(self.now()),
            };
            self.carry_out(effects, app).await?;
        }
    }

    /// Takes the lines that are complete.
    async fn take_lines(&mut self, typed: &mut Vec<u8>, app: &mut App) -> io::Result<()> {
        while let Some(end) = typed.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = typed.drain(..=end).collect();
            let effects = app.line(&String::from_utf8_lossy(&line), self.now());
            self.carry_out(effects, app).await?;
            // What a line did is written before the next line is taken.
            self.terminal.write(app.spoken().as_bytes())?;
        }
        Ok(())
    }

    async fn carry_out(&mut self, effects: Vec<Effect>, app: &mut App) -> io::Result<()> {
        let mut waiting = std::collections::VecDeque::from(effects);
        while let Some(effect) = waiting.pop_front() {
            match effect {
                Effect::Submit(operation) => self.host.submit(operation).await,
                Effect::Ask(call) => {
                    let answer = self.host.ask(call).await;
                    waiting.extend(app.answered(answer, self.now()));
                }
                Effect::Edit(text) => {
                    let edited = self.host.edit(&text).await;
                    waiting.extend(app.edited(edited));
                }
                Effect::Quit => self.finish(RunEnd::Quit, app).await,
                // A screen reader reads all bytes, so none are written that show nothing; the shell stops the program.
                Effect::Write(_) | Effect::Suspend => {}
            }
        }
        Ok(())
    }

    async fn finish(&mut self, end: RunEnd, app: &mut App) {
        shut_down(self.host, app, self.begun).await;
        self.end = Some(end);
    }
}
