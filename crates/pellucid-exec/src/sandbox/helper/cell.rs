//! A cell from within: the first process of a set of namespaces, and beside it one that waits for the command to
//! become.
//!
//! Every step that does not depend on the command is done before: `/proc`, capabilities, the filter. The fences come
//! last, because a terminal that the command is given may be opened again through them.
//!
//! Not here: the mounts, which the keeper arranged and a cell has a copy of.

use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::signal::SigSet;
use nix::sys::signalfd::SfdFlags;
use nix::sys::signalfd::SignalFd;
use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::fs::AtFlags;
use rustix::fs::CWD;
use rustix::fs::StatxAttributes;
use rustix::fs::StatxFlags;
use rustix::process::DumpableBehavior;
use rustix::process::Pid;
use rustix::process::Signal;
use rustix::process::WaitOptions;

use super::HelperError;
use super::Step;
use super::fences;
use super::fences::Fences;
use super::filter;
use super::fork::fork;
use super::hold;
use super::keeper::Common;
use super::namespaces;
use super::privileges;
use super::tell;
use super::watch;
use crate::before_exec;
use crate::before_exec::Attachment;
use crate::sandbox::HELPER_FAILED;
use crate::sandbox::cell::CellCommand;
use crate::sandbox::cell::CellMessage;
use crate::sandbox::cell::receive;
use crate::sandbox::order::Order;

/// The first process: when it ends, the kernel ends all others of the cell.
pub fn init(common: &Common, socket: &OwnedFd) -> i32 {
    // The kernel shows the processes of the namespace of the process that mounts it, so it has to be mounted here.
    namespaces::mount_proc();
    // The agent's handle and the socket are all it keeps; not even the keeper's own socket.
    let taken = [
        rustix::stdio::dup2_stdin(&common.agent),
        rustix::stdio::dup2_stdout(socket),
        rustix::stdio::dup2_stderr(socket),
    ];
    privileges::close_inherited_files();
    if taken.iter().any(Result::is_err) || privileges::drop_capabilities().is_err() {
        return 1;
    }
    watch_over(common).unwrap_or(1)
}

/// Starts what becomes the command, says how it ends, and stays for what it leaves behind, until the agent ends.
fn watch_over(common: &Common) -> Result<i32, HelperError> {
    let mut ours = SigSet::all();
    for deadly in watch::FAULTS {
        ours.remove(deadly);
    }
    // Held back before there is a child, so that its end is not missed. A program begins with nothing held back.
    ours.thread_block().step("holding signals back")?;
    let signals = SignalFd::with_flags(&ours, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).step("taking signals")?;
    let command = fork(|| wait_for_command(common)).step("copying the helper")?;
    // This process is outside of the fences, so commands must not reach its memory.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let agent = io::stdin();
    loop {
        let mut watched = [
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(agent.as_fd(), PollFlags::IN),
        ];
        watch::poll(&mut watched)?;
        if !watched[1].revents().is_empty() {
            return Ok(1);
        }
        while let Ok(Some(signal)) = signals.read_signal() {
            // A request to end means the command and its group.
            if signal.ssi_signo == libc::SIGTERM.unsigned_abs() {
                let _ = rustix::process::kill_process_group(command, Signal::TERM);
            }
        }
        if !reap(command) {
            return Ok(0);
        }
    }
}

/// Waits for processes that have ended, and reports the end of the command. Returns whether any process is left.
fn reap(command: Pid) -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((ended, status))) if ended == command => say(CellMessage::Ended(status.as_raw())),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Says something to the agent. One that does not listen any more needs no answer.
fn say(said: CellMessage) {
    let _ = rustix::io::write(rustix::stdio::stdout(), &said.to_bytes());
}

/// Gets ready, waits for the command and becomes it.
fn wait_for_command(common: &Common) -> i32 {
    match ready(common).and_then(|ready| ready.become_command(&common.order)) {
        Ok(()) => 0,
        Err(error) => {
            tell(&error);
            HELPER_FAILED
        }
    }
}

/// A process that lacks nothing but its command.
struct Ready {
    socket: OwnedFd,
    fences: Result<Fences, HelperError>,
    filter: Result<(), HelperError>,
}

fn ready(common: &Common) -> Result<Ready, HelperError> {
    // The three places are for the command's files.
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3).step("keeping the socket")?;
    // Errors are printed on the command's standard error, which is not open yet.
    let fences = fences::prepare(&common.order);
    let filter = filter::install(&common.programs);
    Ok(Ready { socket, fences, filter })
}

impl Ready {
    /// Comes back only if there is no command, or it cannot be run.
    fn become_command(self, order: &Order) -> Result<(), HelperError> {
        let (_, files) = receive(&self.socket).step("waiting for the command")?;
        let Ok([words, stdin, stdout, stderr]) = <[OwnedFd; 4]>::try_from(files) else { return Ok(()) };
        let taken =
            [rustix::stdio::dup2_stdin(stdin), rustix::stdio::dup2_stdout(stdout), rustix::stdio::dup2_stderr(stderr)];
        for result in taken {
            result.step("taking files")?;
        }
        let told = read(words)?;
        if let Some(said) = hindrance(order, &told) {
            rustix::io::write(&self.socket, &said.to_bytes()).step("answering")?;
            return Ok(());
        }
        rustix::process::setsid().step("making a session")?;
        if told.attachment == Attachment::Terminal {
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin()).step("taking the terminal")?;
            before_exec::heed_keys();
        }
        rustix::io::write(&self.socket, &CellMessage::Begins.to_bytes()).step("answering")?;
        self.filter?;
        hold(order, self.fences?.put_up()?)?;
        let mut command = Command::new(&told.argv[0]);
        command.args(&told.argv[1..]).env_clear().envs(told.env);
        Err(HelperError::Command { program: told.argv[0].clone(), error: command.exec() })
    }
}

fn read(words: OwnedFd) -> Result<CellCommand, HelperError> {
    let mut file = File::from(words);
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).step("reading the command")?;
    CellCommand::from_bytes(&bytes)
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
        .step("reading the command")
}

/// Why the command cannot begin here. Enters its folder otherwise.
fn hindrance(order: &Order, told: &CellCommand) -> Option<CellMessage> {
    // A folder that was moved or removed outside took its mount along; another in its place has none.
    if !order.anchors().iter().all(|path| is_mount(path)) {
        return Some(CellMessage::OutOfDate);
    }
    rustix::process::chdir(&told.cwd).err().map(|error| CellMessage::NotEntered(error.raw_os_error()))
}

fn is_mount(path: &std::path::Path) -> bool {
    let found = rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, StatxFlags::empty());
    found.is_ok_and(|it| it.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}
