//! Runs a program at a separate terminal, as a person would see it.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::process::Command;
use std::process::Stdio;

use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::FdFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::OptionalActions;
use rustix::termios::Winsize;

/// Runs a command with a terminal as its standard input, output and error. Returns all bytes that it wrote there, in
/// order and without any change by the terminal, and its exit code.
///
/// # Panics
/// If there is no terminal available, or the command cannot be started.
pub fn run_at_terminal(command: Command, input: &[u8]) -> (Vec<u8>, i32) {
    run_at_terminal_of(None, command, input)
}

/// The same at a terminal with so many columns and rows.
///
/// # Panics
/// As [`run_at_terminal`].
pub fn run_at_terminal_of(size: Option<(u16, u16)>, mut command: Command, input: &[u8]) -> (Vec<u8>, i32) {
    use std::io::Write as _;
    let (mut control, terminal) = open(size);
    control.write_all(input).expect("what a person types");
    let side = || Stdio::from(terminal.try_clone().expect("the terminal again"));
    let mut child = command.stdin(side()).stdout(side()).stderr(side()).spawn().expect("the program");
    // Only the child's ends are left open, so that reading ends with the child.
    drop(command);
    drop(terminal);
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    // Reading from a closed terminal is an error.
    while let Ok(n @ 1..) = control.read(&mut piece) {
        seen.extend_from_slice(&piece[..n]);
    }
    (seen, child.wait().expect("the program's end").code().unwrap_or(-1))
}

/// A new terminal that changes nothing of what is written to it: the side of the person, and the side of the program.
pub(crate) fn open(size: Option<(u16, u16)>) -> (File, File) {
    let control = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
    rustix::pty::grantpt(&control).expect("the terminal's owner");
    rustix::pty::unlockpt(&control).expect("an unlocked terminal");
    let name = rustix::pty::ptsname(&control, Vec::new()).expect("the terminal's name");
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let terminal = File::from(rustix::fs::open(name, flags, Mode::empty()).expect("the terminal"));
    // A program that had the person's side too would not see the terminal close.
    for side in [control.as_fd(), terminal.as_fd()] {
        rustix::io::fcntl_setfd(side, FdFlags::CLOEXEC).expect("a side that programs do not inherit");
    }
    let mut settings = rustix::termios::tcgetattr(&terminal).expect("the terminal's settings");
    settings.make_raw();
    rustix::termios::tcsetattr(&terminal, OptionalActions::Now, &settings).expect("a terminal that changes nothing");
    if let Some((columns, rows)) = size {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&terminal, size).expect("a terminal of that size");
    }
    (File::from(control), terminal)
}
