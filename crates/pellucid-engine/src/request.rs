//! Requests: a prompt encoded for a wire.
//!
//! The part of a request that stays the same within a turn (instructions before the items, tools and settings after
//! them) is encoded once as a [`Frame`]. A request is the frame around the transcript's shared bytes: its cost does
//! not grow with the history.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::OnceLock;

use bytes::Bytes;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::provider::DeveloperRole;
use pellucid_protocol::provider::WireApi;
use serde_json::Value;

use crate::encode::Encoded;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::pack::Pack;
use crate::pack::ToolKind;
use crate::reading::Place;
use crate::reading::Reading;
use crate::tool_list;
use crate::tool_list::OfferedTool;
use crate::tool_list::ToolList;
use crate::transcript::ExecOutputs;
use crate::transcript::ItemIds;
use crate::transcript::ShownImages;
use crate::transcript::Transcript;
use crate::transcript::View;
use crate::watched::WatchedFormat;
use crate::wire;
use crate::wire::chat;
use crate::wire::messages;
use crate::wire::messages::Calls;
use crate::wire::responses;

/// The settings of an API format besides the facts.
#[derive(Debug, Clone)]
pub struct WireSettings {
    /// The session; also the key of the provider's prompt cache.
    pub session_id: SessionId,
    /// The API format of the provider.
    pub wire: WireApi,
    /// The role of our messages in the Chat Completions format.
    pub developer: DeveloperRole,
    /// The maximum tokens of an answer, for formats that require it; absent for a share of the model's window.
    pub output_tokens_max: Option<u64>,
    /// Whether the endpoint stores responses, and so wants ids.
    pub ids: ItemIds,
    /// A JSON schema for the final answer.
    pub output_schema: Option<Value>,
}

impl WireSettings {
    /// Plain settings of a session on the Responses wire.
    pub fn new(session_id: SessionId) -> Self {
        Self {
            session_id,
            wire: WireApi::default(),
            developer: DeveloperRole::default(),
            output_tokens_max: None,
            ids: ItemIds::default(),
            output_schema: None,
        }
    }
}

/// The parts of a request around its items.
#[derive(Debug, Clone)]
pub struct Frame {
    view: View,
    head: Shared,
    tail: Shared,
    omissions: Vec<Omission>,
    /// The parts in the order of reading, computed on first use.
    reading: Arc<OnceLock<Option<Reading>>>,
}

/// Encoded bytes that are cheap to hand out.
#[derive(Debug, Clone)]
struct Shared {
    /// All bytes, or the first ones, which may be in the memory of another value.
    first: Bytes,
    rest: Bytes,
    spans: Arc<[crate::encode::Span]>,
}

/// From how many bytes on a common beginning is held once. Less is not worth two segments.
const SHARED_BYTES_MIN: usize = 1024;

impl Shared {
    fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    /// Holds the memory of another value if both are equal.
    fn share(&mut self, other: &Self) -> bool {
        let is_equal = self.spans == other.spans && self.has_bytes_of(other);
        if is_equal {
            *self = other.clone();
        }
        is_equal
    }

    /// The same. If both are not equal, their common beginning and equal origins are held once.
    fn share_beginning(&mut self, other: &Self) -> bool {
        if self.share(other) {
            return true;
        }
        let n_common = common_prefix(&self.whole(), &other.first);
        if n_common >= SHARED_BYTES_MIN {
            let whole = self.whole();
            self.rest = Bytes::copy_from_slice(&whole[n_common..]);
            self.first = other.first.slice(..n_common);
        }
        if self.spans == other.spans {
            self.spans = other.spans.clone();
        }
        false
    }

    fn has_bytes_of(&self, other: &Self) -> bool {
        let is_held = std::ptr::eq(self.first.as_ptr(), other.first.as_ptr()) && self.first.len() == other.first.len();
        if is_held { self.rest == other.rest } else { self.len() == other.len() && self.whole() == other.whole() }
    }

    /// All bytes; they are copied only if they are held in two places.
    fn whole(&self) -> Bytes {
        if self.rest.is_empty() { self.first.clone() } else { [&self.first[..], &self.rest].concat().into() }
    }

    /// Some of the bytes. They are copied only if they are in two places.
    fn slice(&self, range: Range<usize>) -> Bytes {
        let n_first = self.first.len();
        if range.end <= n_first {
            self.first.slice(range)
        } else if range.start >= n_first {
            self.rest.slice(range.start - n_first..range.end - n_first)
        } else {
            // A slice of a copy would keep all of the copy.
            Bytes::copy_from_slice(&self.whole()[range])
        }
    }
}

impl From<Encoded> for Shared {
    fn from(encoded: Encoded) -> Self {
        let mut bytes = encoded.bytes;
        // What grew has up to twice the room, and every session of a server holds this. A little room is not worth a copy.
        if bytes.capacity() - bytes.len() > bytes.len() / 8 {
            bytes.shrink_to_fit();
        }
        Self { first: bytes.into(), rest: Bytes::new(), spans: encoded.spans.into() }
    }
}

/// How many bytes from the start are the same.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    /// So many bytes are compared at once.
    const STEP: usize = 256;
    let n_steps = a.chunks(STEP).zip(b.chunks(STEP)).take_while(|(a, b)| a == b).count();
    let start = (n_steps * STEP).min(a.len()).min(b.len());
    start + a[start..].iter().zip(&b[start..]).take_while(|(a, b)| a == b).count()
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

    /// Some of the bytes, to be held. They are copied only if they span segments.
    ///
    /// # Panics
    /// When the request is shorter.
    pub fn shared(&self, range: Range<usize>) -> Bytes {
        let mut start = 0;
        for segment in &self.segments {
            let end = start + segment.len();
            if start <= range.start && range.end <= end {
                return segment.slice(range.start - start..range.end - start);
            }
            start = end;
        }
        Bytes::from(self.slice(range).into_owned())
    }

    /// Some of the bytes. They are copied only if they span segments.
    ///
    /// # Panics
    /// When the request is shorter.
    pub fn slice(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        let mut start = 0;
        let mut copied = Vec::new();
        for segment in &self.segments {
            let end = start + segment.len();
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                let bytes = &segment[from - start..to - start];
                if bytes.len() == range.len() {
                    return Cow::Borrowed(bytes);
                }
                copied.extend_from_slice(bytes);
            }
            start = end;
        }
        assert_eq!(copied.len(), range.len(), "the request has these bytes");
        Cow::Owned(copied)
    }
}

impl Frame {
    /// Encodes what surrounds the items.
    pub fn new(pack: &Pack, facts: &Facts, instructions: &[Fragment], wire: &WireSettings) -> Self {
        let facts = &*wire::facts_on(wire.wire, facts);
        let mut tools = tool_list::offered(pack, facts);
        let mut omissions = wire::leave_out_tools(wire.wire, &mut tools);
        let (given, unusable) = tool_list::given(pack, facts);
        omissions.extend(unusable);
        let exec_outputs = if has_freeform_patch(&tools) { ExecOutputs::AsText } else { ExecOutputs::AsRecorded };
        let tools = ToolList { tools: &tools, given: &given, pack, facts };
        let (head, tail) = match wire.wire {
            WireApi::Responses => (responses::head(facts, instructions), responses::tail(Some(tools), facts, wire)),
            WireApi::Chat => (chat::head(facts, instructions), chat::tail(tools, facts, wire)),
            WireApi::Messages => (messages::head(facts, instructions, tools, Calls::Allowed, wire), messages::tail()),
        };
        Self::with(view(facts, wire, exec_outputs), head, tail, omissions)
    }

    /// The frame of a request for a summary: no tools, no schema, recorded items.
    pub fn for_summary(pack: &Pack, facts: &Facts, instructions: &[Fragment], wire: &WireSettings) -> Self {
        let mut facts = wire::facts_on(wire.wire, facts).into_owned();
        facts.settings.model.supports_parallel_tool_calls = false;
        let wire = &WireSettings { output_schema: None, ..wire.clone() };
        let mut offered = tool_list::offered(pack, &facts);
        let mut omissions = wire::leave_out_tools(wire.wire, &mut offered);
        let (given, unusable) = tool_list::given(pack, &facts);
        omissions.extend(unusable);
        let none = ToolList { tools: &[], given: &[], pack, facts: &facts };
        let (head, tail) = match wire.wire {
            WireApi::Responses => (responses::head(&facts, instructions), responses::tail(None, &facts, wire)),
            WireApi::Chat => (chat::head(&facts, instructions), chat::tail(none, &facts, wire)),
            WireApi::Messages => {
                let tools = ToolList { tools: &offered, given: &given, ..none };
                (messages::head(&facts, instructions, tools, Calls::Forbidden, wire), messages::tail())
            }
        };
        let view = view(&facts, wire, ExecOutputs::AsRecorded);
        Self::with(view, head, tail, omissions)
    }

    /// The same for a question without a history: nothing to call, and an answer in the form of the schema.
    pub fn for_question(pack: &Pack, facts: &Facts, instructions: &[Fragment], wire: &WireSettings) -> Self {
        let mut facts = wire::facts_on(wire.wire, facts).into_owned();
        facts.settings.model.supports_parallel_tool_calls = false;
        let none = ToolList { tools: &[], given: &[], pack, facts: &facts };
        let (head, tail) = match wire.wire {
            WireApi::Responses => (responses::head(&facts, instructions), responses::tail(None, &facts, wire)),
            WireApi::Chat => (chat::head(&facts, instructions), chat::tail(none, &facts, wire)),
            WireApi::Messages => (messages::head(&facts, instructions, none, Calls::Forbidden, wire), messages::tail()),
        };
        Self::with(view(&facts, wire, ExecOutputs::AsRecorded), head, tail, Vec::new())
    }

    fn with(view: View, head: Encoded, tail: Encoded, omissions: Vec<Omission>) -> Self {
        Self { view, head: head.into(), tail: tail.into(), omissions, reading: Arc::default() }
    }

    /// The same frame in the memory of another one, as far as both are equal. Requests of a session, and sessions of a server,
    /// mostly have equal instructions and tools.
    #[must_use]
    pub fn sharing(mut self, other: &Self) -> Self {
        let shares_head = self.head.share(&other.head);
        let shares_tail = self.tail.share_beginning(&other.tail);
        if shares_head && shares_tail && self.view == other.view {
            self.reading = other.reading.clone();
        }
        self
    }

    /// Forgets the parts in the order of reading. They are read again when they are compared.
    pub fn forget_reading(&mut self) {
        self.reading = Arc::default();
    }

    /// The request with everything that is recorded so far.
    pub fn request(&self, transcript: &mut Transcript) -> Request {
        let items = transcript.view(self.view);
        self.around(items, transcript.closing())
    }

    /// The request with these bytes of items and the notation that closes their list.
    pub fn around(&self, items: Vec<Bytes>, closing: &'static str) -> Request {
        let mut segments = Vec::with_capacity(items.len() + 4);
        segments.push(self.head.first.clone());
        segments.extend(items);
        if !closing.is_empty() {
            segments.push(Bytes::from_static(closing.as_bytes()));
        }
        segments.push(self.tail.first.clone());
        if !self.tail.rest.is_empty() {
            segments.push(self.tail.rest.clone());
        }
        Request { segments }
    }

    /// The tools that the API format cannot offer.
    pub fn omissions(&self) -> &[Omission] {
        &self.omissions
    }

    /// The name of the list with the items.
    pub fn list(&self) -> &'static str {
        match self.view.wire {
            _ if self.view.watched.is_some() => self.view.watched.map_or("", WatchedFormat::list),
            WireApi::Responses => responses::LIST,
            WireApi::Chat => chat::LIST,
            WireApi::Messages => messages::LIST,
        }
    }

    /// A frame that was written down when it was used.
    pub fn recorded(view: View, head: Encoded, tail: Encoded) -> Self {
        Self::with(view, head, tail, Vec::new())
    }

    /// The view of the items between head and tail.
    pub fn view(&self) -> View {
        self.view
    }

    /// How many bytes surround the items.
    pub fn n_bytes(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// The bytes before the items.
    pub fn head_bytes(&self) -> &Bytes {
        // Only what follows the items is ever held in two places.
        &self.head.first
    }

    /// The bytes after the items. They are copied if another frame has the first of them.
    pub fn tail_bytes(&self) -> Bytes {
        self.tail.whole()
    }

    /// How many bytes follow the items.
    pub fn tail_len(&self) -> usize {
        self.tail.len()
    }

    /// Some of the bytes that follow the items.
    pub(crate) fn tail_slice(&self, range: Range<usize>) -> Bytes {
        self.tail.slice(range)
    }

    /// Whether both frames have the same bytes.
    pub fn is_same(&self, other: &Self) -> bool {
        self.view == other.view && self.head.has_bytes_of(&other.head) && self.tail.has_bytes_of(&other.tail)
    }

    /// Whether both frames have the same bytes from the same origins.
    pub fn is_same_with_origins(&self, other: &Self) -> bool {
        self.is_same(other) && self.head.spans == other.head.spans && self.tail.spans == other.tail.spans
    }

    /// The model that the request asks, if its bytes can be read.
    pub fn model(&self) -> Option<String> {
        serde_json::from_slice(&self.reading()?.model.as_ref()?.text).ok()
    }

    /// The parts as the model reads them; absent if the bytes are not a request.
    pub(crate) fn reading(&self) -> Option<&Reading> {
        self.reading.get_or_init(|| Reading::of(self)).as_ref()
    }

    /// The origin of a byte.
    pub(crate) fn origin_at(&self, place: Place) -> Option<&Origin> {
        self.origins(place, 1).next().map(|(origin, _)| origin)
    }

    /// The origins of a run of bytes, each with how many there are of it.
    pub(crate) fn origins(&self, place: Place, n_bytes: usize) -> impl Iterator<Item = (&Origin, usize)> {
        let (spans, start) = match place {
            Place::Head(at) => (&self.head.spans, at),
            Place::Tail(at) => (&self.tail.spans, at),
        };
        let mut end = 0;
        spans.iter().filter_map(move |span| {
            let from = end;
            end += span.len;
            let n_inside = end.min(start + n_bytes).saturating_sub(from.max(start));
            (n_inside > 0).then_some((&span.origin, n_inside))
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

fn view(facts: &Facts, wire: &WireSettings, exec_outputs: ExecOutputs) -> View {
    let images = if facts.settings.model.takes_images() { ShownImages::Shown } else { ShownImages::Replaced };
    View { images, exec_outputs, wire: wire.wire, developer: wire.developer, watched: None }
}

/// Whether the patch tool is offered in the form that goes with output as text.
fn has_freeform_patch(tools: &[OfferedTool<'_>]) -> bool {
    tools.iter().any(|tool| tool.file.kind == ToolKind::Custom && tool.file.name == "apply_patch")
}

#[cfg(test)]
mod tests;
