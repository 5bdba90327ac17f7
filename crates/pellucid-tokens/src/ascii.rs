//! The first piece of a text that begins with ASCII, as most do.
//!
//! There no character is of two kinds, so that the expression never goes back, and a table of 256
//! bytes says all. Where a character that is not ASCII could make a difference, nothing is said and
//! `pieces` looks.

/// Kinds of bytes, as bits, so that several can be asked for at once.
const UPPER: u8 = 1;
const LOWER: u8 = 2;
const NUMBER: u8 = 4;
const SPACE: u8 = 8;
const OTHER: u8 = 16;
/// Part of a character that is not ASCII.
const WIDE: u8 = 32;

static KINDS: [u8; 256] = {
    let mut kinds = [WIDE; 256];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => NUMBER,
            b' ' | b'\t'..=b'\r' => SPACE,
            _ => OTHER,
        };
        byte += 1;
    }
    kinds
};

/// How long the first piece is, if that is certain.
#[inline]
pub fn first(text: &[u8]) -> Option<usize> {
    let (first, rest) = text.split_first()?;
    // After the end comes nothing that matters.
    let second = rest.first().map_or(0, |byte| kind(*byte));
    let end = match kind(*first) {
        UPPER | LOWER => word(text, 0),
        OTHER | SPACE if second & (UPPER | LOWER) != 0 && !is_line_end(*first) => word(text, 1),
        NUMBER => run(&text[..text.len().min(3)], 1, NUMBER),
        OTHER => punctuation(text, 1),
        SPACE if *first == b' ' && second == OTHER => punctuation(text, 2),
        SPACE => return white_space(text),
        _ => return None,
    };
    is_certain(text, end).then_some(end)
}

/// Whether the piece ends here whatever follows. What begins with an apostrophe may belong to a word.
#[inline]
fn is_certain(text: &[u8], end: usize) -> bool {
    text.get(end).is_none_or(|byte| kind(*byte) != WIDE && *byte != b'\'')
}

#[inline]
fn kind(byte: u8) -> u8 {
    KINDS[usize::from(byte)]
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

#[inline]
fn word(text: &[u8], start: usize) -> usize {
    let mut end = run(text, start, UPPER);
    // Eight letters at a time: how long words are cannot be foreseen, and a wrong guess costs more than all of them.
    while let Some(bytes) = text[end..].first_chunk::<8>() {
        let others = !lower_case(u64::from_le_bytes(*bytes)) & TOP_BITS;
        if others != 0 {
            return end + others.trailing_zeros() as usize / 8;
        }
        end += 8;
    }
    run(text, end, LOWER)
}

/// The top bit of each of eight bytes.
const TOP_BITS: u64 = 0x8080_8080_8080_8080;

/// The top bits of those of eight bytes that are letters in lower case.
#[inline]
fn lower_case(bytes: u64) -> u64 {
    const fn each(byte: u8) -> u64 {
        byte as u64 * 0x0101_0101_0101_0101
    }
    let low = bytes & !TOP_BITS;
    // Sums that reach the top bit: of `a` and above, and of what is above `z`.
    let (from_a, above_z) = (low + each(0x80 - b'a'), low + each(0x80 - b'z' - 1));
    from_a & !above_z & !bytes & TOP_BITS
}

#[inline]
fn punctuation(text: &[u8], start: usize) -> usize {
    let mut end = run(text, start, OTHER);
    if text.get(end).is_some_and(|byte| kind(*byte) == WIDE) {
        return end;
    }
    while text.get(end).is_some_and(|byte| is_line_end(*byte) || *byte == b'/') {
        end += 1;
    }
    end
}

#[inline]
fn white_space(text: &[u8]) -> Option<usize> {
    let end = run(text, 1, SPACE);
    if text.get(end).is_some_and(|byte| kind(*byte) == WIDE) {
        return None;
    }
    match text[..end].iter().rposition(|byte| is_line_end(*byte)) {
        Some(line_end) => Some(line_end + 1),
        None if end == text.len() || end == 1 => Some(end),
        None => Some(end - 1),
    }
}

/// Where the bytes of a kind end that begin at `start`.
#[inline]
fn run(text: &[u8], start: usize, of: u8) -> usize {
    let mut end = start;
    while let Some(byte) = text.get(end)
        && kind(*byte) == of
    {
        end += 1;
    }
    end
}
