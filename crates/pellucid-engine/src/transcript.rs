//! The items of a session, each encoded once.
//!
//! Recording an item writes its bytes and their origins; a request then shares those bytes.
//! Nothing is walked, written or copied again for what was there before.

use std::sync::Arc;

use bytes::Bytes;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;

use crate::assemble::ContextMessage;
use crate::chunks::Chunks;
use crate::encode::Encoded;
use crate::encode::Encoder;
use crate::encode::Span;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::fragment::concat;

/// Whether items carry the ids that the server gave them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ItemIds {
    /// They do not.
    #[default]
    Hidden,
    /// They do, as the last key: for endpoints that store responses.
    Sent,
}

/// The items of a session.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    ids: ItemIds,
    /// Encoded items, joined by commas.
    bytes: Chunks,
    /// Bytes recorded since the last view was taken.
    fresh: Vec<u8>,
    entries: Vec<Entry>,
}

/// What is known of an item besides its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `message`, `function_call` ...
    pub kind: &'static str,
    /// The role, for messages.
    pub role: Option<Arc<str>>,
    /// The origins of its bytes.
    pub spans: Vec<Span>,
}

impl Entry {
    /// How many bytes the item has.
    pub fn len(&self) -> usize {
        self.spans.iter().map(|span| span.len).sum()
    }

    /// Never: an item has at least braces.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
}

/// A part of a message that is still in fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftPart {
    /// Text.
    Text(Vec<Fragment>),
    /// A picture's address.
    Image(Fragment),
}

/// A message that is still in fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The slot or part it belongs to.
    pub part: Arc<str>,
    /// Who says it.
    pub role: &'static str,
    /// Its parts.
    pub parts: Vec<DraftPart>,
}

impl From<ContextMessage> for Draft {
    fn from(message: ContextMessage) -> Self {
        Self { part: message.slot, role: message.role, parts: vec![DraftPart::Text(message.fragments)] }
    }
}

impl Draft {
    /// The item that it will be.
    pub fn item(&self) -> Item {
        let part = |part: &DraftPart| match part {
            DraftPart::Text(fragments) => ContentPart::InputText { text: concat(fragments) },
            DraftPart::Image(url) => ContentPart::InputImage { image_url: url.text.clone() },
        };
        Item::message(self.role, self.parts.iter().map(part).collect())
    }

    fn encode(&self) -> Encoded {
        let mut encoder = Encoder::new(&self.part);
        encoder.wire("{\"type\":\"message\",\"role\":\"");
        encoder.wire(self.role);
        encoder.wire("\",\"content\":[");
        for (n, part) in self.parts.iter().enumerate() {
            if n > 0 {
                encoder.wire(",");
            }
            match part {
                DraftPart::Text(fragments) => {
                    encoder.wire("{\"type\":\"input_text\",\"text\":");
                    encoder.string(fragments);
                }
                DraftPart::Image(url) => {
                    encoder.wire("{\"type\":\"input_image\",\"image_url\":");
                    encoder.string(std::slice::from_ref(url));
                }
            }
            encoder.wire("}");
        }
        encoder.wire("]}");
        encoder.finish()
    }
}

impl Transcript {
    /// An empty transcript.
    pub fn new(ids: ItemIds) -> Self {
        Self { ids, ..Self::default() }
    }

    /// What is known of the items, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Records a message made of fragments.
    pub fn record_draft(&mut self, draft: &Draft) {
        let encoded = draft.encode();
        self.push("message", Some(draft.role.into()), encoded);
    }

    /// Records an item from outside. Items that no model may see again are passed over.
    pub fn record(&mut self, item: &Item, origin: &Origin) {
        let kind = kind(item);
        let role = match item {
            Item::Message { role, .. } if role == "system" => return,
            Item::Other => return,
            Item::Message { role, .. } => Some(role.as_str().into()),
            _ => None,
        };
        let mut encoder = Encoder::new(&origin.kind().into());
        match (self.ids, item.server_id()) {
            (ItemIds::Sent, Some(id)) => encoder.value(&WithId { item, id }, origin),
            _ => encoder.value(item, origin),
        }
        self.push(kind, role, encoder.finish());
    }

    /// The items as they stand in a request, separated by commas.
    ///
    /// What was recorded since the last call is added now, when the earlier view is usually no
    /// longer held and the bytes can be added in place.
    pub fn view(&mut self) -> Vec<Bytes> {
        self.bytes.append(&self.fresh);
        self.fresh.clear();
        self.bytes.view()
    }

    /// How many bytes the items take, commas included.
    pub fn len(&self) -> usize {
        self.bytes.len() + self.fresh.len()
    }

    /// Whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn push(&mut self, kind: &'static str, role: Option<Arc<str>>, encoded: Encoded) {
        if !self.entries.is_empty() {
            self.fresh.push(b',');
        }
        self.fresh.extend_from_slice(&encoded.bytes);
        self.entries.push(Entry { kind, role, spans: encoded.spans });
    }
}

/// An item with its id as the last key.
#[derive(serde::Serialize)]
struct WithId<'a> {
    #[serde(flatten)]
    item: &'a Item,
    id: &'a str,
}

fn kind(item: &Item) -> &'static str {
    match item {
        Item::Message { .. } => "message",
        Item::Reasoning { .. } => "reasoning",
        Item::LocalShellCall { .. } => "local_shell_call",
        Item::FunctionCall { .. } => "function_call",
        Item::FunctionCallOutput { .. } => "function_call_output",
        Item::CustomToolCall { .. } => "custom_tool_call",
        Item::CustomToolCallOutput { .. } => "custom_tool_call_output",
        Item::WebSearchCall { .. } => "web_search_call",
        Item::GhostSnapshot { .. } => "ghost_snapshot",
        Item::Compaction { .. } => "compaction",
        Item::Other => "other",
    }
}
