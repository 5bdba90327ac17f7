//! The suite of the budget loop.

use pellucid_engine::fragment::concat;
use pellucid_engine::window::count::CharacterEstimate;
use pellucid_engine::window::summary::{self, HistoryMessage};
use pellucid_engine::window::{ConversationState, Cost, PromptParts, Window, WindowExceeded, WindowLimits, WindowStep};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::golden::Verdict;
use crate::golden::cases::{self, same};
use crate::golden::text::Expected;

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
    history_turns: Option<usize>,
    history: Option<Vec<Message>>,
    #[serde(default)]
    memory: Vec<String>,
    system_prompt: Option<String>,
    #[serde(default)]
    tools: Vec<Value>,
    counter: Option<String>,
    context_window: Option<i64>,
    #[serde(default)]
    reserved_output_tokens: i64,
    auto_compact: Option<bool>,
    summary_max_output_tokens: Option<Value>,
    state: Option<State>,
    #[serde(default)]
    summaries: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    #[serde(default)]
    pub summary: Option<crate::golden::text::Text>,
    #[serde(default)]
    pub cursor: usize,
    #[serde(default)]
    pub compaction_count: usize,
}

impl State {
    pub fn read(&self) -> Result<ConversationState, String> {
        let summary = self.summary.as_ref().map(crate::golden::text::Text::text).transpose()?;
        Ok(ConversationState { summary, cursor: self.cursor, compaction_count: self.compaction_count })
    }
}

/// A message of a history.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub role: String,
    pub content: String,
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
    tool_call_id: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct ToolCall {
    #[serde(rename = "id")]
    _id: String,
    name: String,
    #[serde(rename = "arguments")]
    _arguments: Value,
}

impl Message {
    pub fn read(self) -> HistoryMessage {
        HistoryMessage {
            role: self.role,
            text: self.content,
            tool_calls: self.tool_calls.into_iter().map(|call| call.name).collect(),
            tool_name: self.name,
            call_id: self.tool_call_id,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outcome {
    messages: Option<Vec<String>>,
    error: Option<Value>,
    state: Value,
    prompt_builds: usize,
    summarizer_calls: Vec<SummarizerCall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SummarizerCall {
    user_text: Expected,
    temperature: f64,
    max_tokens: i64,
}

pub fn run(file: &Value) -> Vec<Verdict> {
    cases::run_expanded(file, check)
}

fn check(case: Case) -> Result<(), String> {
    let input = case.input;
    let counter = match input.counter.as_deref() {
        None | Some("count" | "none" | "heuristic") => input.counter.as_deref(),
        Some(other) => return Err(format!("unknown counter {other}")),
    };
    let history: Vec<HistoryMessage> = match (input.history_turns, input.history) {
        (Some(n), None) => (1..=n)
            .flat_map(|n| [("user", format!("u{n}")), ("assistant", format!("a{n}"))])
            .map(|(role, text)| HistoryMessage::new(role, &text))
            .collect(),
        (None, Some(history)) => history.into_iter().map(Message::read).collect(),
        (None, None) => Vec::new(),
        (Some(_), Some(_)) => return Err("both history and history_turns".to_owned()),
    };
    let mut state = input.state.as_ref().map(State::read).transpose()?.unwrap_or_default();
    let limits = WindowLimits {
        window: input.context_window.filter(|_| counter != Some("none")),
        reserved: input.reserved_output_tokens,
        compacts: input.auto_compact.unwrap_or(true),
    };
    let max_tokens = input.summary_max_output_tokens.as_ref().and_then(pellucid_engine::injection::scalar::int);
    let (mut window, is_stale) = Window::new(limits, &state, &history, input.memory);
    if is_stale {
        state = ConversationState::default();
    }
    let (mut n_builds, mut calls) = (0, Vec::new());
    let mut step = window.begin();
    let outcome = loop {
        step = match step {
            WindowStep::Build => {
                n_builds += 1;
                let messages = built(window.parts());
                let cost = if counter == Some("heuristic") {
                    let counter = CharacterEstimate::default();
                    let system = input.system_prompt.iter().filter(|text| !text.is_empty());
                    let messages = messages.iter().chain(system).map(|text| counter.message(text)).sum();
                    Cost { messages, tools: counter.tools(&input.tools) }
                } else {
                    let system = input.system_prompt.as_ref().is_some_and(|text| !text.is_empty());
                    let n_messages = messages.len() + usize::from(system);
                    Cost { messages: n_messages as i64, tools: input.tools.len() as i64 }
                };
                window.built(cost)
            }
            WindowStep::Summarise { previous, dropped } => {
                calls.push(concat(&summary::question(super::pack(), previous.as_deref(), &dropped)));
                let n = calls.len();
                let answer = input.summaries.get(n - 1).cloned().unwrap_or_else(|| format!("SUMMARY-{n}"));
                window.summarised((answer != "!raise").then_some(answer.as_str()))
            }
            WindowStep::Fits { changed } => {
                state = changed.unwrap_or(state);
                break Ok(built(window.parts()));
            }
            WindowStep::Failed(error) => break Err(error),
        };
    };
    match (&outcome, &case.expect.messages, &case.expect.error) {
        (Ok(messages), Some(expected), None) => same("messages", messages, expected)?,
        (Err(error), None, Some(expected)) => same("error", &shown(error), expected)?,
        _ => return Err(format!("is {outcome:?}")),
    }
    let found = json!({
        "summary": state.summary.filter(|it| !it.is_empty()),
        "cursor": state.cursor,
        "compaction_count": state.compaction_count,
    });
    same("state", &found, &case.expect.state)?;
    same("builds", &n_builds, &case.expect.prompt_builds)?;
    same("calls", &calls.len(), &case.expect.summarizer_calls.len())?;
    for (found, expected) in calls.iter().zip(&case.expect.summarizer_calls) {
        expected.user_text.check("question", found)?;
        same("temperature", &summary::TEMPERATURE, &expected.temperature)?;
        same("max_tokens", &summary::output_tokens(max_tokens), &expected.max_tokens)?;
    }
    Ok(())
}

/// The messages as the builder of the recording makes them.
fn built(parts: PromptParts<'_>) -> Vec<String> {
    let summary = parts.summary.map(|summary| format!("SUM:{summary}"));
    let memory = parts.memory.iter().map(|memory| format!("MEM:{memory}"));
    let history = parts.history.iter().map(|message| message.text.clone());
    summary.into_iter().chain(memory).chain(history).collect()
}

fn shown(error: &WindowExceeded) -> Value {
    let mut value = json!({
        "kind": "context_window_exceeded",
        "estimated_tokens": null, "message_tokens": null, "tool_tokens": null,
        "context_window": null, "reserved_output": 0, "limit": null,
        "message": error.to_string(),
    });
    if let WindowExceeded::Tokens { cost, estimated, limit, window, reserved } = error {
        value["estimated_tokens"] = json!(estimated);
        value["message_tokens"] = json!(cost.messages);
        value["tool_tokens"] = json!(cost.tools);
        value["context_window"] = json!(window);
        value["reserved_output"] = json!(reserved);
        value["limit"] = json!(limit);
    }
    value
}
