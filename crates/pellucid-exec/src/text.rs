//! The text of a program's output.
//!
//! Most programs write UTF-8. Of those that do not, the encoding is guessed; what fits no guess is
//! read as UTF-8 with replacement characters.

use chardetng::EncodingDetector;
use chardetng::Iso2022JpDetection;
use chardetng::Utf8Detection;
use encoding_rs::Encoding;
use encoding_rs::IBM866;
use encoding_rs::WINDOWS_1252;

/// The text that these bytes mean.
pub fn decode(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => decode_other(error.as_bytes()),
    }
}

fn decode_other(bytes: &[u8]) -> String {
    // A byte order mark counts more than the guess.
    let (text, _, has_errors) = guess(bytes).decode(bytes);
    if has_errors { String::from_utf8_lossy(bytes).into_owned() } else { text.into_owned() }
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    let guess = detector.guess(None, Utf8Detection::Allow);
    if guess == IBM866 && is_western_punctuation(bytes) { WINDOWS_1252 } else { guess }
}

/// Typographic quotes and dashes between ASCII letters look like DOS Cyrillic to the detector.
fn is_western_punctuation(bytes: &[u8]) -> bool {
    let mut high = bytes.iter().filter(|byte| !byte.is_ascii()).peekable();
    high.peek().is_some()
        && high.all(|byte| matches!(byte, 0x91..=0x97 | 0x99))
        && bytes.iter().any(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_decode(bytes: &[u8], expected: &str) {
        assert_eq!(decode(bytes.to_vec()), expected);
    }

    #[test]
    fn utf_8_is_itself() {
        check_decode("plain, ünï, 日本, \u{1f980}".as_bytes(), "plain, ünï, 日本, \u{1f980}");
        check_decode(b"", "");
    }

    #[test]
    fn other_encodings_are_guessed() {
        check_decode(b"caf\xe9 d\xe9j\xe0 vu", "café déjà vu");
        check_decode(b"\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0", "Привет, мир");
        check_decode(b"\x8f\xe0\xa8\xa2\xa5\xe2, \xac\xa8\xe0", "Привет, мир");
        check_decode(b"\x93\xfa\x96{\x8c\xea\x82\xcc\x83e\x83L\x83X\x83g", "日本語のテキスト");
    }

    #[test]
    fn typographic_signs_are_not_cyrillic() {
        check_decode(b"It\x92s \x93here\x94 \x97 now", "It\u{2019}s \u{201c}here\u{201d} \u{2014} now");
    }

    #[test]
    fn a_byte_order_mark_decides() {
        check_decode(b"\xff\xfeA\x00", "A");
    }

    #[test]
    fn what_fits_no_guess_keeps_what_it_can() {
        check_decode(b"\xff\xfe\x00\x00ok\xff", "\u{fffd}\u{fffd}\0\0ok\u{fffd}");
    }
}
