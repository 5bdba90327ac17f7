//! The guard's part: hear which sessions there are, and end them when the agent is gone.
//!
//! Not here: who starts it and what it is told (`crate::guard`).

use std::collections::BTreeSet;
use std::io;
use std::io::Read;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use rustix::process::Pid;
use rustix::process::Signal;

/// How often is looked for processes that are still there, and how long is waited in between.
const ROUNDS: usize = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// Guards until the agent is gone.
pub fn run() -> ExitCode {
    // No folder is to be kept busy.
    let _ = std::env::set_current_dir("/");
    let sessions = hear(io::stdin().lock());
    if sessions.is_empty() {
        return ExitCode::SUCCESS;
    }
    for _ in 0..ROUNDS {
        let Ok(processes) = processes() else { break };
        let doomed = doomed(&processes, &sessions);
        if doomed.is_empty() {
            return ExitCode::SUCCESS;
        }
        for id in doomed {
            kill(id);
        }
        thread::sleep(PAUSE);
    }
    // Whatever `/proc` says, the groups that the sessions began with are known.
    for id in sessions {
        if let Some(group) = Pid::from_raw(id) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
    ExitCode::FAILURE
}

fn kill(id: i32) {
    if let Some(id) = Pid::from_raw(id) {
        let _ = rustix::process::kill_process(id, Signal::KILL);
    }
}

/// The sessions that are left when nothing more is said: a number begins one, its negative ends it.
fn hear(mut told: impl Read) -> BTreeSet<i32> {
    let mut sessions = BTreeSet::new();
    let mut number = [0; 4];
    while told.read_exact(&mut number).is_ok() {
        let number = i32::from_ne_bytes(number);
        if number > 0 {
            sessions.insert(number);
        } else {
            sessions.remove(&-number);
        }
    }
    sessions
}

/// A process that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    id: i32,
    parent: i32,
    session: i32,
}

/// Those of these sessions, and what descends from them.
fn doomed(processes: &[Process], sessions: &BTreeSet<i32>) -> BTreeSet<i32> {
    let of_sessions = processes.iter().filter(|it| sessions.contains(&it.session)).map(|it| it.id);
    let mut doomed: BTreeSet<i32> = of_sessions.collect();
    loop {
        let below = processes.iter().filter(|it| doomed.contains(&it.parent) && !doomed.contains(&it.id));
        let below: Vec<i32> = below.map(|it| it.id).collect();
        if below.is_empty() {
            return doomed;
        }
        doomed.extend(below);
    }
}

/// All processes that run. The dead that nobody took note of yet are none.
fn processes() -> io::Result<Vec<Process>> {
    let names = std::fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let ids = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let stats = ids.filter_map(|id| std::fs::read(format!("/proc/{id}/stat")).ok());
    Ok(stats.filter_map(|stat| Process::read(&String::from_utf8_lossy(&stat))).collect())
}

impl Process {
    /// Reads `/proc/PID/stat`: id, name in brackets, state, parent, group, session.
    fn read(stat: &str) -> Option<Self> {
        let id = stat.split(' ').next()?.parse().ok()?;
        // The name may hold anything, so fields are counted from its closing bracket.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        Some(Self { id, parent, session })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_are_over_are_forgotten() {
        let told: Vec<u8> = [7, 9, -7, 11, -12].iter().flat_map(|it: &i32| it.to_ne_bytes()).collect();
        assert_eq!(hear(&told[..]), BTreeSet::from([9, 11]));
        // A number that is cut off is none.
        assert_eq!(hear(&told[..6]), BTreeSet::from([7]));
    }

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let read = |stat| Process::read(stat);
        assert_eq!(read("12 (a) Z (b) S 3 12 7 0 -1 4194560 1"), Some(Process { id: 12, parent: 3, session: 7 }));
        assert_eq!(read("12 (sleep) Z 3 12 7 0"), None);
        assert_eq!(read("nothing"), None);
    }

    #[test]
    fn what_descends_from_a_session_goes_with_it() {
        let process = |(id, parent, session)| Process { id, parent, session };
        let processes = [(2, 1, 2), (3, 2, 2), (4, 3, 4), (5, 4, 4), (6, 1, 6), (7, 1, 2)].map(process);
        assert_eq!(doomed(&processes, &BTreeSet::from([2])), BTreeSet::from([2, 3, 4, 5, 7]));
        assert_eq!(doomed(&processes, &BTreeSet::from([9])), BTreeSet::new());
    }
}
