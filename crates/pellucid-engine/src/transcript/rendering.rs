//! Items as they stand in requests.
//!
//! Before they are shown, calls without an output get one, outputs without a call go, snapshots
//! go, pictures become a sentence for models that cannot see, and structured command output
//! becomes text for models that were trained on that. All of it happens once for each item, in
//! order; nothing is written back.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;

use super::CallId;
use super::entry::Entry;
use super::entry::Stored;
use crate::chunks::Chunks;
use crate::encode::Encoder;
use crate::encode::Span;
use crate::encode::to_json;
use crate::exec_output;
use crate::fragment::Origin;

/// What is said of a call that was never answered.
const ABORTED: &str = "aborted";

/// What is said in place of a picture.
const NO_PICTURE: &str = "image content omitted because you do not support image input";

/// How items are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct View {
    /// Pictures.
    pub pictures: Pictures,
    /// Structured output of commands.
    pub exec_outputs: ExecOutputs,
}

/// How pictures are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pictures {
    /// As they are.
    #[default]
    Shown,
    /// As a sentence, for models that cannot see.
    Replaced,
}

/// How structured output of commands is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExecOutputs {
    /// As it was recorded.
    #[default]
    AsRecorded,
    /// As text.
    AsText,
}

/// An item of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// `message`, `function_call` ...
    pub kind: &'static str,
    /// The role, for messages.
    pub role: Option<Arc<str>>,
    /// The origins of its bytes.
    pub spans: Arc<[Span]>,
}

/// Items as they stand in requests of one view.
#[derive(Debug, Clone)]
pub(super) struct Rendering {
    pub view: View,
    chunks: Chunks,
    rows: Vec<Rendered>,
    /// How many entries are rendered.
    n_entries: usize,
    /// Calls whose structured output is to be shown as text.
    awaiting_text: BTreeSet<CallId>,
    /// Calls that were given an output, and outputs that were left out.
    repaired: BTreeSet<CallId>,
    left_out: BTreeSet<CallId>,
}

impl Rendering {
    pub fn new(view: View) -> Self {
        Self {
            view,
            chunks: Chunks::default(),
            rows: Vec::new(),
            n_entries: 0,
            awaiting_text: BTreeSet::new(),
            repaired: BTreeSet::new(),
            left_out: BTreeSet::new(),
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

    pub fn bytes(&self) -> Vec<Bytes> {
        self.chunks.view()
    }

    /// Whether an item makes what was shown before it wrong.
    pub fn is_contradicted_by(&self, entry: &Entry, call_id: &CallId) -> bool {
        if entry.is_output() { self.repaired.contains(call_id) } else { self.left_out.contains(call_id) }
    }

    /// Renders what is new.
    pub fn catch_up(&mut self, entries: &mut [Entry], calls: &BTreeSet<CallId>, outputs: &BTreeSet<CallId>) {
        let mut fresh = Vec::new();
        let base = self.chunks.len();
        for entry in &mut entries[self.n_entries..] {
            self.render(entry, &mut fresh, base, calls, outputs);
        }
        self.n_entries = entries.len();
        self.chunks.append(&fresh);
    }

    fn render(
        &mut self,
        entry: &mut Entry,
        fresh: &mut Vec<u8>,
        base: usize,
        calls: &BTreeSet<CallId>,
        outputs: &BTreeSet<CallId>,
    ) {
        if entry.kind == "ghost_snapshot" {
            return;
        }
        let answers_text = match &entry.call_id {
            Some(call_id) if entry.is_output() => {
                if !calls.contains(call_id) {
                    self.left_out.insert(call_id.clone());
                    return;
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
        let changed = if entry.has_pictures && self.view.pictures == Pictures::Replaced {
            entry.item(&self.chunks).map(without_pictures)
        } else if answers_text {
            entry.item(&self.chunks).and_then(as_text)
        } else {
            None
        };
        self.comma(fresh);
        match changed {
            Some(item) => {
                let bytes = to_json(&item);
                let spans = shown_anew(entry, bytes.len());
                fresh.extend_from_slice(&bytes);
                self.rows.push(Rendered { kind: entry.kind, role: entry.role.clone(), spans });
            }
            None => {
                let start = base + fresh.len();
                let bytes = entry.recorded(&self.chunks);
                let end = start + bytes.len();
                fresh.extend_from_slice(bytes);
                entry.bytes = Stored::Rendered(start..end);
                let row = Rendered { kind: entry.kind, role: entry.role.clone(), spans: entry.spans.clone() };
                self.rows.push(row);
            }
        }
        if let Some(call_id) = &entry.call_id
            && !entry.is_output()
            && !outputs.contains(call_id)
        {
            self.repaired.insert(call_id.clone());
            self.comma(fresh);
            self.push_missing_output(call_id, fresh);
        }
    }

    fn push_missing_output(&mut self, call_id: &CallId, fresh: &mut Vec<u8>) {
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
        fresh.extend_from_slice(&encoded.bytes);
        self.rows.push(Rendered { kind, role: None, spans: encoded.spans.into() });
    }

    /// Separates an item from the one before.
    fn comma(&self, fresh: &mut Vec<u8>) {
        if !self.rows.is_empty() {
            fresh.push(b',');
        }
    }
}

/// The origins of an item that is shown in another form: all of it is its author's.
fn shown_anew(entry: &Entry, len: usize) -> Arc<[Span]> {
    let author = entry.spans.iter().max_by_key(|span| span.len);
    author.map(|span| Span { len, raw_len: len, ..span.clone() }).into_iter().collect()
}

fn without_pictures(mut item: Item) -> Item {
    let parts = match &mut item {
        Item::Message { content, .. } => content,
        Item::FunctionCallOutput { output: ToolOutput::Parts(parts), .. } => parts,
        _ => return item,
    };
    for part in parts {
        if matches!(part, ContentPart::InputImage { .. }) {
            *part = ContentPart::InputText { text: NO_PICTURE.to_owned() };
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
