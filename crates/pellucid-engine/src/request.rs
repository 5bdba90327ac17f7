//! Requests: a prompt encoded for the Responses wire.
//!
//! What stays the same within a turn (instructions before the items, tools and settings after
//! them) is encoded once as a [`Frame`]. A request is the frame around the transcript's shared
//! bytes: its cost does not grow with the history.

use std::sync::Arc;

use bytes::Bytes;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::settings::ReasoningSummary;
use serde_json::Value;

use crate::encode::Encoded;
use crate::encode::Encoder;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::pack::Pack;
use crate::pack::ToolKind;
use crate::tool_list;
use crate::tool_list::OfferedTool;
use crate::transcript::ExecOutputs;
use crate::transcript::ItemIds;
use crate::transcript::Pictures;
use crate::transcript::Transcript;
use crate::transcript::View;

/// What a wire needs to know besides facts.
#[derive(Debug, Clone)]
pub struct WireSettings {
    /// The session; also the key of the provider's prompt cache.
    pub session_id: SessionId,
    /// Whether the endpoint stores responses, and so wants ids.
    pub ids: ItemIds,
    /// A JSON schema for the final answer.
    pub output_schema: Option<Value>,
}

/// The parts of a request around its items.
#[derive(Debug, Clone)]
pub struct Frame {
    view: View,
    head: Shared,
    tail: Shared,
}

/// Encoded bytes that are cheap to hand out.
#[derive(Debug, Clone)]
struct Shared {
    bytes: Bytes,
    spans: Arc<[crate::encode::Span]>,
}

impl From<Encoded> for Shared {
    fn from(encoded: Encoded) -> Self {
        Self { bytes: encoded.bytes.into(), spans: encoded.spans.into() }
    }
}

/// A request's body in shared pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The pieces, in order.
    pub segments: Vec<Bytes>,
}

impl Request {
    /// How many bytes the body has.
    pub fn len(&self) -> usize {
        self.segments.iter().map(Bytes::len).sum()
    }

    /// Never: a body has at least braces.
    pub fn is_empty(&self) -> bool {
        self.segments.iter().all(Bytes::is_empty)
    }

    /// The body in one piece, for showing.
    pub fn body(&self) -> Vec<u8> {
        self.segments.concat()
    }
}

impl Frame {
    /// Encodes what surrounds the items.
    pub fn new(pack: &Pack, facts: &Facts, instructions: &[Fragment], wire: &WireSettings) -> Self {
        let tools = tool_list::offered(pack, facts);
        let view = View {
            pictures: if facts.model.takes_images() { Pictures::Shown } else { Pictures::Replaced },
            exec_outputs: if has_freeform_patch(&tools) { ExecOutputs::AsText } else { ExecOutputs::AsRecorded },
        };
        Self { view, head: head(facts, instructions).into(), tail: tail(Some((pack, &tools)), facts, wire).into() }
    }

    /// The same for asking for a summary: no tools, no schema, items as they were recorded.
    pub fn for_summary(facts: &Facts, instructions: &[Fragment], wire: &WireSettings) -> Self {
        let mut facts = facts.clone();
        facts.model.supports_parallel_tool_calls = false;
        let pictures = if facts.model.takes_images() { Pictures::Shown } else { Pictures::Replaced };
        let view = View { pictures, exec_outputs: ExecOutputs::AsRecorded };
        let wire = WireSettings { output_schema: None, ..wire.clone() };
        Self { view, head: head(&facts, instructions).into(), tail: tail(None, &facts, &wire).into() }
    }

    /// The request with everything that is recorded so far.
    pub fn request(&self, transcript: &mut Transcript) -> Request {
        let items = transcript.view(self.view);
        let mut segments = Vec::with_capacity(items.len() + 2);
        segments.push(self.head.bytes.clone());
        segments.extend(items);
        segments.push(self.tail.bytes.clone());
        Request { segments }
    }

    /// The bytes before the items.
    pub(crate) fn head_bytes(&self) -> &Bytes {
        &self.head.bytes
    }

    /// The bytes after the items.
    pub(crate) fn tail_bytes(&self) -> &Bytes {
        &self.tail.bytes
    }

    /// The part that a byte before the items belongs to.
    pub(crate) fn part_of_head_byte(&self, byte: usize) -> Option<Arc<str>> {
        let mut end = 0;
        self.head.spans.iter().find_map(|span| {
            end += span.len;
            (byte < end).then(|| span.part.clone())
        })
    }

    /// The origins of the bytes before the items.
    pub fn head_spans(&self) -> &[crate::encode::Span] {
        &self.head.spans
    }

    /// The origins of the bytes after the items.
    pub fn tail_spans(&self) -> &[crate::encode::Span] {
        &self.tail.spans
    }
}

fn head(facts: &Facts, instructions: &[Fragment]) -> Encoded {
    let (model, base, input) = ("model".into(), "base".into(), "input".into());
    let mut encoder = Encoder::new(&model);
    encoder.wire("{\"model\":");
    encoder.value(&facts.model.slug, &Origin::Fact { name: "model" });
    encoder.wire(",");
    encoder.set_part(&base);
    encoder.wire("\"instructions\":");
    encoder.string(instructions);
    encoder.wire(",");
    encoder.set_part(&input);
    encoder.wire("\"input\":[");
    encoder.finish()
}

/// Whether the patch tool is offered in the form that goes with output as text.
fn has_freeform_patch(tools: &[OfferedTool<'_>]) -> bool {
    tools.iter().any(|tool| tool.file.kind == ToolKind::Custom && tool.file.name == "apply_patch")
}

fn tail(tools: Option<(&Pack, &[OfferedTool<'_>])>, facts: &Facts, wire: &WireSettings) -> Encoded {
    let mut encoder = Encoder::new(&"input".into());
    encoder.wire("],");
    encoder.set_part(&tool_list::part());
    encoder.wire("\"tools\":");
    match tools {
        Some((pack, tools)) => tool_list::encode(&mut encoder, tools, pack, facts),
        None => encoder.wire("[]"),
    }
    encoder.wire(",\"tool_choice\":\"auto\",\"parallel_tool_calls\":");
    encoder.value(&facts.model.supports_parallel_tool_calls, &Origin::Fact { name: "model catalogue" });
    encoder.set_part(&"settings".into());
    encoder.wire(",\"reasoning\":");
    let thinks = facts.model.supports_reasoning_summaries;
    reasoning(&mut encoder, facts);
    encoder.wire(",\"store\":");
    encoder.value(&(wire.ids == ItemIds::Sent), &Origin::Fact { name: "provider" });
    encoder.wire(",\"stream\":true,\"include\":");
    encoder.wire(if thinks { "[\"reasoning.encrypted_content\"]" } else { "[]" });
    encoder.wire(",\"prompt_cache_key\":");
    encoder.value(&wire.session_id, &Origin::Fact { name: "session" });
    text_controls(&mut encoder, facts, wire.output_schema.as_ref());
    encoder.wire("}");
    encoder.finish()
}

fn reasoning(encoder: &mut Encoder, facts: &Facts) {
    if !facts.model.supports_reasoning_summaries {
        encoder.wire("null");
        return;
    }
    let effort = facts.effort.or(facts.model.default_reasoning_level);
    let summary = (facts.summary != ReasoningSummary::None).then_some(facts.summary);
    encoder.wire("{");
    if let Some(effort) = effort {
        encoder.wire("\"effort\":");
        encoder.value(&effort, &Origin::Fact { name: "reasoning effort" });
    }
    if let Some(summary) = summary {
        encoder.wire(if effort.is_some() { ",\"summary\":" } else { "\"summary\":" });
        encoder.value(&summary, &Origin::Fact { name: "reasoning summary" });
    }
    encoder.wire("}");
}

fn text_controls(encoder: &mut Encoder, facts: &Facts, schema: Option<&Value>) {
    let wanted = facts.verbosity.or(facts.model.default_verbosity);
    let verbosity = wanted.filter(|_| facts.model.support_verbosity);
    if verbosity.is_none() && schema.is_none() {
        return;
    }
    encoder.wire(",\"text\":{");
    if let Some(verbosity) = verbosity {
        encoder.wire("\"verbosity\":");
        encoder.value(&verbosity, &Origin::Fact { name: "verbosity" });
    }
    if let Some(schema) = schema {
        encoder.wire(if verbosity.is_some() { ",\"format\":" } else { "\"format\":" });
        encoder.wire("{\"type\":\"json_schema\",\"strict\":true,\"schema\":");
        encoder.value(schema, &Origin::Provided { place: "output schema".into() });
        encoder.wire(",\"name\":\"codex_output_schema\"}");
    }
    encoder.wire("}");
}
