//! Texts that requests show between items, and that are no items of the history.
//!
//! A layout can place a text at a depth of the conversation: so many messages from its start or its end. The place is
//! found once for a turn, so that the requests of the turn extend each other. Items stay as they are: the session file,
//! summaries and roll-backs do not know of such texts, and a history that is replaced or rolled back has none until
//! texts are placed again.

use std::collections::BTreeSet;
use std::sync::Arc;

use pellucid_protocol::item::Item;

use super::CallId;
use super::Draft;
use super::Entry;
use super::Transcript;
use super::entry::MESSAGE;
use crate::assemble::PlacedMessage;
use crate::encode::Encoded;
use crate::encode::Span;
use crate::encode::to_json;
use crate::fragment::Origin;
use crate::pack::Depth;
use crate::pack::HistoryEnd;

/// A text between items.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    /// The number of the entry that the text comes before.
    pub before: usize,
    pub entry: Entry,
}

/// A text between items, as the record has it.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptPlace {
    /// The number of the item that the text comes before.
    pub before: usize,
    /// The text as an item.
    pub item: Item,
    /// The origins of its bytes.
    pub spans: Arc<[Span]>,
}

impl KeptPlace {
    /// The slot that the text is made from.
    pub fn slot(&self) -> Arc<str> {
        slot(&self.spans)
    }
}

impl Transcript {
    /// Whether texts were placed since the history began or was replaced.
    pub fn is_placed(&self) -> bool {
        self.placed.is_some()
    }

    /// Places texts between the items that are recorded so far, in place of those that were placed before. Gives the slot
    /// of the first text because of which the next request does not extend the last one.
    pub fn place(&mut self, messages: &[PlacedMessage]) -> Option<Arc<str>> {
        let starts = self.message_starts();
        let placed = messages.iter().map(|it| {
            let draft = Draft::from(it.message.clone());
            Placed {
                before: place(&starts, it.depth, self.entries.len()),
                entry: Entry::new(&draft.item(), draft.encode()),
            }
        });
        let mut placed: Vec<Placed> = placed.collect();
        // Texts at one place keep the order of their slots.
        placed.sort_by_key(|text| text.before);
        self.put(placed)
    }

    /// The texts between items, in order.
    pub fn places(&self) -> Vec<KeptPlace> {
        let chunks = self.rendering.chunks();
        let kept = |text: &Placed| {
            let spans = text.entry.spans.clone();
            Some(KeptPlace { before: text.before, item: text.entry.item(chunks)?, spans })
        };
        self.placed.iter().flatten().filter_map(kept).collect()
    }

    /// Places texts as the record has them.
    pub fn place_again(&mut self, places: Vec<KeptPlace>) {
        let placed = places.into_iter().map(|KeptPlace { before, item, spans }| {
            let bytes = to_json(&item);
            let fits = spans.iter().map(|span| span.len).sum::<usize>() == bytes.len();
            let own = || Span { part: "layout".into(), origin: Origin::Layout, len: bytes.len(), raw_len: bytes.len() };
            let spans = if fits { spans.to_vec() } else { vec![own()] };
            Placed { before: before.min(self.entries.len()), entry: Entry::new(&item, Encoded { bytes, spans }) }
        });
        let placed = placed.collect();
        self.put(placed);
    }

    fn put(&mut self, placed: Vec<Placed>) -> Option<Arc<str>> {
        let chunks = self.rendering.chunks();
        let old = self.placed.as_deref().unwrap_or_default();
        let is_same = |(old, new): &(&Placed, &Placed)| {
            old.before == new.before && old.entry.recorded(chunks) == new.entry.recorded(chunks)
        };
        let n_same = old.iter().zip(&placed).take_while(is_same).count();
        let is_shown = |text: &Placed| text.before < self.rendering.n_entries();
        let first = match (old.get(n_same), placed.get(n_same)) {
            // A text that no request has shown yet breaks nothing.
            (Some(old), _) if n_same < self.rendering.n_placed() => Some(old),
            (_, Some(new)) if is_shown(new) => Some(new),
            _ => None,
        };
        let slot = first.map(|text| slot(&text.entry.spans));
        if slot.is_some() {
            self.reset_rendering(self.rendering.view);
            self.placed = Some(placed);
        } else {
            // Texts that are rendered keep their bytes where they are.
            let mut all = self.placed.take().unwrap_or_default();
            all.truncate(n_same);
            all.extend(placed.into_iter().skip(n_same));
            self.placed = Some(all);
        }
        slot
    }

    /// The entries at which a message of the conversation begins. Thoughts belong to what follows them, and calls to
    /// their outputs; messages of the layout are no part of the conversation.
    fn message_starts(&self) -> Vec<usize> {
        let mut starts = Vec::new();
        let mut open: BTreeSet<&CallId> = BTreeSet::new();
        let mut lead = None;
        for (n, entry) in self.entries.iter().enumerate() {
            let is_first = open.is_empty();
            match &entry.call_id {
                Some(call_id) if entry.is_output() => {
                    open.remove(call_id);
                }
                Some(call_id) => {
                    if is_first {
                        starts.push(lead.take().unwrap_or(n));
                    }
                    if self.outputs.contains(call_id) {
                        open.insert(call_id);
                    }
                }
                None if entry.kind != MESSAGE => {
                    if is_first && entry.is_model_made {
                        lead.get_or_insert(n);
                    }
                }
                None if entry.is_user_turn || entry.role.as_deref() == Some("assistant") => {
                    if is_first {
                        starts.push(lead.take().unwrap_or(n));
                    }
                }
                None => lead = None,
            }
        }
        starts
    }
}

fn slot(spans: &[Span]) -> Arc<str> {
    spans.first().map_or_else(|| "".into(), |span| span.part.clone())
}

/// The number of the entry that a text at a depth comes before.
fn place(starts: &[usize], depth: Depth, n_entries: usize) -> usize {
    match depth.from {
        HistoryEnd::Start => starts.get(depth.messages).copied().unwrap_or(n_entries),
        HistoryEnd::End if depth.messages == 0 => n_entries,
        HistoryEnd::End => starts.get(starts.len().saturating_sub(depth.messages)).copied().unwrap_or(n_entries),
    }
}

#[cfg(test)]
mod tests;
