//! The table of the encoding: every token and its rank, ready to be looked up.
//!
//! The build script lays it out, so nothing is unpacked or built when the program runs. Pages that
//! are never looked at are never read from the disk.

use crate::hash::N_SLOTS;
use crate::hash::NUMBER_MASK;
use crate::hash::START_EVERY;
use crate::hash::place;

/// The bytes of all tokens, one after the other, by rank.
static TOKENS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tokens"));

/// How many bytes each token has.
static LENS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lens"));

/// Where every so many tokens begin; four bytes each.
static STARTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/starts"));

/// Slots of the hash table: a tag and a token's number; four bytes each.
static SLOTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/slots"));

/// The rank of a token: the smaller, the earlier two pieces are put together to it.
pub fn rank(token: &[u8]) -> Option<u32> {
    let (mut at, tag) = place(token);
    loop {
        let slot = word(SLOTS, at);
        let number = slot & NUMBER_MASK;
        if number == 0 {
            return None;
        }
        if slot & !NUMBER_MASK == tag && text(number as usize - 1) == token {
            return Some(number - 1);
        }
        at = (at + 1) % N_SLOTS;
    }
}

fn text(rank: usize) -> &'static [u8] {
    let first = rank - rank % START_EVERY;
    let before: usize = LENS[first..rank].iter().map(|len| usize::from(*len)).sum();
    let start = word(STARTS, rank / START_EVERY) as usize + before;
    &TOKENS[start..start + usize::from(LENS[rank])]
}

fn word(words: &[u8], at: usize) -> u32 {
    let (words, _) = words.as_chunks::<4>();
    u32::from_le_bytes(words[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_found_by_its_bytes() {
        let n_tokens = LENS.len();
        assert_eq!(n_tokens, 199_998);
        for n in 0..n_tokens {
            assert_eq!(rank(text(n)), u32::try_from(n).ok());
        }
        assert_eq!(rank(b"no such token at all"), None);
        assert_eq!(rank(b""), None);
    }
}
