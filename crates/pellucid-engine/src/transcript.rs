//! The items of a session, each encoded once.
//!
//! Recording an item cuts over-long tool output, writes its bytes and their origins, and keeps what later decisions
//! need (is it a person's message, did the model make it, how many tokens). A request shares the rendered bytes:
//! nothing is walked, written or copied again for earlier items, unless the view changes.
//!
//! - `entry`: a recorded item: its kind, size and place
//! - `rendering`: items as requests have them
//! - `draft`: messages that are still in fragments
//! - `ready`: items that are recorded as they are
//! - `origin`: the origins of items that come back
//! - `placed`: texts with a place between items
//! - `resumed`: items that another process continues with
//! - `unloaded`: items that are dropped for a while
//! - `watched`: items that another program sent

mod draft;
mod entry;
mod origin;
mod placed;
mod ready;
mod rendering;
mod resumed;
mod unloaded;
mod watched;

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
pub use draft::Draft;
pub use draft::DraftPart;
use entry::Entry;
pub use origin::Attributed;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::TruncationPolicy;
pub use placed::KeptPlace;
use placed::Placed;
use ready::Ready;
pub use rendering::ExecOutputs;
pub(crate) use rendering::NO_IMAGE;
pub use rendering::Rendered;
use rendering::Rendering;
pub use rendering::ShownImages;
pub use rendering::View;
use serde::Deserialize;
use serde::Serialize;
pub use unloaded::Outline;

use crate::boundary;
use crate::chunks::Chunks;
use crate::cut::output::cut_output;
use crate::encode::Encoded;
use crate::encode::Encoder;
use crate::encode::Span;
use crate::fragment::Omission;
use crate::fragment::Origin;

/// Whether items carry the ids that the server gave them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemIds {
    /// Items have no ids.
    #[default]
    Hidden,
    /// Items have their ids as the last key: for endpoints that store responses.
    Sent,
}

/// The items of a session.
#[derive(Debug, Clone)]
pub struct Transcript {
    ids: ItemIds,
    truncation: TruncationPolicy,
    entries: Vec<Entry>,
    /// Calls and outputs by their ids, to pair them without a search.
    calls: BTreeSet<CallId>,
    outputs: BTreeSet<CallId>,
    sums: Sums,
    rendering: Rendering,
    /// Texts that requests show between the entries; absent if none were placed since the history began or was replaced.
    placed: Option<Vec<Placed>>,
    /// The bytes that requests showed before the rendering began again.
    shown_before: Option<Chunks>,
    /// How many items were looked at for origins that have to be kept.
    n_looked_at: usize,
    /// How much of the history a roll-back left, until a request shows it.
    left: Left,
}

/// The rest of the history after a roll-back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Left {
    /// Nothing was taken back.
    #[default]
    All,
    /// The number of entries that are kept and not rendered yet.
    Entries(usize),
    /// The number of bytes of the rendered items that are kept.
    Bytes(usize),
}

/// A call's id with the kind of output that answers it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallId {
    pub is_custom: bool,
    pub id: Arc<str>,
}

/// Running figures, so that no decision walks the history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sums {
    tokens: usize,
    tokens_since_model: usize,
    has_model_item: bool,
    reasoning: usize,
    reasoning_before_user: usize,
}

impl Transcript {
    /// A transcript without items.
    pub fn new(ids: ItemIds, truncation: TruncationPolicy) -> Self {
        Self {
            ids,
            truncation,
            entries: Vec::new(),
            calls: BTreeSet::new(),
            outputs: BTreeSet::new(),
            sums: Sums::default(),
            rendering: Rendering::new(View::default()),
            placed: None,
            shown_before: None,
            n_looked_at: 0,
            left: Left::All,
        }
    }

    /// Another policy for output that is recorded from now on.
    pub fn set_truncation(&mut self, truncation: TruncationPolicy) {
        self.truncation = truncation;
    }

    /// How outputs of tools are cut when they are recorded.
    pub fn truncation(&self) -> TruncationPolicy {
        self.truncation
    }

    /// Whether items carry the ids that the server gave them.
    pub fn ids(&self) -> ItemIds {
        self.ids
    }

    /// How many items are recorded.
    pub fn n_items(&self) -> usize {
        self.entries.len()
    }

    /// Records a message made of fragments.
    pub fn record_draft(&mut self, draft: &Draft) {
        let item = draft.item();
        self.push(&item, draft.encode());
    }

    /// Records an item from outside. Items that no model may see again are passed over.
    pub fn record(&mut self, item: &Item, origin: &Origin) {
        match item {
            Item::Other => return,
            Item::Message { role, .. } if role == "system" => return,
            _ => {}
        }
        let item = cut_output(item, self.truncation);
        let mut encoder = Encoder::new(&origin.kind().into());
        match (self.ids, item.server_id()) {
            (ItemIds::Sent, Some(id)) => encoder.value(&WithId { item: &item, id }, origin),
            _ => encoder.value(item.as_ref(), origin),
        }
        self.push(&item, encoder.finish());
    }

    /// Records an item by its bytes if they are exactly those that we would write, and returns whether they are.
    /// Other items have to be parsed and recorded.
    pub fn record_ready(&mut self, bytes: &[u8], part: &Arc<str>, origin: &Origin) -> bool {
        let Some(ready) = Ready::read(bytes, self.truncation) else {
            return false;
        };
        let span = Span { part: part.clone(), origin: origin.clone(), len: bytes.len(), raw_len: bytes.len() };
        self.add(Entry::ready(ready, bytes, span));
        true
    }

    /// Renders what is recorded so far, unless calls are waiting for their outputs, and returns whether it did. What is
    /// rendered is no longer held twice.
    pub fn settle(&mut self, view: View) -> bool {
        let is_settled = self.calls.len() == self.outputs.len();
        if is_settled {
            self.view(view);
        }
        is_settled
    }

    /// The items as a request has them, in its API format.
    ///
    /// Items that were recorded since the last call are rendered now, when the earlier request is usually no longer
    /// held and the bytes can be appended in place.
    pub fn view(&mut self, view: View) -> Vec<Bytes> {
        if self.rendering.view != view {
            self.reset_rendering(view);
        }
        let placed = self.placed.as_deref_mut().unwrap_or_default();
        if let Left::Entries(n_left) = self.left {
            self.rendering.catch_up(&mut self.entries[..n_left], placed, &self.calls, &self.outputs);
            self.left = Left::Bytes(self.rendering.chunks().len());
        }
        self.rendering.catch_up(&mut self.entries, placed, &self.calls, &self.outputs);
        self.rendering.bytes()
    }

    /// Compares the items of the last view with those of the view before. The first byte that differs is returned
    /// only once.
    pub fn take_divergence(&mut self) -> Option<Divergence> {
        let before = self.shown_before.take()?;
        let kept = self.rendering.chunks().common_prefix(&before);
        (kept < before.len()).then_some(Divergence { kept, of: before.len() })
    }

    /// How the last view showed items.
    pub fn shown_view(&self) -> View {
        self.rendering.view
    }

    /// Whether the next view has other items than a continuation of those of the last view, as far as recorded items say.
    pub fn begins_again(&self) -> bool {
        self.shown_before.is_some()
    }

    /// The bytes of the items of the last view, also after others have taken their place.
    pub fn last_shown(&self) -> Vec<Bytes> {
        self.shown_before.as_ref().unwrap_or_else(|| self.rendering.chunks()).view()
    }

    /// How many bytes of the items of the last view a roll-back left, if there was one. A second call gives nothing.
    pub fn take_left(&mut self) -> Option<usize> {
        match std::mem::take(&mut self.left) {
            Left::All | Left::Entries(_) => None,
            Left::Bytes(n_bytes) => Some(n_bytes),
        }
    }

    /// Forgets that turns were taken back: requests have shown what was left.
    pub fn forget_roll_back(&mut self) {
        self.left = Left::All;
    }

    /// The bytes that close the list after the items of the last view.
    pub fn closing(&self) -> &'static str {
        self.rendering.closing()
    }

    /// The items of the last view that the API format cannot express.
    pub fn omissions(&self) -> &[Omission] {
        self.rendering.omissions()
    }

    /// How many bytes the items of the last view have.
    pub fn shown_len(&self) -> usize {
        self.rendering.chunks().len()
    }

    /// The items of the last request, with their origins.
    pub fn rendered(&self) -> &[Rendered] {
        self.rendering.rows()
    }

    /// The recorded items, read back.
    pub fn items(&self) -> impl Iterator<Item = Item> {
        self.entries.iter().filter_map(|entry| entry.item(self.rendering.chunks()))
    }

    /// The recorded item at a place, read back. No other item is parsed.
    pub fn item(&self, n: usize) -> Option<Item> {
        self.entries.get(n)?.item(self.rendering.chunks())
    }

    /// Whether a recorded item has what is looked for in its bytes.
    pub fn has_item(&self, is_match: &dyn Fn(&[u8]) -> bool) -> bool {
        self.entries.iter().any(|entry| is_match(entry.recorded(self.rendering.chunks())))
    }

    /// The recorded messages and snapshots of the work tree, read back, in their order. No other item is parsed.
    pub fn messages_and_snapshots(&self) -> impl Iterator<Item = Item> {
        let entries = self.entries.iter().filter(|entry| matches!(entry.kind, entry::MESSAGE | entry::SNAPSHOT));
        entries.filter_map(|entry| entry.item(self.rendering.chunks()))
    }

    /// The recorded messages, read back. Calls and their outputs, which most bytes of a long history belong to, are not
    /// parsed.
    pub fn messages(&self) -> impl Iterator<Item = Item> {
        self.items_of(entry::MESSAGE)
    }

    /// The recorded snapshots of the work tree, read back. No other item is parsed.
    pub fn snapshots(&self) -> impl Iterator<Item = Item> {
        self.items_of(entry::SNAPSHOT)
    }

    fn items_of(&self, kind: &'static str) -> impl Iterator<Item = Item> {
        let entries = self.entries.iter().filter(move |entry| entry.kind == kind);
        entries.filter_map(|entry| entry.item(self.rendering.chunks()))
    }

    /// The estimated tokens of all items, with those of texts between them.
    pub fn tokens(&self) -> usize {
        self.sums.tokens + self.placed.iter().flatten().map(|text| text.entry.tokens).sum::<usize>()
    }

    /// The estimated tokens that the server's last figure does not know: what came after the
    /// model's last item, and earlier thoughts unless the server counts them.
    pub fn tokens_unreported(&self, reasoning: ReasoningCounted) -> usize {
        let since = if self.sums.has_model_item { self.sums.tokens_since_model } else { 0 };
        match reasoning {
            ReasoningCounted::ByServer => since,
            ReasoningCounted::ByUs => since + self.sums.reasoning_before_user,
        }
    }

    /// Removes the last turns of the user: everything from the `n`-th last user message on, or from the first if
    /// there are fewer. Returns whether anything was removed.
    pub fn roll_back(&mut self, n_turns: usize) -> bool {
        let boundaries: Vec<usize> =
            self.entries.iter().enumerate().filter(|(_, entry)| entry.is_user_turn).map(|(n, _)| n).collect();
        let Some(cut) = boundary::cut_position(&boundaries, n_turns) else {
            return false;
        };
        self.placed = None;
        self.reset_rendering(self.rendering.view);
        self.entries.truncate(cut);
        self.n_looked_at = self.n_looked_at.min(cut);
        self.recount();
        self.left = Left::Entries(cut);
        true
    }

    /// Removes all items, before others are recorded.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.placed = None;
        self.n_looked_at = 0;
        self.left = Left::All;
        self.begin_rendering(self.rendering.view);
        self.recount();
    }

    fn reset_rendering(&mut self, view: View) {
        let chunks = self.rendering.chunks();
        let placed = self.placed.iter_mut().flatten().map(|text| &mut text.entry);
        for entry in self.entries.iter_mut().chain(placed) {
            entry.own(chunks);
        }
        self.begin_rendering(view);
    }

    fn begin_rendering(&mut self, view: View) {
        let old = std::mem::replace(&mut self.rendering, Rendering::new(view));
        if self.shown_before.is_none() && !old.chunks().is_empty() {
            self.shown_before = Some(old.into_chunks());
        }
    }

    fn recount(&mut self) {
        self.calls.clear();
        self.outputs.clear();
        self.sums = Sums::default();
        for entry in &self.entries {
            count(&mut self.sums, entry);
            pair(&mut self.calls, &mut self.outputs, entry);
        }
    }

    fn push(&mut self, item: &Item, encoded: Encoded) {
        self.add(Entry::new(item, encoded));
    }

    fn add(&mut self, entry: Entry) {
        if let Some(call_id) = &entry.call_id
            && self.rendering.is_contradicted_by(&entry, call_id)
        {
            // An answer that came after all, or a call after its output: what was shown instead
            // must go.
            self.reset_rendering(self.rendering.view);
        }
        count(&mut self.sums, &entry);
        pair(&mut self.calls, &mut self.outputs, &entry);
        self.entries.push(entry);
    }
}

/// The place at which the items of a request diverge from those of the request before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Divergence {
    /// How many bytes are the same.
    pub kept: usize,
    /// The number of bytes of the items before.
    pub of: usize,
}

/// Whether the server's figures include the tokens of earlier reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningCounted {
    /// The server's figures include them.
    ByServer,
    /// The server's figures lack them, so we add an estimate.
    ByUs,
}

fn count(sums: &mut Sums, entry: &Entry) {
    sums.tokens += entry.tokens;
    if entry.is_model_made {
        sums.tokens_since_model = 0;
        sums.has_model_item = true;
    } else {
        sums.tokens_since_model += entry.tokens;
    }
    if entry.is_sealed_reasoning {
        sums.reasoning += entry.tokens;
    }
    if entry.role.as_deref() == Some("user") {
        sums.reasoning_before_user = sums.reasoning;
    }
}

fn pair(calls: &mut BTreeSet<CallId>, outputs: &mut BTreeSet<CallId>, entry: &Entry) {
    if let Some(call_id) = &entry.call_id {
        let set = if entry.is_output() { outputs } else { calls };
        set.insert(call_id.clone());
    }
}

/// An item with its id as the last key.
#[derive(serde::Serialize)]
struct WithId<'a> {
    #[serde(flatten)]
    item: &'a Item,
    id: &'a str,
}

#[cfg(test)]
mod tests;
