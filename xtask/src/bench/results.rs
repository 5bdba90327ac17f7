//! The results of a run: what `docs/bench/results.json` says, and what the table and the plots are drawn from.
//!
//! Not here: running anything.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::program;

/// Figures have so many digits; more would be noise.
const N_DIGITS: i32 = 4;

/// What a run found, and where.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Results {
    pub made: Made,
    pub programs: Vec<Program>,
    pub figures: Vec<Figure>,
    pub failures: Vec<Failure>,
}

/// Where and how the figures were made.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Made {
    pub commit: String,
    /// The program that was measured: its target and its profile.
    pub program: String,
    pub date: String,
    pub is_quick: bool,
    pub seconds: u64,
    pub processor: String,
    pub n_processors: usize,
    pub memory_mb: u64,
    pub system: String,
    /// How many programs wanted a processor before the run and after it.
    pub load: [f64; 2],
    /// Where the figures are from, if not from a run of this command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A program that took part, or the reason why it did not.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Program {
    pub name: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// One measured value; `bench/common.py` says what its fields are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Figure {
    pub benchmark: String,
    pub metric: String,
    pub case: Map<String, Value>,
    pub program: String,
    pub value: f64,
    pub unit: String,
}

/// A case that a program failed in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Failure {
    pub benchmark: String,
    pub case: Map<String, Value>,
    pub program: String,
    pub why: String,
}

/// What a benchmark writes with `--json`.
#[derive(Debug, Deserialize)]
pub struct Written {
    pub figures: Vec<Figure>,
    pub failures: Vec<Failure>,
}

/// Which figures are meant: of a benchmark, a metric and a case, as [`words`] spells it.
#[derive(Debug, Clone, Copy)]
pub struct Which(pub &'static str, pub &'static str, pub &'static str);

impl Results {
    /// The results that the project has.
    pub fn path() -> PathBuf {
        program::root().join("docs/bench/results.json")
    }

    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is no result of a run", path.display()))
    }

    /// Adds what a benchmark wrote. A later figure of the same thing takes the place of an earlier one, unless that is less.
    pub fn add(&mut self, written: Written) {
        for figure in written.figures {
            let figure = Figure { value: rounded(figure.value), ..figure };
            let is_same = |it: &&mut Figure| {
                it.benchmark == figure.benchmark
                    && it.metric == figure.metric
                    && it.program == figure.program
                    && words(&it.case) == words(&figure.case)
            };
            match self.figures.iter_mut().find(is_same) {
                Some(known) => known.value = known.value.min(figure.value),
                None => self.figures.push(figure),
            }
        }
        self.failures.extend(written.failures);
    }

    /// What a program needed, or nothing where it was not measured.
    pub fn value(&self, Which(benchmark, metric, case): Which, program: &str) -> Option<f64> {
        let is_it = |it: &&Figure| {
            it.program == program && it.benchmark == benchmark && it.metric == metric && words(&it.case) == case
        };
        self.figures.iter().find(is_it).map(|it| it.value)
    }

    /// The figures of a metric of a program by a number of their case, in order.
    pub fn series(&self, benchmark: &str, metric: &str, fixed: &str, by: &str, program: &str) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        let all =
            self.figures.iter().filter(|it| it.benchmark == benchmark && it.metric == metric && it.program == program);
        for figure in all {
            let mut case = figure.case.clone();
            if let Some(x) = case.remove(by).as_ref().and_then(Value::as_f64)
                && words(&case) == fixed
            {
                points.push((x, figure.value));
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    /// The text of the file: a figure is a line, so that a difference is one too.
    pub fn text(&self) -> Result<String> {
        let mut text = format!("{{\"made\": {},\n", serde_json::to_string(&self.made)?);
        list(&mut text, "programs", &self.programs)?;
        text.push_str(",\n");
        list(&mut text, "figures", &self.figures)?;
        text.push_str(",\n");
        list(&mut text, "failures", &self.failures)?;
        text.push_str("}\n");
        Ok(text)
    }
}

fn list<T: Serialize>(text: &mut String, name: &str, rows: &[T]) -> Result<()> {
    let _ = write!(text, "\"{name}\": [");
    for (at, row) in rows.iter().enumerate() {
        let _ = write!(text, "{}\n{}", if at == 0 { "" } else { "," }, serde_json::to_string(row)?);
    }
    text.push(']');
    Ok(())
}

/// A case in words: `high=50, low=0`.
pub fn words(case: &Map<String, Value>) -> String {
    let mut parts: Vec<String> = case
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={}", other.as_f64().map_or_else(|| other.to_string(), |it| it.to_string())),
        })
        .collect();
    parts.sort();
    parts.join(", ")
}

fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    // Through decimal digits, so that what is written is short.
    let digits = usize::try_from(N_DIGITS - 1).unwrap_or_default();
    format!("{value:.digits$e}").parse().unwrap_or(value)
}

/// Commit, program, date and machine.
pub fn made(is_quick: bool, ours: &Path) -> Made {
    let said = program::text_of(std::process::Command::new(ours).args(["--version", "--verbose"])).unwrap_or_default();
    let of_program =
        |name: &str| said.lines().find_map(|it| it.strip_prefix(name)).unwrap_or("unknown").trim().to_owned();
    let git = |words: &[&str]| {
        let mut command = std::process::Command::new("git");
        program::text_of(command.current_dir(program::root()).args(words))
            .map(|it| it.trim().to_owned())
            .unwrap_or_default()
    };
    let changed = if git(&["status", "--porcelain"]).is_empty() { "" } else { ", with changes" };
    let of_file = |path: &str, name: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find_map(|it| it.strip_prefix(name)).unwrap_or_default().to_owned();
        line.trim_start_matches([' ', '\t', ':']).trim().to_owned()
    };
    let memory = of_file("/proc/meminfo", "MemTotal:").trim_end_matches(" kB").parse().unwrap_or(0_u64) / 1024;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Made {
        commit: format!("{}{changed}", git(&["rev-parse", "--short=12", "HEAD"])),
        program: format!("{}; {}", of_program("target:"), of_program("profile:")),
        date: program::text_of(std::process::Command::new("date").args(["-u", "+%Y-%m-%d"]))
            .map(|it| it.trim().to_owned())
            .unwrap_or_default(),
        is_quick,
        seconds: 0,
        processor: of_file("/proc/cpuinfo", "model name"),
        n_processors: std::thread::available_parallelism().map_or(1, usize::from),
        memory_mb: memory,
        // The part behind the version is the machine's own.
        system: format!("Linux {}", kernel.trim().split('-').next().unwrap_or_default()),
        load: [load(), 0.0],
        note: None,
    }
}

/// How many programs want a processor, on the average of the last minute.
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
pub mod testing {
    use super::*;

    /// Results from lines `benchmark | metric | case | program | value | unit`.
    pub fn results(lines: &str) -> Results {
        let figure = |line: &str| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            // A text in a case may have commas.
            let parts = if cells[2].starts_with("what=") { vec![cells[2]] } else { cells[2].split(", ").collect() };
            let case = parts.into_iter().filter_map(|it| it.split_once('=')).map(|(name, value)| {
                (name.to_owned(), value.parse::<f64>().map_or_else(|_| value.into(), Value::from))
            });
            Figure {
                benchmark: cells[0].into(),
                metric: cells[1].into(),
                case: case.collect(),
                program: cells[3].into(),
                value: cells[4].parse().unwrap(),
                unit: cells[5].into(),
            }
        };
        let figures = lines.lines().filter(|it| !it.trim().is_empty()).map(figure).collect();
        let programs = ["ours", "codex104", "pi"].map(|name| Program {
            name: name.into(),
            title: super::super::peers::title_of(name).into(),
            package: None,
            missing: None,
        });
        Results { made: Made::default(), programs: programs.to_vec(), figures, failures: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_their_case() {
        let results = testing::results(
            "peers | call, cpu | low=0, high=50 | ours | 0.00012345678 | s
             peers | call, cpu | low=50, high=200 | ours | 0.0002 | s",
        );
        let which = Which("peers", "call, cpu", "high=50, low=0");
        assert_eq!(results.value(which, "ours"), Some(0.000_123_456_78));
        assert_eq!(results.value(which, "pi"), None);
    }

    #[test]
    fn a_series_is_in_the_order_of_its_number() {
        let results = testing::results(
            "resume | first request | kind=live, size=100 | ours | 3 | s
             resume | first request | kind=live, size=1 | ours | 1 | s
             resume | first request | kind=compacted, size=1 | ours | 9 | s",
        );
        let points = results.series("resume", "first request", "kind=live", "size", "ours");
        assert_eq!(points, [(1.0, 1.0), (100.0, 3.0)]);
    }

    #[test]
    fn what_is_written_is_read_again_and_short() {
        let mut results = testing::results("");
        let figure = testing::results("peers | exit | n=0 | ours | 0.012345678 | s").figures;
        results.add(Written { figures: figure.clone(), failures: Vec::new() });
        // A second run was disturbed.
        let slower = Figure { value: 0.5, ..figure[0].clone() };
        results.add(Written { figures: vec![slower], failures: Vec::new() });
        let text = results.text().unwrap();
        assert!(text.contains("\"program\":\"ours\",\"value\":0.01235,\"unit\":\"s\"}"), "{text}");
        let again: Results = serde_json::from_str(&text).unwrap();
        assert_eq!(again.text().unwrap(), text);
    }
}
