//! The session files of Claude Code, line by line, as values.
//!
//! A file has one JSON object on each line: `user` and `assistant` lines with a message in the Messages format, and lines about the
//! session. An answer has one line for each block of its content, and each of them repeats the usage of the whole answer, so
//! usage is counted once for each message and request id. Lines of subagents are marked, and are conversations of
//! their own. Calls that the agent makes beside the conversation, such as those for summaries, are not in the file.

use std::collections::HashMap;

use pellucid_protocol::item::Item;
use pellucid_protocol::item::ReasoningSummaryPart;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::usage::TokenUsage;
use serde_json::Value;

use super::OtherEntry;
use super::OtherSession;
use super::OtherUsage;
use super::session_id;

/// The name of the agent.
const PROGRAM: &str = "claude-code";

/// The model of answers that no model gave.
const NO_MODEL: &str = "<synthetic>";

/// No answer has more tokens. A larger figure is a damaged one, and the sum of many of these is still a number.
const TOKENS_MAX: i64 = 1 << 36;

/// How many conversations a file can have.
const N_CONVERSATIONS_MAX: usize = 1_000;

/// Reads the lines of a file.
#[derive(Debug)]
pub struct ClaudeReader {
    /// The name of the file, without its ending.
    stem: String,
    title: Option<String>,
    /// The conversations, in the order of their first lines.
    conversations: Vec<Conversation>,
    /// The conversation of each line that a subagent may continue, by the id of the line.
    chains: HashMap<String, String>,
    n_unread: usize,
}

#[derive(Debug)]
struct Conversation {
    /// The subagent; empty for the conversation with the person.
    agent: String,
    session: String,
    entries: Vec<Option<(String, OtherEntry)>>,
    /// The place of the usage of each answer, by the ids of message and request.
    answers: HashMap<(String, String), usize>,
    settings: (String, String, bool),
    turn: String,
    asks: bool,
    facts: OtherSession,
}

impl ClaudeReader {
    /// A reader for a file of this name, without its ending.
    pub fn new(stem: String) -> Self {
        Self { stem, title: None, conversations: Vec::new(), chains: HashMap::new(), n_unread: 0 }
    }

    /// Whether a line was of a conversation.
    pub fn is_known(&self) -> bool {
        !self.conversations.is_empty()
    }

    /// How many lines could not be read.
    pub fn n_unread(&self) -> usize {
        self.n_unread
    }

    /// Takes the next line.
    pub fn line(&mut self, line: &[u8]) {
        let Some(line) = serde_json::from_slice::<Value>(line).ok().filter(Value::is_object) else {
            self.n_unread += 1;
            return;
        };
        let kind = line["type"].as_str().unwrap_or_default();
        let title = match kind {
            "summary" => &line["summary"],
            "custom-title" => &line["customTitle"],
            "ai-title" => &line["aiTitle"],
            _ => &Value::Null,
        };
        // A title that a person gave is not replaced by one that the agent found.
        if let Some(title) = title.as_str()
            && (kind == "custom-title" || self.title.is_none())
        {
            self.title = Some(title.to_owned());
        }
        let is_said = matches!(kind, "user" | "assistant") && line["message"].is_object();
        if !(is_said || kind == "attachment" && line["attachment"].is_object()) || !line["sessionId"].is_string() {
            return;
        }
        let Some(conversation) = self.conversation(&line) else {
            self.n_unread += 1;
            return;
        };
        let at = line["timestamp"].as_str().and_then(|at| at.parse::<jiff::Timestamp>().ok());
        let at = at.map(|at| at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string());
        let last = conversation.entries.iter().rev().flatten().next().map(|(at, _)| at.clone());
        let at = at.or(last).unwrap_or_else(|| "1970-01-01T00:00:00.000Z".to_owned());
        conversation.note_facts(&line);
        match kind {
            "assistant" => conversation.answer(&at, &line),
            "user" => conversation.user(&at, &line),
            _ => conversation.attachment(&at, &line["attachment"]),
        }
    }

    /// The conversation that a line belongs to.
    fn conversation(&mut self, line: &Value) -> Option<&mut Conversation> {
        let text = |name: &str| line[name].as_str().unwrap_or_default();
        let uuid = text("uuid").to_owned();
        let agent = if line["isSidechain"] != Value::Bool(true) {
            String::new()
        } else if !text("agentId").is_empty() {
            text("agentId").to_owned()
        } else {
            // Older versions do not name the subagent: its lines follow one another from the first one on.
            let root = self.chains.get(text("parentUuid")).cloned().unwrap_or_else(|| uuid.clone());
            self.chains.insert(uuid, root.clone());
            root
        };
        let place = match self.conversations.iter().position(|it| it.agent == agent) {
            Some(place) => place,
            None if self.conversations.len() < N_CONVERSATIONS_MAX => {
                self.conversations.push(Conversation::new(agent, text("sessionId")));
                self.conversations.len() - 1
            }
            None => return None,
        };
        self.conversations.get_mut(place)
    }

    /// The conversations of the file.
    pub fn finish(self) -> Vec<OtherSession> {
        let Self { stem, title, conversations, .. } = self;
        let finish = |conversation: Conversation| {
            let Conversation { agent, session, entries, facts, .. } = conversation;
            let entries = entries.into_iter().flatten().collect();
            // A file is named by its session; the lines of a session that was copied name the one that it came from.
            let main = if uuid::Uuid::parse_str(&stem).is_ok() { stem.as_str() } else { session.as_str() };
            let main = session_id(main, PROGRAM);
            if agent.is_empty() {
                return OtherSession { id: main, title: title.clone(), entries, ..facts };
            }
            OtherSession { id: session_id(&agent, &main), parent: Some(main), entries, ..facts }
        };
        conversations.into_iter().map(finish).collect()
    }
}

impl Conversation {
    fn new(agent: String, session: &str) -> Self {
        Self {
            agent,
            session: session.to_owned(),
            entries: Vec::new(),
            answers: HashMap::new(),
            settings: (String::new(), String::new(), true),
            turn: String::new(),
            asks: true,
            facts: OtherSession { program: PROGRAM, ..OtherSession::default() },
        }
    }

    fn note_facts(&mut self, line: &Value) {
        let first = |to: &mut String, name: &str| {
            if let Some(text) = line[name].as_str().filter(|_| to.is_empty()) {
                text.clone_into(to);
            }
        };
        first(&mut self.facts.cwd, "cwd");
        first(&mut self.facts.version, "version");
        if let Some(branch) = line["gitBranch"].as_str().filter(|branch| !branch.is_empty()) {
            self.facts.branch.get_or_insert_with(|| branch.to_owned());
        }
        if let Some(mode) = line["permissionMode"].as_str() {
            self.asks = mode != "bypassPermissions";
        }
    }

    fn push(&mut self, at: &str, entry: OtherEntry) -> usize {
        self.entries.push(Some((at.to_owned(), entry)));
        self.entries.len() - 1
    }

    fn push_items(&mut self, at: &str, items: Vec<Item>) {
        self.entries.extend(items.into_iter().map(|item| Some((at.to_owned(), OtherEntry::Item(item)))));
    }

    fn user(&mut self, at: &str, line: &Value) {
        let message = &line["message"];
        let items = items("user", &message["content"]);
        let said = said(&items).filter(|_| line["isMeta"] != Value::Bool(true));
        if line["isCompactSummary"] == Value::Bool(true) {
            self.push(at, OtherEntry::Summary(said.unwrap_or_default()));
            self.push_items(at, items);
            return;
        }
        self.push_items(at, items);
        if let Some(said) = said {
            let name = ["promptId", "uuid"].into_iter().find_map(|name| line[name].as_str());
            self.turn = name.unwrap_or_default().to_owned();
            self.push(at, OtherEntry::Said(said));
        }
    }

    fn answer(&mut self, at: &str, line: &Value) {
        let message = &line["message"];
        // The agent's own message about a request that failed is not sent to the model.
        if line["isApiErrorMessage"] == Value::Bool(true) {
            return;
        }
        let model = message["model"].as_str().unwrap_or_default();
        let usage = usage(&message["usage"]).filter(|_| model != NO_MODEL);
        if usage.is_some() {
            let settings = (model.to_owned(), self.turn.clone(), self.asks);
            if self.settings != settings {
                self.settings = settings;
                let (turn, asks) = (self.turn.clone(), self.asks);
                self.push(at, OtherEntry::Settings { model: model.to_owned(), turn, asks });
            }
        }
        self.push_items(at, items("assistant", &message["content"]));
        let Some(usage) = usage else {
            return;
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let key = (text(&message["id"]), text(&line["requestId"]));
        let known = self.answers.get(&key).filter(|_| key != (String::new(), String::new())).copied();
        // Usage is behind the last block. A line that was written while the answer came may have fewer tokens of it.
        let before = known.and_then(|place| self.entries[place].take());
        let usage = match before {
            Some((_, OtherEntry::Answered(before))) if before.usage.output_tokens > usage.usage.output_tokens => before,
            _ => usage,
        };
        let place = self.push(at, OtherEntry::Answered(usage));
        self.answers.insert(key, place);
    }

    fn attachment(&mut self, at: &str, attachment: &Value) {
        let lines = attachment["addedLines"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let text = attachment["content"].as_str().map_or_else(|| lines.collect::<Vec<_>>().join("\n"), str::to_owned);
        if !text.is_empty() {
            self.push(at, OtherEntry::Item(Item::text("user", text)));
        }
    }
}

/// What a person said, if the items are a message of a person: text that no tag of the agent surrounds.
fn said(items: &[Item]) -> Option<String> {
    let texts = items.iter().map(|item| match item {
        Item::Message { content, .. } => match &content[..] {
            [pellucid_protocol::item::ContentPart::InputText { text }] => Some(text.as_str()),
            _ => None,
        },
        _ => None,
    });
    let texts: Vec<&str> = texts.collect::<Option<_>>()?;
    let text = texts.into_iter().filter(|text| !text.trim_start().starts_with('<')).collect::<Vec<_>>().join("\n");
    (!text.trim().is_empty()).then_some(text)
}

/// The items of a message.
fn items(role: &str, content: &Value) -> Vec<Item> {
    if let Some(text) = content.as_str() {
        return vec![Item::text(role, text)];
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let item = |block: &Value| match block["type"].as_str()? {
        "text" => Some(Item::text(role, block["text"].as_str()?)),
        "thinking" => Some(Item::Reasoning {
            id: None,
            summary: vec![ReasoningSummaryPart::SummaryText { text: block["thinking"].as_str()?.to_owned() }],
            content: None,
            encrypted_content: block["signature"].as_str().map(str::to_owned),
        }),
        "tool_use" => Some(Item::FunctionCall {
            id: None,
            name: text(&block["name"]),
            arguments: block["input"].to_string(),
            call_id: text(&block["id"]),
        }),
        "tool_result" => {
            let output = ToolOutput::Text(joined(&block["content"]));
            Some(Item::FunctionCallOutput { call_id: text(&block["tool_use_id"]), output })
        }
        _ => None,
    };
    content.as_array().into_iter().flatten().filter_map(item).collect()
}

/// The texts of an output.
fn joined(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|it| it["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

fn usage(usage: &Value) -> Option<OtherUsage> {
    let tokens = |value: &Value| value.as_i64().filter(|tokens| (0..=TOKENS_MAX).contains(tokens));
    let (uncached, output) = (tokens(&usage["input_tokens"])?, tokens(&usage["output_tokens"])?);
    let read = tokens(&usage["cache_read_input_tokens"]).unwrap_or(0);
    let cache_write = tokens(&usage["cache_creation_input_tokens"]);
    let cache_write_1h = tokens(&usage["cache_creation"]["ephemeral_1h_input_tokens"]);
    let input_tokens = uncached + read + cache_write.unwrap_or(0);
    let usage = TokenUsage {
        input_tokens,
        cached_input_tokens: read,
        output_tokens: output,
        reasoning_output_tokens: 0,
        total_tokens: input_tokens + output,
    };
    let cache_write_1h = cache_write_1h.map(|tokens| tokens.min(cache_write.unwrap_or(0)));
    (input_tokens > 0).then_some(OtherUsage { usage, cache_write, cache_write_1h })
}
