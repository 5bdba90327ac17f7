//! The tokens of JSON text, so that texts can be replaced and everything else keeps its bytes.
//!
//! The text may be the beginning or the end of JSON, as the bytes around the items of a request are.

use std::ops::Range;

/// A piece of JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// The name of a member, without its quotes.
    Key,
    /// A text, without its quotes.
    Text,
    /// A number as it is written.
    Number,
}

/// A token, its bytes, and the member that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found<'t> {
    pub token: Token,
    /// The bytes of the token.
    pub at: Range<usize>,
    /// The names of the members around the token, the innermost last.
    pub path: Vec<&'t str>,
}

/// Visits the keys, texts and numbers of JSON text, in order.
pub(super) fn visit<'t>(json: &'t str, mut visit: impl FnMut(Found<'t>)) {
    let bytes = json.as_bytes();
    // For every open bracket, how many names the path had before it.
    let mut open: Vec<usize> = Vec::new();
    let mut path: Vec<&'t str> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let start = at + 1;
                let end = string_end(bytes, start);
                let rest = json.get(end + 1..).unwrap_or_default();
                let is_key = rest.trim_start().starts_with(':');
                let token = if is_key { Token::Key } else { Token::Text };
                if is_key {
                    path.truncate(open.last().copied().unwrap_or(0));
                }
                visit(Found { token, at: start..end, path: path.clone() });
                if is_key {
                    path.push(&json[start..end]);
                }
                at = end + 1;
                continue;
            }
            b'{' | b'[' => open.push(path.len()),
            b'}' | b']' => {
                path.truncate(open.pop().unwrap_or(0));
            }
            b'-' | b'0'..=b'9' => {
                let is_number = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let end = at + bytes[at..].iter().take_while(|byte| is_number(byte)).count();
                visit(Found { token: Token::Number, at: at..end, path: path.clone() });
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

/// The place of the quote that ends a text, or the end of all.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The characters of a text in JSON notation, each with the bytes that it is written as.
pub(super) fn characters(inner: &str) -> Vec<(char, Range<usize>)> {
    let mut found = Vec::with_capacity(inner.len());
    let mut at = 0;
    while let Some(c) = inner[at..].chars().next() {
        let (c, len) = if c == '\\' { escape(&inner[at..]) } else { (c, c.len_utf8()) };
        found.push((c, at..at + len));
        at += len;
    }
    found
}

/// The character of an escape, and how many bytes the escape has.
fn escape(text: &str) -> (char, usize) {
    let unit = |at: usize| text.get(at..at + 6)?.strip_prefix("\\u").and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let plain = text[1..].chars().next();
    let c = match plain {
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('u') => {
            let pair = unit(0)
                .zip(unit(6))
                .filter(|(high, low)| (0xd800..0xdc00).contains(high) && (0xdc00..0xe000).contains(low));
            if let Some((high, low)) = pair {
                let c = char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00));
                return (c.unwrap_or(char::REPLACEMENT_CHARACTER), 12);
            }
            return match unit(0) {
                Some(unit) => (char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), 6),
                None => ('\\', 1),
            };
        }
        Some(c) => return (c, 1 + c.len_utf8()),
        None => return ('\\', 1),
    };
    (c, 2)
}

/// Writes another text in the notation of the one that it replaces: character by character, so both are equally long.
pub(super) fn written_as(inner: &str, text: &str) -> String {
    let mut written = String::with_capacity(inner.len());
    for ((before, at), now) in characters(inner).into_iter().zip(text.chars()) {
        let raw = &inner[at];
        match raw.strip_prefix('\\') {
            _ if before == now => written.push_str(raw),
            None => written.push(now),
            Some(rest) if rest.starts_with('u') => {
                let mut units = [0; 2];
                written.extend(now.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
            }
            Some(_) => written.push_str(raw),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_tokens(json: &str, expected: &Expect) {
        let mut text = String::new();
        visit(json, |found| {
            let path = if found.token == Token::Key { String::new() } else { format!(" at {}", found.path.join("/")) };
            text += &format!("{:?} {}{path}\n", found.token, &json[found.at]);
        });
        expected.assert_eq(&text);
    }

    #[test]
    fn keys_texts_and_numbers_have_their_places() {
        check_tokens(
            r#"{"a": "x", "b": [1, {"c" : "y\"}"}, -2.5e3], "d": {"e": null}, "f": "z"}"#,
            &expect![[r#"
                Key a
                Text x at a
                Key b
                Number 1 at b
                Key c
                Text y\"} at b/c
                Number -2.5e3 at b
                Key d
                Key e
                Key f
                Text z at f
            "#]],
        );
        check_tokens(
            r#"],"tools":[{"name":"x"}],"n":1}"#,
            &expect![[r#"
            Key tools
            Key name
            Text x at tools/name
            Key n
            Number 1 at n
        "#]],
        );
        check_tokens(
            r#"{"a":"torn \"#,
            &expect![[r#"
            Key a
            Text torn \ at a
        "#]],
        );
    }

    #[test]
    fn a_text_is_written_as_the_one_before_was() {
        assert_eq!(written_as(r#"a\n\u00e9\"\/\ud83d\ude00"#, "b\n\u{e8}\"x\u{20001}"), r#"b\n\u00e8\"\/\ud840\udc01"#);
    }

    proptest! {
        #[test]
        fn characters_are_those_that_a_parser_reads(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            let inner = &json[1..json.len() - 1];
            let read: String = characters(inner).into_iter().map(|(c, _)| c).collect();
            prop_assert_eq!(&read, &text);
            prop_assert_eq!(written_as(inner, &text), inner);
        }

        #[test]
        fn any_text_is_gone_through_whole(text in any::<String>()) {
            let mut end = 0;
            visit(&text, |found| {
                assert!(found.at.start >= end && found.at.end <= text.len(), "{text:?}");
                end = found.at.end;
                let _ = characters(&text[found.at]);
            });
        }
    }
}
