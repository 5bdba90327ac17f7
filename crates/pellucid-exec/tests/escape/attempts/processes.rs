//! Reaching other processes, above all the agent.

use std::fs;
use std::fs::File;
use std::io::IoSliceMut;
use std::os::unix::process::parent_id;

use nix::sys::ptrace;
use nix::sys::uio::RemoteIoVec;
use rustix::process::Pid;
use rustix::process::PidfdFlags;
use rustix::process::Resource;
use rustix::process::Signal;

use super::Attempt;
use super::Failure;
use super::Tried;
use super::attempt;
use crate::world::World;

pub const ATTEMPTS: &[Attempt] = &[
    attempt("ptrace-agent", "following the agent's steps", |world| {
        Ok(ptrace::seize(nix::unistd::Pid::from_raw(world.agent), ptrace::Options::empty())?)
    }),
    attempt("read-agent-memory", "the agent's memory by a system call", |world| {
        let mut bytes = [0; 8];
        let place = RemoteIoVec { base: mapped_address(world)?, len: bytes.len() };
        let agent = nix::unistd::Pid::from_raw(world.agent);
        Ok(nix::sys::uio::process_vm_readv(agent, &mut [IoSliceMut::new(&mut bytes)], &[place]).map(drop)?)
    }),
    attempt("open-agent-memory", "the agent's memory as a file", |world| seen(world, "mem")),
    attempt("read-agent-environment", "the agent's variables, keys among them", |world| {
        let path = format!("/proc/{}/environ", world.agent);
        fs::read(&path).map(drop).map_err(|error| Failure::Denied(error.to_string()))
    }),
    attempt("signal-agent", "a signal to the agent", |world| {
        Ok(rustix::process::kill_process(agent(world)?, Signal::CONT)?)
    })
    .gap("signals"),
    attempt("signal-agent-by-handle", "a signal by a handle of the agent", |world| {
        let handle = rustix::process::pidfd_open(agent(world)?, PidfdFlags::empty())?;
        Ok(rustix::process::pidfd_send_signal(handle, Signal::CONT)?)
    })
    .gap("signals"),
    attempt("signal-helper", "a signal to the helper that watches over it", |_| {
        // The attempt's parent runs the batch; the parent of that is the helper.
        let batch = parent_id();
        let text = fs::read_to_string(format!("/proc/{batch}/stat"))?;
        let helper = text.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        match helper.and_then(Pid::from_raw) {
            None => Err(Failure::Denied("it cannot be seen".to_owned())),
            Some(pid) if pid == Pid::INIT => Err(Failure::Denied("it is the first process here".to_owned())),
            Some(pid) => Ok(rustix::process::kill_process(pid, Signal::CONT)?),
        }
    })
    .gap("signals"),
    attempt("take-agent-file", "a file that the agent has open", |world| {
        let handle = rustix::process::pidfd_open(agent(world)?, PidfdFlags::empty())?;
        let flags = rustix::process::PidfdGetfdFlags::empty();
        Ok(rustix::process::pidfd_getfd(handle, 1, flags).map(drop)?)
    }),
    attempt("limit-agent", "the agent's limits", |world| {
        let own = rustix::process::getrlimit(Resource::Core);
        Ok(rustix::process::prlimit(Some(agent(world)?), Resource::Core, own).map(drop)?)
    }),
    attempt("enter-agent-namespace", "the agent's view of files", |world| {
        let path = format!("/proc/{}/ns/mnt", world.agent);
        let file = File::open(path).map_err(|error| Failure::Denied(error.to_string()))?;
        Ok(nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNS)?)
    }),
];

fn agent(world: &World) -> Result<Pid, Failure> {
    Pid::from_raw(world.agent).ok_or_else(|| Failure::Skipped("no agent".to_owned()))
}

fn seen(world: &World, file: &str) -> Tried {
    let path = format!("/proc/{}/{file}", world.agent);
    File::options().read(true).write(true).open(path).map(drop).map_err(|error| Failure::Denied(error.to_string()))
}

/// An address that the agent has for certain: where this program, which is the same one, has its own
/// stack says nothing, so it is read from the agent's map if that can be seen.
fn mapped_address(world: &World) -> Result<usize, Failure> {
    let text = fs::read_to_string(format!("/proc/{}/maps", world.agent)).unwrap_or_default();
    let first = text.split('-').next().and_then(|it| usize::from_str_radix(it, 16).ok());
    Ok(first.unwrap_or(0x1000))
}
