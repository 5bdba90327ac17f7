//! The table of the encoding: every token and its rank, ready to be looked up.
//!
//! The build script lays it out, so nothing is unpacked or built when the program runs. Pages that are never looked
//! at are never read from the disk. Waiting for memory is most of what looking one up costs: everything that is
//! needed to find a token is in its bucket, side by side, and most texts that are not tokens are recognised without
//! looking there.

use crate::hash::HEAD_BYTES;
use crate::hash::START_BITS;
use crate::hash::WORD_BYTES;
use crate::hash::Word;
use crate::hash::long_hash;
use crate::hash::place;
use crate::hash::tag_bit;

/// The buckets, one after the other: of each token the number of bytes, a tag, the rank, the bytes.
/// Behind them is a word of zeros, so that the last token can be read like the others.
static BUCKETS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/buckets"));

/// The offset and the tags of each bucket, and the end of the last one; four bytes each.
static STARTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/starts"));

/// The ranks of tokens of two bytes, three bytes each; ones where there is no token.
static PAIRS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pairs"));

/// No token has this rank.
pub const NO_RANK: u32 = 0xFF_FFFF;

/// The rank of a token: the smaller, the earlier two pieces are put together to it.
#[inline]
pub fn rank(text: &[u8], at: usize, len: usize) -> u32 {
    if len <= WORD_BYTES { word_rank(Word::load(text, at, len), len) } else { long_rank(&text[at..at + len]) }
}

/// The same for a token that is a word.
#[inline]
pub fn word_rank(word: Word, len: usize) -> u32 {
    find(word.hash(len), len, |bytes, at| Word::load(bytes, at, len) == word)
}

fn long_rank(token: &[u8]) -> u32 {
    find(long_hash(token), token.len(), |bytes, at| bytes[at..].starts_with(token))
}

/// The rank of a token of two bytes.
#[inline]
pub fn pair_rank(first: u8, second: u8) -> u32 {
    let (pairs, _) = PAIRS.as_chunks::<3>();
    let [low, middle, high] = pairs[usize::from(u16::from_be_bytes([first, second]))];
    u32::from_le_bytes([low, middle, high, 0])
}

#[inline]
fn find(hash: u64, len: usize, is_token: impl Fn(&[u8], usize) -> bool) -> u32 {
    let (bucket, tag) = place(hash);
    let (starts, _) = STARTS.as_chunks::<4>();
    let entry = u32::from_le_bytes(starts[bucket]);
    if entry & tag_bit(tag) == 0 {
        return NO_RANK;
    }
    let start = |entry: u32| (entry & ((1 << START_BITS) - 1)) as usize;
    let (mut at, end) = (start(entry), start(u32::from_le_bytes(starts[bucket + 1])));
    while at < end {
        let Some([its_len, its_tag, low, middle, high]) = BUCKETS[at..].first_chunk::<HEAD_BYTES>().copied() else {
            break;
        };
        at += HEAD_BYTES;
        if its_tag == tag && usize::from(its_len) == len && is_token(BUCKETS, at) {
            return u32::from_le_bytes([low, middle, high, 0]);
        }
        at += usize::from(its_len);
    }
    NO_RANK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_found_by_its_bytes() {
        let mut ranks = Vec::new();
        let mut rest = &BUCKETS[..BUCKETS.len() - WORD_BYTES];
        while let Some(([len, _, _rank @ ..], after)) = rest.split_first_chunk::<HEAD_BYTES>() {
            let (token, others) = after.split_at(usize::from(*len));
            ranks.push(rank(token, 0, token.len()));
            if let [first, second] = *token {
                assert_eq!(pair_rank(first, second), rank(token, 0, 2));
            }
            rest = others;
        }
        ranks.sort_unstable();
        assert!(ranks.iter().copied().eq(0..199_998));
        assert_eq!(rank(b"no such token at all", 0, 20), NO_RANK);
        assert_eq!(rank(b"", 0, 0), NO_RANK);
    }

    #[test]
    fn pairs_that_are_no_tokens_have_no_rank() {
        for pair in 0..=u16::MAX {
            let [first, second] = pair.to_be_bytes();
            assert_eq!(pair_rank(first, second), rank(&[first, second], 0, 2), "{pair:04x}");
        }
    }
}
