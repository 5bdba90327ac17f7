//! A program that this process talks to over pipes, for as long as it is needed.
//!
//! The program leads a separate process group, like every child. It is asked to end, and killed if it does not; when
//! the value is dropped, the program is killed at once.

use std::time::Duration;

use tokio::process::ChildStderr;
use tokio::process::ChildStdin;
use tokio::process::ChildStdout;
use tokio::time::timeout;

use crate::before_exec::Attachment;
use crate::command::Command;
use crate::command::SpawnError;
use crate::spawner;
use crate::spawner::Child;
use crate::spawner::Plug;

/// A program that runs.
#[derive(Debug)]
pub struct Service {
    child: Child,
}

/// The pipes to the program.
#[derive(Debug)]
pub struct Pipes {
    /// The standard input of the program.
    pub stdin: ChildStdin,
    /// The standard output of the program.
    pub stdout: ChildStdout,
    /// The standard error of the program.
    pub stderr: ChildStderr,
}

impl Service {
    /// Starts a program, with pipes to it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn start(command: &Command) -> Result<(Self, Pipes), SpawnError> {
        let plugs = [Plug::Pipe, Plug::Pipe, Plug::Pipe];
        let mut child = spawner::spawn(command, plugs, Attachment::Nothing).await?;
        match (child.take_stdin(), child.take_stdout(), child.take_stderr()) {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((Self { child }, Pipes { stdin, stdout, stderr })),
            _ => Err(std::io::Error::other("a new process has no pipes").into()),
        }
    }

    /// Asks the program and its group to end, and ends them after a while.
    pub async fn end(mut self, patience: Duration) {
        self.child.terminate_group();
        // A program that ignores the request is killed with the rest of its group, when this is dropped.
        let _ = timeout(patience, self.child.wait()).await;
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rustix::process::Pid;
    use rustix::process::test_kill_process_group;
    use tokio::io::AsyncBufReadExt;
    use tokio::io::AsyncWriteExt;
    use tokio::io::BufReader;

    use super::*;

    /// Starts a script and reads its first line.
    async fn started(script: &str) -> (Service, Pipes, String) {
        let command = Command {
            argv: ["/bin/sh", "-c", script].map(ToOwned::to_owned).into(),
            arg0: None,
            cwd: PathBuf::from("/"),
            env: [("PATH".into(), "/usr/bin:/bin".into())].into(),
        };
        let (service, mut pipes) = Service::start(&command).await.unwrap();
        let mut line = String::new();
        BufReader::new(&mut pipes.stdout).read_line(&mut line).await.unwrap();
        (service, pipes, line.trim().to_owned())
    }

    /// Waits until a group is gone: init adopts its processes before the system forgets them.
    async fn is_gone(group: &str) -> bool {
        let group = Pid::from_raw(group.parse().unwrap()).unwrap();
        let gone = async {
            while test_kill_process_group(group).is_ok() {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(30), gone).await.is_ok()
    }

    #[tokio::test]
    async fn it_is_spoken_to_over_its_pipes() {
        let (service, mut pipes, line) = started("echo ready; read word; echo got $word; exec cat >/dev/null").await;
        assert_eq!(line, "ready");
        pipes.stdin.write_all(b"hello\n").await.unwrap();
        let mut line = String::new();
        BufReader::new(&mut pipes.stdout).read_line(&mut line).await.unwrap();
        assert_eq!(line, "got hello\n");
        service.end(Duration::from_secs(30)).await;
    }

    #[tokio::test]
    async fn it_ends_with_its_group() {
        let (service, _pipes, group) = started("sleep 600 & echo $$; wait").await;
        service.end(Duration::from_secs(30)).await;
        assert!(is_gone(&group).await);
    }

    #[tokio::test]
    async fn what_does_not_listen_is_made_to_end() {
        let (service, _pipes, group) = started("trap '' TERM; echo $$; sleep 600; sleep 600").await;
        service.end(Duration::ZERO).await;
        assert!(is_gone(&group).await);
    }

    #[tokio::test]
    async fn dropping_it_ends_it() {
        let (service, _pipes, group) = started("echo $$; sleep 600").await;
        drop(service);
        assert!(is_gone(&group).await);
    }
}
