//! How the table is laid out: by the hash that a token is found by. The build script has it too.

/// How many bits of a slot hold a token's number, which begins at one; zero is an empty slot.
pub const NUMBER_BITS: u32 = 18;

/// How many slots there are.
pub const N_SLOTS: usize = 1 << NUMBER_BITS;

/// A token's number in a slot.
pub const NUMBER_MASK: u32 = (1 << NUMBER_BITS) - 1;

/// Of every so many tokens the table says where they begin; the others follow by their lengths.
pub const START_EVERY: usize = 16;

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Where a token is looked for first, and the tag that its slot carries above the number.
pub fn place(token: &[u8]) -> (usize, u32) {
    let mut hash = token.len() as u64;
    let (words, rest) = token.as_chunks::<8>();
    for word in words {
        hash = mix(hash ^ u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    let low = u32::try_from(hash & u64::from(u32::MAX)).unwrap_or_default();
    let high = u32::try_from(hash >> 32).unwrap_or_default();
    (low as usize % N_SLOTS, high & !NUMBER_MASK)
}

/// Spreads the bits of a word.
pub fn mix(word: u64) -> u64 {
    let product = word.wrapping_mul(FACTOR);
    product ^ (product >> 29)
}
