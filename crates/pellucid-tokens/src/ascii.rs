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
    run(text, run(text, start, UPPER), LOWER)
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
