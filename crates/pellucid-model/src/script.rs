//! The embedded scripted model: replies written down beforehand.
//!
//! For demonstrations, tests and work without a network. A script is TOML or JSON Lines:
//!
//! ```toml
//! [[reply]]
//! think = "Looking at the folder first."     # a summary; several paragraphs as a list
//! say = "I will make a plan."
//! call = [{ name = "update_plan", args = { plan = [{ step = "Look", status = "pending" }] } }]
//! usage = { input = 1200, cached = 800, output = 40, reasoning = 10 }
//!
//! [[reply]]
//! items = [                                  # any order and number
//!   { say = "First this.", phase = "commentary" },
//!   { call = { name = "apply_patch", input = "*** Begin Patch\n*** End Patch", id = "call-1" } },
//!   { type = "web_search_call", status = "completed" },   # an item as the wire has it
//! ]
//! deltas = false                             # whole texts only
//! delay_ms = 20                              # before the reply begins
//!
//! [[reply]]
//! error = { status = 429, body = { error = { type = "usage_limit_reached" } } }
//! # or: error = { failed = "rate_limit_exceeded", message = "try again in 1s" }
//! # or: error = { incomplete = "max_output_tokens" }
//! # or: error = { cut = true }
//! ```
//!
//! Each request takes the next reply. A reply with `contains` is for every request whose texts contain all that it lists; such
//! a reply is never used up, and the first that matches wins:
//!
//! ```toml
//! [[reply]]
//! contains = ["Answer in rhyme.", "hello"]
//! say = "What a delight, hello to you, tonight."
//! ```
//!
//! What comes out went through the decoder of the wire, so a
//! script behaves as a server would. A status counts as final: there is no network to try again.
//!
//! A recording (see [`crate::recording`]) is a script as well. It lists `events` as they came,
//! errors by their `kind`, a provider's own summaries as `compact`, and says in `[provider]` what
//! decides about requests.

mod error_form;
mod event_form;
mod form;
mod provider_form;

use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::StatusCode;
use jiff::Zoned;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use serde::Deserialize;
use serde_json::Value;
use serde_json::json;

use crate::failure;
use crate::failure::RefusedResponse;
use crate::response_headers;

pub(crate) use error_form::RecordedError;
pub(crate) use event_form::EventForm;
pub(crate) use event_form::WholeItem;
pub(crate) use event_form::without_nulls;
pub(crate) use provider_form::ProviderForm;

/// The size limit of a script: recordings of many replies are long.
const SCRIPT_BYTES_MAX: u64 = 1 << 30;

/// How many characters a piece of a text has.
const DELTA_CHARS: usize = 24;

/// Replies to play, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    name: String,
    provider: ProviderForm,
    replies: Vec<ScriptReply>,
}

/// One reply of a script.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "form::ReplyForm")]
pub struct ScriptReply {
    /// Items of the wire, still without ids.
    items: Vec<Value>,
    /// The events of a recorded reply, instead of items.
    events: Option<Vec<ReplyEvent>>,
    /// The items of a provider's summary, instead of a reply.
    compact: Option<Vec<Item>>,
    /// The usage, in the format of the wire.
    usage: Option<Value>,
    ending: Ending,
    deltas: bool,
    delay: Duration,
    /// The texts that a request must contain to get this reply, whenever it comes.
    contains: Option<Vec<String>>,
}

/// How a scripted reply ends.
#[derive(Debug, Clone, PartialEq)]
enum Ending {
    Completed,
    /// The stream reports an error.
    Failed {
        code: Option<String>,
        message: Option<String>,
    },
    Incomplete(String),
    /// The stream ends in the middle.
    Cut,
    /// There is no stream, only a status.
    Status {
        status: StatusCode,
        body: String,
    },
    /// The error that was recorded.
    Error(ReplyError),
}

/// The reply to one request.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// The first events, and for a recorded reply all of them.
    pub events: Vec<ReplyEvent>,
    /// The data of the stream's events.
    pub payloads: Vec<String>,
    /// The error that ends the reply, unless its last event ends it.
    pub error: Option<ReplyError>,
}

/// Why a script cannot be played.
#[expect(missing_docs, reason = "the messages of the variants name the fields")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("could not read the script {path}: {source}")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The text is not a script.
    #[error("{name}:{line}:{column}: {message}")]
    Invalid {
        /// The script's name in messages.
        name: String,
        /// The line of the error, counted from 1.
        line: usize,
        /// The column of the error, counted from 1.
        column: usize,
        /// What is wrong, and what is allowed.
        message: String,
    },
}

/// The format of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Toml,
    JsonLines,
}

impl Script {
    /// Reads a script from a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is not a script.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = pellucid_files::read_given(path, SCRIPT_BYTES_MAX)
            .map_err(|source| ScriptError::Read { path: path.to_owned(), source })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads a script from a text. The extension of the name decides the format (`toml`, `jsonl`, `json`), else the
    /// text does.
    ///
    /// # Errors
    ///
    /// When the text is not a script; the error says where and what is allowed there.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        let (provider, replies) = match format(name, text) {
            Format::Toml => parse_toml(name, text)?,
            Format::JsonLines => parse_json_lines(name, text)?,
        };
        Ok(Self { name: name.to_owned(), provider, replies })
    }

    /// The provider that the script replaces.
    pub fn provider(&self) -> Provider {
        self.provider.provider()
    }

    /// How many replies the script has.
    pub fn n_replies(&self) -> usize {
        self.replies.len()
    }

    /// The reply that a request gets because of its texts, if there is one.
    pub(crate) fn matching(&self, body: &[Bytes]) -> Option<&ScriptReply> {
        if self.replies.iter().all(|reply| reply.contains.is_none()) {
            return None;
        }
        let body: Value = serde_json::from_slice(&body.concat()).ok()?;
        let mut texts = String::new();
        add_texts(&body, &mut texts);
        let is_meant = |wanted: &Vec<String>| wanted.iter().all(|text| texts.contains(text.as_str()));
        self.replies.iter().find(|reply| reply.contains.as_ref().is_some_and(is_meant))
    }

    /// The reply to request `number`, counted from 1. `matching` is the reply that its texts ask for; without one it is reply
    /// `turn` of the others, counted from 1.
    pub(crate) async fn play(
        &self,
        number: usize,
        turn: usize,
        matching: Option<&ScriptReply>,
    ) -> Result<Played, ReplyError> {
        let reply = match matching {
            Some(reply) => reply.begun().await?,
            None => self.reply(turn).await?,
        };
        if reply.compact.is_some() {
            return Err(self.mismatch(number, "is a provider's summary, but a reply was requested"));
        }
        let (events, payloads) = match &reply.events {
            Some(events) => (events.clone(), reply.ending_payload(&response_id(number)).into_iter().collect()),
            None => {
                if reply.items.is_empty()
                    && let Some(error) = reply.error()
                {
                    return Err(error);
                }
                (response_headers::events(&HeaderMap::new()), reply.payloads(number))
            }
        };
        let payloads = payloads.iter().map(Value::to_string).collect();
        Ok(Played { events, payloads, error: reply.error() })
    }

    /// The summary for request `number`, counted from 1.
    pub(crate) async fn play_summary(&self, number: usize) -> Result<Vec<Item>, ReplyError> {
        let reply = self.reply(number).await?;
        match (&reply.compact, reply.error()) {
            (Some(items), None) => Ok(items.clone()),
            (_, Some(error)) => Err(error),
            (None, None) => Err(self.mismatch(number, "is not a provider's summary, but one was requested")),
        }
    }

    async fn reply(&self, number: usize) -> Result<&ScriptReply, ReplyError> {
        let in_turn = || self.replies.iter().filter(|reply| reply.contains.is_none());
        let Some(reply) = number.checked_sub(1).and_then(|index| in_turn().nth(index)) else {
            let n_replies = in_turn().count();
            let replies = if n_replies == 1 { "reply" } else { "replies" };
            return Err(ReplyError::new(
                ReplyErrorKind::Local,
                format!("the script {} has no reply for request {number}, it has {n_replies} {replies}", self.name),
            ));
        };
        reply.begun().await
    }

    fn mismatch(&self, number: usize, what: &str) -> ReplyError {
        ReplyError::new(ReplyErrorKind::Local, format!("reply {number} of the script {} {what}", self.name))
    }
}

fn response_id(number: usize) -> String {
    format!("resp_{number}")
}

/// Adds every text of a JSON value, with a mark between two texts.
fn add_texts(value: &Value, texts: &mut String) {
    match value {
        Value::String(text) => {
            texts.push_str(text);
            texts.push('\0');
        }
        Value::Array(values) => values.iter().for_each(|value| add_texts(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| add_texts(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl ScriptReply {
    /// The reply, after its delay; an error if it is only a status.
    async fn begun(&self) -> Result<&Self, ReplyError> {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        if let Ending::Status { status, body } = &self.ending {
            return Err(failure::refused(&RefusedResponse {
                status: *status,
                address: None,
                headers: &HeaderMap::new(),
                body,
                now: &Zoned::now(),
                key: None,
            }));
        }
        Ok(self)
    }

    fn error(&self) -> Option<ReplyError> {
        match &self.ending {
            Ending::Error(error) => Some(error.clone()),
            _ => None,
        }
    }

    fn payloads(&self, number: usize) -> Vec<Value> {
        let id = response_id(number);
        let mut payloads = vec![json!({ "type": "response.created", "response": { "id": id } })];
        for (index, item) in self.items.iter().enumerate() {
            let item = with_ids(item, number, index + 1);
            payloads.push(json!({ "type": "response.output_item.added", "item": announced(&item) }));
            if self.deltas {
                payloads.extend(deltas(&item));
            }
            payloads.push(json!({ "type": "response.output_item.done", "item": item }));
        }
        if self.ending == Ending::Completed {
            let response = json!({ "id": id, "usage": self.usage });
            payloads.push(json!({ "type": "response.completed", "response": response }));
        }
        payloads.extend(self.ending_payload(&id));
        payloads
    }

    /// The event with which the stream reports its error.
    fn ending_payload(&self, id: &str) -> Option<Value> {
        match &self.ending {
            Ending::Failed { code, message } => {
                let response = json!({ "id": id, "error": { "code": code, "message": message } });
                Some(json!({ "type": "response.failed", "response": response }))
            }
            Ending::Incomplete(reason) => {
                let response = json!({ "id": id, "incomplete_details": { "reason": reason } });
                Some(json!({ "type": "response.incomplete", "response": response }))
            }
            Ending::Completed | Ending::Cut | Ending::Status { .. } | Ending::Error(_) => None,
        }
    }
}

/// Gives an item the ids that it lacks, the same ones in every run.
fn with_ids(item: &Value, number: usize, index: usize) -> Value {
    let mut item = item.clone();
    let (prefix, has_call_id) = match item["type"].as_str() {
        Some("message") => ("msg", false),
        Some("reasoning") => ("rs", false),
        Some("function_call") => ("fc", true),
        Some("custom_tool_call") => ("ctc", true),
        Some("local_shell_call") => ("lsh", true),
        Some("web_search_call") => ("ws", false),
        _ => return item,
    };
    if item["id"].is_null() {
        item["id"] = json!(format!("{prefix}_{number}_{index}"));
    }
    if has_call_id && item["call_id"].is_null() {
        item["call_id"] = json!(format!("call_{number}_{index}"));
    }
    item
}

/// The item as it is announced, before its text has come.
fn announced(item: &Value) -> Value {
    let mut item = item.clone();
    match item["type"].as_str() {
        Some("message") => item["content"] = json!([]),
        Some("reasoning") => {
            item["summary"] = json!([]);
            item["encrypted_content"] = Value::Null;
        }
        _ => {}
    }
    item
}

fn deltas(item: &Value) -> Vec<Value> {
    let parts = |key: &str| item[key].as_array().into_iter().flatten().enumerate();
    let text = |part: &Value| part["text"].as_str().unwrap_or_default().to_owned();
    let mut payloads = Vec::new();
    match item["type"].as_str() {
        Some("message") => {
            for (_, part) in parts("content") {
                for piece in pieces(&text(part)) {
                    payloads.push(json!({ "type": "response.output_text.delta", "delta": piece }));
                }
            }
        }
        Some("reasoning") => {
            for (index, part) in parts("summary") {
                payloads.push(json!({ "type": "response.reasoning_summary_part.added", "summary_index": index }));
                for piece in pieces(&text(part)) {
                    payloads.push(json!({
                        "type": "response.reasoning_summary_text.delta",
                        "delta": piece,
                        "summary_index": index,
                    }));
                }
            }
        }
        _ => {}
    }
    payloads
}

fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(DELTA_CHARS).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn format(name: &str, text: &str) -> Format {
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("toml") => Format::Toml,
        Some("jsonl" | "json") => Format::JsonLines,
        _ if text.trim_start().starts_with('{') => Format::JsonLines,
        _ => Format::Toml,
    }
}

fn parse_toml(name: &str, text: &str) -> Result<(ProviderForm, Vec<ScriptReply>), ScriptError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        provider: ProviderForm,
        #[serde(default)]
        reply: Vec<ScriptReply>,
    }
    toml::from_str::<File>(text).map(|file| (file.provider, file.reply)).map_err(|error| {
        let before = &text[..error.span().map_or(0, |span| text.floor_char_boundary(span.start))];
        ScriptError::Invalid {
            name: name.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
            message: error.message().to_owned(),
        }
    })
}

fn parse_json_lines(name: &str, text: &str) -> Result<(ProviderForm, Vec<ScriptReply>), ScriptError> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).peekable();
    let provider = match lines.peek() {
        Some((_, line)) if is_head(line) => lines.next().map(|(index, line)| parse_line::<Head>(name, index, line)),
        _ => None,
    };
    let provider = provider.transpose()?.map_or_else(ProviderForm::default, |head| head.provider);
    let replies = lines.map(|(index, line)| parse_line(name, index, line)).collect::<Result<_, _>>()?;
    Ok((provider, replies))
}

/// The first line of JSON Lines, if it describes the provider.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    provider: ProviderForm,
}

fn is_head(line: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, Value>>(line).is_ok_and(|line| line.contains_key("provider"))
}

fn parse_line<T: serde::de::DeserializeOwned>(name: &str, index: usize, line: &str) -> Result<T, ScriptError> {
    serde_json::from_str(line).map_err(|error| {
        let text = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        ScriptError::Invalid {
            name: name.to_owned(),
            line: index + 1,
            column: error.column(),
            message: text.strip_suffix(&place).unwrap_or(&text).to_owned(),
        }
    })
}

#[cfg(test)]
mod tests;
