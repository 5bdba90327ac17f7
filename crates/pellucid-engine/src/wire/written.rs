//! The result of a translation: bytes, their origins, and omitted items.

use std::sync::Arc;

use super::piece::Piece;
use crate::encode::Encoded;
use crate::fragment::Omission;
use crate::fragment::Why;
use crate::transcript::Rendered;

/// The bytes that were written since the last request.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub bytes: Vec<u8>,
    pub rows: Vec<Rendered>,
    pub omissions: Vec<Omission>,
    /// The number of bytes of notation before the next row.
    lead: usize,
}

impl Written {
    /// Writes notation between items.
    pub fn lead(&mut self, notation: &str) {
        self.bytes.extend_from_slice(notation.as_bytes());
        self.lead += notation.len();
    }

    /// Writes what became of an item.
    pub fn row(&mut self, piece: &Piece, encoded: Encoded) {
        self.bytes.extend_from_slice(&encoded.bytes);
        let lead = std::mem::take(&mut self.lead);
        let (kind, role) = (piece.kind, piece.role.clone());
        self.rows.push(Rendered { kind, role, lead, spans: encoded.spans.into(), trail: 0 });
    }

    /// Notes that an item, or a part of it, has no place on the wire.
    pub fn leave_out(&mut self, piece: &Piece, error: impl Into<String>) {
        let slot: Arc<str> = piece.part();
        self.omissions.push(Omission { slot, what: piece.kind.to_owned(), why: Why::Unusable { error: error.into() } });
    }
}
