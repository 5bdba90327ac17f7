//! Events under their protocol version 1 names.

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawItems;
use serde::Serialize;
use serde_json::value::RawValue;

/// An event as a notification of protocol version 1.
#[derive(Debug, Clone, Serialize)]
pub struct Untyped {
    /// `codex/event/` and the event's type.
    pub method: String,
    /// The event with the ids of its turn and thread.
    pub params: UntypedParams,
}

/// The parameters of the notification.
#[derive(Debug, Clone, Serialize)]
pub struct UntypedParams {
    /// The id of the turn.
    pub id: String,
    /// The event as JSON.
    pub msg: Box<RawValue>,
    /// The id of the thread.
    #[serde(rename = "conversationId")]
    pub conversation_id: String,
}

impl Untyped {
    /// The event as a notification. `None` if protocol version 1 has no name for it, or reports it as a response.
    pub fn of(thread_id: &str, turn_id: &str, event: &EventMessage, raw_items: RawItems) -> Option<Self> {
        match event {
            EventMessage::RawResponseItem { .. } if raw_items == RawItems::Hidden => return None,
            EventMessage::SessionConfigured(_)
            | EventMessage::ContextElsewhere { .. }
            | EventMessage::ContextReport(_)
            | EventMessage::ContextRequestSent(_)
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
            | EventMessage::ContextInjection { .. }
            | EventMessage::ContextInjections { .. }
            | EventMessage::ContextMcpServer { .. }
            | EventMessage::ContextMemoryDropped { .. } => return None,
            _ => {}
        }
        let msg = serde_json::value::to_raw_value(event).ok()?;
        // Events are written with their type as the first member.
        let name = msg.get().strip_prefix("{\"type\":\"")?.split('"').next()?;
        let method = format!("codex/event/{name}");
        let params = UntypedParams { id: turn_id.to_owned(), msg, conversation_id: thread_id.to_owned() };
        Some(Self { method, params })
    }
}
