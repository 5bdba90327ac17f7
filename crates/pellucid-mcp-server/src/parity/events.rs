//! What the client receives of a turn: every event that the reference has, as a notification.

use std::io::BufRead;
use std::io::BufReader;
use std::path::Path;

use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use rmcp::model::RequestId;
use serde_json::Value;
use serde_json::json;

use crate::session::CalledSession;

/// The file in the home folder with what the user typed in the terminal.
const HISTORY: &str = "history.jsonl";

/// How the message begins that says to the model that a turn was interrupted.
const TURN_ABORTED: &str = "<turn_aborted>";

/// How many bytes of that file are counted.
const HISTORY_BYTES_MAX: u64 = 64 << 20;

/// The notification about an event; absent if only Pellucid has such events.
pub fn notification(event: &Event, request: &RequestId, session: &CalledSession, home: &Path) -> Option<Value> {
    if is_extension(&event.msg) || is_untold(&event.msg) {
        return None;
    }
    let mut message = json!(event.msg);
    if let EventMessage::SessionConfigured(_) = event.msg {
        let (id, count) = history(home);
        message["history_log_id"] = json!(id);
        message["history_entry_count"] = json!(count);
        if let Some(path) = &session.path {
            message["rollout_path"] = json!(path);
        }
    }
    let meta = json!({ "requestId": request, "threadId": session.id });
    let params = json!({ "_meta": meta, "id": event.id, "msg": message });
    Some(json!({ "jsonrpc": "2.0", "method": "codex/event", "params": params }))
}

/// Whether only Pellucid has such events.
fn is_extension(message: &EventMessage) -> bool {
    matches!(
        message,
        EventMessage::ContextReport(_)
            | EventMessage::ContextRequestSent(_)
            | EventMessage::ContextCacheBreak(_)
            | EventMessage::ContextResumeCost(_)
            | EventMessage::ContextFileChanged { .. }
            | EventMessage::ContextCutOff { .. }
            | EventMessage::ContextRefusal { .. }
            | EventMessage::ContextUsage { .. }
            | EventMessage::ContextOmission { .. }
            | EventMessage::ContextInjection { .. }
            | EventMessage::ContextDocument { .. }
            | EventMessage::ContextCompaction { .. }
            | EventMessage::ContextInjections { .. }
            | EventMessage::ContextMcpServer { .. }
            | EventMessage::ContextMemoryDropped { .. }
            | EventMessage::ContextReinjection { .. }
            | EventMessage::ContextElsewhere { .. }
            | EventMessage::ToolCallFailed { .. }
    )
}

/// Whether the reference records an item without telling it: that a turn was interrupted.
fn is_untold(message: &EventMessage) -> bool {
    let EventMessage::RawResponseItem { item: Item::Message { content, .. } } = message else { return false };
    let begins = |part: &ContentPart| matches!(part, ContentPart::InputText { text } if text.starts_with(TURN_ABORTED));
    content.first().is_some_and(begins)
}

/// What distinguishes the history file from the one before, and how many lines it has; zeros if there is none.
fn history(home: &Path) -> (u64, usize) {
    let Ok(file) = pellucid_files::open(&home.join(HISTORY)) else { return (0, 0) };
    let Ok(metadata) = file.metadata() else { return (0, 0) };
    #[cfg(unix)]
    let id = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let id = metadata.len().min(1);
    let lines = BufReader::new(std::io::Read::take(file, HISTORY_BYTES_MAX)).split(b'\n');
    (id, lines.map_while(Result::ok).count())
}
