//! The transcript of a session: per turn the user's words, commands with their outcome, patches, answers, and what each
//! request cost.
//!
//! Outcomes come from the record of the session where it has them, else from the text that the model received.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pellucid_agent::calls::Calls;
use pellucid_agent::calls::RecordedCall;
use pellucid_agent::cut_off::CutOff;
use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::LocalShellAction;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::usage::TokenUsage;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::record::Record;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::LogEntry;
use serde::Deserialize;
use serde_json::Value;

use crate::fit;
use crate::replay::verdict_text;
use crate::style::Paint;
use crate::style::counted;
use crate::style::thousands;

/// How many lines of an output are shown.
const OUTPUT_LINES: usize = 5;

/// Draws the records of a session one after the other.
pub struct Transcript<'a> {
    columns: usize,
    paint: Paint,
    calls: BTreeMap<String, RecordedCall>,
    /// The replies that the record has and no line was printed for yet, with their verdicts.
    replies: Vec<(&'a TokenUsage, Option<&'a CacheVerdict>)>,
    n_requests: usize,
    usage: Option<TokenUsage>,
    cut_off: Vec<CutOff>,
    text: String,
}

impl<'a> Transcript<'a> {
    pub fn new(requests: &'a Chain, cut_off: Vec<CutOff>, columns: usize, paint: Paint) -> Self {
        let calls = Calls::of(requests).calls.into_iter().map(|call| (call.call.clone(), call)).collect();
        let replies = requests.links.iter().filter_map(|link| match &link.entry {
            LogEntry::Reply(reply) => Some((reply.usage.as_ref()?, reply.cache.as_ref())),
            _ => None,
        });
        let mut replies: Vec<_> = replies.collect();
        replies.reverse();
        Self { columns, paint, calls, replies, n_requests: 0, usage: None, cut_off, text: String::new() }
    }

    /// Adds what a record says.
    pub fn add(&mut self, record: &Record) {
        match record {
            Record::EventMsg(event) => self.add_event(event),
            Record::ResponseItem(item) => self.add_item(item),
            Record::Compacted(_) => self.heading("summarised"),
            Record::SessionMeta(_) | Record::TurnContext(_) => {}
        }
    }

    /// The text, with the messages that were interrupted and belong to no turn that ended.
    pub fn finish(mut self) -> String {
        let left = std::mem::take(&mut self.cut_off);
        self.add_cut_off(left);
        self.text
    }

    fn add_event(&mut self, event: &EventMessage) {
        match event {
            EventMessage::UserMessage { message, .. } => {
                self.heading("user");
                self.text += &format!("{message}\n");
            }
            EventMessage::AgentMessage { message } => {
                self.heading("agent");
                self.text += &format!("{message}\n");
            }
            EventMessage::AgentReasoning { text } => {
                self.text.push('\n');
                self.lines(text, OUTPUT_LINES, Paint::dim);
            }
            EventMessage::TokenCount { info: Some(info), .. } => {
                self.add_usage(&info.last_token_usage, &info.total_token_usage);
            }
            EventMessage::ThreadRolledBack { num_turns } => {
                self.heading(&format!("{} taken back", counted(*num_turns, "turn")));
            }
            EventMessage::TaskComplete { turn_id, .. } | EventMessage::TurnAborted { turn_id, .. } => {
                let all = std::mem::take(&mut self.cut_off);
                let (of_turn, others) = all.into_iter().partition(|it| it.turn == turn_id.as_str());
                self.cut_off = others;
                self.add_cut_off(of_turn);
                if matches!(event, EventMessage::TurnAborted { .. }) {
                    self.text += &format!("{}\n", self.paint.yellow("the turn was interrupted"));
                }
            }
            EventMessage::Error { message, .. } => {
                let line = fit::end(&format!("error: {message}"), self.columns);
                self.text += &format!("\n{}\n", self.paint.red(&line));
            }
            _ => {}
        }
    }

    fn add_item(&mut self, item: &Item) {
        match item {
            Item::FunctionCall { name, arguments, .. } => match command(arguments) {
                Some(command) => self.command(&command),
                None => self.call(name, arguments),
            },
            Item::LocalShellCall { action: LocalShellAction::Exec { command, .. }, .. } => {
                self.command(&joined(command));
            }
            Item::CustomToolCall { name, input, .. } if name == "apply_patch" => self.patch(input),
            Item::CustomToolCall { name, input, .. } => self.call(name, input),
            Item::FunctionCallOutput { call_id, output } => self.output(call_id, &output_text(output)),
            Item::CustomToolCallOutput { call_id, output } => self.output(call_id, output),
            _ => {}
        }
    }

    fn heading(&mut self, what: &str) {
        self.text += &format!("\n{}\n", self.paint.bold(&format!("── {what} ──")));
    }

    fn command(&mut self, command: &str) {
        let mut lines = command.trim_end().lines();
        let first = lines.next().unwrap_or_default();
        self.text += &format!("\n{}\n", self.paint.bold(&format!("$ {first}")));
        for line in lines {
            self.text += &format!("  {}\n", self.paint.bold(line));
        }
    }

    fn call(&mut self, name: &str, arguments: &str) {
        if arguments.contains("*** Begin Patch") && name == "apply_patch" {
            let parsed: Option<Value> = serde_json::from_str(arguments).ok();
            let input = parsed.and_then(|it| Some(it.get("input")?.as_str()?.to_owned()));
            return self.patch(&input.unwrap_or_else(|| arguments.to_owned()));
        }
        let line = fit::end(&format!("{name} {arguments}"), self.columns);
        self.text += &format!("\n{}\n", self.paint.bold(&line));
    }

    /// A patch with the lines that it adds and removes in colours.
    fn patch(&mut self, patch: &str) {
        self.text += &format!("\n{}\n", self.paint.bold("apply_patch"));
        for line in patch.lines() {
            let painted = match line.as_bytes().first() {
                Some(b'+') => self.paint.green(line),
                Some(b'-') => self.paint.red(line),
                Some(b'*') => self.paint.bold(line),
                Some(b'@') => self.paint.dim(line),
                _ => line.to_owned(),
            };
            if !matches!(line, "*** Begin Patch" | "*** End Patch") {
                self.text += &format!("  {painted}\n");
            }
        }
    }

    /// How a call ended, how long it took, and the first lines of what came out.
    fn output(&mut self, call: &str, text: &str) {
        let outcome = Outcome::of(text);
        let recorded = self.calls.get(call);
        let exit = recorded.and_then(|call| call.runs.last()?.exit_code).or(outcome.exit_code);
        let time = recorded.map(|call| duration(call.duration_ms)).or(outcome.time);
        let mut facts: Vec<String> = exit.map(|code| format!("exit {code}")).into_iter().collect();
        facts.extend(time);
        let denied = recorded.is_some_and(|call| call.runs.last().is_some_and(|run| run.denied));
        facts.extend(denied.then(|| "stopped by the sandbox".to_owned()));
        if !facts.is_empty() {
            let line = facts.join(", ");
            let is_failure = exit.is_some_and(|code| code != 0);
            let painted = if is_failure { self.paint.red(&line) } else { self.paint.dim(&line) };
            self.text += &format!("  {painted}\n");
        }
        self.lines(&outcome.body, OUTPUT_LINES, |_, line| line.to_owned());
    }

    /// The first lines of a text, indented, each on one line of the terminal.
    fn lines(&mut self, text: &str, max: usize, paint: impl Fn(Paint, &str) -> String) {
        let lines: Vec<&str> = text.trim_end().lines().collect();
        // One line more takes no more space than the line that would count it.
        let n_shown = if lines.len() <= max + 1 { lines.len() } else { max };
        for line in &lines[..n_shown] {
            let line = paint(self.paint, &fit::end(line, self.columns.saturating_sub(2)));
            self.text += format!("  {line}").trim_end();
            self.text.push('\n');
        }
        if let n @ 1.. = lines.len() - n_shown {
            self.text += &format!("  {}\n", self.paint.dim(&format!("… {}", counted(n, "more line"))));
        }
    }

    /// What a request cost, where the provider said so.
    fn add_usage(&mut self, last: &TokenUsage, total: &TokenUsage) {
        // The same figures come again with the next limits of the provider.
        if self.usage.as_ref() == Some(total) {
            return;
        }
        self.usage = Some(*total);
        self.n_requests += 1;
        let is_this = |(usage, _): &(&TokenUsage, Option<&CacheVerdict>)| *usage == last;
        let verdict = match self.replies.iter().rposition(is_this) {
            Some(at) => {
                let verdict = self.replies[at].1.map(verdict_text);
                self.replies.truncate(at);
                verdict
            }
            None => None,
        };
        let verdict = verdict.map_or_else(String::new, |verdict| format!("; cache {verdict}"));
        let UsageSplit { cached_read, uncached, output, .. } = UsageSplit::new(last, None);
        let [sent, cached, answered] = [cached_read + uncached, cached_read, output].map(thousands);
        let spent = format!("{sent} tokens sent, {cached} of them cached, {answered} answered");
        let line = fit::end(&format!("request {}: {spent}{verdict}", self.n_requests), self.columns);
        self.text += &format!("\n{}\n", self.paint.dim(&line));
    }

    /// The texts of messages that were interrupted, as far as they arrived.
    fn add_cut_off(&mut self, texts: Vec<CutOff>) {
        for it in texts {
            self.heading("agent, interrupted");
            self.text += &format!("{}\n", it.text);
        }
    }
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

fn output_text(output: &ToolOutput) -> String {
    match output {
        ToolOutput::Text(text) => text.clone(),
        ToolOutput::Parts(parts) => {
            let texts = parts.iter().map(|part| match part {
                ContentPart::InputText { text } | ContentPart::OutputText { text } => text.as_str(),
                ContentPart::InputImage { .. } => "(an image)",
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

fn duration(milliseconds: u64) -> String {
    match milliseconds {
        ..1_000 => format!("{milliseconds} ms"),
        _ => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
    }
}

/// What the text of an output says about the command, and what the command printed.
struct Outcome<'a> {
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

impl<'a> Outcome<'a> {
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
