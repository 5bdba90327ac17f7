//! Finds the texts of a JSON value, with their places.
//!
//! The value has been parsed before, so its notation is right; here only places are found.

use std::ops::Range;

/// A string of a JSON value that is not the name of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf<'a> {
    /// The bytes between the quotes.
    pub range: Range<usize>,
    /// The name of the member that the string belongs to, itself or through lists; empty outside of objects.
    pub key: &'a str,
}

/// The strings of a JSON value, in order.
pub fn leaves(text: &str) -> Vec<Leaf<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    // The name of the current member for every object and list around the place.
    let mut around: Vec<(bool, &str)> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' => around.push((true, "")),
            b'[' => around.push((false, around.last().map_or("", |(_, key)| key))),
            b'}' | b']' => drop(around.pop()),
            b'"' => {
                let end = string_end(bytes, at);
                let inside = at + 1..end;
                let behind = end
                    + 1
                    + bytes
                        .get(end + 1..)
                        .map_or(0, |rest| rest.iter().take_while(|it| it.is_ascii_whitespace()).count());
                match around.last_mut() {
                    Some((true, key)) if bytes.get(behind) == Some(&b':') => *key = &text[inside],
                    _ => found.push(Leaf { range: inside, key: around.last().map_or("", |(_, key)| key) }),
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The place of the quote that ends the string which begins here.
fn string_end(bytes: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The text of a string, with the places of its escapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unescaped {
    /// The text itself.
    pub text: String,
    /// Places of the text, and of the string as written, behind each escape.
    marks: Vec<(usize, usize)>,
}

impl Unescaped {
    /// Undoes the escapes of what is between quotes; absent if it is not a string.
    pub fn of(raw: &str) -> Option<Self> {
        let text: String = serde_json::from_str(&format!("\"{raw}\"")).ok()?;
        let mut marks = Vec::new();
        let bytes = raw.as_bytes();
        let (mut at, mut decoded) = (0, 0);
        while let Some(byte) = bytes.get(at) {
            if *byte != b'\\' {
                at += 1;
                decoded += 1;
                continue;
            }
            // An escape gives one character; a pair of `\u` escapes gives one of four bytes.
            let len = text[decoded..].chars().next().map_or(0, char::len_utf8);
            at += match bytes.get(at + 1) {
                Some(b'u') if len == 4 => 12,
                Some(b'u') => 6,
                _ => 2,
            };
            decoded += len;
            marks.push((decoded, at));
        }
        Some(Self { text, marks })
    }

    /// The place in the string as written of a place of the text.
    pub fn raw(&self, place: usize) -> usize {
        let before = self.marks.partition_point(|(decoded, _)| *decoded <= place);
        match before.checked_sub(1).and_then(|n| self.marks.get(n)) {
            Some((decoded, raw)) => raw + (place - decoded),
            None => place,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn strings_are_found_with_the_members_that_they_belong_to() {
        let text = r#"{"a": "x\"y", "b" : {"c":["1",{"d":"2"},"3"]}, "e":[], "f":7, "":"z"}"#;
        let found: Vec<(&str, &str)> = leaves(text).into_iter().map(|leaf| (leaf.key, &text[leaf.range])).collect();
        assert_eq!(found, [("a", "x\\\"y"), ("c", "1"), ("d", "2"), ("c", "3"), ("", "z")]);
        assert_eq!(leaves("[\"only\"]"), [Leaf { range: 2..6, key: "" }]);
        assert_eq!(leaves("\"torn").len(), 1);
    }

    proptest! {
        #[test]
        fn every_place_of_a_text_is_found_in_the_string(text in "[a\"\\\\\n\u{1}é日😀]{0,40}", as_ascii in any::<bool>()) {
            let written = serde_json::to_string(&text).unwrap();
            let raw = &written[1..written.len() - 1];
            let ascii: String = raw.chars().map(|it| {
                let mut units = [0; 2];
                if it.is_ascii() { it.to_string() } else { it.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect() }
            }).collect();
            let raw = if as_ascii { &ascii } else { raw };
            let unescaped = Unescaped::of(raw).unwrap();
            prop_assert_eq!(&unescaped.text, &text);
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            for pair in places.windows(2) {
                let piece = &raw[unescaped.raw(pair[0])..unescaped.raw(pair[1])];
                let read: String = serde_json::from_str(&format!("\"{piece}\"")).unwrap();
                prop_assert_eq!(&read, &text[pair[0]..pair[1]]);
            }
            prop_assert_eq!(unescaped.raw(text.len()), raw.len());
        }
    }
}
