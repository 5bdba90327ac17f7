//! Context events: what requests to models are made of, for clients that ask for it.

use pellucid_protocol::context_event::ContextMessage;
use pellucid_protocol::event::EventMessage;
use serde::Serialize;

/// A context event as a notification. The protocol of the Codex CLI lacks it, so it is not a
/// [`ServerNotification`](crate::types::notification::ServerNotification) and is in no schema.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextNotification {
    method: &'static str,
    params: ContextParams,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ContextParams {
    thread_id: String,
    turn_id: String,
    event: ContextMessage,
}

impl ContextNotification {
    /// The JSON-RPC method of context events.
    pub const METHOD: &'static str = "context/event";

    /// The notification of an event; `None` if the event is not about the context.
    pub fn of(thread_id: &str, turn_id: &str, event: &EventMessage) -> Option<Self> {
        let event = ContextMessage::of(event)?;
        let params = ContextParams { thread_id: thread_id.to_owned(), turn_id: turn_id.to_owned(), event };
        Some(Self { method: Self::METHOD, params })
    }
}
