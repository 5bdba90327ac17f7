//! The table of cells in the documentation. Only a run of all cells writes it.

use std::fs;
use std::path::Path;

use super::cell;
use super::cell::Cell;
use super::cell::Pack;
use super::cell::Wire;
use super::situations::SITUATIONS;

const BEGIN: &str = "<!-- table of cells: begin -->\n";
const END: &str = "<!-- table of cells: end -->\n";

/// What came of a cell that was played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All its requests, and how many they are.
    Passed(usize),
    /// How many exceptions there were, among so many requests.
    Failed(usize, usize),
}

/// What a cell is when nothing is wrong.
pub fn good(cell: Cell) -> Outcome {
    Outcome::Passed((cell.situation.n_requests)(cell.pack))
}

/// Holds the table against what came of the cells.
#[track_caller]
pub fn check(outcome: impl Fn(Cell) -> Outcome) {
    let (page, expected) = pages(&outcome);
    assert!(
        page == expected,
        "docs/truth-table.md is not what the cells say; `cargo xtask truth-suite --bless` writes it"
    );
}

/// Writes the truth table to its page.
pub fn write(outcome: impl Fn(Cell) -> Outcome) {
    fs::write(path(), pages(&outcome).1).unwrap();
}

fn path() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/truth-table.md")
}

/// The current page, and the page with the expected table.
fn pages(outcome: &dyn Fn(Cell) -> Outcome) -> (String, String) {
    let page = fs::read_to_string(path()).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the table");
    let (_, after) = rest.split_once(END).expect("the place for the table has an end");
    let expected = format!("{before}{BEGIN}{}{END}{after}", table(outcome));
    (page.clone(), expected)
}

fn table(outcome: &dyn Fn(Cell) -> Outcome) -> String {
    let (impossible, possible): (Vec<Cell>, Vec<Cell>) =
        cell::all().into_iter().partition(|cell| cell.impossible().is_some());
    let (mut n_passed, mut n_requests, mut n_good, mut n_exceptions) = (0, 0, 0, 0);
    for cell in &possible {
        match outcome(*cell) {
            Outcome::Passed(n) => (n_passed, n_requests, n_good) = (n_passed + 1, n_requests + n, n_good + n),
            Outcome::Failed(n, of) => (n_requests, n_exceptions) = (n_requests + of, n_exceptions + n),
        }
    }
    let mut text = format!(
        "\n{} cells: {n_passed} passed, {} failed, {} impossible. {n_good} of {n_requests} requests, {n_exceptions} \
         exceptions.\n",
        possible.len() + impossible.len(),
        possible.len() - n_passed,
        impossible.len()
    );
    for situation in &SITUATIONS {
        text += &format!("\n## {}\n\n{}.\n\n", capitalised(situation.name), capitalised(situation.about));
        let wires: Vec<&str> = Wire::ALL.map(Wire::name).to_vec();
        text += &format!("| pack | {} |\n| --- | --- | --- | --- |\n", wires.join(" | "));
        for pack in Pack::ALL {
            let cells = Wire::ALL.map(|wire| shown(Cell { pack, wire, situation }, outcome));
            text += &format!("| {} | {} |\n", pack.name(), cells.join(" | "));
        }
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for pack in Pack::ALL {
            let Some(reason) = (situation.impossible)(pack) else { continue };
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, packs)) => packs.push(pack.name()),
                None => reasons.push((reason, vec![pack.name()])),
            }
        }
        for (reason, packs) in reasons {
            text += &format!("\nImpossible with {}: {reason}.\n", packs.join(", "));
        }
    }
    text + "\n"
}

fn shown(cell: Cell, outcome: &dyn Fn(Cell) -> Outcome) -> String {
    if cell.impossible().is_some() {
        return "impossible".to_owned();
    }
    match outcome(cell) {
        Outcome::Passed(1) => "passed, 1 request".to_owned(),
        Outcome::Passed(n) => format!("passed, {n} requests"),
        Outcome::Failed(n, of) => format!("failed, {n} exceptions in {of} requests"),
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
