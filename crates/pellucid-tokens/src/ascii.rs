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

/// The end of the letters that begin at `start`: some in upper case, then some in lower case.
#[inline]
fn word(text: &[u8], start: usize) -> usize {
    // Eight at a time: how long a word is cannot be foreseen, and a wrong guess costs more than all of them.
    let Some(bytes) = text[start..].first_chunk::<8>() else {
        return run(text, run(text, start, UPPER), LOWER);
    };
    let bytes = u64::from_le_bytes(*bytes);
    let after_upper = !letters(bytes, b'A', b'Z') & TOP_BITS;
    let after_lower = !letters(bytes, b'a', b'z') & TOP_BITS;
    // From the first bit on that is not of upper case; none if all are.
    let after = after_lower & (after_upper & after_upper.wrapping_neg()).wrapping_neg();
    if after != 0 {
        return start + after.trailing_zeros() as usize / 8;
    }
    let end = start + 8;
    lower_case(text, if after_upper == 0 { run(text, end, UPPER) } else { end })
}

/// The end of the lower-case letters that begin at `start`.
#[inline]
fn lower_case(text: &[u8], start: usize) -> usize {
    let mut end = start;
    while let Some(bytes) = text[end..].first_chunk::<8>() {
        let after = !letters(u64::from_le_bytes(*bytes), b'a', b'z') & TOP_BITS;
        if after != 0 {
            return end + after.trailing_zeros() as usize / 8;
        }
        end += 8;
    }
    run(text, end, LOWER)
}

/// The top bit of each of eight bytes.
const TOP_BITS: u64 = 0x8080_8080_8080_8080;

/// The top bits of those of eight bytes that are letters from one to another.
#[inline]
fn letters(bytes: u64, first: u8, last: u8) -> u64 {
    let each = |byte: u8| u64::from(byte) * 0x0101_0101_0101_0101;
    let low = bytes & !TOP_BITS;
    // Sums that reach the top bit: of the first letter and above, and of what is above the last one.
    let (from_first, above_last) = (low + each(0x80 - first), low + each(0x80 - last - 1));
    from_first & !above_last & !bytes & TOP_BITS
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

/// The end of the run of bytes of a kind that begins at `start`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_any_length_end_where_their_letters_end() {
        for n_upper in 0..20 {
            for n_lower in 0..20 {
                let letters = "A".repeat(n_upper) + &"z".repeat(n_lower);
                for after in ["", "A", "@", "[", "`", "{", "9 and more of it", "\u{e9}", "\u{7a}\u{e9}"] {
                    let text = format!("{letters}{after}");
                    let expected = run(text.as_bytes(), run(text.as_bytes(), 0, UPPER), LOWER);
                    assert_eq!(word(text.as_bytes(), 0), expected, "{text}");
                }
            }
        }
    }

    #[test]
    fn letters_are_told_from_all_other_bytes() {
        for byte in 0..=u8::MAX {
            for (first, last) in [(b'a', b'z'), (b'A', b'Z')] {
                let expected = if (first..=last).contains(&byte) { TOP_BITS } else { 0 };
                assert_eq!(letters(u64::from_le_bytes([byte; 8]), first, last), expected, "{byte}");
            }
        }
    }
}
