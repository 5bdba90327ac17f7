//! The text that the program around the engine gives for the slot.

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::fragment::Omission;
use crate::fragment::Why;
use crate::host;

pub(super) const SOURCE: Source = Source { name: host::SOURCE, kind: SourceKind::Text, templates: &[], give };

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    let given = ask.facts.system.host.texts.get(&**ask.slot);
    given.cloned().unwrap_or_else(|| {
        let why = Why::Unusable { error: "no program gave a text for the slot".to_owned() };
        let omission = Omission { slot: ask.slot.clone(), what: host::SOURCE.to_owned(), why };
        SourceOutput { omissions: vec![omission], ..SourceOutput::default() }
    })
}
