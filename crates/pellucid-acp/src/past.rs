//! A stored session as updates, in the order of its file: line by line, so that a long session takes no memory.
//!
//! Turns that were taken back are left out. Where the file has them is found first; a file without them is only searched for
//! the word.

use std::io;
use std::path::Path;

use agent_client_protocol::v1::schema::CompactionStatus;
use agent_client_protocol::v1::schema::CompactionUpdate;
use agent_client_protocol::v1::schema::ContentBlock;
use agent_client_protocol::v1::schema::SessionUpdate;
use agent_client_protocol::v1::schema::ToolCall;
use agent_client_protocol::v1::schema::ToolCallContent;
use agent_client_protocol::v1::schema::ToolCallStatus;
use agent_client_protocol::v1::schema::ToolCallUpdate;
use agent_client_protocol::v1::schema::ToolCallUpdateFields;
use agent_client_protocol::v1::schema::ToolKind;
use agent_client_protocol::v1::schema::UsageUpdate;
use pellucid_engine::boundary;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::PlanUpdate;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::LocalShellAction;
use pellucid_protocol::item::ToolOutput;
use pellucid_store::lines::Forwards;
use pellucid_store::read::LineReading;
use pellucid_store::read::read_line;
use pellucid_store::record::Record;
use serde_json::Value;

use crate::view;
use crate::view::Shown;
use crate::view::chunk;
use crate::view::cut;

/// How many bytes of a call's output are shown.
const OUTPUT_BYTES: usize = 64 << 10;

/// How many bytes a title has.
const TITLE_BYTES: usize = 200;

/// The event that takes turns back.
const ROLLED_BACK: &[u8] = b"thread_rolled_back";

/// The updates of a session file, one line after the other.
#[derive(Debug)]
pub struct Past {
    lines: Forwards,
    /// Ranges of the file with turns that were taken back, in order.
    taken_back: Vec<(u64, u64)>,
    fold: Fold,
}

impl Past {
    /// Opens the file of a session.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path, shown: Shown) -> io::Result<Self> {
        let taken_back = taken_back(path)?;
        let lines = Forwards::new(pellucid_files::open(path)?, 0, u64::MAX)?;
        Ok(Self { lines, taken_back, fold: Fold { shown, n: 0, usage: None } })
    }

    /// The updates of the next lines that have some; `None` after the last line.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn next(&mut self) -> io::Result<Option<Vec<SessionUpdate>>> {
        while let Some(line) = self.lines.next_line()? {
            let (start, reading) = (line.start, read_line(line.bytes));
            if self.taken_back.iter().any(|(from, to)| (*from..*to).contains(&start)) {
                continue;
            }
            let LineReading::Record(record) = reading else { continue };
            let updates = self.fold.record(&record);
            if !updates.is_empty() {
                return Ok(Some(updates));
            }
        }
        Ok(self.fold.usage.take().map(|usage| vec![SessionUpdate::UsageUpdate(usage)]))
    }
}

/// The ranges of a file with turns that were taken back.
fn taken_back(path: &Path) -> io::Result<Vec<(u64, u64)>> {
    let has_word = |bytes: &[u8]| bytes.windows(ROLLED_BACK.len()).any(|it| it == ROLLED_BACK);
    let mut lines = Forwards::new(pellucid_files::open(path)?, 0, u64::MAX)?;
    let mut is_there = false;
    while let Some(line) = lines.next_line()? {
        // The event's line is short; that of an item with the word may be long.
        is_there |= line.bytes.len() < 1024 && has_word(line.bytes);
    }
    if !is_there {
        return Ok(Vec::new());
    }
    let mut lines = Forwards::new(pellucid_files::open(path)?, 0, u64::MAX)?;
    let (mut turns, mut ranges) = (Vec::new(), Vec::new());
    while let Some(line) = lines.next_line()? {
        match read_line(line.bytes) {
            LineReading::Record(Record::ResponseItem(item)) if boundary::begins_user_turn(&item) => {
                turns.push(line.start);
            }
            LineReading::Record(Record::EventMsg(EventMessage::ThreadRolledBack { num_turns })) => {
                let kept = turns.len().saturating_sub(num_turns);
                if let Some(from) = turns.get(kept) {
                    ranges.push((*from, line.end));
                }
                turns.truncate(kept);
            }
            _ => {}
        }
    }
    Ok(ranges)
}

/// What is kept from line to line.
#[derive(Debug)]
struct Fold {
    shown: Shown,
    n: u64,
    usage: Option<UsageUpdate>,
}

impl Fold {
    fn record(&mut self, record: &Record) -> Vec<SessionUpdate> {
        match record {
            Record::EventMsg(event) => self.event(event),
            Record::ResponseItem(item) => call(item),
            Record::Compacted(compacted) if self.shown.compaction => {
                let update = CompactionUpdate::new(self.id(), CompactionStatus::Completed);
                let summary = vec![ContentBlock::from(compacted.message.as_str())];
                vec![SessionUpdate::CompactionUpdate(update.summary(summary))]
            }
            Record::Compacted(_) | Record::SessionMeta(_) | Record::TurnContext(_) => Vec::new(),
        }
    }

    fn id(&mut self) -> String {
        self.n += 1;
        format!("past-{}", self.n)
    }

    fn event(&mut self, event: &EventMessage) -> Vec<SessionUpdate> {
        match event {
            EventMessage::UserMessage { message, images, local_images, .. } => {
                let text = (!message.is_empty()).then(|| UserInput::text(message.clone()));
                let images = images.iter().map(|url| UserInput::Image { image_url: url.clone() });
                let local = local_images.iter().map(|path| UserInput::LocalImage { path: path.clone() });
                let content: Vec<UserInput> = text.into_iter().chain(images).chain(local).collect();
                view::user_message(&self.id(), &content)
            }
            EventMessage::AgentMessage { message } if !message.is_empty() => {
                vec![SessionUpdate::AgentMessageChunk(chunk(message, &self.id()))]
            }
            EventMessage::ItemCompleted { item: TurnItem::Plan { text, .. }, .. } if !text.is_empty() => {
                vec![SessionUpdate::AgentMessageChunk(chunk(text, &self.id()))]
            }
            EventMessage::AgentReasoning { text } if !text.is_empty() => {
                vec![SessionUpdate::AgentThoughtChunk(chunk(text, &self.id()))]
            }
            EventMessage::AgentReasoningRawContent { text } if self.shown.raw_reasoning && !text.is_empty() => {
                vec![SessionUpdate::AgentThoughtChunk(chunk(text, &self.id()))]
            }
            EventMessage::TokenCount { info: Some(info), .. } => {
                let used = u64::try_from(info.last_token_usage.total_tokens).unwrap_or_default();
                let size = info.model_context_window.and_then(|size| u64::try_from(size).ok());
                self.usage = size.map(|size| UsageUpdate::new(used, size)).or(self.usage.take());
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}

/// A call, or what came of one.
fn call(item: &Item) -> Vec<SessionUpdate> {
    let begun = |id: &str, title: &str, name: &str, kind| {
        ToolCall::new(id.to_owned(), cut(title, TITLE_BYTES))
            .name(name.to_owned())
            .kind(kind)
            .status(ToolCallStatus::InProgress)
    };
    let over = |id: &str, text: &str| {
        let fields = ToolCallUpdateFields::new()
            .status(ToolCallStatus::Completed)
            .content(vec![ToolCallContent::from(beginning(text))]);
        vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields))]
    };
    match item {
        Item::FunctionCall { name, arguments, call_id, .. } => {
            let arguments: Value = serde_json::from_str(arguments).unwrap_or(Value::String(arguments.clone()));
            if name == "update_plan"
                && let Ok(plan) = serde_json::from_value::<PlanUpdate>(arguments.clone())
            {
                return vec![SessionUpdate::Plan(view::plan_of(&plan))];
            }
            let command = command_of(&arguments);
            let kind = if command.is_some() { ToolKind::Execute } else { ToolKind::Other };
            let title = command.unwrap_or_else(|| name.clone());
            vec![SessionUpdate::ToolCall(begun(call_id, &title, name, kind).raw_input(arguments))]
        }
        Item::CustomToolCall { call_id, name, input, .. } => {
            let kind = if name == "apply_patch" { ToolKind::Edit } else { ToolKind::Other };
            let call = begun(call_id, name, name, kind);
            vec![SessionUpdate::ToolCall(call.content(vec![ToolCallContent::from(beginning(input))]))]
        }
        Item::LocalShellCall { call_id: Some(call_id), action: LocalShellAction::Exec { command, .. }, .. } => {
            let title = view::title(command);
            vec![SessionUpdate::ToolCall(begun(call_id, &title, "local_shell", ToolKind::Execute))]
        }
        Item::FunctionCallOutput { call_id, output } => over(call_id, &text_of(output)),
        Item::CustomToolCallOutput { call_id, output } => over(call_id, &said(output)),
        _ => Vec::new(),
    }
}

/// The command of a call that runs one.
fn command_of(arguments: &Value) -> Option<String> {
    let command = arguments.get("command").or_else(|| arguments.get("cmd"))?;
    if let Some(line) = command.as_str() {
        return Some(line.to_owned());
    }
    let words: Option<Vec<String>> = command.as_array()?.iter().map(|word| Some(word.as_str()?.to_owned())).collect();
    words.map(|words| view::title(&words))
}

fn text_of(output: &ToolOutput) -> String {
    match output {
        ToolOutput::Text(text) => said(text),
        ToolOutput::Parts(parts) => {
            let texts = parts.iter().map(|part| match part {
                ContentPart::InputText { text } | ContentPart::OutputText { text } => text.as_str(),
                ContentPart::InputImage { .. } => "[image]",
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

/// The output alone, where the model reads it inside of JSON.
fn said(text: &str) -> String {
    let inside = text.starts_with('{').then(|| serde_json::from_str::<Value>(text).ok()).flatten();
    let output = inside.as_ref().and_then(|value| value.get("output")?.as_str());
    output.unwrap_or(text).to_owned()
}

fn beginning(text: &str) -> String {
    if text.len() <= OUTPUT_BYTES {
        return text.to_owned();
    }
    let mut end = OUTPUT_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}\n[{} more bytes]", &text[..end], text.len() - end)
}
