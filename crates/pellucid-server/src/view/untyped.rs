//! Events under their own names, for clients of the first version.

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawItems;
use serde::Serialize;
use serde_json::value::RawValue;

/// An event as a notification.
#[derive(Debug, Clone, Serialize)]
pub struct Untyped {
    /// `codex/event/` and the event's type.
    pub method: String,
    /// The event.
    pub params: UntypedParams,
}

/// The event, with the thread it happened in.
#[derive(Debug, Clone, Serialize)]
pub struct UntypedParams {
    /// The turn.
    pub id: String,
    /// What happened.
    pub msg: Box<RawValue>,
    /// The thread.
    #[serde(rename = "conversationId")]
    pub conversation_id: String,
}

impl Untyped {
    /// The event as a notification. Absent for what clients have no word for, or learn as an answer.
    pub fn of(thread_id: &str, turn_id: &str, event: &EventMessage, raw_items: RawItems) -> Option<Self> {
        match event {
            EventMessage::RawResponseItem { .. } if raw_items == RawItems::Hidden => return None,
            EventMessage::SessionConfigured(_)
            | EventMessage::ContextElsewhere { .. }
            | EventMessage::ContextReport(_)
            | EventMessage::ContextCacheBreak(_)
            | EventMessage::ContextResumeCost(_)
            | EventMessage::ContextFileChanged { .. }
            | EventMessage::ContextCutOff { .. }
            | EventMessage::ContextRefusal { .. }
            | EventMessage::ContextUsage { .. }
            | EventMessage::ContextDocument { .. }
            | EventMessage::ContextOmission { .. }
            | EventMessage::ToolCallFailed { .. }
            | EventMessage::ContextCompaction { .. }
            | EventMessage::ContextReinjection { .. }
            | EventMessage::ContextInjection { .. } => return None,
            _ => {}
        }
        let msg = serde_json::value::to_raw_value(event).ok()?;
        // The type is the first member, as events are written.
        let name = msg.get().strip_prefix("{\"type\":\"")?.split('"').next()?;
        let method = format!("codex/event/{name}");
        let params = UntypedParams { id: turn_id.to_owned(), msg, conversation_id: thread_id.to_owned() };
        Some(Self { method, params })
    }
}
