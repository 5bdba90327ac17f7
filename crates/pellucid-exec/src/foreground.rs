//! Programs that take our place at the terminal: an editor, or what this process becomes.
//!
//! Foreground commands stay in our session, so that the keys of the terminal reach them.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::process::ExitStatus;

use tokio::signal::unix::Signal;
use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;

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

/// A program at our terminal, with our standard streams, while this process does something beside it.
#[derive(Debug)]
pub struct Foreground {
    child: tokio::process::Child,
    interrupt: Signal,
    quit: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Foreground {
    /// Starts a program with our variables and these. It stays in our process group, so that the keys of the terminal reach
    /// it. From now on signals that would end this process are the program's. Must be called inside of a runtime.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(argv: &[OsString], given: &[(String, String)]) -> io::Result<Self> {
        let [program, arguments @ ..] = argv else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no program to start"));
        };
        // Before the program is there: a signal in between must not end this process alone.
        let interrupt = signal(SignalKind::interrupt())?;
        let quit = signal(SignalKind::quit())?;
        let terminate = signal(SignalKind::terminate())?;
        let hangup = signal(SignalKind::hangup())?;
        let mut command = tokio::process::Command::new(program);
        command.args(arguments).envs(given.iter().map(|(name, value)| (name, value)));
        let child = command.spawn()?;
        Ok(Self { child, interrupt, quit, terminate, hangup })
    }

    /// Waits for the end of the program. Gives its exit status, as shells do: 128 and its number for a signal. The terminal
    /// sends its signals to the program itself; those that were sent to this process alone are passed on.
    ///
    /// # Errors
    /// When the program cannot be waited for.
    pub async fn wait(mut self) -> io::Result<u8> {
        loop {
            tokio::select! {
                status = self.child.wait() => return status.map(exit_code),
                _ = self.interrupt.recv() => {}
                _ = self.quit.recv() => {}
                _ = self.terminate.recv() => self.pass_on(rustix::process::Signal::TERM),
                _ = self.hangup.recv() => self.pass_on(rustix::process::Signal::HUP),
            }
        }
    }

    fn pass_on(&self, signal: rustix::process::Signal) {
        let id = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        if let Some(id) = id {
            // The program may have ended meanwhile.
            let _ = rustix::process::kill_process(id, signal);
        }
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn status(script: &str, given: &[(String, String)]) -> u8 {
        let argv = ["/bin/sh", "-c", script].map(OsString::from);
        Foreground::start(&argv, given).unwrap().wait().await.unwrap()
    }

    #[tokio::test]
    async fn a_program_beside_us_gives_its_status_and_has_the_variables() {
        assert_eq!(status("exit 7", &[]).await, 7);
        assert_eq!(status("kill -9 $$", &[]).await, 137);
        let given = [("GIVEN".to_owned(), "5".to_owned())];
        assert_eq!(status("exit $GIVEN", &given).await, 5);
        let missing = Foreground::start(&["/no/such/program".into()], &[]).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(Foreground::start(&[], &[]).is_err());
    }
}
