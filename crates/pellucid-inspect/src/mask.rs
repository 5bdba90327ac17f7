//! Hides what looks like a secret in an answer.
//!
//! A secret is filled with `*` of the same length, so offsets in the answer stay as they are.

use std::ops::Range;

use bytes::Bytes;
use pellucid_store::redact::Redactor;

/// What a secret is filled with. It means nothing in JSON, HTML or a shell's output.
const FILL: u8 = b'*';

/// Replaces an escape of JSON while secrets are looked for: a byte that is no part of a name or a secret.
const ESCAPE: u8 = 1;

/// The secrets in a text that may be JSON.
pub fn secrets(redactor: &Redactor, text: &[u8]) -> Vec<Range<usize>> {
    let text = without_escapes(text);
    // Bytes that are no text are judged piece by piece.
    let mut found = Vec::new();
    let mut start = 0;
    for chunk in text.utf8_chunks() {
        let valid = chunk.valid();
        found.extend(redactor.spans(valid).into_iter().map(|span| start + span.start..start + span.end));
        start += valid.len() + chunk.invalid().len();
    }
    found
}

/// The text with every escape replaced by as many bytes that separate words. Otherwise the letter of `\n` would belong to the
/// word behind it. Strings of JSON may have JSON in them, so several backslashes may come before the letter.
fn without_escapes(text: &[u8]) -> Vec<u8> {
    let mut plain = text.to_vec();
    let mut at = 0;
    while let Some(found) = text[at..].iter().position(|byte| *byte == b'\\') {
        let start = at + found;
        let letter = start + text[start..].iter().take_while(|byte| **byte == b'\\').count();
        let is_hex = |code: &[u8]| code.iter().all(u8::is_ascii_hexdigit);
        let (end, filler) = match text.get(letter) {
            Some(b'n' | b'r' | b't' | b'b' | b'f') => (letter + 1, ESCAPE),
            Some(b'u') if text.get(letter + 1..letter + 5).is_some_and(is_hex) => (letter + 5, ESCAPE),
            Some(b'"') => (letter + 1, b'"'),
            _ => (letter, b'\\'),
        };
        plain[start..end].fill(filler);
        at = end;
    }
    plain
}

/// The text with its secrets filled, and how many there are.
pub fn masked(redactor: &Redactor, text: Bytes) -> (Bytes, usize) {
    let secrets = secrets(redactor, &text);
    if secrets.is_empty() {
        return (text, 0);
    }
    let mut filled = text.to_vec();
    for secret in &secrets {
        filled[secret.clone()].fill(FILL);
    }
    (filled.into(), secrets.len())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str, n: usize) {
        let redactor = Redactor::new(["known-secret".to_owned()]);
        let json = json!({ "text": text }).to_string();
        let (masked, found) = masked(&redactor, json.clone().into());
        assert_eq!(masked.len(), json.len());
        let value: Value = serde_json::from_slice(&masked).unwrap();
        assert_eq!((value["text"].as_str().unwrap(), found), (expected, n));
    }

    #[test]
    fn secrets_are_filled_and_json_stays_json() {
        let key = "sk-aaaaaaaaaaaaaaaaaaaaaaaa";
        check("nothing here", "nothing here", 0);
        check(&format!("key {key}."), &format!("key {}.", "*".repeat(key.len())), 1);
        check(&format!("\n{key}\u{1}{key}"), &format!("\n{0}\u{1}{0}", "*".repeat(key.len())), 2);
        check("\nknown-secret", "\n************", 1);
        check("token=\"abc12345678\"", "token=\"***********\"", 1);
        check("C:\\new\\users", "C:\\new\\users", 0);
        let nested = json!({ "command": format!("\n{key}\u{1}") }).to_string();
        check(&nested, &nested.replace(key, &"*".repeat(key.len())), 1);
        let pem = "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----";
        check(&format!("{pem}."), &format!("{}.", "*".repeat(pem.len() + 2)), 1);
    }

    #[test]
    fn bytes_that_are_no_text_stay_and_hide_nothing() {
        let key = b"sk-aaaaaaaaaaaaaaaaaaaaaaaa";
        let text = [b"\xff ".as_slice(), key, b" \xff"].concat();
        let (masked, n) = masked(&Redactor::default(), text.into());
        assert_eq!((&masked[..], n), ([b"\xff ".as_slice(), &b"*".repeat(key.len()), b" \xff"].concat().as_slice(), 1));
    }
}
