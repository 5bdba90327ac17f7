//! The suite `envelope`: what the back end receives in place of an input, in the shipped variants.

use pellucid_engine::fragment::{Fragment, concat};
use pellucid_engine::reinject::envelope::{EnvelopeInput, EnvelopeOutput, EnvelopeTexts, wrap};
use pellucid_engine::reinject::skill_words;
use serde::Deserialize;
use serde_json::{Value, json};

use super::design::{JsonSaid, JsonSent};
use super::preferences::{self, Preference};
use super::soul;
use crate::golden::cases::{self, Verdict, same};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    variant: Kind,
    injections: Vec<Option<String>>,
    inputs: Vec<Value>,
    #[serde(default)]
    adapter_takes_developer_instructions: bool,
    #[serde(default)]
    send_fails: bool,
    #[serde(default)]
    inject_throws: bool,
    expect: Expect,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Current,
    Initial,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    sent: Vec<Value>,
    developer_instructions: Option<Vec<String>>,
    turns_completed: usize,
    requested_skills: Option<Value>,
    results: Vec<Value>,
}

/// The calls of the back end and of the manager.
#[derive(Default)]
struct Seen {
    sent: Vec<Value>,
    developer: Vec<String>,
    n_turns: usize,
    skills: Vec<String>,
    results: Vec<Value>,
}

pub fn run(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: Case| check(&case))
}

fn check(case: &Case) -> Result<(), String> {
    let mut seen = Seen::default();
    let mut n_injected = 0;
    for input in &case.inputs {
        let (saved, input) =
            if case.variant == Kind::Current { without_preferences(input) } else { (vec![], input.clone()) };
        let note = (!saved.is_empty()).then(|| saved_note(&saved));
        if let (Some(note), true) = (&note, is_empty(&input)) {
            seen.results.push(json!({ "response": note }));
            continue;
        }
        if case.inject_throws {
            seen.results.push(json!({ "error": "instructions unreadable" }));
            continue;
        }
        if case.variant == Kind::Current {
            seen.skills.extend(texts(&input).iter().flat_map(|text| skill_words::named(text)));
        }
        let injection = case.injections.get(n_injected).or(case.injections.last()).cloned().flatten();
        n_injected += 1;
        let injected = injection.map(|text| vec![Fragment::provided("manager", text)]);
        let sent_now = match case.variant {
            Kind::Initial => sent(&wrap(injected, &EnvelopeTexts::default(), None, said(&input)?)),
            Kind::Current => {
                let beside = case.adapter_takes_developer_instructions;
                let (developer, injected) = soul::beside(injected, &concat(&words().before), beside);
                // The name goes with the soul.
                let words = words();
                let before = if developer.is_some() { Vec::new() } else { words.before };
                seen.developer.extend(developer);
                without_gaps(&sent(&wrap(injected, &EnvelopeTexts { before, ..words }, None, said(&input)?)))
            }
        };
        seen.sent.push(sent_now);
        seen.n_turns += 1;
        seen.results.push(match (case.send_fails, note) {
            (true, _) => json!({ "error": "send failed" }),
            (false, Some(note)) => json!({ "response": format!("ok\n\n{note}") }),
            (false, None) => json!({ "response": "ok" }),
        });
    }
    same("sent", &seen.sent, &case.expect.sent)?;
    if let Some(expected) = &case.expect.developer_instructions {
        same("developer instructions", &seen.developer, expected)?;
    }
    same("turns", &seen.n_turns, &case.expect.turns_completed)?;
    if let Some(expected) = &case.expect.requested_skills {
        same("requested skills", &seen.skills, &flat(expected))?;
    }
    same("results", &seen.results, &case.expect.results)
}

/// The words of the pack, as the vectors show them.
fn words() -> EnvelopeTexts {
    let word = |text: &str| vec![Fragment::provided("words", text)];
    EnvelopeTexts { before: word("{{ALIAS_NOTE}}"), after: word("{{SEPARATOR}}") }
}

/// A separator with the gaps around it, as the vectors count it.
fn without_gaps(sent: &Value) -> Value {
    match sent {
        Value::String(text) => json!(text.replace("\n\n{{SEPARATOR}}\n\n", "{{SEPARATOR}}")),
        Value::Array(items) => items.iter().map(without_gaps).collect(),
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), without_gaps(value))).collect(),
        other => other.clone(),
    }
}

/// An input as the engine takes it.
pub fn said(input: &Value) -> Result<JsonSaid, String> {
    match input {
        Value::String(text) => Ok(EnvelopeInput::Text(Fragment::provided("input", text.as_str()))),
        Value::Array(items) => Ok(EnvelopeInput::Items(items.clone())),
        other => Err(format!("no input: {other}")),
    }
}

/// What is sent, as the vectors write it.
pub fn sent(sent: &JsonSent) -> Value {
    match sent {
        EnvelopeOutput::Text(text) => json!(concat(text)),
        EnvelopeOutput::Items { texts, items } => {
            let texts = texts.iter().map(|text| json!({ "type": "text", "text": concat(text) }));
            Value::Array(texts.chain(items.iter().cloned()).collect())
        }
    }
}

fn texts(input: &Value) -> Vec<String> {
    let item = |item: &Value| item.get("text").and_then(Value::as_str).map(str::to_string);
    match input {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().filter_map(item).collect(),
        _ => Vec::new(),
    }
}

/// The input without lines that ask to remember a preference.
fn without_preferences(input: &Value) -> (Vec<Preference>, Value) {
    match input {
        Value::String(text) => {
            let (saved, rest) = preferences::take(text);
            (saved, json!(rest))
        }
        Value::Array(items) => {
            let mut saved = Vec::new();
            let mut rest = Vec::new();
            for item in items {
                let Some(text) = item.get("text").and_then(Value::as_str) else {
                    rest.push(item.clone());
                    continue;
                };
                let (found, left) = preferences::take(text);
                if found.is_empty() || !left.is_empty() {
                    let mut item = item.clone();
                    item["text"] = json!(left);
                    rest.push(item);
                }
                saved.extend(found);
            }
            (saved, Value::Array(rest))
        }
        other => (Vec::new(), other.clone()),
    }
}

fn is_empty(input: &Value) -> bool {
    match input {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The note about what was saved, as the vectors show it.
fn saved_note(saved: &[Preference]) -> String {
    let pairs: Vec<_> = saved.iter().map(|it| format!("{}={}", it.key, it.value)).collect();
    format!("{{{{SAVED:{}}}}}", pairs.join(","))
}

/// Names, in one list or in a list for each request.
fn flat(names: &Value) -> Vec<String> {
    match names {
        Value::Array(rows) => rows.iter().flat_map(flat).collect(),
        Value::String(name) => vec![name.clone()],
        _ => Vec::new(),
    }
}
