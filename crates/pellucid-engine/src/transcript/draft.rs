//! Messages that are still in fragments.

use std::sync::Arc;

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;

use crate::assemble::LayoutMessage;
use crate::encode::Encoded;
use crate::encode::Encoder;
use crate::fragment::Fragment;
use crate::fragment::concat;

/// A message that is still in fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The slot or part it belongs to.
    pub part: Arc<str>,
    /// The role of the message.
    pub role: &'static str,
    /// The parts of the message.
    pub parts: Vec<DraftPart>,
}

/// A part of a message that is still in fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftPart {
    /// A text in fragments.
    Text(Vec<Fragment>),
    /// The address of an image.
    Image(Fragment),
}

impl From<LayoutMessage> for Draft {
    fn from(message: LayoutMessage) -> Self {
        Self::text(message.slot, message.role, message.fragments)
    }
}

impl Draft {
    /// A message of one text.
    pub fn text(part: impl Into<Arc<str>>, role: &'static str, fragments: Vec<Fragment>) -> Self {
        Self { part: part.into(), role, parts: vec![DraftPart::Text(fragments)] }
    }

    /// The item that it will be.
    pub fn item(&self) -> Item {
        let part = |part: &DraftPart| match part {
            DraftPart::Text(fragments) if self.is_models() => ContentPart::OutputText { text: concat(fragments) },
            DraftPart::Text(fragments) => ContentPart::InputText { text: concat(fragments) },
            DraftPart::Image(url) => ContentPart::InputImage { image_url: url.text.clone() },
        };
        Item::message(self.role, self.parts.iter().map(part).collect())
    }

    /// Whether the message has the model's role.
    fn is_models(&self) -> bool {
        self.role == "assistant"
    }

    pub(crate) fn encode(&self) -> Encoded {
        let mut encoder = Encoder::new(&self.part);
        encoder.wire("{\"type\":\"message\",\"role\":\"");
        encoder.wire(self.role);
        encoder.wire("\",\"content\":[");
        for (n, part) in self.parts.iter().enumerate() {
            if n > 0 {
                encoder.wire(",");
            }
            match part {
                DraftPart::Text(fragments) => {
                    let kind = if self.is_models() { "output_text" } else { "input_text" };
                    encoder.wire("{\"type\":\"");
                    encoder.wire(kind);
                    encoder.wire("\",\"text\":");
                    encoder.string(fragments);
                }
                DraftPart::Image(url) => {
                    encoder.wire("{\"type\":\"input_image\",\"image_url\":");
                    encoder.string(std::slice::from_ref(url));
                }
            }
            encoder.wire("}");
        }
        encoder.wire("]}");
        encoder.finish()
    }
}
