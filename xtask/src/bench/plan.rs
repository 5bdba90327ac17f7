//! What `cargo xtask bench` runs: each benchmark with its settings, long and in short, and the programs that take part.
//!
//! Not here: what the benchmarks do (`bench/README.md`).

/// The programs that take part in a benchmark beside ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Every agent that is here.
    All,
    /// The agents with these names.
    Only(&'static [&'static str]),
}

/// One start of a benchmark.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    pub benchmark: &'static str,
    pub beside: Beside,
    /// Its words with `--quick`; absent where a short run leaves it out.
    pub quick: Option<&'static str>,
    pub whole: &'static str,
}

const CODEX: Beside = Beside::Only(&["codex104", "codex166"]);
const NONE: Beside = Beside::Only(&[]);
const TERMINALS: Beside = Beside::Only(&["codex104", "codex166", "pi", "claude", "gemini", "opencode"]);
const LONG: Beside = Beside::Only(&["codex104", "codex166", "pi", "goose"]);

const fn run(benchmark: &'static str, beside: Beside, quick: Option<&'static str>, whole: &'static str) -> Run {
    Run { benchmark, beside, quick, whole }
}

/// Every run, in order. Programs take turns inside of a run, so what disturbs the machine disturbs all of them.
///
/// `--most` keeps a program from cases that would take it minutes or more memory than a machine has.
pub const RUNS: [Run; 17] = [
    run("bounds", NONE, Some("--n 1000 --repeat 3"), "--n 1000 --repeat 5"),
    run("peers", Beside::All, Some("--n 0 --repeat 3"), "--n 0 --repeat 7"),
    run("peers", Beside::All, Some("--n 0,50 --repeat 1"), "--n 0,50,200 --repeat 3"),
    run("peers", Beside::All, Some("--shell --n 0,20 --repeat 1"), "--shell --n 0,20 --repeat 3"),
    run("peers", LONG, None, "--n 1000 --repeat 2"),
    run("longturn", CODEX, Some("--n 10,100,1000 --repeat 1"), "--n 10,100,300,1000 --repeat 3"),
    run(
        "items",
        CODEX,
        Some("--items 10,100,1000,10000,100000 --most codex104=1000 --most codex166=1000 --calls 10 --repeat 1"),
        "--items 10,100,1000,10000,100000 --most codex104=10000 --most codex166=10000 --repeat 3",
    ),
    run("listing", CODEX, Some("--count 10000 --repeat 1"), "--count 10000 --repeat 3"),
    run("sessions", CODEX, Some("--count 10000 --repeat 1"), "--count 10000 --repeat 3"),
    run(
        "resume",
        CODEX,
        Some("--only store,id --count 10000 --depth 0,30 --repeat 1"),
        "--only store,id --count 10000 --depth 0,10,30 --repeat 3",
    ),
    run(
        "resume",
        CODEX,
        Some("--only live,compacted --size 1,10,100 --repeat 1"),
        "--only live,compacted --size 1,10,100,1000 --most codex104=100 --most codex166=100 --repeat 2",
    ),
    run("context", CODEX, Some("--repeat 2"), "--repeat 5"),
    run("patch", CODEX, Some("--repeat 3"), "--repeat 7"),
    run(
        "threads",
        CODEX,
        Some(
            "--threads 10,100,500,1000,10000 --most codex104=500 --most codex166=100 --rounds 1 --repeat 1 --burst 500",
        ),
        "--threads 10,100,500,1000,10000 --most codex104=1000 --most codex166=500 --rounds 2 --repeat 2 --burst 500",
    ),
    run(
        "tui",
        TERMINALS,
        Some("--only start,echo,stream,wait,idle --tokens 600 --repeat 1"),
        "--tokens 2000 --cells 5000 --repeat 3",
    ),
    run("grep", NONE, Some("--megabytes 256 --repeat 2"), "--megabytes 1024 --repeat 3"),
    run("reports", NONE, None, "--size 100 --repeat 3"),
];

impl Beside {
    /// Whether a program takes part.
    pub fn has(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(&name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::peers::PEERS;
    use crate::program;

    #[test]
    fn every_run_has_its_script_and_its_programs() {
        for run in RUNS {
            let script = program::root().join("bench").join(format!("{}.py", run.benchmark));
            let text = std::fs::read_to_string(&script).unwrap();
            assert!(text.contains("\"--json\""), "{}", run.benchmark);
            for word in run.quick.unwrap_or("").split(' ').chain(run.whole.split(' ')).filter(|it| it.starts_with("--"))
            {
                assert!(text.contains(&format!("\"{word}\"")), "{} knows no {word}", run.benchmark);
            }
            if let Beside::Only(names) = run.beside {
                assert!(names.iter().all(|name| PEERS.iter().any(|it| it.name == *name)), "{names:?}");
            }
        }
    }
}
