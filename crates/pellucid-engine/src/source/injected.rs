//! Injected content of sources and callers: sections of the system prompt, the same without the skills that a layout
//! lists elsewhere, and messages before the history.

use super::GivenMessage;
use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::fragment::Omission;
use crate::fragment::Why;
use crate::injection;
use crate::injection::Collected;
use crate::injection::Injected;
use crate::injection::ItemOutcome;
use crate::injection::SectionSkill;
use crate::injection::SystemParts;

pub(super) const SECTIONS: Source =
    Source { name: "injected_sections", kind: SourceKind::Text, templates: &[], give: sections };

pub(super) const ITEMS: Source = Source { name: "injected_items", kind: SourceKind::Text, templates: &[], give: items };

pub(super) const PREAMBLE: Source =
    Source { name: "injected_preamble", kind: SourceKind::Messages, templates: &[], give: preamble };

fn items(ask: &SourceInput<'_>) -> SourceOutput {
    given(ask, &collected(ask), None)
}

fn sections(ask: &SourceInput<'_>) -> SourceOutput {
    let offered = ask.facts.world.skills.all().iter().filter(|skill| skill.is_enabled() && skill.is_implicit());
    let skills: Vec<SectionSkill> = offered
        .map(|skill| SectionSkill {
            name: skill.name.clone(),
            description: skill.description.clone(),
            allowed_tools: Vec::new(),
            location: Some(skill.path.clone()),
        })
        .collect();
    given(ask, &collected(ask), (!skills.is_empty()).then_some(skills.as_slice()))
}

/// The sections of items and memories, and of skills if they are listed here.
fn given(ask: &SourceInput<'_>, collected: &Collected, skills: Option<&[SectionSkill]>) -> SourceOutput {
    let memory = &ask.facts.system.injection.memory;
    let parts = SystemParts { memory, items: &collected.items, skills, ..SystemParts::default() };
    let fragments = injection::system_prompt(parts, ask.facts.system.prompt_mode);
    SourceOutput {
        fragments: (!fragments.is_empty()).then_some(fragments),
        omissions: omissions(ask, collected),
        ..SourceOutput::default()
    }
}

fn preamble(ask: &SourceInput<'_>) -> SourceOutput {
    let collected = collected(ask);
    let messages = injection::preamble(&collected.items, ask.facts.system.prompt_mode);
    let message =
        |message: injection::PreambleMessage| GivenMessage { role: message.role.as_str(), fragments: message.content };
    SourceOutput { messages: messages.into_iter().map(message).collect(), ..SourceOutput::default() }
}

fn collected(ask: &SourceInput<'_>) -> Collected {
    ask.facts.system.injection.collect(ask.facts.system.prompt_mode)
}

/// The omissions for items that are cut or missing.
fn omissions(ask: &SourceInput<'_>, collected: &Collected) -> Vec<Omission> {
    let omission = |injected: &Injected| {
        let reason = || injected.reason.clone().unwrap_or_default();
        let why = match injected.outcome {
            ItemOutcome::Injected if injected.truncated => {
                Why::Cut { kept: injected.bytes_after as u64, of: injected.bytes_before as u64 }
            }
            ItemOutcome::SkippedBlank => Why::Blank,
            ItemOutcome::SkippedDisabled => Why::SwitchedOff,
            ItemOutcome::Error => Why::Unusable { error: reason() },
            ItemOutcome::Injected | ItemOutcome::SkippedMode | ItemOutcome::Missing => return None,
        };
        let what = injected.item_id.clone().unwrap_or_else(|| injected.source_type.to_owned());
        Some(Omission { slot: ask.slot.clone(), what, why })
    };
    collected.injected.iter().filter_map(omission).collect()
}
