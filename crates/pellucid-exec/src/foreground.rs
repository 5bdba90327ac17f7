//! Programs that take our place at the terminal: an editor, or what this process becomes.
//!
//! Foreground commands stay in our session, so that the keys of the terminal reach them.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::process::ExitStatus;

/// Runs a script with `/bin/sh` on our terminal and waits for its end. `argument` is its `$1`.
///
/// # Errors
/// When the shell cannot be started.
pub fn run_script(script: &str, argument: &OsStr) -> io::Result<ExitStatus> {
    Command::new("/bin/sh").args(["-c", script, "sh"]).arg(argument).status()
}

/// Replaces this process by a program, so that a parent that waits for it waits for the program. It has our variables but for
/// those that are withheld, and these. Comes back only if that fails.
pub fn become_program<'a>(
    argv: &[OsString],
    withheld: impl IntoIterator<Item = &'a String>,
    given: &[(&str, &str)],
) -> io::Error {
    let [program, arguments @ ..] = argv else {
        return io::Error::new(io::ErrorKind::InvalidInput, "there is no program to start");
    };
    let mut command = Command::new(program);
    command.args(arguments);
    for name in withheld {
        command.env_remove(name);
    }
    command.envs(given.iter().copied()).exec()
}
