//! The keeper: arranges the files for commands with the same limits once, and makes a cell whenever it is asked for
//! one, so that a command which comes finds its place ready.
//!
//! It lives as long as somebody holds the other end of its socket. Commands neither see it nor reach it: every cell has
//! processes and mounts of its own.
//!
//! Not here: what goes on in a cell (`cell`).

use std::io;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use nix::sys::signal::SigSet;
use nix::sys::signal::Signal;
use nix::sys::signalfd::SfdFlags;
use nix::sys::signalfd::SignalFd;
use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::net::AddressFamily;
use rustix::net::SocketFlags;
use rustix::net::SocketType;
use rustix::process::PidfdFlags;
use rustix::process::WaitOptions;
use seccompiler::BpfProgram;

use super::HelperError;
use super::Step;
use super::cell;
use super::filter;
use super::fork::fork_into;
use super::namespaces;
use super::namespaces::Mount;
use super::watch;
use crate::sandbox::Backend;
use crate::sandbox::cell::ANOTHER;
use crate::sandbox::cell::receive;
use crate::sandbox::cell::send;
use crate::sandbox::order::Order;

/// What all cells of a keeper have in common.
#[derive(Debug)]
pub struct Common {
    /// The limits of their commands.
    pub order: Order,
    /// Their filter of system calls.
    pub programs: Vec<BpfProgram>,
    /// Whose end is theirs.
    pub agent: OwnedFd,
}

/// Makes cells until nobody can ask for one any more.
pub fn run(order: &Order) -> Result<ExitCode, HelperError> {
    if order.backend != Backend::Namespaces {
        return Err(HelperError::Backend(order.backend));
    }
    let Some(agent) = watch::agent(order)? else {
        return Err(io::Error::from(io::ErrorKind::NotFound)).step("finding the agent");
    };
    let mounts = Mount::all()?;
    namespaces::separate(nix::sched::CloneFlags::CLONE_NEWNS | namespaces::of_limits(order))?;
    namespaces::arrange(order, &mounts)?;
    let common = Common { order: order.clone(), programs: filter::compile(order)?, agent };

    let mut children = SigSet::empty();
    children.add(Signal::SIGCHLD);
    children.thread_block().step("holding signals back")?;
    let ended = SignalFd::with_flags(&children, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC);
    let ended = ended.step("taking signals")?;
    let socket = io::stdin();
    loop {
        let mut watched = [
            PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN),
        ];
        watch::poll(&mut watched)?;
        let is_asked = !watched[0].revents().is_empty();
        while let Ok(Some(_)) = ended.read_signal() {}
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        if is_asked {
            let (said, _) = receive(socket.as_fd()).step("listening")?;
            if said != ANOTHER {
                return Ok(ExitCode::SUCCESS);
            }
            make(&common, socket.as_fd())?;
        }
    }
}

/// Makes a cell and hands it over.
fn make(common: &Common, socket: impl AsFd) -> Result<(), HelperError> {
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .step("making a socket")?;
    let first =
        fork_into(namespaces::OF_A_COMMAND, || cell::init(common, &theirs)).step("starting the first process")?;
    let handle = rustix::process::pidfd_open(first, PidfdFlags::empty()).step("holding the first process")?;
    let id = first.as_raw_nonzero().get().to_ne_bytes();
    send(socket, &id, &[ours.as_fd(), handle.as_fd()]).step("handing over")
}
