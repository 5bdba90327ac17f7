//! A recorded item: its kind, size and place.
//!
//! The typed item is not kept: its bytes are, either by themselves or as a range of the rendered
//! ones, and it can be read back from them.

use std::ops::Range;
use std::sync::Arc;

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::seal::Seal;

use super::CallId;
use super::ready::Ready;
use crate::boundary;
use crate::chunks::Chunks;
use crate::encode::Encoded;
use crate::encode::Span;
use crate::encode::to_json;
use crate::tokens::tokens_of_bytes;
use crate::watched::WatchedItem;

/// The kind of messages.
pub(super) const MESSAGE: &str = "message";

/// The kind of snapshots of the work tree, which the model never sees.
pub(super) const SNAPSHOT: &str = "ghost_snapshot";

/// A recorded item with its size.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The type: `message`, `function_call` ...
    pub kind: &'static str,
    /// The role, for messages.
    pub role: Option<Arc<str>>,
    /// The id that pairs calls and outputs.
    pub call_id: Option<CallId>,
    /// The tool that a call is for.
    pub tool: Option<Arc<str>>,
    /// Whether the output of this call may be structured and is shown as text on request.
    pub is_exec_call: bool,
    /// Whether the item has images.
    pub has_images: bool,
    /// Whether a turn of the person begins here.
    pub is_user_turn: bool,
    /// Whether the model made the item.
    pub is_model_made: bool,
    /// Whether it is thoughts that only the server can read.
    pub is_sealed_reasoning: bool,
    /// Whether it is thoughts that the Messages wire signed, which no other server takes.
    pub is_signed_thought: bool,
    /// The estimated tokens of the item.
    pub tokens: usize,
    /// The origins of its bytes.
    pub spans: Arc<[Span]>,
    pub bytes: Stored,
    /// The notation before the item, if another program sent it; absent for items of ours.
    pub lead: Option<Arc<str>>,
}

/// The place of an item's bytes.
#[derive(Debug, Clone)]
pub(super) enum Stored {
    /// The item's separate allocation.
    Own(Box<[u8]>),
    /// The rendered bytes in the chunks.
    Rendered(Range<usize>),
}

impl Entry {
    pub fn new(item: &Item, encoded: Encoded) -> Self {
        Self {
            kind: kind(item),
            role: match item {
                Item::Message { role, .. } => Some(role.as_str().into()),
                _ => None,
            },
            call_id: call_id(item),
            tool: tool(item),
            is_exec_call: is_exec_call(item),
            has_images: has_images(item),
            is_user_turn: boundary::begins_user_turn(item),
            is_model_made: is_model_made(item),
            is_sealed_reasoning: matches!(item, Item::Reasoning { encrypted_content: Some(_), .. }),
            is_signed_thought: is_signed_thought(item),
            tokens: tokens_of_bytes(estimated_bytes(item, &encoded)),
            spans: encoded.spans.into(),
            bytes: Stored::Own(encoded.bytes.into()),
            lead: None,
        }
    }

    /// An item that came with its bytes ready.
    pub fn ready(ready: Ready, bytes: &[u8], span: Span) -> Self {
        let is_model_made = !matches!(ready.kind, "function_call_output" | "custom_tool_call_output");
        Self {
            kind: ready.kind,
            role: None,
            call_id: ready.call_id,
            tool: ready.tool,
            is_exec_call: ready.is_exec_call,
            has_images: false,
            is_user_turn: false,
            is_model_made,
            is_sealed_reasoning: ready.is_sealed_reasoning,
            is_signed_thought: ready.is_signed_thought,
            tokens: tokens_of_bytes(ready.estimated_bytes),
            spans: [span].into(),
            bytes: Stored::Own(bytes.into()),
            lead: None,
        }
    }

    /// An item that another program sent. Calls and outputs are not paired: the item is shown as it was sent.
    pub fn watched(item: WatchedItem) -> Self {
        let is_model_made = matches!(item.role.as_deref(), Some("assistant" | "model"))
            || matches!(item.kind, "reasoning" | "function_call" | "custom_tool_call" | "local_shell_call");
        Self {
            kind: item.kind,
            role: item.role,
            call_id: None,
            tool: None,
            is_exec_call: false,
            has_images: false,
            is_user_turn: false,
            is_model_made,
            is_sealed_reasoning: false,
            is_signed_thought: false,
            tokens: tokens_of_bytes(item.bytes.len()),
            spans: item.spans,
            bytes: Stored::Own(item.bytes),
            lead: Some(item.lead),
        }
    }

    pub fn is_output(&self) -> bool {
        matches!(self.kind, "function_call_output" | "custom_tool_call_output")
    }

    /// The bytes of the item, as recorded.
    pub fn recorded<'a>(&'a self, chunks: &'a Chunks) -> &'a [u8] {
        match &self.bytes {
            Stored::Own(bytes) => bytes,
            Stored::Rendered(range) => chunks.slice(range.clone()),
        }
    }

    /// The item, read back.
    pub fn item(&self, chunks: &Chunks) -> Option<Item> {
        serde_json::from_slice(self.recorded(chunks)).ok()
    }

    /// Takes its bytes out of the chunks, which are about to go. Gives where they were, if they were there.
    pub fn own(&mut self, chunks: &Chunks) -> Option<usize> {
        let Stored::Rendered(range) = &self.bytes else {
            return None;
        };
        let start = range.start;
        self.bytes = Stored::Own(chunks.slice(range.clone()).into());
        Some(start)
    }
}

/// The bytes that an item counts for. Sealed texts are estimated by what they hold.
fn estimated_bytes(item: &Item, encoded: &Encoded) -> usize {
    match item {
        Item::GhostSnapshot { .. } => 0,
        Item::Reasoning { encrypted_content: Some(text), .. } => sealed_bytes(text.len()),
        Item::Compaction { encrypted_content } => sealed_bytes(encrypted_content.len()),
        // The server's id, where it is sent, does not count.
        _ if item.server_id().is_some() => to_json(item).len(),
        _ => encoded.bytes.len(),
    }
}

/// The estimated size of the content of an encrypted text of this length.
pub(super) fn sealed_bytes(len: usize) -> usize {
    (len * 3 / 4).saturating_sub(650)
}

fn kind(item: &Item) -> &'static str {
    match item {
        Item::Message { .. } => MESSAGE,
        Item::Reasoning { .. } => "reasoning",
        Item::LocalShellCall { .. } => "local_shell_call",
        Item::FunctionCall { .. } => "function_call",
        Item::FunctionCallOutput { .. } => "function_call_output",
        Item::CustomToolCall { .. } => "custom_tool_call",
        Item::CustomToolCallOutput { .. } => "custom_tool_call_output",
        Item::WebSearchCall { .. } => "web_search_call",
        Item::GhostSnapshot { .. } => SNAPSHOT,
        Item::Compaction { .. } => "compaction",
        Item::Other => "other",
    }
}

fn call_id(item: &Item) -> Option<CallId> {
    let (is_custom, id) = match item {
        Item::FunctionCall { call_id, .. } | Item::FunctionCallOutput { call_id, .. } => (false, call_id),
        Item::LocalShellCall { call_id: Some(call_id), .. } => (false, call_id),
        Item::CustomToolCall { call_id, .. } | Item::CustomToolCallOutput { call_id, .. } => (true, call_id),
        _ => return None,
    };
    Some(CallId { is_custom, id: id.as_str().into() })
}

fn tool(item: &Item) -> Option<Arc<str>> {
    match item {
        Item::FunctionCall { name, .. } | Item::CustomToolCall { name, .. } => Some(name.as_str().into()),
        Item::LocalShellCall { .. } => Some("local_shell".into()),
        _ => None,
    }
}

fn is_exec_call(item: &Item) -> bool {
    match item {
        Item::LocalShellCall { .. } => true,
        Item::FunctionCall { name, .. } => matches!(name.as_str(), "shell" | "container.exec" | "apply_patch"),
        Item::CustomToolCall { name, .. } => name == "apply_patch",
        _ => false,
    }
}

fn is_signed_thought(item: &Item) -> bool {
    match item {
        Item::Reasoning { encrypted_content: Some(text), .. } => !matches!(Seal::read(text), Seal::Other(_)),
        _ => false,
    }
}

fn has_images(item: &Item) -> bool {
    let parts = match item {
        Item::Message { content, .. } => content,
        Item::FunctionCallOutput { output: ToolOutput::Parts(parts), .. } => parts,
        _ => return false,
    };
    parts.iter().any(|part| matches!(part, ContentPart::InputImage { .. }))
}

fn is_model_made(item: &Item) -> bool {
    match item {
        Item::Message { role, .. } => role == "assistant",
        Item::Reasoning { .. }
        | Item::LocalShellCall { .. }
        | Item::FunctionCall { .. }
        | Item::CustomToolCall { .. }
        | Item::WebSearchCall { .. }
        | Item::Compaction { .. } => true,
        Item::FunctionCallOutput { .. }
        | Item::CustomToolCallOutput { .. }
        | Item::GhostSnapshot { .. }
        | Item::Other => false,
    }
}
