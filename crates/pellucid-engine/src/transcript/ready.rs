//! Items whose bytes are ready to be sent.
//!
//! A session file holds items in the form of requests, so most of a long history need not be parsed to resume it: it
//! is enough to check that the bytes are exactly those that we would write. The kinds that make up the bulk are
//! checked. Everything else, or anything odd, such as another order of keys, a key that we do not know or another way
//! of escaping, is left to the parser.

use std::sync::Arc;

use pellucid_protocol::seal::Seal;
use pellucid_protocol::settings::TruncationPolicy;

use super::CallId;
use crate::cut::output;

/// The facts about an item whose bytes can be used unchanged.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ready {
    pub kind: &'static str,
    pub call_id: Option<CallId>,
    pub tool: Option<Arc<str>>,
    pub is_exec_call: bool,
    pub is_sealed_reasoning: bool,
    pub is_signed_thought: bool,
    /// The bytes that it counts for.
    pub estimated_bytes: usize,
}

impl Ready {
    /// Looks whether an item is ready, and needs no cut.
    pub fn read(bytes: &[u8], policy: TruncationPolicy) -> Option<Self> {
        // Escapes were looked at, so what is text in JSON is text.
        let text = std::str::from_utf8(bytes).ok()?;
        let mut scan = Scan { rest: text };
        scan.literal("{\"type\":\"")?;
        let (kind, rest) = scan.rest.split_once('"')?;
        scan.rest = rest;
        let ready = match kind {
            "function_call" => scan.call("function_call")?,
            "function_call_output" => scan.output("function_call_output", policy)?,
            "custom_tool_call" => scan.custom_call()?,
            "custom_tool_call_output" => scan.output("custom_tool_call_output", policy)?,
            "reasoning" => scan.reasoning()?,
            _ => return None,
        };
        scan.literal("}")?;
        let estimated_bytes = ready.estimated_bytes.unwrap_or(bytes.len());
        scan.rest.is_empty().then_some(Self {
            kind: ready.kind,
            call_id: ready.call_id,
            tool: ready.tool,
            is_exec_call: ready.is_exec_call,
            is_sealed_reasoning: ready.is_sealed_reasoning,
            is_signed_thought: ready.is_signed_thought,
            estimated_bytes,
        })
    }
}

/// The result of a scan.
#[derive(Default)]
struct Found {
    kind: &'static str,
    call_id: Option<CallId>,
    tool: Option<Arc<str>>,
    is_exec_call: bool,
    is_sealed_reasoning: bool,
    is_signed_thought: bool,
    estimated_bytes: Option<usize>,
}

/// The unread bytes of an item.
struct Scan<'a> {
    rest: &'a str,
}

impl<'a> Scan<'a> {
    fn call(&mut self, kind: &'static str) -> Option<Found> {
        let name = self.member("name")?;
        self.member("arguments")?;
        let call_id = Self::id(self.member("call_id")?, false)?;
        let is_exec_call = matches!(name, "shell" | "container.exec" | "apply_patch");
        let tool = Some(unescaped(name)?);
        Some(Found { kind, call_id: Some(call_id), tool, is_exec_call, ..Found::default() })
    }

    fn custom_call(&mut self) -> Option<Found> {
        if self.rest.starts_with(",\"status\":\"") {
            self.member("status")?;
        }
        let call_id = Self::id(self.member("call_id")?, true)?;
        let name = self.member("name")?;
        self.member("input")?;
        let (kind, is_exec_call, tool) = ("custom_tool_call", name == "apply_patch", Some(unescaped(name)?));
        Some(Found { kind, call_id: Some(call_id), tool, is_exec_call, ..Found::default() })
    }

    fn output(&mut self, kind: &'static str, policy: TruncationPolicy) -> Option<Found> {
        let call_id = Self::id(self.member("call_id")?, kind == "custom_tool_call_output")?;
        let output = self.member("output")?;
        // A text is never longer than its escaped form.
        output::fits(output.len(), policy).then_some(Found { kind, call_id: Some(call_id), ..Found::default() })
    }

    fn reasoning(&mut self) -> Option<Found> {
        self.literal(",\"summary\":[")?;
        while !self.rest.starts_with(']') {
            self.literal("{\"type\":\"summary_text\"")?;
            self.member("text")?;
            self.literal("}")?;
            if !self.rest.starts_with(']') {
                self.literal(",")?;
            }
        }
        self.literal("],\"content\":null")?;
        let sealed = plain(self.member("encrypted_content")?)?;
        Some(Found {
            kind: "reasoning",
            is_sealed_reasoning: true,
            is_signed_thought: !matches!(Seal::read(sealed), Seal::Other(_)),
            estimated_bytes: Some(super::entry::sealed_bytes(sealed.len())),
            ..Found::default()
        })
    }

    /// Ids with escapes are too odd to be worth reading here.
    fn id(text: &str, is_custom: bool) -> Option<CallId> {
        Some(CallId { is_custom, id: Arc::from(plain(text)?) })
    }

    fn member(&mut self, key: &str) -> Option<&'a str> {
        self.literal(",\"")?;
        self.literal(key)?;
        self.literal("\":\"")?;
        self.string()
    }

    fn literal(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    /// The inside of a string, and the quote behind it, if it is escaped as we escape.
    fn string(&mut self) -> Option<&'a str> {
        let bytes = self.rest.as_bytes();
        let mut at = 0;
        loop {
            at += plain_len(&bytes[at..]);
            match *bytes.get(at)? {
                b'"' => {
                    let inside = &self.rest[..at];
                    self.rest = &self.rest[at + 1..];
                    return Some(inside);
                }
                b'\\' => at += escape_len(&bytes[at..])?,
                _control => return None,
            }
        }
    }
}

/// A text with its escapes undone.
fn unescaped(text: &str) -> Option<Arc<str>> {
    match plain(text) {
        Some(text) => Some(text.into()),
        None => serde_json::from_str::<String>(&format!("\"{text}\"")).ok().map(Into::into),
    }
}

/// A text that has no escape in it.
fn plain(text: &str) -> Option<&str> {
    (!text.contains('\\')).then_some(text)
}

/// The length of an escape that we would write too.
fn escape_len(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => {
            let is_ours = matches!(
                bytes.get(2..6)?,
                [b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f']
                    | [b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f']
            );
            is_ours.then_some(6)
        }
        _ => None,
    }
}

/// How many bytes come before the next quote, backslash or control character. Eight are looked at
/// in one go.
fn plain_len(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let mut at = 0;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let quote = has_zero(word ^ (ONES * u64::from(b'"')));
        let backslash = has_zero(word ^ (ONES * u64::from(b'\\')));
        let special = (control | quote | backslash) & HIGHS;
        if special != 0 {
            // Marks above the lowest may be wrong, the lowest is right.
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + rest.iter().take_while(|byte| **byte >= 0x20 && !matches!(byte, b'"' | b'\\')).count()
}

#[cfg(test)]
mod tests {
    use pellucid_protocol::item::Item;
    use pellucid_protocol::settings::TruncationMode;
    use proptest::prelude::*;

    use super::*;
    use crate::encode::to_json;

    const POLICY: TruncationPolicy = TruncationPolicy { mode: TruncationMode::Bytes, limit: 100 };

    #[test]
    fn what_we_would_not_write_is_left_to_the_parser() {
        for bytes in [
            r#"{"type":"function_call_output","call_id":"c","output":"é\u00e9"}"#,
            r#"{"type":"function_call_output","call_id":"c","output":"\u000a"}"#,
            r#"{"type":"function_call_output","call_id":"c","output":"\u001F"}"#,
            r#"{"type":"function_call_output","call_id":"c","output":"a\/b"}"#,
            r#"{"type":"function_call_output","call_id":"c\"","output":"x"}"#,
            r#"{"type":"function_call_output","output":"x","call_id":"c"}"#,
            r#"{"type":"function_call_output","call_id":"c","output":"x","id":"y"}"#,
            r#"{"type":"function_call_output","call_id":"c","output":"x"} "#,
            r#"{"type":"function_call_output","call_id":"c","output":["x"]}"#,
            r#"{"type":"function_call_output","call_id":"c","output":"x"#,
            "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"a\tb\"}",
            r#"{"type":"message","role":"user","content":[]}"#,
            r#"{"type":"reasoning","summary":[],"content":null,"encrypted_content":null}"#,
        ] {
            assert_eq!(Ready::read(bytes.as_bytes(), POLICY), None, "{bytes}");
        }
        let long = format!(r#"{{"type":"function_call_output","call_id":"c","output":"{}"}}"#, "x".repeat(121));
        assert_eq!(Ready::read(long.as_bytes(), POLICY), None, "it has to be cut");
    }

    proptest! {
        #[test]
        fn what_is_ready_is_what_we_would_write(text in "\\PC{0,20}[\\x00-\\x7f\"\\\\é日]{0,40}", kind in 0..6) {
            let item: Item = serde_json::from_value(match kind {
                0 => serde_json::json!({ "type": "function_call", "name": text, "arguments": text, "call_id": "c" }),
                1 => serde_json::json!({ "type": "function_call_output", "call_id": "c", "output": text }),
                2 => serde_json::json!({ "type": "custom_tool_call", "call_id": "c", "name": "n", "input": text }),
                3 => serde_json::json!({ "type": "custom_tool_call", "status": text, "call_id": "c", "name": text, "input": text }),
                4 => serde_json::json!({ "type": "custom_tool_call_output", "call_id": "c", "output": text }),
                _ => serde_json::json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": text }, { "type": "summary_text", "text": text }], "encrypted_content": "gAA" }),
            }).unwrap();
            let large = TruncationPolicy { mode: TruncationMode::Bytes, limit: 10_000 };
            let bytes = to_json(&item);
            let ready = Ready::read(&bytes, large).expect("our own bytes are ready");
            let entry = super::super::entry::Entry::new(&item, crate::encode::Encoded { bytes, spans: Vec::new() });
            prop_assert_eq!(ready.kind, entry.kind);
            prop_assert_eq!(ready.call_id, entry.call_id);
            prop_assert_eq!(ready.is_exec_call, entry.is_exec_call);
            prop_assert_eq!(ready.is_sealed_reasoning, entry.is_sealed_reasoning);
            prop_assert_eq!(ready.is_signed_thought, entry.is_signed_thought);
            prop_assert_eq!(crate::tokens::tokens_of_bytes(ready.estimated_bytes), entry.tokens);
        }

        #[test]
        fn eight_at_a_time_finds_what_one_at_a_time_finds(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let slow = bytes.iter().take_while(|byte| **byte >= 0x20 && !matches!(byte, b'"' | b'\\')).count();
            prop_assert_eq!(plain_len(&bytes), slow);
        }
    }
}
