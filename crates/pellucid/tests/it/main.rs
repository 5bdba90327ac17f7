//! The program as a person or another program runs it.

#![allow(clippy::unwrap_used, reason = "a test that panics says where")]
#![allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves")]

mod ads;
mod apply;
mod apply_patch;
mod approvals;
mod apps;
mod at_terminal;
mod bisect;
mod called;
mod calls;
mod capsule;
mod certified;
#[cfg(unix)]
mod client;
mod completion;
mod context_events;
mod cost;
mod crashes;
mod damaged;
mod deferred;
mod diff;
mod doc_commands;
mod doc_examples;
mod errors;
mod example_packs;
mod exec;
mod grep;
mod inspector;
mod instruction_files;
mod keys;
mod library;
mod lines;
mod lock;
mod login;
mod mcp;
#[cfg(unix)]
mod mcp_login;
mod mcp_server;
mod mcp_servers;
mod memories;
mod models;
mod one_change;
#[cfg(target_os = "linux")]
mod orphans;
mod other_agents;
mod other_packs;
mod own_pack;
#[cfg(target_os = "linux")]
mod pack_sources;
mod packs;
#[cfg(target_os = "linux")]
mod pausing;
mod phases;
mod promises;
mod provider_failures;
mod readme;
mod recordings;
mod reference;
mod request_names;
mod requests;
mod risuai;
mod same_bytes;
mod sandbox;
mod schemas;
#[cfg(unix)]
mod screen_reader;
#[cfg(unix)]
mod secrets;
mod seen;
mod session_refs;
mod sessions;
mod shown;
mod skills;
mod sources;
mod statuses;
mod steady;
mod store;
mod telemetry;
mod trust;
mod truth;
mod undo;
#[cfg(unix)]
mod visible;
#[cfg(unix)]
mod watch;
#[cfg(unix)]
mod watch_hostile;
mod why;
#[cfg(unix)]
mod widths;
mod worked_example;

use std::io::Write;
use std::process::Command;
use std::process::Stdio;
use std::sync::LazyLock;

use pellucid_testkit::Workspace;

/// The program that is tested: the one that was built with the tests, or the one that `PELLUCID_PROGRAM` names.
pub fn program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        std::env::var("PELLUCID_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_pellucid").to_owned())
    });
    &PROGRAM
}

/// A folder with a home, a project and nothing of this machine.
#[derive(Debug)]
pub struct World {
    pub files: Workspace,
}

/// What a run left behind.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Ran {
    pub fn out(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }
}

impl World {
    /// `home/` and `work/` from a fixture; `work/` is a repository.
    pub fn new(fixture: &str) -> Self {
        let files = Workspace::new(fixture);
        files.folder("home");
        files.git("work");
        Self { files }
    }

    /// Runs the program in `work/`.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, None)
    }

    /// Runs the program in `work/` with these variables.
    pub fn run_in(&self, args: &[&str], variables: &[(&str, &str)]) -> Ran {
        self.spawn(args, None, variables)
    }

    /// Runs the program in `work/` with this standard input.
    pub fn run_with(&self, args: &[&str], stdin: Option<&[u8]>) -> Ran {
        self.spawn(args, stdin, &[])
    }

    fn spawn(&self, args: &[&str], stdin: Option<&[u8]>, variables: &[(&str, &str)]) -> Ran {
        let mut command = self.command(args);
        command.envs(variables.iter().copied());
        self.finish(command, stdin)
    }

    /// The program in `work/`, not started yet.
    pub fn command(&self, args: &[&str]) -> Command {
        self.command_of(program(), args)
    }

    /// Any program in `work/`, with nothing of this machine around it.
    pub fn command_of(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.files.path("work"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.files.path("user"))
            .env("PELLUCID_HOME", self.files.path("home"))
            .env("CODEX_HOME", self.files.path("home"))
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub fn finish(&self, mut command: Command, stdin: Option<&[u8]>) -> Ran {
        let mut child = command
            .stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        if let Some(bytes) = stdin {
            child.stdin.take().unwrap().write_all(bytes).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        Ran {
            status: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: self.shown(&String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// A text with the folder's own name taken out.
    pub fn shown(&self, text: &str) -> String {
        let root = self.files.root();
        let real = root.canonicalize().unwrap();
        text.replace(real.to_str().unwrap(), "ROOT").replace(root.to_str().unwrap(), "ROOT")
    }
}
