//! Filler: characters that take the place of a text and keep its shape.
//!
//! Every character becomes a letter that has as many bytes in UTF-8. Line ends, control characters, quotes and backslashes
//! stay, and so does white space around a text, so the filler is as long as the text however often it is escaped, and has
//! its lines. A letter depends on a key and on everything before it in the same text: equal texts have equal filler, and
//! texts that begin alike have filler that begins alike, which is what a provider's cache compares.
//!
//! The key is a digest of the whole session, which the capsule does not have. So a reader cannot make filler from a guess and
//! compare it, and the same session still gives the same filler each time.

use std::ops::Range;

use pellucid_engine::boundary;
use pellucid_protocol::seal::Seal;
use sha2::Digest;
use sha2::Sha256;

/// The letters for characters of one byte. With 62 of them it is next to impossible that filler has eight characters of a
/// text in a row by chance.
const ASCII: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// The first letter and the number of letters for characters of two to four bytes.
const LETTERS: [(u32, u32); 3] = [(0xe0, 23), (0x4e00, 64), (0x2_0000, 64)];

/// How an address begins that contains a file.
const DATA_URL: &str = "data:";

/// Makes filler with one key.
#[derive(Debug, Clone)]
pub(super) struct Filler {
    key: [u8; 32],
}

impl Filler {
    /// The filler of a session with these files.
    pub fn new<'a>(files: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hasher = Sha256::new();
        for file in files {
            hasher.update((file.len() as u64).to_le_bytes());
            hasher.update(file);
        }
        Self { key: hasher.finalize().into() }
    }

    /// The filler of a text, with the beginning by which the program recognises its own messages, files and the API that
    /// signed a reasoning.
    pub fn text(&self, text: &str) -> String {
        let beginning = match text.strip_prefix(DATA_URL) {
            Some(rest) => rest.find(',').map_or(0, |comma| DATA_URL.len() + comma + 1),
            None => boundary::beginning(text).max(text.len() - Seal::read(text).sealed().len()),
        };
        self.between(text, std::slice::from_ref(&(0..beginning)))
    }

    /// The filler of a text, except for some ranges of its bytes.
    pub fn between(&self, text: &str, kept: &[Range<usize>]) -> String {
        let (start, end) = (text.len() - text.trim_start().len(), text.trim_end().len());
        let mut filler = String::with_capacity(text.len());
        let mut state = self.key;
        for (at, c) in text.char_indices() {
            state = next(&state, c);
            let is_kept = !(start..end).contains(&at) || is_shape(c) || kept.iter().any(|range| range.contains(&at));
            filler.push(if is_kept { c } else { letter(&state, c) });
        }
        filler
    }

    /// A number of as many digits. Zeros stay, so the number is written as before however a program reads it.
    pub fn number(&self, number: &str) -> String {
        let mut state = self.key;
        let (mantissa, exponent) = number.split_at(number.find(['e', 'E']).unwrap_or(number.len()));
        let digit = |c: char| {
            state = next(&state, c);
            if c.is_ascii_digit() && c != '0' { char::from(b'1' + state[0] % 9) } else { c }
        };
        mantissa.chars().map(digit).collect::<String>() + exponent
    }

    /// A text in hexadecimal of the same length, in place of a digest. Equal digests stay equal.
    pub fn digest(&self, digest: &str) -> String {
        let made = Sha256::new().chain_update(self.key).chain_update("digest").chain_update(digest).finalize();
        let made: String = made.iter().map(|byte| format!("{byte:02x}")).collect();
        made.chars().cycle().take(digest.len()).collect()
    }
}

/// Whether a character belongs to the shape of a text: the notation of JSON escapes it.
fn is_shape(c: char) -> bool {
    c < ' ' || matches!(c, '"' | '\\')
}

fn next(state: &[u8; 32], c: char) -> [u8; 32] {
    Sha256::new().chain_update(state).chain_update(u32::from(c).to_le_bytes()).finalize().into()
}

fn letter(state: &[u8; 32], c: char) -> char {
    let drawn = u32::from_le_bytes([state[0], state[1], state[2], state[3]]);
    match c.len_utf8() {
        1 => char::from(ASCII[drawn as usize % ASCII.len()]),
        len => {
            let (first, n) = LETTERS[len - 2];
            char::from_u32(first + drawn % n).unwrap_or(c)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filler() -> Filler {
        Filler::new(["a session"])
    }

    #[test]
    fn a_text_keeps_its_lines_and_nothing_else() {
        let text = "Fix the \"parser\" in src\\main.rs:\n\tname = caf\u{e9} \u{1f600}\n";
        let blank = filler().text(text);
        assert_eq!(blank.len(), text.len());
        assert_eq!(blank.matches('\n').count(), 2);
        for word in ["Fix", "parser", "main", "name", "\u{e9}", "\u{1f600}"] {
            assert!(!blank.contains(word), "{blank}");
        }
    }

    #[test]
    fn the_beginning_of_a_message_of_the_program_stays() {
        assert!(filler().text("<environment_context>\n  <cwd>/home/ada").starts_with("<environment_context>\n"));
        assert!(filler().text("data:image/png;base64,AAAA==").starts_with("data:image/png;base64,"));
        assert!(!filler().text("<secret_name>x").contains("secret"));
        let seal = filler().text(&Seal::Signature("EqQB").to_text());
        assert!(matches!(Seal::read(&seal), Seal::Signature(blank) if blank.len() == 4 && blank != "EqQB"), "{seal}");
    }

    #[test]
    fn another_session_has_another_filler() {
        let text = "the same words in two sessions";
        assert_ne!(filler().text(text), Filler::new(["another"]).text(text));
        assert_ne!(Filler::new(["ab", "c"]).text(text), Filler::new(["a", "bc"]).text(text));
        assert_ne!(filler().digest("0123"), Filler::new(["another"]).digest("0123"));
        assert_eq!(filler().digest(&"0".repeat(64)).len(), 64);
    }

    #[test]
    fn numbers_stay_numbers_of_the_same_form() {
        for number in ["0", "-12.50", "1e9", "1234567890123"] {
            let blank = filler().number(number);
            assert_eq!(blank.len(), number.len());
            assert!(blank.parse::<f64>().is_ok(), "{blank}");
        }
        assert_ne!(filler().number("1234567890123"), "1234567890123");
    }

    proptest! {
        #[test]
        fn filler_is_as_long_as_the_text_however_often_it_is_escaped(text in any::<String>(), behind in any::<String>()) {
            let (mut blank, mut before) = (filler().text(&text), text.clone());
            for _ in 0..3 {
                prop_assert_eq!(blank.len(), before.len());
                (blank, before) = (serde_json::to_string(&blank).unwrap(), serde_json::to_string(&before).unwrap());
            }
            let longer = filler().between(&format!("x{text}{behind}x"), &[]);
            let shorter = filler().between(&format!("x{text}x"), &[]);
            let shared = format!("x{text}").len();
            prop_assert_eq!(&longer[..shared], &shorter[..shared]);
        }
    }
}
