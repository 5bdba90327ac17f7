//! The whole path from settings to what the model receives, and settings that are refused.

use std::collections::BTreeMap;

use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::{Fragment, concat};
use pellucid_engine::injection::{self, Inputs, SystemParts, collect, scalar};
use pellucid_engine::source::{OwnSections, own_sections};
use pellucid_engine::window::count::CharacterEstimate;
use pellucid_engine::window::settings::{SettingsDocument, SettingsError};
use pellucid_engine::window::summary::{self, HistoryMessage};
use pellucid_engine::window::{Cost, PromptParts, Window, WindowLimits, WindowStep};
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::settings::PromptMode;
use pellucid_workspace::injection_files;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::sources::{self, Message};
use super::window;
use crate::golden::Verdict;
use crate::golden::cases::{self, same};

/// The mode that a context requests; an unknown one means everything.
pub fn mode(value: Option<&Value>) -> PromptMode {
    match value.and_then(Value::as_str) {
        Some("minimal") => PromptMode::Minimal,
        _ => PromptMode::Full,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigCase {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    config: Value,
    provider: bool,
    #[serde(default)]
    deps: Deps,
    expect: Value,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Deps {
    text_store: Option<String>,
    token_counter: Option<String>,
}

pub fn config_errors(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: ConfigCase| {
        let found = match checked(&case) {
            Ok(()) => Value::from("ok"),
            Err(message) => serde_json::json!({ "error": "configuration_error", "message": message }),
        };
        same("outcome", &found, &case.expect)
    })
}

/// Checks the settings in the order of the original. What its caller may pass without the needed methods has a type here, so
/// these messages are of this suite alone.
fn checked(case: &ConfigCase) -> Result<(), String> {
    // A word represents an object that lacks the requested method.
    let lacks =
        |given: &Option<String>| given.as_deref().is_some_and(|word| !matches!(word, "heuristic" | "in_memory"));
    let said = |error: SettingsError| error.to_string();
    let nothing = Map::new();
    let document = SettingsDocument::new(case.config.as_object().unwrap_or(&nothing)).map_err(said)?;
    if !case.provider {
        return Err("provider is required".to_owned());
    }
    document.budget().map_err(said)?;
    if lacks(&case.deps.token_counter) {
        return Err("token_counter must respond to #count_messages and #count_tools".to_owned());
    }
    document.management().map_err(said)?;
    if lacks(&case.deps.text_store) {
        return Err("prompt_injection_text_store must respond to #fetch(key:) (got <object>)".to_owned());
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    input: Input,
    expect: Outcome,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    config: Value,
    #[serde(default)]
    context: Map<String, Value>,
    message: String,
    state: Option<window::State>,
    #[serde(default)]
    history: Vec<window::Message>,
    memory: Option<Vec<String>>,
    #[serde(default)]
    memory_fails: bool,
    token_counter: Option<String>,
    #[serde(default)]
    provider_script: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outcome {
    provider_calls: usize,
    final_messages: Vec<Expected>,
    memory_queries: Option<Vec<Query>>,
    history_size_after: usize,
}

#[derive(Deserialize, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
struct Query {
    query: String,
    limit: i64,
}

/// A message, whole or by its length and ends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    role: String,
    content: Option<String>,
    content_bytes: Option<usize>,
    content_head: Option<String>,
    content_tail: Option<String>,
}

impl Expected {
    fn check(&self, found: &Message) -> Result<(), String> {
        same("role", &found.role, &self.role)?;
        match (&self.content, self.content_bytes, &self.content_head, &self.content_tail) {
            (Some(content), None, None, None) => same("content", &found.content, content),
            (None, Some(bytes), Some(head), Some(tail)) => {
                same("bytes", &found.content.len(), &bytes)?;
                same("head", &found.content.starts_with(head), &true)?;
                same("tail", &found.content.ends_with(tail), &true)
            }
            _ => Err("a message is whole or a digest".to_owned()),
        }
    }
}

pub fn run(file: &Value) -> Vec<Verdict> {
    cases::run_expanded(file, check)
}

fn check(case: Case) -> Result<(), String> {
    let input = case.input;
    let nothing = Map::new();
    let said = |error: SettingsError| error.to_string();
    let document = SettingsDocument::new(input.config.as_object().unwrap_or(&nothing)).map_err(said)?;
    let (keys, system_prompt) = (document.window().map_err(said)?, document.system_prompt());
    let sources = document.sources().map(injection::sources).unwrap_or_default();
    let mode = mode(input.context.get("prompt_mode"));
    let places = BTreeMap::new();
    let inputs = Inputs {
        attributes: &input.context,
        places: &places,
        store: None,
        texts: &super::pack().layout.source_texts,
        process_dir: "/nowhere",
        home: "/nowhere",
    };
    let reads: Vec<_> = sources.iter().map(|source| injection_files::read(&source.wants(&inputs, mode))).collect();
    let items = collect(&sources, &inputs, mode, &reads).items;

    // A store that is given is searched, unless the message is blank.
    let limit = keys.memory_search_limit.unwrap_or_default();
    let query = Query { query: input.message.clone(), limit };
    let queries: Vec<Query> =
        (input.memory.is_some() && !scalar::is_blank(&input.message)).then_some(query).into_iter().collect();
    let mut memory = input.memory.unwrap_or_default();
    memory.truncate(usize::try_from(limit).unwrap_or(0));
    if input.memory_fails || queries.is_empty() {
        memory.clear();
    }

    let has_counter = match input.token_counter.as_deref() {
        None => false,
        Some("heuristic") => true,
        Some(other) => return Err(format!("unknown counter {other}")),
    };
    let state = input.state.as_ref().map(window::State::read).transpose()?.unwrap_or_default();
    let n_history = input.history.len();
    let history: Vec<HistoryMessage> = input.history.into_iter().map(window::Message::read).collect();
    let limits = WindowLimits {
        window: keys.context_window.filter(|_| has_counter),
        reserved: keys.reserved(),
        compacts: keys.summarise.unwrap_or(true),
    };
    let (mut window, _) = Window::new(limits, &state, &history, memory);

    let build = |parts: PromptParts<'_>| {
        let base = system_prompt.as_deref().unwrap_or_default();
        let mut facts = Facts::plain("/nowhere", ModelInfo::named("model"));
        facts.system.prompt_mode = mode;
        facts.system.injection.memory = parts.memory.to_vec();
        let system = SystemParts {
            base: vec![Fragment::provided("system_prompt", base)],
            items: &items,
            own: own_sections(super::pack(), &facts, OwnSections::All, &"sections".into()).0,
            ..SystemParts::default()
        };
        let system = concat(&injection::system_prompt(system, mode));
        let mut messages = Vec::new();
        if !system.is_empty() {
            messages.push(Message { role: "system".to_owned(), content: system });
        }
        messages.extend(sources::preamble_messages(&items, mode));
        let summary = parts.summary.map(|summary| concat(&summary::shown(super::pack(), summary)));
        messages.extend(summary.map(|content| Message { role: "assistant".to_owned(), content }));
        let said = |it: &HistoryMessage| Message { role: it.role.clone(), content: it.text.clone() };
        messages.extend(parts.history.iter().map(said));
        messages.push(Message { role: "user".to_owned(), content: input.message.clone() });
        messages
    };
    let mut n_calls = 0;
    let mut step = window.begin();
    loop {
        step = match step {
            WindowStep::Build => {
                let counter = CharacterEstimate::default();
                let messages = build(window.parts()).iter().map(|it| counter.message(&it.content)).sum();
                window.built(Cost { messages, tools: 0 })
            }
            WindowStep::Summarise { .. } => {
                let answer = input.provider_script.get(n_calls);
                n_calls += 1;
                window.summarised(answer.map(String::as_str).filter(|it| *it != "!raise"))
            }
            WindowStep::Fits { .. } => break,
            WindowStep::Failed(error) => return Err(error.to_string()),
        };
    }
    n_calls += 1;
    let found = build(window.parts());
    same("messages", &found.len(), &case.expect.final_messages.len())?;
    for (found, expected) in found.iter().zip(&case.expect.final_messages) {
        expected.check(found)?;
    }
    same("provider calls", &n_calls, &case.expect.provider_calls)?;
    same("history", &(n_history + 2), &case.expect.history_size_after)?;
    if let Some(expected) = &case.expect.memory_queries {
        same("memory queries", &queries, expected)?;
    }
    Ok(())
}
