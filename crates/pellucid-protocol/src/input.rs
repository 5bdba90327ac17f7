//! What a person gives to a turn.

use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

/// One part of a user's input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UserInput {
    /// Typed text.
    Text {
        /// The text.
        text: String,
        /// Spans of it that stand for something else.
        #[serde(default)]
        text_elements: Vec<TextElement>,
    },
    /// A picture by address.
    Image {
        /// A URL or a `data:` URL.
        image_url: String,
    },
    /// A picture on disk.
    LocalImage {
        /// Where it lies.
        path: PathBuf,
    },
    /// A skill chosen by hand.
    Skill {
        /// Its name.
        name: String,
        /// Its `SKILL.md`.
        path: PathBuf,
    },
    /// Something else chosen by hand.
    Mention {
        /// Its name.
        name: String,
        /// What it points to.
        path: String,
    },
}

impl UserInput {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), text_elements: Vec::new() }
    }
}

/// A span of a text input that stands for something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextElement {
    /// Which bytes of the text.
    pub byte_range: ByteRange,
    /// What the person saw in their place.
    #[serde(default)]
    pub placeholder: Option<String>,
}

/// A half-open range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRange {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}
