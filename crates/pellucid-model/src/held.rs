//! What a decoder holds of a reply until its items are complete.
//!
//! Some wires stream pieces and leave joining them to the client. A text is announced with its first visible character,
//! so that no client shows a blank answer before a call. The held bytes are bounded, because a server that never stops
//! must not fill the memory.

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyEvent;

/// How many bytes of one reply are held.
const BYTES_MAX: usize = 64 << 20;

/// What each piece costs besides its text, so that empty ones count too.
const PIECE_BYTES: usize = 64;

/// How many bytes of a reply are held.
#[derive(Debug, Default)]
pub(crate) struct Held {
    n_bytes: usize,
}

impl Held {
    /// Counts a piece.
    pub fn take(&mut self, piece: &str) -> Result<(), ReplyError> {
        self.n_bytes = self.n_bytes.saturating_add(piece.len()).saturating_add(PIECE_BYTES);
        if self.n_bytes > BYTES_MAX {
            return Err(ReplyError::stream(format_args!("the reply is longer than {BYTES_MAX} bytes")));
        }
        Ok(())
    }
}

/// An answer that is coming in.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    text: String,
    is_announced: bool,
}

impl Answer {
    /// Adds a piece; announces the answer with its first visible character.
    pub fn push(&mut self, piece: &str, events: &mut impl Extend<ReplyEvent>) {
        self.text.push_str(piece);
        if self.is_announced {
            events.extend([ReplyEvent::TextDelta(piece.to_owned())]);
        } else if !self.text.trim().is_empty() {
            self.is_announced = true;
            events.extend([
                ReplyEvent::ItemAdded(Item::message("assistant", Vec::new())),
                ReplyEvent::TextDelta(self.text.clone()),
            ]);
        }
    }

    /// Ends the answer. A blank answer is dropped.
    pub fn end(self, events: &mut impl Extend<ReplyEvent>) {
        if self.is_announced {
            let content = vec![ContentPart::OutputText { text: self.text }];
            events.extend([ReplyEvent::ItemDone(Item::message("assistant", content))]);
        }
    }
}
