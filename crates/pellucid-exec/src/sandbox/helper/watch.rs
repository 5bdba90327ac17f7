//! Staying beside a command: passing on how it ends, and ending it with the agent.
//!
//! The agent is watched by a handle of its process, not by a signal of its death: that one comes
//! when the thread that started us ends, which is something else.
//!
//! Not here: confinement.

use std::ffi::OsString;
use std::io;
use std::io::PipeReader;
use std::io::PipeWriter;
use std::io::Read;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::process::ExitCode;
use std::process::ExitStatus;

use nix::sys::signal::SigSet;
use nix::sys::signalfd::SfdFlags;
use nix::sys::signalfd::SignalFd;
use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::process::DumpableBehavior;
use rustix::process::Pid;
use rustix::process::PidfdFlags;
use rustix::process::Signal;
use rustix::process::WaitOptions;

use super::HelperError;
use super::Step;
use super::fork::fork;
use super::namespaces;
use super::privileges;
use crate::sandbox::HELPER_FAILED;
use crate::sandbox::order::Order;

/// This program's own file, under a name that works while `/proc` is the one we started with.
pub const OURSELVES: &str = "/proc/self/exe";

/// A handle of the agent's process.
///
/// An agent that has already gone ends everything before it begins.
pub fn agent(order: &Order) -> Result<Option<OwnedFd>, HelperError> {
    let Some(pid) = order.agent else { return Ok(None) };
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let Some(pid) = pid else { return Ok(None) };
    rustix::process::pidfd_open(pid, PidfdFlags::empty()).map(Some).step("finding the agent")
}

/// Runs a command that confines itself, from outside of its fences.
pub fn run_beside(order: &Order) -> Result<ExitCode, HelperError> {
    let agent = agent(order)?;
    // Processes that lose their parent become our children, so none gets away.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).step("keeping processes together")?;
    let child = fork(|| {
        super::tell(&super::become_command(order));
        HELPER_FAILED
    });
    let ended = wait(child.step("copying the helper")?, agent.as_ref());
    end_children();
    Ok(end_like(ended?))
}

/// Starts a process; `program` is what failed if that fails.
pub fn spawn(command: &mut Command, program: &OsString) -> Result<Pid, HelperError> {
    let child = command.spawn().map_err(|error| HelperError::Command { program: program.clone(), error })?;
    Ok(Pid::from_child(&child))
}

/// Waits until a process ends. Nothing is said of how if the agent ended before.
pub fn wait(child: Pid, agent: Option<&OwnedFd>) -> Result<Option<ExitStatus>, HelperError> {
    // Signals from a terminal reach the command by itself; it decides whether it ends, not we.
    // Blocked only now, because a child inherits what is blocked.
    let mut ours = SigSet::all();
    for deadly in FAULTS {
        ours.remove(deadly);
    }
    ours.thread_block().step("holding signals back")?;
    let signals = SignalFd::with_flags(&ours, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).step("taking signals")?;
    loop {
        match rustix::process::waitpid(Some(child), WaitOptions::NOHANG) {
            Ok(Some((_, status))) => return Ok(Some(ExitStatus::from_raw(status.as_raw()))),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).step("waiting for the command"),
        }
        let mut watched = vec![PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)];
        watched.extend(agent.map(|it| PollFd::new(it, PollFlags::IN)));
        poll(&mut watched)?;
        if watched.get(1).is_some_and(|it| !it.revents().is_empty()) {
            return Ok(None);
        }
        while let Ok(Some(signal)) = signals.read_signal() {
            // A request to end means the command.
            let is_request = signal.ssi_signo == libc::SIGTERM.unsigned_abs();
            if is_request {
                let _ = rustix::process::kill_process(child, Signal::TERM);
            }
        }
    }
}

/// Signals that a process causes by itself; held back, they would be worse.
pub const FAULTS: [nix::sys::signal::Signal; 5] = [
    nix::sys::signal::Signal::SIGSEGV,
    nix::sys::signal::Signal::SIGBUS,
    nix::sys::signal::Signal::SIGILL,
    nix::sys::signal::Signal::SIGFPE,
    nix::sys::signal::Signal::SIGABRT,
];

pub fn poll(watched: &mut [PollFd<'_>]) -> Result<(), HelperError> {
    match rustix::event::poll(watched, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error).step("waiting"),
    }
}

/// Ends as the command did, by the same signal if it was one.
pub fn end_like(status: Option<ExitStatus>) -> ExitCode {
    let Some(status) = status else { return ExitCode::FAILURE };
    if let Some(code) = status.code() {
        return ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX));
    }
    let number = status.signal().unwrap_or_default();
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    // The command may have left its memory for study; ours is of no interest.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    let _ = SigSet::all().thread_unblock();
    if let Some(signal) = Signal::from_named_raw(number) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    }
    ExitCode::from(u8::try_from(128 + number).unwrap_or(u8::MAX))
}

/// Ends every process below us. Children of those that end become ours and end in the next round.
fn end_children() {
    loop {
        for child in children() {
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn children() -> Vec<Pid> {
    let pid = |text: &str| text.parse().ok().and_then(Pid::from_raw);
    if let Ok(text) = std::fs::read_to_string("/proc/thread-self/children") {
        return text.split_whitespace().filter_map(pid).collect();
    }
    let us = rustix::process::getpid().as_raw_nonzero().to_string();
    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    let is_ours = |name: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).unwrap_or_default();
        // The name before may hold anything, so fields are counted from its closing bracket.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1).map(str::to_owned));
        parent.as_deref() == Some(&us)
    };
    let names = folder.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| is_ours(name)).filter_map(|name| pid(&name)).collect()
}

/// The message to [`init`] when the command has ended by itself.
const ENDED: &[u8] = b".";

/// The message of [`init`] when it has mounted a new `/proc`.
const MOUNTED: &[u8] = b"+";

/// The message of [`init`] when it could not mount one.
const NOT_MOUNTED: &[u8] = b"-";

/// The message of [`init`] when processes continue after the command, and so does it.
const STAYS: &[u8] = b"&";

/// Our end of the first process of a namespace.
#[derive(Debug)]
pub struct Init {
    process: Pid,
    tell: PipeWriter,
    hear: PipeReader,
}

impl Init {
    /// Starts the first process of the process namespace that was just made. It ends when this value is dropped,
    /// unless [`Self::ended`] was called.
    pub fn start(agent: Option<&OwnedFd>) -> Result<Self, HelperError> {
        let (told, tell) = io::pipe().step("making a pipe")?;
        let (hear, heard) = io::pipe().step("making a pipe")?;
        let process = fork(|| {
            // The command's files must not stay open here, because readers wait until every holder has closed them.
            let taken = [
                rustix::stdio::dup2_stdin(agent.map_or(told.as_fd(), AsFd::as_fd)),
                rustix::stdio::dup2_stdout(&told),
                rustix::stdio::dup2_stderr(&heard),
            ];
            privileges::close_inherited_files();
            if taken.iter().all(Result::is_ok) { init(agent.is_some()) } else { 1 }
        });
        // Our copy of its ends of the pipes goes here, so that its end can be noticed.
        drop((told, heard));
        Ok(Self { process: process.step("starting the first process")?, tell, hear })
    }

    /// Waits until it is ready. Returns whether the namespace has a new `/proc`.
    pub fn is_ready_with_proc(&mut self) -> Result<bool, HelperError> {
        let mut said = [0; MOUNTED.len()];
        self.hear.read_exact(&mut said).step("waiting for the first process")?;
        Ok(said == MOUNTED)
    }

    /// Ends the namespace and waits until it has ended.
    pub fn dismiss(self) {
        drop(self.tell);
        wait_for(self.process);
    }

    /// Reports that the command has ended by itself. Processes that it left behind may continue until the agent ends.
    ///
    /// If no process is left, this waits for the end of the first process: in many containers no other process would,
    /// and it would stay a zombie.
    pub fn ended(mut self) -> Left {
        let mut said = [0; STAYS.len()];
        if self.tell.write_all(ENDED).is_ok() && self.hear.read_exact(&mut said).is_err() {
            wait_for(self.process);
            return Left::Nothing;
        }
        Left::Something
    }

    /// The id of the first process.
    pub fn process(&self) -> Pid {
        self.process
    }
}

/// Whether a command left processes running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    Nothing,
    Something,
}

/// Waits for the end of a child.
pub fn wait_for(process: Pid) {
    while matches!(rustix::process::waitpid(Some(process), WaitOptions::empty()), Err(rustix::io::Errno::INTR)) {}
}

/// The first process of a process namespace: when it ends, the kernel ends all others there.
fn init(has_agent: bool) -> i32 {
    // The kernel shows the processes of the namespace of the process that mounts it, so it has to be mounted here.
    let said = if namespaces::mount_proc() { MOUNTED } else { NOT_MOUNTED };
    // This process is outside of the fences, so commands must not reach its memory.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _ = privileges::drop_capabilities();
    let _ = std::env::set_current_dir("/");
    if io::stderr().write_all(said).is_err() {
        return 1;
    }
    let (agent, pipe) = (io::stdin(), io::stdout());
    let mut told = [0; ENDED.len()];
    loop {
        let mut watched = vec![PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)];
        if has_agent {
            watched.push(PollFd::from_borrowed_fd(agent.as_fd(), PollFlags::IN));
        }
        if poll(&mut watched).is_err() || watched.get(1).is_some_and(|it| !it.revents().is_empty()) {
            return 1;
        }
        if watched[0].revents().is_empty() {
            continue;
        }
        match rustix::io::read(pipe.as_fd(), &mut told) {
            Ok(n_bytes) if n_bytes > 0 => break,
            Err(rustix::io::Errno::INTR) => {}
            _ => return 1,
        }
    }
    // Only zombies are left, of which some have no parent that waits for them.
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => break,
            Err(_) => return 0,
        }
    }
    if io::stderr().write_all(STAYS).is_err() {
        return 1;
    }
    #[expect(clippy::disallowed_methods, reason = "it ends the process, or ends with it")]
    std::thread::spawn(|| {
        while !matches!(rustix::process::wait(WaitOptions::empty()), Err(error) if error != rustix::io::Errno::INTR) {}
        std::process::exit(0);
    });
    let mut watched = vec![];
    if has_agent {
        watched.push(PollFd::from_borrowed_fd(agent.as_fd(), PollFlags::IN));
    }
    while poll(&mut watched).is_ok() {
        if watched.first().is_some_and(|it| !it.revents().is_empty()) {
            break;
        }
    }
    0
}
