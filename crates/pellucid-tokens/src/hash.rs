//! How the table is laid out: by the hash that a token is found by. The build script has it too.

/// How many buckets there are: three tokens to each, on average.
pub const N_BUCKETS: usize = 1 << 16;

/// What comes before the bytes of a token in its bucket: their number, a tag, and the rank in three
/// bytes.
pub const HEAD_BYTES: usize = 5;

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// The bucket of a token, and the tag that tells it from most others there.
#[inline]
pub fn place(token: &[u8]) -> (usize, u8) {
    let mut hash = token.len() as u64;
    let (words, rest) = token.as_chunks::<8>();
    for word in words {
        hash = mix(hash ^ u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        hash = mix(hash ^ short_word(rest));
    }
    let [tag, low, high, ..] = (hash >> 16).to_le_bytes();
    (usize::from(u16::from_le_bytes([low, high])) % N_BUCKETS, tag)
}

/// The bytes of a text of one to seven as a number.
#[inline]
fn short_word(text: &[u8]) -> u64 {
    let len = text.len();
    match (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        // Two words that overlap: what is in both is the same.
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << ((len - 4) * 8)
        }
        _ => text.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// Spreads the bits of a word.
#[inline]
pub fn mix(word: u64) -> u64 {
    let product = word.wrapping_mul(FACTOR);
    product ^ (product >> 29)
}
