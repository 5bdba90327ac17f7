//! The keeper: arranges the files for commands with the same limits once, and makes a cell whenever it is asked for
//! one, so that a command which comes finds its place ready.
//!
//! A keeper lives as long as a process holds the other end of its socket, and until its last cell has ended. A
//! process beside it holds the names that must not be taken there, and removes the placeholders. Commands neither see
//! it nor reach it: every cell has separate processes and mounts.
//!
//! Not here: what happens in a cell (`cell`).

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
use super::fork::fork;
use super::fork::fork_into;
use super::missing;
use super::namespaces;
use super::namespaces::Mount;
use super::tell;
use super::watch;
use crate::sandbox::Backend;
use crate::sandbox::HELPER_FAILED;
use crate::sandbox::cell::ANOTHER;
use crate::sandbox::cell::receive;
use crate::sandbox::cell::send;
use crate::sandbox::order::Order;

/// The values that all cells of a keeper share.
#[derive(Debug)]
pub struct Common {
    /// The limits of the commands.
    pub order: Order,
    /// The filter of system calls.
    pub programs: Vec<BpfProgram>,
    /// A handle of the agent, whose end ends the cells.
    pub agent: OwnedFd,
}

/// Makes cells until no process can ask for one any more.
pub fn run(mut order: Order) -> Result<ExitCode, HelperError> {
    if order.backend != Backend::Namespaces {
        return Err(HelperError::Backend(order.backend));
    }
    let Some(agent) = watch::agent(&order)? else {
        return Err(io::Error::from(io::ErrorKind::NotFound)).step("finding the agent");
    };
    let placeholders = missing::make(&mut order)?;
    if placeholders.are_none() {
        return keep(order, agent);
    }
    // A process that has mounted something over a name cannot remove it, so another process does that afterwards.
    let keeper = fork(move || match keep(order, agent) {
        Ok(_) => 0,
        Err(error) => {
            tell(&error);
            HELPER_FAILED
        }
    });
    let keeper = keeper.step("copying the helper")?;
    // Only the keeper may hold the socket: its closing shows the agent that the keeper is gone.
    let null = std::fs::File::open("/dev/null").step("letting the socket go")?;
    rustix::stdio::dup2_stdin(null).step("letting the socket go")?;
    watch::wait_for(keeper);
    placeholders.remove();
    Ok(ExitCode::SUCCESS)
}

/// Makes cells, and stays until the last one has ended: the mounts over placeholders exist until then.
fn keep(order: Order, agent: OwnedFd) -> Result<ExitCode, HelperError> {
    let made = make_cells(order, agent);
    end_cells();
    made
}

/// Waits until all cells have ended: idle ones when their command can come no more, others with the agent at the latest.
fn end_cells() {
    while !matches!(rustix::process::wait(WaitOptions::empty()), Err(error) if error != rustix::io::Errno::INTR) {}
}

fn make_cells(order: Order, agent: OwnedFd) -> Result<ExitCode, HelperError> {
    let mounts = Mount::all()?;
    namespaces::separate(nix::sched::CloneFlags::CLONE_NEWNS | namespaces::of_limits(&order))?;
    namespaces::arrange(&order, &mounts)?;
    let programs = filter::compile(&order)?;
    let common = Common { order, programs, agent };

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
