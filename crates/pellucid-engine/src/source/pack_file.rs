//! A text of the pack that the layout names: a slot with `file`.

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;

pub(super) const SOURCE: Source = Source { name: "pack_file", kind: SourceKind::Text, templates: &[], give };

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    ask.file.map_or_else(SourceOutput::nothing, |file| SourceOutput::text(ask.pack.template(file).text()))
}
