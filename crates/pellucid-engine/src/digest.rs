//! Digests of requests: what a later rebuilding is held against, byte for byte.
//!
//! A request mostly repeats the one before, so the state of the hash behind the last item is kept
//! and only what is new is hashed. On the way the digest of everything up to an item is taken as a
//! [`PrefixMark`]: where a rebuilt request differs, the first mark that differs says from which item on.
//!
//! Not here: where digests are written down.

use bytes::Bytes;
use sha2::Digest as _;
use sha2::Sha256;

use crate::request::Frame;
use crate::request::Request;
use crate::transcript::Rendered;

/// The most marks that one request adds. With more new items one mark covers several.
const N_MARKS_MAX: usize = 256;

/// A SHA-256 digest of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Of bytes in pieces.
    pub fn of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new();
        for piece in pieces {
            hash.update(piece);
        }
        Self(hash.finalize().into())
    }

    /// Of a request's body.
    pub fn of_body(request: &Request) -> Self {
        Self::of(request.segments.iter().map(AsRef::as_ref))
    }

    /// The first half in hexadecimal, which is enough to compare texts.
    pub fn short(&self) -> String {
        self.hex(16)
    }

    /// Parses 64 hexadecimal digits.
    pub fn read(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digit = |n: usize| char::from(digits[n]).to_digit(16).and_then(|it| u8::try_from(it).ok());
            *byte = digit(0)? << 4 | digit(1)?;
        }
        Some(Self(bytes))
    }

    fn hex(&self, n_bytes: usize) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let bytes = self.0[..n_bytes].iter();
        bytes.flat_map(|byte| [byte >> 4, byte & 15]).map(|it| char::from(DIGITS[usize::from(it)])).collect()
    }
}

/// The digest of bytes that something else hashed with SHA-256.
impl From<[u8; 32]> for Digest {
    fn from(sha256: [u8; 32]) -> Self {
        Self(sha256)
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.hex(32))
    }
}

/// How many bytes of a request agree with digests of beginnings, each with its end, in order.
pub fn agreeing<'a>(request: &Request, marks: impl IntoIterator<Item = (usize, &'a str)>) -> usize {
    let (mut hash, mut at) = (Sha256::new(), 0);
    for (end, mark) in marks {
        if end > request.len() {
            break;
        }
        feed(&mut hash, &request.segments, at, end);
        if Digest(hash.clone().finalize().into()).short() != mark {
            break;
        }
        at = end;
    }
    at
}

/// The digests that are kept of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestDigest {
    /// The number of bytes of the body.
    pub bytes: usize,
    /// The digest of its body.
    pub body: Digest,
    /// The number of items of the request.
    pub n_items: usize,
    /// Digests of its beginnings, behind items that the request before did not have.
    pub marks: Vec<PrefixMark>,
}

/// The digest of a request's beginning, up to the end of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixMark {
    /// The number of items up to here.
    pub n_items: usize,
    /// The length of the beginning, in bytes.
    pub end: usize,
    /// The digest of these bytes.
    pub beginning: Digest,
}

/// Keeps account of requests that extend each other.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    known: Option<Known>,
}

/// The beginning that the next request probably has too.
#[derive(Debug, Clone)]
struct Known {
    head: Bytes,
    hash: Sha256,
    n_items: usize,
    end: usize,
}

/// Whether the items of a request begin with those of the request before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Items {
    /// The items extend those of the request before.
    Extended,
    /// The items differ from those of the request before.
    Changed,
}

impl Ledger {
    /// Accounts for a request that this frame made around these items.
    pub fn account(&mut self, frame: &Frame, request: &Request, rows: &[Rendered], items: Items) -> RequestDigest {
        let head = frame.head_bytes();
        let is_known = |known: &Known| items == Items::Extended && known.head == head && known.n_items <= rows.len();
        let mut known = self.known.take().filter(is_known).unwrap_or_else(|| {
            let mut hash = Sha256::new();
            hash.update(head);
            Known { head: head.clone(), hash, n_items: 0, end: head.len() }
        });
        let marks = known.add(&request.segments, &rows[known.n_items..]);
        let mut hash = known.hash.clone();
        feed(&mut hash, &request.segments, known.end, request.len());
        let account =
            RequestDigest { bytes: request.len(), body: Digest(hash.finalize().into()), n_items: known.n_items, marks };
        self.known = Some(known);
        account
    }
}

impl Known {
    fn add(&mut self, segments: &[Bytes], rows: &[Rendered]) -> Vec<PrefixMark> {
        let stride = rows.len().div_ceil(N_MARKS_MAX).max(1);
        let mut marks = Vec::with_capacity(rows.len().div_ceil(stride));
        for rows in rows.chunks(stride) {
            let len: usize = rows.iter().map(Rendered::len).sum();
            feed(&mut self.hash, segments, self.end, self.end + len);
            self.end += len;
            self.n_items += rows.len();
            let beginning = Digest(self.hash.clone().finalize().into());
            marks.push(PrefixMark { n_items: self.n_items, end: self.end, beginning });
        }
        marks
    }
}

/// Hashes the bytes of a range that may span segments.
fn feed(hash: &mut Sha256, segments: &[Bytes], start: usize, end: usize) {
    let mut at = 0;
    for segment in segments {
        let (from, to) = (start.max(at), end.min(at + segment.len()));
        if from < to {
            hash.update(&segment[from - at..to - at]);
        }
        at += segment.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_sha_256_that_everybody_knows() {
        let digest = Digest::of([b"a".as_slice(), b"bc"]);
        assert_eq!(digest.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(digest.short(), "ba7816bf8f01cfea414140de5dae2223");
        assert_eq!(Digest::read(&digest.to_string()), Some(digest));
        for wrong in ["", "ba78", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(Digest::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_range_may_span_segments() {
        let segments = [Bytes::from_static(b"abc"), Bytes::new(), Bytes::from_static(b"defg")];
        for (start, end) in [(0, 7), (1, 5), (3, 3), (2, 4), (6, 7)] {
            let mut hash = Sha256::new();
            feed(&mut hash, &segments, start, end);
            assert_eq!(Digest(hash.finalize().into()), Digest::of([&b"abcdefg"[start..end]]));
        }
    }

    /// A request of a head, these items and a tail, and the frame and rows that made it.
    fn sent(items: &[&str]) -> (Frame, Request, Vec<Rendered>) {
        use crate::encode::Encoder;
        use crate::fragment::Origin;
        use crate::transcript::ItemIds;
        use crate::transcript::Transcript;
        use crate::transcript::View;
        use pellucid_protocol::item::Item;
        use pellucid_protocol::settings::TruncationMode;
        use pellucid_protocol::settings::TruncationPolicy;

        let part = |text: &str| {
            let mut encoder = Encoder::new(&"wire".into());
            encoder.wire(text);
            encoder.finish()
        };
        let frame = Frame::recorded(View::default(), part("{\"input\":["), part("]}"));
        let policy = TruncationPolicy { mode: TruncationMode::Bytes, limit: i64::MAX };
        let mut transcript = Transcript::new(ItemIds::Hidden, policy);
        for item in items {
            transcript.record(&Item::text("user", *item), &Origin::User);
        }
        let request = frame.request(&mut transcript);
        let rows = transcript.rendered().to_vec();
        (frame, request, rows)
    }

    #[test]
    fn an_account_has_the_hash_of_the_body_and_a_mark_behind_every_new_item() {
        let mut ledger = Ledger::default();
        let (frame, request, rows) = sent(&["one", "two"]);
        let first = ledger.account(&frame, &request, &rows, Items::Extended);
        assert_eq!((first.bytes, first.n_items, first.marks.len()), (request.len(), 2, 2));
        assert_eq!(first.body, Digest::of_body(&request));
        for mark in &first.marks {
            assert_eq!(mark.beginning, Digest::of([&request.body()[..mark.end]]));
        }
        let (frame, request, rows) = sent(&["one", "two", "three"]);
        let second = ledger.account(&frame, &request, &rows, Items::Extended);
        assert_eq!((second.n_items, second.marks.len(), second.marks[0].n_items), (3, 1, 3));
        assert_eq!(second.body, Digest::of_body(&request));
        let again = ledger.clone().account(&frame, &request, &rows, Items::Changed);
        assert_eq!((again.body, again.marks.len()), (second.body, 3), "items that changed are all accounted for again");
        let (frame, request, rows) = sent(&["one"]);
        let shorter = ledger.account(&frame, &request, &rows, Items::Extended);
        assert_eq!((shorter.body, shorter.marks.len()), (Digest::of_body(&request), 1));
    }

    #[test]
    fn many_new_items_share_marks() {
        let texts: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (frame, request, rows) = sent(&texts);
        let account = Ledger::default().account(&frame, &request, &rows, Items::Extended);
        assert_eq!(account.marks.len(), 250, "four items for a mark");
        assert_eq!(account.marks.last().map(|mark| mark.n_items), Some(1000));
        assert!(account.marks.is_sorted_by_key(|mark| mark.end));
    }

    #[test]
    fn a_request_agrees_with_marks_up_to_the_first_that_differs() {
        let (frame, request, rows) = sent(&["one", "two", "three"]);
        let account = Ledger::default().account(&frame, &request, &rows, Items::Extended);
        let marks: Vec<(usize, String)> = account.marks.iter().map(|mark| (mark.end, mark.beginning.short())).collect();
        let agree = |request: &Request| agreeing(request, marks.iter().map(|(end, mark)| (*end, mark.as_str())));
        assert_eq!(agree(&request), marks[2].0);
        assert_eq!(agree(&sent(&["one", "two", "other"]).1), marks[1].0);
        assert_eq!(agree(&sent(&["one", "2", "three"]).1), marks[0].0);
        assert_eq!(agree(&sent(&["1"]).1), 0);
        assert_eq!(agree(&Request { segments: Vec::new() }), 0);
        assert_eq!(agreeing(&request, [(usize::MAX, "x")]), 0);
    }
}
