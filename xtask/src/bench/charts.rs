//! The drawings of `docs/bench/`: which figures each shows.
//!
//! Not here: how they are drawn (`plot`).

use super::peers::{OURS, PEERS, title_of};
use super::plot::{Bar, Line, Words, bars, lines};
use super::results::{Results, Which};

/// A drawing with a bar for each program.
struct Bars {
    file: &'static str,
    words: Words<'static>,
    which: Which,
}

/// A drawing with a line for each program, by a number of the case.
struct Lines {
    file: &'static str,
    words: Words<'static>,
    which: Which,
    by: &'static str,
}

const fn words(title: &'static str, across: &'static str, up: &'static str, unit: &'static str) -> Words<'static> {
    Words { title, across, up, unit }
}

const BARS: [Bars; 6] = [
    Bars {
        file: "start.svg",
        words: words("From the start to the first request", "wall time, logarithmic", "", "s"),
        which: Which("peers", "first request", "n=0"),
    },
    Bars {
        file: "memory.svg",
        words: words("Peak memory of one answer", "of the largest process, logarithmic", "", "MB"),
        which: Which("peers", "peak memory", "n=0"),
    },
    Bars {
        file: "disk.svg",
        words: words("Size on disk", "logarithmic", "", "MB"),
        which: Which("peers", "on disk", ""),
    },
    Bars {
        file: "call.svg",
        words: words("CPU of a follow-up request", "mean of the first 50, logarithmic", "", "s"),
        which: Which("peers", "call, cpu", "high=50, low=0"),
    },
    Bars {
        file: "shell.svg",
        words: words("A command in the shell tool", "wall time of `echo`, logarithmic", "", "s"),
        which: Which("peers", "call", "high=20, low=0, tool=shell"),
    },
    Bars {
        file: "key.svg",
        words: words("From a key to the screen", "median, logarithmic", "", "s"),
        which: Which("tui", "key to screen, median", ""),
    },
];

const LINES: [Lines; 8] = [
    Lines {
        file: "calls.svg",
        words: words("A turn of many calls", "calls of the turn", "CPU of the whole run", "s"),
        which: Which("longturn", "cpu", ""),
        by: "n",
    },
    Lines {
        file: "items.svg",
        words: words("A follow-up in a long session", "items of the session", "CPU of a follow-up", "s"),
        which: Which("items", "follow-up, cpu", ""),
        by: "items",
    },
    Lines {
        file: "items-resume.svg",
        words: words("Going on with a long session", "items of the session", "start to first request", "s"),
        which: Which("items", "first request", ""),
        by: "items",
    },
    Lines {
        file: "threads.svg",
        words: words("Memory of a server", "threads", "resident memory after a turn of each", "MB"),
        which: Which("threads", "memory", ""),
        by: "threads",
    },
    Lines {
        file: "turns.svg",
        words: words("CPU of a turn in a server", "threads", "CPU of a turn", "s"),
        which: Which("threads", "turn, cpu", ""),
        by: "threads",
    },
    Lines {
        file: "resume-live.svg",
        words: words(
            "Going on with a large session, all of it sent",
            "MB of the session",
            "start to first request",
            "s",
        ),
        which: Which("resume", "first request", "kind=live"),
        by: "size",
    },
    Lines {
        file: "resume-compacted.svg",
        words: words(
            "Going on with a large session that has summaries",
            "MB of the session",
            "start to first request",
            "s",
        ),
        which: Which("resume", "first request", "kind=compacted"),
        by: "size",
    },
    Lines {
        file: "resume-memory.svg",
        words: words("Memory for a large session, all of it sent", "MB of the session", "peak memory", "MB"),
        which: Which("resume", "peak memory", "kind=live"),
        by: "size",
    },
];

/// Every drawing: the name of its file, and its text. One without figures says so, because the page shows it all the same.
pub fn drawings(results: &Results) -> Vec<(&'static str, String)> {
    let mut drawn = Vec::new();
    for Bars { file, words, which } in BARS {
        let found: Vec<Bar> = programs()
            .filter_map(|(colour, name)| {
                let value = results.value(which, name)?;
                Some(Bar { name: title_of(name).to_owned(), value, colour })
            })
            .collect();
        drawn.push((file, bars(&words, &found)));
    }
    for Lines { file, words, which: Which(benchmark, metric, fixed), by } in LINES {
        let found: Vec<Line> = programs()
            .map(|(colour, name)| Line {
                name: title_of(name).to_owned(),
                colour,
                points: results.series(benchmark, metric, fixed, by, name),
            })
            .filter(|it| !it.points.is_empty())
            .collect();
        drawn.push((file, lines(&words, &found)));
    }
    drawn
}

/// Every program with the number of its colour.
fn programs() -> impl Iterator<Item = (usize, &'static str)> {
    std::iter::once(OURS).chain(PEERS.iter().map(|it| it.name)).enumerate()
}

#[cfg(test)]
mod tests {
    use super::super::plot::NOT_MEASURED;
    use super::super::results::testing;
    use super::*;

    #[test]
    fn every_drawing_has_its_figures_or_says_that_there_are_none() {
        let results = testing::results(
            "peers | first request | n=0 | ours | 0.007 | s
             peers | first request | n=0 | codex104 | 0.059 | s
             resume | first request | kind=live, size=1 | ours | 0.01 | s
             resume | first request | kind=live, size=100 | ours | 0.2 | s",
        );
        let drawn = drawings(&results);
        let empty = drawn.iter().filter(|it| it.1.contains(NOT_MEASURED)).count();
        assert_eq!((drawn.len() - empty, drawn.len()), (2, BARS.len() + LINES.len()));
        assert!(drawn[0].1.contains(">Codex 0.104.0</text>"));
    }
}
