//! Compaction by the window strategy: the oldest turns are removed, and a running summary replaces them.
//!
//! The texts that the layout puts before the history stay. `window` decides what the model is asked and which turns
//! are dropped before; here items are converted for it, and back.

use std::collections::BTreeMap;

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::provider::WireApi;

use super::Compaction;
use super::Copied;
use super::copies;
use super::last_answer;
use crate::assemble;
use crate::assemble::Context;
use crate::assemble::assemble;
use crate::boundary;
use crate::encode::Encoder;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::fragment::concat;
use crate::injection::scalar;
use crate::pack::Pack;
use crate::tool_list;
use crate::tool_list::ToolList;
use crate::transcript::Draft;
use crate::transcript::Transcript;
use crate::window::ConversationState;
use crate::window::Cost;
use crate::window::PromptParts;
use crate::window::Window;
use crate::window::WindowExceeded;
use crate::window::WindowLimits;
use crate::window::WindowStep;
use crate::window::count::CharacterEstimate;
use crate::window::settings::WindowKeys;
use crate::window::summary;
use crate::window::summary::HistoryMessage;

/// The window that a history has to fit, with everything else that takes room in it.
#[derive(Debug, Clone, Copy)]
pub struct Fit<'a> {
    /// The pack with the layout.
    pub pack: &'a Pack,
    /// The facts of the turn.
    pub facts: &'a Facts,
    /// The base instructions of the request.
    pub instructions: &'a [Fragment],
    /// The user's next message, if it is known.
    pub input: Option<&'a str>,
    /// The running summary. Its message comes after those of the layout.
    pub summary: Option<&'a str>,
    /// How many messages of the layout come first.
    pub n_context: usize,
    /// What is set for the window.
    pub keys: WindowKeys,
}

impl Fit<'_> {
    fn limits(&self) -> WindowLimits {
        let window = self.keys.context_window.or(self.facts.settings.model.context_window);
        WindowLimits { window, reserved: self.keys.reserved(), compacts: self.keys.summarise.unwrap_or(true) }
    }

    /// The recalled texts, which the base instructions have.
    fn recalled(&self) -> &[String] {
        &self.facts.system.injection.memory
    }

    /// The tokens of the base instructions with only the first recalled texts.
    fn instructions_with(&self, memory: &[String]) -> i64 {
        let counter = CharacterEstimate::default();
        let text = if memory.len() == self.recalled().len() {
            concat(self.instructions)
        } else {
            let mut facts = self.facts.clone();
            facts.system.injection.memory = memory.to_vec();
            concat(&assemble(self.pack, &facts).instructions)
        };
        if text.is_empty() { 0 } else { counter.message(&text) }
    }

    /// How many tokens a prompt may have.
    pub fn limit(&self) -> Option<i64> {
        let limits = self.limits();
        Some(limits.window? - limits.reserved)
    }

    /// The estimated tokens of a prompt with all of the history.
    pub fn estimate(&self, transcript: &Transcript) -> i64 {
        let items: Vec<Item> = transcript.items().collect();
        let (context, history) = self.split(&items);
        let (history, memory) = (&messages(history), self.recalled());
        let parts = PromptParts { summary: self.summary, history, n_before: 0, memory };
        let cost = self.cost(context, parts);
        cost.messages + cost.tools
    }

    /// The messages of the layout, and the history after them and the summary.
    fn split<'i>(&self, items: &'i [Item]) -> (&'i [Item], &'i [Item]) {
        let (context, rest) = items.split_at(self.n_context.min(items.len()));
        let n_summary = usize::from(self.summary.is_some()).min(rest.len());
        (context, &rest[n_summary..])
    }

    fn cost(&self, context: &[Item], parts: PromptParts<'_>) -> Cost {
        let counter = CharacterEstimate::default();
        let said = messages(context).iter().chain(parts.history).map(|it| counter.message(&it.text)).sum::<i64>();
        // Texts within the conversation are sent with it and are not in the history.
        let (placed, _) = assemble::placed(self.pack, self.facts);
        let placed = placed.iter().map(|it| counter.message(&concat(&it.message.fragments))).sum::<i64>();
        let others = [
            Some(placed),
            self.input.map(|text| counter.message(text)),
            Some(self.instructions_with(parts.memory)),
            parts.summary.map(|summary| counter.message(&concat(&summary::shown(self.pack, summary)))),
        ];
        let offered = tool_list::offered(self.pack, self.facts);
        let mut encoder = Encoder::new(&"tools".into());
        let (given, _) = tool_list::given(self.pack, self.facts);
        let list = ToolList { tools: &offered, given: &given, pack: self.pack, facts: self.facts };
        list.encode(&mut encoder, WireApi::Responses);
        let tools = String::from_utf8_lossy(&encoder.finish().bytes).into_owned();
        Cost { messages: said + others.into_iter().flatten().sum::<i64>(), tools: counter.text(&tools) }
    }
}

/// What leaves a history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DroppedTurns {
    /// The number of messages.
    pub messages: usize,
    /// The number of turns. Messages before the first turn count as one.
    pub turns: usize,
}

impl DroppedTurns {
    fn of(messages: &[HistoryMessage]) -> Self {
        let begun = messages.iter().skip(1).filter(|message| message.begins_turn()).count();
        Self { messages: messages.len(), turns: usize::from(!messages.is_empty()) + begun }
    }
}

/// The plan for a history that does not fit.
#[derive(Debug)]
pub(super) struct ByWindow {
    /// The prompt for the model, if a summary is needed.
    question: Option<Vec<Fragment>>,
    /// The summary so far, unless it had to go.
    summary: Option<String>,
    /// How many items come before what is kept.
    n_gone: usize,
    /// The number of items before.
    n_items: usize,
    /// The messages that the summary is made of.
    dropped: DroppedTurns,
    /// How many recalled texts are left, if some had to go.
    n_recalled: Option<usize>,
    /// Why the history cannot be made to fit.
    failure: Option<WindowExceeded>,
}

impl Compaction {
    /// Begins with what has to go for the rest to fit.
    pub fn by_window(transcript: &Transcript, fit: Fit<'_>) -> Self {
        let items: Vec<Item> = transcript.items().collect();
        let (context, history) = fit.split(&items);
        let n_front = items.len() - history.len();
        let stored = ConversationState { summary: fit.summary.map(str::to_owned), ..ConversationState::default() };
        let (mut window, _) = Window::new(fit.limits(), &stored, &messages(history), fit.recalled().to_vec());
        let mut dropped_turns = DroppedTurns::default();
        let mut step = window.begin();
        let (question, failure) = loop {
            step = match step {
                WindowStep::Build => window.built(fit.cost(context, window.parts())),
                WindowStep::Summarise { previous, dropped } => {
                    dropped_turns = DroppedTurns::of(&dropped);
                    break (Some(summary::question(fit.pack, previous.as_deref(), &dropped)), None);
                }
                WindowStep::Fits { .. } => break (None, None),
                WindowStep::Failed(error) => break (None, Some(error)),
            };
        };
        let parts = window.parts();
        let by_window = ByWindow {
            summary: parts.summary.map(str::to_owned),
            n_gone: n_front + parts.n_before,
            n_items: items.len(),
            dropped: match &question {
                // Without a summary the turns are lost all the same.
                None => DroppedTurns::of(&messages(&history[..parts.n_before.min(history.len())])),
                Some(_) => dropped_turns,
            },
            n_recalled: (parts.memory.len() < fit.recalled().len()).then_some(parts.memory.len()),
            question,
            failure,
        };
        let prompt = by_window.question.clone().unwrap_or_default();
        let prompt = Draft::text("compact_prompt", "user", prompt);
        // The question has the history in it, so none of the items is shown beside it.
        let shown = Some(Vec::new());
        Self {
            by_window: Some(by_window),
            shown,
            ..Self::with(copies(transcript).collect(), transcript.ids(), prompt, None)
        }
    }

    /// Whether the model has to be asked.
    pub fn has_question(&self) -> bool {
        self.by_window.as_ref().is_none_or(|it| it.question.is_some())
    }

    /// The messages and turns that leave the history, for the strategy that drops turns.
    pub fn dropped_turns(&self) -> DroppedTurns {
        self.by_window.as_ref().map(|it| it.dropped).unwrap_or_default()
    }

    /// How many recalled texts are left, if some had to go.
    pub fn recalled_left(&self) -> Option<usize> {
        self.by_window.as_ref()?.n_recalled
    }

    /// Why the history cannot be made to fit.
    pub fn failure(&self) -> Option<&WindowExceeded> {
        self.by_window.as_ref().and_then(|it| it.failure.as_ref())
    }

    /// Whether this is the window strategy.
    pub fn is_by_window(&self) -> bool {
        self.by_window.is_some()
    }

    /// Puts context, summary and what is kept in place of the history, and gives the summary. What
    /// was recorded since this began is the model's answer; without one, what was dropped is lost.
    pub fn rebuild_window(self, transcript: &mut Transcript, context: Context, pack: &Pack) -> Option<String> {
        let by_window = self.by_window?;
        let items: Vec<Copied> = copies(transcript).collect();
        let (before, since) = items.split_at(by_window.n_items.min(items.len()));
        let since: Vec<Item> = since.iter().map(|it| it.item.clone()).collect();
        let answer = last_answer(&since).map(|answer| scalar::strip(&answer).to_owned());
        let summary = answer.filter(|answer| !answer.is_empty()).or(by_window.summary);
        let kept = before.get(by_window.n_gone..).unwrap_or_default();
        transcript.clear();
        for message in context.messages {
            transcript.record_draft(&Draft::from(message));
        }
        if let Some(summary) = &summary {
            transcript.record_draft(&Draft::text("summary", "assistant", summary::shown(pack, summary)));
        }
        for copied in kept {
            transcript.record_with(&copied.item, &copied.spans, &Origin::Model);
        }
        summary
    }
}

fn texts(parts: &[ContentPart]) -> String {
    let text = |part: &ContentPart| match part {
        ContentPart::InputText { text } | ContentPart::OutputText { text } => text.clone(),
        ContentPart::InputImage { .. } => String::new(),
    };
    parts.iter().map(text).collect()
}

/// Items as messages of a history, one for each. An output has the name of the tool that was called.
fn messages(items: &[Item]) -> Vec<HistoryMessage> {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut messages = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Item::FunctionCall { name, call_id, .. } | Item::CustomToolCall { name, call_id, .. } => {
                names.insert(call_id, name);
            }
            _ => {}
        }
        let mut message = message(item);
        message.tool_name = message.call_id.as_deref().and_then(|id| names.get(id)).map(|name| (*name).to_owned());
        messages.push(message);
    }
    messages
}

fn message(item: &Item) -> HistoryMessage {
    let call =
        |name: &str| HistoryMessage { tool_calls: vec![name.to_owned()], ..HistoryMessage::new("assistant", "") };
    let output = |call_id: &str, text: &str| HistoryMessage {
        call_id: Some(call_id.to_owned()),
        ..HistoryMessage::new("tool_result", text)
    };
    match item {
        Item::Message { role, content, .. } => {
            let role = if role == "user" && !boundary::begins_user_turn(item) { "context" } else { role };
            HistoryMessage::new(role, &texts(content))
        }
        Item::FunctionCall { name, .. } | Item::CustomToolCall { name, .. } => call(name),
        Item::LocalShellCall { .. } => call("local_shell"),
        Item::FunctionCallOutput { call_id, output: ToolOutput::Text(said) } => output(call_id, said),
        Item::FunctionCallOutput { call_id, output: ToolOutput::Parts(parts) } => output(call_id, &texts(parts)),
        Item::CustomToolCallOutput { call_id, output: said } => output(call_id, said),
        _ => HistoryMessage::new("assistant", ""),
    }
}
