//! `cargo xtask golden [DIR]`: runs the golden vectors of the systems that packs imitate.
//!
//! A folder of vectors has one folder for each system, which has one JSON file for each suite. A suite is known by its
//! file's name; it reads its file strictly (see `golden/cases.rs`), so that an unknown suite, field or input is a
//! failure and is never skipped.
//!
//! Not here: what a suite compares (`golden/*.rs`, one file for each system), and the vectors themselves (`golden/` in
//! the project's root, copied by `cargo xtask adopt`).

mod ads;
mod agentcore;
mod cases;
mod openclaw;
mod risuai;
mod text;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::Outcome;
use crate::args::Args;
use crate::program;

use ads::number as ads_number;
pub use cases::Verdict;

/// A system with its suites.
struct System {
    name: &'static str,
    suites: &'static [Suite],
}

/// A suite: its name, which is the file's without the extension, and its function.
pub type Suite = (&'static str, fn(&Value) -> Vec<Verdict>);

const SYSTEMS: &[System] = &[
    System { name: "agentcore", suites: agentcore::SUITES },
    System { name: "openclaw", suites: openclaw::SUITES },
    System { name: "ads", suites: ads::SUITES },
    System { name: "risuai", suites: risuai::SUITES },
];

/// Where the vectors are when no folder is given: the project's copy, else the originals beside the project.
const FOLDERS: &[&str] = &["golden", "../shared/golden"];

/// The verdicts of one suite.
#[derive(Debug)]
struct Score {
    name: String,
    verdicts: Vec<Verdict>,
}

/// Runs `cargo xtask golden`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let folder = match args.next() {
        Some(folder) => PathBuf::from(folder),
        None => default_folder()?,
    };
    args.finish()?;
    let scores = scores(&folder)?;
    print!("{}", rendered(&scores));
    let is_good = scores.iter().all(|it| it.n_failed() == 0);
    Ok(if is_good { Outcome::Good } else { Outcome::Bad })
}

fn default_folder() -> Result<PathBuf> {
    let folders = FOLDERS.iter().map(|it| program::root().join(it));
    folders.into_iter().find(|it| it.is_dir()).context("there is no folder golden/; name one: cargo xtask golden DIR")
}

/// Runs every suite in `folder`, systems and suites in the order of their names.
fn scores(folder: &Path) -> Result<Vec<Score>> {
    let mut scores = Vec::new();
    for system in entries(folder)?.into_iter().filter(|it| it.path.is_dir()) {
        for file in entries(&system.path)?.into_iter().filter(|it| it.name.ends_with(".json")) {
            let stem = file.name.trim_end_matches(".json");
            let verdicts = verdicts(&system.name, stem, &file.path)?;
            scores.push(Score { name: format!("{}/{stem}", system.name), verdicts });
        }
    }
    if scores.is_empty() {
        let systems: Vec<_> = SYSTEMS.iter().map(|it| it.name).collect();
        bail!("{} holds no vectors: no JSON file in {}/", folder.display(), systems.join("/, "));
    }
    Ok(scores)
}

fn verdicts(system: &str, suite: &str, path: &Path) -> Result<Vec<Verdict>> {
    let text = fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
    let file: Value = match serde_json::from_str(&text) {
        Ok(file) => file,
        Err(error) => return Ok(vec![Verdict::failed(suite, format!("no JSON: {error}"))]),
    };
    let Some(known) = SYSTEMS.iter().find(|it| it.name == system) else {
        return Ok(cases::all_failed(&file, &format!("no system {system}")));
    };
    let Some((_, run)) = known.suites.iter().find(|(name, _)| *name == suite) else {
        return Ok(cases::all_failed(&file, &format!("no suite {suite} of {system}")));
    };
    let verdicts = run(&file);
    // A file without a case would pass whatever the product does.
    Ok(if verdicts.is_empty() { vec![Verdict::failed(suite, "no case in the file")] } else { verdicts })
}

struct Entry {
    name: String,
    path: PathBuf,
}

/// The entries of a folder that are not hidden, by name.
fn entries(folder: &Path) -> Result<Vec<Entry>> {
    let listing = fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?;
    let mut entries = Vec::new();
    for entry in listing {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            entries.push(Entry { name, path: entry.path() });
        }
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// A line for each suite, with its failures below it, and the sum last.
fn rendered(scores: &[Score]) -> String {
    let mut text = String::new();
    for score in scores {
        let n_failed = score.n_failed();
        text.push_str(&format!("{}: {} passed, {n_failed} failed\n", score.name, score.verdicts.len() - n_failed));
        for verdict in &score.verdicts {
            if let Some(problem) = &verdict.problem {
                text.push_str(&format!("    {}: {problem}\n", verdict.id));
            }
        }
    }
    let n_cases: usize = scores.iter().map(|it| it.verdicts.len()).sum();
    let n_failed: usize = scores.iter().map(Score::n_failed).sum();
    text.push_str(&format!("{}/{n_cases} cases pass\n", n_cases - n_failed));
    text
}

impl Score {
    fn n_failed(&self) -> usize {
        self.verdicts.iter().filter(|it| it.problem.is_some()).count()
    }
}

#[cfg(test)]
mod testing {
    use super::*;

    /// Every case of one system in the project's own copy passes.
    #[track_caller]
    pub fn check_passes(system: &str) {
        let scores = scores(&program::root().join("golden")).expect("the copy is there");
        let of_system = |it: &Score| it.name.starts_with(&format!("{system}/"));
        let scores: Vec<_> = scores.into_iter().filter(of_system).collect();
        assert!(!scores.is_empty(), "no suite of {system}");
        assert!(scores.iter().all(|it| it.n_failed() == 0), "\n{}", rendered(&scores));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    /// Runs a folder made of `path, text` rows.
    fn shown(files: &[(&str, &str)]) -> String {
        let scratch = Scratch::new().unwrap();
        for (path, text) in files {
            let path = scratch.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        rendered(&scores(scratch.path()).unwrap())
    }

    #[test]
    fn what_nobody_knows_fails_case_by_case() {
        let shown = shown(&[
            ("README.md", "not a system"),
            ("ads/nothing.json", r#"{"cases": [{"id": "a"}, {"id": "b"}]}"#),
            ("ads/notes.txt", "no suite"),
            ("elsewhere/x.json", r#"{"cases": [{"id": "c"}]}"#),
            ("risuai/broken.json", "{"),
            ("risuai/odd.json", "{}"),
        ]);
        assert_eq!(
            shown,
            "ads/nothing: 0 passed, 2 failed\n    \
                 a: no suite nothing of ads\n    \
                 b: no suite nothing of ads\n\
             elsewhere/x: 0 passed, 1 failed\n    \
                 c: no system elsewhere\n\
             risuai/broken: 0 passed, 1 failed\n    \
                 broken: no JSON: EOF while parsing an object at line 1 column 1\n\
             risuai/odd: 0 passed, 1 failed\n    \
                 the file: no suite odd of risuai\n\
             0/5 cases pass\n"
        );
    }

    #[test]
    fn a_folder_without_vectors_is_refused() {
        let scratch = Scratch::new().unwrap();
        let error = scores(scratch.path()).unwrap_err().to_string();
        assert!(error.ends_with("no JSON file in agentcore/, openclaw/, ads/, risuai/"), "{error}");
    }
}
