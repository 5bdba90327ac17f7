//! A text of the pack that the layout names: a slot with `file`. A template is rendered with the facts.

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::computed;
use crate::computed::Looking;

pub(super) const SOURCE: Source = Source { name: "pack_file", kind: SourceKind::Text, templates: &[], give };

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    match ask.file {
        None => SourceOutput::nothing(),
        Some(file) if file.ends_with(computed::EXTENSION) => {
            let looking = Looking { pack: ask.pack, facts: ask.facts };
            let (fragments, omissions) = computed::rendered(file, looking, ask.slot);
            SourceOutput { fragments, omissions, messages: Vec::new() }
        }
        Some(file) => SourceOutput::text(ask.pack.template(file).text()),
    }
}
