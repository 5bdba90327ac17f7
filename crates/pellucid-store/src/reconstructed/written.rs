//! A conversation of another agent in the form of a session file.

use std::io;
use std::io::Write;

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::usage::TokenUsage;
use pellucid_protocol::usage::TokenUsageInfo;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

use super::OtherEntry;
use super::OtherSession;
use super::OtherUsage;
use crate::record::Compacted;
use crate::record::Record;
use crate::record::RecordedGit;
use crate::record::SessionMeta;
use crate::token_counts::CACHE_WRITE;
use crate::token_counts::CACHE_WRITE_1H;

/// Writes the lines of a session. A listed session has no items.
///
/// # Errors
/// When the lines cannot be written.
pub fn write(session: &OtherSession, is_listed: bool, to: &mut dyn Write) -> io::Result<()> {
    let began = session.entries.first().map(|(at, _)| at.clone()).unwrap_or_default();
    let meta = SessionMeta {
        id: session.id.clone(),
        forked_from_id: None,
        timestamp: began.clone(),
        cwd: session.cwd.clone(),
        originator: session.program.to_owned(),
        cli_version: session.version.clone(),
        source: match &session.parent {
            Some(parent) => json!({ "subagent": { "thread_spawn": { "parent_thread_id": parent, "depth": 1 } } }),
            None => Value::from(session.program),
        },
        model_provider: None,
        base_instructions: None,
        dynamic_tools: None,
        git: session.branch.clone().map(|branch| RecordedGit { branch: Some(branch), ..RecordedGit::default() }),
    };
    line(to, &began, &Record::SessionMeta(Box::new(meta)))?;
    let mut total = TokenUsage::default();
    for (at, entry) in &session.entries {
        match entry {
            OtherEntry::Settings { model, turn, asks } => {
                let policy = if *asks { "on-request" } else { "never" };
                let settings = json!({
                    "turn_id": turn, "cwd": session.cwd, "approval_policy": policy,
                    "sandbox_policy": { "type": "danger-full-access" }, "model": model, "summary": "auto",
                });
                line(to, at, &Payload { kind: "turn_context", payload: settings })?;
            }
            OtherEntry::Item(item) if !is_listed => {
                line(to, at, &Record::ResponseItem(item.clone()))?;
                if let Some(message) = answer(item) {
                    line(to, at, &Record::EventMsg(EventMessage::AgentMessage { message }))?;
                }
            }
            OtherEntry::Item(_) => {}
            OtherEntry::Said(message) => {
                let message = message.clone();
                let (images, local_images, text_elements) = (Vec::new(), Vec::new(), Vec::new());
                let said = EventMessage::UserMessage { message, images, local_images, text_elements };
                line(to, at, &Record::EventMsg(said))?;
            }
            OtherEntry::Summary(message) => {
                let message = message.clone();
                line(to, at, &Record::Compacted(Compacted { message, replacement_history: None }))?;
            }
            OtherEntry::Answered(usage) => {
                total.add(&usage.usage);
                line(to, at, &Payload { kind: "event_msg", payload: token_count(total, usage)? })?;
            }
        }
    }
    Ok(())
}

/// A token count, with what the format of session files has no place for.
fn token_count(total: TokenUsage, usage: &OtherUsage) -> io::Result<Value> {
    let info = TokenUsageInfo { total_token_usage: total, last_token_usage: usage.usage, model_context_window: None };
    let mut event = serde_json::to_value(EventMessage::TokenCount { info: Some(info), rate_limits: None })?;
    for (name, tokens) in [(CACHE_WRITE, usage.cache_write), (CACHE_WRITE_1H, usage.cache_write_1h)] {
        if let Some(tokens) = tokens {
            event["info"][name] = tokens.into();
        }
    }
    Ok(event)
}

/// The text of an answer, for people.
fn answer(item: &Item) -> Option<String> {
    match item {
        Item::Message { role, content, .. } if role == "assistant" => {
            let texts = content.iter().filter_map(|part| match part {
                ContentPart::OutputText { text } => Some(text.as_str()),
                _ => None,
            });
            Some(texts.collect())
        }
        _ => None,
    }
}

/// A record whose payload is a value.
#[derive(Serialize)]
struct Payload {
    #[serde(rename = "type")]
    kind: &'static str,
    payload: Value,
}

fn line(to: &mut dyn Write, at: &str, record: &impl Serialize) -> io::Result<()> {
    #[derive(Serialize)]
    struct Line<'a, R> {
        timestamp: &'a str,
        #[serde(flatten)]
        record: &'a R,
    }
    serde_json::to_writer(&mut *to, &Line { timestamp: at, record })?;
    to.write_all(b"\n")
}
