//! From the bytes of a piece to tokens: neighbours are put together, those of least rank first.
//!
//! In a short piece the pair to be put together next is looked for each time. In a long one, and a
//! row of a hundred thousand letters is one piece, pairs wait in a queue, so that its cost stays in
//! proportion to its length.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::hash;
use crate::table;

/// How many bytes a piece has that is called short.
const SHORT: usize = 40;

/// No pair, or none that makes a token.
const NO_RANK: u32 = u32::MAX;

/// How many pieces are remembered with their counts.
const N_MEMOS: usize = 1 << 14;

/// The longest piece that is remembered.
const MEMO_BYTES_MAX: usize = 15;

/// Puts pieces together. The buffers are used again for the next one.
#[derive(Debug)]
pub struct Merger {
    /// Texts repeat their words: what was counted lately is found here without the table.
    memos: Vec<u128>,
    /// Their counts.
    memo_counts: Vec<u8>,
    /// For each byte that begins a part: where the part ends. Elsewhere zero.
    ends: Vec<usize>,
    /// For each byte that begins a part: where the part before it begins.
    before: Vec<usize>,
    /// Pairs that make a token: rank, where the pair begins and where it ends.
    queue: BinaryHeap<Reverse<(u32, usize, usize)>>,
}

impl Default for Merger {
    fn default() -> Self {
        let (memos, memo_counts) = (vec![0; N_MEMOS], vec![0; N_MEMOS]);
        Self { memos, memo_counts, ends: Vec::new(), before: Vec::new(), queue: BinaryHeap::new() }
    }
}

impl Merger {
    /// How many tokens a piece has.
    pub fn count(&mut self, piece: &[u8]) -> usize {
        if piece.len() < 2 {
            return piece.len();
        }
        let Some(key) = memo_key(piece) else {
            return self.count_anew(piece);
        };
        let place = memo_place(key);
        if self.memos[place] == key {
            return self.memo_counts[place].into();
        }
        let count = self.count_anew(piece);
        self.memos[place] = key;
        // There are no more tokens than bytes, and of those there are few.
        self.memo_counts[place] = u8::try_from(count).unwrap_or(u8::MAX);
        count
    }

    fn count_anew(&mut self, piece: &[u8]) -> usize {
        if piece.len() < 2 || table::rank(piece).is_some() {
            return piece.len().min(1);
        }
        if piece.len() <= SHORT { count_short(piece) } else { self.count_long(piece) }
    }

    fn count_long(&mut self, piece: &[u8]) -> usize {
        self.ends.clear();
        self.ends.extend(1..=piece.len());
        self.before.clear();
        self.before.extend((0..piece.len()).map(|at| at.saturating_sub(1)));
        self.queue.clear();
        for at in 0..piece.len() - 1 {
            self.offer(piece, at, at + 2);
        }
        let mut n_parts = piece.len();
        while let Some(Reverse((_, start, end))) = self.queue.pop() {
            let middle = self.ends[start];
            // One of the two was put together with another one since.
            if middle == 0 || middle >= piece.len() || self.ends[middle] != end {
                continue;
            }
            self.ends[middle] = 0;
            self.ends[start] = end;
            n_parts -= 1;
            if end < piece.len() {
                self.before[end] = start;
                self.offer(piece, start, self.ends[end]);
            }
            if start > 0 {
                self.offer(piece, self.before[start], end);
            }
        }
        n_parts
    }

    fn offer(&mut self, piece: &[u8], start: usize, end: usize) {
        if let Some(rank) = table::rank(&piece[start..end]) {
            self.queue.push(Reverse((rank, start, end)));
        }
    }
}

/// A piece that is not too long to be remembered, as a number: its bytes, and its length on top.
fn memo_key(piece: &[u8]) -> Option<u128> {
    let len = piece.len();
    let bytes = match len {
        // Two words that overlap: what is in both is the same.
        8..=MEMO_BYTES_MAX => {
            let (first, last) = (piece.first_chunk::<8>()?, piece.last_chunk::<8>()?);
            u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << ((len - 8) * 8)
        }
        4..8 => {
            let (first, last) = (piece.first_chunk::<4>()?, piece.last_chunk::<4>()?);
            u128::from(u32::from_le_bytes(*first)) | u128::from(u32::from_le_bytes(*last)) << ((len - 4) * 8)
        }
        1..4 => piece.iter().rev().fold(0, |bytes, byte| bytes << 8 | u128::from(*byte)),
        _ => return None,
    };
    Some(bytes | (len as u128) << 120)
}

fn memo_place(key: u128) -> usize {
    let [low, high] = [key, key >> 64].map(|half| u64::try_from(half & u128::from(u64::MAX)).unwrap_or_default());
    usize::try_from(hash::mix(low ^ high.rotate_left(17)) >> 40).unwrap_or_default() % N_MEMOS
}

/// The same for a short piece, with nothing but the stack.
fn count_short(piece: &[u8]) -> usize {
    // Where each part begins, and the rank of what it makes with the next one.
    let mut parts = [(0, NO_RANK); SHORT + 1];
    let mut n_parts = piece.len();
    let rank_of = |start: usize, end: usize| table::rank(&piece[start..end]).unwrap_or(NO_RANK);
    for (at, part) in parts.iter_mut().enumerate().take(n_parts + 1) {
        *part = (at, if at + 2 <= piece.len() { rank_of(at, at + 2) } else { NO_RANK });
    }
    loop {
        let pairs = parts[..n_parts].iter().enumerate();
        let Some((at, (_, rank))) = pairs.min_by_key(|(_, (_, rank))| *rank) else {
            return 0;
        };
        if *rank == NO_RANK {
            return n_parts;
        }
        parts.copy_within(at + 2..=n_parts, at + 1);
        n_parts -= 1;
        let rank_at = |parts: &[(usize, u32)], at: usize| {
            if at + 2 <= n_parts { rank_of(parts[at].0, parts[at + 2].0) } else { NO_RANK }
        };
        parts[at].1 = rank_at(&parts, at);
        if at > 0 {
            parts[at - 1].1 = rank_at(&parts, at - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pieces_of_zeros_are_told_apart_by_their_length() {
        let mut merger = Merger::default();
        let counts = [1, 2, 3, 2, 1].map(|len| merger.count(&vec![0; len]));
        assert_eq!(counts, [1, 2, 3, 2, 1].map(|len| Merger::default().count(&vec![0; len])));
    }

    #[test]
    fn every_byte_of_a_piece_counts_for_what_is_remembered() {
        let piece = b"abcdefghijklmno";
        for len in 1..=piece.len() {
            let key = memo_key(&piece[..len]).unwrap().to_le_bytes();
            assert_eq!(key[..len], piece[..len]);
            assert_eq!(usize::from(key[15]), len);
        }
        assert_eq!(memo_key(b""), None);
        assert_eq!(memo_key(&[b'a'; 16]), None);
    }

    proptest! {
        #[test]
        fn short_and_long_pieces_are_put_together_alike(piece in prop::collection::vec(any::<u8>(), 2..=SHORT)) {
            prop_assert_eq!(count_short(&piece), Merger::default().count_long(&piece));
        }

        #[test]
        fn so_are_words(piece in "[a-zA-Z]{2,40}") {
            prop_assert_eq!(count_short(piece.as_bytes()), Merger::default().count_long(piece.as_bytes()));
        }
    }
}
