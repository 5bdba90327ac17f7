//! The signals that end a client, stop it or tell it about its window.

use std::io;

use tokio::signal::unix::Signal;
use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;

/// The number of the signal that says that the terminal is gone.
pub const HANG_UP: u8 = 1;

/// The number of the signal by which a shell stops a program.
const SIGTSTP: i32 = 20;

/// The signals of a client that draws.
#[derive(Debug)]
pub(super) struct Signals {
    ends: EndSignals,
    stop: Signal,
    window: Signal,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            ends: EndSignals::new()?,
            stop: signal(SignalKind::from_raw(SIGTSTP))?,
            window: signal(SignalKind::window_change())?,
        })
    }

    pub(super) async fn next(&mut self) -> Caught {
        tokio::select! {
            number = self.ends.next() => Caught::End(number),
            _ = self.stop.recv() => Caught::Stop,
            _ = self.window.recv() => Caught::Window,
        }
    }
}

/// A signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caught {
    /// The program ends, because of the signal with this number.
    End(u8),
    Stop,
    Window,
}

/// The signals that end a program. A program that takes them can restore the terminal first.
#[derive(Debug)]
pub struct EndSignals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
    quit: Signal,
}

impl EndSignals {
    /// Takes the signals from now on. Must be called inside of a runtime.
    ///
    /// # Errors
    /// The system does not let the program take a signal.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// Waits for one of the signals and gives its number.
    pub async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 15,
            _ = self.hang_up.recv() => HANG_UP,
            _ = self.interrupt.recv() => INTERRUPT,
            _ = self.quit.recv() => 3,
        }
    }
}

/// The number of the signal of Ctrl-C.
pub(super) const INTERRUPT: u8 = 2;
