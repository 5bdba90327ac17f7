//! Reads the cases of a suite strictly and runs them one by one.
//!
//! A suite describes its cases as a type with `deny_unknown_fields`: an unknown field or an invalid value fails that
//! case. A case that panics fails alone.
//!
//! Not here: files that have no list `cases` (`openclaw.rs` reads its tables with [`each`]).

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The outcome of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub id: String,
    /// Why the case failed; `None` if it passed.
    pub problem: Option<String>,
}

/// Fields around the cases that describe their origin and are not input.
const ABOUT: &[&str] = &["profile", "suite", "format", "origin", "about", "cases"];

impl Verdict {
    pub fn failed(id: &str, problem: impl Into<String>) -> Self {
        Self { id: id.to_string(), problem: Some(problem.into()) }
    }

    pub fn new(id: impl Into<String>, outcome: Result<(), String>) -> Self {
        Self { id: id.into(), problem: outcome.err() }
    }
}

/// Runs a file of the plain form: a head of known fields and a list `cases`.
pub fn run<Case: DeserializeOwned>(file: &Value, check: impl Fn(Case) -> Result<(), String>) -> Vec<Verdict> {
    let Some(fields) = file.as_object() else {
        return vec![Verdict::failed("the file", "is no map")];
    };
    let mut verdicts = unknown_fields(fields, ABOUT);
    if fields.get("format").is_some_and(|it| it != 1) {
        verdicts.push(Verdict::failed("the file", format!("unknown format {}", fields["format"])));
    }
    verdicts.extend(each(file, "cases", check));
    verdicts
}

/// Runs such a file after expanding the text values of each case.
pub fn run_expanded<Case: DeserializeOwned>(file: &Value, check: impl Fn(Case) -> Result<(), String>) -> Vec<Verdict> {
    run(&super::text::expanded(file), check)
}

/// Runs every row of the list `list` in `file`.
pub fn each<Case: DeserializeOwned>(
    file: &Value,
    list: &str,
    check: impl Fn(Case) -> Result<(), String>,
) -> Vec<Verdict> {
    let Some(rows) = file.get(list).and_then(Value::as_array) else {
        return vec![Verdict::failed("the file", format!("has no list {list}"))];
    };
    rows.iter().enumerate().map(|(at, row)| Verdict::new(id_of(row, list, at), run_one(row, &check))).collect()
}

/// A failure for each of `fields` that is not in `known`.
pub fn unknown_fields(fields: &Map<String, Value>, known: &[&str]) -> Vec<Verdict> {
    let unknown = fields.keys().filter(|it| !known.contains(&it.as_str()));
    unknown.map(|it| Verdict::failed("the file", format!("unknown field {it}"))).collect()
}

/// Marks every case of a file that cannot be run as failed.
pub fn all_failed(file: &Value, problem: &str) -> Vec<Verdict> {
    let rows = file.get("cases").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match rows {
        [] => vec![Verdict::failed("the file", problem)],
        rows => rows.iter().enumerate().map(|(at, row)| Verdict::failed(&id_of(row, "cases", at), problem)).collect(),
    }
}

/// Compares a result with the expected one.
pub fn same<T: PartialEq + Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}\n        is       {}\n        expected {}", shown(found), shown(expected)))
}

fn run_one<Case: DeserializeOwned>(row: &Value, check: impl Fn(Case) -> Result<(), String>) -> Result<(), String> {
    let case: Case = serde_json::from_value(row.clone()).map_err(|error| error.to_string())?;
    catch_unwind(AssertUnwindSafe(|| check(case))).unwrap_or_else(|_| Err("panicked; see above".into()))
}

fn id_of(row: &Value, list: &str, at: usize) -> String {
    row.get("id").and_then(Value::as_str).map_or_else(|| format!("{list}[{at}]"), str::to_string)
}

/// A value on one line that stays readable.
fn shown(value: &impl Debug) -> String {
    const N_CHARS_MAX: usize = 1500;
    let text = format!("{value:?}");
    match text.char_indices().nth(N_CHARS_MAX) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Case {
        #[serde(rename = "id")]
        _id: String,
        n: u32,
        expect: u32,
    }

    fn doubled(case: &Case) -> Result<(), String> {
        assert!(case.n < 100, "too large");
        same("double", &(case.n * 2), &case.expect)
    }

    #[test]
    fn a_case_passes_differs_is_not_understood_or_panics() {
        let file = json!({"format": 1, "cases": [
            {"id": "good", "n": 2, "expect": 4},
            {"id": "bad", "n": 2, "expect": 5},
            {"id": "odd", "n": 2, "expect": 4, "more": true},
            {"id": "panics", "n": 100, "expect": 4},
        ]});
        let verdicts = run(&file, |case| doubled(&case));
        let problems: Vec<_> = verdicts.iter().map(|it| it.problem.as_deref()).collect();
        assert_eq!(problems[0], None);
        assert_eq!(problems[1], Some("double\n        is       4\n        expected 5"));
        assert_eq!(problems[2], Some("unknown field `more`, expected one of `id`, `n`, `expect`"));
        assert_eq!(problems[3], Some("panicked; see above"));
    }

    #[test]
    fn an_unknown_head_is_a_failure() {
        let verdicts = run(&json!({"format": 2, "seed": 1, "cases": []}), |case| doubled(&case));
        let problems: Vec<_> = verdicts.iter().filter_map(|it| it.problem.as_deref()).collect();
        assert_eq!(problems, ["unknown field seed", "unknown format 2"]);
    }
}
