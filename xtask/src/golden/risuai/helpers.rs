//! The suites of helpers that strategies and users need: `ranking`, `rate_limiter`, `presets`, `cards`.

use pellucid_engine::memory::Stop;
use pellucid_engine::memory::ask::{Answers, MemoryQuestion};
use pellucid_engine::memory::cards::{self, CategoryFilter};
use pellucid_engine::memory::data::MemorySummary;
use pellucid_engine::memory::ranking::{self, KnownVectors, VectorIndex, Way};
use pellucid_engine::memory::rate_limiter::{AfterFailure, Now, Options, RateLimiter, TaskEnd};
use serde::Deserialize;
use serde_json::{Value, json};

use super::presets;
use super::toy::{self, Cleans, Toy};
use crate::golden::cases::{self, Verdict, same};

/// The steps of the simulated clock.
const STEP_MS: u64 = 50;

/// After this time a simulation has failed to end.
const END_MS: u64 = 60 * 60 * 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case<I, E> {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    input: I,
    expect: E,
}

pub fn presets(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: Case<Vec<Value>, Value>| {
        let name = case.input.first().and_then(Value::as_str);
        let preset = presets::preset(name, case.input.get(1).unwrap_or(&Value::Null));
        same("preset", &whole_numbers(&preset), &whole_numbers(&case.expect))
    })
}

/// Numbers in one notation, whether they were written with a point or without.
fn whole_numbers(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), whole_numbers(value))).collect(),
        Value::Number(number) => number.as_f64().map_or(Value::Null, super::super::ads_number),
        other => other.clone(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CardCase {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    #[serde(rename = "fn")]
    function: String,
    args: Vec<Value>,
    expect: Value,
}

pub fn cards(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: CardCase| {
        let text = |at: usize| case.args.get(at).and_then(Value::as_str).ok_or("a text is missing");
        match case.function.as_str() {
            "parseSelectionInput" => {
                let n = case.args.get(1).and_then(Value::as_u64).ok_or("a number is missing")?;
                let mut found = cards::selection(text(0)?, usize::try_from(n).unwrap_or(usize::MAX));
                found.sort_unstable();
                let mut expected: Vec<u64> =
                    case.expect.as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
                expected.sort_unstable();
                same("cards", &found.into_iter().map(|card| card as u64).collect::<Vec<_>>(), &expected)
            }
            "isGuidLike" => same("is it", &json!(cards::is_id_like(text(0)?)), &case.expect),
            "shouldShowSummary" => {
                let summary = case.args.first().cloned().unwrap_or_default();
                let summary: MemorySummary = serde_json::from_value(summary).map_err(|error| error.to_string())?;
                let is_important_only = case.args.get(2).and_then(Value::as_bool).ok_or("a flag is missing")?;
                let category = CategoryFilter::parse(text(3)?);
                same("is shown", &json!(cards::is_shown(&summary, is_important_only, &category)), &case.expect)
            }
            other => Err(format!("no function {other}")),
        }
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RankingInput {
    processor: Processor,
    vocab: Vec<String>,
    documents: Vec<String>,
    queries: Vec<String>,
    #[serde(default)]
    precached: Vec<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Processor {
    V1,
    V2,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RankingExpect {
    embedded_documents: Vec<String>,
    results: Vec<Vec<(String, f64)>>,
    embedded_queries: Vec<String>,
    cache_keys: Vec<String>,
}

pub fn ranking(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: Case<RankingInput, RankingExpect>| {
        let RankingInput { processor, vocab, documents, queries, precached } = case.input;
        let expect = case.expect;
        let way = if processor == Processor::V1 { Way::First } else { Way::Second };
        let known: KnownVectors = precached.iter().map(|text| (text.clone(), toy::vector(text, &vocab))).collect();
        // The questions are recorded one by one, because a text may be requested twice.
        let (mut given, mut asked) = (Vec::new(), Vec::new());
        let mut toy = Toy::new(vocab, Vec::new(), false, Cleans::No);
        let (results, fresh) = loop {
            match ranked(way, &known, &documents, &queries, &mut Answers::new(&given)) {
                Ok(done) => break done?,
                Err(Stop::Fails(failure)) => return Err(failure.to_string()),
                Err(Stop::Asks(question)) => {
                    if let MemoryQuestion::Vectors { texts, .. } = &question {
                        asked.push(texts.clone());
                    }
                    given.push(toy.answer(&question));
                }
            }
        };
        let has_fresh_documents = documents.iter().any(|text| !known.contains_key(text));
        let n_first = usize::from(has_fresh_documents && !asked.is_empty());
        same("embedded documents", &asked[..n_first].concat(), &expect.embedded_documents)?;
        same("embedded queries", &asked[n_first..].concat(), &expect.embedded_queries)?;
        let rounded =
            |row: Vec<(String, f64)>| row.into_iter().map(|(text, it)| (text, rounded(it))).collect::<Vec<_>>();
        let results: Vec<_> = results.into_iter().map(rounded).collect();
        same("results", &results, &expect.results.into_iter().map(rounded).collect())?;
        let mut keys: Vec<String> = known.keys().chain(fresh.keys()).map(|text| format!("{text}|MiniLM")).collect();
        let mut expected_keys = expect.cache_keys;
        keys.sort();
        keys.dedup();
        expected_keys.sort();
        same("cache", &keys, &expected_keys)
    })
}

/// For each query the texts with their scores, the most like first, and vectors that were not known.
type Ranked = (Vec<Vec<(String, f64)>>, KnownVectors);

fn ranked(
    way: Way,
    known: &KnownVectors,
    documents: &[String],
    queries: &[String],
    answers: &mut Answers<'_>,
) -> Result<Result<Ranked, String>, Stop> {
    let mut index = match VectorIndex::new(way, known, documents, answers)? {
        Ok(index) => index,
        Err(error) => return Ok(Err(error)),
    };
    let mut results = Vec::new();
    for query in queries {
        let vectors = match index.queries(std::slice::from_ref(query), answers)? {
            Ok(vectors) => vectors,
            Err(error) => return Ok(Err(error)),
        };
        let mut scored = vectors.first().map(|vector| index.scores(vector)).unwrap_or_default();
        ranking::descending(&mut scored);
        results.push(scored.into_iter().map(|it| (it.text, it.score)).collect());
    }
    Ok(Ok((results, index.fresh().clone())))
}

/// The vectors have twelve digits.
fn rounded(score: f64) -> f64 {
    (score * 1e9).round() / 1e9
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimiterInput {
    options: LimiterOptions,
    /// Empty if the options are refused.
    #[serde(default)]
    tasks: Vec<Task>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct LimiterOptions {
    tasks_per_minute: Option<f64>,
    max_concurrent_tasks: Option<f64>,
    fail_fast: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    ms: u64,
    #[serde(default)]
    fail: bool,
}

pub fn rate_limiter(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: Case<LimiterInput, Value>| {
        let LimiterInput { options, tasks } = case.input;
        let usual = Options::default();
        let go_on = options.fail_fast == Some(false);
        let options = Options {
            tasks_per_minute: options.tasks_per_minute.unwrap_or(usual.tasks_per_minute),
            tasks_at_once: options.max_concurrent_tasks.unwrap_or(usual.tasks_at_once),
            after_failure: if go_on { AfterFailure::GoOn } else { AfterFailure::Cancel },
        };
        // The expectation of a run always says when each task began.
        let is_refusal = case.expect.get("starts").is_none();
        let Ok(limiter) = RateLimiter::new(options) else {
            return if is_refusal { Ok(()) } else { Err("the options are refused".into()) };
        };
        if is_refusal {
            return Err("the options are not refused".into());
        }
        same("run", &simulated(limiter, &tasks)?, &case.expect)
    })
}

/// Something that happens at a time.
#[derive(Clone, Copy)]
enum Due {
    Ends(usize),
    Look,
}

struct Simulation<'a> {
    limiter: RateLimiter,
    tasks: &'a [Task],
    due: Vec<(u64, Due)>,
    starts: Vec<(usize, u64)>,
    outcomes: Vec<Option<&'static str>>,
    n_waiting: usize,
    /// How many waited, after each change.
    lengths: Vec<usize>,
}

impl Simulation<'_> {
    fn take(&mut self, now: Now, now_ms: u64) {
        if !now.cancel.is_empty() {
            self.n_waiting = 0;
            self.lengths.push(0);
        }
        for task in now.start {
            self.n_waiting -= 1;
            self.lengths.push(self.n_waiting);
            self.starts.push((task, now_ms));
            self.due.push((now_ms + self.tasks[task].ms, Due::Ends(task)));
        }
        for task in now.cancel {
            self.outcomes[task] = Some("canceled");
        }
        if let Some(wait) = now.look_again_ms {
            self.due.push((now_ms + wait, Due::Look));
        }
    }
}

fn simulated(limiter: RateLimiter, tasks: &[Task]) -> Result<Value, String> {
    let mut run = Simulation {
        limiter,
        tasks,
        due: Vec::new(),
        starts: Vec::new(),
        outcomes: vec![None; tasks.len()],
        n_waiting: 0,
        lengths: Vec::new(),
    };
    for _ in tasks {
        run.n_waiting += 1;
        run.lengths.push(run.n_waiting);
        let now = run.limiter.submit(0);
        run.take(now, 0);
    }
    let mut now_ms = 0;
    while run.outcomes.iter().any(Option::is_none) {
        now_ms += STEP_MS;
        if now_ms > END_MS {
            return Err("does not come to an end".into());
        }
        let mut ripe: Vec<(u64, Due)> = run.due.iter().copied().filter(|(at, _)| *at <= now_ms).collect();
        run.due.retain(|(at, _)| *at > now_ms);
        ripe.sort_by_key(|(at, _)| *at);
        for (_, due) in ripe {
            let now = match due {
                Due::Look => run.limiter.look(now_ms),
                Due::Ends(task) => {
                    let fails = tasks[task].fail;
                    run.outcomes[task] = Some(if fails { "failed" } else { "ok" });
                    run.limiter.end(if fails { TaskEnd::Failed } else { TaskEnd::Done }, now_ms)
                }
            };
            run.take(now, now_ms);
        }
    }
    let outcomes: Vec<&str> = run.outcomes.iter().flatten().copied().collect();
    let n_ok = outcomes.iter().filter(|it| **it == "ok").count();
    Ok(json!({
        "starts": run.starts,
        "finished_at": now_ms,
        "successCount": n_ok,
        "failureCount": outcomes.len() - n_ok,
        "allSucceeded": n_ok == outcomes.len(),
        "outcomes": outcomes,
        "queue_sizes": run.lengths,
    }))
}
