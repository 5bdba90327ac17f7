//! A terminal that does not show what is typed, while a program draws rows on it and reads nothing.
//!
//! Without this, a key that is pressed meanwhile would move the rows, and parts of them would stay in the scrollback. What
//! is typed waits for the shell, and Ctrl-C and Ctrl-Z work as usual.

use rustix::stdio::stderr;
use rustix::termios;
use rustix::termios::LocalModes;
use rustix::termios::OptionalActions;
use rustix::termios::Termios;

use super::USUAL_SIZE;
use crate::screen::ScreenSize;

/// The echo of the terminal of standard error is off until the value is dropped.
#[derive(Debug)]
pub struct EchoOff {
    before: Termios,
}

impl EchoOff {
    /// Switches the echo off; absent if standard error is no terminal, or the terminal belongs to another job.
    pub fn new() -> Option<Self> {
        if !is_in_front() {
            return None;
        }
        let before = termios::tcgetattr(stderr()).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
        termios::tcsetattr(stderr(), OptionalActions::Now, &quiet).ok()?;
        Some(Self { before })
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        // A job in the background would be stopped by the system for this.
        if is_in_front() {
            let _ = termios::tcsetattr(stderr(), OptionalActions::Now, &self.before);
        }
    }
}

/// Whether the program may draw on the terminal: it belongs to the job that the shell runs in front, or there are no jobs.
pub fn is_in_front() -> bool {
    termios::tcgetpgrp(stderr()).map_or(true, |group| group == rustix::process::getpgrp())
}

/// The size of the terminal of standard error.
pub fn size() -> ScreenSize {
    match termios::tcgetwinsize(stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => ScreenSize { columns: size.ws_col, rows: size.ws_row },
        _ => USUAL_SIZE,
    }
}
