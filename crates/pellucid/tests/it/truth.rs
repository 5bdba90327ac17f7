//! Shown, sent, recorded and rebuilt: the same bytes for every request, with every pack, on every wire, in every
//! situation that a session can be in.
//!
//! - `cell`: packs, wires, and which cells there are
//! - `situations`: the situations, as data
//! - `stage`: plays them with the real program and a server that keeps every body
//! - `check`, `rows`: the checks of every request
//! - `filled`: the same session in a capsule, with every text replaced by filler
//! - `tampered`: lines of the session and its record that are changed, deleted, moved or repeated
//! - `costs`: what the requests cost
//! - `page`: the table in `docs/truth-table.md`
//!
//! A plain test plays a sample. `cargo xtask truth-suite` plays every cell; with a text behind it only those cells whose
//! names have that text.

mod cell;
mod check;
mod costs;
mod filled;
mod page;
mod rows;
mod situations;
mod stage;
mod tampered;
mod times;

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;

use self::cell::Cell;
use self::cell::Pack;
use self::cell::Wire;
use self::check::Counts;
use self::page::Outcome;
use self::situations::SITUATIONS;
use self::stage::Stage;

/// Which cells are played: `all`, or a text that their names have.
const WHICH: &str = "PELLUCID_TRUTH";

/// Plays a cell and checks it. Gives what was checked, and what is wrong.
fn play(cell: Cell) -> (Counts, Vec<String>) {
    let mut stage = Stage::new(cell);
    for step in (cell.situation.steps)(cell) {
        stage.play(step);
    }
    let n_sent = stage.server.requests().len();
    let n_expected = (cell.situation.n_requests)(cell.pack);
    if (n_sent, stage.n_replies) != (n_expected, n_expected) {
        let n_replies = stage.n_replies;
        stage.fault(format!("play: {n_sent} requests, {n_replies} replies were ready, {n_expected} belong to it"));
    } else if let Err(what) = (cell.situation.happened)(&stage) {
        stage.fault(format!("play: {what}"));
    }
    let counts = check::check(&stage);
    tampered::check(&stage);
    (counts, stage.problems())
}

/// Plays cells side by side, on as many threads as there are processors.
fn play_all(cells: &[Cell]) -> Vec<(Cell, Counts, Vec<String>)> {
    let next = AtomicUsize::new(0);
    let played = Mutex::new(Vec::new());
    let n_threads = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (counts, problems) = play(*cell);
                    played.lock().unwrap().push((*cell, counts, problems));
                }
            });
        }
    });
    played.into_inner().unwrap()
}

#[test]
fn every_request_is_what_it_is_said_to_be() {
    let which = std::env::var(WHICH).ok();
    let mut cells = match which.as_deref() {
        None => cell::sample(),
        Some("all") => cell::all(),
        Some(text) => cell::all().into_iter().filter(|cell| cell.to_string().contains(text)).collect(),
    };
    let n_cells = cells.len();
    cells.retain(|cell| cell.impossible().is_none());
    assert!(!cells.is_empty(), "no cell that can be played has such a name");
    let played = play_all(&cells);
    let (mut total, mut n_failed, mut wrong) = (Counts::default(), 0, String::new());
    for (cell, counts, problems) in &played {
        total.requests += counts.requests;
        total.promised += counts.promised;
        total.told += counts.told;
        total.remade += counts.remade;
        n_failed += usize::from(!problems.is_empty());
        wrong.extend(problems.iter().map(|problem| format!("{cell}: {problem}\n")));
    }
    let Counts { requests, promised, told, remade } = total;
    println!(
        "{} of {n_cells} cells played, {n_failed} failed; {requests} requests, {promised} of them promised before, the rows \
         of {told} reported by the sender; {remade} sessions made again",
        played.len(),
    );
    if which.as_deref() == Some("all") {
        let outcome = |cell: Cell| outcome(&played, cell);
        if std::env::var_os("UPDATE_EXPECT").is_some_and(|it| it == "1") {
            page::write(outcome);
        } else if wrong.is_empty() {
            page::check(outcome);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What came of a cell among those that were played.
fn outcome(played: &[(Cell, Counts, Vec<String>)], cell: Cell) -> Outcome {
    let of_cell = played.iter().find(|(it, ..)| it.to_string() == cell.to_string());
    match of_cell {
        Some((_, counts, problems)) if problems.is_empty() => Outcome::Passed(counts.requests),
        Some((_, counts, problems)) => Outcome::Failed(problems.len(), counts.requests),
        None => Outcome::Failed(1, 0),
    }
}

#[test]
fn the_sample_has_every_situation_pack_and_wire() {
    let sample = cell::sample();
    assert_eq!(sample.len(), SITUATIONS.len());
    for pack in Pack::ALL {
        assert!(sample.iter().any(|cell| cell.pack == pack), "{pack:?}");
    }
    for wire in Wire::ALL {
        assert!(sample.iter().any(|cell| cell.wire == wire), "{wire:?}");
    }
}

#[test]
fn the_table_of_cells_is_up_to_date() {
    page::check(page::good);
}
