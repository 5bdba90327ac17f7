//! The processes of a confined command: stopped, continued, ended.
//!
//! The processes of a confined command are found by their parents. Whatever a confined process does, its descendants
//! stay below the helper that confines it: the helper is the first process of their namespace, or adopts processes
//! that lost their parent. A stopped process cannot start another, so when all known processes are stopped and no new
//! one shows up, all are stopped. The helper itself continues: it watches the agent, and ends the command with it. So
//! does the process that removes placeholders: it is no part of the command, and no process would be left to continue
//! it.
//!
//! Rounds are counted, not timed, and where they do not suffice the caller ends what it could not stop.
//!
//! Not here: when (`pause`).

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::event::Timespec;
use rustix::process::Pid;
use rustix::process::PidfdFlags;
use rustix::process::Signal;

use crate::census;
use crate::census::Process;
use crate::census::State;
use crate::sandbox::Backend;

/// How often processes are looked for, and how long is waited in between once a few rounds did not suffice. A disk that
/// is slow keeps a process from being stopped for a while.
const ROUNDS: usize = 600;
const ROUNDS_AT_ONCE: usize = 4;
const PAUSE: Duration = Duration::from_millis(5);

/// How often more is looked whether a helper that was started has begun.
const ROUNDS_TO_BEGIN: usize = 1_400;

/// In how many rounds processes may show up that were not there before, until a command is taken for one that starts
/// others without end. One whose processes live on stops starting others in the first round.
const ROUNDS_WITH_NEW_ONES: usize = 60;

/// In each of so many rounds, those that a waiting process waits for continue for a moment.
const ROUNDS_TO_RELEASE: usize = 8;

/// How many processes of a chain are signalled one after the other, and how far ahead the next one's number may be.
const CHASED: usize = 200;
const NUMBERS_AHEAD: i32 = 40;

/// The number of consecutive looks without a new process that is required.
const LOOKS: usize = 8;

/// The process above all of a command's.
#[derive(Debug)]
pub(crate) struct Root {
    /// A handle that becomes readable when the process has ended.
    pub handle: OwnedFd,
    pub id: i32,
    pub kind: Kind,
}

/// The kind of that process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The first of a namespace, and no command.
    First,
    /// A helper that leads a session, and confines in this way.
    Helper(Backend),
}

impl Root {
    /// The process with this number, which is known to be there.
    pub(crate) fn new(id: i32, kind: Kind) -> Option<Self> {
        let handle = rustix::process::pidfd_open(Pid::from_raw(id)?, PidfdFlags::empty()).ok()?;
        Some(Self { handle, id, kind })
    }

    fn is_over(&self) -> bool {
        is_over(&self.handle, Duration::ZERO)
    }

    /// All descendants of the process.
    fn members(&self, processes: &[Process]) -> BTreeSet<i32> {
        let is_helper = matches!(self.kind, Kind::Helper(_));
        let is_meant = |it: &Process| it.id == self.id || (is_helper && it.session == self.id);
        let mut members = census::with_descendants(processes, is_meant);
        members.remove(&self.id);
        for sweeper in processes.iter().filter(|it| self.is_sweeper(it)) {
            members.remove(&sweeper.id);
        }
        members
    }

    /// Whether it has started all that it starts itself.
    fn has_begun(&self, processes: &[Process]) -> bool {
        let n_needed = match self.kind {
            Kind::First => 0,
            // The first process of the namespace, and the command.
            Kind::Helper(Backend::Namespaces) => 2,
            Kind::Helper(_) => 1,
        };
        processes.iter().filter(|it| it.parent == self.id && !self.is_sweeper(it)).count() >= n_needed
    }

    /// Whether a process is the one that removes placeholders: it leads a session, and sees the mounts that we see,
    /// which a command does not.
    fn is_sweeper(&self, process: &Process) -> bool {
        let has_mounts = matches!(self.kind, Kind::Helper(Backend::Namespaces | Backend::Bubblewrap));
        let is_apart = process.parent == self.id && process.session == process.id;
        has_mounts && is_apart && census::sees_our_mounts(process.id)
    }

    /// Whether a process below it is one of ours that is not to be stopped: it watches the agent.
    fn spares(&self, id: i32) -> bool {
        self.kind == Kind::Helper(Backend::Namespaces) && census::is_first_of_namespace(id)
    }
}

fn is_over(handle: &OwnedFd, patience: Duration) -> bool {
    let mut watched = [PollFd::new(handle, PollFlags::IN)];
    let patience = Timespec::try_from(patience).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
    matches!(rustix::event::poll(&mut watched, Some(&patience)), Ok(n_ready) if n_ready > 0)
}

/// A confined command and all that it started.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The folders that the command may write in.
    pub writable: Vec<PathBuf>,
    root: Root,
    stopped: Mutex<Stopped>,
}

#[derive(Debug, Default)]
struct Stopped {
    /// The processes that we stopped, with their start times.
    processes: BTreeMap<i32, u64>,
    since: Option<Instant>,
    total: Duration,
}

impl Tree {
    pub(crate) fn new(root: Root, writable: Vec<PathBuf>) -> Self {
        Self { writable, root, stopped: Mutex::default() }
    }

    fn stopped(&self) -> MutexGuard<'_, Stopped> {
        // Every change under the lock is done in one step.
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no process of the tree is left.
    pub(crate) fn is_over(&self) -> bool {
        self.root.is_over()
    }

    /// Whether it is stopped, or was begun to be.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped().since.is_some()
    }

    /// For how long it was stopped, all in all.
    pub(crate) fn time_paused(&self) -> Duration {
        let stopped = self.stopped();
        stopped.total + stopped.since.map(|since| since.elapsed()).unwrap_or_default()
    }

    /// Stops all processes. Returns whether all are stopped.
    pub(crate) fn stop(&self) -> bool {
        self.stopped().since.get_or_insert_with(Instant::now);
        let (mut round, mut n_left, mut n_with_new_ones) = (0, ROUNDS + ROUNDS_TO_BEGIN, 0);
        while n_left > 0 && n_with_new_ones < ROUNDS_WITH_NEW_ONES && !self.is_over() {
            let Ok(processes) = census::all() else { return false };
            let members = self.root.members(&processes);
            let has_begun = self.root.has_begun(&processes);
            let n_known = self.stopped().processes.len();
            let is_still = self.stop_those(&processes, &members, round);
            if is_still && has_begun && self.nobody_comes(&processes, members, Signal::STOP) {
                return true;
            }
            n_with_new_ones += usize::from(self.stopped().processes.len() > n_known);
            if has_begun {
                n_left = n_left.min(ROUNDS);
            }
            (round, n_left) = (round + 1, n_left - 1);
            rest(round);
        }
        self.is_over()
    }

    /// Stops processes that still run. Returns whether all were stopped before.
    fn stop_those(&self, processes: &[Process], members: &BTreeSet<i32>, round: usize) -> bool {
        let mut is_still = true;
        // Parents come first: a shell that sees its command stopped before itself takes it for a person's wish.
        for process in by_depth(processes, members) {
            let state = census::state(process.id);
            if matches!(state, State::Stopped | State::Dead) || self.root.spares(process.id) {
                continue;
            }
            is_still = false;
            if send(process, Signal::STOP) {
                self.stopped().processes.insert(process.id, process.began);
            }
            // A process that waits for a child to begin its program cannot stop before that has happened.
            if state == State::Waits && round % ROUNDS_TO_RELEASE == ROUNDS_TO_RELEASE - 1 {
                for child in processes.iter().filter(|it| it.parent == process.id) {
                    if self.stopped().processes.get(&child.id) == Some(&child.began) {
                        send(child, Signal::CONT);
                    }
                }
            }
        }
        is_still
    }

    /// Whether no process shows up that was not there before and may be one of these. One that is gone before it can be
    /// looked at may have been. One that certainly is one of these gets the signal at once, and so do those that it
    /// started meanwhile.
    fn nobody_comes(&self, processes: &[Process], mut members: BTreeSet<i32>, signal: Signal) -> bool {
        members.insert(self.root.id);
        let mut others: BTreeSet<i32> =
            processes.iter().map(|it| it.id).filter(|id| !members.contains(id)).chain([0]).collect();
        for _ in 0..LOOKS {
            let Ok(ids) = census::ids() else { return false };
            // A parent has the lower number, mostly.
            for id in ids.into_iter().rev().filter(|id| !members.contains(id)) {
                if others.contains(&id) {
                    continue;
                }
                match census::look(id) {
                    Some(new) if others.contains(&new.parent) && new.session != self.root.id => others.insert(id),
                    Some(new) => {
                        self.chase(new, members, signal);
                        return false;
                    }
                    None => return false,
                };
            }
        }
        true
    }

    /// Signals a process that is one of these, and those after it. Of a chain in which each process ends as soon as it
    /// has started the next, a list of all processes names only such as are gone; but the kernel gives numbers in
    /// order, so the next is found by its number before it has started another.
    fn chase(&self, first: Process, mut members: BTreeSet<i32>, signal: Signal) {
        let mut found = Some(first);
        for _ in 0..CHASED {
            let Some(new) = found.take() else { return };
            let is_ours = members.contains(&new.parent) || new.session == self.root.id;
            if !is_ours || self.root.spares(new.id) || self.root.is_sweeper(&new) {
                return;
            }
            if send(&new, signal) && signal == Signal::STOP {
                self.stopped().processes.insert(new.id, new.began);
            }
            members.insert(new.id);
            let mut next = (new.id + 1..new.id + NUMBERS_AHEAD).filter_map(census::look);
            found = next.find(|it| members.contains(&it.parent));
        }
    }

    /// Continues the processes that we stopped.
    pub(crate) fn go_on(&self) {
        let ours = std::mem::take(&mut self.stopped().processes);
        match census::all() {
            Ok(processes) => {
                let members = self.root.members(&processes);
                for process in by_depth(&processes, &members).into_iter().rev() {
                    if ours.get(&process.id) == Some(&process.began) {
                        send(process, Signal::CONT);
                    }
                }
            }
            // No process may stay stopped for ever; for a process that was not stopped this signal has no effect.
            Err(_) => {
                for id in ours.into_keys().filter_map(Pid::from_raw) {
                    let _ = rustix::process::kill_process(id, Signal::CONT);
                }
            }
        }
        let mut stopped = self.stopped();
        if let Some(since) = stopped.since.take() {
            stopped.total += since.elapsed();
        }
    }

    /// Ends all processes. Returns whether that worked.
    pub(crate) fn end(&self) -> bool {
        if self.root.kind == Kind::First {
            // The kernel ends the others of its namespace with it.
            let _ = rustix::process::pidfd_send_signal(&self.root.handle, Signal::KILL);
            return (0..ROUNDS).any(|_| is_over(&self.root.handle, PAUSE));
        }
        // The root must not start further processes. Processes that lose their parent still stay below it.
        let _ = rustix::process::pidfd_send_signal(&self.root.handle, Signal::STOP);
        for round in 0..2 * ROUNDS {
            if self.is_over() {
                return true;
            }
            let Ok(processes) = census::all() else { return false };
            let members = self.root.members(&processes);
            let living = by_depth(&processes, &members);
            self.stop_groups(&living);
            let living: Vec<_> = living.into_iter().filter(|it| it.state != State::Dead).collect();
            let is_empty = living.is_empty() && census::state(self.root.id) == State::Stopped;
            if is_empty && self.nobody_comes(&processes, members, Signal::KILL) {
                let _ = rustix::process::pidfd_send_signal(&self.root.handle, Signal::KILL);
                return (0..ROUNDS).any(|_| is_over(&self.root.handle, PAUSE));
            }
            for process in living {
                send(process, Signal::KILL);
            }
            // Processes that start others without end are gone when a look comes late, so many looks follow at once.
            rest(round.saturating_sub(ROUNDS));
        }
        false
    }

    /// Stops the process groups of the helper and of these at once. A process that was started after it was looked for
    /// belongs to the group of its parent, and while a signal goes to a group the kernel adds no process to the group.
    /// So a chain in which each process ends as soon as it has started the next is stopped, which no signal to a
    /// single process achieves.
    fn stop_groups(&self, processes: &[&Process]) {
        let groups: BTreeSet<i32> = processes.iter().map(|it| it.group).chain([self.root.id]).collect();
        for group in groups.into_iter().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, Signal::STOP);
        }
    }

    /// Whether what it leaves when it is ended by force has to be looked for.
    pub(crate) fn must_be_searched(&self) -> bool {
        self.root.kind == Kind::Helper(Backend::Landlock) && !self.is_over()
    }

    /// The processes that the helper left behind when it ended, if that is possible: a namespace with its first
    /// process.
    pub(crate) fn remains(&self) -> Option<Root> {
        if self.root.kind != Kind::Helper(Backend::Namespaces) || !self.is_over() {
            return None;
        }
        let processes = census::all().unwrap_or_default();
        let first = processes.iter().find(|it| it.session == self.root.id && census::is_first_of_namespace(it.id));
        Root::new(first?.id, Kind::First)
    }
}

fn rest(round: usize) {
    if round < ROUNDS_AT_ONCE {
        thread::yield_now();
    } else {
        thread::sleep(PAUSE);
    }
}

/// The members, parents before their children.
fn by_depth<'a>(processes: &'a [Process], members: &BTreeSet<i32>) -> Vec<&'a Process> {
    let mut left: Vec<&Process> = processes.iter().filter(|it| members.contains(&it.id)).collect();
    let mut sorted: Vec<&Process> = Vec::with_capacity(left.len());
    let mut waiting: BTreeSet<i32> = left.iter().map(|it| it.id).collect();
    while !left.is_empty() {
        let (now, later): (Vec<&Process>, Vec<&Process>) =
            left.iter().copied().partition(|it| !waiting.contains(&it.parent));
        // Numbers that were given again while they were read can make a circle.
        let now = if now.is_empty() { later.clone() } else { now };
        for process in &now {
            waiting.remove(&process.id);
        }
        left.retain(|it| waiting.contains(&it.id));
        sorted.extend(now);
    }
    sorted
}

/// Sends a signal to a process, unless its number belongs to another by now.
fn send(process: &Process, signal: Signal) -> bool {
    let Some(id) = Pid::from_raw(process.id) else { return false };
    let Ok(handle) = rustix::process::pidfd_open(id, PidfdFlags::empty()) else { return false };
    let is_same = census::look(process.id).is_some_and(|now| now.began == process.began);
    is_same && rustix::process::pidfd_send_signal(&handle, signal).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::census::process;

    #[test]
    fn parents_come_before_their_children() {
        let processes = [(5, 4, 1), (4, 9, 1), (9, 2, 1), (3, 1, 1), (6, 9, 1)].map(process);
        let members = BTreeSet::from([4, 5, 6, 9]);
        let sorted: Vec<i32> = by_depth(&processes, &members).iter().map(|it| it.id).collect();
        assert_eq!(sorted, [9, 4, 6, 5]);
    }

    #[test]
    fn a_circle_of_numbers_is_no_trap() {
        let processes = [(5, 4, 1), (4, 5, 1)].map(process);
        assert_eq!(by_depth(&processes, &BTreeSet::from([4, 5])).len(), 2);
    }
}
