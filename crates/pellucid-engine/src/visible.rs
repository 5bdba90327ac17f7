//! Text of files, models and tools as a terminal may show it: what would move the cursor, change colours, hide or turn
//! around other text is written out, such as `\u{1b}` or `\u{202e}`.
//!
//! Newlines and tabs stay, and so does what belongs to an emoji or to a script that joins its letters ([`crate::hidden`]).
//! Each character is looked at by itself, so there is no sequence that could be completed by what comes later.
//!
//! Not here: where text goes. Pipes and files get the bytes as they are.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::hidden;

/// At most this many bytes are held back while it is not known what they belong to.
const HELD_MAX: usize = 256;

/// The text with everything written out that a person would not see.
///
/// ```
/// use pellucid_engine::visible::visible;
///
/// assert_eq!(visible("plain\n"), "plain\n");
/// assert_eq!(visible("\u{1b}[8mhidden"), "\\u{1b}[8mhidden");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if is_plain(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let characters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    for (at, character) in characters.iter().enumerate() {
        if is_shown(&characters, at) {
            out.push(*character);
        } else {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(*character));
        }
    }
    Cow::Owned(out)
}

/// Makes a name visible that is on one line with other words: newlines and tabs are written out too.
pub fn visible_name(name: &str) -> Cow<'_, str> {
    match visible(name) {
        Cow::Borrowed(_) if !name.contains(['\n', '\t']) => Cow::Borrowed(name),
        shown => Cow::Owned(shown.replace("\r\n", "\\r\\n").replace('\n', "\\n").replace('\t', "\\t")),
    }
}

/// JSON with everything that a person would not see, or that would command a terminal, escaped as JSON does it. Its value
/// is the same.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    if is_plain(json.as_bytes()) {
        return Cow::Borrowed(json);
    }
    let characters: Vec<char> = json.chars().collect();
    let mut out = String::with_capacity(json.len());
    for (at, character) in characters.iter().enumerate() {
        if is_shown(&characters, at) && !matches!(character, '\u{2028}' | '\u{2029}') {
            out.push(*character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    Cow::Owned(out)
}

fn is_plain(bytes: &[u8]) -> bool {
    // Whole blocks at a time, without a branch for each byte.
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b' '..=b'~');
    bytes.chunks(64).all(|block| block.iter().fold(true, |all, byte| all & is_plain(byte)))
}

fn is_shown(characters: &[char], at: usize) -> bool {
    match characters[at] {
        '\n' | '\t' => true,
        // The end of a line in files of another system.
        '\r' => characters.get(at + 1) == Some(&'\n'),
        // The byte order mark has no effect on a terminal.
        '\u{feff}' => false,
        _ => !hidden::is_hidden(characters, at),
    }
}

/// The same for bytes that come in pieces: a character may be split over two of them, and so may an emoji of several.
#[derive(Debug, Default)]
pub struct VisibleStream {
    held: Vec<u8>,
}

impl VisibleStream {
    /// Takes the next piece and gives what can be shown by now.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let settled = self.held.iter().rposition(|byte| is_settled(*byte)).map_or(0, |at| at + 1);
        let end = if self.held.len() - settled > HELD_MAX { whole(&self.held) } else { settled };
        let rest = self.held.split_off(end);
        shown_bytes(&std::mem::replace(&mut self.held, rest))
    }

    /// Returns the bytes that were held back.
    pub fn finish(&mut self) -> String {
        shown_bytes(&std::mem::take(&mut self.held))
    }
}

/// Whether what comes after this byte cannot change how it is shown, nor it how that is: letters, spaces, signs. Digits
/// and a few signs begin emoji.
fn is_settled(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\t' | b' '..=b'~') && !byte.is_ascii_digit() && byte != b'#' && byte != b'*'
}

/// How many of the bytes are whole characters.
fn whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

/// Bytes that are no text are written out as numbers.
fn shown_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out += &visible(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_visible(text: &str, expected: &str) {
        assert_eq!(visible(text), expected);
        // However it is split, it is the same.
        for at in 0..=text.len() {
            let mut stream = VisibleStream::default();
            let (one, other) = text.as_bytes().split_at(at);
            let shown = stream.push(one) + &stream.push(other) + &stream.finish();
            assert_eq!(shown, expected, "split after {at} bytes");
        }
        let mut stream = VisibleStream::default();
        let shown: String = text.as_bytes().iter().map(|byte| stream.push(&[*byte])).collect();
        assert_eq!(shown + &stream.finish(), expected, "byte by byte");
    }

    #[test]
    fn what_people_write_stays() {
        for text in [
            "",
            "# Rules\r\n\tBe brief.\n",
            "Größe, naïve, 日本語, עברית, العربية, हिन्दी",
            "❤️ 1️⃣ 👨‍👩‍👧 🏴‍☠️ 🤷🏽‍♀️ 🏴\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F} #️⃣",
            "می‌خواهم क्‍ष 葛\u{E0100}",
        ] {
            check_visible(text, text);
        }
    }

    #[test]
    fn what_commands_a_terminal_is_written_out() {
        check_visible("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m");
        check_visible("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}");
        check_visible(
            "\u{1b}]8;;https://x\u{1b}\\link\u{1b}]8;;\u{1b}\\",
            "\\u{1b}]8;;https://x\\u{1b}\\link\\u{1b}]8;;\\u{1b}\\",
        );
        check_visible("a\u{8}b\u{7f}c\u{9b}31md\u{0}", "a\\u{8}b\\u{7f}c\\u{9b}31md\\u{0}");
        check_visible("hidden\rshown", "hidden\\u{d}shown");
        check_visible("\r\r\n", "\\u{d}\r\n");
    }

    #[test]
    fn what_hides_or_turns_text_around_is_written_out() {
        check_visible("a\u{200b}b\u{202e}c\u{2066}d\u{e0041}e", "a\\u{200b}b\\u{202e}c\\u{2066}d\\u{e0041}e");
        check_visible("\u{feff}a\u{ad}\u{3164}\u{2028}\u{13430}", "\\u{feff}a\\u{ad}\\u{3164}\\u{2028}\\u{13430}");
        check_visible("a\u{fe0f} 葛\u{E0101}\u{E0101}", "a\\u{fe0f} 葛\u{E0101}\\u{e0101}");
    }

    #[test]
    fn bytes_that_are_no_text_are_numbers() {
        let mut stream = VisibleStream::default();
        assert_eq!(stream.push(b"a\xffb\xe2\x80") + &stream.finish(), "a\\xffb\\xe2\\x80");
        let (mut stream, flood) = (VisibleStream::default(), "\u{200d}".repeat(1000));
        let shown = stream.push(flood.as_bytes());
        assert!(!shown.is_empty() && stream.held.len() <= HELD_MAX);
    }

    #[test]
    fn names_stay_on_their_line() {
        assert_eq!(visible_name("a/b c.md"), "a/b c.md");
        assert_eq!(visible_name("a\nwarning: x\t\u{1b}"), "a\\nwarning: x\\t\\u{1b}");
    }

    #[track_caller]
    fn check_json(text: &str, expected: &str) {
        let json = serde_json::json!({ "text": text }).to_string();
        let shown = visible_json(&json);
        assert_eq!(shown, format!("{{\"text\":\"{expected}\"}}"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap()["text"], text);
    }

    #[test]
    fn json_keeps_its_value_and_hides_nothing() {
        check_json("Größe 日本語 👨‍👩‍👧", "Größe 日本語 👨‍👩‍👧");
        check_json("a\u{9b}31m\u{7f}\u{85}", "a\\u009b31m\\u007f\\u0085");
        check_json("\u{202e}\u{2066}\u{200b}\u{feff}\u{ad}", "\\u202e\\u2066\\u200b\\ufeff\\u00ad");
        check_json("\u{2028}\u{2029}\u{e0041}", "\\u2028\\u2029\\udb40\\udc41");
    }

    proptest::proptest! {
        #[test]
        fn json_is_the_same_value_whatever_it_says(text in ".*") {
            let json = serde_json::json!({ "text": text });
            let pretty = format!("{json:#}");
            let shown = visible_json(&pretty);
            proptest::prop_assert!(!shown.chars().any(|it| it.is_control() && it != '\n'));
            proptest::prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), json);
        }
    }
}
