//! Bytes that are only appended, shared with every holder of a view of them.
//!
//! A view of everything so far costs a handful of reference counts however much there is. Chunks double in size, so
//! there are few of them, and a chunk is appended to in place while no view holds it. Otherwise the next bytes go to
//! a new chunk; if there are many chunks then, the last ones are copied into one, so rarely that a byte is copied
//! once for every time that the whole doubles.

use std::ops::Range;
use std::ops::RangeInclusive;
use std::sync::Arc;

use bytes::Bytes;

/// The least size of a chunk: as much as there is already, but within these bounds. Most sessions of a server are short, so
/// their first chunk has no room to spare.
const CHUNK_BYTES_MIN: RangeInclusive<usize> = 1024..=64 * 1024;

/// Up to this size, a chunk that no view holds grows in its place.
const GROWN_IN_PLACE_MAX: usize = 64 * 1024;

/// How many chunks there may be before some are copied into one.
///
/// Doubling alone makes fewer than this of the largest session there can be.
const N_CHUNKS_MAX: usize = 16;

/// Bytes that only grow.
#[derive(Debug, Clone, Default)]
pub struct Chunks {
    chunks: Vec<Arc<Vec<u8>>>,
    len: usize,
}

/// Lets a [`Bytes`] keep a chunk alive.
struct View(Arc<Vec<u8>>);

impl AsRef<[u8]> for View {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Chunks {
    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds bytes at the end.
    pub fn append(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.len += bytes.len();
        let mut grow = self.len.clamp(*CHUNK_BYTES_MIN.start(), *CHUNK_BYTES_MIN.end());
        if let Some(tail) = self.chunks.last_mut()
            && let Some(tail) = Arc::get_mut(tail)
        {
            let has_room = tail.capacity() - tail.len() >= bytes.len();
            if has_room || tail.len() + bytes.len() <= GROWN_IN_PLACE_MAX {
                if !has_room {
                    tail.reserve_exact(bytes.len().max(tail.len() / 4));
                }
                tail.extend_from_slice(bytes);
                return;
            }
            // The tail is full and ours alone: double, so that the number of chunks stays small.
            grow = grow.max(self.len);
        }
        let merged = self.chunks.split_off(self.n_kept(bytes.len()));
        let n_bytes = merged.iter().map(|chunk| chunk.len()).sum::<usize>() + bytes.len();
        let mut chunk = Vec::with_capacity(grow.max(n_bytes));
        for old in merged {
            chunk.extend_from_slice(&old);
        }
        chunk.extend_from_slice(bytes);
        self.chunks.push(Arc::new(chunk));
    }

    /// Bytes that were added in one go, or a part of them.
    ///
    /// # Panics
    /// If the bytes do not exist, or were added by several calls and are in different chunks.
    pub fn slice(&self, range: Range<usize>) -> &[u8] {
        let mut start = 0;
        for chunk in &self.chunks {
            if range.start < start + chunk.len() {
                return &chunk[range.start - start..range.end - start];
            }
            start += chunk.len();
        }
        assert!(range.is_empty(), "the range was added before");
        &[]
    }

    /// Lets go of the chunks in which no byte before this one is.
    pub fn let_go_from(&mut self, start: usize) {
        while let Some(last) = self.chunks.last().filter(|last| self.len - last.len() >= start) {
            self.len -= last.len();
            self.chunks.pop();
        }
    }

    /// Whether both have the same bytes, in whatever chunks.
    pub fn is_same(&self, other: &Self) -> bool {
        self.len == other.len && self.common_prefix(other) == self.len
    }

    /// How many bytes from the start are the same in both.
    pub fn common_prefix(&self, other: &Self) -> usize {
        let mut position = 0;
        while let (Some(a), Some(b)) = (self.rest(position), other.rest(position)) {
            let len = a.len().min(b.len());
            if a[..len] != b[..len] {
                let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
                return position + same;
            }
            position += len;
        }
        position
    }

    /// The rest of the chunk that holds this byte.
    fn rest(&self, position: usize) -> Option<&[u8]> {
        let mut start = 0;
        for chunk in &self.chunks {
            if position < start + chunk.len() {
                return Some(&chunk[position - start..]);
            }
            start += chunk.len();
        }
        None
    }

    /// How many chunks stay as they are when so many bytes come in a new one: all of them while
    /// they are few, else those that are larger than everything that follows them.
    fn n_kept(&self, n_new: usize) -> usize {
        let mut n_kept = self.chunks.len();
        if n_kept < N_CHUNKS_MAX {
            return n_kept;
        }
        let mut following = n_new;
        for (at, chunk) in self.chunks.iter().enumerate().rev() {
            if chunk.len() <= following {
                n_kept = at;
            }
            following += chunk.len();
        }
        n_kept
    }

    /// Everything so far, as shared pieces in order.
    pub fn view(&self) -> Vec<Bytes> {
        self.chunks.iter().map(|chunk| Bytes::from_owner(View(chunk.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(chunks: &Chunks) -> Vec<u8> {
        chunks.view().concat()
    }

    #[test]
    fn a_view_stays_as_it_was_when_more_is_added() {
        let mut chunks = Chunks::default();
        chunks.append(b"one");
        let view = chunks.view();
        chunks.append(b"two");
        assert_eq!(view.concat(), b"one");
        assert_eq!(whole(&chunks), b"onetwo");
    }

    #[test]
    fn a_common_prefix_is_found_across_chunks() {
        let chunks = |pieces: &[&[u8]]| {
            let mut chunks = Chunks::default();
            for piece in pieces {
                // While a view is held, the next bytes go to a new chunk.
                let _view = chunks.view();
                chunks.append(piece);
            }
            chunks
        };
        let a = chunks(&[b"abc", b"def"]);
        for (b, same) in [
            (chunks(&[b"abcdef"]), 6),
            (chunks(&[b"ab", b"cdeX"]), 5),
            (chunks(&[b"X"]), 0),
            (chunks(&[]), 0),
            (chunks(&[b"abcdefgh"]), 6),
        ] {
            assert_eq!((a.common_prefix(&b), b.common_prefix(&a)), (same, same));
        }
    }

    #[test]
    fn chunks_stay_few_when_views_are_let_go() {
        let mut chunks = Chunks::default();
        let mut expected = Vec::new();
        for n in 0..20_000_u32 {
            let bytes = vec![b'a' + (n % 26) as u8; 100];
            chunks.append(&bytes);
            expected.extend(bytes);
        }
        assert!(chunks.chunks.len() <= 8, "{} chunks", chunks.chunks.len());
        assert_eq!(whole(&chunks), expected);
        assert_eq!(chunks.len(), expected.len());
    }
    #[test]
    fn chunks_stay_few_when_every_view_is_held_until_the_next() {
        let mut chunks = Chunks::default();
        let mut expected = Vec::new();
        let mut before = Vec::new();
        let mut n_copied = 0;
        for n in 0..5_000_u32 {
            let bytes = vec![b'a' + (n % 26) as u8; 1 + n as usize % 200];
            let n_chunks = chunks.chunks.len();
            chunks.append(&bytes);
            if chunks.chunks.len() <= n_chunks && n > 0 {
                n_copied += chunks.chunks.last().unwrap().len() - bytes.len();
            }
            expected.extend(bytes);
            let view = chunks.view();
            assert!(view.len() <= N_CHUNKS_MAX + 4, "{} chunks", view.len());
            assert_eq!(before.concat(), expected[..before.iter().map(Bytes::len).sum()], "what was seen stays");
            before = if n % 500 == 0 { Vec::new() } else { view };
        }
        assert_eq!(whole(&chunks), expected);
        assert!(n_copied < 12 * expected.len(), "{n_copied} of {} bytes were copied", expected.len());
    }
}
