//! Renders items for requests.
//!
//! Before they are shown, calls without an output get one, outputs without a call and snapshots are removed, images
//! become a sentence for models that cannot see, and structured command output becomes text for models that were
//! trained on that. Then they are put into the notation of the wire. All of it happens once for each item, in order;
//! nothing is written back.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::provider::DeveloperRole;
use pellucid_protocol::provider::WireApi;
use serde::Deserialize;
use serde::Serialize;

use super::CallId;
use super::entry::Entry;
use super::entry::SNAPSHOT;
use super::entry::Stored;
use super::placed::Placed;
use crate::chunks::Chunks;
use crate::encode::Encoder;
use crate::encode::Span;
use crate::encode::to_json;
use crate::exec_output;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::fragment::Why;
use crate::watched::WatchedFormat;
use crate::wire::chat;
use crate::wire::messages;
use crate::wire::piece::Piece;
use crate::wire::written::Written;

/// The output of a call that was never answered.
const ABORTED: &str = "aborted";

/// The text in place of an image.
pub(crate) const NO_IMAGE: &str = "image content omitted because you do not support image input";

/// How items are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// How images are shown.
    #[serde(rename = "pictures")]
    pub images: ShownImages,
    /// Structured output of commands.
    pub exec_outputs: ExecOutputs,
    /// The API format of the request.
    pub wire: WireApi,
    /// The role of our messages, in formats where it varies.
    pub developer: DeveloperRole,
    /// The format of a request that another program made, whose items are shown as they were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<WatchedFormat>,
}

/// How images are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownImages {
    /// Images are sent unchanged.
    #[default]
    Shown,
    /// As a sentence, for models that cannot see.
    Replaced,
}

/// How structured output of commands is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecOutputs {
    /// The output is sent in its recorded form.
    #[default]
    AsRecorded,
    /// The output is converted to text.
    AsText,
}

/// An item of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The type: `message`, `function_call` ...
    pub kind: &'static str,
    /// The role, for messages.
    pub role: Option<Arc<str>>,
    /// The number of bytes of notation before the item.
    pub lead: usize,
    /// The origins of its bytes.
    pub spans: Arc<[Span]>,
    /// How many bytes of notation close the list behind it, if it is the last.
    pub trail: usize,
}

impl Rendered {
    /// How many bytes it has, with the notation before it.
    pub fn len(&self) -> usize {
        self.lead + self.spans.iter().map(|span| span.len).sum::<usize>()
    }

    /// Never: an item has at least braces.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The rendered items of one view.
#[derive(Debug, Clone)]
pub(super) struct Rendering {
    pub view: View,
    chunks: Chunks,
    rows: Vec<Rendered>,
    /// How many entries are rendered.
    n_entries: usize,
    /// How many texts with a place between entries are rendered.
    n_placed: usize,
    /// Calls whose structured output is to be shown as text.
    awaiting_text: BTreeSet<CallId>,
    /// Calls that were given an output, and outputs that were left out.
    repaired: BTreeSet<CallId>,
    left_out: BTreeSet<CallId>,
    notation: Notation,
    /// The items that the API format cannot express.
    omissions: Vec<Omission>,
}

/// The state of a translation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Notation {
    /// The notation in which items are recorded.
    Responses,
    Chat(chat::Translator),
    Messages(messages::Translator),
}

impl Rendering {
    pub fn new(view: View) -> Self {
        Self {
            view,
            chunks: Chunks::default(),
            rows: Vec::new(),
            n_entries: 0,
            n_placed: 0,
            awaiting_text: BTreeSet::new(),
            repaired: BTreeSet::new(),
            left_out: BTreeSet::new(),
            notation: match view.wire {
                WireApi::Responses => Notation::Responses,
                WireApi::Chat => Notation::Chat(chat::Translator::new(view.developer)),
                WireApi::Messages => Notation::Messages(messages::Translator::default()),
            },
            omissions: Vec::new(),
        }
    }

    pub fn chunks(&self) -> &Chunks {
        &self.chunks
    }

    pub fn into_chunks(self) -> Chunks {
        self.chunks
    }

    pub fn rows(&self) -> &[Rendered] {
        &self.rows
    }

    pub fn omissions(&self) -> &[Omission] {
        &self.omissions
    }

    pub fn bytes(&self) -> Vec<Bytes> {
        self.chunks.view()
    }

    /// The bytes that close the list after the last item.
    pub fn closing(&self) -> &'static str {
        match &self.notation {
            _ if self.view.watched.is_some() => "",
            Notation::Responses | Notation::Chat(_) => "",
            Notation::Messages(translator) => translator.closing(),
        }
    }

    /// Whether an item makes what was shown before it wrong.
    pub fn is_contradicted_by(&self, entry: &Entry, call_id: &CallId) -> bool {
        if entry.is_output() { self.repaired.contains(call_id) } else { self.left_out.contains(call_id) }
    }

    /// How many entries are rendered.
    pub fn n_entries(&self) -> usize {
        self.n_entries
    }

    /// How many texts with a place between entries are rendered.
    pub fn n_placed(&self) -> usize {
        self.n_placed
    }

    /// Whether both show the same items, and will show the next ones in the same way.
    pub fn is_same(&self, other: &Self) -> bool {
        self.view == other.view
            && (self.n_entries, self.n_placed) == (other.n_entries, other.n_placed)
            && self.awaiting_text == other.awaiting_text
            && (&self.repaired, &self.left_out) == (&other.repaired, &other.left_out)
            && self.notation == other.notation
            && self.omissions == other.omissions
            && self.rows == other.rows
            && self.chunks.is_same(&other.chunks)
    }

    /// Renders what is new: entries, and between them the texts that have a place there.
    pub fn catch_up(
        &mut self,
        entries: &mut [Entry],
        placed: &mut [Placed],
        calls: &BTreeSet<CallId>,
        outputs: &BTreeSet<CallId>,
    ) {
        let known = Pairs { calls, outputs };
        while let Some(text) = placed.get_mut(self.n_placed).filter(|text| text.before <= entries.len()) {
            let before = text.before.max(self.n_entries);
            self.write(&mut entries[self.n_entries..before], known);
            self.n_entries = before;
            self.write(std::slice::from_mut(&mut text.entry), known);
            self.n_placed += 1;
        }
        self.write(&mut entries[self.n_entries..], known);
        self.n_entries = entries.len();
    }

    fn write(&mut self, fresh: &mut [Entry], known: Pairs<'_>) {
        let bytes = match self.view.wire {
            _ if self.view.watched.is_some() => self.copy(fresh),
            WireApi::Responses => self.render(fresh, known),
            WireApi::Chat | WireApi::Messages => self.translate(fresh, known),
        };
        self.chunks.append(&bytes);
    }

    /// Copies items that another program sent.
    fn copy(&mut self, entries: &mut [Entry]) -> Vec<u8> {
        let mut fresh = Vec::new();
        let base = self.chunks.len();
        for entry in entries {
            let lead = entry.lead.as_deref().unwrap_or_default().as_bytes();
            fresh.extend_from_slice(lead);
            let start = base + fresh.len();
            fresh.extend_from_slice(entry.recorded(&self.chunks));
            let row = Rendered {
                kind: entry.kind,
                role: entry.role.clone(),
                lead: lead.len(),
                spans: entry.spans.clone(),
                trail: 0,
            };
            self.rows.push(row);
            entry.bytes = Stored::Rendered(start..base + fresh.len());
        }
        fresh
    }

    /// Renders items one after the other, in recorded order.
    fn render(&mut self, entries: &mut [Entry], known: Pairs<'_>) -> Vec<u8> {
        let mut fresh = Vec::new();
        let base = self.chunks.len();
        for entry in entries {
            let Some(shown) = self.show(entry, known) else {
                continue;
            };
            let lead = self.comma(&mut fresh);
            let spans = match shown {
                Shown::Changed(item) => {
                    let bytes = to_json(&item);
                    fresh.extend_from_slice(&bytes);
                    shown_otherwise(entry, bytes.len())
                }
                Shown::AsRecorded => {
                    let start = base + fresh.len();
                    let bytes = entry.recorded(&self.chunks);
                    let end = start + bytes.len();
                    fresh.extend_from_slice(bytes);
                    entry.bytes = Stored::Rendered(start..end);
                    entry.spans.clone()
                }
            };
            self.rows.push(Rendered { kind: entry.kind, role: entry.role.clone(), lead, spans, trail: 0 });
            if let Some(call_id) = self.lacks_output(entry, known) {
                let lead = self.comma(&mut fresh);
                let Piece { kind, bytes, spans, .. } = missing_output(call_id);
                fresh.extend_from_slice(&bytes);
                self.rows.push(Rendered { kind, role: None, lead, spans, trail: 0 });
            }
        }
        fresh
    }

    /// Puts items into the notation of another wire.
    fn translate(&mut self, entries: &[Entry], known: Pairs<'_>) -> Vec<u8> {
        let mut pieces = Vec::new();
        for entry in entries {
            let Some(shown) = self.show(entry, known) else {
                continue;
            };
            let (bytes, spans) = match shown {
                Shown::Changed(item) => {
                    let bytes = to_json(&item);
                    let spans = shown_otherwise(entry, bytes.len());
                    (bytes, spans)
                }
                Shown::AsRecorded => (entry.recorded(&self.chunks).to_vec(), entry.spans.clone()),
            };
            let (role, call_id) = (entry.role.clone(), entry.call_id.clone());
            pieces.push(Piece { kind: entry.kind, role, call_id, bytes, spans });
            pieces.extend(self.lacks_output(entry, known).map(missing_output));
        }
        let mut written = Written::default();
        let repaired = &mut self.repaired;
        let missing = |call_id: &CallId| {
            repaired.insert(call_id.clone());
            missing_output(call_id)
        };
        match &mut self.notation {
            Notation::Responses => {}
            Notation::Chat(translator) => translator.write(pieces, &mut written, missing),
            Notation::Messages(translator) => translator.write(pieces, &mut written, missing),
        }
        if let (Some(last), false) = (self.rows.last_mut(), written.rows.is_empty()) {
            last.trail = 0;
        }
        self.rows.append(&mut written.rows);
        self.omissions.append(&mut written.omissions);
        let trail = self.closing().len();
        if let Some(last) = self.rows.last_mut() {
            last.trail = trail;
        }
        written.bytes
    }

    /// How an item is shown; absent if it is not.
    fn show(&mut self, entry: &Entry, known: Pairs<'_>) -> Option<Shown> {
        if entry.kind == SNAPSHOT {
            return None;
        }
        if entry.is_signed_thought && self.view.wire != WireApi::Messages {
            let error = "only the API format that signed it can read it".to_owned();
            let what = entry.kind.to_owned();
            self.omissions.push(Omission { slot: "model".into(), what, why: Why::Unusable { error } });
            return None;
        }
        let answers_text = match &entry.call_id {
            Some(call_id) if entry.is_output() => {
                if !known.calls.contains(call_id) {
                    self.left_out.insert(call_id.clone());
                    return None;
                }
                self.awaiting_text.remove(call_id)
            }
            Some(call_id) => {
                if entry.is_exec_call && self.view.exec_outputs == ExecOutputs::AsText {
                    self.awaiting_text.insert(call_id.clone());
                }
                false
            }
            None => false,
        };
        let changed = if entry.has_images && self.view.images == ShownImages::Replaced {
            entry.item(&self.chunks).map(without_images)
        } else if answers_text {
            entry.item(&self.chunks).and_then(as_text)
        } else {
            None
        };
        Some(changed.map_or(Shown::AsRecorded, Shown::Changed))
    }

    /// The id of the call if it has no output.
    fn lacks_output<'a>(&mut self, entry: &'a Entry, known: Pairs<'_>) -> Option<&'a CallId> {
        let call_id = entry.call_id.as_ref()?;
        let lacks = !entry.is_output() && !known.outputs.contains(call_id);
        if lacks {
            self.repaired.insert(call_id.clone());
        }
        lacks.then_some(call_id)
    }

    /// Writes the separator before an item; returns its number of bytes.
    fn comma(&self, fresh: &mut Vec<u8>) -> usize {
        if self.rows.is_empty() {
            return 0;
        }
        fresh.push(b',');
        1
    }
}

/// All calls and outputs, by id.
#[derive(Clone, Copy)]
struct Pairs<'a> {
    calls: &'a BTreeSet<CallId>,
    outputs: &'a BTreeSet<CallId>,
}

/// How an item is shown.
enum Shown {
    /// The item is shown in its recorded form.
    AsRecorded,
    /// The item is shown in another form.
    Changed(Item),
}

/// An output for a call that has none.
fn missing_output(call_id: &CallId) -> Piece {
    let (id, output) = (call_id.id.to_string(), ABORTED.to_owned());
    let (kind, item) = if call_id.is_custom {
        ("custom_tool_call_output", Item::CustomToolCallOutput { call_id: id, output })
    } else {
        let output = ToolOutput::Text(output);
        ("function_call_output", Item::FunctionCallOutput { call_id: id, output })
    };
    let mut encoder = Encoder::new(&"repair".into());
    encoder.value(&item, &Origin::Repair);
    let encoded = encoder.finish();
    Piece { kind, role: None, call_id: Some(call_id.clone()), bytes: encoded.bytes, spans: encoded.spans.into() }
}

/// The origins of an item that is shown in another form: all of it is its author's.
fn shown_otherwise(entry: &Entry, len: usize) -> Arc<[Span]> {
    let author = entry.spans.iter().max_by_key(|span| span.len);
    author.map(|span| Span { len, raw_len: len, ..span.clone() }).into_iter().collect()
}

fn without_images(mut item: Item) -> Item {
    let parts = match &mut item {
        Item::Message { content, .. } => content,
        Item::FunctionCallOutput { output: ToolOutput::Parts(parts), .. } => parts,
        _ => return item,
    };
    for part in parts {
        if matches!(part, ContentPart::InputImage { .. }) {
            *part = ContentPart::InputText { text: NO_IMAGE.to_owned() };
        }
    }
    item
}

/// An output with its structure written out, if it has one.
fn as_text(item: Item) -> Option<Item> {
    match item {
        Item::FunctionCallOutput { call_id, output: ToolOutput::Text(output) } => {
            let output = ToolOutput::Text(exec_output::as_text(&output)?);
            Some(Item::FunctionCallOutput { call_id, output })
        }
        Item::CustomToolCallOutput { call_id, output } => {
            Some(Item::CustomToolCallOutput { call_id, output: exec_output::as_text(&output)? })
        }
        _ => None,
    }
}
