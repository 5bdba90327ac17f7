//! What a person gives to a turn.

use std::path::PathBuf;

use pellucid_protocol::input as inner;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// One part of what a person gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
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
        url: String,
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

/// A span of a text that stands for something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextElement {
    /// Which bytes of the text.
    pub byte_range: ByteRange,
    /// What the person saw in their place.
    pub placeholder: Option<String>,
}

/// A half-open range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ByteRange {
    /// First byte.
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
