//! The table of `docs/performance.md`: a row for each figure, beside the other agents, the target and the bound.
//!
//! Not here: the words around it.

use std::fmt::Write as _;

use super::amount::{digits, shown};
use super::peers::{OURS, PEERS, title_of};
use super::results::{Failure, Made, Results, words};
use super::rows::{ROWS, Row};

/// The agents that have a column; of the others the best is named.
const COLUMNS: [&str; 2] = ["codex104", "codex166"];

/// The whole generated part: how it was made, the table, and what is missing.
pub fn text(results: &Results) -> String {
    let mut text = match &results.made.note {
        Some(note) => format!("{note}\n"),
        None => made(&results.made),
    };
    let titles = COLUMNS.map(title_of).join(" | ");
    let _ = writeln!(text, "\n| | Pellucid | target | {titles} | best other | bound |");
    text.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
    let mut group = "";
    for row in ROWS {
        let ours = results.value(row.which, OURS);
        if ours.is_none() && !PEERS.iter().any(|it| results.value(row.which, it.name).is_some()) {
            continue;
        }
        if row.group != group {
            group = row.group;
            let _ = writeln!(text, "| **{group}** | | | | | | |");
        }
        text.push_str(&line(&row, ours, results));
    }
    text.push_str("\nA figure in brackets is how many times ours it is. ");
    let (n_met, n) = met(results);
    let _ = writeln!(text, "Of {n} targets with a figure, {n_met} are met.");
    missing(&mut text, results);
    text
}

fn made(made: &Made) -> String {
    let Made { commit, program, date, processor, n_processors, memory_mb, system, load, seconds, is_quick, .. } = made;
    let kind = if *is_quick { "short run (`--quick`)" } else { "whole run" };
    format!(
        "Commit {commit} ({program}), {date}: {kind} of {} minutes. {processor}, {n_processors} processors, {} GB, {system}; {} programs \
         wanted a processor before it, {} at its end.\n",
        digits((*seconds as f64 / 60.0).max(1.0).round()),
        digits((*memory_mb as f64 / 1024.0).round()),
        digits(load[0]),
        digits(load[1]),
    )
}

fn line(row: &Row, ours: Option<f64>, results: &Results) -> String {
    let unit = unit(row, results);
    let target = match (row.target_in(results), ours) {
        (None, _) => String::new(),
        (Some(target), None) => shown(target, &unit),
        (Some(target), Some(ours)) if is_met(row, ours, target) => format!("{}, met", shown(target, &unit)),
        (Some(target), Some(_)) => format!("{}, missed", shown(target, &unit)),
    };
    let times = |value: f64| match ours {
        Some(ours) if ours > 0.0 && value >= 0.0 => format!("{} ({})", shown(value, &unit), digits(value / ours)),
        _ => shown(value, &unit),
    };
    let columns = COLUMNS.map(|name| results.value(row.which, name).map_or_else(|| "-".to_owned(), times)).join(" | ");
    let others = PEERS.iter().filter(|it| !COLUMNS.contains(&it.name));
    let values = others.filter_map(|it| Some((it.name, results.value(row.which, it.name)?)));
    let best = values.min_by(|a, b| if row.is_more_better { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
    let best = best.map_or_else(|| "-".to_owned(), |(name, value)| format!("{}: {}", title_of(name), times(value)));
    let bound = row.bound_in(results).map_or_else(String::new, |it| shown(it, &unit));
    let ours = ours.map_or_else(|| "-".to_owned(), |it| shown(it, &unit));
    format!("| {} | {ours} | {target} | {columns} | {best} | {bound} |\n", row.title)
}

fn unit(row: &Row, results: &Results) -> String {
    let super::results::Which(benchmark, metric, case) = row.which;
    let found =
        results.figures.iter().find(|it| it.benchmark == benchmark && it.metric == metric && words(&it.case) == case);
    found.map(|it| it.unit.clone()).unwrap_or_default()
}

fn is_met(row: &Row, ours: f64, target: f64) -> bool {
    if row.is_more_better { ours >= target } else { ours <= target }
}

/// How many targets are met, of how many.
pub fn met(results: &Results) -> (usize, usize) {
    let pairs = ROWS.iter().filter_map(|row| Some((row, results.value(row.which, OURS)?, row.target_in(results)?)));
    let met: Vec<bool> = pairs.map(|(row, ours, target)| is_met(row, ours, target)).collect();
    (met.iter().filter(|it| **it).count(), met.len())
}

/// Programs that were not there, and cases in which one failed.
fn missing(text: &mut String, results: &Results) {
    for program in &results.programs {
        if let Some(why) = &program.missing {
            let _ = writeln!(text, "\nNot measured: {} ({why}).", program.title);
        }
    }
    for Failure { benchmark, case, program, why } in &results.failures {
        let case = words(case);
        let _ =
            writeln!(text, "\n{} failed in `{benchmark}` ({case}): {}.", title_of(program), why.trim_end_matches('.'));
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::testing;
    use super::*;

    #[test]
    fn a_row_has_targets_bounds_and_how_many_times_ours_others_need() {
        let mut results = testing::results(
            "peers | first request | n=0 | ours | 0.007 | s
             peers | first request | n=0 | codex104 | 0.059 | s
             peers | first request | n=0 | pi | 0.254 | s
             peers | first request | n=0 | goose | 0.183 | s
             patch | cpu | what=500 files of 300 lines, 1 hunk each | ours | 0.031 | s
             patch | cpu | what=500 files of 300 lines, 1 hunk each | copy | 0.03 | s
             threads | turns | threads=500 | ours | 1200 | /s
             tui | spawn to first paint | | pi | 0.7 | s",
        );
        results.programs[2].missing = Some("the registry has no such version".to_owned());
        let text = text(&results);
        let rows: Vec<&str> =
            text.lines().filter(|it| it.starts_with("| ") && !it.starts_with("| **")).skip(2).collect();
        assert_eq!(
            rows,
            [
                "| start to first request | 7 ms | 4 ms, missed | 59 ms (8.43) | - | goose 1.52.0: 183 ms (26.1) | 1.4 ms |",
                "| 500 files | 31 ms | 31.5 ms, met | - | - | - | 30 ms |",
                "| turns a second | 1,200 a second | 1,000 a second, met | - | - | - |  |",
                "| first paint | - | 10 ms | - | - | pi 0.87.1: 700 ms |  |",
            ]
        );
        assert!(text.contains("Of 3 targets with a figure, 2 are met.\n"), "{text}");
        assert!(text.contains("Not measured: pi 0.87.1 (the registry has no such version).\n"), "{text}");
    }

    #[test]
    fn every_row_is_measured_by_a_run() {
        for row in ROWS {
            assert!(super::super::plan::RUNS.iter().any(|it| it.benchmark == row.which.0), "{}", row.title);
        }
    }
}
