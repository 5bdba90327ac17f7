//! How the table is laid out: by the hash that a token is found by. The build script has it too.
//!
//! Most tokens and most pieces of a text have sixteen bytes at most. They are read as two numbers,
//! which are hashed and compared without a loop.

/// How many buckets there are: three tokens to each, on average.
pub const N_BUCKETS: usize = 1 << 16;

/// The bytes before a token in its bucket: its length, a tag, and the rank in three bytes.
pub const HEAD_BYTES: usize = 5;

/// How many bits of a bucket's entry say where it begins. Those above say which tags are in it.
pub const START_BITS: u32 = 22;

/// How many bytes a word has at most.
pub const WORD_BYTES: usize = 16;

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Sixteen bytes, or fewer with zeros behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// The first eight bytes.
    pub low: u64,
    /// The other eight bytes.
    pub high: u64,
}

/// Masks that keep the first `len` bytes of a word.
static MASKS: [Word; WORD_BYTES + 1] = {
    let mut masks = [Word { low: u64::MAX, high: u64::MAX }; WORD_BYTES + 1];
    let mut len = 0;
    while len < WORD_BYTES {
        masks[len] = if len < 8 {
            Word { low: (1 << (len * 8)) - 1, high: 0 }
        } else {
            Word { low: u64::MAX, high: (1 << ((len - 8) * 8)) - 1 }
        };
        len += 1;
    }
    masks
};

impl Word {
    /// Loads `len` bytes of a text, sixteen at most, from an offset on.
    #[inline]
    pub fn load(text: &[u8], at: usize, len: usize) -> Self {
        let rest = &text[at..];
        let whole = match rest.first_chunk::<WORD_BYTES>() {
            Some(bytes) => Self::from_bytes(bytes),
            None => Self::load_last(rest),
        };
        let mask = MASKS[len];
        Self { low: whole.low & mask.low, high: whole.high & mask.high }
    }

    /// The last bytes of a text, fewer than a word has.
    #[cold]
    fn load_last(rest: &[u8]) -> Self {
        let mut bytes = [0; WORD_BYTES];
        bytes[..rest.len()].copy_from_slice(rest);
        Self::from_bytes(&bytes)
    }

    #[inline]
    fn from_bytes(bytes: &[u8; WORD_BYTES]) -> Self {
        let [low, high] = [0, 8].map(|at| std::array::from_fn(|n| bytes[at + n])).map(u64::from_le_bytes);
        Self { low, high }
    }

    /// A hash of the word.
    #[inline]
    pub fn hash(self, len: usize) -> u64 {
        mix(mix(self.low ^ len as u64) ^ self.high)
    }
}

/// The hash of a token that is longer than a word.
pub fn long_hash(token: &[u8]) -> u64 {
    let (words, rest) = token.as_chunks::<8>();
    let hash = words.iter().fold(token.len() as u64, |hash, word| mix(hash ^ u64::from_le_bytes(*word)));
    mix(hash ^ Word::load(rest, 0, rest.len()).low)
}

/// The bucket of a token with this hash, and the tag that distinguishes it from most others there.
#[inline]
pub fn place(hash: u64) -> (usize, u8) {
    let [tag, low, high, ..] = (hash >> 16).to_le_bytes();
    (usize::from(u16::from_le_bytes([low, high])) % N_BUCKETS, tag)
}

/// The bit of a tag in its bucket's entry.
#[inline]
pub fn tag_bit(tag: u8) -> u32 {
    let n_bits = u32::BITS - START_BITS;
    1 << (START_BITS + ((u32::from(tag) * n_bits) >> 8))
}

/// Spreads the bits of a number.
#[inline]
pub fn mix(number: u64) -> u64 {
    let product = number.wrapping_mul(FACTOR);
    product ^ (product >> 29)
}
