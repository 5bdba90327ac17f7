//! The input of a turn.

use std::path::PathBuf;

use pellucid_protocol::input as inner;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// One part of the input of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum UserInput {
    /// Text that the user typed.
    Text {
        text: String,
        /// Spans of the text that represent something else, such as a mention.
        #[serde(default)]
        text_elements: Vec<TextElement>,
    },
    /// An image by its address.
    Image {
        /// A URL or a `data:` URL.
        url: String,
    },
    /// An image on disk.
    LocalImage { path: PathBuf },
    /// A skill that the user chose.
    Skill {
        name: String,
        /// The path of the skill's `SKILL.md`.
        path: PathBuf,
    },
    /// An app or another thing that the user mentioned.
    Mention {
        name: String,
        /// The address of what is mentioned.
        path: String,
    },
}

/// A span of a text that represents something else, such as a mention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TextElement {
    /// The span's bytes in the text.
    pub byte_range: ByteRange,
    /// What the user interface showed in place of the span.
    pub placeholder: Option<String>,
}

/// A half-open range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ByteRange {
    /// The first byte of the range.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl From<inner::UserInput> for UserInput {
    fn from(input: inner::UserInput) -> Self {
        match input {
            inner::UserInput::Text { text, text_elements } => {
                Self::Text { text, text_elements: text_elements.into_iter().map(Into::into).collect() }
            }
            inner::UserInput::Image { image_url } => Self::Image { url: image_url },
            inner::UserInput::LocalImage { path } => Self::LocalImage { path },
            inner::UserInput::Skill { name, path } => Self::Skill { name, path },
            inner::UserInput::Mention { name, path } => Self::Mention { name, path },
        }
    }
}

impl From<UserInput> for inner::UserInput {
    fn from(input: UserInput) -> Self {
        match input {
            UserInput::Text { text, text_elements } => {
                Self::Text { text, text_elements: text_elements.into_iter().map(Into::into).collect() }
            }
            UserInput::Image { url } => Self::Image { image_url: url },
            UserInput::LocalImage { path } => Self::LocalImage { path },
            UserInput::Skill { name, path } => Self::Skill { name, path },
            UserInput::Mention { name, path } => Self::Mention { name, path },
        }
    }
}

impl From<inner::TextElement> for TextElement {
    fn from(element: inner::TextElement) -> Self {
        let inner::ByteRange { start, end } = element.byte_range;
        Self { byte_range: ByteRange { start, end }, placeholder: element.placeholder }
    }
}

impl From<TextElement> for inner::TextElement {
    fn from(element: TextElement) -> Self {
        let ByteRange { start, end } = element.byte_range;
        Self { byte_range: inner::ByteRange { start, end }, placeholder: element.placeholder }
    }
}
