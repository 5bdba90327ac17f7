//! Words for the keys that move and delete by word.
//!
//! Characters of punctuation are words of their own kind, so that a path can be walked through part by part.

/// Characters that end a word and form words among themselves.
const PUNCTUATION: &str = "`~!@#$%^&*()-=+[{]}\\|;:'\",.<>/?";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Punctuation,
    Letter,
}

fn kind(char: char) -> Kind {
    if char.is_whitespace() {
        Kind::Blank
    } else if PUNCTUATION.contains(char) {
        Kind::Punctuation
    } else {
        Kind::Letter
    }
}

/// The start of the word that ends at or before a position.
pub fn start_before(text: &str, position: usize) -> usize {
    let mut chars = text[..position].char_indices().rev().skip_while(|(_, char)| kind(*char) == Kind::Blank);
    let Some((first, char)) = chars.next() else {
        return 0;
    };
    let wanted = kind(char);
    chars.take_while(|(_, char)| kind(*char) == wanted).last().map_or(first, |(at, _)| at)
}

/// The end of the word that begins at or after a position.
pub fn end_after(text: &str, position: usize) -> usize {
    let mut chars = text[position..].char_indices().skip_while(|(_, char)| kind(*char) == Kind::Blank);
    let Some((first, char)) = chars.next() else {
        return text.len();
    };
    let wanted = kind(char);
    let (at, last) = chars.take_while(|(_, char)| kind(*char) == wanted).last().unwrap_or((first, char));
    position + at + last.len_utf8()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_words(text: &str, starts: &[usize], ends: &[usize]) {
        let mut position = text.len();
        let mut found = Vec::new();
        while position > 0 {
            position = start_before(text, position);
            found.push(position);
        }
        assert_eq!(found, starts, "starts of {text:?}");
        let mut position = 0;
        let mut found = Vec::new();
        while position < text.len() {
            position = end_after(text, position);
            found.push(position);
        }
        assert_eq!(found, ends, "ends of {text:?}");
    }

    #[test]
    fn words_end_at_blanks_and_punctuation() {
        check_words("one two", &[4, 0], &[3, 7]);
        check_words("one two/three", &[8, 7, 4, 0], &[3, 7, 8, 13]);
        check_words("  a.. b  ", &[6, 3, 2, 0], &[3, 5, 7, 9]);
        check_words("é日本 x", &[9, 0], &[8, 10]);
        check_words("", &[], &[]);
        check_words("   ", &[0], &[3]);
    }
}
