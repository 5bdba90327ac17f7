//! Wires: the same prompt in the notation of each kind of server.
//!
//! - `responses`, `chat`, `messages`: the bytes around the items, and for the latter two the translation of items
//! - `piece`: an item as bytes whose parts can be copied with their origins
//! - `pairing`: calls and their outputs, brought together where a wire insists on it
//! - `written`: the result of a translation
//!
//! A translation is made of the items in order and only ever adds: a request is the one before
//! with more behind it, up to what closes the list. Texts are copied in their escaped form, so
//! every byte keeps the origin that it was recorded with.
//!
//! Not here: repairs and replacements, which happen before (`transcript`), and how servers are
//! reached (`pellucid-model`).

pub(crate) mod chat;
pub(crate) mod messages;
mod pairing;
pub(crate) mod piece;
pub(crate) mod responses;
pub(crate) mod written;

use std::borrow::Cow;

use pellucid_protocol::model::ApplyPatchType;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::ReasoningEffort;

use crate::facts::Facts;
use crate::fragment::Omission;
use crate::fragment::Why;
use crate::gate;
use crate::pack::ToolKind;
use crate::tool_list::OfferedTool;

/// Bytes of a tool without the mark that ends what a server may cache: a server does not read the mark.
pub fn without_cache_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(messages::BREAKPOINT.as_bytes()).unwrap_or(bytes)
}

/// How our own messages are marked where they are sent in the user's name; escaped.
const DEVELOPER_OPEN: &str = "<developer>\\n";
const DEVELOPER_CLOSE: &str = "\\n</developer>";

/// The facts for an API format: tools with a grammar exist in the Responses format alone, so the patch tool takes its
/// other form elsewhere.
pub(crate) fn facts_on(wire: WireApi, facts: &Facts) -> Cow<'_, Facts> {
    if wire == WireApi::Responses || gate::patch_type(facts) != Some(ApplyPatchType::Freeform) {
        return Cow::Borrowed(facts);
    }
    let mut facts = facts.clone();
    facts.settings.model.apply_patch_tool_type = Some(ApplyPatchType::Function);
    Cow::Owned(facts)
}

/// Takes away the tools that the wire has no notation for.
pub(crate) fn leave_out_tools(wire: WireApi, tools: &mut Vec<OfferedTool<'_>>) -> Vec<Omission> {
    let mut omissions = Vec::new();
    if wire != WireApi::Responses {
        tools.retain(|tool| {
            let is_kept = tool.file.kind == ToolKind::Function;
            if !is_kept {
                let error = format!("the API format `{wire}` has no tools of this kind");
                let what = tool.file.name.clone();
                omissions.push(Omission { slot: "tools".into(), what, why: Why::Unusable { error } });
            }
            is_kept
        });
    }
    omissions
}

/// The reasoning effort that the request asks for; absent when the request says nothing about it.
pub fn effort_sent(wire: WireApi, facts: &Facts) -> Option<ReasoningEffort> {
    let thinks = facts.settings.model.supports_reasoning_summaries;
    let effort = facts.settings.effort.or(facts.settings.model.default_reasoning_level.filter(|_| thinks));
    match (wire, effort) {
        (WireApi::Responses, _) if !thinks => None,
        (WireApi::Messages, Some(ReasoningEffort::Minimal)) => Some(ReasoningEffort::Low),
        (_, effort) => effort,
    }
}
