//! The origins of items that come back: from a session file, or from a record of what was sent.

use std::collections::BTreeSet;
use std::sync::Arc;

use pellucid_protocol::item::Item;

use super::Draft;
use super::Entry;
use super::Transcript;
use super::entry::SNAPSHOT;
use crate::assemble::LayoutMessage;
use crate::encode::Span;
use crate::fragment::Origin;
use crate::origins;
use crate::origins::ItemKey;
use crate::origins::Origins;

/// An item with the origins of its bytes.
#[derive(Debug, Clone)]
pub struct Attributed {
    /// The key that identifies the item when the session is loaded again.
    pub key: ItemKey,
    /// The spans of its bytes, each with an origin.
    pub spans: Arc<[Span]>,
    /// Whether the origins follow from the item's bytes.
    pub is_usual: bool,
}

impl Transcript {
    /// Records an item at an offset of the session file, with the origins that were kept of it. One whose
    /// origins were not kept has this one.
    pub fn record_again(&mut self, item: &Item, origins: &Origins, at: u64, otherwise: &Origin) {
        let n_before = self.entries.len();
        self.record(item, otherwise);
        if self.entries.len() > n_before {
            self.attribute_last(origins, at);
        }
    }

    /// The same for an item by its bytes, as [`Self::record_ready`] takes it.
    pub fn record_ready_again(
        &mut self,
        bytes: &[u8],
        part: &Arc<str>,
        origins: &Origins,
        at: u64,
        otherwise: &Origin,
    ) -> bool {
        let is_ready = self.record_ready(bytes, part, otherwise);
        if is_ready {
            self.attribute_last(origins, at);
        }
        is_ready
    }

    fn attribute_last(&mut self, origins: &Origins, at: u64) {
        let Some((last, before)) = self.entries.split_last() else {
            return;
        };
        let bytes = last.recorded(self.rendering.chunks());
        let kept = origins.find(bytes, at).cloned();
        let is_message = last.role.is_some() && !last.is_model_made;
        let usual = || origins.covers(at, is_message).then(|| usual(last, bytes, before)).flatten();
        let spans = kept.or_else(usual);
        if let (Some(spans), Some(last)) = (spans, self.entries.last_mut()) {
            last.spans = spans;
        }
    }

    /// The items since the last call whose origins may have to be kept: those whose bytes do not give them, and those
    /// of a length that others have whose bytes do not.
    pub fn take_attributed(&mut self, is_kept_len: impl Fn(usize) -> bool) -> Vec<Attributed> {
        let mut attributed = Vec::new();
        for n in self.n_looked_at..self.entries.len() {
            let (before, entry) = (&self.entries[..n], &self.entries[n]);
            let is_usual = is_usual(entry, before);
            let bytes = entry.recorded(self.rendering.chunks());
            if (!is_usual || is_kept_len(bytes.len())) && !is_lost(entry) {
                attributed.push(Attributed { key: ItemKey::of(bytes), spans: entry.spans.clone(), is_usual });
            }
        }
        self.n_looked_at = self.entries.len();
        attributed
    }

    /// Whether the origins of all items are known.
    pub fn is_attributed(&self) -> bool {
        !self.entries.iter().any(is_lost)
    }

    /// The items whose origins are not known.
    pub fn lost_keys(&self) -> BTreeSet<ItemKey> {
        let chunks = self.rendering.chunks();
        self.entries.iter().filter(|entry| is_lost(entry)).map(|it| ItemKey::of(it.recorded(chunks))).collect()
    }

    /// Gives the first items the origins of the messages that they are, where theirs were not kept.
    pub fn attribute_context(&mut self, messages: &[LayoutMessage]) {
        let chunks = self.rendering.chunks();
        for (entry, message) in self.entries.iter_mut().zip(messages).filter(|(entry, _)| is_lost(entry)) {
            let encoded = Draft::from(message.clone()).encode();
            if encoded.bytes == entry.recorded(chunks) {
                entry.spans = encoded.spans.into();
            }
        }
    }

    /// The items with their origins.
    pub fn items_with_origins(&self) -> impl Iterator<Item = (Item, Arc<[Span]>)> {
        let chunks = self.rendering.chunks();
        self.entries.iter().filter_map(|entry| Some((entry.item(chunks)?, entry.spans.clone())))
    }

    /// Records an item with the origins of its bytes, or with this one if they do not fit.
    pub fn record_with(&mut self, item: &Item, spans: &Arc<[Span]>, otherwise: &Origin) {
        let n_before = self.entries.len();
        self.record(item, otherwise);
        let len = spans.iter().map(|span| span.len).sum::<usize>();
        let chunks = self.rendering.chunks();
        if self.entries.len() > n_before
            && let Some(last) = self.entries.last_mut()
            && last.recorded(chunks).len() == len
        {
            last.spans = spans.clone();
        }
    }
}

/// Whether the origins of an item are not known.
fn is_lost(entry: &Entry) -> bool {
    entry.spans.iter().any(|span| matches!(span.origin, Origin::Recorded { .. }))
}

/// The tool whose output an item is.
fn tool_of<'a>(entry: &Entry, before: &'a [Entry]) -> Option<&'a Arc<str>> {
    let is_call = |it: &&Entry| it.call_id == entry.call_id && !it.is_output();
    before.iter().rev().find(is_call)?.tool.as_ref()
}

/// The spans of an item that nothing was written down of.
fn usual(entry: &Entry, bytes: &[u8], before: &[Entry]) -> Option<Arc<[Span]>> {
    let whole = |origin: Origin| {
        let part: Arc<str> = origin.kind().into();
        Some([Span { part, origin, len: bytes.len(), raw_len: bytes.len() }].into())
    };
    if entry.is_model_made {
        whole(Origin::Model)
    } else if entry.is_output() {
        whole(Origin::Tool { name: tool_of(entry, before)?.clone() })
    } else if entry.kind == SNAPSHOT {
        whole(Origin::Layout)
    } else {
        origins::said_by_user(bytes)
    }
}

/// Whether an item has the spans that it would be given if nothing was written down of it.
fn is_usual(entry: &Entry, before: &[Entry]) -> bool {
    let part_fits = |span: &Span| *span.part == *span.origin.kind();
    match &entry.spans[..] {
        [only] if entry.is_model_made => only.origin == Origin::Model && part_fits(only),
        [Span { origin: Origin::Tool { name }, part, .. }] if entry.is_output() => {
            **part == *"tool" && tool_of(entry, before) == Some(name)
        }
        [_] if entry.kind == SNAPSHOT => true,
        [open, said, close] => {
            let parts = [open, said, close].iter().all(|span| *span.part == *"user");
            let origins = open.origin == Origin::Wire && said.origin == Origin::User && close.origin == Origin::Wire;
            parts && origins && entry.role.as_deref() == Some("user") && origins::frames_said(open.len, close.len)
        }
        _ => false,
    }
}
