//! The text of a row, read from its bytes when it is needed.
//!
//! Most rows of two requests that are compared are the same bytes, and no one reads their texts.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::OnceLock;

use bytes::Bytes;
use pellucid_engine::report::RowText;
use pellucid_engine::report::TextPlace;
use pellucid_engine::report::run_text;

/// A text with its escapes undone, which is made when it is first read. Copies share it.
#[derive(Clone)]
pub struct LazyText(Arc<Unread>);

struct Unread {
    wire: Bytes,
    /// Where the first byte is.
    place: TextPlace,
    read: OnceLock<RowText>,
}

impl LazyText {
    fn new(wire: &Bytes, place: TextPlace) -> Self {
        Self(Arc::new(Unread { wire: wire.clone(), place, read: OnceLock::new() }))
    }

    fn read(&self) -> &RowText {
        self.0.read.get_or_init(|| run_text(&self.0.wire, self.0.place))
    }

    /// How many of the row's bytes are an image, which has no text.
    pub fn image_bytes(&self) -> usize {
        self.read().image_bytes
    }
}

impl Deref for LazyText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.read().text
    }
}

#[cfg(test)]
impl From<&str> for LazyText {
    fn from(text: &str) -> Self {
        let read = OnceLock::from(RowText { text: text.to_owned(), image_bytes: 0 });
        Self(Arc::new(Unread { wire: Bytes::new(), place: TextPlace::default(), read }))
    }
}

impl std::fmt::Debug for LazyText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self, f)
    }
}

impl PartialEq for LazyText {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.read() == other.read()
    }
}

/// Texts of rows by the address of their bytes. The bytes are held, so that no other bytes get the same address.
#[derive(Debug, Default)]
pub struct SharedTexts {
    known: BTreeMap<(usize, usize), LazyText>,
}

impl SharedTexts {
    /// The text of a row whose first byte is at this place.
    pub(super) fn of(&mut self, wire: &Bytes, place: TextPlace) -> LazyText {
        let known = self.known.entry((wire.as_ptr() as usize, wire.len()));
        let text = known.or_insert_with(|| LazyText::new(wire, place));
        if text.0.place != place {
            *text = LazyText::new(wire, place);
        }
        text.clone()
    }
}
