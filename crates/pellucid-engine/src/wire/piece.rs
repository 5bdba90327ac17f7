//! An item as bytes: its parts can be found and copied without reading them.
//!
//! Texts stay in the escaped form in which they were recorded, so copying one copies its origins
//! too.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::encode::Encoder;
use crate::encode::Span;
use crate::fragment::Origin;
use crate::transcript::CallId;

/// The longest name of a tool that servers take.
const NAME_CHARS_MAX: usize = 64;

/// An item on its way to a wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The type: `message`, `function_call` ...
    pub kind: &'static str,
    /// The role, for messages.
    pub role: Option<Arc<str>>,
    /// The id that pairs calls and outputs.
    pub call_id: Option<CallId>,
    /// The bytes of the item in the Responses format.
    pub bytes: Vec<u8>,
    /// The origins of the bytes.
    pub spans: Arc<[Span]>,
}

/// The values of an item, borrowed from its bytes.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Values<'a> {
    #[serde(default, borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub summary: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub encrypted_content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub call_id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub name: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub arguments: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub action: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub output: Option<&'a RawValue>,
}

/// A part of a list of texts and images.
#[derive(Debug, Deserialize)]
pub(crate) struct Part<'a> {
    #[serde(default, borrow)]
    pub text: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub image_url: Option<&'a RawValue>,
}

/// The parts of a list; empty if the value is not a list.
pub(crate) fn parts(list: Option<&RawValue>) -> Vec<Part<'_>> {
    list.and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default()
}

/// Whether a JSON string holds nothing but blanks.
pub(crate) fn is_blank(string: &RawValue) -> bool {
    // Most texts begin with a letter and need not be read.
    let first = string.get().as_bytes().get(1);
    matches!(first, None | Some(b'"' | b'\\' | b' '))
        && serde_json::from_str::<String>(string.get()).is_ok_and(|text| text.trim().is_empty())
}

impl Piece {
    /// Parses the values of the item.
    pub fn values(&self) -> Values<'_> {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    pub fn is_output(&self) -> bool {
        matches!(self.kind, "function_call_output" | "custom_tool_call_output")
    }

    pub fn is_call(&self) -> bool {
        self.call_id.is_some() && !self.is_output()
    }

    pub fn is_answer(&self) -> bool {
        self.role.as_deref() == Some("assistant")
    }

    pub fn is_thought(&self) -> bool {
        self.kind == "reasoning"
    }

    /// The slot or part it belongs to.
    pub fn part(&self) -> Arc<str> {
        self.spans.first().map_or_else(|| self.kind.into(), |span| span.part.clone())
    }

    /// An encoder for what belongs to it.
    pub fn encoder(&self) -> Encoder {
        Encoder::new(&self.part())
    }

    /// The origin of most of the item's bytes.
    pub fn author(&self) -> Origin {
        let most = self.spans.iter().max_by_key(|span| span.len);
        most.map_or(Origin::Wire, |span| span.origin.clone())
    }

    /// Copies a value unchanged, quotes included.
    pub fn copy(&self, encoder: &mut Encoder, value: &RawValue) {
        encoder.copy(&self.bytes, &self.spans, self.place(value));
    }

    /// Copies the inside of a JSON string from this byte on.
    pub fn copy_text_from(&self, encoder: &mut Encoder, string: &RawValue, skipped: usize) {
        let place = self.place(string);
        encoder.copy(&self.bytes, &self.spans, place.start + 1 + skipped..place.end - 1);
    }

    /// Copies the inside of a JSON string.
    pub fn copy_text(&self, encoder: &mut Encoder, string: &RawValue) {
        self.copy_text_from(encoder, string, 0);
    }

    /// Writes a JSON value as a text that holds it: escaped once more, without quotes.
    pub fn copy_escaped(&self, encoder: &mut Encoder, value: &RawValue) {
        encoder.escaped(value.get(), &self.author());
    }

    /// Writes the name of a tool as a JSON string. Models call tools that never were, by names that
    /// servers refuse to read back; their odd characters become `_`.
    pub fn copy_name(&self, encoder: &mut Encoder, name: Option<&RawValue>) {
        match name {
            Some(name) if is_plain(inside(name)) => self.copy(encoder, name),
            Some(name) => encoder.value(&plain(inside(name)), &self.author()),
            None => encoder.value(&self.kind, &self.author()),
        }
    }

    fn place(&self, value: &RawValue) -> Range<usize> {
        let start = value.get().as_ptr().addr() - self.bytes.as_ptr().addr();
        start..start + value.get().len()
    }
}

/// The inside of a JSON string, with its escapes.
pub(crate) fn inside(string: &RawValue) -> &str {
    string.get().trim_matches('"')
}

/// The text of a JSON string.
pub(crate) fn text(string: &RawValue) -> Cow<'_, str> {
    serde_json::from_str::<String>(string.get()).map_or_else(|_| Cow::Borrowed(""), Cow::Owned)
}

/// Whether a word is one that servers take for the name of a tool or for an id.
pub(crate) fn is_plain(word: &str) -> bool {
    (1..=NAME_CHARS_MAX).contains(&word.len()) && word.bytes().all(is_plain_byte)
}

/// The nearest such word.
pub(crate) fn plain(word: &str) -> String {
    let word: String = word.chars().map(|c| if c.is_ascii() && is_plain_byte(c as u8) { c } else { '_' }).collect();
    match word.char_indices().nth(NAME_CHARS_MAX) {
        _ if word.is_empty() => "_".to_owned(),
        Some((end, _)) => word[..end].to_owned(),
        None => word,
    }
}

fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_become_plain_ones() {
        for (word, expected) in [
            ("exec_command", "exec_command"),
            ("container.exec", "container_exec"),
            ("", "_"),
            ("é日", "__"),
            (&"x".repeat(70), &"x".repeat(64)),
        ] {
            assert_eq!(plain(word), expected);
            assert_eq!(is_plain(word), word == expected);
        }
    }

    #[test]
    fn a_text_of_blanks_is_blank() {
        let is_blank = |json: &str| is_blank(&RawValue::from_string(json.to_owned()).unwrap());
        assert!(is_blank(r#""""#) && is_blank(r#"" \n\t""#));
        assert!(!is_blank(r#""a""#) && !is_blank(r#""\\n""#) && !is_blank(r#"" .""#));
    }
}
