//! Writing JSON while keeping account of where every byte came from.
//!
//! The bytes are those that `serde_json` writes in compact form. The spans cover them without gap
//! or overlap, because nothing can be written without saying its origin.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use crate::fragment::Fragment;
use crate::fragment::Origin;

/// Encoded bytes and their origins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encoded {
    /// The bytes of the request.
    pub bytes: Vec<u8>,
    /// The origins of the bytes, in order.
    ///
    /// Invariant: the lengths add up to the number of bytes.
    pub spans: Vec<Span>,
}

/// A run of bytes of one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The slot or part it belongs to.
    pub part: Arc<str>,
    /// The origin of the bytes.
    pub origin: Origin,
    /// How many encoded bytes.
    pub len: usize,
    /// How many bytes the text had before it was escaped.
    pub raw_len: usize,
}

impl Span {
    /// Bytes of which nothing is known.
    pub fn unknown(len: usize) -> Self {
        Self { part: "unknown".into(), origin: Origin::Unknown, len, raw_len: len }
    }
}

/// Writes parts of a request.
#[derive(Debug)]
pub struct Encoder {
    encoded: Encoded,
    part: Arc<str>,
}

impl Encoder {
    /// Starts with what belongs to `part`.
    pub fn new(part: &Arc<str>) -> Self {
        Self { encoded: Encoded::default(), part: part.clone() }
    }

    /// Makes room for so many further bytes, so that it does not grow piece by piece.
    pub fn reserve(&mut self, n_bytes: usize) {
        self.encoded.bytes.reserve(n_bytes);
    }

    /// Bytes that are written from now on belong to this part.
    pub fn set_part(&mut self, part: &Arc<str>) {
        self.part = part.clone();
    }

    /// Writes notation of the wire.
    pub fn wire(&mut self, notation: &str) {
        self.raw(notation.as_bytes(), &Origin::Wire);
    }

    /// Writes ready bytes of this origin.
    pub fn raw(&mut self, bytes: &[u8], origin: &Origin) {
        self.encoded.bytes.extend_from_slice(bytes);
        self.account(bytes.len(), bytes.len(), origin);
    }

    /// Writes a value as JSON.
    pub fn value(&mut self, value: &impl Serialize, origin: &Origin) {
        let before = self.encoded.bytes.len();
        write_json(&mut self.encoded.bytes, value);
        let len = self.encoded.bytes.len() - before;
        self.account(len, len, origin);
    }

    /// Writes the inside of a JSON string; the quotes around it are the wire's.
    pub fn text(&mut self, fragment: &Fragment) {
        self.escaped(&fragment.text, &fragment.origin);
    }

    /// Writes escaped text of this origin, without quotes.
    pub fn escaped(&mut self, text: &str, origin: &Origin) {
        if text.is_empty() {
            return;
        }
        let before = self.encoded.bytes.len();
        push_escaped(&mut self.encoded.bytes, text);
        self.account(self.encoded.bytes.len() - before, text.len(), origin);
    }

    /// Writes a whole JSON string made of fragments.
    pub fn string(&mut self, fragments: &[Fragment]) {
        self.reserve(room_for(fragments.iter().map(|fragment| fragment.text.len()).sum()));
        self.wire("\"");
        for fragment in fragments {
            self.text(fragment);
        }
        self.wire("\"");
    }

    /// Copies a piece of bytes that were written before, with the origins of that piece.
    pub fn copy(&mut self, bytes: &[u8], spans: &[Span], range: Range<usize>) {
        self.encoded.bytes.extend_from_slice(&bytes[range.clone()]);
        let mut end = 0;
        for span in spans {
            let start = end;
            end += span.len;
            let len = end.min(range.end).saturating_sub(start.max(range.start));
            let raw_len = if len == span.len { span.raw_len } else { len };
            self.add(&span.part, &span.origin, len, raw_len);
        }
    }

    /// The bytes with their origins.
    pub fn finish(self) -> Encoded {
        debug_assert_eq!(self.encoded.bytes.len(), self.encoded.spans.iter().map(|span| span.len).sum::<usize>());
        self.encoded
    }

    fn account(&mut self, len: usize, raw_len: usize, origin: &Origin) {
        let part = self.part.clone();
        self.add(&part, origin, len, raw_len);
    }

    fn add(&mut self, part: &Arc<str>, origin: &Origin, len: usize, raw_len: usize) {
        if len == 0 {
            return;
        }
        if let Some(last) = self.encoded.spans.last_mut()
            && last.origin == *origin
            && last.part == *part
        {
            last.len += len;
            last.raw_len += raw_len;
            return;
        }
        self.encoded.spans.push(Span { part: part.clone(), origin: origin.clone(), len, raw_len });
    }
}

/// A value as compact JSON.
pub fn to_json(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_json(&mut bytes, value);
    bytes
}

fn write_json(bytes: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(bytes, value).expect("our types have string keys, and a vector takes every write");
}

/// How many bytes are looked at together. A line of prose is a few of these.
const BLOCK_BYTES: usize = 32;

/// Escapes as `serde_json` does, without the quotes.
///
/// All text that is sent goes through here, and little of it needs anything: blocks of bytes are looked at without a
/// branch for each, and copied.
fn push_escaped(bytes: &mut Vec<u8>, text: &str) {
    bytes.reserve(room_for(text.len()));
    for block in text.as_bytes().chunks(BLOCK_BYTES) {
        if block.iter().fold(false, |any, byte| any | needs_escape(*byte)) {
            block.iter().for_each(|byte| push_escaped_byte(bytes, *byte));
        } else {
            bytes.extend_from_slice(block);
        }
    }
}

/// Room for a text of so many bytes, in which every sixteenth needs another byte.
fn room_for(len: usize) -> usize {
    len + len / 16
}

fn needs_escape(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

fn push_escaped_byte(bytes: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        control if control < b' ' => {
            let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
            return bytes.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(control >> 4), digit(control & 15)]);
        }
        plain => return bytes.push(plain),
    };
    bytes.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escaped_pieces_make_the_same_string_as_serde_json() {
        let pieces = ["plain ", "quo\"te\n", "", "tab\t\u{1}", "日本", "\\"];
        let part: Arc<str> = "test".into();
        let mut encoder = Encoder::new(&part);
        encoder.string(&pieces.map(Fragment::layout));
        let encoded = encoder.finish();
        assert_eq!(encoded.bytes, serde_json::to_vec(&pieces.concat()).unwrap());
        assert_eq!(encoded.spans.len(), 3, "neighbours of one origin become one span");

        let mut copy = Encoder::new(&part);
        copy.copy(&encoded.bytes, &encoded.spans, 0..encoded.bytes.len());
        assert_eq!(copy.finish(), encoded, "a copy of all is the same");
        let mut piece = Encoder::new(&"other".into());
        piece.copy(&encoded.bytes, &encoded.spans, 0..3);
        let piece = piece.finish();
        assert_eq!(piece.bytes, b"\"pl");
        assert_eq!(
            piece.spans.iter().map(|span| (&*span.part, span.len)).collect::<Vec<_>>(),
            [("test", 1), ("test", 2)]
        );

        let mut bare = Encoder::new(&part);
        bare.text(&Fragment::layout("\"x"));
        assert_eq!(bare.finish().bytes, br#"\"x"#);
    }

    proptest! {
        #[test]
        fn every_text_is_escaped_as_serde_json_does(text in r#"[\x00-\x7f"\\é日\u{7f}]{0,200}"#) {
            let mut bytes = b"\"".to_vec();
            push_escaped(&mut bytes, &text);
            bytes.push(b'"');
            prop_assert_eq!(bytes, serde_json::to_vec(&text).unwrap());
        }
    }

    #[test]
    fn parts_and_origins_change_where_they_are_said_to() {
        let mut encoder = Encoder::new(&"a".into());
        encoder.wire("{");
        encoder.value(&1, &Origin::fact("n"));
        encoder.set_part(&"b".into());
        encoder.wire(",");
        encoder.escaped("", &Origin::User);
        encoder.escaped("\"", &Origin::User);
        encoder.wire("}");
        let encoded = encoder.finish();
        let shown: Vec<(&str, &str, usize, usize)> =
            encoded.spans.iter().map(|it| (&*it.part, it.origin.kind(), it.len, it.raw_len)).collect();
        assert_eq!(
            shown,
            [("a", "wire", 1, 1), ("a", "fact", 1, 1), ("b", "wire", 1, 1), ("b", "user", 2, 1), ("b", "wire", 1, 1)]
        );
        assert_eq!(encoded.bytes, br#"{1,\"}"#);
        assert_eq!(
            to_json(&serde_json::json!({ "b": [1, null], "a": "é" })),
            "{\"b\":[1,null],\"a\":\"é\"}".as_bytes()
        );
    }

    proptest! {
        /// A copy of any piece has the bytes and the origins of that piece.
        #[test]
        fn a_copy_of_a_piece_keeps_its_origins(texts in proptest::collection::vec("[a\"\n]{0,6}", 0..6), from in 0_usize..40, len in 0_usize..40) {
            let mut encoder = Encoder::new(&"p".into());
            for (n, text) in texts.iter().enumerate() {
                let origin = if n % 2 == 0 { Origin::User } else { Origin::Model };
                encoder.escaped(text, &origin);
            }
            let whole = encoder.finish();
            let from = from.min(whole.bytes.len());
            let to = (from + len).min(whole.bytes.len());
            let mut copy = Encoder::new(&"q".into());
            copy.copy(&whole.bytes, &whole.spans, from..to);
            let copy = copy.finish();
            prop_assert_eq!(&copy.bytes, &whole.bytes[from..to]);
            let of_each = |encoded: &Encoded| -> Vec<String> {
                encoded.spans.iter().flat_map(|it| vec![it.origin.kind().to_owned(); it.len]).collect()
            };
            prop_assert_eq!(of_each(&copy), of_each(&whole)[from..to].to_vec());
        }
    }
}
