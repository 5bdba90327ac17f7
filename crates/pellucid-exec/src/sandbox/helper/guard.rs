//! The guard's part: hear which sessions there are, and end them when the agent is gone.
//!
//! Not here: starting the guard, and the messages to it (`crate::guard`).

use std::collections::BTreeSet;
use std::io;
use std::io::Read;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use rustix::process::Pid;
use rustix::process::Signal;

use crate::census;
use crate::census::Process;
use crate::census::State;

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
        let Ok(processes) = census::all() else { break };
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

/// The processes of these sessions and their descendants. Zombies need no signal and are excluded.
fn doomed(processes: &[Process], sessions: &BTreeSet<i32>) -> BTreeSet<i32> {
    let running: Vec<Process> = processes.iter().filter(|it| it.state != State::Dead).copied().collect();
    census::with_descendants(&running, |it| sessions.contains(&it.session))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_are_over_are_forgotten() {
        let told: Vec<u8> = [7, 9, -7, 11, -12].iter().flat_map(|it: &i32| it.to_ne_bytes()).collect();
        assert_eq!(hear(&told[..]), BTreeSet::from([9, 11]));
        // A truncated number is ignored.
        assert_eq!(hear(&told[..6]), BTreeSet::from([7]));
    }

    #[test]
    fn what_descends_from_a_session_goes_with_it() {
        let dead = |process| Process { state: State::Dead, ..process };
        let [a, b, c] = [(2, 1, 2), (3, 2, 3), (4, 2, 2)].map(census::process);
        assert_eq!(doomed(&[a, b, dead(c)], &BTreeSet::from([2])), BTreeSet::from([2, 3]));
    }
}
