//! Instructions that the configuration gives as they are. An empty text is still said.

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::fragment::Fragment;

pub(super) const SOURCE: Source =
    Source { name: "developer_instructions", kind: SourceKind::Text, templates: &[], give };

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    match &ask.facts.settings.developer_instructions {
        Some(given) => SourceOutput::text(vec![Fragment::provided(&given.place, given.text.as_str())]),
        None => SourceOutput::nothing(),
    }
}
