//! Items that another program sent, kept as they were.

use super::Entry;
use super::Transcript;
use crate::origins::ItemKey;
use crate::origins::Origins;
use crate::watched::WatchedItem;
use crate::watched::WatchedPlace;

impl Transcript {
    /// Puts other items in place of the history. Items that stay at the beginning are not copied.
    pub fn show_watched(&mut self, places: Vec<WatchedPlace>) {
        let is_kept =
            |(n, place): &(usize, &WatchedPlace)| matches!(place, WatchedPlace::Before(before) if before == n);
        let n_kept = places.iter().enumerate().take_while(is_kept).count().min(self.entries.len());
        let chunks = self.rendering.chunks();
        let entry = |place: WatchedPlace| match place {
            WatchedPlace::New(item) => Some(Entry::watched(item)),
            WatchedPlace::Before(n) => self.entries.get(n).cloned().map(|mut entry| {
                entry.own(chunks);
                entry
            }),
        };
        let rest: Vec<Entry> = places.into_iter().skip(n_kept).filter_map(entry).collect();
        if n_kept < self.entries.len() {
            self.reset_rendering(self.rendering.view);
            self.entries.truncate(n_kept);
            self.recount();
        }
        for entry in rest {
            self.add(entry);
        }
    }

    /// An item that another program sent, with the origins that were kept of it.
    pub fn watched_item(text: &str, origins: &Origins, at: u64) -> WatchedItem {
        let item = WatchedItem::read(text);
        let spans = origins.find(&item.bytes, at).cloned();
        let unknown = || [crate::encode::Span::unknown(item.bytes.len())].into();
        let spans = spans.unwrap_or_else(unknown);
        item.with(spans)
    }

    /// The keys by which origins of these items are kept.
    pub fn watched_keys(items: &[WatchedItem]) -> Vec<ItemKey> {
        items.iter().map(|item| ItemKey::of(&item.bytes)).collect()
    }
}
