//! A glance at the JSON of an item: the id of its call and the beginning of its texts.
//!
//! An index of a session has all of its items, and most of their bytes are in texts of which only the beginning is shown. So
//! nothing is built of the rest: strings are passed over.

use memchr::memchr2;

/// The keys of the texts of an item, in every API format.
const TEXT_KEYS: [&[u8]; 7] = [b"text", b"content", b"arguments", b"input", b"output", b"thinking", b"refusal"];

/// The keys of the id of a call, the first one first.
const CALL_KEYS: [&[u8]; 2] = [b"call_id", b"tool_call_id"];

/// How deep values may be nested. `serde_json` reads as many.
const DEPTH_MAX: usize = 127;

/// How many bytes of JSON a character takes at most: two escapes of half a character.
const CHAR_BYTES_MAX: usize = 12;

/// What is seen of an item at a glance.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// The id of the call.
    pub call: Option<String>,
    /// The first characters of its texts, one below the other; absent if it has none.
    pub preview: Option<String>,
}

impl Glance {
    /// Looks at an item; absent if the bytes are no JSON by themselves.
    pub fn of(json: &[u8], n_chars: usize) -> Option<Self> {
        let mut scan = Scan { rest: json, calls: [None, None], texts: Vec::new(), n_chars, n_found: 0 };
        scan.value(0, None)?;
        scan.space();
        if !scan.rest.is_empty() {
            return None;
        }
        let [first, second] = scan.calls;
        let preview = (!scan.texts.is_empty()).then(|| scan.texts.join("\n").chars().take(n_chars).collect());
        Some(Self { call: first.or(second), preview })
    }
}

struct Scan<'a> {
    rest: &'a [u8],
    calls: [Option<String>; 2],
    texts: Vec<String>,
    /// How many characters are wanted, and how many were found.
    n_chars: usize,
    n_found: usize,
}

impl<'a> Scan<'a> {
    /// Passes over a value, and notes what is wanted of it. `key` is its key in an object.
    fn value(&mut self, depth: usize, key: Option<&[u8]>) -> Option<()> {
        self.space();
        match self.rest.first()? {
            b'"' => {
                let inside = self.string()?;
                if key.is_some_and(|key| TEXT_KEYS.contains(&key)) {
                    self.text(inside)?;
                }
                if let Some(at) = CALL_KEYS.iter().position(|it| depth == 1 && key == Some(it)) {
                    self.calls[at] = Some(unescaped(inside)?);
                }
            }
            b'{' if depth < DEPTH_MAX => self.members(depth, b'}')?,
            b'[' if depth < DEPTH_MAX => self.members(depth, b']')?,
            b'{' | b'[' => return None,
            _ => {
                let is_in = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
                let n = self.rest.iter().take_while(|byte| is_in(byte)).count();
                let (word, rest) = self.rest.split_at(n);
                serde_json::from_slice::<serde::de::IgnoredAny>(word).ok()?;
                self.rest = rest;
            }
        }
        Some(())
    }

    fn members(&mut self, depth: usize, close: u8) -> Option<()> {
        self.rest = &self.rest[1..];
        self.space();
        if self.take(close).is_some() {
            return Some(());
        }
        loop {
            let key = if close == b'}' { Some(self.key()?) } else { None };
            self.value(depth + 1, key)?;
            self.space();
            if self.take(close).is_some() {
                return Some(());
            }
            self.take(b',')?;
        }
    }

    fn key(&mut self) -> Option<&'a [u8]> {
        self.space();
        let key = self.string()?;
        self.space();
        self.take(b':')?;
        Some(key)
    }

    /// The inside of a string, as it is written.
    fn string(&mut self) -> Option<&'a [u8]> {
        let inside = self.rest.strip_prefix(b"\"")?;
        let mut at = 0;
        loop {
            at += memchr2(b'"', b'\\', inside.get(at..)?)?;
            if inside[at] == b'"' {
                self.rest = &inside[at + 1..];
                return Some(&inside[..at]);
            }
            at += 2;
        }
    }

    fn text(&mut self, inside: &[u8]) -> Option<()> {
        // A line end comes between two texts, and is the last character that counts if the texts before lack just one.
        if self.n_found <= self.n_chars {
            let text = beginning(inside, self.n_chars)?;
            self.n_found += text.chars().count() + 1;
            self.texts.push(text);
        }
        Some(())
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.rest = self.rest.strip_prefix(&[byte])?;
        Some(())
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }
}

/// The first characters of a string, or some more.
fn beginning(inside: &[u8], n_chars: usize) -> Option<String> {
    let most = n_chars * CHAR_BYTES_MAX;
    if inside.len() <= most {
        return unescaped(inside);
    }
    let mut at = 0;
    while at < most {
        at += match inside.get(at)? {
            b'\\' if inside.get(at + 1) == Some(&b'u') => 6,
            b'\\' => 2,
            _ => 1,
        };
    }
    // The other bytes of a character.
    while inside.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
        at += 1;
    }
    // Half of a character is no text, and then the whole is read.
    inside.get(..at).and_then(unescaped).or_else(|| unescaped(inside))
}

fn unescaped(inside: &[u8]) -> Option<String> {
    serde_json::from_slice(&[b"\"", inside, b"\""].concat()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;
    use serde_json::json;

    use super::*;

    const N_CHARS: usize = 20;

    /// What a parsed item says.
    fn parsed(item: &Value) -> Glance {
        fn collect(value: &Value, into: &mut Vec<String>) {
            match value {
                Value::Array(list) => list.iter().for_each(|value| collect(value, into)),
                Value::Object(table) => {
                    for (key, value) in table {
                        match value {
                            Value::String(text) if TEXT_KEYS.contains(&key.as_bytes()) => into.push(text.clone()),
                            value => collect(value, into),
                        }
                    }
                }
                Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        let mut found = Vec::new();
        collect(item, &mut found);
        let call = ["call_id", "tool_call_id"].into_iter().find_map(|key| item[key].as_str());
        Glance {
            call: call.map(str::to_owned),
            preview: (!found.is_empty()).then(|| found.join("\n").chars().take(N_CHARS).collect()),
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let text = prop_oneof!["[a-z\n\"\\\\]{0,9}", "\\PC{0,40}", "[😀é]{0,60}"];
        let leaf = prop_oneof![text.prop_map(Value::from), any::<i32>().prop_map(Value::from), Just(Value::Null)];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let key = prop::sample::select(vec!["text", "content", "output", "call_id", "tool_call_id", "x\"y"]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..4)
                    .prop_map(|table| table.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_glance_sees_what_a_parser_sees(item in any_value()) {
            for json in [item.to_string(), serde_json::to_string_pretty(&item).unwrap()] {
                prop_assert_eq!(Glance::of(json.as_bytes(), N_CHARS), Some(parsed(&item)));
            }
        }

        #[test]
        fn any_bytes_are_looked_at(bytes in any::<Vec<u8>>()) {
            Glance::of(&bytes, N_CHARS);
        }
    }

    #[test]
    fn the_line_end_before_the_next_text_is_the_last_character() {
        for n_chars in [N_CHARS - 2, N_CHARS - 1, N_CHARS] {
            let item = json!([{ "text": "é".repeat(n_chars) }, { "text": "" }, { "text": "b" }]);
            assert_eq!(Glance::of(item.to_string().as_bytes(), N_CHARS), Some(parsed(&item)), "{n_chars}");
        }
    }

    #[test]
    fn what_is_no_json_by_itself_is_nothing() {
        for json in ["", "{", "{\"text\":\"a\"", "[1,]", "{\"a\"}", "\"a\\", "{} {}", "nul", "[\"text\":1]"] {
            assert_eq!(Glance::of(json.as_bytes(), N_CHARS), None, "{json}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(Glance::of(deep.as_bytes(), N_CHARS), None);
        let halves = json!({ "text": "😀".repeat(100) }).to_string().replace('😀', "\\ud83d\\ude00");
        let expected = Some("😀".repeat(N_CHARS));
        assert_eq!(Glance::of(halves.as_bytes(), N_CHARS).unwrap().preview, expected);
    }
}
