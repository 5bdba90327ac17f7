//! The input of a turn.

use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

/// One part of a user's input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UserInput {
    /// Text that the user typed.
    Text {
        /// The text as it was typed.
        text: String,
        /// Spans of the text that represent something else, such as a mention.
        #[serde(default)]
        text_elements: Vec<TextElement>,
    },
    /// An image by its address.
    Image {
        /// A URL or a `data:` URL.
        image_url: String,
    },
    /// An image on disk.
    LocalImage {
        /// The path of the image.
        path: PathBuf,
    },
    /// A skill that the user chose.
    Skill {
        /// The name of the skill.
        name: String,
        /// The path of the skill's `SKILL.md`.
        path: PathBuf,
    },
    /// An app or another thing that the user mentioned.
    Mention {
        /// The name as the user sees it.
        name: String,
        /// The address of what is mentioned.
        path: String,
    },
}

impl UserInput {
    /// An input of text without elements.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), text_elements: Vec::new() }
    }
}

/// A span of a text that represents something else, such as a mention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextElement {
    /// The span's bytes in the text.
    pub byte_range: ByteRange,
    /// What the user interface showed in place of the span.
    #[serde(default)]
    pub placeholder: Option<String>,
}

/// A half-open range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRange {
    /// The first byte of the range.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}
