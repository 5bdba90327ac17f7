//! The transcript of a session: what was said, called, printed and paid, one entry after the other.
//!
//! Outcomes of calls come from the record of the session where it has them, else from the text that the model received.

#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::borrow::Cow;
use std::collections::BTreeMap;

use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::LocalShellAction;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::usage::TokenUsage;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::record::Record;
use serde::Deserialize;
use serde_json::Value;

/// What the record of a session says about its calls and requests.
#[derive(Debug, Clone, Default)]
pub struct TranscriptFacts {
    /// The outcomes of calls, by the ids of the calls.
    pub outcomes: BTreeMap<String, CallFacts>,
    /// The replies whose tokens the provider counted, in order.
    pub replies: Vec<ReplyFacts>,
    /// Messages that were interrupted, as far as they arrived, with the ids of their turns.
    pub cut_off: Vec<(String, String)>,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallFacts {
    /// The exit code of the command, if the call ran one.
    pub exit_code: Option<i32>,
    /// How many milliseconds the call took.
    pub duration_ms: u64,
    /// Whether the sandbox stopped it.
    pub is_denied: bool,
}

/// A reply to a request.
#[derive(Debug, Clone)]
pub struct ReplyFacts {
    /// The number of the request, as `replay` counts.
    pub number: usize,
    /// The tokens, as the provider counted them.
    pub usage: TokenUsage,
    /// The verdict about the provider's cache.
    pub verdict: Option<CacheVerdict>,
}

/// An entry of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptEntry {
    /// What the user said.
    User { text: String },
    /// What the model said; an interrupted message as far as it arrived.
    Agent { text: String, is_interrupted: bool },
    /// What the model thought, as far as the provider shows it.
    Reasoning { text: String },
    /// A command, as a person would type it.
    Command { command: String },
    /// A patch in the format of the apply_patch tool.
    Patch { patch: String },
    /// A call of another tool.
    Call { tool: String, arguments: String },
    /// What came of a call.
    Output(CallOutput),
    /// What a request cost.
    Request(TranscriptRequest),
    /// A summary took the place of the history.
    Summarised,
    /// Turns were taken back.
    TakenBack { n_turns: usize },
    /// A turn was interrupted.
    Interrupted,
    /// An error ended a turn, or was shown.
    Error { message: String },
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOutput {
    /// The exit code of the command, if it is known.
    pub exit_code: Option<i32>,
    /// How long the call took.
    pub time: Option<CallTime>,
    /// Whether the sandbox stopped it.
    pub is_denied: bool,
    /// What came out, without the lines that a tool puts before it, as far as it is kept.
    pub body: String,
    /// How many lines more came out.
    pub n_more_lines: usize,
}

/// How much of an output an entry keeps. Outputs are most of a long session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptOutput {
    /// All of it.
    Whole,
    /// The first lines, for a reader who sees no more.
    FirstLines,
}

/// How many lines of an output are first lines. One line more takes no more space than the line that would count it.
const OUTPUT_LINES: usize = 5;

/// How long a call took.
#[derive(Debug, Clone, PartialEq)]
pub enum CallTime {
    /// As the record has it.
    Milliseconds(u64),
    /// As the tool wrote it for the model, in seconds.
    Written(String),
}

/// What a request cost.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptRequest {
    /// The number of the request, as `replay` counts; absent for a request that the record does not have.
    pub number: Option<usize>,
    /// All tokens that were sent.
    pub sent: i64,
    /// The tokens that the provider read from its cache.
    pub cached: i64,
    /// The tokens of the answer.
    pub answered: i64,
    /// The verdict about the provider's cache.
    pub verdict: Option<CacheVerdict>,
}

/// The transcript of a session. Records that are given away are dropped one by one, so that a long session is not held
/// twice.
pub fn transcript(
    records: impl IntoIterator<Item = impl Borrow<Record>>,
    facts: TranscriptFacts,
    kept: KeptOutput,
) -> Vec<TranscriptEntry> {
    let TranscriptFacts { outcomes, replies, cut_off } = facts;
    let replies = replies.into();
    let mut writer = Writer { kept, outcomes, replies, cut_off, usage: None, running: Vec::new(), entries: Vec::new() };
    records.into_iter().for_each(|record| writer.add(record.borrow()));
    let left = std::mem::take(&mut writer.cut_off);
    writer.add_cut_off(left);
    writer.entries
}

struct Writer {
    kept: KeptOutput,
    outcomes: BTreeMap<String, CallFacts>,
    /// The replies that have no entry yet.
    replies: std::collections::VecDeque<ReplyFacts>,
    cut_off: Vec<(String, String)>,
    usage: Option<TokenUsage>,
    /// The calls that have no output yet: their ids, and the places of their entries.
    running: Vec<(String, usize)>,
    entries: Vec<TranscriptEntry>,
}

impl Writer {
    fn add(&mut self, record: &Record) {
        match record {
            Record::EventMsg(event) => self.add_event(event),
            Record::ResponseItem(item) => self.add_item(item),
            Record::Compacted(_) => self.entries.push(TranscriptEntry::Summarised),
            Record::SessionMeta(_) | Record::TurnContext(_) => {}
        }
    }

    fn add_event(&mut self, event: &EventMessage) {
        match event {
            EventMessage::UserMessage { message, .. } => {
                self.entries.push(TranscriptEntry::User { text: message.clone() });
            }
            EventMessage::AgentMessage { message } => {
                self.entries.push(TranscriptEntry::Agent { text: message.clone(), is_interrupted: false });
            }
            EventMessage::AgentReasoning { text } => {
                self.entries.push(TranscriptEntry::Reasoning { text: text.clone() });
            }
            EventMessage::TokenCount { info: Some(info), .. } => {
                self.add_usage(&info.last_token_usage, &info.total_token_usage);
            }
            EventMessage::ThreadRolledBack { num_turns } => {
                self.entries.push(TranscriptEntry::TakenBack { n_turns: *num_turns });
            }
            EventMessage::TaskComplete { turn_id, .. } | EventMessage::TurnAborted { turn_id, .. } => {
                let all = std::mem::take(&mut self.cut_off);
                let (of_turn, others) = all.into_iter().partition(|(turn, _)| turn == turn_id.as_str());
                self.cut_off = others;
                self.add_cut_off(of_turn);
                if matches!(event, EventMessage::TurnAborted { .. }) {
                    self.entries.push(TranscriptEntry::Interrupted);
                }
            }
            EventMessage::Error { message, .. } => {
                self.entries.push(TranscriptEntry::Error { message: message.clone() });
            }
            _ => {}
        }
    }

    fn add_item(&mut self, item: &Item) {
        let (id, entry) = match item {
            Item::FunctionCall { call_id, name, arguments, .. } => match command(arguments) {
                Some(command) => (Some(call_id), TranscriptEntry::Command { command }),
                None => (Some(call_id), call(name, arguments)),
            },
            Item::LocalShellCall { call_id, action: LocalShellAction::Exec { command, .. }, .. } => {
                (call_id.as_ref(), TranscriptEntry::Command { command: joined(command) })
            }
            Item::CustomToolCall { call_id, name, input, .. } if name == "apply_patch" => {
                (Some(call_id), TranscriptEntry::Patch { patch: input.clone() })
            }
            Item::CustomToolCall { call_id, name, input, .. } => (Some(call_id), call(name, input)),
            Item::FunctionCallOutput { call_id, output } => return self.add_output(call_id, &output_text(output)),
            Item::CustomToolCallOutput { call_id, output } => return self.add_output(call_id, output),
            _ => return,
        };
        self.running.extend(id.map(|id| (id.clone(), self.entries.len())));
        self.entries.push(entry);
    }

    /// Puts an output below its call: other calls and the count of tokens may have come in between.
    fn add_output(&mut self, call: &str, text: &str) {
        let written = WrittenOutcome::of(text);
        let recorded = self.outcomes.get(call);
        let (body, n_more_lines) = match self.kept {
            KeptOutput::Whole => (written.body.into_owned(), 0),
            KeptOutput::FirstLines => first_lines(&written.body),
        };
        let entry = TranscriptEntry::Output(CallOutput {
            exit_code: recorded.and_then(|it| it.exit_code).or(written.exit_code),
            time: recorded.map(|it| CallTime::Milliseconds(it.duration_ms)).or(written.time.map(CallTime::Written)),
            is_denied: recorded.is_some_and(|it| it.is_denied),
            body,
            n_more_lines,
        });
        let place = match self.running.iter().position(|(id, _)| id == call) {
            Some(at) => self.running.swap_remove(at).1 + 1,
            None => self.entries.len(),
        };
        for (_, later) in self.running.iter_mut().filter(|(_, later)| *later >= place) {
            *later += 1;
        }
        self.entries.insert(place, entry);
    }

    fn add_usage(&mut self, last: &TokenUsage, total: &TokenUsage) {
        // The same figures come again with the next limits of the provider.
        if self.usage.as_ref() == Some(total) {
            return;
        }
        self.usage = Some(*total);
        let reply = self.replies.iter().position(|reply| reply.usage == *last).and_then(|at| {
            self.replies.drain(..at);
            self.replies.pop_front()
        });
        let UsageSplit { cached_read, uncached, output, .. } = UsageSplit::new(last, None);
        self.entries.push(TranscriptEntry::Request(TranscriptRequest {
            number: reply.as_ref().map(|reply| reply.number),
            sent: cached_read + uncached,
            cached: cached_read,
            answered: output,
            verdict: reply.and_then(|reply| reply.verdict),
        }));
    }

    fn add_cut_off(&mut self, texts: Vec<(String, String)>) {
        let entry = |(_, text)| TranscriptEntry::Agent { text, is_interrupted: true };
        self.entries.extend(texts.into_iter().map(entry));
    }
}

/// A call of a tool; some models call apply_patch like any other function.
fn call(name: &str, arguments: &str) -> TranscriptEntry {
    if name == "apply_patch" && arguments.contains("*** Begin Patch") {
        let parsed: Option<Value> = serde_json::from_str(arguments).ok();
        let input = parsed.and_then(|it| Some(it.get("input")?.as_str()?.to_owned()));
        return TranscriptEntry::Patch { patch: input.unwrap_or_else(|| arguments.to_owned()) };
    }
    TranscriptEntry::Call { tool: name.to_owned(), arguments: arguments.to_owned() }
}

/// The command of a call, if its arguments have one.
fn command(arguments: &str) -> Option<String> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    match arguments.get("command").or_else(|| arguments.get("cmd"))? {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            words.map(|words| joined(&words))
        }
        _ => None,
    }
}

/// A command as a person would type it; the script of a shell alone.
fn joined(words: &[String]) -> String {
    if let [shell, flag, script] = words
        && matches!(flag.as_str(), "-lc" | "-c")
        && matches!(shell.rsplit('/').next(), Some("bash" | "sh" | "zsh"))
    {
        return script.clone();
    }
    let is_plain = |word: &str| {
        !word.is_empty() && word.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&it))
    };
    let quoted = words.iter().map(|word| match is_plain(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// The first lines of a text, and how many more there are.
fn first_lines(text: &str) -> (String, usize) {
    let text = text.trim_end();
    let n_lines = text.lines().count();
    let n_kept = if n_lines <= OUTPUT_LINES + 1 { n_lines } else { OUTPUT_LINES };
    (text.lines().take(n_kept).collect::<Vec<_>>().join("\n"), n_lines - n_kept)
}

fn output_text(output: &ToolOutput) -> Cow<'_, str> {
    match output {
        ToolOutput::Text(text) => Cow::Borrowed(text),
        ToolOutput::Parts(parts) => {
            let texts = parts.iter().map(|part| match part {
                ContentPart::InputText { text } | ContentPart::OutputText { text } => text.as_str(),
                ContentPart::InputImage { .. } => "(an image)",
            });
            Cow::Owned(texts.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// What the text of an output says about the command, and what the command printed.
struct WrittenOutcome<'a> {
    exit_code: Option<i32>,
    time: Option<String>,
    body: Cow<'a, str>,
}

/// The output of tools that answer with JSON.
#[derive(Deserialize)]
struct JsonOutput {
    output: String,
    metadata: JsonOutcome,
}

#[derive(Deserialize)]
struct JsonOutcome {
    exit_code: i32,
    duration_seconds: f64,
}

impl<'a> WrittenOutcome<'a> {
    /// Reads the lines that command tools put before an output; a text without them is all output.
    fn of(text: &'a str) -> Self {
        if let Ok(JsonOutput { output, metadata }) = serde_json::from_str::<JsonOutput>(text) {
            let time = Some(format!("{:.1} s", metadata.duration_seconds));
            return Self { exit_code: Some(metadata.exit_code), time, body: Cow::Owned(output) };
        }
        let all = Self { exit_code: None, time: None, body: Cow::Borrowed(text) };
        let Some((head, body)) = text.split_once("Output:\n") else { return all };
        let is_head = |line: &str| {
            let known = [
                "Exit code: ",
                "Wall time: ",
                "Process ",
                "Chunk ID: ",
                "Original token count: ",
                "Total output lines: ",
            ];
            line.is_empty() || known.iter().any(|beginning| line.starts_with(beginning))
        };
        if !head.lines().all(is_head) {
            return all;
        }
        let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        let exit_code = value("Exit code: ").or_else(|| value("Process exited with code "));
        let time = value("Wall time: ").map(|it| it.replace(" seconds", " s"));
        Self { exit_code: exit_code.and_then(|it| it.trim().parse().ok()), time, body: Cow::Borrowed(body) }
    }
}
