//! The class of a character, as far as splitting texts into pieces needs it.
//!
//! The build script takes the kinds from the Unicode tables of the regular expression that defines
//! the encoding.

/// The kinds of characters that splitting distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Neither of the others: punctuation, symbols, control characters.
    Other,
    /// A letter in upper or title case.
    Upper,
    /// A letter in lower case.
    Lower,
    /// A letter without case.
    Letter,
    /// A mark on the letter before it.
    Mark,
    /// A digit or number.
    Number,
    /// A character of white space.
    Space,
}

/// Characters of one block of the table.
const BLOCK: usize = 128;

/// The index of the block of [`KINDS`] for each run of characters.
static BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/blocks"));

/// The kinds of the characters of each block that there is.
static KINDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kinds"));

impl Class {
    /// Every kind, by its number in the table.
    const ALL: [Self; 7] = [Self::Other, Self::Upper, Self::Lower, Self::Letter, Self::Mark, Self::Number, Self::Space];

    /// The kinds of the first characters, which most texts consist of.
    const ASCII: [Self; 128] = {
        let mut classes = [Self::Other; 128];
        let mut byte = 0_u8;
        while byte < 128 {
            classes[byte as usize] = match byte {
                b'a'..=b'z' => Self::Lower,
                b'A'..=b'Z' => Self::Upper,
                b'0'..=b'9' => Self::Number,
                b' ' | b'\t'..=b'\r' => Self::Space,
                _ => Self::Other,
            };
            byte += 1;
        }
        classes
    };

    /// The kind of the character at a place in a text, and how many bytes it has. None at the end.
    #[inline]
    pub fn at(text: &str, place: usize) -> Option<(Self, usize)> {
        let byte = *text.as_bytes().get(place)?;
        if byte.is_ascii() {
            return Some((Self::ASCII[byte as usize], 1));
        }
        let character = text[place..].chars().next()?;
        Some((Self::of(character), character.len_utf8()))
    }

    /// Whether a word may begin with it: not with lower case.
    pub fn is_initial(self) -> bool {
        matches!(self, Self::Upper | Self::Letter | Self::Mark)
    }

    /// Whether a word may continue with it: not with upper case.
    pub fn is_inner(self) -> bool {
        matches!(self, Self::Lower | Self::Letter | Self::Mark)
    }

    fn of(character: char) -> Self {
        let number = character as usize;
        let block = usize::from(BLOCKS[number / BLOCK]);
        Self::ALL[usize::from(KINDS[block * BLOCK + number % BLOCK])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_and_the_table_agree() {
        for character in (0..128_u8).map(char::from) {
            assert_eq!(Class::ASCII[character as usize], Class::of(character), "{character:?}");
        }
    }

    #[test]
    fn kinds_are_those_of_unicode() {
        let cases = [
            ('é', Class::Lower),
            ('É', Class::Upper),
            ('ǅ', Class::Upper),
            ('ʰ', Class::Letter),
            ('日', Class::Letter),
            ('\u{301}', Class::Mark),
            ('५', Class::Number),
            ('Ⅷ', Class::Number),
            ('\u{a0}', Class::Space),
            ('\u{3000}', Class::Space),
            ('。', Class::Other),
            ('🙂', Class::Other),
            ('\u{10ffff}', Class::Other),
        ];
        for (character, class) in cases {
            assert_eq!(Class::of(character), class, "{character:?}");
        }
    }
}
