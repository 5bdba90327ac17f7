//! The instructions of the way of working together, where it has any.

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::fragment::Fragment;
use crate::fragment::concat;
use crate::presets;

pub(super) const SOURCE: Source = Source { name: "collaboration", kind: SourceKind::Text, templates: &[], give };

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    let mode = &ask.facts.settings.collaboration_mode;
    match mode.settings.developer_instructions.as_deref() {
        Some(text) if !text.is_empty() => {
            // Texts of the pack keep their origin, even when a client sends them back.
            let preset = presets::instructions(ask.pack, mode.mode);
            let is_preset = concat(&preset) == text;
            SourceOutput::text(if is_preset { preset } else { vec![Fragment::provided("collaboration mode", text)] })
        }
        _ => SourceOutput::nothing(),
    }
}
