//! Programs that a caller waits for on a thread, without a runtime, and programs that run on unattended.
//!
//! Like every child, they are made by the one thread that lives as long as this process.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process;
use std::process::Stdio;

use crate::command::Variables;
use crate::sandbox::HELPER;
use crate::spawner;
use crate::spawner::Guarding;

/// A program with pipes for its output. Its process gets nothing that is not named here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The working folder of the command.
    pub cwd: PathBuf,
    /// The variables that the program gets.
    pub env: Variables,
    /// Whether it is given something to read. Otherwise its standard input is empty.
    pub has_input: bool,
}

impl Waited {
    /// Starts the program as the leader of a group, which ends with this process.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(&self) -> io::Result<process::Child> {
        let mut command = command(&self.argv)?;
        command.current_dir(&self.cwd).env_clear().envs(&self.env);
        command.stdin(if self.has_input { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let is_sandbox = self.argv.get(1).is_some_and(|first| first == HELPER);
        spawner::spawn_waited(command, if is_sandbox { Guarding::Itself } else { Guarding::Guard })
    }
}

/// Starts a program that runs unattended, without pipes. It has our variables but for those that are withheld, leads
/// a group, so that what ends us at the terminal does not end it, and may outlive us.
///
/// # Errors
/// When it cannot be started.
pub fn start_left_alone<'a>(argv: &[OsString], withheld: impl IntoIterator<Item = &'a String>) -> io::Result<()> {
    let mut command = command(argv)?;
    for name in withheld {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut command = tokio::process::Command::from(command);
    command.process_group(0);
    spawner::spawn_left_alone(command)
}

fn command(argv: &[OsString]) -> io::Result<process::Command> {
    let [program, arguments @ ..] = argv else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no program to start"));
    };
    let mut command = process::Command::new(program);
    command.args(arguments);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::io::Write;

    use super::*;

    fn script(script: &str, has_input: bool) -> Waited {
        let argv = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
        Waited { argv, cwd: "/".into(), env: [("ONLY".into(), "this".into())].into(), has_input }
    }

    #[test]
    fn a_thread_speaks_to_a_program_without_a_runtime() {
        let mut child = script("read line; echo $line $ONLY $HOME; pwd; echo no >&2; exit 3", true).start().unwrap();
        child.stdin.take().unwrap().write_all(b"said\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"said this\n/\n"[..], &b"no\n"[..]));
    }

    #[test]
    fn a_program_leads_its_session() {
        let mut child = script("read line", true).start().unwrap();
        let id = rustix::process::Pid::from_raw(child.id().cast_signed());
        assert_eq!(rustix::process::getsid(id).ok(), id);
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn what_cannot_start_says_why() {
        let missing = Waited { argv: vec!["/no/such/program".into()], ..script("", false) };
        assert_eq!(missing.start().unwrap_err().kind(), io::ErrorKind::NotFound);
        let nothing = Waited { argv: Vec::new(), ..script("", false) };
        assert_eq!(nothing.start().unwrap_err().to_string(), "there is no program to start");
    }

    #[tokio::test]
    async fn a_program_that_is_left_alone_has_no_withheld_variable() {
        let (mut reader, writer) = io::pipe().unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&writer);
        let path = format!("/proc/{}/fd/{fd}", process::id());
        let argv = ["/bin/sh", "-c", "echo ${CARGO_MANIFEST_DIR-none} > \"$1\"", "sh", &path].map(OsString::from);
        start_left_alone(&argv, &["CARGO_MANIFEST_DIR".to_owned()]).unwrap();
        let mut line = [0; 5];
        reader.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"none\n");
    }
}
