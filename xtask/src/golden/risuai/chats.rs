//! How chats and results are written in the vectors.

use pellucid_engine::memory::ask::SummaryMessage;
use pellucid_engine::memory::entry::{ChatEntry, ChatRole, EntryPart};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::golden::cases::same;

/// The memo of the entry that opens a chat.
pub const NEW_CHAT: &str = "NewChat";
/// The memo of the entry that opens an example.
pub const NEW_CHAT_EXAMPLE: &str = "NewChatExample";

/// The content of an entry: a text, numbered words, or paragraphs.
#[derive(Deserialize, Clone)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Words(NumberedWords),
    Parts(Parts),
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct NumberedWords {
    w: (String, usize),
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    parts: Vec<Content>,
}

impl Content {
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Words(NumberedWords { w: (prefix, count) }) => {
                (1..=*count).map(|n| format!("{prefix}{n}")).collect::<Vec<_>>().join(" ")
            }
            Self::Parts(Parts { parts }) => parts.iter().map(Self::text).collect::<Vec<_>>().join("\n\n"),
        }
    }
}

/// An entry as an input writes it.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Chat {
    pub role: ChatRole,
    pub content: Content,
    pub memo: Option<String>,
    pub name: Option<String>,
}

impl Chat {
    pub fn entry(&self) -> ChatEntry {
        let mut entry = ChatEntry::new(self.role, self.content.text());
        entry.memo.clone_from(&self.memo);
        entry.name.clone_from(&self.name);
        entry.part = match (self.memo.as_deref(), self.name.as_deref()) {
            (Some(NEW_CHAT), _) => EntryPart::Opening,
            (Some(NEW_CHAT_EXAMPLE), _) | (_, Some("example_user" | "example_assistant")) => EntryPart::Example,
            _ => EntryPart::Message,
        };
        entry
    }
}

pub fn entries(chats: &[Chat]) -> Vec<ChatEntry> {
    chats.iter().map(Chat::entry).collect()
}

/// An entry as a result writes it.
pub fn shown(entry: &ChatEntry) -> Value {
    let mut row = Map::new();
    row.insert("role".into(), json!(entry.role.word()));
    row.insert("content".into(), json!(entry.content));
    let memo = match entry.part {
        EntryPart::Memory => Some("supaMemory"),
        EntryPart::Fragments => Some("hypaMemory"),
        EntryPart::Message | EntryPart::Opening | EntryPart::Example => entry.memo.as_deref(),
    };
    if let Some(memo) = memo {
        row.insert("memo".into(), json!(memo));
    }
    if let Some(name) = &entry.name {
        row.insert("name".into(), json!(name));
    }
    if entry.is_removable {
        row.insert("removable".into(), json!(true));
    }
    Value::Object(row)
}

/// Compares entries with those expected, in which `in_range` represents entries of the input.
pub fn compare(found: &[ChatEntry], expected: &[Value], input: &[ChatEntry]) -> Result<(), String> {
    let mut rows = Vec::new();
    for row in expected {
        match row.get("in_range").and_then(Value::as_array).map(Vec::as_slice) {
            Some([from, to]) => {
                let at = |value: &Value| value.as_u64().and_then(|at| usize::try_from(at).ok());
                let range = at(from).zip(at(to)).and_then(|(from, to)| input.get(from..=to));
                rows.extend(range.ok_or_else(|| format!("no such range: {row}"))?.iter().map(shown));
            }
            Some(_) => return Err(format!("no range: {row}")),
            None => rows.push(row.clone()),
        }
    }
    let found: Vec<Value> = found.iter().map(shown).collect();
    same_texts("chats", &Value::Array(found), &Value::Array(rows))
}

/// Compares requests for summaries.
pub fn compare_asked(found: &[Vec<SummaryMessage>], expected: Option<&Value>) -> Result<(), String> {
    let message = |it: &SummaryMessage| json!({ "role": it.role.word(), "content": it.content });
    let row = |messages: &Vec<SummaryMessage>| Value::Array(messages.iter().map(message).collect());
    let found = Value::Array(found.iter().map(row).collect());
    same_texts("summarizer inputs", &found, expected.unwrap_or(&json!([])))
}

/// Compares values in which a long text may be a digest.
pub fn same_texts(what: &str, found: &Value, expected: &Value) -> Result<(), String> {
    same(what, &digested(found, expected), expected)
}

/// The found value with digests where the expected one has them.
fn digested(found: &Value, expected: &Value) -> Value {
    match (found, expected) {
        (Value::String(text), Value::Object(fields)) if fields.contains_key("sha256") => digest(text),
        (Value::Array(found), Value::Array(expected)) => {
            let pad = std::iter::repeat(&Value::Null);
            found.iter().zip(expected.iter().chain(pad)).map(|(a, b)| digested(a, b)).collect()
        }
        (Value::Object(found), Value::Object(expected)) => {
            let row = |(key, value): (&String, &Value)| {
                (key.clone(), digested(value, expected.get(key).unwrap_or(&Value::Null)))
            };
            Value::Object(found.iter().map(row).collect())
        }
        (found, _) => found.clone(),
    }
}

fn digest(text: &str) -> Value {
    let hash: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let chars: Vec<char> = text.chars().collect();
    let head: String = chars.iter().take(60).collect();
    let tail: String = chars.iter().skip(chars.len().saturating_sub(40)).collect();
    json!({ "sha256": hash, "chars": chars.len(), "head": head, "tail": tail })
}
