//! Injected content of sources and callers: sections of the system prompt, and messages before the history.

use super::Ask;
use super::Given;
use super::GivenMessage;
use super::Kind;
use super::Source;
use crate::fragment::Omission;
use crate::fragment::Why;
use crate::injection;
use crate::injection::Collected;
use crate::injection::Injected;
use crate::injection::Outcome;
use crate::injection::SectionSkill;
use crate::injection::SystemParts;

pub(super) const SECTIONS: Source =
    Source { name: "injected_sections", kind: Kind::Text, templates: &[], give: sections };

pub(super) const PREAMBLE: Source =
    Source { name: "injected_preamble", kind: Kind::Messages, templates: &[], give: preamble };

fn sections(ask: &Ask<'_>) -> Given {
    let collected = collected(ask);
    let offered = ask.facts.world.skills.all().iter().filter(|skill| skill.is_enabled() && skill.is_implicit());
    let skills: Vec<SectionSkill> = offered
        .map(|skill| SectionSkill {
            name: skill.name.clone(),
            description: skill.description.clone(),
            allowed_tools: Vec::new(),
            location: Some(skill.path.clone()),
        })
        .collect();
    let parts = SystemParts {
        memory: &ask.facts.system.injection.memory,
        items: &collected.items,
        skills: (!skills.is_empty()).then_some(skills.as_slice()),
        ..SystemParts::default()
    };
    let fragments = injection::system_prompt(parts, ask.facts.system.prompt_mode);
    Given {
        fragments: (!fragments.is_empty()).then_some(fragments),
        omissions: omissions(ask, &collected),
        ..Given::default()
    }
}

fn preamble(ask: &Ask<'_>) -> Given {
    let collected = collected(ask);
    let messages = injection::preamble(&collected.items, ask.facts.system.prompt_mode);
    let message =
        |message: injection::PreambleMessage| GivenMessage { role: message.role.as_str(), fragments: message.content };
    Given { messages: messages.into_iter().map(message).collect(), ..Given::default() }
}

fn collected(ask: &Ask<'_>) -> Collected {
    ask.facts.system.injection.collect(ask.facts.system.prompt_mode)
}

/// The omissions for items that are cut or missing.
fn omissions(ask: &Ask<'_>, collected: &Collected) -> Vec<Omission> {
    let omission = |injected: &Injected| {
        let reason = || injected.reason.clone().unwrap_or_default();
        let why = match injected.outcome {
            Outcome::Injected if injected.truncated => {
                Why::Cut { kept: injected.bytes_after as u64, of: injected.bytes_before as u64 }
            }
            Outcome::SkippedBlank => Why::Blank,
            Outcome::SkippedDisabled => Why::SwitchedOff,
            Outcome::Error => Why::Unusable { error: reason() },
            Outcome::Injected | Outcome::SkippedMode | Outcome::Missing => return None,
        };
        let what = injected.item_id.clone().unwrap_or_else(|| injected.source_type.to_owned());
        Some(Omission { slot: ask.slot.clone(), what, why })
    };
    collected.injected.iter().filter_map(omission).collect()
}
