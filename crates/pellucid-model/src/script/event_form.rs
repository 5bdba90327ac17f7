//! How the events of a recorded reply are written: one entry for each, in their order.
//!
//! A recording keeps events as the decoder emitted them, so it is the same for every wire and plays back to the same
//! events. One type is both read and written, so the two cannot diverge.

use pellucid_protocol::item::Item;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::usage::RateLimitSnapshot;
use pellucid_protocol::usage::TokenUsage;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use serde_json::Value;
use serde_json::json;

/// One event of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum EventForm {
    Created,
    Added(WholeItem),
    Done(WholeItem),
    Text(String),
    SummaryPart(i64),
    Summary {
        part: i64,
        text: String,
    },
    Thought {
        part: i64,
        text: String,
    },
    ServerModel(String),
    RateLimits(RateLimitSnapshot),
    ReasoningIncluded,
    TurnState(String),
    CacheWritten(i64),
    CacheReadUnknown,
    Completed {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<TokenUsage>,
    },
}

/// An item with all its fields, also those that requests omit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WholeItem(pub Item);

impl Serialize for WholeItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = serde_json::to_value(&self.0).map_err(serde::ser::Error::custom)?;
        if let Some(id) = self.0.server_id() {
            value["id"] = json!(id);
        }
        if let Item::Reasoning { content: Some(content), .. } = &self.0 {
            value["content"] = json!(content);
        }
        without_nulls(&mut value);
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for WholeItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Item::deserialize(deserializer).map(Self)
    }
}

/// Removes absent values: TOML has no `null`, and all of them may be missing.
pub(crate) fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(table) => {
            table.retain(|_, value| !value.is_null());
            table.values_mut().for_each(without_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

impl From<ReplyEvent> for EventForm {
    fn from(event: ReplyEvent) -> Self {
        match event {
            ReplyEvent::Created => Self::Created,
            ReplyEvent::ItemAdded(item) => Self::Added(WholeItem(item)),
            ReplyEvent::ItemDone(item) => Self::Done(WholeItem(item)),
            ReplyEvent::TextDelta(text) => Self::Text(text),
            ReplyEvent::SummaryPartAdded { summary_index } => Self::SummaryPart(summary_index),
            ReplyEvent::SummaryDelta { delta, summary_index } => Self::Summary { part: summary_index, text: delta },
            ReplyEvent::RawReasoningDelta { delta, content_index } => {
                Self::Thought { part: content_index, text: delta }
            }
            ReplyEvent::ServerModel(model) => Self::ServerModel(model),
            ReplyEvent::RateLimits(limits) => Self::RateLimits(limits),
            ReplyEvent::ReasoningIncluded => Self::ReasoningIncluded,
            ReplyEvent::TurnState(state) => Self::TurnState(state),
            ReplyEvent::CacheWritten(tokens) => Self::CacheWritten(tokens),
            ReplyEvent::CacheReadUnknown => Self::CacheReadUnknown,
            ReplyEvent::Completed { response_id, usage } => Self::Completed { id: response_id, usage },
        }
    }
}

impl From<EventForm> for ReplyEvent {
    fn from(form: EventForm) -> Self {
        match form {
            EventForm::Created => Self::Created,
            EventForm::Added(item) => Self::ItemAdded(item.0),
            EventForm::Done(item) => Self::ItemDone(item.0),
            EventForm::Text(text) => Self::TextDelta(text),
            EventForm::SummaryPart(summary_index) => Self::SummaryPartAdded { summary_index },
            EventForm::Summary { part, text } => Self::SummaryDelta { delta: text, summary_index: part },
            EventForm::Thought { part, text } => Self::RawReasoningDelta { delta: text, content_index: part },
            EventForm::ServerModel(model) => Self::ServerModel(model),
            EventForm::RateLimits(limits) => Self::RateLimits(limits),
            EventForm::ReasoningIncluded => Self::ReasoningIncluded,
            EventForm::TurnState(state) => Self::TurnState(state),
            EventForm::CacheWritten(tokens) => Self::CacheWritten(tokens),
            EventForm::CacheReadUnknown => Self::CacheReadUnknown,
            EventForm::Completed { id, usage } => Self::Completed { response_id: id, usage },
        }
    }
}
