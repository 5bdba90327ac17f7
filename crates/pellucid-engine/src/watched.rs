//! The formats of requests that other programs make, and their items as they were sent.
//!
//! A request of another program cannot be made again: its bytes are kept as they came. Its items are cut out of the
//! list that the API format has for them, each with the bytes of notation before it.
//!
//! Not here: finding origins, and recording (`pellucid-watch`).

use std::sync::Arc;

use pellucid_protocol::provider::WireApi;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::encode::Span;

/// The API format of a request that another program made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchedFormat {
    /// The Responses format of OpenAI.
    Responses,
    /// Chat Completions, as many providers have it.
    Chat,
    /// The Messages format of Anthropic.
    Messages,
    /// The format of Google's `generateContent` requests.
    Gemini,
    /// Another format: the body is kept as one piece.
    Raw,
}

impl WatchedFormat {
    /// The word for the format in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Gemini => "gemini",
            Self::Raw => "raw",
        }
    }

    /// The API format of ours whose order of reading the format shares.
    pub const fn wire(self) -> WireApi {
        match self {
            Self::Responses | Self::Raw => WireApi::Responses,
            Self::Chat => WireApi::Chat,
            Self::Messages | Self::Gemini => WireApi::Messages,
        }
    }

    /// The name of the list with the items.
    pub const fn list(self) -> &'static str {
        match self {
            Self::Responses => "input",
            Self::Chat | Self::Messages => "messages",
            Self::Gemini => "contents",
            Self::Raw => "body",
        }
    }
}

/// An item of a request that another program made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedItem {
    /// The notation before the item, such as a comma.
    pub lead: Arc<str>,
    /// The type: `message`, `function_call` and so on.
    pub kind: &'static str,
    /// The role, for messages.
    pub role: Option<Arc<str>>,
    /// The bytes of the item itself.
    pub bytes: Box<[u8]>,
    /// The origins of these bytes.
    pub spans: Arc<[Span]>,
}

impl WatchedItem {
    /// Reads an item with the notation before it. The origins are for the caller to give.
    pub fn read(text: &str) -> Self {
        let item = text.trim_start_matches([',', ' ', '\t', '\r', '\n']);
        let lead = &text[..text.len() - item.len()];
        let value: Value = serde_json::from_str(item).unwrap_or_default();
        let role = value["role"].as_str().map(Arc::from);
        Self { lead: lead.into(), kind: kind(&value), role, bytes: item.as_bytes().into(), spans: Arc::from([]) }
    }

    /// The same item with the origins of its bytes.
    #[must_use]
    pub fn with(self, spans: Arc<[Span]>) -> Self {
        Self { spans, ..self }
    }
}

/// The type of an item in every format.
fn kind(item: &Value) -> &'static str {
    const KINDS: [&str; 10] = [
        "message",
        "reasoning",
        "local_shell_call",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "web_search_call",
        "compaction",
        "item_reference",
    ];
    match (item["type"].as_str(), item["role"].as_str()) {
        (Some(kind), _) => KINDS.into_iter().find(|known| *known == kind).unwrap_or("other"),
        (None, Some("tool" | "function")) => "function_call_output",
        (None, _) => "message",
    }
}

/// A place of a history of items that were sent.
#[derive(Debug, Clone)]
pub enum WatchedPlace {
    /// The item at this place of the history before.
    Before(usize),
    /// An item that the history before does not have.
    New(WatchedItem),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_item(text: &str, lead: &str, kind: &str, role: Option<&str>) {
        let item = WatchedItem::read(text);
        let read = (&*item.lead, item.kind, item.role.as_deref());
        assert_eq!(read, (lead, kind, role));
        assert_eq!([lead.as_bytes(), &item.bytes].concat(), text.as_bytes());
    }

    #[test]
    fn items_of_every_format_say_what_they_are() {
        check_item(r#"{"type":"message","role":"user","content":[]}"#, "", "message", Some("user"));
        check_item(r#",{"type":"function_call","call_id":"c"}"#, ",", "function_call", None);
        check_item(",\n  {\"role\":\"tool\",\"content\":\"x\"}", ",\n  ", "function_call_output", Some("tool"));
        check_item(r#"{"role":"assistant","content":[]}"#, "", "message", Some("assistant"));
        check_item(r#", {"role":"model","parts":[]}"#, ", ", "message", Some("model"));
        check_item(r#"{"type":"hologram"}"#, "", "other", None);
        check_item("[1", "", "message", None);
    }
}
