//! Tokens estimated from characters: those of ASCII are cheaper than others.

use serde_json::Value;

use crate::injection::scalar;

/// The tokens of a message besides its text.
const PER_MESSAGE: i64 = 4;

const IMAGE: i64 = 1_600;
const DOCUMENT: i64 = 2_000;
const AUDIO: i64 = 1_000;

/// An estimate by characters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CharacterEstimate {
    chars_per_token: f64,
    other_chars_per_token: f64,
}

impl Default for CharacterEstimate {
    fn default() -> Self {
        Self { chars_per_token: 4.0, other_chars_per_token: 1.0 }
    }
}

/// A ratio that is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} must be positive")]
pub struct NotPositive(&'static str);

impl CharacterEstimate {
    /// With other ratios: characters of ASCII, and others, for one token.
    ///
    /// # Errors
    /// If one is not above nothing.
    pub fn new(chars_per_token: f64, other_chars_per_token: f64) -> Result<Self, NotPositive> {
        let is_positive = |ratio: f64| ratio > 0.0;
        if !is_positive(chars_per_token) {
            return Err(NotPositive("chars_per_token"));
        }
        if !is_positive(other_chars_per_token) {
            return Err(NotPositive("non_ascii_chars_per_token"));
        }
        Ok(Self { chars_per_token, other_chars_per_token })
    }

    /// The tokens of a text.
    pub fn text(&self, text: &str) -> i64 {
        let n_ascii = text.bytes().filter(u8::is_ascii).count();
        let n_other = text.chars().count() - n_ascii;
        let tokens = |n: usize, ratio: f64| (n as f64 / ratio).ceil() as i64;
        tokens(n_ascii, self.chars_per_token) + tokens(n_other, self.other_chars_per_token)
    }

    /// The tokens of messages whose contents are these.
    pub fn messages<'a>(&self, contents: impl IntoIterator<Item = &'a Value>) -> i64 {
        contents.into_iter().map(|content| PER_MESSAGE + self.content(content)).sum()
    }

    /// The tokens of a message with this text.
    pub fn message(&self, text: &str) -> i64 {
        PER_MESSAGE + self.text(text)
    }

    /// The tokens of tools.
    pub fn tools(&self, tools: &[Value]) -> i64 {
        self.text(&tools.iter().map(Value::to_string).collect::<String>())
    }

    fn content(&self, content: &Value) -> i64 {
        match content {
            Value::Array(blocks) => blocks.iter().map(|block| self.block(block)).sum(),
            text => self.text(&scalar::text(text)),
        }
    }

    fn block(&self, block: &Value) -> i64 {
        let text = |name: &str| block.get(name).and_then(Value::as_str);
        match text("type") {
            Some("text") => self.text(text("text").unwrap_or_default()),
            Some("image") => IMAGE,
            Some("document") => match text("data").filter(|_| is_text(text("media_type"))) {
                Some(data) => self.text(data),
                None => DOCUMENT,
            },
            Some("audio") => text("transcript").map_or(AUDIO, |transcript| self.text(transcript)),
            _ => 0,
        }
    }
}

fn is_text(media_type: Option<&str>) -> bool {
    media_type.is_some_and(|it| it.starts_with("text/") || matches!(it, "application/json" | "application/xml"))
}
