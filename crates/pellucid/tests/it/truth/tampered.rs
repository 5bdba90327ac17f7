//! Lines of a session file and its record that are changed, deleted, moved or repeated: a replay refutes them, so no
//! certificate is given.
//!
//! Every line is changed in one way, in turn; when all cells are played, in every way.

use std::fs;
use std::path::Path;

use pellucid_agent::replay;
use pellucid_agent::replay::ReplayStatus;
use pellucid_store::read;
use serde_json::Value;

use super::WHICH;
use super::check;
use super::stage::Stage;

/// What is done to a line.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// A letter becomes another.
    Letter,
    /// A digit becomes another.
    Digit,
    /// A quote, bracket or comma becomes another character.
    Mark,
    Deleted,
    /// The line and the one behind it change places.
    Swapped,
    Doubled,
}

const CHANGES: [Change; 6] =
    [Change::Letter, Change::Digit, Change::Mark, Change::Deleted, Change::Swapped, Change::Doubled];

/// Changes every line of every session with a record.
pub fn check(stage: &Stage) {
    let home = stage.world.files.path("home");
    let is_whole = std::env::var(WHICH).is_ok_and(|which| which == "all");
    let records = check::files_below(&home.join("requests"));
    for record in records.iter().filter(|path| path.extension().is_some_and(|it| it == "jsonl")) {
        let id = check::id_of(record);
        let sessions = check::files_below(&home.join("sessions"));
        let Some(session) = sessions.iter().find(|path| check::id_of(path) == id) else { continue };
        let sealed = sealed(record);
        if sealed == 0 || status(&home, session) != Some(ReplayStatus::Proved) {
            continue;
        }
        let n_tried = change_lines(stage, &home, session, session, sealed, is_whole)
            + change_lines(stage, &home, session, record, u64::MAX, is_whole);
        if n_tried == 0 {
            stage.fault(format!("tampered: nothing of {id} was changed"));
        }
        if status(&home, session) != Some(ReplayStatus::Proved) {
            stage.fault(format!("tampered: {id} is not proved when its files are as they were"));
        }
    }
}

/// Up to which byte the session file is sealed.
fn sealed(record: &Path) -> u64 {
    let text = fs::read_to_string(record).unwrap();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["kind"] == "sealed").filter_map(|line| line["at"].as_u64()).max().unwrap_or(0)
}

/// What a replay says; absent if it cannot read the files.
fn status(home: &Path, session: &Path) -> Option<ReplayStatus> {
    let file = read::open_damaged(session).ok()?;
    replay::replay(home, &file, None).ok().map(|replay| replay.status())
}

/// Changes the lines of a file that end before a byte, one at a time. Gives how many changes there were.
fn change_lines(stage: &Stage, home: &Path, session: &Path, path: &Path, end: u64, is_whole: bool) -> usize {
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut at, mut n_tried) = (0, 0);
    for n in 0..lines.len() {
        at += lines[n].len() as u64;
        let is_last = at >= end || n + 1 == lines.len();
        for (m, change) in CHANGES.into_iter().enumerate().filter(|(m, _)| is_whole || n % CHANGES.len() == *m) {
            // Lines behind the seal may be another program's.
            let is_behind = at > end || (is_last && matches!(change, Change::Doubled | Change::Swapped));
            let Some(changed) = changed(&lines, n, change).filter(|_| !is_behind) else { continue };
            fs::write(path, changed).unwrap();
            n_tried += 1;
            let found = status(home, session);
            if !matches!(found, None | Some(ReplayStatus::Refuted)) {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let line: String = lines[n].chars().take(120).collect();
                stage.fault(format!("tampered: {name}: {change:?} ({m}) of line {} is {found:?}: {line}", n + 1));
            }
        }
    }
    fs::write(path, &text).unwrap();
    n_tried
}

fn changed(lines: &[&str], n: usize, change: Change) -> Option<String> {
    let mut now: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let replaced = |is_meant: fn(&u8) -> bool, other: fn(u8) -> u8| {
        let places: Vec<usize> = (0..lines[n].len()).filter(|at| is_meant(&lines[n].as_bytes()[*at])).collect();
        // Another place in every line.
        let at = *places.get((n * 7) % places.len().max(1))?;
        let mut bytes = lines[n].as_bytes().to_vec();
        bytes[at] = other(bytes[at]);
        String::from_utf8(bytes).ok()
    };
    match change {
        Change::Letter => now[n] = replaced(u8::is_ascii_alphabetic, |byte| if byte == b'q' { b'w' } else { b'q' })?,
        Change::Digit => now[n] = replaced(u8::is_ascii_digit, |byte| if byte == b'7' { b'3' } else { b'7' })?,
        Change::Mark => now[n] = replaced(|byte| b"\"{}[],:".contains(byte), |_| b'~')?,
        Change::Deleted => drop(now.remove(n)),
        Change::Swapped if lines.get(n + 1).is_some_and(|next| *next != lines[n]) => now.swap(n, n + 1),
        Change::Swapped => return None,
        Change::Doubled => now.insert(n, lines[n].to_owned()),
    }
    Some(now.concat())
}
