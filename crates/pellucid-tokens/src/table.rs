//! The table of the encoding: every token and its rank, ready to be looked up.
//!
//! The build script lays it out, so nothing is unpacked or built when the program runs. Pages that
//! are never looked at are never read from the disk. Whatever is needed to find a token lies in its
//! bucket, side by side: waiting for memory is most of what looking one up costs.

use crate::hash::HEAD_BYTES;
use crate::hash::place;

/// The buckets, one after the other: of each token the number of bytes, a tag, the rank, the bytes.
static BUCKETS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/buckets"));

/// Where each bucket begins, and where the last one ends; four bytes each.
static STARTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/starts"));

/// The rank of a token: the smaller, the earlier two pieces are put together to it.
pub fn rank(token: &[u8]) -> Option<u32> {
    let (bucket, tag) = place(token);
    let mut rest = &BUCKETS[start(bucket)..start(bucket + 1)];
    while let Some(([len, its_tag, rank @ ..], after)) = rest.split_first_chunk::<HEAD_BYTES>() {
        let (bytes, others) = after.split_at(usize::from(*len));
        if *its_tag == tag && bytes == token {
            let [low, middle, high] = *rank;
            return Some(u32::from_le_bytes([low, middle, high, 0]));
        }
        rest = others;
    }
    None
}

fn start(bucket: usize) -> usize {
    let (starts, _) = STARTS.as_chunks::<4>();
    u32::from_le_bytes(starts[bucket]) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_found_by_its_bytes() {
        let mut ranks = Vec::new();
        let mut rest = BUCKETS;
        while let Some(([len, _, _rank @ ..], after)) = rest.split_first_chunk::<HEAD_BYTES>() {
            let (token, others) = after.split_at(usize::from(*len));
            ranks.push(rank(token).unwrap());
            rest = others;
        }
        ranks.sort_unstable();
        assert!(ranks.iter().copied().eq(0..199_998));
        assert_eq!(rank(b"no such token at all"), None);
        assert_eq!(rank(b""), None);
    }
}
