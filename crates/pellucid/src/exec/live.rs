//! A turn at a terminal: what arrives is drawn as it comes, with a row that says what is being done and for how long.
//!
//! `pellucid_tui::turn_view` decides what is drawn and `pellucid_tui::screen::strip` how; here are the clock, the signals and
//! the terminal. The terminal is left as it was, without the rows, when the turn ends in any way.

use std::time::Duration;
use std::time::Instant;

use pellucid_agent::identity::VERSION;
use pellucid_agent::session::Session;
use pellucid_agent::telemetry;
use pellucid_config::Env;
use pellucid_engine::wire::effort_sent;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::SessionConfigured;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_tui::cells::notice::NoticeKind;
use pellucid_tui::cells::session::short_path;
use pellucid_tui::cells::transcript::TranscriptOptions;
use pellucid_tui::screen::strip::Strip;
use pellucid_tui::terminal::echo;
use pellucid_tui::terminal::echo::EchoOff;
use pellucid_tui::terminal::wide_rows;
use pellucid_tui::text::palette::ColourDepth;
use pellucid_tui::text::palette::Palette;
use pellucid_tui::turn_view::TurnView;
use tokio::signal::unix::Signal;
use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;

use crate::args::exec::Color;
use crate::exec::human;
use crate::replay::cache_break_text;
use crate::screen::HeldOutput;
use crate::screen::OutputFormat;
use crate::screen::StandardStream;
use crate::start::ProgramFailure;

/// The least time between two frames.
const FRAME: Duration = Duration::from_millis(16);

/// Draws a turn on the terminal of standard output and standard error.
#[derive(Debug)]
pub struct LiveTurn {
    view: TurnView,
    strip: Strip,
    options: TranscriptOptions,
    effort: Option<ReasoningEffort>,
    terminal: Option<TakenTerminal>,
    signals: Option<Signals>,
    begun: Instant,
    drawn: Option<Instant>,
    is_stale: bool,
}

/// What is changed while rows are drawn, and is as before when it is dropped.
#[derive(Debug)]
struct TakenTerminal {
    held: HeldOutput,
    /// Absent while the terminal belongs to another job. No rows are drawn then, only final lines.
    echo: Option<EchoOff>,
}

/// The signals that matter to rows on a terminal. Ctrl-C interrupts the turn, which is then drawn to its end.
#[derive(Debug)]
struct Signals {
    window: Signal,
    stop: Signal,
    resume: Signal,
    terminate: Signal,
    hang_up: Signal,
}

/// What a frame does with the rows below the final lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowsBelow {
    Drawn,
    Removed,
}

/// Why the turn has to be drawn again, or left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// A frame is due.
    Frame,
    /// The terminal has another size.
    Window,
    /// The shell wants to stop the program.
    Stop,
    /// The shell has continued the program, in front or in the background.
    Resumed,
    /// The program is to end, by the number of the signal.
    End(u8),
}

impl LiveTurn {
    /// Whether a turn can be drawn: a person watches, and the terminal can move its cursor.
    pub fn is_possible(env: &Env) -> bool {
        StandardStream::Out.is_terminal()
            && StandardStream::Error.is_terminal()
            && env.text("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
            && echo::is_in_front()
    }

    /// A turn that has not begun. Nothing is drawn before its first event.
    pub fn new(color: Color, env: &Env, options: TranscriptOptions, session: &Session) -> Self {
        let size = echo::size();
        let palette = Palette::new(depth(color, env), None);
        Self {
            view: TurnView::new(options.clone(), palette, size),
            strip: Strip::new(size, wide_rows()),
            options,
            effort: effort_sent(session.wire_api(), session.facts()),
            terminal: None,
            signals: None,
            begun: Instant::now(),
            drawn: None,
            is_stale: false,
        }
    }

    /// Takes an event of the session.
    pub fn event(&mut self, event: &EventMessage) {
        let now = self.begun.elapsed();
        match event {
            EventMessage::SessionConfigured(session) => {
                let head = head(session, self.effort, &self.options);
                self.view.head(&head);
                self.view.event(event, now);
            }
            EventMessage::ContextResumeCost(broken) => {
                self.view.notice(NoticeKind::Info, &format!("this session {}", cache_break_text(broken)));
            }
            _ => self.view.event(event, now),
        }
        self.changed();
    }

    /// Takes an event of an agent that the session started.
    pub fn agent_event(&mut self, event: &EventMessage) {
        self.view.agent_event(event, self.begun.elapsed());
        self.changed();
    }

    /// Takes the terminal. Must be called inside of a runtime.
    pub fn begin(&mut self) {
        self.terminal = Some(TakenTerminal { held: HeldOutput::begin(), echo: EchoOff::new() });
        // Without signals the rows are still drawn, but not at once after a change of the window.
        self.signals = Signals::new().ok();
    }

    /// Waits until something has to be drawn although no event came. May be cancelled.
    pub async fn woken(&mut self) -> Woken {
        let wake = self.wake();
        let Some(signals) = &mut self.signals else {
            sleep_until(wake).await;
            return Woken::Frame;
        };
        tokio::select! {
            _ = signals.window.recv() => Woken::Window,
            _ = signals.stop.recv() => Woken::Stop,
            _ = signals.resume.recv() => Woken::Resumed,
            _ = signals.terminate.recv() => Woken::End(15),
            _ = signals.hang_up.recv() => Woken::End(1),
            () = sleep_until(wake) => Woken::Frame,
        }
    }

    /// Does what is due.
    pub fn answer(&mut self, woken: Woken) {
        match woken {
            Woken::Frame => self.draw(),
            Woken::Window => self.resize(),
            Woken::Stop => {
                self.leave();
                // The terminal belongs to the shell until this call returns.
                let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
                self.resume();
            }
            Woken::Resumed => self.resume(),
            Woken::End(number) => {
                self.leave();
                let _unseen = telemetry::close_all();
                std::process::exit(i32::from(number) + 128);
            }
        }
    }

    /// Removes the rows and gives the terminal back. Final lines stay.
    pub fn leave(&mut self) {
        self.draw_with(RowsBelow::Removed);
        self.terminal = None;
    }

    /// After the turn: what it took, and the answer if no event had it.
    pub fn finish(&mut self, answer: Option<&str>) -> Result<(), ProgramFailure> {
        self.leave();
        self.view.end(self.begun.elapsed());
        let bytes = self.strip.frame(&self.view.take_history(), &[]);
        let _ = StandardStream::Error.write_bytes(&bytes);
        match answer.filter(|answer| !self.view.has_shown(answer)) {
            Some(answer) => StandardStream::Out
                .write(&format!("{}\n", answer.trim_end_matches('\n')), OutputFormat::People)
                .map_err(|error| ProgramFailure::new(format!("the answer cannot be printed: {error}"))),
            None => Ok(()),
        }
    }

    fn resume(&mut self) {
        self.leave();
        self.terminal = Some(TakenTerminal { held: HeldOutput::begin(), echo: EchoOff::new() });
        self.resize();
    }

    fn resize(&mut self) {
        let size = echo::size();
        let bytes = self.strip.resize(size);
        self.view.resize(size);
        if let Some(terminal) = &self.terminal {
            let _ = terminal.held.draw(&bytes);
        }
        self.draw();
    }

    /// Draws at once if the last frame is long enough ago.
    fn changed(&mut self) {
        self.is_stale = true;
        if self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME) {
            self.draw();
        }
    }

    fn draw(&mut self) {
        let is_ours = self.terminal.as_ref().is_some_and(|terminal| terminal.echo.is_some());
        self.draw_with(if is_ours { RowsBelow::Drawn } else { RowsBelow::Removed });
    }

    /// Writes what became final, and draws or removes the rows below it.
    fn draw_with(&mut self, below: RowsBelow) {
        let Some(terminal) = &self.terminal else { return };
        let rows = match below {
            RowsBelow::Drawn => self.view.rows(self.begun.elapsed()),
            RowsBelow::Removed => Vec::new(),
        };
        let mut bytes = Vec::new();
        let text = terminal.held.take();
        if !text.is_empty() {
            bytes.extend(self.strip.text(&text));
        }
        bytes.extend(self.strip.frame(&self.view.take_history(), &rows));
        if !bytes.is_empty() {
            // The terminal may be gone, and then nothing can be drawn.
            let _ = terminal.held.draw(&bytes);
        }
        self.drawn = Some(Instant::now());
        self.is_stale = false;
    }

    /// When something has to be drawn if nothing else happens.
    fn wake(&self) -> Option<Instant> {
        let frame = self.drawn.filter(|_| self.is_stale).map(|drawn| drawn + FRAME);
        let tick = self.view.next_tick(self.begun.elapsed()).map(|at| self.begun + at);
        [frame, tick].into_iter().flatten().min()
    }
}

impl Drop for LiveTurn {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        const STOP: i32 = rustix::process::Signal::TSTP.as_raw();
        const CONTINUE: i32 = rustix::process::Signal::CONT.as_raw();
        Ok(Self {
            window: signal(SignalKind::window_change())?,
            stop: signal(SignalKind::from_raw(STOP))?,
            resume: signal(SignalKind::from_raw(CONTINUE))?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }
}

async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

fn depth(color: Color, env: &Env) -> ColourDepth {
    let text = |name: &str| env.text(name);
    let depth =
        |no_color: Option<&str>| ColourDepth::of(no_color, text("COLORTERM").as_deref(), text("TERM").as_deref());
    match color {
        Color::Always => depth(None).max(ColourDepth::Named),
        Color::Never => ColourDepth::None,
        Color::Auto => depth(text("NO_COLOR").as_deref()),
    }
}

/// The settings of a session, a paragraph for each text.
fn head(session: &SessionConfigured, effort: Option<ReasoningEffort>, options: &TranscriptOptions) -> [String; 3] {
    let effort = human::effort_text(effort);
    let folder = short_path(&session.cwd, None, options.home.as_deref());
    [
        format!("Pellucid v{VERSION} · {} · effort {effort} · {}", session.model, session.model_provider_id),
        format!(
            "{folder} · approval {} · sandbox {}",
            session.approval_policy,
            human::sandbox(&session.sandbox_policy)
        ),
        format!("session {}", session.session_id),
    ]
}
