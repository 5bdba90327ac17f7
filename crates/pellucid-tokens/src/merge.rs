//! From the bytes of a piece to tokens: neighbours are put together, those of least rank first.
//!
//! In a short piece the pair to be put together next is looked for each time. In a long one, and a
//! row of a hundred thousand letters is one piece, pairs wait in a queue, so that its cost stays in
//! proportion to its length.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::hash::WORD_BYTES;
use crate::hash::Word;
use crate::table;
use crate::table::NO_RANK;

/// How many bytes a piece has that is called short.
const SHORT: usize = 40;

/// How many pieces are remembered with their counts.
const N_MEMOS: usize = 1 << 14;

/// The longest piece that is remembered: with its length and its count it makes a word.
const MEMO_BYTES_MAX: usize = WORD_BYTES - 1;

/// The bits of a word that hold the length of the remembered piece; the count is above them.
const LEN_SHIFT: u32 = 56;
const COUNT_SHIFT: u32 = 60;

/// Puts pieces together. The buffers are used again for the next one.
#[derive(Debug)]
pub struct Merger {
    /// Texts repeat their words: what was counted lately is found here without the table.
    memos: Vec<Word>,
    /// For each byte that begins a part: where the part ends. Elsewhere zero.
    ends: Vec<usize>,
    /// For each byte that begins a part: where the part before it begins.
    before: Vec<usize>,
    /// Pairs that make a token: rank, where the pair begins and where it ends.
    queue: BinaryHeap<Reverse<(u32, usize, usize)>>,
}

impl Default for Merger {
    fn default() -> Self {
        let memos = vec![Word { low: 0, high: 0 }; N_MEMOS];
        Self { memos, ends: Vec::new(), before: Vec::new(), queue: BinaryHeap::new() }
    }
}

impl Merger {
    /// How many tokens the piece has that begins at a place in a text and is so long.
    #[inline]
    pub fn count(&mut self, text: &[u8], at: usize, len: usize) -> usize {
        if len < 2 {
            return len;
        }
        if len > MEMO_BYTES_MAX {
            return self.count_anew(&text[at..at + len]);
        }
        let word = Word::load(text, at, len);
        let hash = word.hash(len);
        let place = usize::try_from(hash >> 40).unwrap_or_default() % N_MEMOS;
        let key = Word { high: word.high | (len as u64) << LEN_SHIFT, ..word };
        let memo = self.memos[place];
        let difference = memo.high ^ key.high;
        if memo.low == key.low && difference >> COUNT_SHIFT << COUNT_SHIFT == difference {
            return (memo.high >> COUNT_SHIFT) as usize;
        }
        let count = if table::word_rank(word, len) == NO_RANK { count_short(&text[at..at + len]) } else { 1 };
        // There are no more tokens than bytes, and of those there are few.
        self.memos[place] = Word { high: key.high | (count as u64) << COUNT_SHIFT, ..key };
        count
    }

    fn count_anew(&mut self, piece: &[u8]) -> usize {
        if piece.len() < 2 || table::rank(piece, 0, piece.len()) != NO_RANK {
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
            // One of the two was merged with another part since.
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
        let rank = table::rank(piece, start, end - start);
        if rank != NO_RANK {
            self.queue.push(Reverse((rank, start, end)));
        }
    }
}

/// The same for a short piece, with nothing but the stack.
fn count_short(piece: &[u8]) -> usize {
    // With a word of zeros behind it, every part of it can be read as a word.
    let mut bytes = [0; SHORT + WORD_BYTES];
    bytes[..piece.len()].copy_from_slice(piece);
    // The offset of each part, and the rank of its merge with the next one.
    let mut starts = [0_u8; SHORT + 2];
    let mut ranks = [NO_RANK; SHORT + 2];
    for at in 0..piece.len() {
        starts[at + 1] = starts[at] + 1;
        if at + 1 < piece.len() {
            ranks[at] = table::pair_rank(bytes[at], bytes[at + 1]);
        }
    }
    let mut n_parts = piece.len();
    loop {
        let (mut least, mut at) = (NO_RANK, 0);
        for (n, rank) in ranks[..n_parts].iter().enumerate() {
            if *rank < least {
                (least, at) = (*rank, n);
            }
        }
        if least == NO_RANK {
            return n_parts;
        }
        starts.copy_within(at + 2..=n_parts, at + 1);
        ranks.copy_within(at + 2..=n_parts, at + 1);
        n_parts -= 1;
        let rank_at = |at: usize| {
            if at + 2 > n_parts {
                return NO_RANK;
            }
            let start = usize::from(starts[at]);
            table::rank(&bytes, start, usize::from(starts[at + 2]) - start)
        };
        ranks[at] = rank_at(at);
        if at > 0 {
            ranks[at - 1] = rank_at(at - 1);
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
        for len in [1, 2, 3, 2, 1, 15, 14, 15, 16] {
            let piece = vec![0; len];
            assert_eq!(merger.count(&piece, 0, len), Merger::default().count_anew(&piece), "{len}");
        }
    }

    #[test]
    fn every_byte_of_a_piece_counts_for_what_is_remembered() {
        for len in 2..=MEMO_BYTES_MAX {
            let mut merger = Merger::default();
            let piece = vec![b'a'; len];
            merger.count(&piece, 0, len);
            for at in 0..len {
                // Each takes the place of the other if their places are the same.
                let mut other = piece.clone();
                other[at] = 0xFF;
                let expected = Merger::default().count_anew(&other);
                assert_eq!(merger.count(&other, 0, len), expected, "{len} {at}");
                assert_eq!(merger.count(&other, 0, len), expected, "{len} {at}");
            }
        }
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

        #[test]
        fn a_piece_counts_the_same_wherever_it_stands(before in "[a-z]{0,9}", piece in "[a-zé]{1,18}", after in "[a-z]{0,20}") {
            let text = format!("{before}{piece}{after}");
            let mut merger = Merger::default();
            let there = merger.count(text.as_bytes(), before.len(), piece.len());
            prop_assert_eq!(there, Merger::default().count_anew(piece.as_bytes()));
            prop_assert_eq!(merger.count(piece.as_bytes(), 0, piece.len()), there);
        }
    }
}
