//! Lays out the table of the encoding, so that the program has nothing to unpack.

#![allow(dead_code, reason = "the hash has a part that only the program uses")]

#[path = "src/hash.rs"]
mod hash;

use std::fs;
use std::path::PathBuf;

use regex_syntax::hir::Class;
use regex_syntax::hir::HirKind;

use hash::HEAD_BYTES;
use hash::N_BUCKETS;
use hash::START_BITS;
use hash::WORD_BYTES;
use hash::Word;

/// Kinds of characters, by their number in `src/class.rs`.
const CLASSES: [(u8, &str); 6] =
    [(1, r"[\p{Lu}\p{Lt}]"), (2, r"\p{Ll}"), (3, r"[\p{Lm}\p{Lo}]"), (4, r"\p{M}"), (5, r"\p{N}"), (6, r"\s")];

/// Characters of one block, as in `src/class.rs`.
const BLOCK: usize = 128;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/hash.rs");
    let tokens = tokens();
    let (starts, buckets) = table(&tokens);
    write("starts", &bytes(&starts));
    write("buckets", &buckets);
    write("pairs", &pairs(&tokens));
    let (blocks, kinds) = classes();
    write("blocks", &blocks);
    write("kinds", &kinds);
}

/// The tokens by rank. Ranks have no gaps; control tokens come after a gap and are no text.
fn tokens() -> Vec<Vec<u8>> {
    let encoding = tiktoken::get_encoding("o200k_base").expect("the feature that carries it is on");
    (0..).map(|rank| encoding.decode(&[rank])).take_while(|token| !token.is_empty()).collect()
}

/// The offset and tags of each bucket, and the buckets.
fn table(tokens: &[Vec<u8>]) -> (Vec<u32>, Vec<u8>) {
    let mut buckets = vec![Vec::new(); N_BUCKETS];
    let mut tags = vec![0; N_BUCKETS + 1];
    for (rank, token) in tokens.iter().enumerate() {
        let hash = match token.len() {
            len @ ..=WORD_BYTES => Word::load(token, 0, len).hash(len),
            _ => hash::long_hash(token),
        };
        let (bucket, tag) = hash::place(hash);
        tags[bucket] |= hash::tag_bit(tag);
        let [low, middle, high, 0] = number(rank).to_le_bytes() else {
            panic!("ranks have three bytes");
        };
        let head: [u8; HEAD_BYTES] = [u8::try_from(token.len()).expect("tokens are short"), tag, low, middle, high];
        buckets[bucket].extend_from_slice(&head);
        buckets[bucket].extend_from_slice(token);
    }
    let ends = buckets.iter().scan(0, |end, bucket| {
        *end += bucket.len();
        Some(*end)
    });
    let starts = std::iter::once(0).chain(ends).map(number).zip(tags).map(|(start, tags)| {
        assert_eq!(start >> START_BITS, 0, "the buckets are smaller than that");
        start | tags
    });
    (starts.collect(), [buckets.concat(), vec![0; WORD_BYTES]].concat())
}

/// The ranks of all pairs of bytes, three bytes each; ones where a pair is no token.
fn pairs(tokens: &[Vec<u8>]) -> Vec<u8> {
    let mut pairs = vec![0xFF; 3 << 16];
    for (rank, token) in tokens.iter().enumerate() {
        if let [first, second] = **token {
            let place = 3 * usize::from(u16::from_be_bytes([first, second]));
            pairs[place..place + 3].copy_from_slice(&number(rank).to_le_bytes()[..3]);
        }
    }
    pairs
}

/// The kinds of all characters: for each block of characters which block of kinds it has, and the
/// blocks of kinds, each once.
fn classes() -> (Vec<u8>, Vec<u8>) {
    let mut kinds = vec![0; 0x11_0000];
    for (kind, pattern) in CLASSES {
        let hir = regex_syntax::parse(pattern).expect("a class of characters");
        let HirKind::Class(Class::Unicode(class)) = hir.kind() else {
            panic!("{pattern} is no class of characters");
        };
        for range in class.ranges() {
            kinds[range.start() as usize..=range.end() as usize].fill(kind);
        }
    }
    let (mut blocks, mut known) = (Vec::new(), Vec::<&[u8]>::new());
    for block in kinds.chunks(BLOCK) {
        let place = known.iter().position(|it| *it == block).unwrap_or(known.len());
        if place == known.len() {
            known.push(block);
        }
        blocks.push(u8::try_from(place).expect("there are fewer kinds of blocks than that"));
    }
    (blocks, known.concat())
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the tables are smaller than that")
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn write(name: &str, bytes: &[u8]) {
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo gives a folder"));
    fs::write(folder.join(name), bytes).expect("the folder can be written to");
}
