//! A program at a terminal that a test talks with, and ends as it likes.

use std::fs::File;
use std::io::Read;
use std::io::Write;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;

use rustix::process::Pid;
use rustix::process::Signal;

/// A program that runs at a separate terminal.
#[derive(Debug)]
pub struct LiveTerminal {
    child: Child,
    control: File,
    seen: Vec<u8>,
}

impl LiveTerminal {
    /// Starts a program at a terminal with so many columns and rows.
    ///
    /// # Panics
    /// If there is no terminal available, or the command cannot be started.
    pub fn start(size: (u16, u16), mut command: Command) -> Self {
        let (control, terminal) = crate::terminal::open(Some(size));
        let side = || Stdio::from(terminal.try_clone().expect("the terminal again"));
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().expect("the program");
        Self { child, control, seen: Vec::new() }
    }

    /// Types bytes.
    ///
    /// # Panics
    /// If the terminal is gone.
    pub fn write(&mut self, bytes: &[u8]) {
        self.control.write_all(bytes).expect("a terminal that takes what is typed");
    }

    /// Reads until the program has written a text since the last call, and returns everything up to it.
    ///
    /// # Panics
    /// If the program ends before that.
    pub fn read_until(&mut self, text: &str) -> String {
        let mut piece = [0; 4096];
        loop {
            let shown = String::from_utf8_lossy(&self.seen).into_owned();
            if let Some(at) = shown.find(text) {
                let end = at + text.len();
                // Broken characters are longer in `shown`, but programs write none before a text that is waited for.
                self.seen.drain(..end.min(self.seen.len()));
                return shown[..end].to_owned();
            }
            match self.control.read(&mut piece) {
                Ok(n @ 1..) => self.seen.extend_from_slice(&piece[..n]),
                _ => panic!("the program ended before it wrote {text:?}: {shown:?}"),
            }
        }
    }

    /// Sends a signal to the program.
    ///
    /// # Panics
    /// If the program has ended.
    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).expect("a program that runs");
    }

    /// Closes the terminal as its window would, and waits for the end of the program.
    ///
    /// # Panics
    /// If the program cannot be waited for.
    pub fn close(mut self) -> i32 {
        drop(self.control);
        self.child.wait().expect("the program's end").code().unwrap_or(-1)
    }

    /// Waits for the end of the program. Returns what it wrote since the last call of [`LiveTerminal::read_until`], and its
    /// exit code; -1 after a signal that it does not catch.
    ///
    /// # Panics
    /// If the program cannot be waited for.
    pub fn wait(mut self) -> (String, i32) {
        let mut piece = [0; 4096];
        while let Ok(n @ 1..) = self.control.read(&mut piece) {
            self.seen.extend_from_slice(&piece[..n]);
        }
        let code = self.child.wait().expect("the program's end").code().unwrap_or(-1);
        (String::from_utf8_lossy(&self.seen).into_owned(), code)
    }
}
