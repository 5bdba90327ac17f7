//! The rows of the table of performance: which figure each is, its target, and what bounds it.
//!
//! Not here: what a row means (`docs/performance.md`, in words).

use super::results::{Results, Which};
use Target::{None as NoTarget, Of, Value};

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub group: &'static str,
    pub title: &'static str,
    pub which: Which,
    pub target: Target,
    pub bound: Option<Bound>,
    /// More is better; otherwise less is.
    pub is_more_better: bool,
}

/// The value to reach.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    Value(f64),
    /// So many times what another program needs in the same case.
    Of(f64, &'static str),
    None,
}

/// What the same work costs without an agent.
#[derive(Debug, Clone, Copy)]
pub enum Bound {
    /// Measured once, on the machine of the first table.
    Known(f64),
    /// Measured in the same run.
    Measured(Which, &'static str),
}

const fn row(group: &'static str, title: &'static str, which: Which, target: Target) -> Row {
    Row { group, title, which, target, bound: None, is_more_better: false }
}

const fn at_least(group: &'static str, title: &'static str, which: Which, target: f64) -> Row {
    Row { group, title, which, target: Value(target), bound: None, is_more_better: true }
}

impl Row {
    const fn bound(self, bound: Bound) -> Self {
        Self { bound: Some(bound), ..self }
    }

    const fn known(self, value: f64) -> Self {
        self.bound(Bound::Known(value))
    }

    /// The target as a value, where what it is a multiple of was measured.
    pub fn target_in(&self, results: &Results) -> Option<f64> {
        match self.target {
            Value(value) => Some(value),
            Of(times, program) => results.value(self.which, program).map(|it| it * times),
            NoTarget => None,
        }
    }

    /// The bound as a value.
    pub fn bound_in(&self, results: &Results) -> Option<f64> {
        match self.bound? {
            Bound::Known(value) => Some(value),
            Bound::Measured(which, program) => results.value(which, program),
        }
    }
}

const ONE: &str = "One answer";
const CALLS: &str = "Calls";
const LIST: &str = "10,000 stored sessions";
const RESUME: &str = "Going back to a session";
const CONTEXT: &str = "More context: time on top of a plain folder";
const PATCH: &str = "Patches, CPU";
const SERVER: &str = "A server with 500 threads";
const TERMINAL: &str = "The terminal";

/// Every row, in the order of the table.
pub const ROWS: [Row; 46] = [
    row(ONE, "start to first request", Which("peers", "first request", "n=0"), Value(0.004)).known(0.0014),
    row(ONE, "start to first request, CPU", Which("peers", "first request, cpu", "n=0"), Value(0.003)),
    row(ONE, "start to exit, CPU", Which("peers", "exit, cpu", "n=0"), Value(0.012)).known(0.0011),
    row(ONE, "peak memory", Which("peers", "peak memory", "n=0"), Value(12.0)).known(2.0),
    row(ONE, "size on disk", Which("peers", "on disk", ""), Value(15.0)),
    row(CALLS, "a follow-up, first 50, CPU", Which("peers", "call, cpu", "high=50, low=0"), Value(0.0005))
        .known(0.000_05),
    row(CALLS, "turn of 1,000 calls, CPU", Which("longturn", "cpu", "n=1000"), Value(0.4))
        .bound(Bound::Measured(Which("bounds", "cpu", "n=1000, what=loopback, one connection"), "bound")),
    row(CALLS, "the same, peak memory", Which("longturn", "peak memory", "n=1000"), Value(18.0)).known(5.0),
    row(CALLS, "`echo` in the shell tool", Which("peers", "call", "high=20, low=0, tool=shell"), Value(0.003))
        .known(0.0021),
    row(
        CALLS,
        "a follow-up in a session of 10,000 items, CPU",
        Which("items", "follow-up, cpu", "items=10000"),
        NoTarget,
    ),
    row(CALLS, "the same, 100,000 items", Which("items", "follow-up, cpu", "items=100000"), NoTarget),
    row(LIST, "page by update, new process", Which("sessions", "by update", "count=10000"), Value(0.025)).known(0.026),
    row(LIST, "first use: the index is made", Which("sessions", "first use", "count=10000"), Value(0.25)).known(0.107),
    row(LIST, "page by creation in a server, first", Which("listing", "created cold", "count=10000"), NoTarget),
    row(LIST, "the same again", Which("listing", "created warm", "count=10000"), Value(0.003)).known(0.0002),
    row(LIST, "page by update in a server, again", Which("listing", "updated warm", "count=10000"), Value(0.003))
        .known(0.0022),
    row(LIST, "page of one folder in a server", Which("listing", "cwd page", "count=10000"), Value(0.006))
        .known(0.0022),
    row(LIST, "all pages of 100 in a server", Which("listing", "all pages", "count=10000"), Value(0.15)).known(0.107),
    row(
        RESUME,
        "the newest of 10,000",
        Which("resume", "first request", "count=10000, depth=0, kind=store"),
        Value(0.04),
    )
    .known(0.026),
    row(
        RESUME,
        "number 30 of 10,000",
        Which("resume", "first request", "count=10000, depth=30, kind=store"),
        Value(0.04),
    )
    .known(0.027),
    row(RESUME, "by its id", Which("resume", "first request", "count=10000, kind=id"), NoTarget),
    row(RESUME, "100 MB, all sent", Which("resume", "first request", "kind=live, size=100"), Value(0.25)).known(0.15),
    row(RESUME, "the same, peak memory", Which("resume", "peak memory", "kind=live, size=100"), Value(130.0))
        .known(78.0),
    row(RESUME, "100 MB with summaries", Which("resume", "first request", "kind=compacted, size=100"), Value(0.04))
        .known(0.003),
    row(RESUME, "the same, peak memory", Which("resume", "peak memory", "kind=compacted, size=100"), Value(20.0))
        .known(4.0),
    row(CONTEXT, "60 nested AGENTS.md", Which("context", "surplus", "what=AGENTS.md x60"), Value(0.0005)).known(0.0004),
    row(CONTEXT, "500 skills", Which("context", "surplus", "what=skills x500"), Value(0.006)).known(0.0034),
    row(CONTEXT, "500 skills of 20 more files", Which("context", "surplus", "what=skills x500 +20 files"), Value(0.02))
        .known(0.015),
    row(CONTEXT, "a repository of 20,000 files", Which("context", "surplus", "what=repo 20000 files"), Value(0.001)),
    row(
        PATCH,
        "100,000 lines, 200 hunks",
        Which("patch", "cpu", "what=100000 lines, 200 hunks, unique lines"),
        Value(0.012),
    )
    .bound(Bound::Measured(Which("patch", "cpu", "what=100000 lines, 200 hunks, unique lines"), "copy")),
    row(PATCH, "500 files", Which("patch", "cpu", "what=500 files of 300 lines, 1 hunk each"), Of(1.05, "copy"))
        .bound(Bound::Measured(Which("patch", "cpu", "what=500 files of 300 lines, 1 hunk each"), "copy")),
    row(SERVER, "a turn, CPU", Which("threads", "turn, cpu", "threads=500"), Value(0.000_12)).known(0.000_05),
    at_least(SERVER, "turns a second", Which("threads", "turns", "threads=500"), 1000.0),
    row(SERVER, "a start, CPU", Which("threads", "start, cpu", "threads=500"), Value(0.001)).known(0.0001),
    row(SERVER, "memory of a thread", Which("threads", "memory of a thread", "threads=500"), Value(40.0)).known(10.0),
    row(SERVER, "memory with 10,000 threads", Which("threads", "memory", "threads=10000"), Value(200.0)),
    row(SERVER, "500 requests in one write: refused", Which("threads", "refused", "burst=500"), Value(0.0)),
    row(SERVER, "500 requests in one write: lost", Which("threads", "never answered", "burst=500"), Value(0.0)),
    row(TERMINAL, "first paint", Which("tui", "spawn to first paint", ""), Value(0.01)),
    row(TERMINAL, "first echoed key", Which("tui", "spawn to first echoed key", ""), Value(0.02)),
    row(TERMINAL, "key to screen, median", Which("tui", "key to screen, median", ""), Value(0.002)),
    row(TERMINAL, "bytes for a key", Which("tui", "bytes written for one key", ""), Value(40.0)),
    row(TERMINAL, "a streamed token, CPU", Which("tui", "CPU for a streamed token", ""), Value(0.000_05)),
    row(TERMINAL, "waiting, CPU a second", Which("tui", "CPU a second while waiting", ""), Value(0.001)),
    row(TERMINAL, "idle, CPU a second", Which("tui", "CPU a second while idle", ""), Value(0.0)),
    row(TERMINAL, "memory after start", Which("tui", "memory after start", ""), Value(15.0)),
];
