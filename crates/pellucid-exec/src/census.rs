//! The list of processes with their parents and states, read from `/proc`.
//!
//! Not here: what is done to them.

use std::collections::BTreeSet;
use std::io;

/// A process as `/proc` describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub id: i32,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    pub state: State,
    /// The start time, which distinguishes it from a later process with the same id.
    pub began: u64,
}

/// The state of a process. Of several threads, the state that comes first here counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// The process runs, or waits for something that a signal interrupts.
    Runs,
    /// The process waits in the kernel, where only a fatal signal has an effect.
    Waits,
    /// The process is stopped.
    Stopped,
    /// The process has ended and was not waited for yet (a zombie).
    Dead,
}

/// The numbers of all processes, those that were given last first.
pub(crate) fn ids() -> io::Result<Vec<i32>> {
    let mut ids = numbers("/proc")?;
    ids.sort_unstable_by(|one, other| other.cmp(one));
    Ok(ids)
}

/// All processes that `/proc` shows.
pub(crate) fn all() -> io::Result<Vec<Process>> {
    Ok(ids()?.into_iter().filter_map(look).collect())
}

/// The process with this number, if there is one.
pub(crate) fn look(id: i32) -> Option<Process> {
    let process = Process::read(&text(&format!("/proc/{id}/stat"))?)?;
    match process.state {
        // The first thread may have ended before the others.
        State::Dead => Some(Process { state: state(id), ..process }),
        _ => Some(process),
    }
}

/// The state of a process, over all its threads. A process that does not exist is dead.
pub(crate) fn state(id: i32) -> State {
    let folder = format!("/proc/{id}/task");
    let threads = numbers(&folder).unwrap_or_default().into_iter();
    let states = threads.filter_map(|thread| Some(Process::read(&text(&format!("{folder}/{thread}/stat"))?)?.state));
    states.min().unwrap_or(State::Dead)
}

/// Whether a process is the first of a process namespace below ours.
pub(crate) fn is_first_of_namespace(id: i32) -> bool {
    let status = text(&format!("/proc/{id}/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    let numbers: Vec<_> = numbers.split_whitespace().collect();
    numbers.len() > 1 && numbers.last() == Some(&"1")
}

/// Whether a process sees the mounts that we see.
pub(crate) fn sees_our_mounts(id: i32) -> bool {
    let mounts = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt"));
    mounts(&id.to_string()).is_ok_and(|theirs| mounts("self").is_ok_and(|ours| ours == theirs))
}

/// The selected processes and all their descendants.
pub(crate) fn with_descendants(processes: &[Process], is_meant: impl Fn(&Process) -> bool) -> BTreeSet<i32> {
    let mut found: BTreeSet<i32> = processes.iter().filter(|it| is_meant(it)).map(|it| it.id).collect();
    loop {
        let below = processes.iter().filter(|it| found.contains(&it.parent) && !found.contains(&it.id));
        let below: Vec<i32> = below.map(|it| it.id).collect();
        if below.is_empty() {
            return found;
        }
        found.extend(below);
    }
}

fn numbers(folder: &str) -> io::Result<Vec<i32>> {
    let names = std::fs::read_dir(folder)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter_map(|name| name.parse().ok()).collect())
}

fn text(path: &str) -> Option<String> {
    std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

impl Process {
    /// Reads `/proc/PID/stat`: id, name in brackets, state, parent, group, session and, as the 22nd, the beginning.
    fn read(stat: &str) -> Option<Self> {
        let id = stat.split(' ').next()?.parse().ok()?;
        // The name may hold anything, so fields are counted from its closing bracket.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let state = match fields.next()? {
            "T" | "t" => State::Stopped,
            "Z" | "X" => State::Dead,
            "D" => State::Waits,
            _ => State::Runs,
        };
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        let began = fields.nth(15)?.parse().ok()?;
        Some(Self { id, parent, group, session, state, began })
    }
}

#[cfg(test)]
pub(crate) fn process((id, parent, session): (i32, i32, i32)) -> Process {
    Process { id, parent, group: id, session, state: State::Runs, began: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let rest = "0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9";
        let read = |state: &str| Process::read(&format!("12 (a) Z (b) {state} 3 12 7 {rest}"));
        let expected = Process { began: 4711, ..process((12, 3, 7)) };
        assert_eq!(read("S"), Some(expected));
        assert_eq!(read("T"), Some(Process { state: State::Stopped, ..expected }));
        assert_eq!(read("Z"), Some(Process { state: State::Dead, ..expected }));
        assert_eq!(Process::read("nothing"), None);
    }

    #[test]
    fn we_are_among_them() {
        let us = std::process::id().cast_signed();
        let found = all().unwrap().into_iter().find(|it| it.id == us).unwrap();
        assert_eq!(found.began, look(us).unwrap().began);
        assert_eq!(state(us), State::Runs);
    }

    #[test]
    fn what_descends_from_a_session_belongs_to_it() {
        let processes = [(2, 1, 2), (3, 2, 2), (4, 3, 4), (5, 4, 4), (6, 1, 6), (7, 1, 2)].map(process);
        let of = |session| with_descendants(&processes, |it| it.session == session);
        assert_eq!(of(2), BTreeSet::from([2, 3, 4, 5, 7]));
        assert_eq!(of(9), BTreeSet::new());
    }
}
